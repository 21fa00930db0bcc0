// `nnc ops`: the op table as people read it, and as the page docs/ops.md.

#include <algorithm>
#include <map>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/op_table.h"
#include "ir/op.h"
#include "ir/support/text.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/table.h"

namespace nnc::tool {

namespace {

std::string_view lowering_name(Lowering l) {
  switch (l) {
    case Lowering::kElem: return "elementwise";
    case Lowering::kMap: return "map";
    case Lowering::kFold: return "fold";
    case Lowering::kPoint: return "point";
    case Lowering::kHero: return "hero";
    case Lowering::kExpand: return "expanded";
    case Lowering::kHost: return "host";
    case Lowering::kSource: return "source";
    case Lowering::kControl: return "control";
  }
  return "";
}

std::string operands_text(const OpDef& d) {
  if (d.max_operands < 0) return cat(d.min_operands, " or more");
  return d.min_operands == d.max_operands ? cat(d.min_operands) : cat(d.min_operands, "-", d.max_operands);
}

std::string attrs_text(const OpDef& d) {
  return join(d.attrs, ", ", [](const AttrDef& a) { return std::string(a.name); });
}

std::string gradient_text(const OpDef& d) { return d.gradient != nullptr ? "yes" : cat("no: ", d.no_gradient); }

std::string versions_text(const OnnxOperator& o) {
  return o.until >= onnx::kNewestOpset ? cat("since ", o.since) : cat(o.since, "-", o.until);
}

std::string op_page() {
  std::string out =
      "# Operators\n\nMade by `nnc ops --doc` out of the op table; a test checks that it is fresh.\n\n## Operators of the graph\n\n"
      "| op | operands | attributes | becomes code as | gradient | meaning |\n|---|---|---|---|---|---|\n";
  auto cell = [](std::string_view s) {
    std::string text;
    for (const char c : s) append(text, c == '|' ? "\\" : "", c);
    return text;
  };
  for (const OpDef* d : all_ops())
    append(out, "| `", d->name, "` | ", operands_text(*d), " | ", cell(attrs_text(*d)), " | ", lowering_name(d->lowering), " | ",
           cell(gradient_text(*d)), " | ", cell(d->doc), " |\n");
  out += "\n## Operators of ONNX\n\n| operator | opset versions |\n|---|---|\n";
  std::map<std::string, std::string> rows;
  for (const OnnxOperator& o : onnx_operators()) {
    std::string& versions = rows[o.domain.empty() ? std::string(o.name) : cat(o.domain, "::", o.name)];
    append(versions, versions.empty() ? "" : ", ", versions_text(o));
  }
  for (const auto& [name, versions] : rows) append(out, "| ", name, " | ", versions, " |\n");
  return out;
}

Result<int> one_op(std::string_view name, Console& console, JsonWriter* w) {
  const OpDef* d = find_op(name);
  if (d == nullptr) {
    std::vector<std::string> names;
    for (const OpDef* o : all_ops()) names.emplace_back(o->name);
    for (const OnnxOperator& o : onnx_operators()) {
      if (o.name == name) {
        console.print(cat(o.domain.empty() ? "ai.onnx" : o.domain, "::", o.name, "  opset ", versions_text(o), "\n"));
        if (w != nullptr) w->field("onnx", o.name).field("since", o.since).field("until", o.until);
        return 0;
      }
      names.emplace_back(o.name);
    }
    return unknown_name(Code::kUnknownName, "operator", name, names).with("try: nnc ops, nnc ops --onnx");
  }
  if (w != nullptr) w->field("name", d->name).field("doc", d->doc);
  console.print(cat(console.bold(d->name), "\n  ", d->doc, "\n  operands: ", operands_text(*d),
                    "   results: ", d->results < 0 ? "as many as regions or attributes say" : cat(d->results), "\n"));
  for (const AttrDef& attr : d->attrs) console.print(cat("  attribute ", attr.name, "\n"));
  console.print(cat("  becomes code as: ", lowering_name(d->lowering), "   gradient: ", gradient_text(*d), "\n"));
  return 0;
}

}  // namespace

Result<int> ops_command(const Arguments& a, Console& console) {
  JsonWriter w = begin_document("ops", a);
  if (a.has("doc")) {
    console.set_json(false);
    console.print(op_page());
    return 0;
  }
  if (!a.positionals.empty()) {
    NNC_ASSIGN(const int code, one_op(a.positionals[0], console, console.json() ? &w : nullptr));
    if (console.json()) finish_document(w, console);
    return code;
  }
  if (a.has("onnx")) {
    Table table({"operator", "opset versions"});
    w.key("onnx").array();
    std::vector<OnnxOperator> rows = onnx_operators();
    std::ranges::sort(rows, {}, [](const OnnxOperator& o) { return std::tuple(o.domain, o.name, o.since); });
    for (const OnnxOperator& o : rows) {
      table.row({o.domain.empty() ? std::string(o.name) : cat(o.domain, "::", o.name), versions_text(o)});
      w.object().field("domain", o.domain).field("name", o.name).field("since", o.since).field("until", o.until).end();
    }
    w.end();
    console.print(table.str());
  } else {
    Table table({"op", ">operands", "attributes", "code", "gradient"});
    w.key("ops").array();
    for (const OpDef* d : all_ops()) {
      table.row({std::string(d->name), operands_text(*d), attrs_text(*d), std::string(lowering_name(d->lowering)),
                 d->gradient != nullptr ? "yes" : "no"});
      w.object()
          .field("name", d->name)
          .field("min_operands", d->min_operands)
          .field("max_operands", d->max_operands)
          .field("code", lowering_name(d->lowering))
          .field("gradient", d->gradient != nullptr);
      w.field("doc", d->doc).end();
    }
    w.end();
    console.print(table.str(console.terminal().out_is_terminal ? console.terminal().width : 0));
  }
  if (console.json()) finish_document(w, console);
  return 0;
}

}  // namespace nnc::tool

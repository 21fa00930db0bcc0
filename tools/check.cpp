// `nnc check`: everything that is wrong with a model or an artifact, in one list, and which of its operators are known.

#include <algorithm>

#include "frontend/onnx/model.h"
#include "frontend/onnx/op_table.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/program.h"
#include "tools/table.h"

namespace nnc::tool {

namespace {

struct OpUse {
  int64_t count = 0;
  int64_t version = 0;
  std::string support;  // "yes", or why not
  bool ok = false;
};
using OpUses = std::map<std::string, OpUse>;

class OpCounter {
 public:
  explicit OpCounter(const onnx::ModelProto& model) {
    for (const onnx::FunctionProto& f : model.functions) functions_.insert({std::pair(std::string(f.domain), std::string(f.name)), true});
    count(model.graph->nodes, versions(model.opsets));
    for (const onnx::FunctionProto& f : model.functions) count(f.nodes, versions(f.opsets));
  }
  OpUses take() { return std::move(uses_); }

 private:
  static std::map<std::string, int64_t> versions(const std::vector<onnx::OpsetImport>& opsets) {
    std::map<std::string, int64_t> out;
    for (const onnx::OpsetImport& o : opsets) out[o.domain == "ai.onnx" ? std::string() : std::string(o.domain)] = o.version;
    return out;
  }

  void count(const std::vector<onnx::NodeProto>& nodes, const std::map<std::string, int64_t>& opsets) {
    for (const onnx::NodeProto& n : nodes) {
      const std::string domain = n.domain == "ai.onnx" ? std::string() : std::string(n.domain);
      OpUse& use = uses_[domain.empty() ? std::string(n.op_type) : cat(domain, "::", n.op_type)];
      const auto version = opsets.find(domain);
      use.version = version == opsets.end() ? 0 : version->second;
      ++use.count;
      judge(domain, n.op_type, &use);
      for (const onnx::AttributeProto& a : n.attributes) {
        if (a.g != nullptr) count(a.g->nodes, opsets);
        for (const onnx::GraphProto& g : a.graphs) count(g.nodes, opsets);
      }
    }
  }

  void judge(const std::string& domain, std::string_view name, OpUse* use) const {
    if (functions_.contains({domain, std::string(name)})) {
      *use = {use->count, use->version, "a function of the model", true};
    } else if (!domain.empty()) {
      use->support = "no: unknown domain";
    } else if (const onnx::OpRow* row = onnx::find_row(name, use->version); row != nullptr) {
      use->support = cat("yes (opset ", row->since, row->until >= onnx::kNewestOpset ? "+" : cat("-", row->until), ")");
      use->ok = true;
    } else {
      const auto rows = onnx::rows_named(name);
      use->support = rows.empty()
                         ? "no"
                         : cat("no: known in opset ", join(rows, ", ", [](const onnx::OpRow* r) { return cat(r->since, "-", r->until); }));
    }
  }

  std::map<std::pair<std::string, std::string>, bool> functions_;
  OpUses uses_;
};

// What compiling finds after a clean import: kernels that no skeleton makes.
void try_compile(std::unique_ptr<Module> module, std::vector<Error>* findings) {
  CompileOptions compile;
  compile.native = false;
  if (Status s = simplify_module(*module, compile); !s.ok()) {
    findings->push_back(std::move(s).error());
    return;
  }
  const auto target = parse_target("cpu:x86-64-v3");
  NNC_CHECK(target.ok(), "a target of the table");
  auto compiled = compile_for_target(*module, *target, compile);
  if (!compiled.ok()) findings->push_back(std::move(compiled).error());
}

void show(const OpUses& ops, const std::vector<Error>& findings, const std::string& path, Console& console) {
  Table table({"operator", ">nodes", ">opset", "supported"});
  for (const auto& [name, use] : ops) table.row({name, cat(use.count), cat(use.version), use.support});
  if (!ops.empty()) console.print(cat(table.str(), "\n"));
  for (const Error& e : findings) console.print(cat(" ", e.str(), "\n"));
  console.print(findings.empty() ? cat(" ", path, ": no problems\n")
                                 : cat(" ", path, ": ", findings.size(), findings.size() == 1 ? " problem\n" : " problems\n"));
}

}  // namespace

Result<int> check_command(const Arguments& a, Console& console) {
  NNC_ASSIGN(const Limits limits, limits_from(a));
  NNC_ASSIGN(const ModelFile model, open_model(a.positionals[0], a, limits, true));
  OpUses ops;
  std::vector<Error> findings;
  if (model.artifact == nullptr) {
    NNC_ASSIGN(const ModelOptions options, model_options(a, model.interface));
    NNC_ASSIGN(const Bytes bytes, read_file(model.path, kMaxModelBytes));
    Budget budget(limits);
    NNC_ASSIGN(const onnx::ModelProto proto, onnx::read_model(bytes, budget));
    if (proto.graph) ops = OpCounter(proto).take();
    auto module = import_model(model, options, {}, console, &findings);
    if (module.ok()) try_compile(std::move(*module), &findings);
  }
  show(ops, findings, model.path, console);
  if (console.json()) {
    JsonWriter w = begin_document("check", a);
    w.field("model", model.path).key("operators").array();
    for (const auto& [name, use] : ops)
      w.object()
          .field("name", name)
          .field("nodes", use.count)
          .field("opset", use.version)
          .field("supported", use.ok)
          .field("support", use.support)
          .end();
    w.end().key("findings").array();
    for (const Error& e : findings) write_error(w, e);
    w.end();
    finish_document(w, console);
  }
  return findings.empty() ? 0 : exit_code(findings.front().code);
}

}  // namespace nnc::tool

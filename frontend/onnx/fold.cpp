// Questions about values that are asked while the model is read: what one is if it depends on constants alone, and what it depends on otherwise.

#include <algorithm>
#include <set>

#include "frontend/onnx/import_model.h"
#include "ir/builder.h"
#include "ir/eval.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

constexpr size_t kMaxFoldNodes = 256;
constexpr int64_t kMaxFoldElements = 65536;

// Dims that an attribute is made of.
void collect_dims(const AttrValue& a, std::vector<Dim>* out) {
  if (const Shape* s = std::get_if<Shape>(&a)) out->insert(out->end(), s->begin(), s->end());
}

bool foldable(const Graph& g, const Node& n) {
  if (!n.regions.empty() || (n.def().traits & kEffect) != 0) return false;
  std::vector<Dim> dims;
  for (const AttrValue& a : n.attrs) collect_dims(a, &dims);
  if (!std::ranges::all_of(dims, [](const Dim& d) { return d.is_const(); })) return false;
  for (const ValueId r : n.results) {
    const Type& t = g.type(r);
    int64_t count = 1;
    if (!t.is_tensor() || t.dtype == DType::kString) return false;
    for (const Dim& d : t.shape) {
      if (!d.is_const() || d.constant() > kMaxFoldElements) return false;
      count *= std::max<int64_t>(d.constant(), 1);
      if (count > kMaxFoldElements) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Tensor> Importer::fold(Graph& graph, ValueId v) {
  if (const Tensor* t = const_value(graph, v)) return *t;
  std::set<NodeId> needed;
  std::vector<ValueId> todo = {v};
  while (!todo.empty()) {
    const ValueId next = todo.back();
    todo.pop_back();
    const Node* n = def_of(graph, next);
    if (n == nullptr) return std::nullopt;
    if (!needed.insert(graph.value(next).def).second) continue;
    if (needed.size() > kMaxFoldNodes || !foldable(graph, *n)) return std::nullopt;
    for (const ValueId o : n->operands) {
      if (o.valid()) todo.push_back(o);
    }
  }
  // Ids grow in the order of building, which is an order of evaluation.
  Module scratch;
  Entry& entry = scratch.add_entry("fold");
  std::map<ValueId, ValueId> copy;
  for (const NodeId id : needed) {
    const Node& n = graph.node(id);
    std::vector<ValueId> operands;
    for (const ValueId o : n.operands) operands.push_back(o.valid() ? copy[o] : ValueId());
    AttrList attrs;
    for (size_t k = 0; k < n.attrs.size(); ++k) {
      AttrValue a = n.attrs[k];
      if (ConstId* c = std::get_if<ConstId>(&a)) *c = scratch.add_constant(graph.module().constant(*c));
      if (!std::holds_alternative<std::monostate>(a)) attrs.push_back({n.def().attrs[k].name, std::move(a)});
    }
    auto made = entry.graph->append(n.kind, std::move(operands), std::move(attrs), {});
    if (!made.ok()) return std::nullopt;
    for (size_t k = 0; k < n.results.size(); ++k) copy[n.results[k]] = entry.graph->node(*made).results[k];
  }
  entry.graph->set_outputs({copy[v]});
  EvalOptions options;
  options.limits = budget_.limits();
  auto result = Interpreter(scratch, options).run(*entry.graph, {});
  if (!result.ok() || result->size() != 1) return std::nullopt;
  return result->front().to_tensor();
}

std::vector<std::string> Importer::sources(const Graph& graph, ValueId v) const {
  std::set<std::string> names;
  std::set<ValueId> seen;
  std::vector<ValueId> todo = {v};
  while (!todo.empty()) {
    const ValueId next = todo.back();
    todo.pop_back();
    if (!next.valid() || !seen.insert(next).second) continue;
    const Node* n = def_of(graph, next);
    if (n == nullptr) {
      names.insert(graph.value(next).name);
      continue;
    }
    std::vector<Dim> dims;
    for (const AttrValue& a : n->attrs) collect_dims(a, &dims);
    const SymbolTable& symbols = graph.symbols();
    for (uint32_t s = 0; s < symbols.size(); ++s) {
      const SymbolId id(s);
      if (symbols[id].kind != SymKind::kInput) continue;
      if (std::ranges::any_of(dims, [&](const Dim& d) { return symbols.depends_on(d, id); })) names.insert(symbols[id].name);
    }
    todo.insert(todo.end(), n->operands.begin(), n->operands.end());
  }
  return {names.begin(), names.end()};
}

Error Importer::need_values(const Graph& graph, ValueId v, std::string message) const {
  const std::vector<std::string> names = sources(graph, v);
  Error e(Code::kNeedDims, std::move(message));
  if (names.empty()) return e;
  e.context.push_back(cat("it depends on ", join(names, ", ")));
  std::string remedy = "try:";
  for (const std::string& name : names) {
    const bool is_input = std::ranges::any_of(model_.graph->inputs, [&](const ValueInfoProto& i) { return i.name == name; });
    append(remedy, is_input ? " --set " : " --dim ", name, is_input ? "=VALUE" : "=SIZE");
  }
  return std::move(e).with(std::move(remedy));
}

}  // namespace nnc::onnx

// Questions about values that are asked while the model is read: what one is if it depends on constants alone, and what it depends on
// otherwise.

#include <algorithm>
#include <set>

#include "frontend/onnx/import_model.h"
#include "ir/builder.h"
#include "ir/eval.h"
#include "ir/shape_values.h"
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

// The tensor that a value is, if that is known without computing: a constant, or a shape value made of numbers.
std::optional<Tensor> known_tensor(const Graph& g, ValueId v) {
  if (const Tensor* t = const_value(g, v)) return *t;
  const ShapeValue& known = g.shape_value(v);
  const Type& type = g.type(v);
  if (!known.known || !type.is_tensor() || type.rank() > 1) return std::nullopt;
  Tensor t(type.dtype, type.rank() == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{static_cast<int64_t>(known.elems.size())});
  for (size_t k = 0; k < known.elems.size(); ++k) {
    const auto& e = known.elems[k];
    if (!e || !e->dim.is_const()) return std::nullopt;
    const auto at = static_cast<int64_t>(k);
    if (!is_float(type.dtype)) {
      if (e->num != 1 || e->den != 1) return std::nullopt;
      store_i64(type.dtype, t.data(), at, e->dim.constant());
    } else {
      const std::optional<double> number = constant_value(*e);
      if (!number) return std::nullopt;
      store_f64(type.dtype, t.data(), at, *number);
    }
  }
  return t;
}

}  // namespace

std::optional<Tensor> Importer::fold(Graph& graph, ValueId v) {
  if (auto t = known_tensor(graph, v)) return t;
  std::set<NodeId> needed;
  std::map<ValueId, Tensor> leaves;
  std::vector<ValueId> todo = {v};
  while (!todo.empty()) {
    const ValueId next = todo.back();
    todo.pop_back();
    if (leaves.contains(next)) continue;
    if (auto t = known_tensor(graph, next); t && t->count() <= kMaxFoldElements) {
      leaves[next] = std::move(*t);
      continue;
    }
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
  for (auto& [leaf, tensor] : leaves) {
    auto made = Builder(*entry.graph).constant(std::move(tensor));
    if (!made.ok()) return std::nullopt;
    copy[leaf] = *made;
  }
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
    for (size_t k = 0; k < n.results.size(); ++k)
      copy.try_emplace(n.results[k], ValueId()).first->second = entry.graph->node(*made).results[k];
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

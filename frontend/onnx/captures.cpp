#include "frontend/onnx/captures.h"

#include <algorithm>
#include <map>

#include "frontend/onnx/import_model.h"

namespace nnc::onnx {

namespace {
constexpr int64_t kClonedElements = 64;  // constants up to this size are repeated in a region instead of captured
}  // namespace

bool collect_captures(NodeContext& c, const GraphProto& graph, Captures* out) {
  for (const std::string_view name : c.importer().analysis().facts(graph).free_names) {
    if (std::ranges::any_of(out->names, [&](const auto& n) { return n.first == name; })) continue;
    const Binding b = c.importer().lookup(c.scope(), name);
    if (b.state == Binding::State::kFailed) return false;
    out->names.emplace_back(name, b.value);
    if (!b.value.valid()) continue;
    const Tensor* t = const_value(c.graph(), b.value);
    if (t != nullptr && t->count() <= kClonedElements) continue;
    if (std::ranges::find(out->operands, b.value) == out->operands.end()) out->operands.push_back(b.value);
  }
  return true;
}

Status bind_captures(NodeContext& c, const Captures& captures, Scope& inner) {
  Graph& outer = c.graph();
  Graph& region = *inner.graph;
  std::map<ValueId, ValueId> inside;
  for (const ValueId v : captures.operands) {
    const ValueId arg = region.add_input(outer.type(v), outer.value(v).name);
    if (const ShapeValue& known = outer.shape_value(v); known.known) region.set_shape_value(arg, known);
    inside[v] = arg;
  }
  for (const auto& [name, v] : captures.names) {
    if (!v.valid()) {
      inner.names[name] = Binding();
    } else if (const auto found = inside.find(v); found != inside.end()) {
      inner.names[name] = Binding::of(found->second);
    } else {
      const Node& constant = *def_of(outer, v);
      NNC_ASSIGN(const ValueId copy, Builder(region, constant.loc).op(OpKind::kConstant, {}, {{"value", constant.constant("value")}}));
      inside[v] = copy;
      inner.names[name] = Binding::of(copy);
    }
  }
  return {};
}

std::optional<bool> decided(NodeContext& c, ValueId condition) {
  const ShapeValue& known = c.graph().shape_value(condition);
  if (known.known && known.elems.size() == 1 && known.elems[0] && known.elems[0]->dim.is_const())
    return known.elems[0]->dim.constant() != 0;
  if (const auto t = c.importer().fold(c.graph(), condition); t && t->count() == 1) return t->i64(0) != 0;
  return std::nullopt;
}

std::vector<SymbolId> mint(NodeContext& c, size_t count) {
  std::vector<SymbolId> out;
  for (size_t k = 0; k < count; ++k) out.push_back(c.symbols().data("", 0, kDimMax));
  return out;
}

}  // namespace nnc::onnx

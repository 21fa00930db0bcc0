// One spelling for each meaning: views that do nothing disappear and chains of views become one, what shape inference knows becomes
// constants and dims, branches that are decided are taken. Nothing here changes a number.

#include <algorithm>
#include <cmath>

#include "ir/support/mutant.h"
#include "ir/support/text.h"
#include "passes/conv_rules.h"
#include "passes/inline_region.h"
#include "passes/layout.h"
#include "passes/rules.h"

namespace nnc {

namespace {

// An integer or bool value that inference knows is a constant, or dims.
Result<bool> known_value_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  if (node.results.size() != 1 || node.kind == OpKind::kConstant || node.kind == OpKind::kDimsValue) return false;
  const ValueId result = node.results[0];
  const Type type = g.type(result);
  if (!type.is_tensor() || is_float(type.dtype) || type.rank() > 1 || !g.shape_value(result).known) return false;
  const std::optional<std::vector<Dim>> dims = g.shape_value(result).dims();
  if (!dims) return false;
  Builder b = rw.at(id);
  if (std::all_of(dims->begin(), dims->end(), [](const Dim& d) { return d.is_const(); })) {
    Tensor t(type.dtype, type.rank() == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{static_cast<int64_t>(dims->size())});
    for (size_t k = 0; k < dims->size(); ++k) store_i64(type.dtype, t.data(), static_cast<int64_t>(k), (*dims)[k].constant());
    NNC_ASSIGN(const ValueId c, b.constant(std::move(t)));
    return replace_if_same(rw, id, c);
  }
  if (type.dtype != DType::kI64 && type.dtype != DType::kI32) return false;
  if (node.kind == OpKind::kCast && is(g, node.operands[0], OpKind::kDimsValue)) return false;
  AttrList attrs = {{"dims", *dims}};
  if (type.rank() == 0) attrs.push_back({"rank0", int64_t{1}});
  NNC_ASSIGN(ValueId v, b.op(OpKind::kDimsValue, {}, std::move(attrs)));
  NNC_ASSIGN(v, b.cast(v, type.dtype));
  return replace_if_same(rw, id, v);
}

Result<bool> reshape_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  ValueId x = node.operands[0];
  if (g.type(x) == g.type(node.results[0])) return replace_if_same(rw, id, x);
  if (!is(g, x, OpKind::kReshape)) return false;
  x = def_of(g, x)->operands[0];
  NNC_ASSIGN(const ValueId v, rw.at(id).reshape(x, node.dims("shape")));
  return replace_if_same(rw, id, v);
}

Result<bool> transpose_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  std::vector<int64_t> perm = node.ints("perm");
  ValueId x = node.operands[0];
  const Shape to = g.type(node.results[0]).shape;
  if (moves_nothing(g.type(x).shape, perm)) {
    NNC_ASSIGN(const ValueId v, rw.at(id).reshape(x, to));
    return replace_if_same(rw, id, v);
  }
  if (!is(g, x, OpKind::kTranspose)) return false;
  const Node inner = *def_of(g, x);
  if (mutant("transposes_compose_backwards")) {
    for (size_t k = 0; k < perm.size(); ++k) perm[k] = node.ints("perm")[static_cast<size_t>(inner.ints("perm")[k])];
  } else {
    for (int64_t& p : perm) p = inner.ints("perm")[static_cast<size_t>(p)];
  }
  NNC_ASSIGN(const ValueId v, rw.at(id).transpose(inner.operands[0], perm));
  return replace_if_same(rw, id, v);
}

// reduce to fewer axes, then a reshape that puts them back with extent 1, is a reduce that keeps them.
Result<bool> keepdims_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const Node* fold = def_of(g, node.operands[0]);
  if (fold == nullptr || (fold->kind != OpKind::kReduce && fold->kind != OpKind::kArgReduce) || fold->i("keepdims") != 0 ||
      !single_use(g, node.operands[0]))
    return false;
  Shape kept = g.type(fold->operands[0]).shape;
  if (fold->kind == OpKind::kArgReduce)
    kept[static_cast<size_t>(fold->i("axis"))] = 1;
  else
    for (int64_t axis : fold->ints("axes")) kept[static_cast<size_t>(axis)] = 1;
  if (node.dims("shape") != kept) return false;
  Builder b = rw.at(id);
  const Node copy = *fold;
  NNC_ASSIGN(const std::vector<ValueId> v, rebuild(b, copy, copy.operands, {{"keepdims", int64_t{1}}}));
  return replace_if_same(rw, id, v[0]);
}

size_t real_axes(const Shape& shape, size_t begin, size_t end) {
  size_t n = 0;
  for (size_t k = begin; k < end; ++k) n += !shape[k].is_const(1);
  return n;
}

// Reshapes that only split axes stand before transposes, those that only merge axes behind them: then reshapes meet and become one, and
// what is split again right away is never merged.
Result<bool> split_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  if (!is(g, node.operands[0], OpKind::kTranspose)) return false;
  const Node transpose = *def_of(g, node.operands[0]);
  const Shape from = g.type(node.operands[0]).shape, x = g.type(transpose.operands[0]).shape;
  const auto groups = axis_groups(g.symbols(), from, node.dims("shape"));
  if (!groups) return false;
  for (const AxisGroup& k : *groups) {
    if (real_axes(from, k.from, k.from_end) > 1 || k.to == k.to_end) return false;
  }
  const auto before = reshape_before_transpose(g.symbols(), x, transpose.ints("perm"), node.dims("shape"));
  if (!before) return false;
  Builder b = rw.at(id);
  NNC_ASSIGN(const ValueId r, b.reshape(transpose.operands[0], before->first));
  NNC_ASSIGN(const ValueId v, b.transpose(r, before->second));
  return replace_if_same(rw, id, v);
}

Result<bool> merge_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  if (!is(g, node.operands[0], OpKind::kReshape)) return false;
  const ValueId x = def_of(g, node.operands[0])->operands[0];
  const Shape from = g.type(x).shape, merged = g.type(node.operands[0]).shape;
  const auto groups = axis_groups(g.symbols(), from, merged);
  if (!groups) return false;
  bool merges = false;
  for (const AxisGroup& k : *groups) {
    if (real_axes(merged, k.to, k.to_end) > 1 || k.from == k.from_end) return false;
    merges = merges || real_axes(from, k.from, k.from_end) > 1;
  }
  if (!merges) return false;
  // The groups of x's axes in the order that the transpose gives the merged axes.
  std::vector<int64_t> perm;
  for (int64_t axis : node.ints("perm")) {
    for (const AxisGroup& k : *groups) {
      if (k.to > static_cast<size_t>(axis) || k.to_end <= static_cast<size_t>(axis)) continue;
      // A group's axes of one element move with its real one.
      if (k.to_end - k.to > 1 && real_axes(merged, static_cast<size_t>(axis), static_cast<size_t>(axis) + 1) == 0) continue;
      for (size_t i = k.from; i < k.from_end; ++i) perm.push_back(static_cast<int64_t>(i));
    }
  }
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 0; k < from.size(); ++k) {
    if (sorted.size() != from.size() || sorted[k] != static_cast<int64_t>(k)) return false;
  }
  const Shape to = g.type(node.results[0]).shape;
  Builder b = rw.at(id);
  NNC_ASSIGN(ValueId v, b.transpose(x, perm));
  NNC_ASSIGN(v, b.reshape(v, to));
  return replace_if_same(rw, id, v);
}

Result<bool> broadcast_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const ValueId x = node.operands[0];
  if (g.type(x) == g.type(node.results[0])) return replace_if_same(rw, id, x);
  if (!is(g, x, OpKind::kBroadcastTo)) return false;
  NNC_ASSIGN(const ValueId v, rw.at(id).broadcast_to(def_of(g, x)->operands[0], node.dims("shape")));
  return replace_if_same(rw, id, v);
}

// A broadcast that the op does by itself.
Result<bool> implied_broadcast_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  if (!(node.def().traits & kBroadcasts)) return false;
  for (size_t k = 0; k < node.operands.size(); ++k) {
    if (!is(g, node.operands[k], OpKind::kBroadcastTo)) continue;
    std::vector<ValueId> operands = node.operands;
    operands[k] = def_of(g, operands[k])->operands[0];
    // The result keeps its type where some other operand has every extent that the broadcast made.
    const Shape &wide = g.type(node.results[0]).shape, &narrow = g.type(operands[k]).shape;
    bool kept = true;
    for (size_t axis = 0; kept && axis < wide.size(); ++axis) {
      const size_t from_right = wide.size() - axis;
      const auto extent_is = [&](const Shape& s) { return s.size() >= from_right && s[s.size() - from_right] == wide[axis]; };
      kept = extent_is(narrow);
      for (size_t o = 0; !kept && o < operands.size(); ++o) kept = o != k && extent_is(g.type(operands[o]).shape);
    }
    if (!kept) continue;
    Builder b = rw.at(id);
    NNC_ASSIGN(const std::vector<ValueId> v, rebuild(b, node, std::move(operands)));
    return replace_if_same(rw, id, v[0]);
  }
  return false;
}

Result<bool> slice_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const ValueId x = node.operands[0];
  const auto &axes = node.ints("axes"), &steps = node.ints("steps");
  const Shape &starts = node.dims("starts"), &ends = node.dims("ends");
  std::vector<int64_t> kept_axes, kept_steps;
  Shape kept_starts, kept_ends;
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t axis = axes[k] < 0 ? axes[k] + g.type(x).rank() : axes[k];
    if (steps[k] == 1 && starts[k].is_const(0) && ends[k] == g.type(x).shape[static_cast<size_t>(axis)]) continue;
    kept_axes.push_back(axis);
    kept_steps.push_back(steps[k]);
    kept_starts.push_back(starts[k]);
    kept_ends.push_back(ends[k]);
  }
  if (kept_axes.size() == axes.size()) return false;
  if (kept_axes.empty()) return replace_if_same(rw, id, x);
  NNC_ASSIGN(const ValueId v, rw.at(id).slice(x, kept_axes, kept_starts, kept_ends, kept_steps));
  return replace_if_same(rw, id, v);
}

// Empty parts leave, nested concatenations of the same axis that nobody else reads are spread out, one part is itself.
Result<bool> concat_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const int64_t rank = g.type(node.results[0]).rank();
  const auto axis_of = [&](const Node& n) { return n.i("axis") < 0 ? n.i("axis") + rank : n.i("axis"); };
  const int64_t axis = axis_of(node);
  std::vector<ValueId> parts;
  for (ValueId v : node.operands) {
    const Node* inner = def_of(g, v);
    if (inner != nullptr && inner->kind == OpKind::kConcat && axis_of(*inner) == axis && single_use(g, v))
      parts.insert(parts.end(), inner->operands.begin(), inner->operands.end());
    else if (!g.type(v).shape[static_cast<size_t>(axis)].is_const(0) || node.operands.size() == 1)
      parts.push_back(v);
  }
  if (parts.empty()) parts.push_back(node.operands[0]);
  if (parts.size() == 1) return replace_if_same(rw, id, parts[0]);
  if (parts == node.operands) return false;
  NNC_ASSIGN(const ValueId v, rw.at(id).concat(std::move(parts), axis));
  return replace_if_same(rw, id, v);
}

bool all_are(const Shape& dims, int64_t v) {
  return std::all_of(dims.begin(), dims.end(), [&](const Dim& d) { return d.is_const(v); });
}

Result<bool> pad_rule(Rewriter& rw, NodeId id) {
  const Node& node = rw.graph().node(id);
  if (!all_are(node.dims("before"), 0) || !all_are(node.dims("after"), 0)) return false;
  return replace_if_same(rw, id, node.operands[0]);
}

// Repeating axes of one element is a broadcast.
Result<bool> tile_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const Shape &repeats = node.dims("repeats"), &from = g.type(node.operands[0]).shape;
  if (all_are(repeats, 1)) return replace_if_same(rw, id, node.operands[0]);
  for (size_t k = 0; k < repeats.size(); ++k) {
    if (!repeats[k].is_const(1) && !from[k].is_const(1)) return false;
  }
  const Shape to = g.type(node.results[0]).shape;
  NNC_ASSIGN(const ValueId v, rw.at(id).broadcast_to(node.operands[0], to));
  return replace_if_same(rw, id, v);
}

// Every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  if (from == to) return true;
  if (from == DType::kBool) return is_int(to) || to == DType::kF16 || to == DType::kBF16 || to == DType::kF32 || to == DType::kF64;
  if (is_int(from) && is_int(to)) {
    if (is_signed_int(from)) return is_signed_int(to) && dtype_bits(to) > dtype_bits(from);
    return dtype_bits(to) > dtype_bits(from);
  }
  if (is_int(from)) return (to == DType::kF64 && dtype_bits(from) <= 32) || (to == DType::kF32 && dtype_bits(from) <= 16);
  if (to == DType::kF64) return from == DType::kF32 || from == DType::kF16 || from == DType::kBF16;
  return to == DType::kF32 && (from == DType::kF16 || from == DType::kBF16);
}

Result<bool> cast_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const ValueId x = node.operands[0];
  const DType to = node.dtype("to");
  if (g.type(x).dtype == to) return replace_if_same(rw, id, x);
  if (!is(g, x, OpKind::kCast)) return false;
  const ValueId source = def_of(g, x)->operands[0];
  if (!widens(g.type(source).dtype, g.type(x).dtype)) return false;
  if (g.type(source).dtype == to) return replace_if_same(rw, id, source);
  // To bool any wider spelling asks the same; through floats to narrower numbers the rounding is the same once.
  Builder b = rw.at(id);
  NNC_ASSIGN(const std::vector<ValueId> v, rebuild(b, node, {source}));
  return replace_if_same(rw, id, v[0]);
}

Result<bool> commute_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  if (!(node.def().traits & kCommutative) || node.operands.size() != 2) return false;
  if (!const_value(g, node.operands[0]) || const_value(g, node.operands[1])) return false;
  Builder b = rw.at(id);
  NNC_ASSIGN(const std::vector<ValueId> v, rebuild(b, node, {node.operands[1], node.operands[0]}));
  return replace_if_same(rw, id, v[0]);
}

// A gather of consecutive constant positions that lie inside the axis is a slice; a scalar position drops the axis.
Result<bool> gather_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const Tensor* index = const_value(g, node.operands[1]);
  if (index == nullptr || index->rank() > 1 || index->count() == 0 || !g.type(node.operands[0]).is_tensor()) return false;
  const ValueId x = node.operands[0];
  const int64_t axis = node.i("axis") < 0 ? node.i("axis") + g.type(x).rank() : node.i("axis");
  const Dim extent = g.type(x).shape[static_cast<size_t>(axis)];
  const int64_t first = index->i64(0), count = index->count();
  for (int64_t k = 1; k < count; ++k) {
    if (index->i64(k) != first + k) return false;
  }
  SymbolTable& s = g.symbols();
  Dim start = first;
  if (first < 0) {
    if (first + count > 0 || s.at_least(extent, -first) != Ternary::kYes) return false;
    start = s.add(extent, first);
  } else if (s.at_least(extent, first + count) != Ternary::kYes) {
    return false;
  }
  Builder b = rw.at(id);
  NNC_ASSIGN(ValueId v, b.slice(x, {axis}, {start}, {s.add(start, count)}, {1}));
  const Shape to = g.type(node.results[0]).shape;
  NNC_ASSIGN(v, b.reshape(v, to));
  return replace_if_same(rw, id, v);
}

// max(x, 0) and clip(x, 0, ) have a name.
Result<bool> relu_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  if (node.kind == OpKind::kClip && (node.operands.size() != 2 || !node.operands[1].valid())) return false;
  const std::optional<double> bound = uniform_value(g, node.operands[1]);
  if (!bound || *bound != 0 || std::signbit(*bound)) return false;
  NNC_ASSIGN(const ValueId v, rw.at(id).unary(OpKind::kRelu, node.operands[0]));
  return replace_if_same(rw, id, v);
}

// A fold over axes of one element keeps the element, for the kinds where the fold of one is that one.
Result<bool> reduce_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const std::string_view kind = node.s("kind");
  if (kind != "sum" && kind != "prod" && kind != "max" && kind != "min" && kind != "mean") return false;
  for (int64_t axis : node.ints("axes")) {
    if (!g.type(node.operands[0]).shape[static_cast<size_t>(axis)].is_const(1)) return false;
  }
  const Shape to = g.type(node.results[0]).shape;
  NNC_ASSIGN(const ValueId v, rw.at(id).reshape(node.operands[0], to));
  return replace_if_same(rw, id, v);
}

Result<bool> if_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const std::optional<double> condition = scalar_value(g, node.operands[0]);
  if (!condition) return false;
  const Graph& taken = g.region(node.regions[*condition != 0 ? 0 : 1]);
  for (size_t k = 0; k < node.results.size(); ++k) {
    if (taken.type(taken.outputs()[k]) != g.type(node.results[k])) return false;
  }
  NNC_ASSIGN(const std::vector<ValueId> v, inline_region(g, taken, std::span(node.operands).subspan(1), id));
  NNC_TRY(rw.replace(id, v));
  return true;
}

// Constants and dims are made inside a region rather than handed in: the region then folds and packs them like any others. The inputs that
// nobody reads go with dce.
Result<bool> capture_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const bool loop = node.kind == OpKind::kLoop;
  const size_t first = loop ? 2 + static_cast<size_t>(node.i("carried")) : 1;
  bool changed = false;
  for (size_t k = first; k < node.operands.size(); ++k) {
    const Node* def = def_of(g, node.operands[k]);
    if (def == nullptr || (def->kind != OpKind::kConstant && def->kind != OpKind::kDimsValue)) continue;
    const Node source = *def;
    for (RegionId r : node.regions) {
      Graph& region = g.region(r);
      const ValueId input = region.inputs()[loop ? k : k - 1];
      if (region.value(input).uses.empty()) continue;
      NNC_ASSIGN(const NodeId made, region.append(source.kind, {}, attr_list_of(source), source.loc, region.first()));
      region.redirect(input, region.node(made).results[0]);
      changed = true;
    }
  }
  return changed;
}

constexpr RuleEntry kRules[] = {
    {OpKind::kCount, known_value_rule},  // first: what is known needs no other rule
    {OpKind::kReshape, reshape_rule},
    {OpKind::kReshape, keepdims_rule},
    {OpKind::kTranspose, transpose_rule},
    {OpKind::kReshape, split_rule},
    {OpKind::kTranspose, merge_rule},
    {OpKind::kBroadcastTo, broadcast_rule},
    {OpKind::kSlice, slice_rule},
    {OpKind::kConcat, concat_rule},
    {OpKind::kPad, pad_rule},
    {OpKind::kTile, tile_rule},
    {OpKind::kCast, cast_rule},
    {OpKind::kCount, commute_rule},
    {OpKind::kCount, implied_broadcast_rule},
    {OpKind::kGather, gather_rule},
    {OpKind::kMax, relu_rule},
    {OpKind::kClip, relu_rule},
    {OpKind::kReduce, reduce_rule},
    {OpKind::kConv, conv_unit_axis_rule},
    {OpKind::kIf, if_rule},
    {OpKind::kIf, capture_rule},
    {OpKind::kLoop, capture_rule},
};

}  // namespace

Result<int64_t> run_canonicalize(Module& m, PassContext& c) { return apply_rules(m, c, kRules); }

}  // namespace nnc

// Identities that hold bit for bit (-0 and NaN included), and two reassociations that everybody makes: constant scales and shifts per
// channel move into the constant weights and bias of the convolution or product before them, computed in f64 and rounded once; constant
// factors of a product's operands move behind it.

#include <algorithm>
#include <cmath>

#include "ir/support/mutant.h"
#include "ir/support/text.h"
#include "passes/rules.h"
#include "passes/weights.h"

namespace nnc {

namespace {

bool is_int_value(const Graph& g, ValueId v) { return is_int(g.type(v).dtype); }

// The operand with the result's shape.
Result<bool> replace_by_operand(Rewriter& rw, NodeId id, ValueId x) {
  const Shape to = rw.graph().type(rw.graph().node(id).results[0]).shape;
  NNC_ASSIGN(const ValueId v, rw.at(id).broadcast_to(x, to));
  return replace_if_same(rw, id, v);
}

// x + 0 of floats turns -0 into +0, so only x + -0 and x - 0 are x.
Result<bool> add_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const std::optional<double> c = uniform_value(g, node.operands[1]);
  if (c && *c == 0 && (is_int_value(g, node.operands[1]) || std::signbit(*c) == (node.kind == OpKind::kAdd)))
    return replace_by_operand(rw, id, node.operands[0]);
  // a + -b is a - b, and the other way round.
  if (!is(g, node.operands[1], OpKind::kNeg)) return false;
  const OpKind opposite = node.kind == OpKind::kAdd ? OpKind::kSub : OpKind::kAdd;
  NNC_ASSIGN(const ValueId v, rw.at(id).binary(opposite, node.operands[0], def_of(g, node.operands[1])->operands[0]));
  return replace_if_same(rw, id, v);
}

Result<bool> mul_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const std::optional<double> c = uniform_value(g, node.operands[1]);
  if (!c) return false;
  if (*c == 1) return replace_by_operand(rw, id, node.operands[0]);
  if (*c != -1 || !is_float(g.type(node.operands[0]).dtype)) return false;
  Builder b = rw.at(id);
  NNC_ASSIGN(ValueId v, b.unary(OpKind::kNeg, node.operands[0]));
  const Shape to = g.type(node.results[0]).shape;
  NNC_ASSIGN(v, b.broadcast_to(v, to));
  return replace_if_same(rw, id, v);
}

// The reciprocal of a power of two is exact; any other division stays one.
Result<bool> div_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const DType dtype = g.type(node.operands[1]).dtype;
  const std::optional<double> c = uniform_value(g, node.operands[1]);
  if (c && *c == 1) return replace_by_operand(rw, id, node.operands[0]);
  if (!is_float(dtype)) return false;
  if (is_uniform(g, node.operands[0], 1) && g.type(node.operands[1]) == g.type(node.results[0])) {
    NNC_ASSIGN(const ValueId v, rw.at(id).unary(OpKind::kReciprocal, node.operands[1]));
    return replace_if_same(rw, id, v);
  }
  int exponent = 0;
  if (!c || std::abs(std::frexp(*c, &exponent)) != 0.5 || round_to(dtype, 1 / *c) * *c != 1) return false;
  Builder b = rw.at(id);
  NNC_ASSIGN(const ValueId factor, b.scalar(dtype, 1 / *c));
  NNC_ASSIGN(ValueId v, b.binary(OpKind::kMul, node.operands[0], factor));
  const Shape to = g.type(node.results[0]).shape;
  NNC_ASSIGN(v, b.broadcast_to(v, to));
  return replace_if_same(rw, id, v);
}

Result<bool> pow_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const std::optional<double> c = uniform_value(g, node.operands[1]);
  const ValueId x = node.operands[0];
  if (!c || (*c != 1 && *c != 2 && *c != 3)) return false;
  Builder b = rw.at(id);
  ValueId v = x;
  for (int k = 1; k < static_cast<int>(*c); ++k) { NNC_ASSIGN(v, b.binary(OpKind::kMul, v, x)); }
  const Shape to = g.type(node.results[0]).shape;
  NNC_ASSIGN(v, b.broadcast_to(v, to));
  return replace_if_same(rw, id, v);
}

// neg and not undo themselves; relu does nothing a second time.
Result<bool> twice_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  if (!is(g, node.operands[0], node.kind)) return false;
  return replace_if_same(rw, id, node.kind == OpKind::kRelu ? node.operands[0] : def_of(g, node.operands[0])->operands[0]);
}

// min with +inf, max with -inf.
Result<bool> bound_rule(Rewriter& rw, NodeId id) {
  const Graph& g = rw.graph();
  const Node& node = g.node(id);
  const std::optional<double> c = uniform_value(g, node.operands[1]);
  if (!c || !std::isinf(*c) || (*c > 0) != (node.kind == OpKind::kMin)) return false;
  return replace_by_operand(rw, id, node.operands[0]);
}

Result<bool> where_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  if (node.operands[1] == node.operands[2]) return replace_by_operand(rw, id, node.operands[1]);
  if (const std::optional<double> c = uniform_value(g, node.operands[0])) return replace_by_operand(rw, id, node.operands[*c != 0 ? 1 : 2]);
  if (!is(g, node.operands[0], OpKind::kNot)) return false;
  NNC_ASSIGN(const ValueId v,
             rw.at(id).op(OpKind::kWhere, {def_of(g, node.operands[0])->operands[0], node.operands[mutant("where_keeps_its_order") ? 1 : 2],
                                           node.operands[mutant("where_keeps_its_order") ? 2 : 1]}));
  return replace_if_same(rw, id, v);
}

Result<bool> logic_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const std::optional<double> c = uniform_value(g, node.operands[1]);
  if (!c || g.type(node.operands[0]).dtype != DType::kBool) return false;
  const bool neutral = (*c != 0) == (node.kind == OpKind::kAnd);
  return replace_by_operand(rw, id, node.operands[neutral ? 0 : 1]);
}

// Zero padding in front of a convolution becomes its own.
Result<bool> conv_pad_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const Node* pad = def_of(g, node.operands[0]);
  if (pad == nullptr || pad->kind != OpKind::kPad || pad->s("mode") != "constant" || node.s("auto_pad") != "notset" ||
      node.s("layout") != "nchw")
    return false;
  if (pad->operands.size() > 1 && !is_uniform(g, pad->operands[1], 0)) return false;
  const Shape before = pad->dims("before"), after = pad->dims("after");
  if (!before[0].is_const(0) || !before[1].is_const(0) || !after[0].is_const(0) || !after[1].is_const(0)) return false;
  const size_t spatial = before.size() - 2;
  std::vector<int64_t> begin = node.ints("pads_begin"), end = node.ints("pads_end");
  begin.resize(spatial);
  end.resize(spatial);
  for (size_t k = 0; k < spatial; ++k) {
    const Dim &b = before[k + 2], &a = after[k + 2];
    if (!b.is_const() || !a.is_const() || b.constant() < 0 || a.constant() < 0 || begin[k] < 0 || end[k] < 0) return false;
    begin[k] += b.constant();
    end[k] += a.constant();
  }
  std::vector<ValueId> operands = node.operands;
  operands[0] = pad->operands[0];
  Builder b = rw.at(id);
  NNC_ASSIGN(const std::vector<ValueId> v, rebuild(b, node, std::move(operands), {{"pads_begin", begin}, {"pads_end", end}}));
  return replace_if_same(rw, id, v[0]);
}

// y = scale * x + shift per channel, as constants.
struct ChannelAffine {
  std::vector<double> scale, shift;  // empty: 1, 0
};

// batch_norm of a linear op: constants a and b with y = a * x + b.
std::optional<ChannelAffine> batch_norm_affine(const Graph& g, const Node& node) {
  std::vector<std::vector<double>> p;
  for (size_t k = 1; k <= 4; ++k) {
    const Tensor* t = const_value(g, node.operands[k]);
    if (t == nullptr) return std::nullopt;
    p.push_back(doubles_of(*t));
  }
  ChannelAffine a;
  for (size_t k = 0; k < p[0].size(); ++k) {
    a.scale.push_back(p[0][k] / std::sqrt(p[3][k] + node.f("epsilon")));
    a.shift.push_back(p[1][k] - p[2][k] * a.scale[k]);
  }
  return a;
}

// A constant that varies along the channel axis alone, as a vector over the channels.
std::optional<std::vector<double>> channel_vector(const Graph& g, ValueId v, int rank, int64_t axis, int64_t channels) {
  const Tensor* t = const_value(g, v);
  if (t == nullptr || !is_float(t->dtype()) || t->rank() > rank) return std::nullopt;
  for (int k = 0; k < t->rank(); ++k) {
    if (k + rank - t->rank() != axis && t->dims()[static_cast<size_t>(k)] != 1) return std::nullopt;
  }
  std::vector<double> values = doubles_of(*t);
  if (values.size() == 1) values.assign(static_cast<size_t>(channels), values[0]);
  if (static_cast<int64_t>(values.size()) != channels) return std::nullopt;
  return values;
}

// Whether each number that the dtype held is still held after scaling: no new infinity, and no half that loses its last bits or becomes 0.
bool scales_fit(const Tensor& before, const Tensor& after) {
  const double least = before.dtype() == DType::kF16 ? 0x1p-14 : 0;
  if (before.dtype() == DType::kF32) {
    const auto *x = static_cast<const float*>(before.data()), *y = static_cast<const float*>(after.data());
    for (int64_t k = 0; k < before.count(); ++k)
      if (!std::isfinite(y[k]) && std::isfinite(x[k])) return false;
    return true;
  }
  for (int64_t k = 0; k < before.count(); ++k) {
    const double x = before.f64(k), y = after.f64(k);
    if (!std::isfinite(y) && std::isfinite(x)) return false;
    if (std::abs(x) >= least && x != 0 && std::abs(y) < least) return false;
  }
  return true;
}

// Rewrites `linear` (conv, conv_transpose or matmul) followed by `root` into one with other constants.
Result<bool> absorb(Rewriter& rw, NodeId root, ValueId linear, const ChannelAffine& affine) {
  Graph& g = rw.graph();
  const Node node = *def_of(g, linear);
  // Zeros among the weights would make NaN of infinite factors.
  if (!std::all_of(affine.scale.begin(), affine.scale.end(), [](double v) { return std::isfinite(v); })) return false;
  std::vector<ValueId> operands = node.operands;
  std::optional<Tensor> scaled;
  if (!affine.scale.empty()) {
    const Tensor& weights = *const_value(g, operands[1]);
    scaled = scale_outputs(node, weights, affine.scale);
    if (!scales_fit(weights, *scaled)) return false;
  }
  std::vector<double> bias(linear_outputs(g, node), 0.0);
  if (operands.size() > 2) bias = doubles_of(*const_value(g, operands[2]));
  for (size_t k = 0; k < bias.size(); ++k)
    bias[k] = bias[k] * (affine.scale.empty() ? 1.0 : affine.scale[k]) + (affine.shift.empty() ? 0.0 : affine.shift[k]);
  const Tensor shifts = vector_of(g.type(linear).dtype, bias);
  for (size_t k = 0; k < bias.size(); ++k)
    if (std::isfinite(bias[k]) && !std::isfinite(shifts.f64(static_cast<int64_t>(k)))) return false;
  Builder b = rw.at(root);
  if (scaled) { NNC_ASSIGN(operands[1], b.constant(std::move(*scaled))); }
  const bool biased = std::any_of(bias.begin(), bias.end(), [](double v) { return v != 0; });
  if (node.kind == OpKind::kMatMul) {
    NNC_ASSIGN(ValueId v, b.op(node.kind, operands, attr_list_of(node)));
    if (biased) {
      NNC_ASSIGN(const ValueId shift, b.constant(shifts));
      NNC_ASSIGN(v, b.binary(OpKind::kAdd, v, shift));
    }
    return replace_if_same(rw, root, v);
  }
  operands.resize(2);
  if (biased) {
    NNC_ASSIGN(const ValueId c, b.constant(shifts));
    operands.push_back(c);
  }
  NNC_ASSIGN(const ValueId v, b.op(node.kind, std::move(operands), attr_list_of(node)));
  return replace_if_same(rw, root, v);
}

// Whether constants may move into the weights of what defines `x`.
bool is_constant_linear(const Graph& g, ValueId x) {
  const Node* n = def_of(g, x);
  if (n == nullptr || !single_use(g, x) || !is_float(g.type(x).dtype)) return false;
  if (n->kind != OpKind::kConv && n->kind != OpKind::kConvTranspose && n->kind != OpKind::kMatMul) return false;
  if (!const_value(g, n->operands[1]) || !linear_is_plain(g, *n)) return false;
  return n->operands.size() < 3 || const_value(g, n->operands[2]) != nullptr;
}

int64_t channel_axis(const Graph& g, ValueId x) { return def_of(g, x)->kind == OpKind::kMatMul ? g.type(x).rank() - 1 : 1; }

Result<bool> batch_norm_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const ValueId x = node.operands[0];
  if (!is_constant_linear(g, x) || node.i("axis") != channel_axis(g, x)) return false;
  const std::optional<ChannelAffine> affine = batch_norm_affine(g, node);
  return affine ? absorb(rw, id, x, *affine) : Result<bool>(false);
}

// A product keeps its bias as an addition of its own, so only scales move into it.
Result<bool> channel_affine_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const ValueId x = node.operands[0];
  if (!is_constant_linear(g, x) || g.type(x) != g.type(node.results[0])) return false;
  const Node* linear = def_of(g, x);
  if (linear->kind == OpKind::kMatMul && node.kind != OpKind::kMul) return false;
  const int64_t axis = channel_axis(g, x);
  const Dim channels = g.type(x).shape[static_cast<size_t>(axis)];
  if (!channels.is_const()) return false;
  std::optional<std::vector<double>> v = channel_vector(g, node.operands[1], g.type(x).rank(), axis, channels.constant());
  if (!v) return false;
  ChannelAffine affine;
  if (node.kind == OpKind::kMul)
    affine.scale = std::move(*v);
  else
    affine.shift = std::move(*v);
  if (node.kind == OpKind::kSub) std::transform(affine.shift.begin(), affine.shift.end(), affine.shift.begin(), std::negate<>());
  return absorb(rw, id, x, affine);
}

// (s a) b is s (a b): one factor behind the product instead of one per element before it. Constant factors only; the other reassociation
// that is made.
Result<bool> operand_scale_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const DType dtype = g.type(node.results[0]).dtype;
  if ((dtype != DType::kF32 && dtype != DType::kF64) || node.has_attr("accumulate") || !node.s("b_format").empty()) return false;
  std::vector<ValueId> operands = node.operands;
  double scale = 1;
  for (ValueId& v : operands) {
    const Node* n = def_of(g, v);
    if (n == nullptr || n->kind != OpKind::kMul || !single_use(g, v) || g.type(n->operands[0]) != g.type(v)) continue;
    const std::optional<double> c = uniform_value(g, n->operands[1]);
    if (!c || !std::isfinite(*c) || *c == 0) continue;
    scale *= *c;
    v = n->operands[0];
  }
  if (operands == node.operands) return false;
  const double stored = round_to(dtype, scale);
  if (!std::isfinite(stored) || stored == 0) return false;  // both factors may be far from 1
  Builder b = rw.at(id);
  NNC_ASSIGN(const std::vector<ValueId> y, rebuild(b, node, std::move(operands)));
  NNC_ASSIGN(const ValueId factor, b.scalar(dtype, scale));
  NNC_ASSIGN(const ValueId v, b.binary(OpKind::kMul, y[0], factor));
  return replace_if_same(rw, id, v);
}

constexpr RuleEntry kRules[] = {
    {OpKind::kAdd, add_rule},
    {OpKind::kSub, add_rule},
    {OpKind::kMul, mul_rule},
    {OpKind::kDiv, div_rule},
    {OpKind::kPow, pow_rule},
    {OpKind::kNeg, twice_rule},
    {OpKind::kNot, twice_rule},
    {OpKind::kRelu, twice_rule},
    {OpKind::kMin, bound_rule},
    {OpKind::kMax, bound_rule},
    {OpKind::kWhere, where_rule},
    {OpKind::kAnd, logic_rule},
    {OpKind::kOr, logic_rule},
    {OpKind::kConv, conv_pad_rule},
    {OpKind::kMatMul, operand_scale_rule},
    {OpKind::kBatchNorm, batch_norm_rule},
    {OpKind::kMul, channel_affine_rule},
    {OpKind::kAdd, channel_affine_rule},
    {OpKind::kSub, channel_affine_rule},
};

}  // namespace

Result<int64_t> run_algebra(Module& m, PassContext& c) { return apply_rules(m, c, kRules); }

}  // namespace nnc

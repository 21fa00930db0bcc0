#include "ir/ops/norm.h"
#include "ir/ops/spelling.h"
#include "ir/support/mutant.h"

namespace nnc {

namespace {

// x and its exponentials over their sum, or x - m - log of the sum.
ValueId softmax(Gradient& t, ValueId x, int64_t axis, bool log) {
  const ValueId centred = t.sub(x, reduced(t, "max", x, {axis}));
  const ValueId e = t.op(OpKind::kExp, {centred});
  const ValueId sum = reduced(t, "sum", e, {axis});
  return log ? t.sub(centred, t.op(OpKind::kLog, {sum})) : t.div(e, sum);
}

ValueId inverse_root(Gradient& t, ValueId x, double epsilon) {
  return t.op(OpKind::kReciprocal, {t.op(OpKind::kSqrt, {t.plus(x, mutant("norm_without_epsilon") ? 0 : epsilon)})});
}

ValueId scaled_and_shifted(Gradient& t, ValueId x, DType compute) {
  if (t.has(1)) x = t.mul(x, t.cast(t.x(1), compute));
  if (t.node().kind == OpKind::kLayerNorm && t.has(2)) x = t.add(x, t.cast(t.x(2), compute));
  return t.cast(x, t.dtype(t.x(0)));
}

}  // namespace

Status expand_softmax(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results) {
  Expansion t(b, g, id);
  const DType dtype = t.dtype(t.x(0));
  const ValueId y = softmax(t, t.cast(t.x(0), compute_float(dtype)), t.node().i("axis"), t.node().i("log") != 0);
  return t.finish({t.cast(y, dtype)}, results);
}

Status expand_layer_norm(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results) {
  Expansion t(b, g, id);
  const DType compute = compute_float(t.dtype(t.x(0)));
  const ValueId x = t.cast(t.x(0), compute);
  const auto axes = axes_from(t.node().i("axis"), t.shape(x).size());
  const ValueId mean = reduced(t, "mean", x, axes), centred = t.sub(x, mean);
  const ValueId inv_std = inverse_root(t, reduced(t, "mean", t.mul(centred, centred), axes), t.node().f("epsilon"));
  std::vector<ValueId> values = {scaled_and_shifted(t, t.mul(centred, inv_std), compute)};
  if (t.node().results.size() > 1) values.insert(values.end(), {mean, inv_std});
  return t.finish(std::move(values), results);
}

Status expand_rms_norm(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results) {
  Expansion t(b, g, id);
  const DType compute = compute_float(t.dtype(t.x(0)));
  const ValueId x = t.cast(t.x(0), compute);
  const auto axes = axes_from(t.node().i("axis"), t.shape(x).size());
  const ValueId inv = inverse_root(t, reduced(t, "mean", t.mul(x, x), axes), t.node().f("epsilon"));
  return t.finish({scaled_and_shifted(t, t.mul(x, inv), compute)}, results);
}

Status expand_batch_norm(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results) {
  Expansion t(b, g, id);
  const DType dtype = t.dtype(t.x(0)), compute = compute_float(dtype);
  const size_t rank = t.shape(t.x(0)).size(), axis = static_cast<size_t>(t.node().i("axis"));
  // One multiply and one add per element; the vectors are small and usually constant.
  const auto vector = [&](int i) { return t.cast(t.x(i), compute); };
  const ValueId factor = t.mul(vector(1), inverse_root(t, vector(4), t.node().f("epsilon")));
  const ValueId shift = t.sub(vector(2), t.mul(vector(3), factor));
  const ValueId y = t.add(t.mul(t.cast(t.x(0), compute), along(t, factor, axis, rank)), along(t, shift, axis, rank));
  return t.finish({t.cast(y, dtype)}, results);
}

Status expand_softmax_cross_entropy(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results) {
  Expansion t(b, g, id);
  const DType dtype = t.dtype(t.x(0)), compute = compute_float(dtype);
  const ValueId log_prob = softmax(t, t.cast(t.x(0), compute), 1, true);
  const CrossEntropySamples s = cross_entropy_samples(t, log_prob, compute);
  ValueId loss = t.neg(t.mul(s.weight, s.log_prob));
  if (s.counted.valid()) loss = t.where_or_zero(s.counted, loss);  // not -0
  const std::string_view reduction = t.node().s("reduction");
  const auto all = axes_from(0, t.shape(loss).size());
  const auto total = [&](ValueId v) { return v.valid() ? t.keep(b.reduce("sum", v, all, false)) : v; };
  if (reduction != "none") loss = total(loss);
  if (reduction == "mean") loss = t.div(loss, total(s.weight));
  return t.finish({t.cast(loss, dtype), t.cast(log_prob, dtype)}, results);
}

CrossEntropySamples cross_entropy_samples(Gradient& t, ValueId log_prob, DType compute) {
  const Shape logits = t.shape(t.x(0));
  ValueId label = t.cast(t.x(1), DType::kI64), counted;
  const ValueId zero = t.keep(t.builder().scalar(DType::kI64, 0));
  if (t.node().has_attr("ignore_index")) {
    counted = t.op(OpKind::kNot, {t.equal(label, t.keep(t.builder().constant(Tensor::scalar_i64(t.node().i("ignore_index")))))});
    label = t.where(counted, label, zero);
  }
  // Gather counts negative indices from the end; a negative label is moved below all of these, so that it fails there.
  const ValueId classes = t.op(OpKind::kDimsValue, {}, {{"dims", Shape{logits[1]}}, {"rank0", int64_t{1}}});
  label = t.where(t.less(label, zero), t.sub(label, classes), label);
  CrossEntropySamples s;
  s.label = label;
  s.counted = counted;
  Shape column = t.shape(label);
  const Shape samples = column;
  column.insert(column.begin() + 1, 1);
  s.log_prob = t.reshape(
      t.op(OpKind::kGatherElements, {log_prob, t.reshape(label, column)}, {{"axis", int64_t{1}}, {"of", std::string("label")}}), samples);
  s.weight = t.has(2) ? t.op(OpKind::kGather, {t.cast(t.x(2), compute), label}) : t.full(samples, compute, 1);
  if (counted.valid()) {  // both: infinity times zero would be no number
    s.weight = t.where_or_zero(counted, s.weight);
    s.log_prob = t.where_or_zero(counted, s.log_prob);
  }
  return s;
}

}  // namespace nnc

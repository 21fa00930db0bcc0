#include "ir/ops/norm.h"

namespace nnc {

namespace {

ValueId inverse_root(Gradient& t, ValueId x, double epsilon) {
  return t.op(OpKind::kReciprocal, {t.op(OpKind::kSqrt, {t.plus(x, epsilon)})});
}

// Operand i times g, in g's dtype, or g.
ValueId times(Gradient& t, ValueId g, int i) { return t.has(i) ? t.mul(g, t.cast(t.x(i), t.dtype(g))) : g; }

void give_cast(Gradient& t, int i, ValueId gradient) { t.give(i, t.cast(t.sum_to(gradient, t.shape(t.x(i))), t.dtype(t.x(i)))); }

// a + b where either may be missing.
ValueId sum_of(Gradient& t, ValueId a, ValueId b) {
  if (!a.valid() || !b.valid()) return a.valid() ? a : b;
  return t.add(a, b);
}

}  // namespace

Status gradient_softmax(GradContext& c) {
  Gradient t(c);
  const std::vector<int64_t> axis = {t.node().i("axis")};
  const ValueId g = t.g(), y = t.y();
  if (t.node().i("log") != 0)
    t.give(0, t.sub(g, t.mul(t.op(OpKind::kExp, {y}), reduced(t, "sum", g, axis))));
  else
    t.give(0, t.mul(y, t.sub(g, reduced(t, "sum", t.mul(g, y), axis))));
  return t.finish();
}

Status gradient_layer_norm(GradContext& c) {
  Gradient t(c);
  const DType compute = compute_float(t.dtype(t.x(0)));
  const ValueId x = t.cast(t.x(0), compute);
  const Shape shape = t.shape(x);
  const auto axes = axes_from(t.node().i("axis"), shape.size());
  const ValueId centred = t.sub(x, reduced(t, "mean", x, axes));
  const ValueId inv = inverse_root(t, reduced(t, "mean", t.mul(centred, centred), axes), t.node().f("epsilon"));
  const ValueId normal = t.mul(centred, inv);
  ValueId dx;
  if (t.g(0).valid()) {
    const ValueId g = t.cast(t.g(0), compute), gs = times(t, g, 1);
    const ValueId through = t.add(reduced(t, "mean", gs, axes), t.mul(normal, reduced(t, "mean", t.mul(gs, normal), axes)));
    dx = t.mul(inv, t.sub(gs, through));
    if (t.wants(1)) give_cast(t, 1, t.mul(g, normal));
    if (t.wants(2)) give_cast(t, 2, g);
  }
  if (t.node().results.size() > 1 && (t.g(1).valid() || t.g(2).valid())) {
    // d mean / dx = 1 / n; d inv_std / dx = -inv_std^2 * normal / n.
    ValueId stats = t.g(1);
    if (t.g(2).valid()) stats = sum_of(t, stats, t.neg(t.mul(t.mul(t.g(2), t.mul(inv, inv)), normal)));
    const Shape normalised(shape.begin() + axes.front(), shape.end());
    dx = sum_of(t, dx, broadcast(t, t.div(stats, element_count_of(t, normalised, x)), shape));
  }
  t.give(0, t.cast(dx, t.dtype(t.x(0))));
  return t.finish();
}

Status gradient_rms_norm(GradContext& c) {
  Gradient t(c);
  const DType compute = compute_float(t.dtype(t.x(0)));
  const ValueId x = t.cast(t.x(0), compute), g = t.cast(t.g(), compute);
  const auto axes = axes_from(t.node().i("axis"), t.shape(x).size());
  const ValueId inv = inverse_root(t, reduced(t, "mean", t.mul(x, x), axes), t.node().f("epsilon"));
  const ValueId normal = t.mul(x, inv), gs = times(t, g, 1);
  const ValueId dx = t.mul(inv, t.sub(gs, t.mul(normal, reduced(t, "mean", t.mul(gs, normal), axes))));
  t.give(0, t.cast(dx, t.dtype(t.x(0))));
  if (t.wants(1)) give_cast(t, 1, t.mul(g, normal));
  return t.finish();
}

Status gradient_batch_norm(GradContext& c) {
  Gradient t(c);
  const DType compute = compute_float(t.dtype(t.x(0)));
  const size_t rank = t.shape(t.x(0)).size(), axis = static_cast<size_t>(t.node().i("axis"));
  std::vector<int64_t> others;
  for (size_t k = 0; k < rank; ++k)
    if (k != axis) others.push_back(static_cast<int64_t>(k));
  const auto vector = [&](int i) { return t.cast(t.x(i), compute); };
  const auto per_channel = [&](ValueId v) { return v.valid() ? t.keep(t.builder().reduce("sum", v, others, false)) : v; };
  const auto give = [&](int i, ValueId v) { t.give(i, t.cast(v, t.dtype(t.x(i)))); };
  const ValueId g = t.cast(t.g(), compute), inv = inverse_root(t, vector(4), t.node().f("epsilon")), factor = t.mul(vector(1), inv);
  const ValueId sum = per_channel(g), moment = per_channel(t.mul(g, t.sub(t.cast(t.x(0), compute), along(t, vector(3), axis, rank))));
  give(0, t.mul(g, along(t, factor, axis, rank)));
  give(1, t.mul(moment, inv));
  give(2, sum);
  give(3, t.neg(t.mul(sum, factor)));
  give(4, t.scaled(t.mul(t.mul(moment, factor), t.mul(inv, inv)), -0.5));
  return t.finish();
}

Status gradient_softmax_cross_entropy(GradContext& c) {
  Gradient t(c);
  const DType dtype = t.dtype(t.x(0)), compute = compute_float(dtype);
  const Shape logits = t.shape(t.x(0));
  const ValueId log_prob = t.cast(t.y(1), compute), prob = t.op(OpKind::kExp, {log_prob});
  ValueId dx;
  if (t.g(1).valid()) {
    const ValueId g = t.cast(t.g(1), compute);
    dx = t.sub(g, t.mul(prob, reduced(t, "sum", g, {1})));
  }
  if (t.g(0).valid()) {
    const CrossEntropySamples s = cross_entropy_samples(t, log_prob, compute);
    const auto all = axes_from(0, logits.size() - 1);
    // The factor of each sample's -weight * log_prob in the loss.
    const bool mean = t.node().s("reduction") == "mean";
    const ValueId g = t.cast(t.g(0), compute);
    ValueId factor = g;
    if (mean) factor = t.div(g, s.weight.valid() ? t.keep(t.builder().reduce("sum", s.weight, all, false)) : s.weight);
    const ValueId slope = t.mul(factor, s.weight);
    Shape column = t.shape(t.x(1));
    column.insert(column.begin() + 1, 1);
    const ValueId off_on = t.keep(t.builder().concat({t.full({1}, compute, 0), t.full({1}, compute, 1)}, 0));
    const ValueId hot = t.op(OpKind::kOneHot, {s.label, off_on}, {{"axis", int64_t{1}}, {"depth", Shape{logits[1]}}});
    dx = sum_of(t, dx, t.mul(t.reshape(slope, column), t.sub(prob, hot)));
    if (t.wants(2)) {
      // A weight's share of the loss, minus (mean) its share of the divisor; an ignored sample has none of either.
      ValueId each = t.neg(s.log_prob);
      if (mean) each = t.sub(each, t.cast(t.y(0), compute));
      each = t.where_or_zero(t.op(OpKind::kNot, {t.equal(s.weight, t.num(s.weight, 0))}), t.mul(factor, each));
      std::vector<int64_t> samples = axes_from(0, logits.size());
      samples.erase(samples.begin() + 1);
      const ValueId spread = t.mul(t.reshape(each, column), hot);
      t.give(2, t.cast(spread.valid() ? t.keep(t.builder().reduce("sum", spread, samples, false)) : spread, dtype));
    }
  }
  t.give(0, t.cast(dx, dtype));
  return t.finish();
}

}  // namespace nnc

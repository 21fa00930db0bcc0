#include "ir/ops/reduce.h"
#include "ir/ops/spelling.h"

namespace nnc {

namespace {

// One where x is the extremum y, shared evenly among equals.
ValueId share_of_extremum(Gradient& t, ValueId x, ValueId y, const std::vector<int64_t>& axes) {
  const ValueId mask = t.cast(t.equal(x, y), t.dtype(x));
  return t.div(mask, reduced(t, "sum", mask, axes));
}

// The product of all other elements: with one zero only that element has one, with more none.
ValueId product_of_others(Gradient& t, ValueId x, const std::vector<int64_t>& axes) {
  const ValueId zero = t.equal(x, t.num(x, 0));
  const ValueId zeros = reduced(t, "sum", t.cast(zero, t.dtype(x)), axes);
  const ValueId rest = reduced(t, "prod", t.where(zero, t.num(x, 1), x), axes);
  const ValueId at_zero = t.where_or_zero(t.equal(zeros, t.num(x, 1)), rest);
  const ValueId elsewhere = t.where_or_zero(t.equal(zeros, t.num(x, 0)), rest);
  return t.where(zero, at_zero, t.div(elsewhere, t.where(zero, t.num(x, 1), x)));
}

ValueId derivative(Gradient& t, std::string_view kind, ValueId x, ValueId y, const std::vector<int64_t>& axes) {
  if (kind == "max" || kind == "min") return share_of_extremum(t, x, y, axes);
  if (kind == "prod") return product_of_others(t, x, axes);
  if (kind == "l1") return t.op(OpKind::kSign, {x});
  if (kind == "l2") return t.where_or_zero(t.less(t.num(x, 0), y), t.div(x, y));
  if (kind == "sum_square") return t.scaled(x, 2);
  if (kind == "log_sum") return t.op(OpKind::kReciprocal, {reduced(t, "sum", x, axes)});
  return t.op(OpKind::kExp, {t.sub(x, y)});  // log_sum_exp
}

}  // namespace

Status gradient_reduce(GradContext& c) {
  Gradient t(c);
  const ValueId x = t.x(0);
  const std::string kind(t.node().s("kind"));
  const auto axes = t.node().ints("axes");
  Shape kept = t.shape(x), gone;
  for (const int64_t axis : axes) {
    gone.push_back(kept[static_cast<size_t>(axis)]);
    kept[static_cast<size_t>(axis)] = 1;
  }
  ValueId g = t.reshape(t.g(), kept);
  if (kind == "mean") g = t.div(g, element_count_of(t, gone, x));
  if (kind != "sum" && kind != "mean") g = t.mul(g, derivative(t, kind, x, t.reshape(t.y(), kept), axes));
  t.give(0, broadcast(t, g, t.shape(x)));
  return t.finish();
}

Status gradient_cumsum(GradContext& c) {
  Gradient t(c);
  const int64_t back = t.node().i("reverse") == 0;
  t.give(0, t.op(OpKind::kCumSum, {t.g()}, {{"axis", t.node().i("axis")}, {"exclusive", t.node().i("exclusive")}, {"reverse", back}}));
  return t.finish();
}

}  // namespace nnc

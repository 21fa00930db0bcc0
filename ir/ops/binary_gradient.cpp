#include "ir/ops/gradient_util.h"

namespace nnc {
namespace {

void give_power(Gradient& t) {
  const ValueId x = t.x(0), y = t.cast(t.x(1), t.dtype(x)), g = t.g();
  if (t.wants(0)) {
    const ValueId slope = t.mul(y, t.op(OpKind::kPow, {x, t.plus(y, -1)}));
    t.give(0, t.mul(g, t.where(t.equal(y, t.num(y, 0)), t.num(x, 0), slope)));
  }
  if (!t.wants(1)) return;
  // x^y log x, which is 0 at x = 0 wherever x^y is 0 or 1 there.
  const ValueId flat = t.op(OpKind::kAnd, {t.equal(x, t.num(x, 0)), t.op(OpKind::kLessEqual, {t.num(y, 0), y})});
  const ValueId log = t.op(OpKind::kLog, {t.where(flat, t.num(x, 1), x)});
  t.give(1, t.cast(t.mul(g, t.mul(t.y(), log)), t.dtype(t.x(1))));
}

// The chosen operand receives all, equal ones half each.
void give_extreme(Gradient& t) {
  const ValueId a = t.x(0), b = t.x(1), g = t.g();
  const bool max = t.node().kind == OpKind::kMax;
  const ValueId half = t.where(t.equal(a, b), t.scaled(g, 0.5), t.num(g, 0));
  const ValueId a_wins = max ? t.less(b, a) : t.less(a, b), b_wins = max ? t.less(a, b) : t.less(b, a);
  t.give(0, t.where(a_wins, g, half));
  t.give(1, t.where(b_wins, g, half));
}

// a - n * b for the whole number n that is locally constant.
void give_remainder(Gradient& t) {
  const ValueId quotient = t.div(t.x(0), t.x(1)), floor = t.op(OpKind::kFloor, {quotient});
  ValueId whole = floor;
  if (t.node().i("fmod") != 0) whole = t.where(t.less(quotient, t.num(quotient, 0)), t.op(OpKind::kCeil, {quotient}), floor);
  t.give(0, t.g());
  t.give(1, t.neg(t.mul(t.g(), whole)));
}

}  // namespace

Status gradient_binary(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !is_float(t.dtype(t.y()))) return {};
  const ValueId a = t.x(0), b = t.x(1), g = t.g();
  switch (t.node().kind) {
    case OpKind::kAdd:
      t.give(0, g);
      t.give(1, g);
      break;
    case OpKind::kSub:
      t.give(0, g);
      t.give(1, t.neg(g));
      break;
    case OpKind::kMul:
      t.give(0, t.mul(g, b));
      t.give(1, t.mul(g, a));
      break;
    case OpKind::kDiv:
      t.give(0, t.div(g, b));
      t.give(1, t.neg(t.div(t.mul(g, t.y()), b)));
      break;
    case OpKind::kMod: give_remainder(t); break;
    case OpKind::kPow: give_power(t); break;
    default: give_extreme(t); break;
  }
  return t.finish();
}

Status gradient_where(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid()) return {};
  const ValueId zero = t.num(t.g(), 0);
  if (t.wants(1)) t.give(1, t.where(t.x(0), t.g(), zero));
  if (t.wants(2)) t.give(2, t.where(t.x(0), zero, t.g()));
  return t.finish();
}

Status gradient_clip(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  ValueId inner = t.x(0), g = t.g();
  if (t.has(1)) inner = t.op(OpKind::kMax, {inner, t.x(1)});
  if (t.has(2)) {
    const ValueId capped = t.less(t.x(2), inner);
    t.give(2, t.where_or_zero(capped, g));
    g = t.where(capped, t.num(g, 0), g);
  }
  if (t.has(1)) {
    const ValueId raised = t.less(t.x(0), t.x(1));
    t.give(1, t.where_or_zero(raised, g));
    g = t.where(raised, t.num(g, 0), g);
  }
  t.give(0, g);
  return t.finish();
}

}  // namespace nnc

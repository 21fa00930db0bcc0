// Makers of elementwise rows.

#include "tests/fuzz/generator_ops.h"

namespace nnc::test {

void make_exact_unary(Sketch& s, OpKind kind) { s.apply(kind, {s.any()}); }
void make_rounding(Sketch& s, OpKind kind) { s.apply(kind, {s.exact_value(true)}); }
void make_float_unary(Sketch& s, OpKind kind) { s.apply(kind, {kind == OpKind::kSqrt ? s.exact_value(true) : s.floating()}); }

void make_math(Sketch& s, OpKind kind) {
  AttrList attrs;
  if (kind == OpKind::kGelu && s.r.chance(40)) attrs.push_back({"approximate", std::string("tanh")});
  if (kind == OpKind::kHardSigmoid && s.r.chance(50)) attrs = {{"alpha", 0.3}, {"beta", 0.4}};
  // Near zero a logarithm makes much of its operand's last place (as roots do).
  s.apply(kind, {kind == OpKind::kLog ? s.exact_value(true) : s.floating()}, std::move(attrs), 0);
}

void make_not(Sketch& s, OpKind kind) { s.apply(kind, {s.of_dtype(DType::kBool)}); }
void make_cast(Sketch& s, OpKind kind) { s.apply(kind, {s.exact_value()}, {{"to", s.any_dtype()}}); }

void make_arithmetic(Sketch& s, OpKind kind) {
  const ValueId x = s.r.chance(20) ? s.of_dtype(s.any_dtype()) : s.any();
  s.apply(kind, {x, s.partner(x)});
}

void make_division(Sketch& s, OpKind kind) {
  const bool mod = kind == OpKind::kMod;
  const bool whole = s.r.chance(50);
  const ValueId x = whole ? s.of_dtype(s.r.pick({DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU32}))
                    : mod ? s.exact_value()
                          : s.any();
  const DType t = s.dtype(x);
  if (t == DType::kBool) return;
  // Integer divisors of both signs and zero; float ones are kept off zero, where quotients lose all digits to what came before.
  const bool below_one = is_int(t) && s.r.chance(50);
  const ValueId y = s.make_input(t, s.r.chance(50) ? s.shape(x) : Shape{}, below_one ? (Sketch::is_signed(t) ? -3 : 0) : 1, 6, false);
  AttrList attrs;
  if (mod) attrs.push_back({"fmod", int64_t(is_float(t) ? s.r.chance(70) : s.r.chance(50))});
  s.apply(kind, {x, y}, std::move(attrs), mod && is_float(t) ? 0 : 1);
}

// Negative numbers have fractional powers of no value, zeros of both signs have: the base is exact.
void make_pow(Sketch& s, OpKind kind) {
  const bool whole = s.r.chance(25);
  const ValueId x = whole ? s.of_dtype(s.r.pick({DType::kI32, DType::kI64, DType::kU8})) : s.exact_value(true);
  const DType t = whole && s.r.chance(50) ? DType::kI32 : s.dtype(x);
  s.apply(kind, {x, s.make_input(t, Shape{}, 0, 3, false)}, {}, 0);
}

void make_compare(Sketch& s, OpKind kind) {
  const ValueId x = s.exact_value(), y = s.partner(x);
  if (s.exact(y)) s.apply(kind, {x, y});
}

void make_logic(Sketch& s, OpKind kind) {
  const DType t = s.r.chance(70) ? DType::kBool : s.r.pick({DType::kI32, DType::kU8, DType::kI64});
  const ValueId x = s.of_dtype(t);
  s.apply(kind, {x, s.partner(x)});
}

void make_where(Sketch& s, OpKind kind) {
  const ValueId x = s.any(), y = s.partner(x);
  const ValueId c = s.make_input(DType::kBool, s.r.chance(60) ? s.shape(x) : Shape{}, 0, 2, false);
  s.apply(kind, {c, x, y});
}

void make_clip(Sketch& s, OpKind kind) {
  const ValueId x = s.any();
  const DType t = s.dtype(x);
  if (t == DType::kBool) return;
  const auto bound = [&](double lo, double hi) { return s.r.chance(85) ? s.make_input(t, Shape{}, lo, hi, false) : ValueId(); };
  std::vector<ValueId> operands = {x, bound(Sketch::is_signed(t) ? -2 : 0, 2), bound(2, 4)};
  while (!operands.back().valid()) operands.pop_back();
  s.apply(kind, std::move(operands));
}

void make_quantize(Sketch& s, OpKind kind) {
  const DType q = s.r.pick({DType::kI8, DType::kU8});
  const ValueId x = s.exact_value(true);
  if (s.dtype(x) == DType::kF64) return;
  const auto scale = s.make_input(s.dtype(x), Shape{}, 0.5, 2, false), zero = s.make_input(q, Shape{}, 0, 5, false);
  if (kind == OpKind::kDequantize) {
    s.apply(kind, {s.make_input(q, s.random_shape(), -20, 20), scale, zero});
    return;
  }
  if (s.apply(kind, {x, scale, zero}, {{"to", q}}) && s.r.chance(70)) s.apply(OpKind::kDequantize, {s.last(), scale, zero});
}

}  // namespace nnc::test

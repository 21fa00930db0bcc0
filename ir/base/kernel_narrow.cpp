#include "ir/base/kernel_narrow.h"

#include <algorithm>
#include <cmath>

namespace nnc {
namespace {

constexpr uint64_t kF32Inf = 0x7f800000, kF32NaN = 0x7fc00000;

// Lanes of u32, as bits of f32 and as integers.
struct Bits {
  KernelBuilder& k;
  int lanes;
  Expr of(uint64_t v) const { return k.constant_bits(KType::of(DType::kU32, lanes), v); }
  Expr from(Expr f32) const { return k.cast(ExprOp::kCastBits, f32, KType::of(DType::kU32, lanes)); }
  Expr to_float(Expr bits) const { return k.cast(ExprOp::kCastBits, bits, KType::of(DType::kF32, lanes)); }
  Expr number(double v) const { return k.constant(DType::kF32, v, lanes); }
  Expr shl(Expr a, int n) const { return n == 0 ? a : k.binary(ExprOp::kShl, a, of(static_cast<uint64_t>(n))); }
  Expr shr(Expr a, int n) const { return n == 0 ? a : k.binary(ExprOp::kShr, a, of(static_cast<uint64_t>(n))); }
  Expr both(Expr a, uint64_t mask) const { return k.binary(ExprOp::kAnd, a, of(mask)); }
  Expr either(Expr a, Expr b) const { return k.binary(ExprOp::kOr, a, b); }
};

// The exponent of a power of two that f32 holds as a normal number.
double power_of_two(int e) { return std::ldexp(1.0, e); }

Expr decode_scale(const Bits& b, Expr code) {
  const Expr bits = b.k.select(b.k.eq(code, b.of(0)), b.of(0x00400000), b.shl(code, 23));
  return b.to_float(b.k.select(b.k.eq(code, b.of(0xff)), b.of(kF32NaN), bits));
}

// Exponent and mantissa where f32 has them, times the power of two between the biases: exact, below the normal numbers too.
Expr decode(const Bits& b, Expr code, const FloatFormat& f) {
  KernelBuilder& k = b.k;
  const int sign_at = f.bits() - 1;
  const uint64_t sign_bit = uint64_t(1) << sign_at;
  const Expr magnitude = b.both(code, sign_bit - 1);
  const Expr value = k.mul(b.to_float(b.shl(magnitude, 23 - f.mantissa_bits)), b.number(power_of_two(127 - f.bias)));
  Expr bits = b.from(value);
  if (f.nan >= 0 && !f.is_unsigned_zero)
    bits = k.select(k.lt(b.of(static_cast<uint64_t>(std::max<int>(f.max_finite, f.inf))), magnitude), b.of(kF32NaN), bits);
  if (f.inf >= 0) bits = k.select(k.eq(magnitude, b.of(static_cast<uint64_t>(f.inf))), b.of(kF32Inf), bits);
  bits = b.either(bits, b.shl(b.both(code, sign_bit), 31 - sign_at));
  if (f.is_unsigned_zero) bits = k.select(k.eq(code, b.of(static_cast<uint64_t>(f.nan))), b.of(kF32NaN), bits);
  return b.to_float(bits);
}

// Rounds to a whole number of units: the distance of neighbours at the value's exponent, or at the smallest.
Expr encode(const Bits& b, Expr value, const FloatFormat& f, Overflow overflow) {
  KernelBuilder& k = b.k;
  const int sign_at = f.bits() - 1, smallest = 127 + 1 - f.bias;
  const Expr bits = b.from(value), absolute = b.both(bits, 0x7fffffff);
  const Expr exponent = k.min(k.max(b.shr(absolute, 23), b.of(static_cast<uint64_t>(smallest))), b.of(254));
  const Expr per_unit = b.to_float(b.shl(k.sub(b.of(uint64_t{254} + static_cast<uint64_t>(f.mantissa_bits)), exponent), 23));
  const Expr units = k.unary(ExprOp::kRoundEven, k.mul(b.to_float(absolute), per_unit));
  // A carry out of the mantissa steps into the next exponent.
  const Expr whole = k.cast(ExprOp::kCastBits, k.convert(units, DType::kI32), KType::of(DType::kU32, b.lanes));
  Expr code = k.add(b.shl(k.sub(exponent, b.of(static_cast<uint64_t>(smallest))), f.mantissa_bits), whole);
  const Expr beyond = k.logical_or(k.lt(b.of(f.max_finite), code), k.le(b.of(kF32Inf), absolute));
  const bool saturates = overflow == Overflow::kSaturate || f.nan < 0;
  code = k.select(beyond, b.of(saturates ? f.max_finite : static_cast<uint64_t>(f.inf >= 0 ? f.inf : f.nan)), code);
  const Expr sign = b.shr(b.both(bits, 0x80000000), 31 - sign_at), nan = k.lt(b.of(kF32Inf), absolute);
  if (f.is_unsigned_zero) {
    const Expr no_sign = k.logical_or(k.eq(code, b.of(0)), k.eq(code, b.of(static_cast<uint64_t>(f.nan))));
    code = k.select(no_sign, code, b.either(code, sign));
    return k.select(nan, b.of(static_cast<uint64_t>(f.nan)), code);
  }
  if (f.nan < 0) return k.select(nan, b.of(f.max_finite), b.either(code, sign));
  return b.either(k.select(nan, b.of(static_cast<uint64_t>(f.nan)), code), sign);
}

Expr encode_scale(const Bits& b, Expr value, Overflow overflow, ScaleRound round) {
  KernelBuilder& k = b.k;
  const bool saturate = overflow == Overflow::kSaturate;
  const Expr absolute = b.both(b.from(value), 0x7fffffff);
  const Expr tiny = k.lt(absolute, b.of(0x00800000));
  const Expr normal = b.from(k.select(tiny, k.mul(b.to_float(absolute), b.number(power_of_two(64))), b.to_float(absolute)));
  const Expr fraction = b.both(normal, 0x7fffff);
  // 64 more than the code, so that what lies below is no negative number.
  Expr code = k.add(b.shr(normal, 23), k.select(tiny, b.of(0), b.of(64)));
  if (round != ScaleRound::kDown) {
    const Expr up = k.le(b.of(round == ScaleRound::kUp ? 1 : 0x400000), fraction);
    code = k.add(code, k.select(up, b.of(1), b.of(0)));
  }
  const Expr below = k.lt(code, b.of(64)), above = k.lt(b.of(64 + 254), code);
  code = k.select(above, b.of(saturate ? 254 : 255), k.select(below, b.of(saturate ? 0 : 255), k.sub(code, b.of(64))));
  const Expr none = k.logical_or(k.lt(b.of(kF32Inf), absolute), k.lt(value, b.number(0)));
  return k.select(none, b.of(255), code);
}

// f64 -> f32 with an odd last bit where it is inexact, so that rounding on to a narrower type rounds once.
Expr odd_f32(KernelBuilder& k, Expr x) {
  const Bits b{k, k.lanes(x)};
  const Expr nearest = k.convert(x, DType::kF32), back = k.convert(nearest, DType::kF64);
  const Expr exact = k.eq(back, x);
  const Expr over = k.lt(k.unary(ExprOp::kAbs, x), k.unary(ExprOp::kAbs, back));
  const Expr bits = b.from(nearest), toward_zero = k.select(over, k.sub(bits, b.of(1)), bits);
  return b.to_float(k.select(exact, bits, b.either(toward_zero, b.of(1))));
}

// i64 or u64 -> f64 whose bits below those that f64 holds are one: enough for rounding on. Below zero nothing depends on them.
Expr sticky_f64(KernelBuilder& k, Expr x) {
  const KType t = k.type(x);
  auto number = [&](uint64_t v) { return k.constant_bits(t, v); };
  const Expr low = k.binary(ExprOp::kAnd, x, number(0xfff)), high = k.binary(ExprOp::kAnd, x, number(~uint64_t{0xfff}));
  const Expr rounded = k.binary(ExprOp::kOr, high, k.select(k.eq(low, number(0)), number(0), number(0x800)));
  return k.convert(k.select(k.lt(number(uint64_t(1) << 53), x), rounded, x), DType::kF64);
}

// The lowest bits of an integer, sign- or zero-extended.
Expr wrap(KernelBuilder& k, Expr code, DType t) {
  const int lanes = k.lanes(code), bits = dtype_bits(t);
  auto number = [&](int v) { return k.constant_bits(KType::of(DType::kU8, lanes), static_cast<uint64_t>(v)); };
  const Expr low = k.binary(ExprOp::kAnd, code, number((1 << bits) - 1));
  if (!is_signed_int(t)) return low;
  const Expr sign = number(1 << (bits - 1));
  return k.cast(ExprOp::kCastBits, k.sub(k.binary(ExprOp::kXor, low, sign), sign), KType::of(DType::kI8, lanes));
}

}  // namespace

Expr narrow_value(KernelBuilder& k, Expr code, DType t) {
  if (!is_float(t)) return wrap(k, code, t);
  const Bits b{k, k.lanes(code)};
  const Expr wide = k.convert(code, DType::kU32);
  return t == DType::kF8E8M0 ? decode_scale(b, wide) : decode(b, wide, float_format(t));
}

Expr narrow_code(KernelBuilder& k, Expr value, DType t, Overflow overflow, ScaleRound round) {
  if (!is_float(t)) {
    const int lanes = k.lanes(value);
    const Expr mask = k.constant_bits(KType::of(DType::kU8, lanes), (uint64_t(1) << dtype_bits(t)) - 1);
    return k.binary(ExprOp::kAnd, k.convert(value, DType::kU8), mask);
  }
  const Bits b{k, k.lanes(value)};
  const Expr code = t == DType::kF8E8M0 ? encode_scale(b, value, overflow, round) : encode(b, value, float_format(t), overflow);
  return k.convert(code, DType::kU8);
}

Expr cast_narrow(KernelBuilder& k, Expr x, DType t, Overflow overflow, ScaleRound round) {
  const int lanes = k.lanes(x);
  if (is_float(t)) {
    const KType from = k.type(x);
    const int whole = from.kind == KType::kElem && is_int(from.elem) ? dtype_bits(from.elem) : 0;
    if (whole >= 32) x = whole == 64 ? sticky_f64(k, x) : k.convert(x, DType::kF64);
    x = k.type(x).kind == KType::kElem && k.type(x).elem == DType::kF64 ? odd_f32(k, x) : k.convert(x, DType::kF32);
    // It has no NaN.
    if (t == DType::kF4E2M1) x = k.select(k.unary(ExprOp::kIsNan, x), k.constant(DType::kF32, -0.0, lanes), x);
    return narrow_value(k, narrow_code(k, x, t, overflow, round), t);
  }
  if (!k.type(x).floating()) return wrap(k, k.convert(x, DType::kU8), t);
  const Expr whole = k.convert(x, DType::kI32);
  auto number = [&](int64_t v) { return k.constant_bits(KType::of(DType::kI32, lanes), static_cast<uint32_t>(v)); };
  const Expr low = k.max(whole, number(int_min(t))), clamped = k.min(low, number(static_cast<int64_t>(int_max(t))));
  return k.convert(clamped, is_signed_int(t) ? DType::kI8 : DType::kU8);
}

}  // namespace nnc

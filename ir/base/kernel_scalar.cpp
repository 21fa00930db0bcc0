// One lane of one operation on bits: used for folding constants. The interpreter has its own, vectorised code; a test compares the two.

#include <cmath>
#include <cstring>
#include <limits>

#include "ir/base/kernel_rules.h"

namespace nnc {
namespace {

uint64_t low_bits(int bits) { return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }

template <class F> F float_of(uint64_t bits) {
  F v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
template <class F> uint64_t bits_of(F v) {
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

// NaN wins, the first operand's before the second's; -0 < +0.
template <class F> F float_min(F a, F b) { return a != a ? a : b != b ? b : a < b ? a : b < a ? b : std::signbit(a) ? a : b; }
template <class F> F float_max(F a, F b) { return a != a ? a : b != b ? b : a > b ? a : b > a ? b : std::signbit(a) ? b : a; }

template <class F> std::optional<uint64_t> eval_float(ExprOp op, F a, F b, F c) {
  switch (op) {
    case ExprOp::kNeg: return bits_of(-a);
    case ExprOp::kAbs: return bits_of(std::fabs(a));
    case ExprOp::kSqrt: return bits_of(std::sqrt(a));
    case ExprOp::kFloor: return bits_of(std::floor(a));
    case ExprOp::kCeil: return bits_of(std::ceil(a));
    case ExprOp::kRoundEven: return bits_of(std::nearbyint(a));
    case ExprOp::kTrunc: return bits_of(std::trunc(a));
    case ExprOp::kIsNan: return a != a;
    case ExprOp::kAdd:
    case ExprOp::kReduceAdd: return bits_of(F(a + b));
    case ExprOp::kSub: return bits_of(F(a - b));
    case ExprOp::kMul:
    case ExprOp::kReduceMul: return bits_of(F(a * b));
    case ExprOp::kDiv: return bits_of(F(a / b));
    case ExprOp::kRem: return bits_of(F(std::fmod(a, b)));
    case ExprOp::kMin:
    case ExprOp::kReduceMin: return bits_of(float_min(a, b));
    case ExprOp::kMax:
    case ExprOp::kReduceMax: return bits_of(float_max(a, b));
    case ExprOp::kLt: return a < b;
    case ExprOp::kLe: return a <= b;
    case ExprOp::kEq: return a == b;
    case ExprOp::kFma: return bits_of(F(std::fma(a, b, c)));
    default: return std::nullopt;
  }
}

// Integers live sign- or zero-extended in 64 bits; the result is cut to the width by the caller.
template <class I> std::optional<uint64_t> eval_whole(ExprOp op, I a, I b, int bits) {
  using U = uint64_t;
  const U ua = U(a), ub = U(b);
  const bool traps = b == 0 || (std::is_signed_v<I> && b == I(-1));
  const auto shift = unsigned(ub & U(bits - 1));
  switch (op) {
    case ExprOp::kNeg: return U(0) - ua;
    case ExprOp::kAbs: return a < 0 ? U(0) - ua : ua;
    case ExprOp::kNot: return ~ua;
    case ExprOp::kAdd:
    case ExprOp::kReduceAdd: return ua + ub;
    case ExprOp::kSub: return ua - ub;
    case ExprOp::kMul:
    case ExprOp::kReduceMul: return ua * ub;
    case ExprOp::kDiv: return traps ? (b == 0 ? U(0) : U(0) - ua) : U(a / b);
    case ExprOp::kRem: return traps ? U(0) : U(a % b);
    case ExprOp::kFloorDiv: return traps ? (b == 0 ? U(0) : U(0) - ua) : U(a / b - I(a % b != 0 && (a < 0) != (b < 0)));
    case ExprOp::kFloorMod: return traps ? U(0) : U(a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : I(0)));
    case ExprOp::kMin:
    case ExprOp::kReduceMin: return U(a < b ? a : b);
    case ExprOp::kMax:
    case ExprOp::kReduceMax: return U(a > b ? a : b);
    case ExprOp::kAnd:
    case ExprOp::kReduceAnd: return ua & ub;
    case ExprOp::kOr:
    case ExprOp::kReduceOr: return ua | ub;
    case ExprOp::kXor: return ua ^ ub;
    case ExprOp::kShl: return ua << shift;
    case ExprOp::kShr: return U(a >> shift);
    case ExprOp::kLt: return a < b;
    case ExprOp::kLe: return a <= b;
    case ExprOp::kEq: return a == b;
    default: return std::nullopt;
  }
}

bool is_signed_type(const KType& t) { return t.kind == KType::kIndex || is_signed_int(t.elem); }

int64_t extend(const KType& t, uint64_t bits) {
  const int width = type_bits(t);
  if (width >= 64) return int64_t(bits);
  bits &= low_bits(width);
  if (is_signed_type(t) && ((bits >> (width - 1)) & 1)) bits |= ~low_bits(width);
  return int64_t(bits);
}

uint64_t saturate(const KType& to, double v) {
  if (v != v) return 0;
  const int width = type_bits(to);
  const bool is_signed = is_signed_int(to.elem);
  const double lo = is_signed ? -std::ldexp(1.0, width - 1) : 0.0, top = std::ldexp(1.0, is_signed ? width - 1 : width);
  if (v < lo) return uint64_t(int_min(to.elem)) & low_bits(width);
  if (v >= top) return int_max(to.elem);
  return (is_signed ? uint64_t(int64_t(v)) : uint64_t(v)) & low_bits(width);
}

std::optional<uint64_t> eval_cast(ExprOp op, const KType& to, const KType& from, uint64_t a) {
  switch (op) {
    case ExprOp::kCastTrunc:
    case ExprOp::kCastSext:
    case ExprOp::kCastZext: return uint64_t(extend(from, a)) & low_bits(type_bits(to));
    case ExprOp::kCastBits: return a;
    case ExprOp::kCastMask: return a != 0;
    case ExprOp::kCastSat: return saturate(to, value_of_bits(from.elem, a));
    case ExprOp::kCastEven: {
      if (from.kind == KType::kElem && is_float(from.elem)) return bits_of_value(to.elem, value_of_bits(from.elem, a));
      const int64_t v = extend(from, a);
      const bool is_signed = is_signed_type(from);
      if (to.elem == DType::kF32) return bits_of(is_signed ? float(v) : float(uint64_t(v)));
      return bits_of(is_signed ? double(v) : double(uint64_t(v)));
    }
    default: return std::nullopt;
  }
}

}  // namespace

uint64_t bits_of_value(DType t, double v) {
  switch (t) {
    case DType::kF64: return bits_of(v);
    case DType::kF32: return bits_of(float(v));
    case DType::kF16: return f64_to_f16(v);
    case DType::kBF16: return f64_to_bf16(v);
    default: {
      uint64_t bits = 0;
      store_f64(t, &bits, 0, v);
      return bits;
    }
  }
}

double value_of_bits(DType t, uint64_t bits) {
  switch (t) {
    case DType::kF64: return float_of<double>(bits);
    case DType::kF32: return double(float_of<float>(bits));
    default: return load_f64(t, &bits, 0);
  }
}

std::optional<uint64_t> eval_scalar(ExprOp op, const KType& to, const KType& from, uint64_t a, uint64_t b, uint64_t c) {
  if (op >= ExprOp::kCastTrunc && op <= ExprOp::kCastMask) return eval_cast(op, to, from, a);
  if (op == ExprOp::kSelect) return a ? b : c;
  if (from.kind == KType::kMask) {
    switch (op) {
      case ExprOp::kNot: return a ^ 1;
      case ExprOp::kAnd:
      case ExprOp::kReduceAnd: return a & b;
      case ExprOp::kOr:
      case ExprOp::kReduceOr: return a | b;
      case ExprOp::kXor: return a ^ b;
      case ExprOp::kEq: return a == b;
      default: return std::nullopt;
    }
  }
  if (from.is_elem(DType::kF32)) return eval_float(op, float_of<float>(a), float_of<float>(b), float_of<float>(c));
  if (from.is_elem(DType::kF64)) return eval_float(op, float_of<double>(a), float_of<double>(b), float_of<double>(c));
  if (from.kind != KType::kIndex && !(from.kind == KType::kElem && is_int(from.elem))) return std::nullopt;
  const auto r = is_signed_type(from) ? eval_whole<int64_t>(op, extend(from, a), extend(from, b), type_bits(from))
                                      : eval_whole<uint64_t>(op, uint64_t(extend(from, a)), uint64_t(extend(from, b)), type_bits(from));
  if (!r || to.kind == KType::kMask) return r;
  return *r & low_bits(type_bits(to));
}

}  // namespace nnc

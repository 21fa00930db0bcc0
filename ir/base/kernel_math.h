#pragma once
// How the math functions of the strict league are written: polynomials in the IR's primitives, the same on every target. Internal to
// kernel_math*.cpp; accuracy is stated and tested in ir/base/README.md and tests/unit/base/kernel_math_test.cpp.

#include <functional>
#include <initializer_list>

#include "ir/base/kernel_exprs.h"

namespace nnc::math {

struct V {
  ExprId id;
};

// Makes expressions of one width and puts named steps before a statement.
class Writer {
 public:
  Writer(Kernel& k, ExprPool& pool, Block& out, int lanes) : k_(k), pool_(pool), out_(&out), lanes_(lanes) {}

  V value(DType t, double v) { return {pool_.constant(KType::of(t, lanes_), bits_of_value(t, v))}; }
  V bits(DType t, uint64_t b) { return {pool_.constant(KType::of(t, lanes_), b)}; }
  V op(ExprOp o, V a, V b = {}, V c = {}) { return {pool_.make(o, a.id, b.id, c.id)}; }
  V add(V a, V b) { return op(ExprOp::kAdd, a, b); }
  V sub(V a, V b) { return op(ExprOp::kSub, a, b); }
  V mul(V a, V b) { return op(ExprOp::kMul, a, b); }
  V div(V a, V b) { return op(ExprOp::kDiv, a, b); }
  V fma(V a, V b, V c) { return op(ExprOp::kFma, a, b, c); }
  V lt(V a, V b) { return op(ExprOp::kLt, a, b); }
  V eq(V a, V b) { return op(ExprOp::kEq, a, b); }
  V both(V a, V b) { return op(ExprOp::kAnd, a, b); }
  V either(V a, V b) { return op(ExprOp::kOr, a, b); }
  V negate(V a) { return op(a.id.valid() && pool_[a.id].type.kind == KType::kMask ? ExprOp::kNot : ExprOp::kNeg, a); }
  V select(V m, V a, V b) { return op(ExprOp::kSelect, m, a, b); }
  V cast(ExprOp how, V a, DType to);
  V as(DType to, V a) { return cast(ExprOp::kCastBits, a, to); }
  V to(DType t, V a) { return cast(ExprOp::kCastEven, a, t); }
  V clamp(V x, double lo, double hi);  // NaN stays
  V let(const char* name, V e);
  // c[0] + c[1] x + ..., by Horner with fma; the innermost coefficient last.
  V horner(V x, DType t, std::initializer_list<double> c);
  V constant_like(V x, double v) { return value(pool_[x.id].type.elem, v); }
  DType elem(V x) const { return pool_[x.id].type.elem; }
  int lanes() const { return lanes_; }
  // Runs `slow` only if the mask is set in some lane; gives the value it makes there, else `fast`.
  V rarely(V mask, V fast, const std::function<V()>& slow);

 private:
  VarId new_var(const char* name, ExprId e, bool is_mut);
  V read(VarId v);
  StmtId push(Stmt s);
  Kernel& k_;
  ExprPool& pool_;
  Block* out_;
  int lanes_;
};

// What differs between f32 and f64 in the exponent tricks.
struct Format {
  DType type, whole;  // f32 and i32, f64 and i64
  int mantissa, bias;
  double magic;  // 1.5 * 2^mantissa: adding it rounds to a whole number, whose low bits are then those of the sum
  bool wide() const { return type == DType::kF64; }
};
const Format& format_of(DType t);
V shift_left(Writer& w, const Format& f, V whole, int by);
V whole_constant(Writer& w, const Format& f, int64_t v);

// 2^r on [-1/2, 1/2]; e^r - 1 on [-ln2/2, ln2/2].
V exp2_poly(Writer& w, V r);
V expm1_poly(Writer& w, V r);
// p * 2^n, n the whole number in the low bits of `shifted` (n + magic); `falls` where the result may be subnormal, so n < 0.
V scale(Writer& w, V p, V shifted, V falls);

V exp(Writer& w, V x);
V exp2(Writer& w, V x);
V tanh(Writer& w, V x);
V erf(Writer& w, V x);
V log(Writer& w, V x);
V log2(Writer& w, V x);
V pow(Writer& w, V x, V y);
V sin_or_cos(Writer& w, V x, bool cosine);

}  // namespace nnc::math

#pragma once
// Random kernels and a naive evaluator of their expressions, lane by lane: what the interpreter, the printer and the passes are tested
// with.

#include <cstring>
#include <map>
#include <vector>

#include <cmath>

#include "ir/base/kernel_builder.h"
#include "ir/base/kernel_rules.h"

namespace nnc::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  uint64_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1d;
  }
  int below(int n) { return static_cast<int>((bits() >> 33) % static_cast<uint64_t>(n)); }
  template <class T> T pick(std::initializer_list<T> items) { return *(items.begin() + below(static_cast<int>(items.size()))); }

 private:
  uint64_t state_;
};

// Bits of a value worth trying: edges, specials and anything.
inline uint64_t interesting_bits(Random& r, DType t) {
  const int width = dtype_bits(t);
  const uint64_t cut = width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  if (is_float(t)) {
    switch (r.below(4)) {
      case 0:
        return bits_of_value(t, r.pick<double>({0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e30, -1e30, INFINITY, -INFINITY, NAN, 65504.0,
                                                1e-40, 2147483648.0, -2147483649.0}));
      case 1: return bits_of_value(t, (double(r.bits() >> 11) / 9007199254740992.0 - 0.5) * 20);
      case 2: return bits_of_value(t, double(r.below(200) - 100));
      default: return r.bits() & cut;
    }
  }
  switch (r.below(4)) {
    case 0: return r.pick<uint64_t>({0, 1, 2, 3, 7, ~uint64_t(0), uint64_t(1) << (width - 1), (uint64_t(1) << (width - 1)) - 1}) & cut;
    case 1: return uint64_t(int64_t(r.below(20) - 10)) & cut;
    default: return r.bits() & cut;
  }
}

inline const std::vector<DType>& value_dtypes() {
  static const std::vector<DType> all = {DType::kI8,  DType::kI16, DType::kI32, DType::kI64, DType::kU8,  DType::kU16,
                                         DType::kU32, DType::kU64, DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
  return all;
}

// Makes a random expression of any type from the leaves given.
class ExprMaker {
 public:
  ExprMaker(KernelBuilder& k, Random& r, std::vector<Expr> leaves) : k_(k), r_(r), pool_(std::move(leaves)) {}

  void grow(int count) {
    for (int tries = 0; count > 0 && tries < 10000; ++tries)
      if (const Expr e = step(); e.valid()) {
        pool_.push_back(e);
        --count;
      }
  }
  const std::vector<Expr>& all() const { return pool_; }
  Expr any() { return pool_[static_cast<size_t>(r_.below(static_cast<int>(pool_.size())))]; }

 private:
  Expr like(Expr e) {
    for (int i = 0; i < 30; ++i)
      if (const Expr o = any(); k_.type(o) == k_.type(e)) return o;
    return e;
  }
  Expr step() {
    const Expr a = any();
    const KType t = k_.type(a);
    const bool fp = t.is_elem(DType::kF32) || t.is_elem(DType::kF64);
    const bool whole = t.kind == KType::kIndex || (t.kind == KType::kElem && is_int(t.elem));
    const bool half = t.is_elem(DType::kF16) || t.is_elem(DType::kBF16);
    using O = ExprOp;
    switch (r_.below(10)) {
      case 0:
        return fp      ? k_.unary(r_.pick({O::kNeg, O::kAbs, O::kSqrt, O::kFloor, O::kCeil, O::kRoundEven, O::kTrunc, O::kIsNan}), a)
               : whole ? k_.unary(r_.pick({O::kNeg, O::kNot}), a)
               : t.kind == KType::kMask ? k_.logical_not(a)
                                        : Expr();
      case 1:
      case 2:
      case 3:
        if (fp)
          return k_.binary(r_.pick({O::kAdd, O::kSub, O::kMul, O::kDiv, O::kRem, O::kMin, O::kMax, O::kLt, O::kLe, O::kEq}), a, like(a));
        if (whole)
          return k_.binary(r_.pick({O::kAdd, O::kSub, O::kMul, O::kDiv, O::kRem, O::kFloorDiv, O::kFloorMod, O::kMin, O::kMax, O::kAnd,
                                    O::kOr, O::kXor, O::kShl, O::kShr, O::kLt, O::kLe, O::kEq}),
                           a, like(a));
        return t.kind == KType::kMask ? k_.binary(r_.pick({O::kAnd, O::kOr, O::kXor, O::kEq}), a, like(a)) : Expr();
      case 4:
        return fp                                                            ? k_.fma(a, like(a), like(a))
               : whole && (t.kind == KType::kIndex || is_signed_int(t.elem)) ? k_.unary(O::kAbs, a)
                                                                             : Expr();
      case 5: {
        const Expr m = any();
        return k_.type(m).kind == KType::kMask && k_.lanes(m) == t.lanes ? k_.select(m, a, like(a)) : Expr();
      }
      case 6:
        return k_.convert(a, r_.pick({DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16, DType::kU32, DType::kU64,
                                      DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kBool}));
      case 7: return whole ? k_.to_index(a) : half ? k_.convert(a, DType::kF32) : Expr();
      case 8: return t.lanes == 1 ? k_.splat(a, 16) : k_.extract(a, r_.below(t.lanes));
      default: {
        if (t.lanes == 1) return {};
        if (r_.below(2) && (fp || whole)) return k_.hreduce(r_.pick({O::kReduceAdd, O::kReduceMul, O::kReduceMin, O::kReduceMax}), a);
        if (t.kind == KType::kMask) return k_.hreduce(r_.pick({O::kReduceAnd, O::kReduceOr}), a);
        std::vector<uint8_t> pattern(static_cast<size_t>(t.lanes));
        for (uint8_t& p : pattern) p = static_cast<uint8_t>(r_.below(2 * t.lanes));
        return k_.shuffle(a, like(a), std::move(pattern));
      }
    }
  }

  KernelBuilder& k_;
  Random& r_;
  std::vector<Expr> pool_;
};

// Values of expressions lane by lane. Reductions follow the fixed tree.
class NaiveValues {
 public:
  NaiveValues(const Kernel& k, std::map<VarId, std::vector<uint64_t>>& vars) : k_(k), vars_(vars) {}

  const std::vector<uint64_t>& of(ExprId e) {
    if (const auto it = memo_.find(e); it != memo_.end()) return it->second;
    return memo_[e] = compute(k_.exprs[e]);
  }

 private:
  std::vector<uint64_t> compute(const ExprNode& n) {
    std::vector<uint64_t> out(n.type.lanes, n.bits);
    if (n.op == ExprOp::kVar) return vars_.at(n.var);
    if (n.op == ExprOp::kIota)
      for (size_t i = 0; i < out.size(); ++i) out[i] = i;
    if (n.op <= ExprOp::kDim || n.op == ExprOp::kIota) return out;
    const std::vector<uint64_t> a = of(n.a), b = n.b ? of(n.b) : a, c = n.c ? of(n.c) : a;
    const KType from = k_.exprs[n.a].type;
    if (n.op == ExprOp::kSplat) return std::vector<uint64_t>(n.type.lanes, a[0]);
    if (n.op == ExprOp::kExtract) return {a[n.bits]};
    if (n.op == ExprOp::kShuffle) {
      for (size_t i = 0; i < out.size(); ++i) out[i] = n.pattern[i] < a.size() ? a[n.pattern[i]] : b[n.pattern[i] - a.size()];
      return out;
    }
    if (n.op >= ExprOp::kReduceAdd) {
      std::vector<uint64_t> v = a;
      while (v.size() > 1) {
        std::vector<uint64_t> half(v.size() / 2);
        for (size_t i = 0; i < half.size(); ++i)
          half[i] = *eval_scalar(n.op, from.with_lanes(1), from.with_lanes(1), v[i], v[i + half.size()], 0);
        v = std::move(half);
      }
      return v;
    }
    for (size_t i = 0; i < out.size(); ++i) out[i] = *eval_scalar(n.op, n.type, from, a[i], b[i], c[i]);
    return out;
  }

  const Kernel& k_;
  std::map<VarId, std::vector<uint64_t>>& vars_;
  std::map<ExprId, std::vector<uint64_t>> memo_;
};

inline bool same_bits(const KType& t, uint64_t a, uint64_t b) {
  if (a == b) return true;
  if (!t.floating()) return false;
  const double x = value_of_bits(t.elem, a), y = value_of_bits(t.elem, b);
  return x != x && y != y;
}

}  // namespace nnc::test

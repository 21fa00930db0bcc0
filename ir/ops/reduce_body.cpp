#include <limits>

#include "ir/ops/body_util.h"
#include "ir/ops/reduce.h"
#include "ir/support/mutant.h"

namespace nnc {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

enum class Fold { kSum, kProd, kMax, kMin, kLogSumExp };

// What a kind of reduce adds up (or multiplies, or compares), in which dtype, and what it makes of the end.
struct FoldForm {
  Fold fold = Fold::kSum;
  DType dtype = DType::kInvalid;  // of the state
};

FoldForm form_of(const BodyContext& c) {
  const std::string_view kind = c.node.s("kind");
  const DType x = compute_dtype(c.dtype(0));
  FoldForm f;
  f.dtype = x == DType::kBool ? DType::kU8 : x;  // a mask is no variable's type
  if (kind == "max") f.fold = Fold::kMax;
  if (kind == "min") f.fold = Fold::kMin;
  if (kind == "prod") f.fold = Fold::kProd;
  if (kind == "log_sum_exp") f.fold = Fold::kLogSumExp;
  if (!is_int(x)) return f;
  if (kind == "mean") f.dtype = x == DType::kU64 ? DType::kU64 : DType::kI64;  // no wrapping before the division
  if (kind == "l2" || kind == "log_sum" || kind == "log_sum_exp") f.dtype = DType::kF64;
  return f;
}

// The value that leaves everything as it is.
Expr identity(BodyContext& c, const FoldForm& f, int lanes) {
  KernelBuilder& k = c.k();
  const bool flag = c.dtype(0) == DType::kBool;
  switch (f.fold) {
    case Fold::kMax:
    case Fold::kLogSumExp:
      if (is_float(f.dtype)) return k.constant(f.dtype, -kInf, lanes);
      return integer_constant(k, f.dtype, flag ? 0 : static_cast<uint64_t>(int_min(f.dtype)), lanes);
    case Fold::kMin:
      if (is_float(f.dtype) && mutant("least_of_nothing_is_finite")) return k.constant(f.dtype, 1e4, lanes);
      if (is_float(f.dtype)) return k.constant(f.dtype, kInf, lanes);
      return integer_constant(k, f.dtype, flag ? 1 : int_max(f.dtype), lanes);
    case Fold::kProd: return k.constant(f.dtype, 1, lanes);
    case Fold::kSum: break;
  }
  return k.constant(f.dtype, 0, lanes);
}

Expr contribution(BodyContext& c, const FoldForm& f) {
  KernelBuilder& k = c.k();
  const std::string_view kind = c.node.s("kind");
  const Expr x = k.convert(c.args[0], f.dtype);
  if (kind == "l2" || kind == "sum_square") return k.mul(x, x);
  if (kind == "l1" && (is_float(f.dtype) || is_signed_int(f.dtype))) return k.unary(ExprOp::kAbs, x);
  return x;
}

// exp(m - to) where m may be infinite, and then equal to what it is compared with.
Expr exp_below(KernelBuilder& k, Expr m, Expr to) {
  const Expr zero = k.constant(k.type(to).elem, 0, std::max(k.lanes(m), k.lanes(to)));
  return k.math(ExprOp::kExp, k.select(k.eq(m, to), zero, k.sub(m, to)));
}

// (largest, sum of exp(x - largest)) of two parts.
void join_log_sum_exp(KernelBuilder& k, std::vector<Expr>& state, Expr m, Expr sum) {
  const Expr top = k.let("top", k.max(state[0], m));
  state[1] = k.add(k.mul(state[1], exp_below(k, state[0], top)), k.mul(sum, exp_below(k, m, top)));
  state[0] = top;
}

Expr joined(KernelBuilder& k, Fold fold, Expr a, Expr b) {
  return fold == Fold::kMax ? k.max(a, b) : fold == Fold::kMin ? k.min(a, b) : fold == Fold::kProd ? k.mul(a, b) : k.add(a, b);
}

Expr finished(BodyContext& c, const FoldForm& f) {
  KernelBuilder& k = c.k();
  const std::string_view kind = c.node.s("kind");
  Expr v = c.state[0];
  if (f.fold == Fold::kLogSumExp) v = k.add(v, k.math(ExprOp::kLog, c.state[1]));
  if (kind == "mean") v = k.div(v, k.splat(k.convert(c.count, f.dtype), k.lanes(v)));
  if (kind == "l2") v = k.unary(ExprOp::kSqrt, v);
  if (kind == "log_sum") v = k.math(ExprOp::kLog, v);
  return k.convert(v, compute_dtype(c.dtype(0)));
}

}  // namespace

void body_reduce(BodyContext& c) {
  KernelBuilder& k = c.k();
  const FoldForm f = form_of(c);
  switch (c.mode) {
    case BodyMode::kFoldInit:
      c.state = {identity(c, f, c.lanes)};
      if (f.fold == Fold::kLogSumExp) c.state.push_back(k.constant(f.dtype, 0, c.lanes));
      return;
    case BodyMode::kFoldStep:
      if (f.fold == Fold::kLogSumExp)
        join_log_sum_exp(k, c.state, contribution(c, f), k.constant(f.dtype, 1, c.lanes));
      else
        c.state[0] = joined(k, f.fold, c.state[0], contribution(c, f));
      if (mutant("halves_add_up_in_halves") && c.dtype(0) == DType::kF16)
        c.state[0] = k.convert(k.convert(c.state[0], DType::kF16), f.dtype);
      return;
    case BodyMode::kFoldCombine:
      if (f.fold == Fold::kLogSumExp)
        join_log_sum_exp(k, c.state, c.other[0], c.other[1]);
      else
        c.state[0] = joined(k, f.fold, c.state[0], c.other[0]);
      return;
    default: c.result = finished(c, f);
  }
}

namespace {

// State of arg_reduce: the best value and its index, -1 for none.
struct Best {
  Expr value, index;
};

// The better of two, by value, then by index; parts may come in any order.
Best better(BodyContext& c, const Best& a, const Best& b) {
  KernelBuilder& k = c.k();
  const bool max = c.node.s("kind") == "max", last = c.node.i("select_last") != 0;
  const Expr none = k.constant(DType::kI64, 0, k.lanes(a.index));
  Expr above = max ? k.lt(a.value, b.value) : k.lt(b.value, a.value), same = k.eq(a.value, b.value);
  if (is_float(k.type(a.value).elem)) {
    const Expr a_nan = k.unary(ExprOp::kIsNan, a.value), b_nan = k.unary(ExprOp::kIsNan, b.value);
    above = k.logical_or(above, k.logical_and(b_nan, k.logical_not(a_nan)));
    same = k.logical_or(same, k.logical_and(a_nan, b_nan));
  }
  const Expr nearer = last ? k.lt(a.index, b.index) : k.lt(b.index, a.index);
  const Expr wins = k.logical_or(above, k.logical_and(same, nearer));
  const Expr take = k.logical_and(k.le(none, b.index), k.logical_or(k.lt(a.index, none), wins));
  return {k.select(take, b.value, a.value), k.select(take, b.index, a.index)};
}

}  // namespace

void body_arg_reduce(BodyContext& c) {
  KernelBuilder& k = c.k();
  const DType dtype = c.dtype(0) == DType::kBool ? DType::kU8 : compute_dtype(c.dtype(0));
  if (c.mode == BodyMode::kFoldInit) {
    c.state = {k.constant(dtype, 0, c.lanes), k.constant(DType::kI64, -1, c.lanes)};
  } else if (c.mode == BodyMode::kFoldFinish) {
    c.result = c.state[1];
  } else {
    const bool step = c.mode == BodyMode::kFoldStep;
    const Best b =
        step ? Best{k.convert(c.args[0], dtype), k.splat(k.convert(c.index, DType::kI64), c.lanes)} : Best{c.other[0], c.other[1]};
    const Best best = better(c, {c.state[0], c.state[1]}, b);
    c.state = {best.value, best.index};
  }
}

// One element at a time: x[0] + ... + x[i] in order, or from the end.
void body_cumsum(BodyContext& c) {
  KernelBuilder& k = c.k();
  const auto axis = static_cast<size_t>(c.node.i("axis"));
  const bool reverse = c.node.i("reverse") != 0, exclusive = c.node.i("exclusive") != 0 && !mutant("cumsum_takes_itself_in");
  const Expr here = uniform(c, c.coords[axis]), extent = k.dim(c.s.dim(c.shape(0)[axis]));
  const Expr before = reverse ? k.sub(k.sub(extent, here), k.index(1)) : here;  // elements that come first
  const DType dtype = compute_dtype(c.dtype(0));
  const VarId sum = k.mut("sum", k.constant(dtype, 0, c.s.lanes()));
  k.for_("j", k.index(0), exclusive ? before : k.add(before, k.index(1)), 1, [&](Expr j) {
    Coords from = c.coords;
    const Expr at = reverse ? k.sub(k.sub(extent, k.index(1)), j) : j;
    // The loop ends at this element at the latest, which a proof from bounds alone does not see.
    from[axis] =
        c.s.opaque(k.let("at", k.max(k.min(at, k.sub(extent, k.index(1))), k.index(0))), 0, k.symbols().sub(c.s.dim(c.shape(0)[axis]), 1));
    k.set(sum, k.add(k.var(sum), k.splat(c.s.read(0, from, not_empty(c, c.shape(0)[axis])), c.s.lanes())));
  });
  c.result = k.var(sum);
}

}  // namespace nnc

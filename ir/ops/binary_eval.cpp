#include <cmath>

#include "ir/ops/eval_util.h"

namespace nnc {
namespace {

// Positions of an operand's elements over the result's coordinates.
class Broadcast {
 public:
  Broadcast(const EvalTensor& x, const EvalTensor& y) : same_(x.dims == y.dims), one_(x.count() == 1) {
    if (!same_ && !one_) positions_ = offset_table(y.dims, broadcast_strides(x.dims, y.dims));
  }
  size_t operator()(size_t k) const { return same_ ? k : one_ ? 0 : static_cast<size_t>(positions_[k]); }

 private:
  bool same_, one_;
  std::vector<int64_t> positions_;
};

double floor_mod(double a, double b) {
  const double r = std::fmod(a, b);
  if (std::isnan(r)) return r;
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

double binary_float(OpKind kind, bool truncated, double a, double b) {
  switch (kind) {
    case OpKind::kAdd: return a + b;
    case OpKind::kSub: return a - b;
    case OpKind::kMul: return a * b;
    case OpKind::kDiv: return a / b;
    case OpKind::kMod: return truncated ? std::fmod(a, b) : floor_mod(a, b);
    case OpKind::kMin: return nan_min(a, b);
    case OpKind::kMax: return nan_max(a, b);
    default: NNC_CHECK(false, "a float op"); return 0;
  }
}

int64_t binary_unsigned(OpKind kind, uint64_t a, uint64_t b) {
  switch (kind) {
    case OpKind::kDiv: return static_cast<int64_t>(b == 0 ? 0 : a / b);
    case OpKind::kMod: return static_cast<int64_t>(b == 0 ? 0 : a % b);
    case OpKind::kMin: return static_cast<int64_t>(a < b ? a : b);
    case OpKind::kMax: return static_cast<int64_t>(a > b ? a : b);
    default: NNC_CHECK(false, "an op whose sign matters"); return 0;
  }
}

int64_t signed_mod(int64_t a, int64_t b, bool truncated) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return !truncated && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// On the carrier, modulo 2^64; the caller wraps to the dtype.
int64_t binary_int(OpKind kind, bool truncated, DType dtype, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (kind) {
    case OpKind::kAdd: return static_cast<int64_t>(x + y);
    case OpKind::kSub: return static_cast<int64_t>(x - y);
    case OpKind::kMul: return static_cast<int64_t>(x * y);
    case OpKind::kAnd: return a & b;
    case OpKind::kOr: return a | b;
    case OpKind::kXor: return a ^ b;
    default: break;
  }
  if (is_unsigned_int(dtype)) return binary_unsigned(kind, x, y);
  switch (kind) {
    case OpKind::kDiv: return b == 0 ? 0 : b == -1 ? static_cast<int64_t>(0 - x) : a / b;
    case OpKind::kMod: return signed_mod(a, b, truncated);
    case OpKind::kMin: return a < b ? a : b;
    case OpKind::kMax: return a > b ? a : b;
    default: NNC_CHECK(false, "an integer op"); return 0;
  }
}

int64_t int_power(int64_t base, int64_t exponent, bool unsigned_exponent) {
  if (exponent < 0 && !unsigned_exponent) return base == 1 ? 1 : base == -1 ? ((exponent & 1) != 0 ? -1 : 1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left > 0; left >>= 1) {
    if ((left & 1) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<int64_t>(result);
}

void eval_power(const EvalTensor& a, const EvalTensor& b, EvalTensor& y) {
  const Broadcast left(a, y), right(b, y);
  for (size_t k = 0; k < static_cast<size_t>(y.count()); ++k) {
    const size_t i = left(k), j = right(k);
    if (!a.floating() && !b.floating()) {
      y.i[k] = wrap_int(y.dtype, int_power(a.i[i], b.i[j], b.dtype == DType::kU64));
      continue;
    }
    const double v = std::pow(a.as_f64(static_cast<int64_t>(i)), b.as_f64(static_cast<int64_t>(j)));
    if (y.floating())
      y.f[k] = v;
    else
      y.i[k] = saturate_to_int(y.dtype, v);
  }
}

// -1, 0, 1, or 2 where NaN makes them unordered.
int compare(const EvalTensor& a, size_t i, const EvalTensor& b, size_t j) {
  if (a.dtype == DType::kString) return a.s[i] == b.s[j] ? 0 : a.s[i] < b.s[j] ? -1 : 1;
  if (a.floating()) return a.f[i] == b.f[j] ? 0 : a.f[i] < b.f[j] ? -1 : a.f[i] > b.f[j] ? 1 : 2;
  if (a.dtype == DType::kU64) {
    const auto x = static_cast<uint64_t>(a.i[i]), y = static_cast<uint64_t>(b.i[j]);
    return x == y ? 0 : x < y ? -1 : 1;
  }
  return a.i[i] == b.i[j] ? 0 : a.i[i] < b.i[j] ? -1 : 1;
}

}  // namespace

Status eval_binary(EvalContext& c) {
  const EvalTensor &a = c.in(0), &b = c.in(1);
  const OpKind kind = c.node.kind;
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const bool truncated = kind == OpKind::kMod && c.node.i("fmod") != 0;
  if (kind == OpKind::kPow) {
    eval_power(a, b, y);
  } else {
    const Broadcast left(a, y), right(b, y);
    for (size_t k = 0; k < y.f.size(); ++k) y.f[k] = binary_float(kind, truncated, a.f[left(k)], b.f[right(k)]);
    for (size_t k = 0; k < y.i.size(); ++k) y.i[k] = wrap_int(y.dtype, binary_int(kind, truncated, y.dtype, a.i[left(k)], b.i[right(k)]));
  }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_compare(EvalContext& c) {
  const EvalTensor &a = c.in(0), &b = c.in(1);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const Broadcast left(a, y), right(b, y);
  for (size_t k = 0; k < y.i.size(); ++k) {
    const int order = compare(a, left(k), b, right(k));
    y.i[k] = c.node.kind == OpKind::kEqual ? order == 0 : c.node.kind == OpKind::kLess ? order == -1 : order == -1 || order == 0;
  }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_where(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor &condition = c.in(0), &a = c.in(1), &b = c.in(2);
  const Broadcast pick(condition, y), left(a, y), right(b, y);
  for (size_t k = 0; k < static_cast<size_t>(y.count()); ++k) {
    const bool yes = condition.i[pick(k)] != 0;
    copy_element(yes ? a : b, static_cast<int64_t>(yes ? left(k) : right(k)), y, static_cast<int64_t>(k));
  }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_clip(EvalContext& c) {
  EvalTensor y = c.in(0);
  for (int bound = 1; bound <= 2; ++bound) {
    if (!c.has(bound)) continue;
    const EvalTensor& limit = c.in(bound);
    const OpKind kind = bound == 1 ? OpKind::kMax : OpKind::kMin;
    for (double& v : y.f) v = binary_float(kind, false, v, limit.f[0]);
    for (int64_t& v : y.i) v = binary_int(kind, false, y.dtype, v, limit.i[0]);
  }
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc

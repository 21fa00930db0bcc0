// The functions over values. Each is one op row, or the few that PyTorch's function of that name stands for.

#include <algorithm>

#include "frontend/trace/trace.h"
#include "ir/support/text.h"

namespace nnc::trace {

namespace {

// Axes made non-negative, ascending; all of them where none are given.
Result<std::vector<int64_t>> axes_of(const Value& x, std::vector<int64_t> axes) {
  const auto rank = static_cast<int64_t>(x.shape().size());
  if (axes.empty())
    for (int64_t k = 0; k < rank; ++k) axes.push_back(k);
  for (int64_t& a : axes) {
    if (a < -rank || a >= rank) return Error(Code::kUsage, cat("axis ", a, " does not fit rank ", rank, ": -", rank, " to ", rank - 1));
    a = a < 0 ? a + rank : a;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) return Error(Code::kUsage, "an axis is given twice");
  return axes;
}

// Without a trace there is nothing to report to: the value stays invalid, and who outputs it is told.
Value reduced(std::string_view kind, const Value& x, std::vector<int64_t> axes, bool keepdims, Where where) {
  if (!x.valid()) return x;
  auto all = axes_of(x, std::move(axes));
  if (!all.ok()) {
    x.trace()->fail(std::move(all).error(), where);
    return x.trace()->value({});
  }
  return x.trace()->op(OpKind::kReduce, {x}, {{"kind", std::string(kind)}, {"axes", std::move(*all)}, {"keepdims", int64_t(keepdims)}},
                       where);
}

Value soft(const Value& x, int64_t axis, bool log, Where where) {
  if (!x.valid()) return x;
  auto all = axes_of(x, {axis});
  if (!all.ok()) {
    x.trace()->fail(std::move(all).error(), where);
    return x.trace()->value({});
  }
  return x.trace()->op(OpKind::kSoftmax, {x}, {{"axis", all->front()}, {"log", int64_t(log)}}, where);
}

}  // namespace

Value binary(OpKind kind, const Operand& a, const Operand& b) {
  Trace* t = a.is_number ? b.value.trace() : a.value.trace();
  if (t == nullptr) return {};
  const auto value_of = [&](const Operand& o, const Operand& other) {
    if (!o.is_number) return o.value;
    if (!other.value.valid()) return t->value({});
    Tensor scalar(other.value.dtype(), {});
    if (is_float(scalar.dtype()))
      store_f64(scalar.dtype(), scalar.data(), 0, o.number);
    else
      store_i64(scalar.dtype(), scalar.data(), 0, static_cast<int64_t>(o.number));
    return t->constant(std::move(scalar), o.where);
  };
  return t->op(kind, {value_of(a, b), value_of(b, a)}, {}, a.where);
}

Value unary(OpKind kind, const Operand& x) {
  if (x.is_number || x.value.trace() == nullptr) return {};
  return x.value.trace()->op(kind, {x.value}, {}, x.where);
}

Value matmul(Value a, Value b, Where where) { return a.trace() == nullptr ? a : a.trace()->op(OpKind::kMatMul, {a, b}, {}, where); }

Value linear(Value x, Value weight, Value bias, Where where) {
  if (x.trace() == nullptr) return x;
  const Value y = x.trace()->op(OpKind::kMatMul, {x, weight}, {{"transpose_b", int64_t(1)}}, where);
  return bias.trace() == nullptr ? y : x.trace()->op(OpKind::kAdd, {y, bias}, {}, where);
}

Value softmax(Value x, int64_t axis, Where where) { return soft(x, axis, false, where); }
Value log_softmax(Value x, int64_t axis, Where where) { return soft(x, axis, true, where); }
Value sum(Value x, std::vector<int64_t> axes, bool keepdims, Where where) { return reduced("sum", x, std::move(axes), keepdims, where); }
Value mean(Value x, std::vector<int64_t> axes, bool keepdims, Where where) { return reduced("mean", x, std::move(axes), keepdims, where); }
Value reshape(Value x, Shape shape, Where where) {
  return x.valid() ? x.trace()->op(OpKind::kReshape, {x}, {{"shape", std::move(shape)}}, where) : x;
}
Value transpose(Value x, std::vector<int64_t> permutation, Where where) {
  return x.valid() ? x.trace()->op(OpKind::kTranspose, {x}, {{"perm", std::move(permutation)}}, where) : x;
}
Value cross_entropy(Value logits, Value labels, Where where) {
  return logits.trace() == nullptr ? logits : logits.trace()->op(OpKind::kSoftmaxCrossEntropy, {logits, labels}, {}, where);
}

}  // namespace nnc::trace

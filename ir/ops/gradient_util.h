#pragma once
// What gradients are written with: ops whose first error sticks, so that formulas read as formulas. The error is returned by `finish`.

#include <vector>

#include "ir/builder.h"
#include "ir/ops/gradients.h"

namespace nnc {

class Gradient {
 public:
  explicit Gradient(GradContext& c) : c_(c), node_(c.graph.node(c.node)) {}

  const Node& node() const { return node_; }  // a copy: appending ops moves the graph's own
  bool has(int i) const { return i < static_cast<int>(node_.operands.size()) && node_.operands[static_cast<size_t>(i)].valid(); }
  ValueId x(int i) const { return node_.operands[static_cast<size_t>(i)]; }
  ValueId y(int i = 0) const { return node_.results[static_cast<size_t>(i)]; }
  ValueId g(int i = 0) const { return c_.result_grads[static_cast<size_t>(i)]; }
  // Operand i can receive a gradient: present and of a float type.
  bool wants(int i) const { return has(i) && is_float(c_.b.dtype(x(i))); }
  Shape shape(ValueId v) const { return v.valid() ? c_.b.shape(v) : Shape(); }
  DType dtype(ValueId v) const { return v.valid() ? c_.b.dtype(v) : DType::kF32; }
  SymbolTable& symbols() { return c_.b.symbols(); }
  Builder& builder() { return c_.b; }

  ValueId op(OpKind kind, std::vector<ValueId> operands, AttrList attrs = {});
  ValueId keep(Result<ValueId> r);                                                   // the value, or the error kept
  ValueId num(ValueId like, double v) { return keep(c_.b.scalar(dtype(like), v)); }  // rank 0, dtype of `like`
  ValueId full(Shape shape, DType dtype, double v);                                  // broadcast scalar
  ValueId add(ValueId a, ValueId b) { return op(OpKind::kAdd, {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return op(OpKind::kSub, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op(OpKind::kMul, {a, b}); }
  ValueId div(ValueId a, ValueId b) { return op(OpKind::kDiv, {a, b}); }
  ValueId neg(ValueId a) { return op(OpKind::kNeg, {a}); }
  ValueId scaled(ValueId a, double factor) { return mul(a, num(a, factor)); }
  ValueId plus(ValueId a, double term) { return add(a, num(a, term)); }
  ValueId less(ValueId a, ValueId b) { return op(OpKind::kLess, {a, b}); }
  ValueId equal(ValueId a, ValueId b) { return op(OpKind::kEqual, {a, b}); }
  ValueId where(ValueId condition, ValueId a, ValueId b) { return op(OpKind::kWhere, {condition, a, b}); }
  ValueId where_or_zero(ValueId condition, ValueId a) { return where(condition, a, num(a, 0)); }
  ValueId cast(ValueId a, DType to) { return a.valid() ? keep(c_.b.cast(a, to)) : a; }
  ValueId reshape(ValueId a, Shape shape) { return a.valid() ? keep(c_.b.reshape(a, std::move(shape))) : a; }
  ValueId transpose(ValueId a, std::vector<int64_t> perm) { return a.valid() ? keep(c_.b.transpose(a, std::move(perm))) : a; }
  ValueId sum_to(ValueId a, const Shape& shape) { return a.valid() ? keep(c_.b.sum_to(a, shape)) : a; }

  // The gradient of operand i, summed down to its shape. Ignored where the operand cannot receive one.
  void give(int i, ValueId gradient);
  void fail(Error e);
  Status finish() { return std::move(status_); }

 private:
  GradContext& c_;
  Node node_;
  Status status_;
};

// The gradient of gather along `axis`: `g` (x's shape with `axis` replaced by the indices' axes) added up into zeros of shape `x` where the
// indices point.
ValueId accumulate_along(Gradient& t, int64_t axis, ValueId indices, ValueId g, const Shape& x);

}  // namespace nnc

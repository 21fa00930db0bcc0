#include "ir/ops/gradient_util.h"

namespace nnc {

ValueId Gradient::op(OpKind kind, std::vector<ValueId> operands, AttrList attrs) {
  if (!status_.ok()) return {};
  return keep(c_.b.op(kind, std::move(operands), std::move(attrs)));
}

ValueId Gradient::keep(Result<ValueId> r) {
  if (r.ok() && status_.ok()) return *r;
  if (!r.ok()) fail(std::move(r).error());
  return {};
}

ValueId Gradient::full(Shape shape, DType dtype, double v) {
  const ValueId scalar = keep(c_.b.scalar(dtype, v));
  return scalar.valid() ? keep(c_.b.broadcast_to(scalar, std::move(shape))) : scalar;
}

void Gradient::give(int i, ValueId gradient) {
  if (!wants(i) || !gradient.valid()) return;
  (*c_.operand_grads)[static_cast<size_t>(i)] = sum_to(gradient, shape(x(i)));
}

void Gradient::fail(Error e) {
  if (status_.ok()) status_ = std::move(e);
}

ValueId accumulate_along(Gradient& t, int64_t axis, ValueId indices, ValueId g, const Shape& x) {
  const Shape idx = t.shape(indices);
  const auto before = static_cast<size_t>(axis), inner = idx.size(), rank = t.shape(g).size();
  // The indices' axes to the front, so that whole slices are scattered.
  std::vector<int64_t> perm, back;
  for (size_t i = 0; i < inner; ++i) perm.push_back(static_cast<int64_t>(before + i));
  for (size_t i = 0; i < rank; ++i) {
    if (i < before || i >= before + inner) perm.push_back(static_cast<int64_t>(i));
  }
  Shape target = {x[before]}, tuples = idx;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i != before) target.push_back(x[i]);
  }
  tuples.emplace_back(1);
  for (size_t i = 0; i < x.size(); ++i) back.push_back(i == before ? 0 : static_cast<int64_t>(i < before ? i + 1 : i));
  const ValueId updates = t.transpose(g, std::move(perm));
  const ValueId zeros = t.full(std::move(target), t.dtype(g), 0);
  const ValueId sum =
      t.op(OpKind::kScatterNd, {zeros, t.reshape(indices, std::move(tuples)), updates}, {{"reduction", std::string("add")}});
  return t.transpose(sum, std::move(back));
}

}  // namespace nnc

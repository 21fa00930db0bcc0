#include "ir/ops/contract.h"
#include "ir/ops/conv.h"
#include "ir/ops/spelling.h"

namespace nnc {

namespace {

Status refuse_packed(const Gradient& t) {
  if (!is_packed(t.node().s("w_format"))) return {};
  return Error(Code::kNoGradient, "a packed weight has no gradient: weights are packed after differentiation");
}

ValueId same_conv(Gradient& t, OpKind kind, std::vector<ValueId> operands, AttrList more = {}) {
  return t.op(kind, std::move(operands), shared_attrs(t.node(), kind, std::move(more)));
}

void give_bias(Gradient& t) {
  if (!t.wants(2)) return;
  const size_t rank = t.shape(t.g()).size(), channel = image_axes(t.node().s("layout"), static_cast<int>(rank)).channel;
  auto axes = axes_from(0, rank);
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(channel));
  t.give(2, t.keep(t.builder().reduce("sum", t.g(), axes, false)));
}

// Output padding of a stride or more adds windows that no element of x made: there x counts as 0, and gets no gradient.
ValueId crop(Gradient& t, ValueId v, const Shape& to) {
  if (!v.valid() || t.shape(v) == to) return v;
  const size_t rank = to.size();
  return t.keep(t.builder().slice(v, axes_from(0, rank), Shape(rank, 0), to, std::vector<int64_t>(rank, 1)));
}

ValueId extend(Gradient& t, ValueId v, const Shape& to) {
  if (!v.valid() || t.shape(v) == to) return v;
  Shape after;
  for (size_t k = 0; k < to.size(); ++k) after.push_back(t.symbols().sub(to[k], t.shape(v)[k]));
  return t.op(OpKind::kPad, {v}, {{"before", Shape(to.size(), 0)}, {"after", after}, {"mode", std::string("constant")}});
}

}  // namespace

Status gradient_conv(GradContext& c) {
  Gradient t(c);
  NNC_TRY(refuse_packed(t));
  if (t.wants(0)) t.give(0, same_conv(t, OpKind::kConvInputGrad, {t.g(), t.x(1)}, {{"shape", t.shape(t.x(0))}}));
  if (t.wants(1)) t.give(1, same_conv(t, OpKind::kConvFilterGrad, {t.x(0), t.g()}, {{"shape", t.shape(t.x(1))}}));
  give_bias(t);
  return t.finish();
}

Status gradient_conv_transpose(GradContext& c) {
  Gradient t(c);
  NNC_TRY(refuse_packed(t));
  if (!t.wants(0) && !t.wants(1)) return t.finish();
  const ValueId windows = same_conv(t, OpKind::kConv, {t.g(), t.x(1)});
  t.give(0, crop(t, windows, t.shape(t.x(0))));
  if (windows.valid())
    t.give(1, same_conv(t, OpKind::kConvFilterGrad, {t.g(), extend(t, t.x(0), t.shape(windows))}, {{"shape", t.shape(t.x(1))}}));
  give_bias(t);
  return t.finish();
}

// The gradients of a convolution are linear in both operands, each other's adjoints.
Status gradient_conv_input_grad(GradContext& c) {
  Gradient t(c);
  if (t.wants(0)) t.give(0, same_conv(t, OpKind::kConv, {t.g(), t.x(1)}));
  if (t.wants(1)) t.give(1, same_conv(t, OpKind::kConvFilterGrad, {t.g(), t.x(0)}, {{"shape", t.shape(t.x(1))}}));
  return t.finish();
}

Status gradient_conv_filter_grad(GradContext& c) {
  Gradient t(c);
  if (t.wants(0)) t.give(0, same_conv(t, OpKind::kConvInputGrad, {t.x(1), t.g()}, {{"shape", t.shape(t.x(0))}}));
  if (t.wants(1)) t.give(1, same_conv(t, OpKind::kConv, {t.x(0), t.g()}));
  return t.finish();
}

}  // namespace nnc

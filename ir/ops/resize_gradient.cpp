#include "ir/ops/resize.h"
#include "ir/ops/spelling.h"

namespace nnc {

Status gradient_resize(GradContext& c) {
  Gradient t(c);
  if (t.wants(0)) t.give(0, t.op(OpKind::kResizeGrad, {t.g()}, shared_attrs(t.node(), OpKind::kResizeGrad, {{"shape", t.shape(t.x(0))}})));
  return t.finish();
}

// Linear in dy: its adjoint is the resize, without what does not come from x.
Status gradient_resize_grad(GradContext& c) {
  Gradient t(c);
  t.give(0, t.op(OpKind::kResize, {t.g()}, shared_attrs(t.node(), OpKind::kResize, {{"extrapolation_value", 0.0}})));
  return t.finish();
}

}  // namespace nnc

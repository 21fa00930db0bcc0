#include "ir/ops/contract.h"
#include "ir/ops/spelling.h"

namespace nnc {

Status gradient_matmul(GradContext& c) {
  Gradient t(c);
  if (!t.node().s("b_format").empty())
    return Error(Code::kNoGradient, "a packed operand has no gradient: operands are packed after differentiation");
  const bool ta = t.node().i("transpose_a") != 0, tb = t.node().i("transpose_b") != 0;
  Shape a_shape = t.shape(t.x(0)), b_shape = t.shape(t.x(1)), g_shape = t.shape(t.g());
  // Vectors as matrices of one row (a) or one column (b).
  const bool a_vector = a_shape.size() == 1, b_vector = b_shape.size() == 1;
  if (b_vector) g_shape.emplace_back(1);
  if (a_vector) g_shape.insert(g_shape.end() - 1, Dim(1));
  if (a_vector) a_shape.insert(a_shape.begin(), Dim(1));
  if (b_vector) b_shape.emplace_back(1);
  const ValueId a = t.reshape(t.x(0), a_shape), b = t.reshape(t.x(1), b_shape), g = t.reshape(t.g(), g_shape);
  const auto product = [&](ValueId x, ValueId y, bool tx, bool ty) {
    return t.op(OpKind::kMatMul, {x, y}, {{"transpose_a", int64_t{tx}}, {"transpose_b", int64_t{ty}}});
  };
  if (t.wants(0)) t.give(0, t.reshape(t.sum_to(ta ? product(b, g, tb, true) : product(g, b, false, !tb), a_shape), t.shape(t.x(0))));
  if (t.wants(1)) t.give(1, t.reshape(t.sum_to(tb ? product(g, a, true, ta) : product(a, g, !ta, false), b_shape), t.shape(t.x(1))));
  return t.finish();
}

}  // namespace nnc

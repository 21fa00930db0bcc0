#include <vector>

#include "ir/graph.h"
#include "ir/ops/bodies.h"
#include "ir/ops/evals.h"
#include "ir/ops/families.h"
#include "ir/ops/gradients.h"
#include "ir/ops/rules.h"

namespace nnc {
namespace {

Status infer_constant(InferContext& c) {
  const Tensor& t = c.graph().module().constant(c.node().constant("value"));
  Shape shape;
  for (const int64_t d : t.dims()) shape.emplace_back(d);
  c.result(t.dtype(), std::move(shape));
  return {};
}

void value_constant(InferContext& c) {
  const Tensor& t = c.graph().module().constant(c.node().constant("value"));
  Shape shape;
  for (const int64_t d : t.dims()) shape.emplace_back(d);
  const auto count = shape_value_count(Type::tensor(t.dtype(), shape));
  if (!count) return;
  std::vector<std::optional<Rational>> elems(*count);
  for (size_t k = 0; k < *count; ++k) {
    const auto i = static_cast<int64_t>(k);
    elems[k] = is_float(t.dtype()) ? exact_rational(t.f64(i)) : std::optional(Rational{Dim(t.i64(i))});
  }
  ShapeValue v = known_value(std::move(elems));
  if (v.known) c.set_value(0, std::move(v));
}

Status infer_range(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_numeric(c.dtype(0)), "a number type"));
  NNC_TRY(require_same_dtype(c, 0, 1));
  for (int i = 0; i < 2; ++i) NNC_TRY(check_rank(c, i, 0));
  const Shape& count = c.node().dims("count");
  if (count.size() != 1) return c.error("attribute \"count\" must be one extent");
  if (c.symbols().at_most(count[0], int64_t(-1)) == Ternary::kYes) return c.error("attribute \"count\" must not be negative");
  c.result(c.dtype(0), count);
  return {};
}

void value_range(InferContext& c) {
  const bool integer = !is_float(c.dtype(0));
  const auto start = value_at(c.value(0), 0), delta = value_at(c.value(1), 0);
  const auto count = shape_value_count(Type::tensor(c.dtype(0), c.node().dims("count")));
  if (!start || !delta || !count) return;
  std::vector<std::optional<Rational>> elems(*count);
  for (size_t k = 0; k < *count; ++k) {
    const auto step = combine(c.symbols(), RationalOp::kMul, *delta, Rational{Dim(static_cast<int64_t>(k))}, integer);
    if (step) elems[k] = combine(c.symbols(), RationalOp::kAdd, *start, *step, integer);
  }
  store_value(c, c.dtype(0), std::move(elems));
}

Status infer_dims_value(InferContext& c) {
  const Shape& dims = c.node().dims("dims");
  const bool scalar = c.node().i("rank0") != 0;
  if (scalar && dims.size() != 1) return c.error("a scalar holds one dim: attribute \"dims\" must have one element where rank0 = 1");
  c.result(DType::kI64, scalar ? Shape{} : Shape{Dim(static_cast<int64_t>(dims.size()))});
  return {};
}

void value_dims_value(InferContext& c) {
  const Shape& dims = c.node().dims("dims");
  if (dims.size() <= kMaxShapeValue) c.set_value(0, known_value(dims));
}

}  // namespace

std::span<const OpDef> ops_source() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kConstant,
       .doc = "The constant `value`, of any dtype.",
       .attrs = {attr_required("value", AttrKind::kConst)},
       .lowering = Lowering::kSource,
       .infer = infer_constant,
       .value = value_constant,
       .eval = eval_constant,
       .no_gradient = "it has no operand"},
      {.kind = OpKind::kRange,
       .doc = "start + i * delta for i in [0, count), each element computed so, not by running sums. Integers wrap. start and delta are "
              "scalars of one dtype.",
       .min_operands = 2,
       .max_operands = 2,
       .attrs = {attr_required("count", AttrKind::kDims)},
       .lowering = Lowering::kSource,
       .infer = infer_range,
       .value = value_range,
       .eval = eval_range,
       .body = body_range,
       .gradient = gradient_range},
      {.kind = OpKind::kDimsValue,
       .doc = "The values of `dims` at the moment, an i64 vector; a scalar of the only one where rank0 = 1.",
       .attrs = {attr_required("dims", AttrKind::kDims), attr_int("rank0")},
       .lowering = Lowering::kSource,
       .infer = infer_dims_value,
       .value = value_dims_value,
       .eval = eval_dims_value,
       .body = body_dims_value,
       .no_gradient = "it has no operand"},
  };
  return rows;
}

}  // namespace nnc

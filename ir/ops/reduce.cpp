#include "ir/ops/reduce.h"

#include <algorithm>
#include <map>

#include "ir/ops/attr_defs.h"
#include "ir/ops/families.h"
#include "ir/ops/rules.h"
#include "ir/ops/shape_rules.h"
#include "ir/shape_values.h"

namespace nnc {

namespace {

// Shape without `axes`, or with extent 1 there.
Shape reduced_shape(const Shape& shape, std::span<const int64_t> axes, bool keepdims) {
  Shape out;
  for (size_t k = 0; k < shape.size(); ++k) {
    bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(k)) != axes.end();
    if (!reduced)
      out.push_back(shape[k]);
    else if (keepdims)
      out.push_back(1);
  }
  return out;
}

Status infer_reduce(InferContext& c) {
  std::string_view kind = c.node().s("kind");
  bool order = kind == "max" || kind == "min";
  NNC_TRY(check_dtype(c, 0, order ? kClassFloat | kClassInt | kClassBool : kClassFloat | kClassInt));
  const auto& axes = c.node().ints("axes");
  NNC_TRY(check_axes(c, axes, c.rank(0)));
  c.result(c.dtype(0), reduced_shape(c.shape(0), axes, c.node().i("keepdims") != 0));
  return {};
}

// Sums, products and extrema of dims: numel = prod(shape).
void value_reduce(InferContext& c) {
  const std::string_view kind = c.node().s("kind");
  const auto dims = c.value(0).dims();
  if (!is_int(c.dtype(0)) || !dims || c.rank(0) != 1 || c.node().ints("axes").empty()) return;
  static const std::map<std::string_view, RationalOp> ops = {
      {"sum", RationalOp::kAdd}, {"prod", RationalOp::kMul}, {"max", RationalOp::kMax}, {"min", RationalOp::kMin}};
  const auto op = ops.find(kind);
  if (op == ops.end()) return;
  std::optional<Rational> total;
  if (kind == "sum") total = Rational{Dim(0)};
  if (kind == "prod") total = Rational{Dim(1)};
  for (const Dim& d : *dims) {
    total = total ? combine(c.symbols(), op->second, *total, Rational{d}, true) : Rational{d};
    if (!total) return;
  }
  if (total) store_value(c, c.dtype(0), {total});
}

Status infer_arg_reduce(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat | kClassInt | kClassBool));
  NNC_TRY(check_min_rank(c, 0, 1));
  int64_t axis = c.node().i("axis");
  NNC_TRY(check_axes(c, {&axis, 1}, c.rank(0)));
  if (c.shape(0)[static_cast<size_t>(axis)].is_const(0)) return c.error("the axis has extent 0: there is no largest or smallest element");
  c.result(DType::kI64, reduced_shape(c.shape(0), {&axis, 1}, c.node().i("keepdims") != 0));
  return {};
}

Status infer_cumsum(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat | kClassInt));
  NNC_TRY(check_min_rank(c, 0, 1));
  int64_t axis = c.node().i("axis");
  NNC_TRY(check_axes(c, {&axis, 1}, c.rank(0)));
  c.result(c.dtype(0), c.shape(0));
  return {};
}

}  // namespace

std::span<const OpDef> ops_reduce() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kReduce,
       .name = "reduce",
       .doc = "Reduces x over `axes` (ascending, non-negative; none: every element by itself). sum, prod, max, min, mean; l1 = sum |x|; l2 "
              "= sqrt(sum x^2); "
              "sum_square = sum x^2; log_sum = log(sum x); log_sum_exp = log(sum exp x), without overflow. Floats accumulate in f32 (f64 "
              "for f64), the reference "
              "in f64, in index order. NaN wins in max and min. Integers wrap; mean, l2 and the logarithms of integers are truncated "
              "towards zero. max and min of "
              "bool are or and and. Of nothing: 0 for sums, 1 for prod, the smallest (largest) value of the dtype, -inf (+inf) for floats, "
              "for max (min), NaN for the "
              "mean of floats, 0 for that of integers.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_choice("kind", "sum|prod|max|min|mean|l1|l2|sum_square|log_sum|log_sum_exp"), attr_list("axes", AttrKind::kInts),
                 attr_flag("keepdims")},
       .lowering = Lowering::kFold,
       .infer = infer_reduce,
       .value = value_reduce,
       .eval = eval_reduce,
       .body = body_reduce,
       .gradient = gradient_reduce,
       .tolerance = {1e-5, 1e-6}},
      {.kind = OpKind::kArgReduce,
       .name = "arg_reduce",
       .doc = "Index (i64) of the largest or smallest element along `axis`. The first NaN wins over everything; among equals the first, or "
              "with select_last "
              "the last (then the last NaN). An axis of extent 0 is an error.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_choice("kind", "max|min"), attr_int("axis"), attr_flag("keepdims"), attr_flag("select_last")},
       .lowering = Lowering::kFold,
       .infer = infer_arg_reduce,
       .eval = eval_arg_reduce,
       .body = body_arg_reduce,
       .no_gradient = "an index does not change smoothly"},
      {.kind = OpKind::kCumSum,
       .name = "cumsum",
       .doc = "Running sum along `axis`, in index order or with `reverse` from the end; `exclusive` leaves out the element itself, so that "
              "the first is 0. "
              "Integers wrap.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_int("axis"), attr_flag("exclusive"), attr_flag("reverse")},
       .lowering = Lowering::kPoint,
       .infer = infer_cumsum,
       .eval = eval_cumsum,
       .body = body_cumsum,
       .gradient = gradient_cumsum,
       .tolerance = {1e-5, 1e-6}},
  };
  return rows;
}

}  // namespace nnc

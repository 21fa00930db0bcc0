#include <vector>

#include "ir/graph.h"
#include "ir/ops/evals.h"
#include "ir/ops/families.h"
#include "ir/ops/quant.h"
#include "ir/ops/rules.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

// The scale (operand 1) fits x: one element, one per index of `axis`, or one per block of `block` along `axis`. The zero point has the
// scale's shape.
Status check_parameters(InferContext& c) {
  const Node& n = c.node();
  SymbolTable& t = c.symbols();
  NNC_TRY(require_dtype(c, 1, is_float(c.dtype(1)), "a float type"));
  const Shape &x = c.shape(0), &scale = c.shape(1);
  const int64_t block = n.i("block");
  if (block < 0) return c.error(cat("attribute \"block\" must not be negative, not ", block));
  if (block > 0) {
    NNC_ASSIGN(const int64_t axis, c.axis(n.i("axis"), c.rank(0)));
    if (scale.size() != x.size()) return c.error(cat("a blocked scale must have x's rank ", x.size(), ", not ", scale.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      const Dim expected = static_cast<int64_t>(i) == axis ? t.ceildiv(x[i], Dim(block)) : x[i];
      NNC_TRY(same_extent(c, expected, scale[i], cat("axis ", i, " of the blocked scale")));
    }
  } else if (scale.size() > 1) {
    return c.error(
        cat("the scale must be a scalar or a vector, not of rank ", scale.size(), "; a blocked scale needs attribute \"block\""));
  } else if (scale.size() == 1 && !scale[0].is_const(1)) {
    NNC_ASSIGN(const int64_t axis, c.axis(n.i("axis"), c.rank(0)));
    NNC_TRY(same_extent(c, x[static_cast<size_t>(axis)], scale[0], cat("the scale along axis ", axis, " of x")));
  }
  if (!c.has(2)) return {};
  if (c.shape(2).size() != scale.size())
    return c.error(cat("the zero point must have the scale's rank ", scale.size(), ", not ", c.rank(2)));
  for (size_t i = 0; i < scale.size(); ++i) NNC_TRY(same_extent(c, scale[i], c.shape(2)[i], "the zero point and the scale"));
  return {};
}

bool is_quantized(DType t) { return is_int(t) || (is_float(t) && dtype_bits(t) <= 8); }

Status infer_quantize(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_float(c.dtype(0)) || c.dtype(0) == DType::kI32, "a float type or i32"));
  const DType to = c.node().dtype("to"), precision = c.node().dtype("precision");
  if (!is_quantized(to)) return c.error("attribute \"to\" must be an integer, float8 or float4 type");
  if (precision != DType::kInvalid && !is_float(precision)) return c.error("attribute \"precision\" must be a float type");
  if (c.has(2)) NNC_TRY(require_dtype(c, 2, c.dtype(2) == to, cat("of the result's dtype ", dtype_name(to))));
  NNC_TRY(check_parameters(c));
  c.result(to, c.shape(0));
  return {};
}

Status infer_dequantize(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_quantized(c.dtype(0)), "an integer, float8 or float4 type"));
  if (c.has(2)) NNC_TRY(require_same_dtype(c, 0, 2));
  const DType to = c.node().dtype("to");
  if (to != DType::kInvalid && !is_float(to)) return c.error("attribute \"to\" must be a float type");
  NNC_TRY(check_parameters(c));
  c.result(to == DType::kInvalid ? c.dtype(1) : to, c.shape(0));
  return {};
}

}  // namespace

std::span<const OpDef> ops_quant() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kQuantize,
       .doc = "round(x / scale) + zero_point as dtype `to`. x and scale are rounded to `precision` (default: the scale's dtype) and "
              "divided in it, never multiplied by a "
              "reciprocal; ties go to even; integers saturate, NaN gives 0 before the zero point. float8 and float4: x / scale is rounded "
              "once to the type, out of range is the largest "
              "finite value where saturate = 1. scale and zero_point: one element, one per index of `axis`, or with block > 0 one per "
              "`block` elements along `axis`.",
       .min_operands = 2,
       .max_operands = 3,
       .attrs = {attr_int("axis", 1), attr_int("block"), attr_required("to", AttrKind::kDType), attr_int("saturate", 1),
                 attr_list("precision", AttrKind::kDType)},
       .lowering = Lowering::kExpand,
       .infer = infer_quantize,
       .eval = eval_quantize,
       .expand = expand_quantize,
       .no_gradient = "a step function: training through it needs an estimator that the model chooses"},
      {.kind = OpKind::kDequantize,
       .doc = "(x - zero_point) * scale, the difference exact, the product rounded once to dtype `to` (default: the scale's). Shapes of "
              "scale and zero_point as for quantize.",
       .min_operands = 2,
       .max_operands = 3,
       .attrs = {attr_int("axis", 1), attr_int("block"), attr_choice("format", "linear", "linear"), attr_list("to", AttrKind::kDType)},
       .lowering = Lowering::kExpand,
       .infer = infer_dequantize,
       .eval = eval_dequantize,
       .expand = expand_dequantize,
       .no_gradient = "the operand is stored in a quantised type, which no optimizer moves"},
  };
  return rows;
}

}  // namespace nnc

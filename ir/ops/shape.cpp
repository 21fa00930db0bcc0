#include <vector>

#include "ir/graph.h"
#include "ir/ops/evals.h"
#include "ir/ops/families.h"
#include "ir/ops/rules.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

bool is_dims_dtype(DType t) { return t == DType::kI64 || t == DType::kI32; }

Status infer_bind_dims(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_dims_dtype(c.dtype(0)), "i64 or i32"));
  if (c.rank(0) > 1) return c.error(cat("operand 0 must be a scalar or a vector, not of rank ", c.rank(0)));
  const auto& symbols = c.node().symbols("symbols");
  const Dim count = c.rank(0) == 0 ? Dim(1) : c.shape(0)[0];
  if (!count.is_const(static_cast<int64_t>(symbols.size()))) {
    return c.error(cat("operand 0 holds ", c.symbols().pretty(count), " elements, attribute \"symbols\" names ", symbols.size()));
  }
  for (const SymbolId s : symbols) {
    if (c.symbols()[s].kind != SymKind::kData) return c.error(cat("symbol ", c.symbols().str(Dim(s)), " is no data symbol"));
  }
  return {};
}

Status infer_assert_dims(InferContext& c) {
  const size_t a = c.node().dims("a").size(), b = c.node().dims("b").size();
  if (a != b) return c.error(cat("attributes \"a\" and \"b\" must have as many dims each, not ", a, " and ", b));
  return {};
}

Status infer_assert_value(InferContext& c) {
  const Tensor& t = c.graph().module().constant(c.node().constant("value"));
  NNC_TRY(require_dtype(c, 0, c.dtype(0) == t.dtype(), cat("of the constant's dtype ", dtype_name(t.dtype()))));
  NNC_TRY(check_rank(c, 0, t.rank()));
  for (size_t i = 0; i < t.dims().size(); ++i)
    NNC_TRY(same_extent(c, Dim(t.dims()[i]), c.shape(0)[i], cat("axis ", i, " of operand and constant")));
  return {};
}

Status infer_resolve_reshape(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_dims_dtype(c.dtype(0)), "i64 or i32"));
  NNC_TRY(check_rank(c, 0, 1));
  c.result(DType::kI64, c.shape(0));
  return {};
}

void value_resolve_reshape(InferContext& c) {
  const auto requested = known_dims(c, 0);
  if (!requested) return;
  const auto resolved = resolve_reshape(c.symbols(), c.node().dims("input"), *requested, c.node().i("allowzero") != 0);
  if (resolved.ok() && resolved->has_value()) c.set_value(0, known_value(**resolved));
}

constexpr std::string_view kNoResult = "it has no result";

}  // namespace

std::span<const OpDef> ops_shape() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kBindDims,
       .doc = "Gives the data symbols the elements of an integer scalar or vector, read while the program runs; a value outside a symbol's "
              "bounds is an error.",
       .min_operands = 1,
       .max_operands = 1,
       .results = 0,
       .attrs = {attr_required("symbols", AttrKind::kSymbols)},
       .traits = kEffect,
       .lowering = Lowering::kControl,
       .infer = infer_bind_dims,
       .eval = eval_bind_dims,
       .no_gradient = kNoResult},
      {.kind = OpKind::kAssertDims,
       .doc = "a[i] rel b[i] holds for all i, else the run fails with `message`.",
       .results = 0,
       .attrs = {attr_required("a", AttrKind::kDims), attr_required("b", AttrKind::kDims), attr_choice("rel", "eq|ne|le|lt", "eq"),
                 attr_string("message")},
       .traits = kEffect,
       .lowering = Lowering::kControl,
       .infer = infer_assert_dims,
       .eval = eval_assert_dims,
       .no_gradient = kNoResult},
      {.kind = OpKind::kAssertValue,
       .doc = "The operand equals the constant `value` element by element (floats by value, NaN equals NaN), else the run fails with "
              "`message`.",
       .min_operands = 1,
       .max_operands = 1,
       .results = 0,
       .attrs = {attr_required("value", AttrKind::kConst), attr_string("message")},
       .traits = kEffect,
       .lowering = Lowering::kControl,
       .infer = infer_assert_value,
       .eval = eval_assert_value,
       .no_gradient = kNoResult},
      {.kind = OpKind::kResolveReshape,
       .doc = "A reshape target as a model computes it, made explicit for a tensor of shape `input`: 0 copies the extent at its position "
              "(unless allowzero), one -1 becomes what "
              "is left. A target that cannot be met is an error.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_required("input", AttrKind::kDims), attr_int("allowzero")},
       .lowering = Lowering::kHost,
       .infer = infer_resolve_reshape,
       .value = value_resolve_reshape,
       .eval = eval_resolve_reshape,
       .no_gradient = "operand and result are integers"},
  };
  return rows;
}

}  // namespace nnc

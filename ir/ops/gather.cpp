#include <vector>

#include "ir/graph.h"
#include "ir/ops/bodies.h"
#include "ir/ops/evals.h"
#include "ir/ops/families.h"
#include "ir/ops/gradients.h"
#include "ir/ops/rules.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

Status require_indices(InferContext& c, int i) { return require_dtype(c, i, is_int(c.dtype(i)), "an integer type"); }

Status infer_gather(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, true, {}));
  NNC_TRY(require_indices(c, 1));
  NNC_ASSIGN(const int64_t axis, c.axis(c.node().i("axis"), c.rank(0)));
  const Shape &x = c.shape(0), &idx = c.shape(1);
  Shape shape(x.begin(), x.begin() + axis);
  shape.insert(shape.end(), idx.begin(), idx.end());
  shape.insert(shape.end(), x.begin() + axis + 1, x.end());
  c.result(c.dtype(0), std::move(shape));
  return {};
}

void value_gather(InferContext& c) {
  const ShapeValue &x = c.value(0), &idx = c.value(1);
  if (c.rank(0) != 1 || !x.known || !idx.known || c.rank(1) > 1) return;
  const auto n = static_cast<int64_t>(x.elems.size());
  std::vector<std::optional<Rational>> elems;
  for (const auto& e : idx.elems) {
    elems.emplace_back();
    if (!e || !e->dim.is_const()) continue;
    const int64_t k = e->dim.constant() < 0 ? e->dim.constant() + n : e->dim.constant();
    if (k >= 0 && k < n) elems.back() = x.elems[static_cast<size_t>(k)];
  }
  ShapeValue v = known_value(std::move(elems));
  if (v.known) c.set_value(0, std::move(v));
}

Status infer_gather_elements(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, true, {}));
  NNC_TRY(require_indices(c, 1));
  NNC_TRY(check_rank(c, 1, c.rank(0)));
  NNC_ASSIGN(const int64_t axis, c.axis(c.node().i("axis"), c.rank(0)));
  for (int i = 0; i < c.rank(0); ++i) {
    if (i == axis) continue;
    const Dim &idx = c.shape(1)[static_cast<size_t>(i)], &x = c.shape(0)[static_cast<size_t>(i)];
    if (c.symbols().at_most(c.symbols().sub(x, idx), int64_t(-1)) == Ternary::kYes) {
      return c.error(cat("the indices' axis ", i, " is longer than x's: ", c.symbols().pretty(idx), " and ", c.symbols().pretty(x)));
    }
  }
  c.result(c.dtype(0), c.shape(1));
  return {};
}

// Length of one index tuple, the last extent of the indices.
Result<int64_t> tuple_length(InferContext& c, int64_t most) {
  NNC_TRY(require_indices(c, 1));
  if (c.rank(1) == 0) return c.error("the indices must have rank 1 or more");
  const Dim& last = c.shape(1).back();
  if (!last.is_const()) return c.error(cat("the indices' last extent must be a constant, not ", c.symbols().pretty(last)));
  if (last.constant() > most)
    return c.error(cat("index tuples of ", last.constant(), " elements are longer than the ", most, " axes they index"));
  return last.constant();
}

Status infer_gather_nd(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, true, {}));
  const int64_t batch = c.node().i("batch_dims");
  if (batch < 0 || batch > c.rank(0) || batch >= c.rank(1))
    return c.error(cat("attribute \"batch_dims\" = ", batch, " does not fit ranks ", c.rank(0), " and ", c.rank(1)));
  NNC_ASSIGN(const int64_t length, tuple_length(c, c.rank(0) - batch));
  Shape shape(c.shape(1).begin(), c.shape(1).end() - 1);
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    NNC_ASSIGN(shape[i], same_extent(c, c.shape(0)[i], shape[i], cat("batch axis ", i)));
  }
  shape.insert(shape.end(), c.shape(0).begin() + batch + length, c.shape(0).end());
  c.result(c.dtype(0), std::move(shape));
  return {};
}

Status check_reduction(InferContext& c) {
  NNC_TRY(require_same_dtype(c, 0, 2));
  if (c.node().s("reduction") != "none") NNC_TRY(require_dtype(c, 0, is_numeric(c.dtype(0)), "of a number type for a reduction"));
  return {};
}

Status infer_scatter_elements(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, true, {}));
  NNC_TRY(require_indices(c, 1));
  NNC_TRY(check_reduction(c));
  for (int i = 1; i <= 2; ++i) NNC_TRY(check_rank(c, i, c.rank(0)));
  NNC_TRY(c.axis(c.node().i("axis"), c.rank(0)));
  for (int i = 0; i < c.rank(1); ++i) {
    const auto k = static_cast<size_t>(i);
    NNC_TRY(same_extent(c, c.shape(1)[k], c.shape(2)[k], cat("axis ", i, " of indices and updates")));
  }
  c.result(c.type(0));
  return {};
}

Status infer_scatter_nd(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, true, {}));
  NNC_TRY(check_reduction(c));
  NNC_ASSIGN(const int64_t length, tuple_length(c, c.rank(0)));
  Shape expected(c.shape(1).begin(), c.shape(1).end() - 1);
  expected.insert(expected.end(), c.shape(0).begin() + length, c.shape(0).end());
  NNC_TRY(check_rank(c, 2, static_cast<int>(expected.size())));
  for (size_t i = 0; i < expected.size(); ++i) NNC_TRY(same_extent(c, expected[i], c.shape(2)[i], cat("axis ", i, " of the updates")));
  c.result(c.type(0));
  return {};
}

Status infer_one_hot(InferContext& c) {
  NNC_TRY(require_indices(c, 0));
  NNC_TRY(check_rank(c, 1, 1));
  NNC_TRY(same_extent(c, Dim(2), c.shape(1)[0], "the values (off, on)"));
  const Shape& depth = c.node().dims("depth");
  if (depth.size() != 1) return c.error("attribute \"depth\" must be one extent");
  NNC_ASSIGN(const int64_t axis, c.axis(c.node().i("axis"), c.rank(0) + 1));
  Shape shape = c.shape(0);
  shape.insert(shape.begin() + axis, depth[0]);
  c.result(c.dtype(1), std::move(shape));
  return {};
}

Status infer_non_zero(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_numeric(c.dtype(0)) || c.dtype(0) == DType::kBool, "a number type or bool"));
  const auto& count = c.node().symbols("count");
  if (count.size() != 1 || c.symbols()[count[0]].kind != SymKind::kData) return c.error("attribute \"count\" must be one data symbol");
  c.result(DType::kI64, {Dim(static_cast<int64_t>(c.rank(0))), Dim(count[0])});
  return {};
}

const AttrDef kAxis = attr_int("axis");
const AttrDef kReduction = attr_choice("reduction", "none|add|mul|max|min", "none");

}  // namespace

std::span<const OpDef> ops_gather() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kGather,
       .doc = "x with `axis` replaced by the axes of the indices: x[.., idx[j..], ..]. Negative indices count from the end; one out of "
              "range is an error at run time.",
       .min_operands = 2,
       .max_operands = 2,
       .attrs = {kAxis},
       .lowering = Lowering::kMap,
       .infer = infer_gather,
       .value = value_gather,
       .eval = eval_gather,
       .body = body_gather,
       .gradient = gradient_gather},
      {.kind = OpKind::kGatherElements,
       .doc = "Result of the indices' shape; element j is x at j with the coordinate of `axis` replaced by idx[j]. On other axes the "
              "indices may be shorter than x. Negative "
              "indices count from the end; one out of range is an error at run time, which `of` words: an index, or the label of a sample.",
       .min_operands = 2,
       .max_operands = 2,
       .attrs = {kAxis, attr_choice("of", "index|label", "index")},
       .lowering = Lowering::kMap,
       .infer = infer_gather_elements,
       .eval = eval_gather_elements,
       .body = body_gather_elements,
       .gradient = gradient_gather_elements},
      {.kind = OpKind::kGatherNd,
       .doc = "The last axis of the indices holds coordinates of x's axes after the first batch_dims, which x and the indices share; what "
              "is not indexed follows whole. Negative "
              "coordinates count from the end; one out of range is an error at run time.",
       .min_operands = 2,
       .max_operands = 2,
       .attrs = {attr_int("batch_dims")},
       .lowering = Lowering::kMap,
       .infer = infer_gather_nd,
       .eval = eval_gather_nd,
       .body = body_gather_nd,
       .gradient = gradient_gather_nd},
      {.kind = OpKind::kScatterElements,
       .doc = "A copy of x in which element j of the updates goes to j with the coordinate of `axis` replaced by idx[j], set or combined "
              "by `reduction` in row-major order of the "
              "updates (so the last one stays with none, where no gradient is promised for the others). max and min follow those ops. "
              "Negative indices count from the end; one out "
              "of range is an error at run time.",
       .min_operands = 3,
       .max_operands = 3,
       .attrs = {kAxis, kReduction},
       .lowering = Lowering::kPoint,
       .infer = infer_scatter_elements,
       .eval = eval_scatter_elements,
       .body = body_scatter_elements,
       .gradient = gradient_scatter},
      {.kind = OpKind::kScatterNd,
       .doc = "A copy of x in which slices of the updates go to the places that the coordinates in the last axis of the indices name, set "
              "or combined by `reduction` in row-major "
              "order as in scatter_elements. Negative coordinates count from the end; one out of range is an error at run time.",
       .min_operands = 3,
       .max_operands = 3,
       .attrs = {kReduction},
       .lowering = Lowering::kPoint,
       .infer = infer_scatter_nd,
       .eval = eval_scatter_nd,
       .body = body_scatter_nd,
       .gradient = gradient_scatter},
      {.kind = OpKind::kOneHot,
       .doc = "A new axis of extent `depth` at `axis` (of the result): values[1] where its coordinate is the index, else values[0]. "
              "Indices in [-depth, -1] count from the end; one "
              "outside [-depth, depth) gives values[0] everywhere.",
       .min_operands = 2,
       .max_operands = 2,
       .attrs = {attr_int("axis", -1), attr_required("depth", AttrKind::kDims)},
       .lowering = Lowering::kPoint,
       .infer = infer_one_hot,
       .eval = eval_one_hot,
       .body = body_one_hot,
       .gradient = gradient_one_hot},
      {.kind = OpKind::kNonZero,
       .doc = "i64[rank, count]: the coordinates of the elements that are not zero (NaN is not), in row-major order, one column each. It "
              "binds the data symbol `count`. A scalar gives "
              "[0, 1] or [0, 0].",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_required("count", AttrKind::kSymbols)},
       .traits = kPure,
       .lowering = Lowering::kHost,
       .infer = infer_non_zero,
       .eval = eval_non_zero,
       .no_gradient = "the result is coordinates"},
  };
  return rows;
}

}  // namespace nnc

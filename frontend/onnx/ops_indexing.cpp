// Gather and scatter, one-hot, positions of nonzero elements.

#include "frontend/onnx/context.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

Status gather(NodeContext& c) {
  NNC_ASSIGN(const int64_t axis, c.axis(c.i("axis", 0), c.rank(0)));
  return c.set(c.row().kind, {c.in(0), c.in(1)}, {{"axis", axis}});
}

Status gather_nd(NodeContext& c) { return c.set(OpKind::kGatherNd, {c.in(0), c.in(1)}, {{"batch_dims", c.i("batch_dims", 0)}}); }

// none; add and mul since 16; max and min since 18.
Result<std::string> reduction(NodeContext& c) {
  if (c.version() < 16) return std::string("none");
  return c.choice("reduction", "none", c.version() < 18 ? "none|add|mul" : "none|add|mul|max|min");
}

Status scatter_elements(NodeContext& c) {
  NNC_ASSIGN(const int64_t axis, c.axis(c.i("axis", 0), c.rank(0)));
  NNC_ASSIGN(const std::string how, reduction(c));
  return c.set(OpKind::kScatterElements, {c.in(0), c.in(1), c.in(2)}, {{"axis", axis}, {"reduction", how}});
}

Status scatter_nd(NodeContext& c) {
  NNC_ASSIGN(const std::string how, reduction(c));
  return c.set(OpKind::kScatterNd, {c.in(0), c.in(1), c.in(2)}, {{"reduction", how}});
}

// Indices and depth may be of any number type.
Status one_hot(NodeContext& c) {
  NNC_ASSIGN(const int64_t axis, c.axis(c.i("axis", -1), c.rank(0) + 1));
  ValueId indices = c.in(0), depth = c.in(1);
  if (!is_int(c.b().dtype(indices))) { NNC_ASSIGN(indices, c.b().cast(indices, DType::kI64)); }
  NNC_ASSIGN(depth, as_scalar(c, depth));
  NNC_ASSIGN(depth, c.b().cast(depth, DType::kI64));
  NNC_ASSIGN(Shape extent, c.dims_of(depth, 0, kDimMax));
  return c.set(OpKind::kOneHot, {indices, c.in(2)}, {{"axis", axis}, {"depth", std::move(extent)}});
}

Status non_zero(NodeContext& c) {
  const DimRange elements = c.symbols().range(c.symbols().mul(c.shape(0)));
  const SymbolId count = c.symbols().data("", 0, std::min(elements.hi, kDimMax));
  return c.set(OpKind::kNonZero, {c.in(0)}, {{"count", std::vector<SymbolId>{count}}});
}

}  // namespace

std::span<const OpRow> rows_indexing() {
  static const OpRow rows[] = {
      {.name = "Gather", .since = 1, .min_inputs = 2, .max_inputs = 2, .import = gather, .kind = OpKind::kGather},
      {.name = "GatherElements", .since = 11, .min_inputs = 2, .max_inputs = 2, .import = gather, .kind = OpKind::kGatherElements},
      {.name = "GatherND", .since = 11, .min_inputs = 2, .max_inputs = 2, .import = gather_nd},
      {.name = "Scatter", .since = 9, .until = 10, .min_inputs = 3, .max_inputs = 3, .import = scatter_elements},
      {.name = "ScatterElements", .since = 11, .min_inputs = 3, .max_inputs = 3, .import = scatter_elements},
      {.name = "ScatterND", .since = 11, .min_inputs = 3, .max_inputs = 3, .import = scatter_nd},
      {.name = "OneHot", .since = 9, .min_inputs = 3, .max_inputs = 3, .import = one_hot},
      {.name = "NonZero", .since = 9, .import = non_zero},
  };
  return rows;
}

}  // namespace nnc::onnx

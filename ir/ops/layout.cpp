#include <vector>

#include "ir/graph.h"
#include "ir/ops/bodies.h"
#include "ir/ops/evals.h"
#include "ir/ops/families.h"
#include "ir/ops/gradients.h"
#include "ir/ops/panel.h"
#include "ir/ops/rules.h"
#include "ir/support/text.h"

namespace nnc {

int64_t panel_depth(DType t) {
  switch (t) {
    case DType::kF16:
    case DType::kF32:
    case DType::kF64: return 1;
    case DType::kBF16: return 2;
    case DType::kI8:
    case DType::kU8: return 4;
    default: return 0;
  }
}

namespace {

constexpr std::string_view kPackable = "f16, f32, f64, bf16, i8 or u8";

Status infer_pack(InferContext& c) {
  const int64_t depth = panel_depth(c.dtype(0));
  NNC_TRY(require_dtype(c, 0, depth != 0, kPackable));
  if (c.rank(0) < 2) return c.error(cat("operand 0 must be a matrix or a batch of matrices, not of rank ", c.rank(0)));
  const bool transposed = c.node().i("transposed") != 0;
  Shape shape = c.shape(0);
  Dim k = shape[shape.size() - 2], n = shape.back();
  if (transposed) std::swap(k, n);
  shape.resize(shape.size() - 2);
  shape.push_back(c.symbols().ceildiv(n, Dim(kPanelWidth)));
  shape.push_back(c.symbols().ceildiv(k, Dim(depth)));
  shape.emplace_back(kPanelWidth);
  if (depth > 1) shape.emplace_back(depth);
  c.result(c.dtype(0), std::move(shape));
  return {};
}

Status infer_unpack(InferContext& c) {
  const int64_t depth = panel_depth(c.dtype(0));
  NNC_TRY(require_dtype(c, 0, depth != 0, kPackable));
  const int inner = depth > 1 ? 4 : 3;
  if (c.rank(0) < inner) return c.error(cat("operand 0 must be packed panels of rank ", inner, " or more, not ", c.rank(0)));
  const Node& node = c.node();
  if (node.dims("k").size() != 1 || node.dims("n").size() != 1) return c.error("attributes \"k\" and \"n\" must be one extent each");
  const Dim &k = one_dim(node, "k"), &n = one_dim(node, "n");
  Shape shape(c.shape(0).begin(), c.shape(0).end() - inner);
  Shape expected = {c.symbols().ceildiv(n, Dim(kPanelWidth)), c.symbols().ceildiv(k, Dim(depth)), Dim(kPanelWidth)};
  if (depth > 1) expected.emplace_back(depth);
  for (size_t i = 0; i < expected.size(); ++i)
    NNC_TRY(same_extent(c, expected[i], c.shape(0)[shape.size() + i], cat("axis ", shape.size() + i, " of the panels")));
  const bool transposed = node.i("transposed") != 0;
  shape.push_back(transposed ? n : k);
  shape.push_back(transposed ? k : n);
  c.result(c.dtype(0), std::move(shape));
  return {};
}

const AttrDef kFormat = attr_choice("format", "panel16", "panel16");
const AttrDef kTransposed = attr_flag("transposed");

}  // namespace

std::span<const OpDef> ops_layout() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kPack,
       .doc = "Matrices [.., K, N] ([.., N, K] where transposed = 1) as panels of 16 columns, short ones filled with zeros: [.., N/16, K, "
              "16] for f16, f32 and f64, "
              "[.., N/16, K/2, 16, 2] for bf16, [.., N/16, K/4, 16, 4] for i8 and u8, where the last axis holds neighbouring rows of one "
              "column.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {kFormat, kTransposed},
       .lowering = Lowering::kMap,
       .infer = infer_pack,
       .eval = eval_pack,
       .body = body_pack,
       .gradient = gradient_pack},
      {.kind = OpKind::kUnpack,
       .doc = "The inverse of pack for matrices of `k` rows and `n` columns; what fills the last panel and group is dropped.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {kFormat, kTransposed, attr_required("k", AttrKind::kDims), attr_required("n", AttrKind::kDims)},
       .lowering = Lowering::kMap,
       .infer = infer_unpack,
       .eval = eval_unpack,
       .body = body_unpack,
       .gradient = gradient_pack},
  };
  return rows;
}

}  // namespace nnc

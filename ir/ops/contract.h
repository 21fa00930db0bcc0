#pragma once
// What contractions share (matmul, the convolutions): accumulator, result dtype, the packed form of a constant right operand.

#include "ir/graph.h"
#include "ir/ops/panel.h"

namespace nnc {

DType accumulator(const Node& node, DType operand);  // attribute `accumulate` or its default
DType contraction_result(DType operand);             // i32 for 8-bit integers
// Whether an operand's format attribute says that it is packed (op pack); the only other format known here is "".
inline bool is_packed(std::string_view format) { return format == "panel16"; }
Status check_contraction_dtypes(const InferContext& c, int a, int b);
// The axes of the panels of one matrix.
inline size_t panel_rank(DType t) { return panel_depth(t) == 1 ? 3 : 4; }
// The last axes of operand i are the panels of a k x n matrix.
Status check_panels(InferContext& c, int i, const Dim& k, const Dim& n);

Status eval_matmul(EvalContext& c);
Status gradient_matmul(GradContext& c);

}  // namespace nnc

#pragma once
// What contractions share (matmul, the convolutions): accumulator, result dtype, the packed form of a constant right operand.

#include <optional>

#include "ir/graph.h"

namespace nnc {

DType accumulator(const Node& node, DType operand);  // attribute `accumulate` or its default
DType contraction_result(DType operand);             // i32 for 8-bit integers
std::optional<int64_t> panel_group(std::string_view format);  // rows of K grouped in a panel: 1, 2, 4
Status check_contraction_dtypes(const InferContext& c, int a, int b);
// The last axes of `packed` are the panels of a K x N matrix.
Status check_panel(InferContext& c, const Shape& packed, std::string_view format, const Dim& k, const Dim& n);

Status eval_matmul(EvalContext& c);
Status grad_matmul(GradContext& c);

}  // namespace nnc

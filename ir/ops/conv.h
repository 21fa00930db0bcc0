#pragma once
// The convolution family: how its operands are laid out, and functions of its rows that live outside conv.cpp.

#include "ir/ops/windows.h"

namespace nnc {

// Extents of a weight whatever its format: [out, in / group, kernel...] in the convolution's own direction (image -> windows).
struct FilterShape {
  Dim out, in;  // `in` per group
  std::vector<Dim> kernel;
};
// w_format "": w is [out, in / group, kernel...]. "hwio": [kernel..., in / group, out]. "panel16": [group, panels of the matrix of each
// group], with attributes `kernel` and `channels`.
Result<FilterShape> filter_shape(InferContext& c, const Shape& w, std::string_view format, size_t spatial);

Status eval_conv(EvalContext& c);
Status eval_conv_transpose(EvalContext& c);
Status eval_conv_input_grad(EvalContext& c);
Status eval_conv_filter_grad(EvalContext& c);
Status expand_conv_transpose(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results);
Status expand_conv_input_grad(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results);
Status expand_conv_filter_grad(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results);
Status gradient_conv(GradContext& c);
Status gradient_conv_transpose(GradContext& c);
Status gradient_conv_input_grad(GradContext& c);
Status gradient_conv_filter_grad(GradContext& c);

}  // namespace nnc

#pragma once
// Small shared steps of the operator rows.

#include "frontend/onnx/context.h"

namespace nnc::onnx {

// A value with one element as a scalar of rank 0.
Result<ValueId> as_scalar(NodeContext& c, ValueId v);
// A bool input that must be known at import.
Result<bool> known_flag(NodeContext& c, int input, std::string_view what);
// Dims that must be numbers at import; the error names what they depend on.
Result<std::vector<int64_t>> known_dims(NodeContext& c, const Shape& dims, std::string_view what);
// Numpy's broadcast of two shapes.
Result<Shape> broadcast_shapes(NodeContext& c, const Shape& a, const Shape& b);
// [0, 1, ... n - 1]
std::vector<int64_t> all_axes(int n);
// Assertion that two extents agree, unless that is provable; an error if it never holds.
Status assert_equal(NodeContext& c, const Dim& a, const Dim& b, std::string_view what);

}  // namespace nnc::onnx

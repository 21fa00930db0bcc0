#pragma once
// Arithmetic on constant weights: in f64 on values, one rounding at the end. For conv, conv_transpose and matmul, in the forms that
// importers make.

#include <vector>

#include "ir/graph.h"

namespace nnc {

std::vector<double> doubles_of(const Tensor& t);
Tensor vector_of(DType dtype, const std::vector<double>& values);
// Number of outputs (channels, columns).
size_t linear_outputs(const Graph& g, const Node& node);
// Weights in their first form: not packed, no accumulator of its own, f16 to f64.
bool linear_is_plain(const Graph& g, const Node& node);
// The weights with output k multiplied by factors[k].
Tensor scale_outputs(const Node& node, const Tensor& weights, const std::vector<double>& factors);

// Data movement on whole tensors, by bytes; element types of at least one byte.
Tensor transposed(const Tensor& t, const std::vector<int64_t>& perm);
// Matrices [.., K, N] ([.., N, K] where `transposed`) with zeros for those weights below the smallest normal number whose column has others
// so much larger that, for inputs of like size, they stay below half a unit in the last place of its largest product. Trained models have
// many (channels that died), and processors take a hundred times as long for each product with one.
Tensor without_subnormals(const Tensor& t, bool transposed);
// [.., K, N] ([.., N, K] where `transposed`) as panels, op pack.
Tensor packed_panels(const Tensor& t, bool transposed);

}  // namespace nnc

#pragma once
// Expansions of the quantization rows.

#include "ir/op.h"

namespace nnc {

Status expand_quantize(Builder& b, const Graph& graph, NodeId id, std::vector<ValueId>* results);
Status expand_dequantize(Builder& b, const Graph& graph, NodeId id, std::vector<ValueId>* results);

}  // namespace nnc

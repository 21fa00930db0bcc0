#pragma once
// Functions of the attention family's rows that live outside attention.cpp.

#include "ir/op.h"

namespace nnc {

Status eval_attention(EvalContext& c);
Status eval_rotary(EvalContext& c);
Status expand_attention(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results);
Status expand_rotary(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results);
Status gradient_attention(GradContext& c);
Status gradient_rotary(GradContext& c);

}  // namespace nnc

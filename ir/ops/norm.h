#pragma once
// Functions of the norm family's rows that live outside norm.cpp.

#include "ir/ops/spelling.h"

namespace nnc {

Status eval_softmax(EvalContext& c);
Status eval_layer_norm(EvalContext& c);
Status eval_rms_norm(EvalContext& c);
Status eval_batch_norm(EvalContext& c);
Status eval_softmax_cross_entropy(EvalContext& c);

Status expand_softmax(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results);
Status expand_layer_norm(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results);
Status expand_rms_norm(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results);
Status expand_batch_norm(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results);
Status expand_softmax_cross_entropy(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results);

// What a cross entropy takes of each sample (shape of the labels): its label, 0 where ignored, its class's log-probability and weight, 0
// where ignored. A label out of range fails at run time.
struct CrossEntropySamples {
  ValueId label, log_prob, weight;
  ValueId counted;  // bool: no ignored sample; invalid: all count
};
CrossEntropySamples cross_entropy_samples(Gradient& t, ValueId log_prob, DType compute);

Status gradient_softmax(GradContext& c);
Status gradient_layer_norm(GradContext& c);
Status gradient_rms_norm(GradContext& c);
Status gradient_batch_norm(GradContext& c);
Status gradient_softmax_cross_entropy(GradContext& c);

}  // namespace nnc

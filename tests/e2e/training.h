#pragma once
// Carrying test a, for the tests from C++ and the one from C: a 2-layer MLP with cross entropy and SGD, and what PyTorch computes for it
// (make_training_reference.py).

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace nnc::test {

inline constexpr int64_t kTrainSteps = 50, kBadStep = 20;
inline const std::vector<std::string> kParameters = {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"};
// Labels that are none of the 5 classes: sample, value.
inline const std::vector<std::pair<int64_t, int64_t>> kBadLabels = {{3, 7}, {11, -2}, {0, 5}};

// Inputs and values of every step, by name: x, labels, losses, logits, start.fc1.weight, end.fc1.weight, ...
class TrainingReference {
 public:
  TrainingReference();  // fails the test if the file cannot be read
  const Tensor& at(const std::string& name) const;
  Tensor x(int64_t step) const { return part(at("x"), step); }
  Tensor labels(int64_t step) const { return part(at("labels"), step); }
  // The loss before that step.
  Tensor loss(int64_t step) const { return part(at("losses"), step); }

 private:
  static Tensor part(const Tensor& t, int64_t step);
  std::map<std::string, Tensor> values_;
};

Tensor with_label(Tensor labels, int64_t sample, int64_t value);
std::string bad_label_message(int64_t sample, int64_t value);
// train_step: x f32[16, 12], labels i64[16] -> loss, and the parameters after one step; eval_step: x -> logits. The parameters are states
// of the module.
Status build_training(Module& m, const TrainingReference& reference);

}  // namespace nnc::test

#pragma once
// When two answers are the same, by classes. Values that every backend computes to the last bit are compared so; the others by an
// error bound anchored in f64.

#include <string>
#include <vector>

#include "ir/eval.h"
#include "tests/fuzz/generator.h"

namespace nnc::test {

// What the interpreter makes of a graph: rounded after each op; with composites (norms, softmax, attention) spelled out and each of their
// ops rounded too; and in f64 throughout.
struct Reference {
  std::vector<Tensor> rounded, plain;
  std::vector<EvalTensor> anchored;
  double length = 1, size = 0, unit = 0;  // of the longest sum, the largest value and the coarsest float type on the way
};
Result<Reference> reference(const RandomGraph& r, const std::vector<Tensor>& inputs);

// NaN equals NaN whatever its bits; zeros have signs.
bool same_bits(const Tensor& a, const Tensor& b);
// What is wrong with output k, or nothing.
std::string difference(const RandomGraph& r, size_t k, const Tensor& got, const Reference& want);

}  // namespace nnc::test

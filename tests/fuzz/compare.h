#pragma once
// When two answers are the same, by classes. Values that every backend computes to the last bit are compared so; the others by an
// error bound anchored in f64.

#include <string>
#include <vector>

#include "ir/eval.h"
#include "tests/fuzz/generator.h"

namespace nnc::test {

// What the interpreter makes of a graph: rounded after each op, and in f64 throughout. With composites (norms, softmax, attention) spelled
// out: `plain` is rounded after each of their ops, as who wrote them by hand in their dtype would have it; `steady` is in f64; in `shaken`
// each value of that which need not be equal everywhere is off by what its row may err: the two show how far errors grow on the way.
struct Reference {
  // What lies on an output's way, from its ancestors alone: of its longest sum, its largest value and its coarsest half type (0: none).
  struct Way {
    double length = 1, size = 0, unit = 0;
    bool quantized = false;  // spelled out in f64, rounding to integers falls the other way near ties
  };
  std::vector<Tensor> rounded, plain;
  std::vector<EvalTensor> anchored, steady;
  std::vector<std::vector<EvalTensor>> shaken;
  std::vector<Way> ways;  // by output
};
Result<Reference> reference(const RandomGraph& r, const std::vector<Tensor>& inputs);

// NaN equals NaN whatever its bits; zeros have signs.
bool same_bits(const Tensor& a, const Tensor& b);
// What is wrong with output k, or nothing.
std::string difference(const RandomGraph& r, size_t k, const Tensor& got, const Reference& want);

}  // namespace nnc::test

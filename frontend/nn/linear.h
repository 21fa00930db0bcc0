#pragma once
// Layers with PyTorch's names, defaults and initialisation. A layer owns the initial values of its parameters as host tensors and records
// its forward step into a trace; it knows no device.

#include <cstdint>
#include <string>

#include "frontend/trace/trace.h"

namespace nnc::nn {

// Where initial values come from: Philox under one key, a stream for each tensor in the order of their making, so that equal programs give
// equal models on every machine.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : key_(seed) {}
  void manual_seed(uint64_t seed) { *this = Generator(seed); }
  // Uniform in [lo, hi), f32.
  Tensor uniform(std::vector<int64_t> dims, double lo, double hi);

 private:
  uint64_t key_, stream_ = 0;
};
// This thread's, for layers that are given none.
Generator& default_generator();

// y = x * transpose(weight) + bias.
class Linear {
 public:
  // Weight [out, in] and bias [out] are uniform in +-1 / sqrt(in): kaiming_uniform with a = sqrt(5), PyTorch's default.
  Linear(int64_t in, int64_t out, bool bias = true, Generator& generator = default_generator());
  int64_t in() const { return weight.dims()[1]; }
  int64_t out() const { return weight.dims()[0]; }
  // Parameters become the states NAME.weight and NAME.bias of the trace's module.
  trace::Value forward(trace::Trace& t, trace::Value x, const std::string& name, trace::Where where = trace::Where::current()) const;

  Tensor weight, bias;  // an invalid bias: none
};

}  // namespace nnc::nn

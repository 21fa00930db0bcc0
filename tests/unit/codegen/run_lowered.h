#pragma once
// Runs one group on random inputs through the reference interpreter, the kernel interpreter and compiled code, and compares: compiled code
// with its interpretation bit for bit, both with the reference by tolerance.

#include <string>
#include <vector>

#include "codegen/lower.h"
#include "ir/builder.h"
#include "ir/eval.h"

namespace nnc::testing {

struct GroupRun {
  std::vector<Tensor> reference, interpreted, compiled;
  LoweredGroup lowered;
  std::string error;  // empty: all ran
};
// `dims`: values of the module's input symbols, by symbol order (missing ones: typical or 5).
GroupRun run_lowered(Module& m, const Graph& g, const Target& target, const std::vector<Tensor>& inputs, bool native = true);
// Uniform in [lo, hi); integers rounded; bools by sign.
Tensor random_tensor(DType dtype, std::vector<int64_t> dims, uint32_t seed, double lo = -1, double hi = 1);
// Empty, or what differs.
std::string bits_differ(const Tensor& a, const Tensor& b);
std::string far_apart(const Tensor& a, const Tensor& b, double rtol, double atol);

}  // namespace nnc::testing

#pragma once
// Whether passes keep what a module computes: every entry is evaluated before and after on the same random inputs.

#include <string>
#include <vector>

#include "ir/graph.h"

namespace nnc::test {

struct EquivalenceOptions {
  double rel = 1e-5, abs = 1e-6;
  uint64_t seed = 1;
  int64_t extent = 5;     // of free dims, as far as their bounds allow
  bool must_run = false;  // an entry that fails before the passes is a problem
};
// Random inputs of an entry: floats in [-2, 2], integers and bool in [0, 1].
std::vector<Tensor> random_inputs(const Entry& e, const EquivalenceOptions& options = {});
// Evaluates every entry of both on the same inputs. Empty if equal.
std::string compare(const Module& before, const Module& after, const EquivalenceOptions& options = {});
// Runs `passes` on a copy of `m` and compares. Empty if equal.
std::string compare_after(const Module& m, const std::string& passes, const EquivalenceOptions& options = {});

}  // namespace nnc::test

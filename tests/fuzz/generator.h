#pragma once
// Random typed graphs for differential testing: op rows are applied to values that are there, or to fresh arguments and constants, and what
// their type rules accept stays. Equal seeds give equal graphs on every machine. What would make answers incomparable is kept out:
// discontinuous ops read only values that every backend computes to the last bit, indices lie inside of what they index.

#include <memory>
#include <vector>

#include "ir/builder.h"

namespace nnc::test {

struct RandomGraph {
  std::unique_ptr<Module> module;
  std::vector<Tensor> inputs;
  bool symbolic = false;  // an input has a symbolic extent
};

RandomGraph random_graph(uint64_t seed);

}  // namespace nnc::test

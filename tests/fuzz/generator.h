#pragma once
// Random typed graphs for differential testing: op rows are applied to values that are there, or to fresh arguments and constants, and what
// their type rules accept stays. Equal seeds give equal graphs on every machine. What would make answers incomparable is kept out:
// discontinuous ops read only values that every backend computes to the last bit, indices lie inside of what they index.

#include <memory>
#include <set>
#include <vector>

#include "ir/builder.h"

namespace nnc::test {

struct RandomGraph {
  std::unique_ptr<Module> module;
  std::vector<Tensor> inputs;
  std::vector<Tensor> other;       // arguments of other extents, for a second run of the same session; empty where all extents are fixed
  std::vector<bool> exact;         // by output: every backend computes it to the last bit
  std::set<ValueId> exact_values;  // such values of the graph, for parts of it
  bool symbolic = false;           // an extent is symbolic
};

// Seeds that follow each other take turns in the row they begin with, so that a range of seeds holds every row.
RandomGraph random_graph(uint64_t seed);

}  // namespace nnc::test

#pragma once
// A failing graph reduced to the nodes that the failure needs: what they read is given as arguments.

#include <functional>
#include <string>

#include "tests/fuzz/generator.h"

namespace nnc::test {

// `failure_of` says what is wrong with a graph, or nothing. Prints the reduced graph and the extents of its arguments.
void reduce_and_print(uint64_t seed, const std::function<std::string(RandomGraph)>& failure_of);

}  // namespace nnc::test

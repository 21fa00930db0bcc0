#pragma once
// Transposing moves on CUDA, as a form of pointwise groups. Internal to the skeletons.

#include <optional>

#include "codegen/iter_space.h"
#include "codegen/skeletons.h"

namespace nnc {

// Nothing: the group reads along its iteration, or from more than one input; it is pointwise.
std::optional<LoweredKernel> lower_move_cuda(const Graph& g, const Target& target, const IterSpace& space, const LowerOptions& options);

}  // namespace nnc

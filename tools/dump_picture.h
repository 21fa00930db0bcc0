#pragma once
// `nnc dump --dot` and `--svg`: what of a module or a plan is drawn.

#include "codegen/lower.h"
#include "ir/base/plan.h"
#include "tools/picture.h"

namespace nnc::tool {

// One picture for each entry and each region in it: groups as a box with their skeleton, ops and source nodes; views and constants are left
// out.
std::vector<GraphPicture> picture_graphs(const Module& module, const Target& target, const LowerOptions& lower);
// One picture for each entry and segment, at typical sizes.
Result<std::vector<MemoryPicture>> picture_memory(const Program& program);

// "encoder/layer.0/": what all names share, up to a slash; empty where they share nothing.
std::string common_prefix(const std::vector<std::string>& names);

}  // namespace nnc::tool

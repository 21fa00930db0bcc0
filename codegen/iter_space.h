#pragma once
// The iteration space of a skeleton: the axes of the group's first output, refined until no reshape in the group needs a division, then
// merged to the coarsest axes on which all accesses of the group are affine.

#include <vector>

#include "codegen/group_body.h"

namespace nnc {

struct IterSpace {
  Shape extents;  // graph dims; the product is the number of elements of every output
};

// `emit_all`: emits what the skeleton will emit, with the group's axes set; run on throw-away builders.
IterSpace find_iter_space(const Graph& group, const Target& target, const Shape& start, const std::function<void(GroupBody&)>& emit_all,
                          bool merge = true);

// Emits every output at the coordinates that the body's axes flatten to, then stores them all (loads come before stores, so in-place pairs
// are safe).
void emit_outputs(GroupBody& body, Expr mask = {}, bool nt = false);

// Input/output pairs of one element size whose accesses are all at the same coordinate.
std::vector<std::pair<uint32_t, uint32_t>> in_place_pairs(const GroupBody& body);

}  // namespace nnc

#pragma once
// Copies a region's nodes into the graph that holds it: branches that are decided, bodies of gradients. Not for groups, which nobody opens
// again.

#include <map>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace nnc {

// `args`: one value of `into` per region input (fewer where trailing ones are absent). Returns the region's outputs as values of `into`.
// Symbols are shared, so what binds symbols may be copied only where the original goes away.
Result<std::vector<ValueId>> inline_region(Graph& into, const Graph& region, std::span<const ValueId> args, NodeId before);

// The same with access to every copied value: `map` (region value -> value of `into`) holds the inputs already, and is filled.
Status copy_nodes(Graph& into, const Graph& region, std::map<ValueId, ValueId>& map, NodeId before);

// Copies the region `from` of another graph (of the same module) into `into`; returns its new id there.
RegionId copy_region(Graph& into, const Graph& from);

}  // namespace nnc

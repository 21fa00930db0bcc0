#pragma once
// Functions of the control family's rows that live outside control.cpp, and what builders of loops and branches need to know before they
// append the node.

#include "ir/graph.h"

namespace nnc {

// Number of symbols that the attribute `result_symbols` of an `if` must bring: one per axis on which the branches' results differ
// structurally.
size_t if_result_symbols(const Graph& then_region, const Graph& else_region);
// For a loop over `carried` initial types with the region `body`: axes of carried values whose extent the body does not keep, each of which
// needs one symbol in the region's input type (attribute `carried_symbols`) and one in the result (attribute `result_symbols`); then one of
// the latter for each axis of a scan output whose extent depends on a symbol that the body binds.
struct LoopSymbols {
  size_t carried = 0, scan = 0;
};
LoopSymbols loop_symbols(std::span<const Type> initial, const Graph& body, size_t scan);

Status eval_if(EvalContext& c);
Status eval_loop(EvalContext& c);
Status eval_group(EvalContext& c);
Status eval_fail(EvalContext& c);

}  // namespace nnc

#pragma once
// Gradients of a whole graph: each row of the op table gives its own, this adds them up in reverse program order. Runs before targets part
// ways; composites are differentiated whole.

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace nnc {

// Appends to g the gradients of `loss` (one float element) with respect to `wrt`, values of float types that it may depend on: one value
// each, of the same type; zeros where it does not depend. Code::kNoGradient names the node that has none and why.
Result<std::vector<ValueId>> differentiate(Graph& g, ValueId loss, std::span<const ValueId> wrt);

// The same for an entry: result `loss` by name, arguments by name. Appends a result "grad.NAME" for each.
Status differentiate_entry(Module& m, Entry& entry, std::string_view loss, std::span<const std::string> args);

// What `run_differentiate` does for each entry: metadata "differentiate.ENTRY" = "LOSS: ARG, ARG"; the key goes when it is done.
inline constexpr std::string_view kDifferentiateKey = "differentiate.";

}  // namespace nnc

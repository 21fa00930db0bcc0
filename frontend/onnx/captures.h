#pragma once
// What the regions of If, Loop and Scan take from outside, and what is known of their conditions.

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/onnx/context.h"

namespace nnc::onnx {

// What the regions of one node take from outside, in order of first use.
struct Captures {
  std::vector<std::pair<std::string_view, ValueId>> names;
  std::vector<ValueId> operands;  // distinct values that become region inputs
};

// Adds what `graph` uses from outside. False: a captured value has a finding of its own.
bool collect_captures(NodeContext& c, const GraphProto& graph, Captures* out);
// Adds the region's inputs for the captures and binds their names.
Status bind_captures(NodeContext& c, const Captures& captures, Scope& inner);
// The value of a condition, where it is known under the profile.
std::optional<bool> decided(NodeContext& c, ValueId condition);
// Fresh data symbols for extents.
std::vector<SymbolId> mint(NodeContext& c, size_t count);

}  // namespace nnc::onnx

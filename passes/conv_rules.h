#pragma once
// Rules over convolutions that canonicalize applies.

#include "passes/rules.h"

namespace nnc {

// A spatial axis along which image and filter have one element is no axis: kernels tile the last one.
Result<bool> conv_unit_axis_rule(Rewriter& rw, NodeId id);

}  // namespace nnc

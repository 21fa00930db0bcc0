#pragma once
// Spelled-out attention becomes its op: a rule of raise.

#include "passes/rules.h"

namespace nnc {

Result<bool> attention_rule(Rewriter& rw, NodeId id);

}  // namespace nnc

#pragma once
// What a plan program says of itself without being loaded: steps by the kind of their code, memory at typical sizes.

#include <functional>
#include <vector>

#include "codegen/compile.h"
#include "ir/base/plan.h"
#include "runtime/executable.h"

namespace nnc::tool {

// Every step of an entry, regions included, in the order of their numbers.
void visit_steps(const PlanEntry& entry, const std::function<void(const Step&)>& visit);
// `native`: per kernel, whether it has native code.
CodeCounts count_steps(const Program& p, const std::vector<bool>& native);
std::vector<bool> native_kernels(const CompiledProgram& compiled);

struct PlanMemory {
  int64_t peak = 0, lower_bound = 0, unplanned = 0;  // unplanned: every buffer on its own
};
// The largest over entries, every segment with symbols at their typical sizes. What has no size before it runs counts with its guess.
Result<PlanMemory> plan_memory(const Program& p);

}  // namespace nnc::tool

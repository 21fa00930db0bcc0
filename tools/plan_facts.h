#pragma once
// What a plan program says of itself without being loaded: steps by the kind of their code, memory at typical sizes.

#include <functional>
#include <vector>

#include "codegen/compile.h"
#include "ir/base/plan.h"
#include "ir/base/plan_pack.h"
#include "runtime/executable.h"

namespace nnc::tool {

// Every step of an entry, regions included, in the order of their numbers.
void visit_steps(const PlanEntry& entry, const std::function<void(const Step&)>& visit);
// `native`: per kernel, whether it has native code.
CodeCounts count_steps(const Program& p, const std::vector<bool>& native);
std::vector<bool> native_kernels(const CompiledProgram& compiled);

// The buffers of a segment as they are packed with symbols at their typical sizes; what has no size before it runs counts with its guess.
struct PackedSegment {
  std::vector<uint32_t> buffers;  // numbers in the entry
  std::vector<SizedBuffer> sized;
  Packing packing;
};
Result<PackedSegment> pack_segment(const Program& p, const PlanEntry& e, uint32_t segment);

struct PlanMemory {
  int64_t peak = 0, lower_bound = 0, unplanned = 0;  // unplanned: every buffer on its own
};
// The largest over entries, all segments together.
Result<PlanMemory> plan_memory(const Program& p);

}  // namespace nnc::tool

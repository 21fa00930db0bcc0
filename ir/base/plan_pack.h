#pragma once
// The memory packer and its independent checker. Packing is deterministic: equal input gives equal offsets.

#include <span>
#include <vector>

#include "ir/base/plan.h"

namespace nnc {

struct SizedBuffer {
  int64_t bytes = 0;
  int64_t align = 64;
  uint32_t first = 0, last = 0;
  int32_t alias_of = -1;
};
struct Packing {
  std::vector<int64_t> offsets;
  int64_t peak = 0;         // arena bytes
  int64_t lower_bound = 0;  // largest sum of live bytes over steps
};
// Greedy by size with best-fit gaps among conflicting live ranges (under 1 ms for 1,000 buffers).
Result<Packing> pack_buffers(std::span<const SizedBuffer> buffers);
// O(n log n) sweep: no two live buffers overlap unless one aliases the other, all inside [0, peak), aligned. Shares no code with the
// packer.
Status check_packing(std::span<const SizedBuffer> buffers, const Packing& p);

}  // namespace nnc

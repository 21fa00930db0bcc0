#pragma once
// From a group to kernels. A group is an ordinary graph (the region of a `group` op, or one node alone); lowering chooses the skeleton of
// its hero class, builds one to three kernels and says what each parameter is.

#include <vector>

#include "codegen/target.h"
#include "ir/base/kernel.h"
#include "ir/graph.h"

namespace nnc {

struct KernelArg {
  enum Kind : uint8_t { kInput, kOutput, kScratch } kind = kInput;
  uint32_t index = 0;  // group input, group output or scratch number
};
struct LoweredKernel {
  Kernel kernel;
  std::vector<KernelArg> args;  // one per kernel parameter
  std::vector<Dim> dims;        // module dims that give the kernel's symbols at launch
};
struct LoweredGroup {
  std::string skeleton;                // "pointwise", "row_fold", ...: shown by `dump`
  std::vector<LoweredKernel> kernels;  // launched in order
  std::vector<Dim> scratch_bytes;
  // (group input, group output) pairs that may share memory
  std::vector<std::pair<uint32_t, uint32_t>> in_place;
};

struct LowerOptions {
  League league = League::kStrict;
};

// `group`: inputs, nodes, outputs; constants over kInlineConstant elements are inputs. Code::kUnsupportedOp names the node that no skeleton
// takes.
Result<LoweredGroup> lower_group(const Graph& group, const Target& target, const LowerOptions& options = {});
// The same with kernels as the skeletons wrote them, before `finish_kernel`.
Result<LoweredGroup> draft_group(const Graph& group, const Target& target, const LowerOptions& options);
inline constexpr int64_t kInlineConstant = 1;

}  // namespace nnc

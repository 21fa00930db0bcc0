#pragma once
// The skeletons: each builds the kernel tree of one class of group, for CPU and for CUDA, in the file of its name. Who calls them finishes
// the kernels (draft_group, lower_group).

#include "codegen/group_body.h"
#include "codegen/lower.h"

namespace nnc {

Result<LoweredGroup> lower_pointwise(const Graph& group, const Target& target, const LowerOptions& options);
Result<LoweredGroup> lower_packed(const Graph& group, const Target& target, const LowerOptions& options);       // types below one byte
Result<LoweredGroup> lower_fold(const Graph& group, const Target& target, const LowerOptions& options);         // rows and columns
Result<LoweredGroup> lower_contraction(const Graph& group, const Target& target, const LowerOptions& options);  // GEMM, small M
Result<LoweredGroup> lower_convolution(const Graph& group, const Target& target,
                                       const LowerOptions& options);  // dense, depthwise, transposed
Result<LoweredGroup> lower_attention(const Graph& group, const Target& target, const LowerOptions& options);
Result<LoweredGroup> lower_recurrent(const Graph& group, const Target& target, const LowerOptions& options);

// Common end of a skeleton: parameters in the order they were declared become the launch's arguments.
class ArgRecorder {
 public:
  ArgRecorder(KernelBuilder& k, GroupBody& body) : k_(k), body_(body) {}
  BufId input(uint32_t i);
  BufId output(uint32_t o);
  BufId scratch(uint32_t s, DType elem, Dim extent, Access access);
  // Declares every group input and output.
  void all();
  LoweredKernel finish(const LowerOptions& options);

 private:
  KernelBuilder& k_;
  GroupBody& body_;
  std::vector<KernelArg> args_;
};

// The group's widest element in bytes, at least 1: what lanes are chosen from.
int widest_element(const Graph& group);
// "mul_add_relu": what kernels are named after, from the group's ops.
std::string group_name(const Graph& group);

}  // namespace nnc

#pragma once
// The kernel IR interpreter: oracle of compiled code (bit for bit) and the target `cpu:vm`. Every access is checked against its buffer; a
// kernel that leaves one is an error, never undefined behaviour. A kernel is translated once to register code over whole lanes, then run
// over a range of tasks.

#include <memory>
#include <span>

#include "ir/base/kernel.h"

namespace nnc {

struct VmBuffer {
  void* data = nullptr;
  int64_t bytes = 0;
};
// The first failed `check` of a run: clamped, recorded, reported by who ran the kernel.
struct CheckFailure {
  bool set = false;
  uint32_t site = 0;
  int64_t index = 0, bound = 0;
};

struct VmOptions {
  int level = 4;                   // the highest instruction set level used: 1, 3, 4; all give the same bits
  int64_t max_rounds = INT64_MAX;  // loop rounds (and tasks) that one thread may make in one call: a bound on the time of kernels from
                                   // files that nobody vouches for
};

class VmKernel {
 public:
  // Fails on kernels that do not verify.
  static Result<VmKernel> compile(const Kernel& k, const VmOptions& options = {});
  VmKernel(VmKernel&&) noexcept;
  VmKernel& operator=(VmKernel&&) noexcept;
  ~VmKernel();
  // Runs tasks [begin, end) of the flattened grid (task0 fastest). `dims`: values of the kernel's symbols. Kernels with threads > 1 run
  // their threads in lock step between barriers (phases), in thread order. No allocation after the first call with the same kernel on a
  // thread.
  Status run(std::span<const VmBuffer> params, std::span<const int64_t> dims, int64_t begin, int64_t end, CheckFailure* failure) const;

 private:
  struct Program;
  explicit VmKernel(std::unique_ptr<Program> p);
  std::unique_ptr<Program> program_;
};

// Number of tasks for given dims, and its three extents.
Result<std::array<int64_t, 3>> grid_extents(const Kernel& k, std::span<const int64_t> dims);

}  // namespace nnc

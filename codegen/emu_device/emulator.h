#pragma once
// The emulator of CUDA kernels: loads host code made from CUDA text and runs launches block by block, in a seeded random order, with every
// access checked. Threads of kernels that never meet run one after another; the others are fibres that run in lock step of their barriers
// and warp operations. One launch at a time in a process. What is found is a report; memory stays safe, whatever the kernel does within its
// checked accesses.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/base/kernel_vm.h"
#include "ir/support/bytes.h"
#include "ir/support/result.h"

namespace nnc {

enum class EmuFault : uint8_t { kOutOfBounds, kMisaligned, kUninitialised, kRace, kEarlyRead, kDivergentBarrier, kWarpMask, kExtent };
std::string_view emu_fault_name(EmuFault f);

struct EmuReport {
  EmuFault fault = EmuFault::kOutOfBounds;
  std::string text;  // kernel, buffer, element, threads and blocks concerned
};

struct EmuBuffer {
  void* data = nullptr;
  int64_t bytes = 0;
  uint64_t* written = nullptr;  // one bit a byte, from `data` on; null: all of it holds values
};

// Bounds, alignment and meeting points are always checked; the rest can be left out for speed.
struct EmuOptions {
  uint64_t seed = 1;           // order of blocks, warps and threads
  bool races = true;           // and reads of shared memory that nothing was written to, early reads of asynchronous copies
  bool initialisation = true;  // reads of global memory that nothing was written to
  size_t max_reports = 8;
};

struct EmuKernelShape {
  std::string name;
  int threads = 1, params = 0, dims = 0;
  int64_t shared_bytes = 0;
  bool fibres = false;
};

class EmuKernel;  // lives as long as its module
const EmuKernelShape& emu_kernel_shape(const EmuKernel& k);

class EmuModule {
 public:
  // `code`: a shared object made from the emulated text of `emit_cuda_unit`; `names`: the kernels it must have.
  static Result<std::unique_ptr<EmuModule>> load(ByteView code, std::span<const std::string> names);
  ~EmuModule();
  const EmuKernel& kernel(size_t index) const;

 private:
  struct Loaded;
  explicit EmuModule(std::unique_ptr<Loaded> l);
  std::unique_ptr<Loaded> loaded_;
};

// Runs `tasks` blocks. The reports, none for a clean run; an error when the launch does not fit the kernel.
Result<std::vector<EmuReport>> emu_launch(const EmuKernel& kernel, std::span<const EmuBuffer> buffers, std::span<const int64_t> dims,
                                          int64_t tasks, CheckFailure* failure, const EmuOptions& options = {});

}  // namespace nnc

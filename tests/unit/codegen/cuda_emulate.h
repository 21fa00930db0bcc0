#pragma once
// Compiles kernels for the emulator and runs them: what tests of the CUDA dialect share.

#include <memory>
#include <vector>

#include "codegen/emu_device/emulator.h"
#include "ir/base/kernel.h"

namespace nnc::test {

// All kernels in one unit, named k0, k1, ...
Result<std::unique_ptr<EmuModule>> compile_emulated(const std::vector<Kernel>& kernels, int sm = 80);

struct EmuRun {
  std::vector<EmuReport> reports;
  CheckFailure failure;
  bool found(EmuFault f) const;
  std::string text() const;
};
// `buffers`: one per parameter; `written` where initialisation is watched.
EmuRun run_emulated(const EmuKernel& k, const Kernel& kernel, std::vector<EmuBuffer> buffers, const std::vector<int64_t>& dims = {},
                    const EmuOptions& options = {});

}  // namespace nnc::test

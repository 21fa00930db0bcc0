#pragma once
// The device `cuda-emu`: programs for `cuda-emu:sm_NN` run on the emulator, with every access checked; a finding is the error of its
// launch. Shares the host's memory, so it does not know what host steps have written: reads of global memory that nothing was written to
// are found where the emulator is used directly.

#include <memory>

#include "codegen/emu_device/emulator.h"
#include "runtime/device.h"

namespace nnc {

std::shared_ptr<Device> make_emu_device(const EmuOptions& options = {});

}  // namespace nnc

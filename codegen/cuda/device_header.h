#pragma once
// The text before the kernels of a CUDA unit: types, the meaning of the scalar operations, memory and thread primitives. One for a device,
// one for the emulator; what computes values is the same text in both (device_common.inc).

#include <string>

namespace nnc {

// `index64`: the width of `idx`.
std::string cuda_device_header(bool index64);
std::string emu_device_header(bool index64);

}  // namespace nnc

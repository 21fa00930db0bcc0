#pragma once
// Devices by name, and what programs for them are compiled for when nobody says.

#include <string_view>

#include "runtime/open_device.h"

namespace nnc {

// "cpu", "cuda-emu:sm_80", "cuda:sm_80".
std::string_view default_target(std::string_view device);

}  // namespace nnc

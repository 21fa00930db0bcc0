#pragma once
// The structures that generated code of the emulator shares with its runtime, as the runtime sees them; their one definition is
// codegen/emu/emu_abi.inc.

#include <cstdint>

#include "ir/base/kernel_vm.h"

namespace nnc::emu {

using u8 = uint8_t;
using u32 = uint32_t;
using u64 = unsigned long long;
using i64 = long long;
using failure_t = CheckFailure;

#define NNC_FN inline
#define NNC_EMU_ABI(...) __VA_ARGS__
#include "codegen/emu/emu_abi.inc"
#undef NNC_EMU_ABI
#undef NNC_FN

}  // namespace nnc::emu

#pragma once
// The calling convention between the runtime and compiled kernels. Generated code spells it again in its prelude; a test compares the two.

#include <cstdint>

#include "ir/base/kernel_vm.h"

namespace nnc {

// Runs tasks [begin, end) of the flattened grid (task0 fastest). `buffers`: one base pointer per kernel parameter; `dims`: values of the
// kernel's symbols; `failure`: set at the first check that fails (layout of CheckFailure).
using KernelFn = void (*)(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end, CheckFailure* failure);

}  // namespace nnc

#pragma once
// From the compiler's output straight to the runtime, without an artifact in between: what `nnc run MODEL` and the C++ facade do.

#include <memory>

#include "codegen/compile.h"
#include "runtime/executable.h"

namespace nnc {

// The program on `device`; native code where the program has some, else its kernels are interpreted.
Result<std::shared_ptr<const Executable>> load_compiled(const CompiledProgram& compiled, std::shared_ptr<Device> device);

}  // namespace nnc

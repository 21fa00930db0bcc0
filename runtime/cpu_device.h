#pragma once
// The `cpu` device: native kernels from shared objects, and kernels that the interpreter runs. Everything is done when a call returns.

#include <memory>

#include "runtime/device.h"
#include "runtime/thread_pool.h"

namespace nnc {

Result<std::shared_ptr<Device>> make_cpu_device(const ThreadPoolOptions& threads = {});

}  // namespace nnc

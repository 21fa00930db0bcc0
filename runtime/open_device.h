#pragma once
// Devices by name: `cpu`; `cuda-emu`, whose library is opened only when it is asked for. Any other name, and a device that cannot be had,
// is kNoDevice with the reason.

#include <memory>
#include <string_view>

#include "ir/support/result.h"
#include "runtime/device.h"
#include "runtime/thread_pool.h"

namespace nnc {

// `pool`: the threads of the cpu.
Result<std::shared_ptr<Device>> open_device(std::string_view name, const ThreadPoolOptions& pool = {});

}  // namespace nnc

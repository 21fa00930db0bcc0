#pragma once
// Devices by name: `cpu`; `cuda-emu`, whose library is opened only when it is asked for. Any other name, and a device that cannot be had,
// is kNoDevice with the reason.

#include <memory>
#include <string_view>

#include "ir/support/result.h"
#include "runtime/device.h"

namespace nnc {

struct DeviceOptions {
  int threads = 0;  // of the cpu; 0: as many as this process may use
};
Result<std::shared_ptr<Device>> open_device(std::string_view name, const DeviceOptions& options = {});
// What programs for the device are compiled for when nobody says: "cpu", "cuda-emu:sm_80".
std::string_view default_target(std::string_view device);

}  // namespace nnc

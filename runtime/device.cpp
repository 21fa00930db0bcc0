#include "runtime/device.h"

#include <chrono>
#include <utility>

namespace nnc {

std::string_view code_kind_name(CodeKind k) {
  switch (k) {
    case CodeKind::kNative: return "native";
    case CodeKind::kVm: return "vm";
    case CodeKind::kHost: return "host";
    case CodeKind::kLibrary: return "library";
  }
  return "unknown";
}

int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<DeviceBuffer> DeviceBuffer::create(std::shared_ptr<Device> device, int64_t bytes) {
  DeviceBuffer b;
  NNC_ASSIGN(b.data_, device->allocate(bytes));
  b.bytes_ = bytes;
  b.device_ = std::move(device);
  return b;
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : device_(std::move(other.device_)), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (data_) device_->free(data_);
}

}  // namespace nnc

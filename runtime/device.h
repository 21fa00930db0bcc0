#pragma once
// The one virtual interface of the runtime: memory and kernels of a device. A Device may be shared by sessions of several threads; launches
// of one session are in order. What a device cannot do yet is an error of the call, never another device instead.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/base/kernel.h"
#include "ir/base/kernel_vm.h"
#include "ir/support/bytes.h"
#include "ir/support/result.h"

namespace nnc {

enum class CodeKind : uint8_t { kNative, kVm, kHost, kLibrary };
std::string_view code_kind_name(CodeKind k);

// A kernel of a loaded module. Lives as long as its module.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  virtual CodeKind kind() const = 0;
};
class DeviceModule {
 public:
  virtual ~DeviceModule() = default;
  virtual const DeviceKernel* kernel(size_t index) const = 0;  // by position in ModuleSource::kernels
};

// One unit of a program: native code that defines the kernels by name, or no code: then they are interpreted.
struct ModuleSource {
  ByteView code;
  struct Item {
    std::string name;
    const Kernel* kernel = nullptr;  // outlives the module
  };
  std::vector<Item> kernels;
  int64_t max_rounds = INT64_MAX;  // loop rounds of one interpreted task; for programs that nobody vouches for
};

struct LaunchArgs {
  void* const* buffers = nullptr;  // one per parameter
  const int64_t* bytes = nullptr;  // room behind each of them
  size_t buffer_count = 0;
  const int64_t* dims = nullptr;  // all symbols of the kernel, derived ones too
  size_t dim_count = 0;
  std::array<int64_t, 3> grid{1, 1, 1};
  int64_t tasks = 1;                // product of the grid
  CheckFailure* failure = nullptr;  // keeps the first failure; untouched when set
  int64_t deadline_ns = 0;          // by steady_now_ns; an interpreted launch that passes it is an error. 0: none
};

int64_t steady_now_ns();

struct DeviceEvent {
  uint64_t number = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;             // "cpu", "cuda-emu"
  virtual bool runs(std::string_view target) const = 0;  // whether programs of that target are for this device
  // Pointers of the host are valid here and the other way round.
  virtual bool shares_host_memory() const = 0;

  // At least 64-byte aligned, zero-filled. kOutOfMemory leaves the device usable.
  virtual Result<void*> allocate(int64_t bytes) = 0;
  virtual void free(void* memory) = 0;
  virtual Status copy(void* to, const void* from, int64_t bytes) = 0;
  virtual Status fill(void* to, uint8_t value, int64_t bytes) = 0;

  virtual Result<std::unique_ptr<DeviceModule>> load(const ModuleSource& source) = 0;
  virtual Status launch(const DeviceKernel& kernel, const LaunchArgs& args) = 0;

  // Everything launched before `record` is done when the event is. Devices that are done when a call returns have nothing to wait for.
  virtual Result<DeviceEvent> record() = 0;
  virtual Status wait(DeviceEvent event) = 0;
  virtual Result<bool> query(DeviceEvent event) = 0;
  virtual Status sync() = 0;
};

// Owns memory of a device.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  static Result<DeviceBuffer> create(std::shared_ptr<Device> device, int64_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Device> device_;
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace nnc

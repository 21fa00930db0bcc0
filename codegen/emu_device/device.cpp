#include "codegen/emu_device/device.h"

#include <cstring>
#include <new>

#include "ir/support/text.h"

namespace nnc {

namespace {

class EmulatedKernel final : public DeviceKernel {
 public:
  explicit EmulatedKernel(const EmuKernel& k) : kernel(k) {}
  CodeKind kind() const override { return CodeKind::kNative; }
  const EmuKernel& kernel;
};

class EmulatedModule final : public DeviceModule {
 public:
  const DeviceKernel* kernel(size_t index) const override { return &kernels[index]; }
  std::unique_ptr<EmuModule> module;
  std::vector<EmulatedKernel> kernels;
};

class EmuDevice final : public Device {
 public:
  explicit EmuDevice(const EmuOptions& o) : options_(o) {}
  std::string_view name() const override { return "cuda-emu"; }
  bool runs(std::string_view target) const override { return target.substr(0, 9) == "cuda-emu:"; }
  bool shares_host_memory() const override { return true; }

  Result<void*> allocate(int64_t bytes) override {
    if (bytes < 0 || bytes > kDimMax) return Error(Code::kOutOfMemory, cat("no memory for ", bytes, " bytes on the cuda-emu device"));
    const size_t padded = (static_cast<size_t>(bytes) + kAlign) / kAlign * kAlign;
    void* p = ::operator new(padded, std::align_val_t(kAlign), std::nothrow);
    if (!p) return Error(Code::kOutOfMemory, cat("no memory for ", human_bytes(static_cast<uint64_t>(bytes)), " on the cuda-emu device"));
    std::memset(p, 0, padded);
    return p;
  }
  void free(void* memory) override { ::operator delete(memory, std::align_val_t(kAlign)); }
  Status copy(void* to, const void* from, int64_t bytes) override {
    if (bytes > 0) std::memmove(to, from, static_cast<size_t>(bytes));
    return {};
  }
  Status fill(void* to, uint8_t value, int64_t bytes) override {
    if (bytes > 0) std::memset(to, value, static_cast<size_t>(bytes));
    return {};
  }

  Result<std::unique_ptr<DeviceModule>> load(const ModuleSource& source) override {
    if (source.code.empty())
      return Error(Code::kNoDevice, "the cuda-emu device runs compiled kernels only")
          .with("  compile with --target cuda-emu:sm_80, or take --target cpu:vm");
    std::vector<std::string> names;
    for (const ModuleSource::Item& item : source.kernels) names.push_back(item.name);
    auto module = std::make_unique<EmulatedModule>();
    NNC_ASSIGN(module->module, EmuModule::load(source.code, names));
    for (size_t i = 0; i < names.size(); ++i) module->kernels.emplace_back(module->module->kernel(i));
    return std::unique_ptr<DeviceModule>(std::move(module));
  }

  Status launch(const DeviceKernel& kernel, const LaunchArgs& args) override {
    if (args.tasks <= 0) return {};
    std::vector<EmuBuffer> buffers;
    for (size_t b = 0; b < args.buffer_count; ++b) buffers.push_back({args.buffers[b], args.bytes[b], nullptr});
    const EmuKernel& k = static_cast<const EmulatedKernel&>(kernel).kernel;
    NNC_ASSIGN(const std::vector<EmuReport> reports,
               emu_launch(k, buffers, {args.dims, args.dim_count}, args.tasks, args.failure, options_));
    if (reports.empty()) return {};
    Error e(Code::kDeviceFailed, reports[0].text);
    for (size_t r = 1; r < reports.size(); ++r) e.context.push_back("  " + reports[r].text);
    return e;
  }

  Result<DeviceEvent> record() override { return DeviceEvent{}; }
  Status wait(DeviceEvent) override { return {}; }
  Result<bool> query(DeviceEvent) override { return true; }
  Status sync() override { return {}; }

 private:
  static constexpr size_t kAlign = 256;
  const EmuOptions options_;
};

}  // namespace

std::shared_ptr<Device> make_emu_device(const EmuOptions& options) { return std::make_shared<EmuDevice>(options); }

}  // namespace nnc

// What libnnc_emu.so gives: `*out`, a std::shared_ptr<nnc::Device> of the same build, becomes the device.
extern "C" __attribute__((visibility("default"))) void nnc_emu_open(void* out) {
  *static_cast<std::shared_ptr<nnc::Device>*>(out) = nnc::make_emu_device();
}

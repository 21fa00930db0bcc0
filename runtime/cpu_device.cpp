#include "runtime/cpu_device.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <dlfcn.h>

#include "ir/base/abi.h"
#include "ir/support/memory.h"
#include "ir/support/sealed.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

class NativeKernel final : public DeviceKernel {
 public:
  explicit NativeKernel(KernelFn function) : fn(function) {}
  CodeKind kind() const override { return CodeKind::kNative; }
  KernelFn fn;
};
class InterpretedKernel final : public DeviceKernel {
 public:
  InterpretedKernel(VmKernel compiled, bool limited) : kernel(std::move(compiled)), limited_(limited) {}
  CodeKind kind() const override { return CodeKind::kVm; }

  // With a limit of rounds or of time, tasks run in short stretches: the limits are per call of the interpreter.
  Status run(std::span<const VmBuffer> buffers, const LaunchArgs& args, int64_t begin, int64_t end, CheckFailure* failure) const {
    const std::span<const int64_t> dims(args.dims, args.dim_count);
    if (!limited_ && args.deadline_ns == 0) return kernel.run(buffers, dims, begin, end, failure);
    for (int64_t stretch = 1; begin < end;) {
      const int64_t start = steady_now_ns();
      const int64_t to = begin + std::min(stretch, end - begin);
      NNC_TRY(kernel.run(buffers, dims, begin, to, failure));
      const int64_t now = steady_now_ns(), took = now - start;
      if (args.deadline_ns != 0 && now > args.deadline_ns) return Error(Code::kLimit, "the run passed its deadline");
      stretch = took < kStretchNs / 2 ? stretch * 2 : took > 2 * kStretchNs ? std::max<int64_t>(1, stretch / 2) : stretch;
      begin = to;
    }
    return {};
  }

 private:
  static constexpr int64_t kStretchNs = 5'000'000;
  VmKernel kernel;
  bool limited_;
};

class InterpretedModule final : public DeviceModule {
 public:
  const DeviceKernel* kernel(size_t index) const override { return &kernels[index]; }
  std::vector<InterpretedKernel> kernels;
};

// A loaded shared object. Its descriptor stays open: the loader tells objects apart by name, and the name is the descriptor's number.
class NativeModule final : public DeviceModule {
 public:
  NativeModule(FileHandle file, void* handle) : file_(std::move(file)), handle_(handle) {}
  ~NativeModule() override {
    if (handle_) dlclose(handle_);
  }
  const DeviceKernel* kernel(size_t index) const override { return &kernels[index]; }
  std::vector<NativeKernel> kernels;

 private:
  FileHandle file_;
  void* handle_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(std::unique_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}
  std::string_view name() const override { return "cpu"; }
  bool runs(std::string_view target) const override { return target.substr(0, 4) == "cpu:"; }
  bool shares_host_memory() const override { return true; }

  Result<void*> allocate(int64_t bytes) override {
    if (bytes < 0 || bytes > kDimMax) return Error(Code::kOutOfMemory, cat("no memory for ", bytes, " bytes on the cpu device"));
    void* memory = take_memory(static_cast<size_t>(bytes), true);
    if (!memory) return Error(Code::kOutOfMemory, cat("no memory for ", human_bytes(static_cast<uint64_t>(bytes)), " on the cpu device"));
    return memory;
  }
  void free(void* memory) override { give_memory(memory); }
  Status copy(void* to, const void* from, int64_t bytes) override {
    if (bytes > 0) std::memmove(to, from, static_cast<size_t>(bytes));
    return {};
  }
  Status fill(void* to, uint8_t value, int64_t bytes) override {
    if (bytes > 0) std::memset(to, value, static_cast<size_t>(bytes));
    return {};
  }

  Result<std::unique_ptr<DeviceModule>> load(const ModuleSource& source) override {
    if (!source.code.empty()) return load_native(source);
    auto module = std::make_unique<InterpretedModule>();
    module->kernels.reserve(source.kernels.size());
    for (const ModuleSource::Item& item : source.kernels) {
      VmOptions options;
      options.max_rounds = source.max_rounds;
      auto kernel = VmKernel::compile(*item.kernel, options);
      if (!kernel.ok()) return std::move(kernel).error().with(cat("  kernel ", item.name));
      module->kernels.emplace_back(std::move(*kernel), source.max_rounds != INT64_MAX);
    }
    return std::unique_ptr<DeviceModule>(std::move(module));
  }

  Status launch(const DeviceKernel& kernel, const LaunchArgs& args) override {
    if (args.tasks <= 0) return {};
    return kernel.kind() == CodeKind::kNative ? launch_native(static_cast<const NativeKernel&>(kernel).fn, args)
                                              : launch_interpreted(static_cast<const InterpretedKernel&>(kernel), args);
  }

  Result<DeviceEvent> record() override { return DeviceEvent{}; }
  Status wait(DeviceEvent) override { return {}; }
  Result<bool> query(DeviceEvent) override { return true; }
  Status sync() override { return {}; }

 private:
  Result<std::unique_ptr<DeviceModule>> load_native(const ModuleSource& source) {
    NNC_ASSIGN(FileHandle file, sealed_memory_file(source.code, "nnc-kernels"));
    void* handle = dlopen(cat("/proc/self/fd/", file.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* why = dlerror();
      return Error(Code::kDeviceFailed, cat("the system does not load the kernels: ", why ? why : "no reason given"));
    }
    auto module = std::make_unique<NativeModule>(std::move(file), handle);
    module->kernels.reserve(source.kernels.size());
    for (const ModuleSource::Item& item : source.kernels) {
      void* symbol = dlsym(handle, item.name.c_str());
      if (!symbol) return Error(Code::kInvalidArtifact, cat("the native code has no kernel ", item.name));
      module->kernels.emplace_back(reinterpret_cast<KernelFn>(symbol));
    }
    return std::unique_ptr<DeviceModule>(std::move(module));
  }

  // A part of a launch keeps its own failure; the one of the first part that has one is the launch's, so that it does not depend on timing.
  struct alignas(64) Part {
    CheckFailure failure;
    std::optional<Error> error;
  };
  // One per thread of the pool, kept by the thread that launches.
  std::span<Part> fresh_parts() const {
    static thread_local std::vector<Part> parts;
    if (parts.size() < static_cast<size_t>(pool_->threads())) parts.resize(static_cast<size_t>(pool_->threads()));
    for (Part& p : parts) p.failure.set = false;
    return parts;
  }
  static void keep_first(std::span<const Part> parts, CheckFailure* failure) {
    for (const Part& p : parts)
      if (p.failure.set && !failure->set) *failure = p.failure;
  }

  struct NativeCall {
    KernelFn fn;
    const LaunchArgs* args;
    std::span<Part> parts;
  };
  Status launch_native(KernelFn fn, const LaunchArgs& args) {
    if (args.tasks == 1 || pool_->threads() == 1) {
      fn(args.buffers, args.dims, 0, args.tasks, args.failure);
      return {};
    }
    NativeCall call{fn, &args, fresh_parts()};
    pool_->parallel(
        args.tasks,
        [](void* context, int part, int64_t begin, int64_t end) {
          const NativeCall& c = *static_cast<NativeCall*>(context);
          c.fn(c.args->buffers, c.args->dims, begin, end, &c.parts[static_cast<size_t>(part)].failure);
        },
        &call);
    keep_first(call.parts, args.failure);
    return {};
  }

  struct VmCall {
    const InterpretedKernel* kernel;
    const LaunchArgs* args;
    std::span<const VmBuffer> buffers;
    std::span<Part> parts;
  };
  Status launch_interpreted(const InterpretedKernel& kernel, const LaunchArgs& args) {
    static thread_local std::vector<VmBuffer> buffers;
    buffers.resize(args.buffer_count);
    for (size_t i = 0; i < args.buffer_count; ++i) buffers[i] = {args.buffers[i], args.bytes[i]};
    if (args.tasks == 1 || pool_->threads() == 1) return kernel.run(buffers, args, 0, args.tasks, args.failure);
    VmCall call{&kernel, &args, buffers, fresh_parts()};
    pool_->parallel(
        args.tasks,
        [](void* context, int part, int64_t begin, int64_t end) {
          const VmCall& c = *static_cast<VmCall*>(context);
          Part& mine = c.parts[static_cast<size_t>(part)];
          Status status = c.kernel->run(c.buffers, *c.args, begin, end, &mine.failure);
          if (!status.ok()) mine.error = std::move(status).error();
        },
        &call);
    std::optional<Error> error;
    for (Part& p : call.parts) {
      if (p.error && !error) error = std::move(p.error);
      p.error.reset();
    }
    if (error) return std::move(*error);
    keep_first(call.parts, args.failure);
    return {};
  }

  std::unique_ptr<ThreadPool> pool_;
};

}  // namespace

Result<std::shared_ptr<Device>> make_cpu_device(const ThreadPoolOptions& threads) {
  NNC_ASSIGN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(threads));
  return std::shared_ptr<Device>(std::make_shared<CpuDevice>(std::move(pool)));
}

}  // namespace nnc

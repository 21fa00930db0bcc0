#include "codegen/emu_device/emulator.h"

#include <dlfcn.h>

#include <cstring>
#include <mutex>

#include "codegen/emu_device/launcher.h"
#include "ir/support/sealed.h"
#include "ir/support/text.h"

namespace nnc {

const EmuKernelShape& emu_kernel_shape(const EmuKernel& k) { return k.shape; }

// The descriptor stays open: the loader tells objects apart by name, and the name is the descriptor's number.
struct EmuModule::Loaded {
  FileHandle file;
  void* handle = nullptr;
  std::vector<EmuKernel> kernels;
  ~Loaded() {
    if (handle) dlclose(handle);
  }
};

EmuModule::EmuModule(std::unique_ptr<Loaded> l) : loaded_(std::move(l)) {}
EmuModule::~EmuModule() = default;
const EmuKernel& EmuModule::kernel(size_t index) const { return loaded_->kernels[index]; }

Result<std::unique_ptr<EmuModule>> EmuModule::load(ByteView code, std::span<const std::string> names) {
  auto loaded = std::make_unique<Loaded>();
  NNC_ASSIGN(loaded->file, sealed_memory_file(code, "nnc-emulated"));
  loaded->handle = dlopen(cat("/proc/self/fd/", loaded->file.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded->handle) {
    const char* why = dlerror();
    return Error(Code::kDeviceFailed, cat("the system does not load the emulated kernels: ", why ? why : "no reason given"));
  }
  for (const std::string& name : names) {
    EmuKernel k;
    k.entry = reinterpret_cast<decltype(k.entry)>(dlsym(loaded->handle, name.c_str()));
    k.info = static_cast<const emu::nnc_kernel_info*>(dlsym(loaded->handle, (name + "_info").c_str()));
    if (!k.entry || !k.info) return Error(Code::kInvalidArtifact, cat("the emulated code has no kernel ", name));
    const emu::nnc_kernel_info& info = *k.info;
    if (info.version != emu::kAbiVersion || info.params > std::size(info.elem) || info.threads == 0 || info.threads > 1024)
      return Error(Code::kInvalidArtifact, cat("the emulated code of kernel ", name, " is of another version"))
          .with("  compile the model again");
    k.shape = {name,
               static_cast<int>(info.threads),
               static_cast<int>(info.params),
               static_cast<int>(info.dims),
               info.shared_bytes,
               info.fibres != 0};
    for (const char* p = info.names; p < info.names + sizeof info.names && *p; p += std::strlen(p) + 1) k.names.emplace_back(p);
    loaded->kernels.push_back(std::move(k));
  }
  return std::unique_ptr<EmuModule>(new EmuModule(std::move(loaded)));
}

Result<std::vector<EmuReport>> emu_launch(const EmuKernel& kernel, std::span<const EmuBuffer> buffers, std::span<const int64_t> dims,
                                          int64_t tasks, CheckFailure* failure, const EmuOptions& options) {
  const emu::nnc_kernel_info& info = *kernel.info;
  if (buffers.size() != info.params || dims.size() != info.dims)
    return Error(Code::kInternal, cat("kernel ", kernel.shape.name, " launched with ", buffers.size(), " buffers and ", dims.size(),
                                      " dims, it has ", info.params, " and ", info.dims));
  if (tasks < 0 || tasks > INT32_MAX)
    return Error(Code::kDeviceFailed,
                 cat("kernel ", kernel.shape.name, " launched with ", tasks, " blocks; a grid has at most 2147483647"));
  if (tasks == 0) return std::vector<EmuReport>();
  static std::mutex mutex;
  static emu::EmuPool pool;
  const std::lock_guard<std::mutex> lock(mutex);
  emu::Launcher launcher(pool, kernel, options, tasks);
  NNC_TRY(launcher.prepare(buffers, dims, failure));
  launcher.run();
  return std::move(launcher.reports);
}

}  // namespace nnc

#include "codegen/api/device.h"

#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "ir/support/text.h"
#include "runtime/cpu_device.h"

namespace nnc {

namespace {

constexpr std::string_view kEmulator = "libnnc_emu.so.0";

// The folder of the running program, with a slash; empty where the system does not say.
std::string program_folder() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0 || n == static_cast<ssize_t>(sizeof path)) return {};
  const std::string_view text(path, static_cast<size_t>(n));
  return std::string(text.substr(0, text.rfind('/') + 1));
}

// Beside the program, in the library folder beside the program's, or where the loader looks.
void* open_emulator() {
  const std::string folder = program_folder();
  if (!folder.empty()) {
    for (const std::string_view place : {"", "../lib/", "../lib/x86_64-linux-gnu/"})
      if (void* library = dlopen(cat(folder, place, kEmulator).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return dlopen(std::string(kEmulator).c_str(), RTLD_NOW | RTLD_LOCAL);
}

Result<std::shared_ptr<Device>> emulator_device() {
  static void* const library = open_emulator();  // stays: devices hold its code
  if (library == nullptr)
    return Error(Code::kNoDevice,
                 cat("the device cuda-emu needs ", kEmulator, ", which is neither beside the program nor where libraries are"));
  using Open = void (*)(void*);
  const auto open = reinterpret_cast<Open>(dlsym(library, "nnc_emu_open"));
  if (open == nullptr) return Error(Code::kNoDevice, cat(kEmulator, " is of another version"));
  std::shared_ptr<Device> device;
  open(&device);
  if (device == nullptr) return Error(Code::kNoDevice, "the emulator could not be started");
  return device;
}

}  // namespace

std::string_view default_target(std::string_view device) {
  return device == "cuda-emu" ? "cuda-emu:sm_80" : device == "cuda" ? "cuda:sm_80" : "cpu";
}

Result<std::shared_ptr<Device>> open_device(std::string_view name, const DeviceOptions& options) {
  if (name == "cpu") {
    ThreadPoolOptions pool;
    pool.threads = options.threads;
    return make_cpu_device(pool);
  }
  if (name == "cuda-emu") return emulator_device();
  if (name == "cuda") {
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver == nullptr)
      return Error(Code::kNoDevice, "no NVIDIA driver: libcuda.so.1 cannot be opened").with("try: --device cpu, or --device cuda-emu");
    dlclose(driver);
    return Error(Code::kNoDevice, "this version does not run programs on cuda devices").with("try: --device cpu, or --device cuda-emu");
  }
  return Error(Code::kNoDevice, cat("there is no device ", quote(name))).with("devices: cpu, cuda-emu, cuda");
}

}  // namespace nnc

#include "runtime/open_device.h"

#include <dlfcn.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "ir/support/text.h"
#include "runtime/cpu_device.h"

namespace nnc {

namespace {

constexpr std::string_view kEmulator = "libnnc_emu.so.0";

std::string folder_of(std::string_view path) { return std::string(path.substr(0, path.rfind('/') + 1)); }

// The folder of the running program, with a slash; empty where the system does not say.
std::string program_folder() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0 || n == static_cast<ssize_t>(sizeof path)) return {};
  return folder_of({path, static_cast<size_t>(n)});
}

// Of the library that holds this code, where it lies in one and is known by a path.
std::string library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0 || info.dli_fname == nullptr || info.dli_fname[0] != '/')
    return {};
  return folder_of(info.dli_fname);
}

// Beside the library or the program, in the library folder beside the program's, or where the loader looks.
void* open_emulator() {
  const std::string library = library_folder(), program = program_folder();
  std::vector<std::string> folders;
  if (!library.empty()) folders.push_back(library);
  if (!program.empty()) folders.insert(folders.end(), {program, program + "../lib/", program + "../lib/x86_64-linux-gnu/"});
  for (const std::string& folder : folders)
    if (void* opened = dlopen(cat(folder, kEmulator).c_str(), RTLD_NOW | RTLD_LOCAL)) return opened;
  return dlopen(std::string(kEmulator).c_str(), RTLD_NOW | RTLD_LOCAL);
}

Result<std::shared_ptr<Device>> emulator_device() {
  static void* const library = open_emulator();  // stays: devices hold its code
  if (library == nullptr)
    return Error(Code::kNoDevice, cat("the device cuda-emu needs ", kEmulator,
                                      ", which is neither beside the program or the runtime nor where libraries are"));
  using Open = void (*)(void*);
  const auto open = reinterpret_cast<Open>(dlsym(library, "nnc_emu_open"));
  if (open == nullptr) return Error(Code::kNoDevice, cat(kEmulator, " is of another version"));
  std::shared_ptr<Device> device;
  open(&device);
  if (device == nullptr) return Error(Code::kNoDevice, "the emulator could not be started");
  return device;
}

}  // namespace

Result<std::shared_ptr<Device>> open_device(std::string_view name, const ThreadPoolOptions& pool) {
  if (name == "cpu") return make_cpu_device(pool);
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

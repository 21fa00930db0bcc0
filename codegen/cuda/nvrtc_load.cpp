#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "codegen/cuda/nvrtc_api.h"
#include "ir/support/file.h"
#include "ir/support/text.h"

namespace nnc::nvrtc {

namespace {

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr int kOldest = 12;

std::string variable(const char* name) {
  const char* v = std::getenv(name);
  return v ? v : "";
}

// Folders that match `parent`/`prefix`*, last name first: the newest version.
std::vector<std::string> folders(const std::string& parent, std::string_view prefix) {
  std::vector<std::string> found;
  auto entries = list_folder(parent);
  if (!entries.ok()) return found;
  for (auto e = entries->rbegin(); e != entries->rend(); ++e)
    if (e->name.substr(0, prefix.size()) == prefix) found.push_back(parent + "/" + e->name);
  return found;
}

std::vector<std::string> candidates() {
  if (const std::string named = variable("NNC_NVRTC"); !named.empty()) return {named};
  std::vector<std::string> dirs;
  for (const std::string& d : folders("/usr/local", "cuda")) dirs.push_back(d + "/lib64");
  std::vector<std::string> pythons;
  if (const std::string venv = variable("VIRTUAL_ENV"); !venv.empty()) pythons.push_back(venv + "/lib");
  if (const std::string home = variable("HOME"); !home.empty()) {
    pythons.push_back(home + "/.local/lib");
    const std::string cache = variable("XDG_CACHE_HOME");
    pythons.push_back((cache.empty() ? home + "/.cache" : cache) + "/nnc-venv/lib");
  }
  pythons.push_back("/usr/local/lib");
  for (const std::string& p : pythons)
    for (const std::string& version : folders(p, "python3"))
      for (const char* site : {"/site-packages/nvidia", "/dist-packages/nvidia"})
        for (const std::string& wheel : folders(version + site, "cu")) dirs.push_back(wheel + "/lib");
  std::vector<std::string> out;
  for (const char* name : kNames)
    for (const std::string& d : dirs) out.push_back(d + "/" + name);
  for (const char* name : kNames) out.push_back(name);
  return out;
}

// NVRTC opens its builtins by their name alone, which the loader finds in a toolkit but not in Python's wheel. A library that is open
// already is found by that name wherever it lies.
void open_builtins(const Api& api) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(api.version), &info) == 0 || info.dli_fname == nullptr) return;
  const std::string_view path = info.dli_fname;
  const std::string beside = cat(path.substr(0, path.rfind('/') + 1), "libnvrtc-builtins.so.", api.major, ".", api.minor);
  if (path.starts_with('/')) dlopen(beside.c_str(), RTLD_LAZY | RTLD_LOCAL);  // where it is not, NVRTC's own message says so
}

Result<std::unique_ptr<Api>> open(const std::string& path, std::string* why) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* text = dlerror();
    *why = text ? text : "no reason given";
    return std::unique_ptr<Api>();
  }
  auto api = std::make_unique<Api>();
  api->path = path;
#define NNC_LOAD(member, symbol, parameters)                                     \
  api->member = reinterpret_cast<decltype(api->member)>(dlsym(handle, #symbol)); \
  if (!api->member) return Error(Code::kNoCompiler, cat(path, " has no " #symbol));
  NNC_NVRTC_FUNCTIONS(NNC_LOAD)
#undef NNC_LOAD
  if (api->version(&api->major, &api->minor) != kSuccess) return Error(Code::kNoCompiler, cat(path, " does not say which version it is"));
  if (api->major < kOldest)
    return Error(Code::kNoCompiler, cat(path, " is NVRTC ", api->major, ".", api->minor, ", needed is ", kOldest, " or newer"));
  open_builtins(*api);
  return api;
}

Result<std::unique_ptr<Api>> find(const std::string& path) {
  const std::vector<std::string> paths = path.empty() ? candidates() : std::vector<std::string>{path};
  std::string why;
  for (const std::string& p : paths) {
    NNC_ASSIGN(std::unique_ptr<Api> api, open(p, &why));
    if (api) return api;
  }
  Error e(Code::kNoCompiler, "NVRTC was not found, CUDA kernels cannot be compiled");
  std::string where = paths.size() == 1
                          ? paths[0] + " (" + why + ")"
                          : cat(kNames[0], ", ", kNames[1], " in /usr/local/cuda*/lib64, Python's nvidia wheels and the loader's path");
  return std::move(e)
      .with("  looked for: " + where)
      .with("  install:    apt-get install nvidia-cuda-toolkit, or pip install nvidia-cuda-nvrtc")
      .with("  or name it: NNC_NVRTC=/path/to/libnvrtc.so.13");
}

}  // namespace

Result<const Api*> load(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Api>> loaded;
  const std::lock_guard<std::mutex> lock(mutex);
  const std::string key = path.empty() ? variable("NNC_NVRTC") : path;
  if (const auto it = loaded.find(key); it != loaded.end()) return static_cast<const Api*>(it->second.get());
  NNC_ASSIGN(std::unique_ptr<Api> api, find(path));
  return static_cast<const Api*>((loaded[key] = std::move(api)).get());
}

}  // namespace nnc::nvrtc

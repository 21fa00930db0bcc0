#include "ir/support/xdg.h"

#include <cstdlib>

#include "ir/support/text.h"

namespace nnc {

namespace {

struct DirRow {
  const char* variable;
  std::string_view below_home;
  std::string_view what;
};
constexpr DirRow kDirs[] = {
    {"XDG_CONFIG_HOME", ".config", "configuration"},
    {"XDG_STATE_HOME", ".local/state", "state"},
    {"XDG_CACHE_HOME", ".cache", "cache"},
};

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool absolute(std::string_view path) { return !path.empty() && path.front() == '/'; }

std::string_view without_slash(std::string_view path) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return path;
}

}  // namespace

Result<std::string> user_dir(UserDir dir, std::string_view xdg_value, std::string_view home) {
  const DirRow& row = kDirs[static_cast<size_t>(dir)];
  if (absolute(xdg_value)) return cat(without_slash(xdg_value), "/nnc");
  if (absolute(home)) return cat(without_slash(home), "/", row.below_home, "/nnc");
  return Error(Code::kIo, cat("no folder for the user's ", row.what, ": neither ", row.variable, " nor HOME is an absolute path"))
      .with(cat("try: set ", row.variable, " to a folder that you own"));
}

Result<std::string> user_dir(UserDir dir) {
  return user_dir(dir, environment(kDirs[static_cast<size_t>(dir)].variable), environment("HOME"));
}

}  // namespace nnc

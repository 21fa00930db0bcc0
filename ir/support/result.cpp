#include "ir/support/result.h"

#include <atomic>
#include <cstdio>

#include "ir/support/check_hook.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

std::string describe(const Place& place) {
  std::string out;
  auto part = [&out](const auto&... args) {
    if (!out.empty()) out += ", ";
    append(out, args...);
  };
  if (!place.node.empty()) part("node ", quote(place.node));
  if (!place.op.empty()) part("op ", place.op);
  if (!place.value.empty()) part("value ", quote(place.value));
  if (!place.file.empty()) part("file ", quote(place.file));
  if (place.line > 0) {
    part("line ", place.line);
    if (place.column > 0) append(out, ":", place.column);
  } else if (place.offset >= 0) {
    part("byte ", place.offset);
  }
  return out;
}

}  // namespace

std::string code_name(Code code) { return cat("NNC-", static_cast<unsigned>(code)); }

int exit_code(Code code) {
  const int family = static_cast<int>(code) / 1000;
  return family == 9 ? 70 : family;
}

std::string Error::str() const {
  std::string out = cat(code_name(code), ": ", message);
  if (std::string where = describe(place); !where.empty()) append(out, "\n  at ", where);
  for (const std::string& line : context) append(out, "\n  ", line);
  return out;
}

namespace {
std::atomic<CheckHook> check_hook{nullptr};
}  // namespace

void set_check_hook(CheckHook hook) { check_hook.store(hook); }

void check_failed(const char* condition, const char* message, const char* file, int line) {
  std::fprintf(stderr, "nnc: internal error: %s (%s) at %s:%d\n", message, condition, file, line);
  std::fflush(stderr);
  // Taken away before the call: a check that fails in the hook only stops.
  if (const CheckHook hook = check_hook.exchange(nullptr); hook != nullptr)
    hook(cat(message, " (", condition, ") at ", file, ":", line).c_str());
  std::abort();
}

}  // namespace nnc

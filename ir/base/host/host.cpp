#include "ir/base/host/host.h"

#include <array>

namespace nnc {

namespace {
constexpr std::array kFunctions = {
    HostFunction{"non_zero", 1, 0, 1, host_non_zero},
    HostFunction{"resolve_reshape", 1, 1, 0, host_resolve_reshape},
};
}  // namespace

std::span<const HostFunction> host_functions() { return kFunctions; }

const HostFunction* find_host_function(std::string_view name) {
  for (const HostFunction& f : kFunctions)
    if (f.name == name) return &f;
  return nullptr;
}

}  // namespace nnc

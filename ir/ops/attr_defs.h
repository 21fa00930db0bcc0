#pragma once
// Short spellings of AttrDef for the rows in ir/ops. Nothing else needs them.

#include <string_view>

#include "ir/attr.h"

namespace nnc {

inline AttrDef attr_int(std::string_view name, int64_t fallback = 0) {
  return {.name = name, .kind = AttrKind::kInt, .int_default = fallback};
}
inline AttrDef attr_flag(std::string_view name) { return attr_int(name); }  // 0 or 1
inline AttrDef attr_float(std::string_view name, double fallback = 0) {
  return {.name = name, .kind = AttrKind::kFloat, .float_default = fallback};
}
inline AttrDef attr_string(std::string_view name, std::string_view fallback = {}) {
  return {.name = name, .kind = AttrKind::kString, .string_default = fallback};
}
// One of "a|b|c"; without a fallback it must be given.
inline AttrDef attr_choice(std::string_view name, std::string_view choices, std::string_view fallback = {}) {
  return {.name = name, .kind = AttrKind::kString, .required = fallback.empty(), .string_default = fallback, .choices = choices};
}
// Empty if not given.
inline AttrDef attr_list(std::string_view name, AttrKind kind) { return {.name = name, .kind = kind}; }
inline AttrDef attr_required(std::string_view name, AttrKind kind) { return {.name = name, .kind = kind, .required = true}; }

}  // namespace nnc

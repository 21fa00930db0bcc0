#pragma once
// Spellings that the printer and the reader of plan text share.

#include <array>
#include <string_view>

#include "ir/base/plan.h"

namespace nnc::plan_words {

inline constexpr int kVersion = 1;
inline constexpr std::array<std::string_view, 15> kSteps = {"launch", "library",     "copy",         "fill", "host",
                                                            "bind",   "assert_dims", "assert_value", "if",   "loop",
                                                            "switch", "fail",        "segment",      "room", "append"};
inline constexpr std::array<std::string_view, 4> kRels = {"eq", "ne", "le", "lt"};
// By PlanOperand::Space; the number follows: b3, a0, r1, c7, t2.
inline constexpr std::string_view kSpaces = "_barct";
inline constexpr std::array<std::string_view, 9> kSymOps = {"",          "floordiv", "mod",        "min",       "max",
                                                            "broadcast", "round",    "opaque_mul", "opaque_add"};
inline constexpr std::array<std::string_view, 3> kRounds = {"floor", "ceil", "even"};
inline constexpr int64_t kMaxTrips = int64_t(1) << 31;  // of a loop that says nothing

}  // namespace nnc::plan_words

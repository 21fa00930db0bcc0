#pragma once
// Words and spellings that the printer and the parser of IR text share.

#include <array>
#include <string>
#include <string_view>

#include "ir/base/dim.h"
#include "ir/support/text.h"

namespace nnc {

inline constexpr int kTextVersion = 1;

inline constexpr std::array<std::string_view, 9> kSymOpWords = {"",          "floordiv", "mod",        "min",       "max",
                                                                "broadcast", "round",    "opaque_mul", "opaque_add"};
inline std::string_view sym_op_word(SymOp op) { return kSymOpWords[static_cast<size_t>(op)]; }
inline constexpr std::array<std::string_view, 3> kRoundModes = {"floor", "ceil", "even"};

// Bounds that are not written.
struct SymbolBounds {
  int64_t lo, hi;
};
inline SymbolBounds default_bounds(SymKind kind) {
  return kind == SymKind::kData ? SymbolBounds{INT64_MIN, INT64_MAX} : SymbolBounds{0, kDimMax};
}

inline bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}
// Can stand in the text without quotes.
inline bool is_word(std::string_view s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9') || s[0] == '.') return false;
  for (char c : s) {
    if (!is_word_char(c)) return false;
  }
  return true;
}
inline std::string at_name(std::string_view name) { return cat("@", is_word(name) ? std::string(name) : quote(name)); }

}  // namespace nnc

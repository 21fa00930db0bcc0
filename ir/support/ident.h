#pragma once
// Where the names in generated source come from: a prefix written in our own source plus a counter. A prefix is a compile-time
// constant by type, so text of a model cannot become one.

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/support/text.h"

namespace nnc {

class IdentifierPrefix {
 public:
  // Lower-case letters, digits and '_'; begins with a letter, does not end with a digit (then two different pairs of prefix and
  // number never spell the same name), has no "__", and is not the stem of a type, function or macro such as `float4` or `y1`.
  consteval IdentifierPrefix(const char* text) : text_(text) {
    if (!well_formed(text_)) throw "not a prefix for identifiers";
  }
  constexpr std::string_view text() const { return text_; }

  static constexpr bool well_formed(std::string_view s) {
    if (s.empty() || !is_letter(s.front()) || is_digit(s.back())) return false;
    char previous = 0;
    for (const char c : s) {
      if (!is_letter(c) && !is_digit(c) && c != '_') return false;
      if (c == '_' && previous == '_') return false;
      previous = c;
    }
    for (const std::string_view taken : kTaken) {
      if (s == taken) return false;
    }
    return true;
  }

 private:
  static constexpr bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
  static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
  // Words that C++, its math library or CUDA follow with a number.
  static constexpr std::string_view kTaken[] = {
      "char", "uchar",     "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong", "float", "double", "dim",
      "half", "nv_bfloat", "wchar", "j",      "y",   "log",  "exp",  "atan",  "expm",     "log1p",     "norm",  "rnorm",
  };
  std::string_view text_;
};

// Hands out prefix0, prefix1, ... in one scope of generated source.
class IdentifierMaker {
 public:
  explicit IdentifierMaker(IdentifierPrefix prefix) : prefix_(prefix) {}
  std::string next() { return name(count_++); }
  // The name with that number, whether or not it was handed out.
  std::string name(uint64_t number) const { return cat(prefix_.text(), number); }
  uint64_t count() const { return count_; }

 private:
  IdentifierPrefix prefix_;
  uint64_t count_ = 0;
};

}  // namespace nnc

#pragma once
// Small text helpers: concatenation without streams, splitting, numbers in the C locale whatever the user's locale is.

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nnc {

namespace text_detail {
void append(std::string& out, std::string_view s);
void append(std::string& out, const char* s);
void append(std::string& out, char c);
void append(std::string& out, bool b);
void append(std::string& out, int v);
void append(std::string& out, unsigned v);
void append(std::string& out, long v);
void append(std::string& out, unsigned long v);
void append(std::string& out, long long v);
void append(std::string& out, unsigned long long v);
void append(std::string& out, double v);  // shortest form that reads back equal
void append(std::string& out, float v);
inline void append(std::string& out, const std::string& s) { append(out, std::string_view(s)); }
}  // namespace text_detail

// cat("node ", 3, " of ", name)
template <class... Args> std::string cat(const Args&... args) {
  std::string out;
  (text_detail::append(out, args), ...);
  return out;
}
template <class... Args> void append(std::string& out, const Args&... args) { (text_detail::append(out, args), ...); }

// join({"a", "b"}, ", "); with a function from element to text.
std::string join(std::span<const std::string> parts, std::string_view separator);
template <class Range, class F> std::string join(const Range& range, std::string_view separator, F&& f) {
  std::string out;
  bool first = true;
  for (const auto& item : range) {
    if (!first) out += separator;
    first = false;
    text_detail::append(out, f(item));
  }
  return out;
}
std::vector<std::string_view> split(std::string_view s, char separator);  // keeps empty parts
std::string_view trim(std::string_view s);
bool parse_int(std::string_view s, int64_t* out);    // whole string, decimal
bool parse_double(std::string_view s, double* out);  // whole string; inf, nan accepted
std::string hex(uint64_t value, int digits);
// A double-quoted string with \" \\ \n \t \xNN escapes, pure ASCII; `unquote` reads it back.
std::string quote(std::string_view s);
bool unquote(std::string_view s, std::string* out);
// Damerau-Levenshtein distance, capped at `cap` + 1; `nearest` gives the closest candidate within 2, or "".
int edit_distance(std::string_view a, std::string_view b, int cap);
std::string nearest(std::string_view word, std::span<const std::string> candidates);
// "1.2 MiB", "840 B".
std::string human_bytes(uint64_t bytes);

}  // namespace nnc

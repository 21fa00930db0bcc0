#include "ir/support/text.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>

namespace nnc {

namespace text_detail {

namespace {
template <class T> void append_number(std::string& out, T v) {
  std::array<char, 64> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  if (error == std::errc()) out.append(buffer.data(), end);
}
}  // namespace

void append(std::string& out, std::string_view s) { out.append(s); }
void append(std::string& out, const char* s) { out.append(s); }
void append(std::string& out, char c) { out.push_back(c); }
void append(std::string& out, bool b) { out.append(b ? "true" : "false"); }
void append(std::string& out, int v) { append_number(out, v); }
void append(std::string& out, unsigned v) { append_number(out, v); }
void append(std::string& out, long v) { append_number(out, v); }
void append(std::string& out, unsigned long v) { append_number(out, v); }
void append(std::string& out, long long v) { append_number(out, v); }
void append(std::string& out, unsigned long long v) { append_number(out, v); }
void append(std::string& out, double v) { append_number(out, v); }
void append(std::string& out, float v) { append_number(out, v); }

}  // namespace text_detail

namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

template <class T> bool parse_number(std::string_view s, T* out) {
  const char* end = s.data() + s.size();
  T value{};
  const auto [stop, error] = std::from_chars(s.data(), end, value);
  if (error != std::errc() || stop != end) return false;
  *out = value;
  return true;
}

}  // namespace

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return join(parts, separator, [](const std::string& part) -> const std::string& { return part; });
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = s.find(separator);
    parts.push_back(s.substr(0, at));
    if (at == std::string_view::npos) return parts;
    s.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r\n\f\v";
  const size_t first = s.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kBlank) - first + 1);
}

bool parse_int(std::string_view s, int64_t* out) { return parse_number(s, out); }
bool parse_double(std::string_view s, double* out) { return parse_number(s, out); }

std::string hex(uint64_t value, int digits) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) {
    const uint64_t digit = (value >> shift) & 15;
    if (digit != 0 || !out.empty() || shift / 4 < std::max(digits, 1)) out.push_back(kHexDigits[digit]);
  }
  return out;
}

std::string quote(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '\t') {
      out.append("\\t");
    } else if (byte < 0x20 || byte >= 0x7f) {
      out.append("\\x");
      out.push_back(kHexDigits[byte >> 4]);
      out.push_back(kHexDigits[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
  return out;
}

bool unquote(std::string_view s, std::string* out) {
  if (s.size() < 2 || s.front() != '"' || s.back() != '"') return false;
  s = s.substr(1, s.size() - 2);
  std::string text;
  for (size_t i = 0; i < s.size(); ++i) {
    const auto byte = static_cast<unsigned char>(s[i]);
    if (s[i] == '"' || byte < 0x20 || byte >= 0x7f) return false;
    if (s[i] != '\\') {
      text.push_back(s[i]);
      continue;
    }
    if (++i == s.size()) return false;
    switch (s[i]) {
      case '"':
      case '\\': text.push_back(s[i]); break;
      case 'n': text.push_back('\n'); break;
      case 't': text.push_back('\t'); break;
      case 'x': {
        if (s.size() - i < 3) return false;
        const int high = hex_value(s[i + 1]), low = hex_value(s[i + 2]);
        if (high < 0 || low < 0) return false;
        text.push_back(static_cast<char>(high * 16 + low));
        i += 2;
        break;
      }
      default: return false;
    }
  }
  *out = std::move(text);
  return true;
}

int edit_distance(std::string_view a, std::string_view b, int cap) {
  const auto rows = static_cast<int64_t>(a.size()), columns = static_cast<int64_t>(b.size());
  if (std::abs(rows - columns) > cap) return cap + 1;
  const int far = cap + 1;
  // Three rows of the table; only the cells at most `cap` off the diagonal can matter.
  std::vector<int> before(b.size() + 1, far), last(b.size() + 1, far), now(b.size() + 1, far);
  for (int64_t j = 0; j <= std::min<int64_t>(columns, cap); ++j) last[static_cast<size_t>(j)] = static_cast<int>(j);
  for (int64_t i = 1; i <= rows; ++i) {
    const int64_t from = std::max<int64_t>(0, i - cap), to = std::min<int64_t>(columns, i + cap);
    if (from > 0) now[static_cast<size_t>(from) - 1] = far;
    int best = far;
    for (int64_t j = from; j <= to; ++j) {
      const auto y = static_cast<size_t>(j), x = static_cast<size_t>(i);
      int cost = far;
      if (j == 0) {
        cost = static_cast<int>(i);
      } else {
        cost = std::min({last[y] + 1, now[y - 1] + 1, last[y - 1] + (a[x - 1] == b[y - 1] ? 0 : 1)});
        if (i > 1 && j > 1 && a[x - 1] == b[y - 2] && a[x - 2] == b[y - 1]) cost = std::min(cost, before[y - 2] + 1);
      }
      now[y] = std::min(cost, far);
      best = std::min(best, now[y]);
    }
    if (to < columns) now[static_cast<size_t>(to) + 1] = far;
    if (best == far) return far;
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  int best = 3;
  const std::string* found = nullptr;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(word, candidate, 2);
    // A distance as long as the words means nothing in common.
    if (distance >= best || static_cast<size_t>(distance) >= std::max(word.size(), candidate.size())) continue;
    best = distance;
    found = &candidate;
  }
  return found ? *found : std::string();
}

std::string human_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  if (bytes < 1024) return cat(bytes, kUnits[0]);
  size_t unit = 1;
  while (unit < 6 && (bytes >> (10 * (unit + 1))) != 0) ++unit;
  const auto rounded = [&](size_t u) {  // tenths of the unit
    const uint64_t rest = bytes & ((uint64_t{1} << (10 * u)) - 1);
    return (bytes >> (10 * u)) * 10 + ((rest * 10 + (uint64_t{1} << (10 * u - 1))) >> (10 * u));
  };
  uint64_t tenths = rounded(unit);
  if (tenths >= 10240 && unit < 6) tenths = rounded(++unit);
  return tenths % 10 == 0 ? cat(tenths / 10, kUnits[unit]) : cat(tenths / 10, ".", tenths % 10, kUnits[unit]);
}

}  // namespace nnc

#include "tests/golden/pattern.h"

#include <bitset>
#include <cctype>
#include <vector>

namespace nnc::golden {

namespace {

struct Atom {
  enum Kind { kSet, kBegin, kEnd, kRecall } kind = kSet;
  std::bitset<256> set;  // kSet: characters that match
  size_t least = 1, most = 1;
  std::string name;  // kBegin, kEnd, kRecall
};
using Atoms = std::vector<Atom>;
constexpr size_t kMany = SIZE_MAX;

std::bitset<256> chars_where(bool (*test)(int)) {
  std::bitset<256> set;
  for (int c = 0; c < 256; ++c) set[static_cast<size_t>(c)] = test(c);
  return set;
}
std::bitset<256> escaped(char c) {
  if (c == 'd') return chars_where([](int x) { return std::isdigit(x) != 0; });
  if (c == 'w') return chars_where([](int x) { return std::isalnum(x) != 0 || x == '_'; });
  if (c == 's') return chars_where([](int x) { return std::isspace(x) != 0; });
  std::bitset<256> set;
  set[static_cast<unsigned char>(c)] = true;
  return set;
}

// One class "[..]" from r[*at]; false if it does not close.
bool read_class(std::string_view r, size_t* at, std::bitset<256>* set) {
  size_t k = *at + 1;
  const bool negated = k < r.size() && r[k] == '^';
  if (negated) ++k;
  for (bool first = true; k < r.size() && (first || r[k] != ']'); first = false) {
    if (r[k] == '\\' && k + 1 < r.size()) {
      *set |= escaped(r[k + 1]);
      k += 2;
    } else if (k + 2 < r.size() && r[k + 1] == '-' && r[k + 2] != ']') {
      for (int c = static_cast<unsigned char>(r[k]); c <= static_cast<unsigned char>(r[k + 2]); ++c) set->set(static_cast<size_t>(c));
      k += 3;
    } else {
      set->set(static_cast<unsigned char>(r[k++]));
    }
  }
  if (k >= r.size()) return false;
  if (negated) set->flip();
  *at = k + 1;
  return true;
}

bool read_regex(std::string_view r, Atoms* out) {
  for (size_t k = 0; k < r.size();) {
    Atom a;
    if (r[k] == '[') {
      if (!read_class(r, &k, &a.set)) return false;
    } else if (r[k] == '\\' && k + 1 < r.size()) {
      a.set = escaped(r[k + 1]);
      k += 2;
    } else if (r[k] == '*' || r[k] == '+' || r[k] == '?') {
      return false;
    } else {
      if (r[k] == '.')
        a.set.set();
      else
        a.set.set(static_cast<unsigned char>(r[k]));
      ++k;
    }
    if (k < r.size() && (r[k] == '*' || r[k] == '+' || r[k] == '?')) {
      a.least = r[k] == '+' ? 1 : 0;
      a.most = r[k] == '?' ? 1 : kMany;
      ++k;
    }
    out->push_back(std::move(a));
  }
  return true;
}

// "NAME", "NAME:regex".
bool read_capture(std::string_view text, Atoms* out) {
  const size_t colon = text.find(':');
  Atom a;
  a.name = text.substr(0, colon);
  if (a.name.empty()) return false;
  a.kind = colon == std::string_view::npos ? Atom::kRecall : Atom::kBegin;
  out->push_back(a);
  if (a.kind == Atom::kRecall) return true;
  if (!read_regex(text.substr(colon + 1), out)) return false;
  a.kind = Atom::kEnd;
  out->push_back(a);
  return true;
}

// The end of "[[..", where its regex may hold "]" of a class: the last "]]" before the next "[[" or the end.
size_t capture_end(std::string_view p, size_t from) {
  size_t at = p.find("]]", from);
  while (at != std::string_view::npos && at + 2 < p.size() && p[at + 2] == ']') ++at;
  return at;
}

bool read_pattern(std::string_view p, Atoms* out) {
  for (size_t k = 0; k < p.size();) {
    if (p.substr(k).starts_with("{{")) {
      const size_t end = p.find("}}", k);
      if (end == std::string_view::npos || !read_regex(p.substr(k + 2, end - k - 2), out)) return false;
      k = end + 2;
    } else if (p.substr(k).starts_with("[[")) {
      const size_t end = capture_end(p, k);
      if (end == std::string_view::npos || !read_capture(p.substr(k + 2, end - k - 2), out)) return false;
      k = end + 2;
    } else {
      Atom a;
      if (std::isspace(static_cast<unsigned char>(p[k])) != 0) {
        a.set = escaped('s');
        a.most = kMany;
        while (k < p.size() && std::isspace(static_cast<unsigned char>(p[k])) != 0) ++k;
      } else {
        a.set.set(static_cast<unsigned char>(p[k++]));
      }
      out->push_back(std::move(a));
    }
  }
  return true;
}

// Backtracking, greedy.
class Matcher {
 public:
  Matcher(const Atoms& atoms, std::string_view line, Captures& captures) : atoms_(atoms), line_(line), captures_(captures) {}

  std::optional<size_t> at(size_t k, size_t pos) {
    if (k == atoms_.size()) return pos;
    const Atom& a = atoms_[k];
    if (a.kind == Atom::kRecall) {
      const auto it = captures_.find(a.name);
      if (it == captures_.end() || !line_.substr(pos).starts_with(it->second)) return std::nullopt;
      return at(k + 1, pos + it->second.size());
    }
    if (a.kind == Atom::kBegin) {
      begin_ = pos;
      return at(k + 1, pos);
    }
    if (a.kind == Atom::kEnd) {
      const size_t begin = begin_;
      const Captures saved = captures_;
      captures_[a.name] = line_.substr(begin, pos - begin);
      const std::optional<size_t> end = at(k + 1, pos);
      if (!end) captures_ = saved;
      begin_ = begin;
      return end;
    }
    size_t count = 0;
    while (count < a.most && pos + count < line_.size() && a.set[static_cast<unsigned char>(line_[pos + count])]) ++count;
    for (size_t n = count + 1; n-- > a.least;) {
      if (const std::optional<size_t> end = at(k + 1, pos + n)) return end;
    }
    return std::nullopt;
  }

 private:
  const Atoms& atoms_;
  std::string_view line_;
  Captures& captures_;
  size_t begin_ = 0;
};

}  // namespace

std::optional<Match> find(std::string_view pattern, std::string_view line, size_t from, Captures& captures) {
  Atoms atoms;
  if (!read_pattern(pattern, &atoms)) return std::nullopt;
  for (size_t begin = from; begin <= line.size(); ++begin) {
    if (const std::optional<size_t> end = Matcher(atoms, line, captures).at(0, begin)) return Match{begin, *end};
  }
  return std::nullopt;
}

std::string pattern_problem(std::string_view pattern) {
  Atoms atoms;
  return read_pattern(pattern, &atoms) ? std::string() : "a {{regex}} or [[NAME:regex]] of the pattern is broken: " + std::string(pattern);
}

}  // namespace nnc::golden

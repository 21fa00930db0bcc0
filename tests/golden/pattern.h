#pragma once
// Patterns of golden files: plain text in which blanks stand for any run of blanks, {{regex}} for what it matches, [[NAME:regex]] captures
// and [[NAME]] is what was captured. Regex here: . [a-z] [^a-z] \d \w \s, escapes, and * + ? after one of these.

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace nnc::golden {

using Captures = std::map<std::string, std::string>;

struct Match {
  size_t begin = 0, end = 0;
};

// The first place in `line`, at or after `from`, that the pattern matches; captures are added to `captures` then.
std::optional<Match> find(std::string_view pattern, std::string_view line, size_t from, Captures& captures);
// What is wrong with the pattern itself, or "".
std::string pattern_problem(std::string_view pattern);

}  // namespace nnc::golden

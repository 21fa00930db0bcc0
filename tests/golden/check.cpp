// Directives: found in the file, grouped by the graph that they follow, checked against the text of the same graph in the output.

#include "ir/support/text.h"
#include "tests/golden/pattern.h"
#include "tests/golden/runner.h"

namespace nnc::golden {

namespace {

struct Directive {
  std::string kind, pattern;
  int line = 0;
};
struct Group {
  int graph = -1;  // number of the graph it follows; -1: the whole output
  std::vector<Directive> directives;
};

bool starts_graph(std::string_view line) { return line.starts_with("graph ") || line.starts_with("entry "); }

std::vector<Group> directives_of(std::string_view file) {
  std::vector<Group> groups(1);
  int number = 0;
  for (std::string_view line : split(file, '\n')) {
    ++number;
    if (starts_graph(line)) groups.push_back({groups.back().graph + 1, {}});
    const std::string_view comment = trim(line);
    if (!comment.starts_with("//")) continue;
    const std::string_view text = trim(comment.substr(2));
    for (const char* kind : {"check", "next", "same", "not", "any-order"}) {
      const std::string head = cat(kind, ":");
      if (text.starts_with(head)) groups.back().directives.push_back({kind, std::string(trim(text.substr(head.size()))), number});
    }
  }
  return groups;
}

// The lines of one graph, or all lines.
std::vector<std::string_view> section(std::string_view output, int graph) {
  std::vector<std::string_view> lines;
  int at = -1;
  for (std::string_view line : split(output, '\n')) {
    if (starts_graph(line)) ++at;
    if (graph < 0 || at == graph) lines.push_back(line);
  }
  return lines;
}

class Checker {
 public:
  explicit Checker(std::vector<std::string_view> lines) : lines_(std::move(lines)) {}

  std::string run(const std::vector<Directive>& directives) {
    std::vector<const Directive*> never;
    for (size_t k = 0; k < directives.size(); ++k) {
      const Directive& d = directives[k];
      if (const std::string problem = pattern_problem(d.pattern); !problem.empty()) return fail(d, problem);
      if (d.kind == "not") {
        never.push_back(&d);
        continue;
      }
      const size_t from_line = line_, from_column = column_;
      if (d.kind == "any-order") {
        size_t end = k;
        while (end < directives.size() && directives[end].kind == "any-order") ++end;
        if (const std::string problem = any_order(std::span(directives).subspan(k, end - k)); !problem.empty()) return problem;
        k = end - 1;
      } else if (!step(d)) {
        return fail(d, d.kind == "check" ? "not found" : d.kind == "next" ? "not in the next line" : "not in the same line");
      }
      if (const std::string problem = forbid(never, from_line, from_column, begin_line_, begin_column_); !problem.empty()) return problem;
      never.clear();
    }
    return forbid(never, line_, column_, lines_.size(), 0);
  }

 private:
  bool match_in(const Directive& d, size_t line, size_t column) {
    if (line >= lines_.size()) return false;
    const std::optional<Match> m = find(d.pattern, lines_[line], column, captures_);
    if (!m) return false;
    begin_line_ = line;
    begin_column_ = m->begin;
    line_ = line;
    column_ = m->end;
    return true;
  }
  bool step(const Directive& d) {
    if (d.kind == "same") return match_in(d, line_, column_);
    if (d.kind == "next") return match_in(d, started() ? line_ + 1 : 0, 0);
    if (match_in(d, line_, column_)) return true;
    for (size_t line = line_ + 1; line < lines_.size(); ++line) {
      if (match_in(d, line, 0)) return true;
    }
    return false;
  }
  bool started() const { return line_ > 0 || column_ > 0; }

  // Each takes a line of its own after the last match; the last of these lines is where the search goes on.
  std::string any_order(std::span<const Directive> run) {
    const size_t first = started() ? line_ + 1 : 0;
    std::vector<uint8_t> taken(lines_.size());
    size_t last = line_, earliest = lines_.size();
    for (const Directive& d : run) {
      size_t line = first;
      while (line < lines_.size() && (taken[line] || !match_in(d, line, 0))) ++line;
      if (line >= lines_.size()) return fail(d, "in no line of its own");
      taken[line] = 1;
      last = std::max(last, line);
      earliest = std::min(earliest, line);
    }
    line_ = last;
    column_ = lines_[last].size();
    begin_line_ = earliest;
    begin_column_ = 0;
    return {};
  }

  std::string forbid(const std::vector<const Directive*>& never, size_t line, size_t column, size_t end_line, size_t end_column) {
    for (const Directive* d : never) {
      for (size_t k = line; k < lines_.size() && k <= end_line; ++k) {
        const std::string_view text = k == end_line ? lines_[k].substr(0, end_column) : lines_[k];
        Captures captures = captures_;
        if (find(d->pattern, text, k == line ? std::min(column, text.size()) : 0, captures)) return fail(*d, cat("found: ", trim(text)));
      }
    }
    return {};
  }

  std::string fail(const Directive& d, std::string_view what) const {
    std::string out = cat("line ", d.line, ": ", d.kind, ": ", d.pattern, "\n  ", what, "; searched from line ", line_ + 1, " of:\n");
    for (size_t k = 0; k < lines_.size(); ++k) append(out, k == line_ ? "> " : "  ", lines_[k], "\n");
    return out;
  }

  std::vector<std::string_view> lines_;
  Captures captures_;
  size_t line_ = 0, column_ = 0;              // end of the last match
  size_t begin_line_ = 0, begin_column_ = 0;  // its begin
};

}  // namespace

std::vector<std::string> check_output(std::string_view file, std::string_view output) {
  std::vector<std::string> problems;
  for (const Group& g : directives_of(file)) {
    if (g.directives.empty()) continue;
    if (std::string problem = Checker(section(output, g.graph)).run(g.directives); !problem.empty()) problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace nnc::golden

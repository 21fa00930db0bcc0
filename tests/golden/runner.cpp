#include "tests/golden/runner.h"

#include <algorithm>
#include <cstdio>

#include "ir/support/file.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"

namespace nnc::golden {

namespace {

constexpr std::string_view kPrecise = "\n// precise\n";

// "// error: text": on the line of the error, or, on a line of its own, for an error of whatever line.
struct Expected {
  int line = 0;
  std::string text;
};
std::vector<Expected> expected_errors(std::string_view file) {
  constexpr std::string_view kMark = "// error:";
  std::vector<Expected> all;
  int number = 0;
  for (std::string_view line : split(file, '\n')) {
    ++number;
    const size_t at = line.find(kMark);
    if (at == std::string_view::npos) continue;
    const bool alone = trim(line.substr(0, at)).empty();
    all.push_back({alone ? 0 : number, std::string(trim(line.substr(at + kMark.size())))});
  }
  return all;
}

// Every error must be expected and every expected one must occur.
std::vector<std::string> compare_errors(std::vector<Expected> expected, const std::vector<Expected>& got) {
  std::vector<std::string> problems;
  for (const Expected& g : got) {
    const auto it = std::find_if(expected.begin(), expected.end(), [&](const Expected& e) {
      return (e.line == 0 || e.line == g.line) && g.text.find(e.text) != std::string::npos;
    });
    if (it == expected.end())
      problems.push_back(cat("line ", g.line, ": unexpected error: ", g.text));
    else
      expected.erase(it);
  }
  for (const Expected& e : expected) problems.push_back(cat("line ", e.line, ": expected error did not occur: ", e.text));
  return problems;
}

int line_of(const ParseInfo& info, const Graph* graph, NodeId node) {
  for (const ParseInfo::Line& l : info.lines) {
    if (l.graph == graph && l.node == node) return l.line;
  }
  return 0;
}

// The command's output, or the errors that it ended in.
struct Outcome {
  std::string output;
  std::vector<Expected> errors;
};
Outcome run_command(std::string_view command, std::string_view file) {
  constexpr std::string_view kCuda = "opt --cuda ", kOpt = "opt --passes=";
  TargetFacts cuda;
  cuda.cpu = false;
  cuda.reads_rows = true;
  cuda.attention_width = 128;
  const bool for_cuda = command.starts_with(kCuda);
  const std::string plain = for_cuda ? cat("opt ", command.substr(kCuda.size())) : std::string(command);
  command = plain;
  Outcome out;
  ParseInfo info;
  Result<std::unique_ptr<Module>> parsed = parse_module(file, {}, &info);
  for (const TextProblem& p : info.problems) out.errors.push_back({p.line, p.message});
  if (!parsed.ok()) return out;
  Module& m = **parsed;
  if (command == "verify" || command.starts_with(kOpt)) {
    for (const Diagnostic& d : verify(m)) out.errors.push_back({line_of(info, d.graph, d.node), d.message});
    if (!out.errors.empty()) return out;
  }
  if (command.starts_with(kOpt)) {
    Status s = run_named_passes(m, command.substr(kOpt.size()), for_cuda ? &cuda : nullptr);
    if (s.ok()) s = verify_or_error(m);
    if (!s.ok()) out.errors.push_back({0, s.error().str()});
  } else if (command != "verify" && command != "parse") {
    out.errors.push_back({1, cat("unknown command ", quote(command), ": parse, verify or opt --passes=a,b expected")});
  }
  out.output = print_module(m);
  const Result<std::unique_ptr<Module>> again = parse_module(out.output);
  if (!again.ok())
    out.errors.push_back({0, cat("the output does not parse: ", again.error().str())});
  else if (print_module(**again) != out.output)
    out.errors.push_back({0, "the output prints differently when it is parsed and printed again"});
  return out;
}

std::string as_comment(std::string_view text) {
  std::string out;
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  for (std::string_view line : split(text, '\n')) append(out, line.empty() ? "//" : "// ", line, "\n");
  return out;
}

}  // namespace

std::vector<std::string> run_file(const std::string& path, bool bless) {
  constexpr int64_t kMostBytes = 1 << 20;
  const Result<Bytes> read = read_file(path, kMostBytes);
  if (!read.ok()) return {read.error().str()};
  const std::string file(text_of(*read));
  constexpr std::string_view kRun = "// run: ";
  if (!file.starts_with(kRun)) return {cat("the first line must be ", kRun, "COMMAND")};
  const std::string_view command = trim(std::string_view(file).substr(kRun.size(), file.find('\n') - kRun.size()));
  const size_t precise = file.find(kPrecise);
  const Outcome outcome = run_command(command, std::string_view(file).substr(0, precise));
  std::vector<std::string> problems = compare_errors(expected_errors(std::string_view(file).substr(0, precise)), outcome.errors);
  if (!problems.empty()) return problems;
  if (precise == std::string::npos) return check_output(file, outcome.output);
  const std::string expected = file.substr(precise + kPrecise.size()), got = as_comment(outcome.output);
  if (expected == got) return {};
  if (!bless) return {cat("the output differs from the text after '// precise' (NNC_BLESS=1 rewrites it); it is:\n", outcome.output)};
  Result<AtomicWriter> writer = AtomicWriter::create(path);
  Status written = writer.ok() ? writer->write(file.substr(0, precise + kPrecise.size()) + got) : Status(writer.error());
  if (written.ok()) written = writer->commit();
  if (!written.ok()) return {written.error().str()};
  return {};
}

}  // namespace nnc::golden

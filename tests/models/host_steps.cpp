#include "tests/models/host_steps.h"

#include <algorithm>
#include <array>

#include "ir/support/text.h"

namespace nnc::test {

namespace {

void count(const std::vector<Step>& steps, std::map<std::string, int>& out) {
  for (const Step& s : steps) {
    switch (s.kind) {
      case StepKind::kHost: ++out[s.fn]; break;
      case StepKind::kIf: ++out["if"]; break;
      case StepKind::kLoop: ++out["loop"]; break;
      case StepKind::kBind: ++out["bind"]; break;
      default: break;
    }
    count(s.body, out);
    count(s.orelse, out);
    for (const Alternative& a : s.alternatives) count(a.steps, out);
  }
}

}  // namespace

std::map<std::string, int> host_steps(const Program& program) {
  std::map<std::string, int> out;
  for (const PlanEntry& e : program.entries)
    for (const Segment& s : e.segments) count(s.steps, out);
  return out;
}

std::string host_steps_text(const std::map<std::string, int>& steps) {
  if (steps.empty()) return "none";
  return join(steps, " ", [](const auto& e) { return cat(e.first, " ", e.second); });
}

Status check_host_steps(const Program& program) {
  static constexpr std::array<std::string_view, 5> kAllowed = {"bind", "if", "loop", "non_zero", "resolve_reshape"};
  for (const auto& [kind, n] : host_steps(program))
    if (std::ranges::find(kAllowed, kind) == kAllowed.end())
      return Error(Code::kRequirement, cat(n, " steps of kind ", kind, " run on the host, where a kernel is wanted"));
  return {};
}

}  // namespace nnc::test

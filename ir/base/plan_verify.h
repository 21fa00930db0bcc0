#pragma once
// The second half of a program's verification, for who has its kernels at hand: what `verify_program` (plan.h) says about operands, and
// here what the kernels do with them. Both are needed before a program from outside runs; neither evaluates dims (the runtime compares
// extents with buffers at each binding).

#include <span>

#include "ir/base/plan.h"

namespace nnc {

// `kernels`: those of Program::kernels, in order. Arity and access of every launch; nothing writes an argument or a constant; every buffer
// is written before it is read, on every path; two operands share memory only where the kernel states the pair; states are written after
// the last check.
Status verify_launches(const Program& p, std::span<const Kernel> kernels);

// The segments of an entry by number, those of regions included: their steps, which are the entry's own, and the symbols that have values
// when they begin.
struct SegmentFacts {
  const std::vector<Step>* steps = nullptr;
  std::vector<uint8_t> known;  // by symbol
};
struct EntryFacts {
  std::vector<SegmentFacts> segments;
  std::vector<uint8_t> known;  // when the entry ends
};
Result<EntryFacts> entry_facts(const Program& p, const PlanEntry& e);

// Calls f(operand, is_written) for each operand of a step that is not a launch.
template <class F> void for_plain_operands(const Step& s, F&& f) {
  switch (s.kind) {
    case StepKind::kCopy:
      f(s.operands[0], false);
      f(s.operands[1], true);
      return;
    case StepKind::kFill: f(s.operands[0], true); return;
    case StepKind::kHost: {
      const size_t inputs = s.operands.size() - 1;  // host functions have one result
      for (size_t i = 0; i < s.operands.size(); ++i) f(s.operands[i], i >= inputs);
      return;
    }
    case StepKind::kAppend:
      f(s.operands[0], false);
      f(s.operands[1], true);
      return;
    case StepKind::kRoom: return;
    default:
      for (const PlanOperand& o : s.operands) f(o, false);
  }
}

}  // namespace nnc

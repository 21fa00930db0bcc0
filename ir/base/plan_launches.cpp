#include <algorithm>
#include <optional>
#include <set>

#include "ir/base/plan_verify.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

bool checks(const Kernel& k) {
  for (const Stmt& s : k.stmts)
    if (s.kind == StmtKind::kCheck) return true;
  return false;
}

class LaunchVerifier {
 public:
  LaunchVerifier(const Program& p, const PlanEntry& e, std::span<const Kernel> kernels, const std::vector<uint8_t>& checking)
      : p_(p), e_(e), kernels_(kernels), checking_(checking) {}

  Status run() {
    for (const Segment& s : e_.segments) NNC_TRY(steps(s.steps, 0));
    return {};
  }

 private:
  using Place = std::pair<PlanOperand::Space, uint32_t>;  // buffers by number
  // What holds something; after a `fail` nothing is reached, so anything may be read.
  struct Written {
    std::set<Place> places;
    bool unreached = false;
  };

  Error bad(const Step& s, std::string_view what) const {
    return Error(Code::kInvalidIr, cat("plan of entry @", e_.name, ": step ", s.number, ": ", what));
  }

  PlanOperand memory(PlanOperand o) const {
    while (o.space == PlanOperand::kBuffer && e_.buffers[o.index].alias_of >= 0)
      o.index = static_cast<uint32_t>(e_.buffers[o.index].alias_of);
    return o;
  }
  // A buffer holds something when it, or what it shares memory with, was written.
  Status reads(const Step& s, PlanOperand o) const {
    if ((o.space != PlanOperand::kBuffer && o.space != PlanOperand::kResult) || written_.unreached) return {};
    for (;;) {
      if (written_.places.count({o.space, o.index})) return {};
      if (o.space != PlanOperand::kBuffer || e_.buffers[o.index].alias_of < 0)
        return bad(s, cat(o.space == PlanOperand::kBuffer ? "buffer " : "result ", o.index, " is read before anything writes it"));
      o.index = static_cast<uint32_t>(e_.buffers[o.index].alias_of);
    }
  }
  Status writes(const Step& s, const PlanOperand& o, int depth) {
    if (o.space == PlanOperand::kArg || o.space == PlanOperand::kConstant || o.space == PlanOperand::kNone)
      return bad(s, "it writes what is not to be written");
    if (o.space == PlanOperand::kState) {
      if (depth > 0) return bad(s, "a state is written inside a region");
      state_written_ = true;
    }
    written_.places.insert({o.space, o.index});
    return {};
  }

  Status launch(const Step& s, int depth) {
    const Kernel& k = kernels_[s.kernel];
    if (s.operands.size() != k.param_count)
      return bad(s, cat(s.operands.size(), " operands for a kernel of ", k.param_count, " parameters"));
    if (s.dims.size() > k.symbols.size()) return bad(s, cat(s.dims.size(), " dims for a kernel of ", k.symbols.size(), " symbols"));
    if (state_written_ && checking_[s.kernel]) return bad(s, "it can fail after a state was written");
    for (uint32_t p = 0; p < k.param_count; ++p)
      if (k.buffers[BufId(p)].access == Access::kRead) NNC_TRY(reads(s, s.operands[p]));
    for (uint32_t p = 0; p < k.param_count; ++p) {
      if (k.buffers[BufId(p)].access == Access::kRead) {
        if (s.operands[p].space == PlanOperand::kNone) return bad(s, "a parameter has no operand");
        continue;
      }
      NNC_TRY(writes(s, s.operands[p], depth));
      for (uint32_t q = 0; q < k.param_count; ++q) {
        if (q == p || memory(s.operands[q]) != memory(s.operands[p])) continue;
        const InPlacePair pair{q, p};
        if (k.buffers[BufId(q)].access != Access::kRead) return bad(s, "two parameters that are written share memory");
        if (std::find(k.in_place.begin(), k.in_place.end(), pair) == k.in_place.end())
          return bad(s, cat("parameters ", q, " and ", p, " share memory, which the kernel does not state"));
      }
    }
    return {};
  }

  Status step(const Step& s, int depth) {
    switch (s.kind) {
      case StepKind::kLaunch: return launch(s, depth);
      case StepKind::kIf: {
        NNC_TRY(reads(s, s.operands[0]));
        const Written before = written_;
        NNC_TRY(steps(s.body, depth + 1));
        Written then = std::move(written_);
        written_ = before;
        NNC_TRY(steps(s.orelse, depth + 1));
        keep_common(then);
        return {};
      }
      case StepKind::kSwitch: {
        const Written before = written_;
        std::optional<Written> common;
        for (const Alternative& a : s.alternatives) {
          written_ = before;
          NNC_TRY(steps(a.steps, depth + 1));
          if (common) keep_common(*common);
          common = written_;
        }
        return {};
      }
      case StepKind::kLoop: return loop(s, depth);
      case StepKind::kSegment: return steps(s.body, depth);
      case StepKind::kRoom:
        // Of nothing, it holds all that it should.
        if (s.dims[0].is_const() && s.dims[0].constant() == 0)
          written_.places.insert({s.operands[0].space, s.operands[0].index});
        else
          written_.places.erase({s.operands[0].space, s.operands[0].index});
        return {};
      case StepKind::kFail: written_.unreached = true; return {};
      default: {
        Status status;
        for_plain_operands(s, [&](const PlanOperand& o, bool written) {
          if (status.ok()) status = written ? writes(s, o, depth) : reads(s, o);
        });
        return status;
      }
    }
  }
  void keep_common(const Written& other) {
    if (other.unreached) return;
    if (written_.unreached) {
      written_ = other;
    } else {
      std::erase_if(written_.places, [&](const Place& p) { return !other.places.count(p); });
    }
  }

  Status loop(const Step& s, int depth) {
    for (size_t i = 0; i < 2; ++i) NNC_TRY(reads(s, s.operands[i]));
    for (size_t i = 2; i < 4; ++i)
      if (s.operands[i].space != PlanOperand::kNone) NNC_TRY(writes(s, s.operands[i], depth));
    for (const Carry& c : s.carries) {
      NNC_TRY(reads(s, c.init));
      NNC_TRY(writes(s, c.current, depth));
    }
    const Written before = written_;
    NNC_TRY(steps(s.body, depth + 1));
    for (const Carry& c : s.carries) NNC_TRY(reads(s, c.next));
    for (const ScanOut& o : s.scans) NNC_TRY(reads(s, o.element));
    written_ = before;  // the body may not run at all
    for (const ScanOut& o : s.scans) NNC_TRY(writes(s, o.stacked, depth));
    return {};
  }

  Status steps(const std::vector<Step>& list, int depth) {
    for (const Step& s : list) NNC_TRY(step(s, depth));
    return {};
  }

  const Program& p_;
  const PlanEntry& e_;
  std::span<const Kernel> kernels_;
  const std::vector<uint8_t>& checking_;
  Written written_;
  bool state_written_ = false;
};

}  // namespace

Status verify_launches(const Program& p, std::span<const Kernel> kernels) {
  if (kernels.size() != p.kernels.size()) return Error(Code::kInternal, "as many kernels as the program has");
  std::vector<uint8_t> checking;
  for (const Kernel& k : kernels) checking.push_back(checks(k));
  for (const PlanEntry& e : p.entries) NNC_TRY(LaunchVerifier(p, e, kernels, checking).run());
  return {};
}

}  // namespace nnc

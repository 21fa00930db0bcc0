#include "tools/plan_facts.h"

#include <algorithm>

namespace nnc::tool {

namespace {

void visit_list(const std::vector<Step>& steps, const std::function<void(const Step&)>& visit) {
  for (const Step& s : steps) {
    visit(s);
    visit_list(s.body, visit);
    visit_list(s.orelse, visit);
    for (const Alternative& a : s.alternatives) visit_list(a.steps, visit);
  }
}

}  // namespace

void visit_steps(const PlanEntry& entry, const std::function<void(const Step&)>& visit) {
  for (const Segment& s : entry.segments) visit_list(s.steps, visit);
}

std::vector<bool> native_kernels(const CompiledProgram& compiled) {
  std::vector<bool> out(compiled.program.kernels.size());
  for (const NativeUnit& u : compiled.units)
    for (const uint32_t k : u.kernels) out[k] = !u.code.empty();
  return out;
}

CodeCounts count_steps(const Program& p, const std::vector<bool>& native) {
  CodeCounts n;
  for (const PlanEntry& e : p.entries) {
    visit_steps(e, [&](const Step& s) {
      if (s.kind == StepKind::kLaunch) ++(native[s.kernel] ? n.native : n.vm);
      if (s.kind == StepKind::kLibrary) ++n.library;
      if (s.kind == StepKind::kHost) ++n.host;
    });
  }
  return n;
}

Result<PackedSegment> pack_segment(const Program& p, const PlanEntry& e, uint32_t segment) {
  // Aliases are resolved to what owns the memory; owners of other segments bring none here.
  PackedSegment out;
  std::vector<int32_t> at(e.buffers.size(), -1);
  for (uint32_t b = 0; b < e.buffers.size(); ++b) {
    const PlanBuffer& buffer = e.buffers[b];
    if (buffer.segment != segment) continue;
    if (buffer.alias_of >= 0 && at[static_cast<size_t>(buffer.alias_of)] < 0) continue;
    at[b] = static_cast<int32_t>(out.sized.size());
    const int64_t bytes = std::max<int64_t>(0, p.symbols.typical(buffer.bytes));
    out.buffers.push_back(b);
    out.sized.push_back(
        {bytes, buffer.align, buffer.first, buffer.last, buffer.alias_of >= 0 ? at[static_cast<size_t>(buffer.alias_of)] : -1});
  }
  NNC_ASSIGN(out.packing, pack_buffers(out.sized));
  return out;
}

Result<PlanMemory> plan_memory(const Program& p) {
  PlanMemory out;
  for (const PlanEntry& e : p.entries) {
    PlanMemory entry;
    for (const PlanBuffer& b : e.buffers)
      if (b.is_room()) {
        const int64_t bytes = std::max<int64_t>(0, p.symbols.typical(b.bytes));
        for (int64_t* sum : {&entry.peak, &entry.lower_bound, &entry.unplanned}) *sum += bytes;
      }
    for (uint32_t s = 0; s < segment_count(e); ++s) {
      NNC_ASSIGN(const PackedSegment packed, pack_segment(p, e, s));
      for (const SizedBuffer& b : packed.sized)
        if (b.alias_of < 0) entry.unplanned += b.bytes;
      entry.peak += packed.packing.peak;
      entry.lower_bound += packed.packing.lower_bound;
    }
    if (entry.peak >= out.peak) out = entry;
  }
  return out;
}

}  // namespace nnc::tool

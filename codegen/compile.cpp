#include "codegen/compile.h"

#include "codegen/cuda/nvrtc.h"
#include "codegen/emit.h"
#include "ir/support/parallel.h"
#include "ir/support/text.h"

namespace nnc {

TargetFacts target_facts(const Target& t) {
  TargetFacts f;
  f.name = t.name;
  f.cpu = t.is_cpu();
  f.reads_rows = t.is_cuda();
  if (t.is_cuda()) f.attention_width = 128;  // tiles of q, k and v lie in shared memory
  f.lanes_f32 = t.lanes(4);
  return f;
}

Status simplify_module(Module& module, const CompileOptions& options) {
  if (options.level == 0) return {};
  return run_simplify(module, options.pipeline);
}

namespace {
void report(const CompileOptions& o, std::string_view phase, std::string_view detail) {
  if (o.progress) o.progress(phase, detail);
}

// Units of a fixed number of kernels, their sources by `emit`.
using Emit = std::function<std::string(const std::vector<std::pair<const Kernel*, std::string>>&)>;
void make_units(CompiledProgram& out, const std::vector<Kernel>& kernels, const Emit& emit) {
  out.units.resize((kernels.size() + kKernelsPerUnit - 1) / kKernelsPerUnit);
  parallel_for(out.units.size(), [&](size_t u) {
    std::vector<std::pair<const Kernel*, std::string>> part;
    for (size_t k = u * kKernelsPerUnit; k < std::min(kernels.size(), (u + 1) * kKernelsPerUnit); ++k) {
      part.push_back({&kernels[k], kernels[k].name});
      out.units[u].kernels.push_back(static_cast<uint32_t>(k));
    }
    out.units[u].source = emit(part);
  });
}

Status build_host_code(CompiledProgram& out, const Target& host, const CompileOptions& options) {
  std::vector<CompileUnit> units;
  for (const NativeUnit& u : out.units) units.push_back({u.source});
  NNC_ASSIGN(std::vector<Bytes> code, compile_cpu_units(units, host, options.host));
  for (size_t u = 0; u < code.size(); ++u) out.units[u].code = std::move(code[u]);
  return {};
}

Status build_code(CompiledProgram& out, const std::vector<Kernel>& kernels, const Target& target, const CompileOptions& options) {
  switch (target.kind) {
    case TargetKind::kVm: return {};
    case TargetKind::kCpu: make_units(out, kernels, [&](const auto& part) { return emit_cpu_unit(part, target); }); break;
    case TargetKind::kCuda: make_units(out, kernels, [&](const auto& part) { return emit_cuda_unit(part, target); }); break;
    case TargetKind::kCudaEmu:
      make_units(out, kernels, [&](const auto& part) { return emit_cuda_unit(part, target, {.emulate = true, .header = true}); });
      break;
  }
  report(options, "kernels", cat(kernels.size(), " in ", out.units.size(), " units"));
  if (target.kind == TargetKind::kCpu) return build_host_code(out, target, options);
  if (target.kind == TargetKind::kCudaEmu) {
    // The emulator's kernels run on any machine that the project supports.
    NNC_ASSIGN(const Target host, parse_target("cpu:x86-64-v3"));
    return build_host_code(out, host, options);
  }
  NvrtcOptions nvrtc;
  nvrtc.use_cache = options.host.use_cache;
  for (NativeUnit& u : out.units) {
    NNC_ASSIGN(CudaCode code, compile_cuda(u.source, target.sm, nvrtc));
    u.code = std::move(code.code);
  }
  return {};
}
}  // namespace

Result<CompiledProgram> compile_for_target(const Module& module, const Target& target, const CompileOptions& options) {
  // Asked while there is other work, since the answer takes a process; `compile_cpu_units` finds it known.
  PieceQueue asked;
  if (options.native && (target.kind == TargetKind::kCpu || target.kind == TargetKind::kCudaEmu))
    asked.add([&] { (void)host_compiler_version(options.host); });
  CompiledProgram out;
  out.module = module.clone();
  PipelineOptions pipeline = options.pipeline;
  pipeline.level = options.level;
  NNC_TRY(run_optimize(*out.module, target_facts(target), pipeline));
  LowerOptions lower;
  lower.league = options.league;
  NNC_ASSIGN(PlannedProgram planned, plan_module(*out.module, target, lower));
  report(options, "fuse", join(planned.skeletons, ", ", [](const auto& s) { return cat(s.second, " ", s.first); }));
  const size_t entries = planned.program.entries.size();
  report(options, "plan", cat(planned.kernels.size(), " distinct kernels, ", entries, entries == 1 ? " entry" : " entries"));
  out.program = std::move(planned.program);
  out.constants = std::move(planned.constants);
  out.skeletons = std::move(planned.skeletons);
  if (options.native) NNC_TRY(build_code(out, planned.kernels, target, options));
  return out;
}

}  // namespace nnc

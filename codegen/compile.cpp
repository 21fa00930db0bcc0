#include "codegen/compile.h"

#include "codegen/emit.h"
#include "ir/support/text.h"

namespace nnc {

TargetFacts target_facts(const Target& t) {
  TargetFacts f;
  f.name = t.name;
  f.cpu = t.is_cpu();
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

Status build_cpu_code(CompiledProgram& out, const std::vector<Kernel>& kernels, const Target& target, const CompileOptions& options) {
  std::vector<CompileUnit> units;
  for (size_t first = 0; first < kernels.size(); first += kKernelsPerUnit) {
    std::vector<std::pair<const Kernel*, std::string>> part;
    NativeUnit unit;
    for (size_t k = first; k < std::min(kernels.size(), first + kKernelsPerUnit); ++k) {
      part.push_back({&kernels[k], kernels[k].name});
      unit.kernels.push_back(static_cast<uint32_t>(k));
    }
    unit.source = emit_cpu_unit(part, target);
    units.push_back({unit.source});
    out.units.push_back(std::move(unit));
  }
  report(options, "kernels", cat(kernels.size(), " in ", units.size(), " units"));
  NNC_ASSIGN(std::vector<Bytes> code, compile_cpu_units(units, target, options.host));
  for (size_t u = 0; u < code.size(); ++u) out.units[u].code = std::move(code[u]);
  return {};
}
}  // namespace

Result<CompiledProgram> compile_for_target(const Module& module, const Target& target, const CompileOptions& options) {
  CompiledProgram out;
  out.module = module.clone();
  PipelineOptions pipeline = options.pipeline;
  pipeline.level = options.level;
  NNC_TRY(run_optimize(*out.module, target_facts(target), pipeline));
  LowerOptions lower;
  lower.league = options.league;
  NNC_ASSIGN(PlannedProgram planned, plan_module(*out.module, target, lower));
  report(options, "plan", cat(planned.kernels.size(), " kernels"));
  out.program = std::move(planned.program);
  out.constants = std::move(planned.constants);
  out.skeletons = std::move(planned.skeletons);
  if (target.kind == TargetKind::kCpu && options.native) NNC_TRY(build_cpu_code(out, planned.kernels, target, options));
  return out;
}

}  // namespace nnc

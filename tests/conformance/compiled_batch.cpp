#include "tests/conformance/compiled_batch.h"

#include "codegen/cuda/nvrtc.h"
#include "codegen/emit.h"
#include "codegen/emu_device/device.h"
#include "runtime/cpu_device.h"

namespace nnc::test {

Result<CompiledBatch> CompiledBatch::create(const std::string& target, int threads, size_t kernels_of_unit) {
  CompiledBatch b;
  b.kernels_of_unit_ = kernels_of_unit;
  NNC_ASSIGN(b.target_, parse_target(target));
  if (b.target_.kind == TargetKind::kCuda) return b;
  if (b.target_.kind == TargetKind::kCudaEmu) {
    b.device_ = make_emu_device();
    return b;
  }
  ThreadPoolOptions pool;
  pool.threads = threads;
  NNC_ASSIGN(b.device_, make_cpu_device(pool));
  return b;
}

Result<size_t> CompiledBatch::add(Module& module, int level) {
  CompileOptions options;
  options.level = level;
  options.native = false;
  NNC_TRY(simplify_module(module, options));
  NNC_ASSIGN(CompiledProgram program, compile_for_target(module, target_, options));
  if (target_.kind != TargetKind::kVm)
    for (const PlanKernel& k : program.program.kernels) {
      if (code_.count(k.name) || waiting_.count(k.name)) continue;
      NNC_ASSIGN(Kernel kernel, parse_kernel(k.text));
      waiting_.emplace(k.name, std::move(kernel));
    }
  programs_.push_back(std::move(program));
  return programs_.size() - 1;
}

Result<std::vector<Bytes>> CompiledBatch::compile(const std::vector<CompileUnit>& sources) const {
  if (target_.kind == TargetKind::kCuda) {
    std::vector<Bytes> code;
    for (const CompileUnit& u : sources) {
      NNC_ASSIGN(CudaCode c, compile_cuda(u.source, target_.sm));
      code.push_back(std::move(c.code));
    }
    return code;
  }
  Target host = target_;
  if (target_.kind == TargetKind::kCudaEmu) { NNC_ASSIGN(host, parse_target("cpu:x86-64-v3")); }
  return compile_cpu_units(sources, host);
}

Status CompiledBatch::build() {
  std::vector<CompileUnit> sources;
  std::vector<Unit> fresh;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    std::vector<std::pair<const Kernel*, std::string>> part;
    Unit unit;
    for (; it != waiting_.end() && part.size() < kernels_of_unit_; ++it) {
      part.push_back({&it->second, it->first});
      unit.kernels.push_back(it->first);
    }
    switch (target_.kind) {
      case TargetKind::kCudaEmu: sources.push_back({emit_cuda_unit(part, target_, {.emulate = true, .header = true})}); break;
      case TargetKind::kCuda: sources.push_back({emit_cuda_unit(part, target_)}); break;
      default: sources.push_back({emit_cpu_unit(part, target_)}); break;
    }
    fresh.push_back(std::move(unit));
  }
  waiting_.clear();
  NNC_ASSIGN(std::vector<Bytes> code, compile(sources));
  for (size_t u = 0; u < fresh.size(); ++u) {
    fresh[u].code = std::move(code[u]);
    for (const std::string& name : fresh[u].kernels) code_[name] = units_.size();
    units_.push_back(std::move(fresh[u]));
  }
  return {};
}

Result<std::unique_ptr<Session>> CompiledBatch::session(size_t module, bool interpreted) const {
  const CompiledProgram& compiled = programs_[module];
  std::vector<Tensor> constants;
  for (const ConstId id : compiled.constants) constants.push_back(compiled.module->constant(id));
  std::map<size_t, std::vector<uint32_t>> by_unit;
  for (uint32_t k = 0; k < compiled.program.kernels.size(); ++k)
    if (const auto it = code_.find(compiled.program.kernels[k].name); it != code_.end()) by_unit[it->second].push_back(k);
  std::vector<ExecutableUnit> units;
  if (interpreted) by_unit.clear();
  for (const auto& [u, kernels] : by_unit) units.push_back({kernels, units_[u].code});
  NNC_ASSIGN(std::shared_ptr<const Executable> executable, Executable::create(device_, compiled.program, std::move(constants), units));
  return Session::create(executable);
}

}  // namespace nnc::test

#pragma once
// The compiler's driver: a module in, for each target a program with its code out. What `nnc compile`, `nnc run MODEL` and the C++ facade
// call.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/host_compiler.h"
#include "codegen/planner.h"
#include "passes/pipeline.h"

namespace nnc {

// Native code of a program: one blob per unit, each with the kernels it defines (indices into Program::kernels).
struct NativeUnit {
  std::vector<uint32_t> kernels;
  std::string source;  // kept for `dump`; not part of artifacts
  Bytes code;          // shared object, cubin or PTX; empty for cpu:vm
};
struct CompiledProgram {
  Program program;
  std::vector<NativeUnit> units;
  std::vector<ConstId> constants;  // per Program::constants, into `module`
  std::shared_ptr<Module> module;  // the optimised module: owner of the constants
  std::map<std::string, int> skeletons;
};
struct CompileOptions {
  int level = 2;
  League league = League::kStrict;
  HostCompilerOptions host;
  bool native = true;  // false: no compiler is run, kernels are interpreted
  PipelineOptions pipeline;
  std::function<void(std::string_view phase, std::string_view detail)> progress;
};
inline constexpr size_t kKernelsPerUnit = 6;  // fixed, so that bytes and cache entries are the same on every machine

// Runs the portable passes in place.
Status simplify_module(Module& module, const CompileOptions& options = {});
// Optimises a copy of `module` for the target, plans, emits and compiles.
Result<CompiledProgram> compile_for_target(const Module& module, const Target& target, const CompileOptions& options = {});
TargetFacts target_facts(const Target& target);

}  // namespace nnc

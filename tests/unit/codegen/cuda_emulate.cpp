#include "tests/unit/codegen/cuda_emulate.h"

#include <gtest/gtest.h>

#include "codegen/emit.h"
#include "codegen/host_compiler.h"
#include "ir/support/text.h"

namespace nnc::test {

Result<std::unique_ptr<EmuModule>> compile_emulated(const std::vector<Kernel>& kernels, int sm) {
  NNC_ASSIGN(const Target target, parse_target(cat("cuda-emu:sm_", sm)));
  NNC_ASSIGN(const Target host, parse_target("cpu:x86-64-v3"));
  std::vector<std::pair<const Kernel*, std::string>> unit;
  std::vector<std::string> names;
  for (const Kernel& k : kernels) {
    names.push_back(cat("k", names.size()));
    unit.push_back({&k, names.back()});
  }
  NNC_ASSIGN(const std::vector<Bytes> code, compile_cpu_units({{emit_cuda_unit(unit, target, {.emulate = true})}}, host));
  return EmuModule::load(code[0], names);
}

bool EmuRun::found(EmuFault f) const {
  for (const EmuReport& r : reports)
    if (r.fault == f) return true;
  return false;
}
std::string EmuRun::text() const {
  return join(reports, "\n", [](const EmuReport& r) { return r.text; });
}

EmuRun run_emulated(const EmuKernel& k, const Kernel& kernel, std::vector<EmuBuffer> buffers, const std::vector<int64_t>& dims,
                    const EmuOptions& options) {
  EmuRun run;
  auto grid = grid_extents(kernel, dims);
  EXPECT_TRUE(grid.ok()) << grid.error().str();
  auto reports = emu_launch(k, buffers, dims, (*grid)[0] * (*grid)[1] * (*grid)[2], &run.failure, options);
  EXPECT_TRUE(reports.ok()) << reports.error().str();
  if (reports.ok()) run.reports = std::move(*reports);
  return run;
}

}  // namespace nnc::test

#pragma once
// Many small modules compiled at once: their kernels share compilation units, so that the host compiler starts once for dozens of tests and
// not once for each. For test programs; `nnc compile` does one module.

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "runtime/session.h"

namespace nnc::test {

class CompiledBatch {
 public:
  // Units of `kernels_of_unit` kernels each. A target `cuda:sm_NN` is compiled by NVRTC and cannot be run.
  static Result<CompiledBatch> create(const std::string& target, int threads = 1, size_t kernels_of_unit = 40);

  // Simplifies and compiles `module` up to its kernels; the number is what `session` takes.
  Result<size_t> add(Module& module, int level = 2);
  // Native code of every distinct kernel added since the last call; nothing to do for cpu:vm.
  Status build();
  // Interpreted: the same kernels without their native code.
  Result<std::unique_ptr<Session>> session(size_t module, bool interpreted = false) const;
  const CompiledProgram& program(size_t module) const { return programs_[module]; }

 private:
  struct Unit {
    std::vector<std::string> kernels;
    Bytes code;
  };
  Result<std::vector<Bytes>> compile(const std::vector<CompileUnit>& sources) const;
  Target target_;
  size_t kernels_of_unit_ = 40;
  std::shared_ptr<Device> device_;
  std::vector<CompiledProgram> programs_;
  std::map<std::string, size_t> code_;  // unit by the kernel's name
  std::vector<Unit> units_;
  std::map<std::string, Kernel> waiting_;
};

}  // namespace nnc::test

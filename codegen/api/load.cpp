#include "codegen/api/load.h"

namespace nnc {

Result<std::shared_ptr<const Executable>> load_compiled(const CompiledProgram& compiled, std::shared_ptr<Device> device) {
  std::vector<Tensor> constants;
  for (ConstId id : compiled.constants) constants.push_back(compiled.module->constant(id));
  std::vector<ExecutableUnit> units;
  for (const NativeUnit& u : compiled.units) units.push_back({u.kernels, u.code});
  return Executable::create(std::move(device), compiled.program, std::move(constants), units);
}

}  // namespace nnc

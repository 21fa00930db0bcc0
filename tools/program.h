#pragma once
// From a model file to a session: import, simplify, compile and load, with the flags that steer them and the screen of phases. What run,
// bench and compile share.

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "runtime/session.h"
#include "tools/inputs.h"
#include "tools/model.h"

namespace nnc::tool {

struct BuildOptions {
  std::vector<Target> targets;  // in the order given
  CompileOptions compile;
};
// `fallback`: the targets when no --target is given.
Result<BuildOptions> build_options(const Arguments& a, std::string_view fallback);

// Wall clock since it was made or taken last.
class Stopwatch {
 public:
  Stopwatch();
  double take();

 private:
  int64_t start_;
};

struct PhaseTimes {
  double import = 0, simplify = 0, optimize = 0, plan = 0, kernels = 0, load = 0;
};

// Import and simplify, with their lines on the screen.
Result<std::unique_ptr<Module>> prepare_module(const ModelFile& model, const ModelOptions& options, const BuildOptions& build,
                                               const std::map<std::string, Tensor>& given, Console& console, PhaseTimes* times);
// The code for one target, with its lines on the screen.
Result<CompiledProgram> compile_module(const Module& module, const Target& target, const BuildOptions& build, Console& console,
                                       PhaseTimes* times);

Result<std::shared_ptr<Device>> make_device(const Arguments& a, int threads);
// "12 native cpu · 1 host".
std::string counts_text(const CodeCounts& n, std::string_view device);

// Why --require native does not hold, or ok.
Status check_requirements(const Arguments& a, const Executable& executable);

// Everything that `run` and `bench` need to call a model. Kept together because the session refers to the rest.
struct Prepared {
  ModelFile model;
  ModelOptions options;
  GivenInputs given;
  std::shared_ptr<const Executable> executable;
  PhaseTimes times;
  std::string target, entry;
  std::vector<Tensor> arguments;  // in the entry's order
};
struct PrepareRequest {
  int threads = 0;                           // 0: as --threads or the machine says
  std::map<std::string, int64_t> dims = {};  // over --dim
};
Result<Prepared> prepare(const Arguments& a, Console& console, const PrepareRequest& request = {});

// --target eval, or eval:f64: the reference interpreter instead of a compiled program.
bool wants_interpreter(const Arguments& a);
struct Evaluated {
  Prepared prepared;                 // without an executable
  std::vector<NamedTensor> outputs;  // of eval:f64, floats are f64
  double seconds = 0;
};
Result<Evaluated> evaluate(const Arguments& a, Console& console);

// --threads of commands that take one number.
Result<int> threads_from(const Arguments& a);

}  // namespace nnc::tool

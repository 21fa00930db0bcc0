// nnc as an engine of the paired harness: `bench_nnc MODEL IN.npz --target T --threads N [--dim NAME=SIZE ...]` compiles the model and
// serves (engine.h). The first line says what compiling and loading took and what kinds of steps there are.

#include <cstdio>
#include <cstdlib>
#include <map>

#include "codegen/api/load.h"
#include "frontend/onnx/importer.h"
#include "runtime/cpu_device.h"
#include "runtime/session.h"
#include "tests/bench/engine.h"

namespace nnc::bench {

namespace {

struct Options {
  std::vector<std::string> files;  // model, inputs
  std::string target = "cpu";
  int threads = 1;
  ImportOptions import;
};

Options parse(int argc, char** argv) {
  Options o;
  o.import.profiles.emplace_back();
  for (int k = 1; k < argc; ++k) {
    const std::string a = argv[k];
    if (a.substr(0, 2) != "--") {
      o.files.push_back(a);
      continue;
    }
    if (k + 1 == argc) fail(a + " takes a value");
    const std::string value = argv[++k];
    if (a == "--target") {
      o.target = value;
    } else if (a == "--threads") {
      o.threads = std::atoi(value.c_str());
    } else if (a == "--dim") {
      const size_t equals = value.find('=');
      o.import.profiles[0].dims[value.substr(0, equals)] = DimSpec::size(std::atoll(value.c_str() + equals + 1));
    } else {
      fail("unknown option " + a);
    }
  }
  if (o.files.size() != 2) fail("usage: bench_nnc MODEL IN.npz [--target T] [--threads N] [--dim NAME=SIZE ...]");
  return o;
}

int serve_nnc(int argc, char** argv) {
  const Options o = parse(argc, argv);
  const double begin = now();
  auto module = must(import_onnx_file(o.files[0], o.import));
  must(simplify_module(*module));
  const CompiledProgram compiled = must(compile_for_target(*module, must(parse_target(o.target))));
  const double compiled_at = now();
  ThreadPoolOptions pool;
  pool.threads = o.threads;
  auto executable = must(load_compiled(compiled, must(make_cpu_device(pool))));
  auto session = must(Session::create(executable));

  std::map<std::string, Tensor> given;
  for (NamedTensor& n : read_inputs(o.files[1])) given[n.name] = std::move(n.tensor);
  std::vector<Tensor> args;
  const PlanEntry& entry = executable->program().entries.front();
  for (const PlanArg& a : entry.args) args.push_back(given.at(a.name));
  std::vector<Tensor> results = must(session->run(entry.name, args));
  std::vector<InputView> inputs;
  std::vector<OutputView> outputs;
  inputs.reserve(args.size());
  outputs.reserve(results.size());
  for (const Tensor& a : args) inputs.push_back({a.dtype(), a.dims(), a.data(), static_cast<int64_t>(a.bytes())});
  for (Tensor& r : results) outputs.push_back({r.data(), static_cast<int64_t>(r.bytes()), DType::kInvalid, 0, {}, 0});
  const CodeCounts counts = executable->counts();
  std::printf("{\"compile\": %.4f, \"load\": %.4f, \"native\": %lld, \"vm\": %lld, \"host\": %lld, \"kernels\": %zu}\n",
              compiled_at - begin, now() - compiled_at, static_cast<long long>(counts.native), static_cast<long long>(counts.vm),
              static_cast<long long>(counts.host), compiled.program.kernels.size());
  std::fflush(stdout);
  serve([&] { must(session->run(entry.name, inputs, outputs)); },
        [&] {
          std::vector<NamedTensor> named;
          for (size_t r = 0; r < results.size(); ++r) named.push_back({entry.results[r].name, results[r]});
          return named;
        });
  return 0;
}

}  // namespace

}  // namespace nnc::bench

int main(int argc, char** argv) { return nnc::bench::serve_nnc(argc, argv); }

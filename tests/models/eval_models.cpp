// Runs the stored cases of the model pack through importer, verifier and reference interpreter and compares with the stored answers: the
// program that shows that models mean in the IR what they mean in ONNX Runtime. `eval_models [MODEL ...] [--target T] [--threads N]
// [--level N] [--steps N] [--import-only] [--text]`; no MODEL: all; with a target (cpu, cpu:vm, ...) the models are compiled and run by the
// runtime instead of interpreted. One module holds all profiles of a model. `--file M.onnx --in X.npz --expect Y.npz [--dim NAME=LO..HI
// ...]` runs any one. Exit code 1 if one differs.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/api/load.h"
#include "frontend/onnx/importer.h"
#include "ir/base/tensor_io.h"
#include "ir/eval.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "runtime/cpu_device.h"
#include "runtime/session.h"
#include "tests/json.h"

namespace {

using namespace nnc;
using test::Json;

constexpr int64_t kMaxFile = int64_t(4) << 30;

template <class T> T must(Result<T> r, std::string_view what) {
  if (r.ok()) return std::move(r).value();
  std::fprintf(stderr, "%s: %s\n", std::string(what).c_str(), r.error().str().c_str());
  std::exit(2);
}

std::map<std::string, Tensor> read_tensors(const std::string& path) {
  const Bytes bytes = must(read_file(path, kMaxFile), path);
  Budget budget;
  std::map<std::string, Tensor> out;
  for (NamedTensor& t : must(read_npz({bytes, path}, budget), path)) out[t.name] = std::move(t.tensor);
  return out;
}

Tensor number_as(double v, DType dtype) {
  Tensor t(dtype, {});
  store_f64(dtype, t.data(), 0, v);
  return t;
}

ImportProfile read_profile(const std::string& name, const Json& j, const OnnxInterface& interface) {
  ImportProfile p;
  p.name = name;
  for (const auto& [dim, spec] : j["dims"].fields) {
    if (spec.kind == Json::Kind::kNumber) {
      p.dims[dim] = DimSpec::size(static_cast<int64_t>(spec.number));
    } else {
      p.dims[dim] = {static_cast<int64_t>(spec["min"].num()), static_cast<int64_t>(spec["max"].num(static_cast<double>(kDimMax))),
                     static_cast<int64_t>(spec["typical"].num()), static_cast<int64_t>(spec["multiple"].num(1))};
    }
  }
  for (const auto& [input, value] : j["values"].fields) {
    for (const OnnxArg& a : interface.inputs) {
      if (a.name == input) p.values[input] = number_as(value.num(), a.dtype);
    }
  }
  return p;
}

// |got - want| <= atol + rtol |want|; the largest difference in *worst.
bool close(const Tensor& got, const Tensor& want, double rtol, double atol, double* worst) {
  if (got.dims() != want.dims() || got.dtype() != want.dtype()) return false;
  bool ok = true;
  for (int64_t i = 0; i < want.count(); ++i) {
    const double a = got.f64(i), b = want.f64(i), d = std::fabs(a - b);
    if (!(d <= atol + rtol * std::fabs(b))) ok = false;
    if (!(d <= *worst)) *worst = d;
  }
  return ok;
}

Tensor step_of(const Tensor& all, int64_t step) {
  std::vector<int64_t> dims(all.dims().begin() + 1, all.dims().end());
  Tensor t(all.dtype(), dims);
  std::memcpy(t.data(), static_cast<const uint8_t*>(all.data()) + static_cast<size_t>(step) * t.bytes(), t.bytes());
  return t;
}

struct Options {
  int64_t steps = INT64_MAX;
  bool import_only = false, text = false;
  std::string file, in, expect, target;
  int threads = 1, level = 2;
  std::map<std::string, DimSpec> dims;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// How an entry is run: by the interpreter, or compiled.
using Runner = std::function<Result<std::vector<Tensor>>(std::string_view, std::span<const Tensor>)>;

Result<Runner> make_runner(const std::string& name, Module& module, const Options& options) {
  if (options.target.empty()) {
    return Runner([&module](std::string_view entry, std::span<const Tensor> args) {
      Interpreter interpreter(module);
      return interpreter.run_entry(entry, args);
    });
  }
  CompileOptions c;
  c.level = options.level;
  const auto start = std::chrono::steady_clock::now();
  NNC_TRY(simplify_module(module, c));
  NNC_ASSIGN(const Target target, parse_target(options.target));
  NNC_ASSIGN(const CompiledProgram compiled, compile_for_target(module, target, c));
  ThreadPoolOptions threads;
  threads.threads = options.threads;
  NNC_ASSIGN(std::shared_ptr<Device> device, make_cpu_device(threads));
  NNC_ASSIGN(std::shared_ptr<const Executable> executable, load_compiled(compiled, device));
  const CodeCounts n = executable->counts();
  std::string skeletons;
  for (const auto& [skeleton, count] : compiled.skeletons) skeletons += cat(" ", skeleton, " ", count);
  std::printf("      %-24s compiled in %.2f s: %zu kernels, %lld native steps, %lld vm, %lld host;%s\n", name.c_str(), seconds_since(start),
              compiled.program.kernels.size(), static_cast<long long>(n.native), static_cast<long long>(n.vm),
              static_cast<long long>(n.host), skeletons.c_str());
  NNC_ASSIGN(std::unique_ptr<Session> session, Session::create(executable));
  std::shared_ptr<Session> shared = std::move(session);
  return Runner([shared](std::string_view entry, std::span<const Tensor> args) { return shared->run(entry, args); });
}

bool run_case(const Module& module, const Runner& run, const std::string& root, const Json& c, const Options& options,
              std::string* figures) {
  const auto inputs = read_tensors(cat(root, "/", c["in"].text)), answers = read_tensors(cat(root, "/", c["out"].text));
  const bool stream = c["kind"].text == "stream";
  const int64_t steps = stream ? std::min(options.steps, static_cast<int64_t>(c["steps"].num())) : 1;
  std::map<std::string, bool> per_step;
  for (const Json& j : c["per_step"].items) per_step[j.text] = true;
  std::map<std::string, Tensor> carried;
  double worst = 0;
  bool ok = true;
  const Entry& entry = *module.entries.front();
  for (int64_t s = 0; s < steps; ++s) {
    std::vector<Tensor> args;
    for (const ArgBinding& a : entry.args) {
      if (const auto found = carried.find(a.name); found != carried.end())
        args.push_back(found->second);
      else
        args.push_back(per_step[a.name] ? step_of(inputs.at(a.name), s) : inputs.at(a.name));
    }
    auto results = run(entry.name, args);
    if (!results.ok()) {
      *figures = cat("step ", s, ": ", results.error().str());
      return false;
    }
    for (size_t k = 0; k < entry.results.size(); ++k) {
      const Tensor& want = answers.at(entry.results[k].name);
      ok &= close((*results)[k], stream ? step_of(want, s) : want, c["rtol"].num(), c["atol"].num(), &worst);
    }
    for (const auto& [from, to] : c["carry"].fields) {
      for (size_t k = 0; k < entry.results.size(); ++k) {
        if (entry.results[k].name == from) carried[to.text] = (*results)[k];
      }
    }
  }
  *figures = cat("max difference ", worst, steps > 1 ? cat(" over ", steps, " steps") : std::string());
  return ok;
}

// What of a module waits for the host or binds data while it runs.
std::string host_facts(const Module& m) {
  size_t binds = 0, branches = 0, data = 0;
  const Graph& g = *m.entries.front()->graph;
  for (const NodeId id : g.order()) {
    const OpKind k = g.node(id).kind;
    binds += k == OpKind::kBindDims || k == OpKind::kNonZero || k == OpKind::kResolveReshape;
    branches += k == OpKind::kIf || k == OpKind::kLoop;
  }
  for (uint32_t s = 0; s < m.symbols.size(); ++s) data += m.symbols[SymbolId(s)].kind == SymKind::kData;
  return cat(binds, " data-bound dims, ", branches, " branches and loops, ", data, " data symbols");
}

std::unique_ptr<Module> import_and_verify(const std::string& name, const std::string& path, size_t nodes, const ImportOptions& import,
                                          const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  auto module = import_onnx_file(path, import);
  if (!module.ok()) {
    std::printf("FAIL  %-24s import: %s\n", name.c_str(), module.error().str().c_str());
    return nullptr;
  }
  const double seconds = seconds_since(start);
  std::printf("      %-24s %zu nodes -> %zu, %zu entries, %s, %.3f s\n", name.c_str(), nodes,
              (*module)->entries.front()->graph->node_count(), (*module)->entries.size(), host_facts(**module).c_str(), seconds);
  if (options.text) std::fputs(print_module(**module).c_str(), stdout);
  if (const Status s = verify_or_error(**module); !s.ok()) {
    std::printf("FAIL  %-24s verifier: %s\n", name.c_str(), s.error().str().c_str());
    return nullptr;
  }
  return std::move(*module);
}

// One model with its inputs and answers: `--file M.onnx --in X.npz --expect Y.npz [--dim NAME=LO..HI ...]`.
int run_file(const Options& options) {
  const Bytes file = must(read_file(options.file, kMaxFile), options.file);
  const OnnxInterface interface = must(read_onnx_interface(file), options.file);
  ImportOptions import;
  import.profiles = {{ "", options.dims, {} }};
  const auto module = import_and_verify(options.file, options.file, interface.nodes, import, options);
  if (module == nullptr) return 1;
  if (options.in.empty()) return 0;
  const auto inputs = read_tensors(options.in), answers = read_tensors(options.expect);
  std::vector<Tensor> args;
  const Entry& entry = *module->entries.front();
  for (const ArgBinding& a : entry.args) args.push_back(inputs.at(a.name));
  Interpreter interpreter(*module);
  const auto results = must(interpreter.run_entry(entry.name, args), options.file);
  bool ok = true;
  for (size_t k = 0; k < entry.results.size(); ++k) {
    double worst = 0;
    const bool good = close(results[k], answers.at(entry.results[k].name), 1e-3, 1e-4, &worst);
    std::printf("%s  %s  max difference %g\n", good ? "pass" : "FAIL", entry.results[k].name.c_str(), worst);
    ok &= good;
  }
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::string> wanted;
  for (int k = 1; k < argc; ++k) {
    const std::string arg = argv[k];
    if (arg == "--steps" && k + 1 < argc)
      options.steps = std::atoll(argv[++k]);
    else if (arg == "--import-only")
      options.import_only = true;
    else if (arg == "--text")
      options.text = true;
    else if (arg == "--target" && k + 1 < argc)
      options.target = argv[++k];
    else if (arg == "--threads" && k + 1 < argc)
      options.threads = std::atoi(argv[++k]);
    else if (arg == "--level" && k + 1 < argc)
      options.level = std::atoi(argv[++k]);
    else if (arg == "--file" && k + 1 < argc)
      options.file = argv[++k];
    else if (arg == "--in" && k + 1 < argc)
      options.in = argv[++k];
    else if (arg == "--expect" && k + 1 < argc)
      options.expect = argv[++k];
    else if (arg == "--dim" && k + 1 < argc) {
      const std::string spec = argv[++k];
      const size_t equals = spec.find('='), dots = spec.find("..");
      DimSpec& d = options.dims[spec.substr(0, equals)];
      d.lo = std::atoll(spec.c_str() + equals + 1);
      d.hi = dots == std::string::npos ? d.lo : std::atoll(spec.c_str() + dots + 2);
    } else
      wanted.push_back(arg);
  }
  if (!options.file.empty()) return run_file(options);
  const char* source = std::getenv("NNC_SOURCE_DIR");
  const char* cache = std::getenv("NNC_MODEL_CACHE");
  if (cache == nullptr) {
    std::fprintf(stderr, "NNC_MODEL_CACHE must name the folder of the models (tests/models/prepare.py)\n");
    return 2;
  }
  const std::string root = cat(source != nullptr ? source : ".", "/tests/models");
  const Bytes bytes = must(read_file(root + "/models.json", kMaxFile), "models.json");
  const Json pack = test::JsonReader(text_of(bytes)).read();
  int failed = 0, run = 0;
  for (const auto& [name, model] : pack["models"].fields) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    const std::string path = cat(cache, "/", model["onnx"].text);
    const Bytes file = must(read_file(path, kMaxFile), path);
    const OnnxInterface interface = must(read_onnx_interface(file), path);
    ImportOptions import;
    for (const auto& [profile, spec] : model["profiles"].fields) import.profiles.push_back(read_profile(profile, spec, interface));
    const auto module = import_and_verify(name, path, interface.nodes, import, options);
    if (module == nullptr) ++failed;
    if (module == nullptr || options.import_only) continue;
    const auto runner = make_runner(name, *module, options);
    if (!runner.ok()) {
      std::printf("FAIL  %-24s compile: %s\n", name.c_str(), runner.error().str().c_str());
      ++failed;
      continue;
    }
    for (const auto& [label, c] : model["cases"].fields) {
      const auto start = std::chrono::steady_clock::now();
      std::string figures;
      const bool ok = run_case(*module, *runner, root, c, options, &figures);
      std::printf("%s  %-24s %-16s %s (%.1f s)\n", ok ? "pass" : "FAIL", name.c_str(), label.c_str(), figures.c_str(),
                  seconds_since(start));
      std::fflush(stdout);
      failed += !ok;
      ++run;
    }
  }
  std::printf("%d cases, %d failed\n", run, failed);
  return failed == 0 ? 0 : 1;
}

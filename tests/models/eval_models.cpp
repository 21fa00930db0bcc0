// Runs the stored cases of the model pack through importer, verifier and reference interpreter and compares with the stored answers: the
// program that shows that models mean in the IR what they mean in ONNX Runtime. `eval_models [MODEL ...] [--target T] [--threads N]
// [--level N] [--steps N] [--pack F.json] [--save DIR] [--import-only] [--text]`; no MODEL: all. T is `eval` (the default), `eval:f64`
// (floats stay f64 between ops, and results are f64), or a target that the models are compiled for and run on by the runtime. One module
// holds all profiles of a model. --pack: other cases than those stored; --save: outputs are written, not compared. `--file M.onnx --in
// X.npz
// --expect Y.npz [--dim NAME=LO..HI ...]` runs any one. Exit code 1 if one differs.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/api/load.h"
#include "codegen/emu_device/device.h"
#include "frontend/onnx/importer.h"
#include "ir/eval.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "runtime/cpu_device.h"
#include "runtime/session.h"
#include "tests/models/host_steps.h"
#include "tests/models/pack.h"

namespace {

using namespace nnc;
using namespace nnc::test;

constexpr int64_t kMaxFile = int64_t(4) << 30;

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

struct Options {
  CaseOptions cases;
  bool import_only = false, text = false;
  std::string file, in, expect, target = "eval", pack;
  int threads = 1, level = 2;
  std::map<std::string, DimSpec> dims;
};

Result<std::shared_ptr<Device>> device_for(const Target& target, int threads) {
  if (target.kind == TargetKind::kCudaEmu) return make_emu_device();
  ThreadPoolOptions pool;
  pool.threads = threads;
  return make_cpu_device(pool);
}

// How the first entry is run: by the interpreter, or compiled.
Result<Runner> make_runner(const std::string& name, Module& module, const Options& options) {
  const std::string entry = module.entries.front()->name;
  if (options.target.starts_with("eval")) {
    EvalOptions eval;
    eval.anchored = options.target == "eval:f64";
    if (!eval.anchored && options.target != "eval") return Error(Code::kUsage, cat("unknown target ", quote(options.target)));
    // One interpreter for all runs: it keeps the constants on their carriers.
    const auto interpreter = std::make_shared<Interpreter>(module, eval);
    return Runner([interpreter, entry](std::span<const Tensor> args) { return interpreter->run_entry(entry, args); });
  }
  CompileOptions c;
  c.level = options.level;
  const auto start = std::chrono::steady_clock::now();
  NNC_TRY(simplify_module(module, c));
  NNC_ASSIGN(const Target target, parse_target(options.target));
  NNC_ASSIGN(const CompiledProgram compiled, compile_for_target(module, target, c));
  const double seconds = seconds_since(start);
  const auto loading = std::chrono::steady_clock::now();
  NNC_ASSIGN(std::shared_ptr<Device> device, device_for(target, options.threads));
  NNC_ASSIGN(std::shared_ptr<const Executable> executable, load_compiled(compiled, device));
  const CodeCounts n = executable->counts();
  std::string skeletons;
  for (const auto& [skeleton, count] : compiled.skeletons) skeletons += cat(" ", skeleton, " ", count);
  std::printf("      %-24s compiled in %.2f s, loaded in %.2f s: %zu kernels, %lld native steps, %lld vm, host %s;%s\n", name.c_str(),
              seconds, seconds_since(loading), compiled.program.kernels.size(), static_cast<long long>(n.native),
              static_cast<long long>(n.vm), host_steps_text(host_steps(compiled.program)).c_str(), skeletons.c_str());
  NNC_TRY(check_host_steps(compiled.program));
  NNC_ASSIGN(std::unique_ptr<Session> session, Session::create(executable));
  std::shared_ptr<Session> shared = std::move(session);
  return Runner([shared, entry](std::span<const Tensor> args) { return shared->run(entry, args); });
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

bool report(const std::string& name, const std::string& label, const Outcome& outcome, double seconds) {
  std::printf("%s  %-24s %-16s %s (%.1f s)\n", outcome.ok ? "pass" : "FAIL", name.c_str(), label.c_str(), outcome.figures.c_str(), seconds);
  std::fflush(stdout);
  return outcome.ok;
}

Signature signature_of(const Module& module) {
  Signature s;
  for (const ArgBinding& a : module.entries.front()->args) s.args.push_back(a.name);
  for (const auto& r : module.entries.front()->results) s.results.push_back(r.name);
  return s;
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
  const Runner runner = must(make_runner(options.file, *module, options), options.file);
  const auto text = [](std::string t) {
    Json j;
    j.kind = Json::Kind::kString;
    j.text = std::move(t);
    return j;
  };
  const auto number = [](double v) {
    Json j;
    j.kind = Json::Kind::kNumber;
    j.number = v;
    return j;
  };
  Json c;
  c.fields = {{"in", text(options.in)}, {"out", text(options.expect)}, {"rtol", number(1e-3)}, {"atol", number(1e-4)}};
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run_case({}, options.file, "", c, signature_of(*module), runner, options.cases);
  return report(options.file, "", outcome, seconds_since(start)) ? 0 : 1;
}

// The cases of one model that ran, and how many of them failed.
struct Tally {
  int run = 0, failed = 0;
};
void run_model(const Pack& pack, const std::string& name, const Json& model, const Options& options, Tally* tally) {
  const std::string path = pack.model_path(model);
  const Bytes file = must(read_file(path, kMaxFile), path);
  const OnnxInterface interface = must(read_onnx_interface(file), path);
  ImportOptions import;
  for (const auto& [profile, spec] : model["profiles"].fields) import.profiles.push_back(read_profile(profile, spec, interface));
  const auto module = import_and_verify(name, path, interface.nodes, import, options);
  if (module == nullptr) ++tally->failed;
  if (module == nullptr || options.import_only) return;
  const auto runner = make_runner(name, *module, options);
  if (!runner.ok()) {
    std::printf("FAIL  %-24s compile: %s\n", name.c_str(), runner.error().str().c_str());
    ++tally->failed;
    return;
  }
  for (const auto& [label, c] : model["cases"].fields) {
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = run_case(pack, name, label, c, signature_of(*module), *runner, options.cases);
    tally->failed += !report(name, label, outcome, seconds_since(start));
    ++tally->run;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::string> wanted;
  const std::map<std::string, std::string*> texts = {{"--target", &options.target},   {"--file", &options.file},
                                                     {"--in", &options.in},           {"--expect", &options.expect},
                                                     {"--save", &options.cases.save}, {"--pack", &options.pack}};
  const std::map<std::string, int*> numbers = {{"--threads", &options.threads}, {"--level", &options.level}};
  for (int k = 1; k < argc; ++k) {
    const std::string arg = argv[k];
    const bool more = k + 1 < argc;
    if (more && texts.contains(arg))
      *texts.at(arg) = argv[++k];
    else if (more && numbers.contains(arg))
      *numbers.at(arg) = std::atoi(argv[++k]);
    else if (arg == "--steps" && more)
      options.cases.steps = std::atoll(argv[++k]);
    else if (arg == "--import-only")
      options.import_only = true;
    else if (arg == "--text")
      options.text = true;
    else if (arg == "--dim" && more) {
      const std::string spec = argv[++k];
      const size_t equals = spec.find('='), dots = spec.find("..");
      DimSpec& d = options.dims[spec.substr(0, equals)];
      d.lo = std::atoll(spec.c_str() + equals + 1);
      d.hi = dots == std::string::npos ? d.lo : std::atoll(spec.c_str() + dots + 2);
    } else
      wanted.push_back(arg);
  }
  if (!options.file.empty()) return run_file(options);
  const Pack pack = read_pack(options.pack);
  Tally tally;
  for (const auto& [name, model] : pack.json["models"].fields)
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) run_model(pack, name, model, options, &tally);
  std::printf("%d cases, %d failed\n", tally.run, tally.failed);
  return tally.failed == 0 && tally.run > 0 ? 0 : 1;
}

#include "tools/program.h"

#include <algorithm>
#include <chrono>

#include "codegen/api/device.h"
#include "codegen/api/load.h"
#include "ir/base/cpu_features.h"
#include "ir/eval.h"
#include "ir/support/text.h"
#include "runtime/thread_pool.h"
#include "tools/command.h"
#include "tools/interrupt.h"

namespace nnc::tool {

namespace {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

size_t nodes_of(const Module& m) {
  size_t n = 0;
  for (const auto& e : m.entries) n += e->graph->node_count();
  return n;
}

std::string opset_text(const OnnxInterface& m) {
  const auto found = m.opsets.find("");
  return found == m.opsets.end() ? std::string("no opset") : cat("opset ", found->second);
}

std::string base_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

int64_t weight_bytes(const Module& m) {
  int64_t n = 0;
  for (uint32_t c = 0; c < m.constant_count(); ++c) n += static_cast<int64_t>(m.constant(ConstId(c)).bytes());
  return n;
}

}  // namespace

Stopwatch::Stopwatch() : start_(now_ns()) {}

double Stopwatch::take() {
  const int64_t now = now_ns(), passed = now - start_;
  start_ = now;
  return static_cast<double>(passed) * 1e-9;
}

Result<BuildOptions> build_options(const Arguments& a, std::string_view fallback) {
  BuildOptions out;
  std::string list;
  for (const std::string& t : a.all("target")) append(list, list.empty() ? "" : ",", t);
  NNC_ASSIGN(out.targets, parse_targets(list.empty() ? fallback : std::string_view(list)));
  NNC_ASSIGN(const int64_t level, a.integer("level", 2, 0, 2));
  out.compile.level = static_cast<int>(level);
  out.compile.pipeline.level = out.compile.level;
  out.compile.league = a.text("league", "strict") == "fast" ? League::kFast : League::kStrict;
  out.compile.host.use_cache = !a.has("no-cache");
  NNC_ASSIGN(out.compile.pipeline.limits, limits_from(a));
  return out;
}

Result<std::unique_ptr<Module>> prepare_module(const ModelFile& model, const ModelOptions& options, const BuildOptions& build,
                                               const std::map<std::string, Tensor>& given, Console& console, PhaseTimes* times) {
  Stopwatch watch;
  NNC_ASSIGN(auto module, import_model(model, options, given, console));
  times->import = watch.take();
  const size_t imported = nodes_of(*module);
  console.phase("import", base_name(model.path),
                cat(opset_text(model.onnx), ", ", model.onnx.nodes, " nodes, ", human_bytes(static_cast<uint64_t>(weight_bytes(*module))),
                    " of weights"),
                times->import);
  std::map<std::string, int64_t> changes;
  console.begin("simplify", base_name(model.path));
  CompileOptions compile = build.compile;
  compile.pipeline.after_each = [&changes](const PassReport& r, const Module&) { changes[r.name] += r.changes; };
  NNC_TRY(simplify_module(*module, compile));
  times->simplify = watch.take();
  std::string detail;
  for (const auto& [name, n] : changes)
    if (n > 0) append(detail, detail.empty() ? "" : ", ", name, " ", n);
  console.phase("simplify", cat(imported, " -> ", nodes_of(*module)), compile.level == 0 ? std::string("-O0: as imported") : detail,
                times->simplify);
  return module;
}

Result<CompiledProgram> compile_module(const Module& module, const Target& target, const BuildOptions& build, Console& console,
                                       PhaseTimes* times) {
  Stopwatch watch;
  CompileOptions compile = build.compile;
  const size_t before = nodes_of(module);
  size_t groups = 0;
  std::string kernels;
  double optimize = 0;
  compile.pipeline.after_each = [&](const PassReport&, const Module& m) {
    optimize += watch.take();
    groups = nodes_of(m);
  };
  compile.progress = [&](std::string_view phase, std::string_view detail) {
    if (phase == "fuse") {
      times->optimize += optimize;
      console.phase("fuse", cat(before, " -> ", groups), detail, optimize);
    } else if (phase == "plan") {
      const double plan = watch.take();
      times->plan += plan;
      console.phase("plan", target.name, detail, plan);
    } else {
      kernels = detail;
      console.begin("kernels", target.name);
    }
  };
  compile.host.progress = [&console](size_t done, size_t total) {
    console.advance(static_cast<int64_t>(done), static_cast<int64_t>(total));
  };
  compile.host.cancelled = interrupted;
  const FinishesUnits finishes;
  console.begin("optimize", target.name);
  NNC_ASSIGN(CompiledProgram out, compile_for_target(module, target, compile));
  if (interrupted()) return Error(Code::kLimit, "the compilation was cancelled");
  const double native = watch.take();
  if (!out.units.empty()) console.phase("kernels", target.name, kernels, native);
  times->kernels += native;
  return out;
}

Result<int> threads_from(const Arguments& a) {
  NNC_ASSIGN(const int64_t n, a.integer("threads", 0, 0, ThreadPool::kMaxThreads));
  return static_cast<int>(n);
}

Result<std::shared_ptr<Device>> make_device(const Arguments& a, int threads) {
  ThreadPoolOptions pool;
  pool.threads = threads;
  return open_device(a.text("device", "cpu"), pool);
}

std::string counts_text(const CodeCounts& n, std::string_view device) {
  std::string out;
  auto part = [&out](int64_t count, std::string_view what) {
    if (count > 0) append(out, out.empty() ? "" : " · ", count, " ", what);
  };
  part(n.native, cat("native ", device));
  part(n.library, "library");
  part(n.vm, "vm");
  part(n.host, "host");
  return out.empty() ? "none" : out;
}

Status check_requirements(const Arguments& a, const Executable& executable) {
  if (!a.has("require")) return {};
  return executable.require_native();
}

namespace {

// The module of a model file; then the inputs that nobody gave.
Result<std::unique_ptr<Module>> module_and_inputs(Console& console, const BuildOptions& build, int64_t seed, Prepared* out,
                                                  Budget& budget) {
  const Interface& interface = out->model.interface;
  // Values of random inputs wait for the module, which knows how large an index may be; their sizes do not.
  const std::map<std::string, int64_t> sizes = typical_sizes(out->options.dims);
  GivenInputs shaped = out->given;
  Console quiet(Terminal{[](std::string_view) {}, [](std::string_view) {}});
  NNC_TRY(make_inputs(shaped, interface, sizes, {}, static_cast<uint64_t>(seed), quiet, budget));
  NNC_ASSIGN(auto module, prepare_module(out->model, out->options, build, shaped.tensors(), console, &out->times));
  NNC_TRY(make_inputs(out->given, interface, sizes, index_limits(*module), static_cast<uint64_t>(seed), console, budget));
  return module;
}

// What files and flags give, before anything is compiled.
Result<Prepared> prepare_given(const Arguments& a, Console& console, const PrepareRequest& request, Budget& budget) {
  Prepared out;
  NNC_ASSIGN(out.model, open_model(a.positionals[0], a, budget.limits()));
  NNC_ASSIGN(out.options, model_options(a, out.model.interface, true));
  for (const auto& [name, size] : request.dims) out.options.dims[name] = DimSpec::size(size);
  NNC_ASSIGN(out.given, read_inputs(a, out.model.interface, console, budget));
  if (a.has("expect")) { NNC_ASSIGN(out.given.expected, read_expected(a, out.model.interface, console, budget)); }
  NNC_TRY(check_outputs(a, out.model.interface));
  return out;
}

Status build_model(const Arguments& a, Console& console, const std::shared_ptr<Device>& device, int64_t seed, Prepared* out,
                   Budget& budget) {
  if (a.has("without-features"))
    return Error(Code::kUsage, cat("--without-features is for artifacts; ", quote(out->model.path), " is a model: say --target"));
  NNC_ASSIGN(const BuildOptions build, build_options(a, default_target(a.text("device", "cpu"))));
  const Target& target = build.targets.back();  // "cpu" lists this machine's own level last
  if (!device->runs(target.name))
    return Error(Code::kIncompatible, cat("the device ", quote(device->name()), " does not run programs for ", target.name))
        .with(cat("try: --device ", target.name.substr(0, target.name.find(':'))));
  NNC_ASSIGN(const auto module, module_and_inputs(console, build, seed, out, budget));
  out->target = target.name;
  NNC_ASSIGN(const CompiledProgram compiled, compile_module(*module, target, build, console, &out->times));
  Stopwatch watch;
  console.begin("load", base_name(out->model.path));
  NNC_ASSIGN(out->executable, load_compiled(compiled, device));
  out->times.load = watch.take();
  console.done();
  return {};
}

// What --without-features takes from the processor. A name that neither the processor nor a program of the artifact knows is a typing
// error.
Result<std::vector<std::string>> features_without(const Arguments& a, const Artifact& artifact) {
  std::vector<std::string> known = machine_features(), out;
  for (size_t i = 0; i < artifact.size(); ++i) {
    const std::vector<std::string>& wanted = artifact.program(i).features;
    known.insert(known.end(), wanted.begin(), wanted.end());
  }
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  for (const std::string& list : a.all("without-features"))
    for (const std::string_view name : split(list, ',')) {
      out.emplace_back(trim(name));
      if (!std::ranges::binary_search(known, out.back())) return unknown_name(Code::kUsage, "feature", out.back(), known);
    }
  return out;
}

// The runtime does not know how the user calls the artifact.
Error name_file(Error e, const std::string& path) {
  for (std::string& line : e.context)
    if (const size_t at = line.find("nnc trust FILE"); at != std::string::npos) line.replace(at, 14, cat("nnc trust ", path));
  return e;
}

Status load_artifact(const Arguments& a, Console& console, const std::shared_ptr<Device>& device, int64_t seed, Prepared* out,
                     Budget& budget) {
  for (const std::string_view flag : {"profile", "rename-dim"})
    if (a.has(flag))
      return Error(Code::kUsage, cat("--", flag, " is for models; ", quote(out->model.path), " is an artifact and is compiled already"));
  const Artifact& artifact = *out->model.artifact;
  NNC_TRY(make_inputs(out->given, out->model.interface, typical_sizes(out->options.dims), index_limits(artifact),
                      static_cast<uint64_t>(seed), console, budget));
  LoadOptions load;
  load.target = a.text("target");
  load.allow_interpreter = a.has("allow-interpreter");
  load.require_native = a.has("require");
  NNC_ASSIGN(load.without_features, features_without(a, artifact));
  Stopwatch watch;
  console.begin("load", base_name(out->model.path));
  auto loaded = load_executable(artifact, device, load);
  if (!loaded.ok()) return name_file(std::move(loaded).error(), out->model.path);
  out->executable = std::move(*loaded);
  out->times.load = watch.take();
  out->target = out->executable->program().target;
  console.phase("load", base_name(out->model.path),
                cat(out->target, ", ", out->executable->program().kernels.size(), " kernels, ",
                    human_bytes(static_cast<uint64_t>(artifact.weight_bytes())), " of weights"),
                out->times.load);
  return {};
}

}  // namespace

Result<Prepared> prepare(const Arguments& a, Console& console, const PrepareRequest& request) {
  NNC_ASSIGN(const Limits limits, limits_from(a));
  Budget budget(limits);
  NNC_ASSIGN(Prepared out, prepare_given(a, console, request, budget));
  NNC_ASSIGN(const int64_t seed, a.integer("seed", 0, 0, INT64_MAX));
  NNC_ASSIGN(std::shared_ptr<Device> device, make_device(a, request.threads));

  if (out.model.artifact != nullptr)
    NNC_TRY(load_artifact(a, console, device, seed, &out, budget));
  else
    NNC_TRY(build_model(a, console, device, seed, &out, budget));
  NNC_TRY(check_requirements(a, *out.executable));
  out.entry = a.text("entry", out.executable->entry_names().front());
  const Program& program = out.executable->program();
  const auto entry = std::ranges::find(program.entries, out.entry, &PlanEntry::name);
  if (entry == program.entries.end()) return unknown_name(Code::kUnknownName, "entry", out.entry, out.executable->entry_names());
  for (const PlanArg& arg : entry->args) {
    if (arg.state >= 0) continue;
    const auto found = out.given.inputs.find(arg.name);
    NNC_CHECK(found != out.given.inputs.end(), "every input of the entry is one of the model");
    out.arguments.push_back(found->second.tensor);
  }
  return out;
}

bool wants_interpreter(const Arguments& a) {
  return std::ranges::any_of(a.all("target"), [](const std::string& t) { return t == "eval" || t.starts_with("eval:"); });
}

Result<Evaluated> evaluate(const Arguments& a, Console& console) {
  Evaluated out;
  Prepared& p = out.prepared;
  p.target = a.text("target");
  if (a.all("target").size() > 1 || (p.target != "eval" && p.target != "eval:f64"))
    return Error(Code::kUsage, cat("target ", quote(p.target), " of the interpreter")).with("targets: eval, eval:f64, alone");
  for (const std::string_view flag : {"device", "require"})
    if (a.has(flag)) return Error(Code::kUsage, cat("--", flag, " says how compiled code runs; --target ", p.target, " compiles nothing"));
  NNC_ASSIGN(const Limits limits, limits_from(a));
  Budget budget(limits);
  NNC_ASSIGN(p, prepare_given(a, console, {}, budget));
  p.target = a.text("target");
  NNC_TRY(require_onnx(p.model, cat("--target ", p.target)));
  NNC_ASSIGN(const int64_t seed, a.integer("seed", 0, 0, INT64_MAX));
  BuildOptions build;
  build.compile.level = build.compile.pipeline.level = 0;
  build.compile.pipeline.limits = limits;
  NNC_ASSIGN(const auto module, module_and_inputs(console, build, seed, &p, budget));
  const Entry& entry = *module->entries.front();
  p.entry = a.text("entry", entry.name);
  for (const ArgBinding& arg : entry.args) p.arguments.push_back(p.given.inputs.at(arg.name).tensor);
  EvalOptions options;
  options.anchored = p.target == "eval:f64";
  options.limits = limits;
  Stopwatch watch;
  console.begin("run", p.target);
  NNC_ASSIGN(std::vector<Tensor> results, Interpreter(*module, options).run_entry(p.entry, p.arguments));
  out.seconds = watch.take();
  for (size_t k = 0; k < results.size(); ++k) out.outputs.push_back({entry.results[k].name, std::move(results[k])});
  return out;
}

}  // namespace nnc::tool

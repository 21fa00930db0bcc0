// `nnc dump`: a model or an artifact in words: its head, its graph after any pass, groups, plan and kernels.

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "codegen/emit.h"
#include "codegen/lower.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/dump_picture.h"
#include "tools/plan_facts.h"
#include "tools/program.h"
#include "tools/table.h"

namespace nnc::tool {

namespace {

// Text goes to -o or to stdout.
Status deliver(const Arguments& a, Console& console, std::string_view what, const std::string& text) {
  if (a.has("output")) return write_file_atomic(a.text("output"), bytes_of(text));
  if (!console.json()) {
    console.print(text);
    return {};
  }
  JsonWriter w = begin_document("dump", a);
  w.field("what", what).field("text", text);
  finish_document(w, console);
  return {};
}

// ---- the head ----

void show_ops(const Module& module, Console& console, JsonWriter& w) {
  std::map<std::string, int64_t> counts;
  for (const auto& e : module.entries)
    for (const NodeId id : e->graph->order()) ++counts[std::string(op_name(e->graph->node(id).kind))];
  w.key("ops").object();
  std::string line;
  for (const auto& [name, n] : counts) {
    append(line, line.empty() ? "" : ", ", name, " ", n);
    w.field(name, n);
  }
  w.end();
  console.print(cat("  ops       ", line, "\n"));
}

Result<int> show_model(const Arguments& a, const ModelFile& model, const ModelOptions& options, Console& console) {
  JsonWriter w = begin_document("dump", a);
  w.field("what", "model")
      .field("path", model.path)
      .field("ir_version", model.onnx.ir_version)
      .field("nodes", static_cast<int64_t>(model.onnx.nodes));
  std::string opsets;
  for (const auto& [domain, version] : model.onnx.opsets)
    append(opsets, opsets.empty() ? "" : ", ", domain.empty() ? "ai.onnx" : domain, " ", version);
  console.print(cat(console.bold(model.path), "\n  opset     ", opsets, " (IR version ", model.onnx.ir_version, ")\n"));
  for (const auto& [what, args] :
       {std::pair<std::string_view, const std::vector<Arg>&>{"inputs", model.interface.inputs}, {"outputs", model.interface.outputs}}) {
    console.print(cat("  ", what, std::string(10 - what.size(), ' '), args_text(args), "\n"));
    w.key(what).array();
    for (const Arg& arg : args) w.object().field("name", arg.name).field("dtype", dtype_name(arg.dtype)).list("dims", arg.dims).end();
    w.end();
  }
  const auto module = import_model(model, options, {}, console);
  if (module.ok()) {
    for (const auto& [key, value] : (*module)->metadata)
      console.print(cat("  ", key, std::string(key.size() < 9 ? 9 - key.size() : 1, ' '), " ", value, "\n"));
    show_ops(**module, console, w);
  } else {
    console.print(cat("  not imported: ", module.error().message, "\n  try: nnc check ", model.path, "\n"));
    w.field("problem", module.error().message);
  }
  if (console.json()) finish_document(w, console);
  return 0;
}

Result<int> show_artifact(const Arguments& a, const ModelFile& model, Console& console) {
  const Artifact& artifact = *model.artifact;
  JsonWriter w = begin_document("dump", a);
  w.field("what", "artifact")
      .field("path", model.path)
      .field("digest", artifact.digest().hex())
      .field("trusted", artifact.trusted())
      .field("writer", artifact.writer())
      .field("bytes", artifact.file_bytes());
  w.field("weight_bytes", artifact.weight_bytes()).key("properties").object();
  for (const auto& [key, value] : artifact.properties()) w.field(key, value);
  w.end().key("programs").array();
  console.print(cat(console.bold(model.path), "\n  digest    ", artifact.digest().hex(), artifact.trusted() ? "  trusted" : "  not trusted",
                    "\n  writer    ", artifact.writer(), "\n  size      ", human_bytes(static_cast<uint64_t>(artifact.file_bytes())),
                    ", weights ", human_bytes(static_cast<uint64_t>(artifact.weight_bytes())), ", graph ",
                    human_bytes(artifact.graph().size()), "\n"));
  console.print(cat("  inputs    ", args_text(model.interface.inputs), "\n  outputs   ", args_text(model.interface.outputs), "\n"));
  for (const auto& [key, value] : artifact.properties()) console.print(cat("  ", key, " = ", value, "\n"));
  Table table({"program", ">kernels", ">code", "steps", "entries", "needs"});
  for (size_t i = 0; i < artifact.size(); ++i) {
    const Program& p = artifact.program(i);
    std::vector<bool> native(p.kernels.size());
    for (const ExecutableUnit& u : artifact.units(i))
      for (const uint32_t k : u.kernels) native[k] = !u.code.empty();
    const CodeCounts n = count_steps(p, native);
    std::vector<std::string> entries;
    for (const PlanEntry& e : p.entries) entries.push_back(e.profile.empty() ? e.name : cat(e.name, "/", e.profile));
    table.row({p.target, cat(p.kernels.size()), human_bytes(static_cast<uint64_t>(artifact.code_bytes(i))),
               counts_text(n, p.target.substr(0, p.target.find(':'))), join(entries, ", "), join(p.features, " ")});
    w.object()
        .field("target", p.target)
        .field("kernels", static_cast<int64_t>(p.kernels.size()))
        .field("code_bytes", artifact.code_bytes(i))
        .list("entries", entries)
        .list("features", p.features);
    w.key("steps").object().field("native", n.native).field("vm", n.vm).field("host", n.host).field("library", n.library).end().end();
  }
  w.end();
  console.print(table.str());
  if (console.json()) finish_document(w, console);
  return 0;
}

// ---- the graph after passes ----

std::vector<std::string> stage_names(int level) {
  std::vector<std::string> out = {"import"};
  if (level > 0)
    for (const PassInfo& p : simplify_passes()) out.emplace_back(p.name);
  out.emplace_back("simplify");
  for (const PassInfo& p : optimize_passes(level)) out.emplace_back(p.name);
  out.emplace_back("optimize");
  return out;
}

bool is_simplify_pass(std::string_view name) {
  return std::ranges::find(simplify_passes(), name, &PassInfo::name) != simplify_passes().end();
}

Status advance(Module& module, const std::string& stage, const BuildOptions& build) {
  if (stage == "import") return {};
  CompileOptions compile = build.compile;
  if (is_simplify_pass(stage)) compile.pipeline.stop_after = stage;
  NNC_TRY(simplify_module(module, compile));
  if (stage == "simplify" || is_simplify_pass(stage)) return {};
  compile.pipeline.stop_after = stage == "optimize" ? std::string() : stage;
  return run_optimize(module, target_facts(build.targets.back()), compile.pipeline);
}

Status check_stage(const Arguments& a, const BuildOptions& build) {
  const std::string stage = a.text("after", "optimize");
  const std::vector<std::string> stages = stage_names(build.compile.level);
  if (std::ranges::find(stages, stage) != stages.end()) return {};
  return unknown_name(Code::kUnknownName, "pass", stage, stages).with(cat("passes: ", join(stages, ", ")));
}

Result<int> dump_after(const Arguments& a, std::unique_ptr<Module> module, const BuildOptions& build, Console& console) {
  NNC_TRY(check_stage(a, build));
  const std::string stage = a.text("after");
  NNC_TRY(advance(*module, stage, build));
  NNC_TRY(deliver(a, console, stage, print_module(*module)));
  return 0;
}

// Numbered files, one for each pass as it ran, an index, and one side file with the constants of all.
class PassFiles {
 public:
  explicit PassFiles(std::string folder) : folder_(std::move(folder)) {}

  Status add(std::string_view pass, const PassReport* report, const Module& m) {
    std::string number = cat(files_);
    if (number.size() < 2) number.insert(0, "0");
    const std::string name = cat(number, "-", pass, ".nnir");
    NNC_TRY(write_file_atomic(cat(folder_, "/", name), bytes_of(print_module(m))));
    append(index_, name, "  ",
           report != nullptr ? cat(report->changes, report->changes == 1 ? " change" : " changes", ", ", report->nodes_before, " -> ",
                                   report->nodes_after, " nodes")
                             : std::string("as imported"),
           "\n");
    for (uint32_t c = 0; c < m.constant_count(); ++c) constants_.add_constant(m.constant(ConstId(c)));
    ++files_;
    return {};
  }

  Status finish() {
    NNC_TRY(write_file_atomic(cat(folder_, "/index.txt"), bytes_of(index_)));
    return write_file_atomic(cat(folder_, "/constants.bin"), bytes_of(constants_side_file(constants_)));
  }
  int files() const { return files_; }
  const std::string& index() const { return index_; }

 private:
  std::string folder_, index_;
  int files_ = 0;
  Module constants_;  // holds the constants of all stages, each once
};

Result<int> dump_after_each(const Arguments& a, std::unique_ptr<Module> module, const BuildOptions& build, Console& console) {
  const std::string folder = a.text("after-each");
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return Error(Code::kIo, cat("the folder ", quote(folder), " cannot be made"));
  PassFiles files(folder);
  NNC_TRY(files.add("import", nullptr, *module));
  Status written;
  CompileOptions compile = build.compile;
  compile.pipeline.after_each = [&](const PassReport& r, const Module& m) {
    if (written.ok()) written = files.add(r.name, &r, m);
  };
  NNC_TRY(simplify_module(*module, compile));
  NNC_TRY(run_optimize(*module, target_facts(build.targets.back()), compile.pipeline));
  NNC_TRY(std::move(written));
  NNC_TRY(files.finish());
  console.print(files.index());
  if (console.json()) {
    JsonWriter w = begin_document("dump", a);
    w.field("what", "passes").field("folder", folder).field("files", files.files());
    finish_document(w, console);
  }
  return 0;
}

// ---- groups, plan, kernels ----

// "encoder/layer.0/: MatMul, Add": what the names share is told once.
std::string source_names(const Module& m, LocId loc) {
  std::vector<std::string> names;
  for (const LocId leaf : m.loc_leaves(loc)) names.push_back(m.loc(leaf).node.empty() ? m.loc(leaf).op : m.loc(leaf).node);
  const std::string shared = common_prefix(names);
  return cat(shared, shared.empty() ? "" : ": ", join(names, ", ", [&](const std::string& n) { return n.substr(shared.size()); }));
}

void show_groups(const Graph& g, const Target& target, const LowerOptions& lower, const std::string& indent, std::string* out) {
  for (const NodeId id : g.order()) {
    const Node& n = g.node(id);
    if (n.kind != OpKind::kGroup) {
      append(*out, indent, trim(print_node(g, id, {.locations = false, .max_inline_elements = 8})), "\n");
      for (const RegionId r : n.regions) {
        append(*out, indent, "  region ", g.region(r).name(), "\n");
        show_groups(g.region(r), target, lower, indent + "    ", out);
      }
      continue;
    }
    const Graph& body = g.region(n.regions[0]);
    std::vector<std::string> ops;
    for (const NodeId k : body.order()) ops.emplace_back(op_name(body.node(k).kind));
    const auto lowered = lower_group(body, target, lower);
    append(*out, indent, "group %", n.results.empty() ? 0u : n.results[0].v, "  ",
           lowered.ok() ? cat(lowered->skeleton, ", ", lowered->kernels.size(), lowered->kernels.size() == 1 ? " kernel" : " kernels")
                        : cat("no kernel: ", lowered.error().message),
           "\n");
    append(*out, indent, "  ops   ", join(ops, " "), "\n", indent, "  out   ",
           join(n.results, ", ", [&](ValueId v) { return type_pretty(g.symbols(), g.type(v)); }), "\n", indent, "  from  ",
           source_names(g.module(), n.loc), "\n");
  }
}

Result<int> dump_groups(const Arguments& a, std::unique_ptr<Module> module, const BuildOptions& build, Console& console) {
  NNC_TRY(advance(*module, "optimize", build));
  LowerOptions lower;
  lower.league = build.compile.league;
  std::string text;
  for (const auto& e : module->entries) {
    append(text, "entry ", e->name, e->profile.empty() ? "" : cat(" profile ", e->profile), "\n");
    show_groups(*e->graph, build.targets.back(), lower, "  ", &text);
  }
  NNC_TRY(deliver(a, console, "groups", text));
  return 0;
}

// The graph after --after, else its groups.
Result<int> dump_picture(const Arguments& a, std::unique_ptr<Module> module, const BuildOptions& build, Console& console) {
  NNC_TRY(check_stage(a, build));
  NNC_TRY(advance(*module, a.text("after", "optimize"), build));
  LowerOptions lower;
  lower.league = build.compile.league;
  const std::vector<GraphPicture> pictures = picture_graphs(*module, build.targets.back(), lower);
  NNC_TRY(deliver(a, console, "graph", a.has("svg") ? graph_svg(pictures) : graph_dot(pictures)));
  return 0;
}

Result<Program> plan_of(Module& module, const BuildOptions& build) {
  NNC_TRY(advance(module, "optimize", build));
  LowerOptions lower;
  lower.league = build.compile.league;
  NNC_ASSIGN(PlannedProgram planned, plan_module(module, build.targets.back(), lower));
  return std::move(planned.program);
}

Status show_plan(const Arguments& a, const Program& p, Console& console) {
  if (a.has("svg")) {
    NNC_ASSIGN(const std::vector<MemoryPicture> pictures, picture_memory(p));
    return deliver(a, console, "memory", memory_svg(pictures));
  }
  NNC_ASSIGN(const PlanMemory m, plan_memory(p));
  const std::string head =
      cat("# ", p.target, ": ", human_bytes(static_cast<uint64_t>(m.peak)), " of memory at typical sizes, lower bound ",
          human_bytes(static_cast<uint64_t>(m.lower_bound)), ", unplanned ", human_bytes(static_cast<uint64_t>(m.unplanned)), "\n");
  if (!a.has("output")) console.note(head.substr(0, head.size() - 1));
  return deliver(a, console, "plan", print_program(p));
}

// Kernel IR, source nodes and generated source of the kernels whose name contains the word.
Result<std::string> kernels_text(const Program& p, const Target& target, const std::string& word) {
  std::map<uint32_t, std::set<uint32_t>> sources;
  std::map<uint32_t, int64_t> uses;
  for (const PlanEntry& e : p.entries) {
    visit_steps(e, [&](const Step& s) {
      if (s.kind != StepKind::kLaunch) return;
      sources[s.kernel].insert(s.locs.begin(), s.locs.end());
      ++uses[s.kernel];
    });
  }
  std::string out;
  std::vector<std::string> names;
  for (uint32_t k = 0; k < p.kernels.size(); ++k) {
    const PlanKernel& kernel = p.kernels[k];
    names.push_back(kernel.name);
    if (!word.empty() && kernel.name.find(word) == std::string::npos) continue;
    append(out, "==== ", kernel.name, "  (", uses[k], uses[k] == 1 ? " step" : " steps", ")\n");
    for (const uint32_t loc : sources[k])
      append(out, "# from ", p.sources[loc].node, p.sources[loc].op.empty() ? "" : cat(" (", p.sources[loc].op, ")"),
             p.sources[loc].scope.empty() ? "" : cat(" in ", p.sources[loc].scope), "\n");
    append(out, "---- kernel IR\n", kernel.text, kernel.text.ends_with('\n') ? "" : "\n");
    NNC_ASSIGN(const Kernel parsed, parse_kernel(kernel.text));
    if (target.kind == TargetKind::kCpu) append(out, "---- C++ for ", target.name, "\n", emit_cpu_unit({{&parsed, kernel.name}}, target));
    if (target.is_cuda())
      append(out, "---- CUDA C++ for ", target.name, "\n",
             emit_cuda_unit({{&parsed, kernel.name}}, target, {.emulate = false, .header = false}));
    out += "\n";
  }
  if (out.empty() && !word.empty())
    return unknown_name(Code::kUnknownName, "kernel whose name contains", word, names).with(cat("kernels: ", join(names, ", ")));
  return out;
}

Result<int> dump_program(const Arguments& a, const Program& p, const Target& target, Console& console) {
  if (a.has("plan")) {
    NNC_TRY(show_plan(a, p, console));
    return 0;
  }
  NNC_ASSIGN(const std::string text, kernels_text(p, target, a.text("kernels")));
  NNC_TRY(deliver(a, console, "kernels", text));
  return 0;
}

}  // namespace

Result<int> dump_command(const Arguments& a, Console& console) {
  const std::vector<std::string_view> modes = {"after", "after-each", "groups", "plan", "kernels"};
  const auto asked = std::ranges::count_if(modes, [&](std::string_view m) { return a.has(m); });
  if (asked > 1) return Error(Code::kUsage, "one of --after, --after-each, --groups, --plan and --kernels at a time");
  if (a.has("dot") && a.has("svg")) return Error(Code::kUsage, "one of --dot and --svg at a time");
  const bool picture = a.has("dot") || a.has("svg");
  if (picture && (a.has("kernels") || a.has("after-each") || (a.has("dot") && a.has("plan"))))
    return Error(Code::kUsage, "there is no such picture")
        .with("try: --svg or --dot alone or with --after PASS: the graph; --plan --svg: the memory");
  NNC_ASSIGN(const Limits limits, limits_from(a));
  NNC_ASSIGN(const ModelFile model, open_model(a.positionals[0], a, limits));
  NNC_ASSIGN(const BuildOptions build, build_options(a, "cpu"));
  if (model.artifact != nullptr) {
    if (a.has("after") || a.has("after-each") || a.has("groups") || (picture && !a.has("plan")))
      return require_onnx(model, "dump --after, --after-each, --groups and pictures of the graph").error();
    if (asked == 0) return show_artifact(a, model, console);
    for (size_t i = 0; i < model.artifact->size(); ++i) {
      const Program& p = model.artifact->program(i);
      if (a.has("target") ? p.target != build.targets.back().name : i > 0) continue;
      NNC_ASSIGN(const Target target, parse_target(p.target));
      return dump_program(a, p, target, console);
    }
    return Error(Code::kIncompatible, cat("the artifact has no program for ", build.targets.back().name))
        .with(cat("try: nnc dump ", model.path));
  }
  NNC_ASSIGN(const ModelOptions options, model_options(a, model.interface));
  if (asked == 0 && !picture) return show_model(a, model, options, console);
  NNC_ASSIGN(auto module, import_model(model, options, {}, console));
  if (picture && !a.has("plan")) return dump_picture(a, std::move(module), build, console);
  if (a.has("after")) return dump_after(a, std::move(module), build, console);
  if (a.has("after-each")) return dump_after_each(a, std::move(module), build, console);
  if (a.has("groups")) return dump_groups(a, std::move(module), build, console);
  NNC_ASSIGN(const Program p, plan_of(*module, build));
  return dump_program(a, p, build.targets.back(), console);
}

}  // namespace nnc::tool

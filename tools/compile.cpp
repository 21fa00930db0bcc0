// `nnc compile`: a model into an artifact for one or more targets.

#include "codegen/artifact_writer.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "runtime/trust.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/emit_files.h"
#include "tools/plan_facts.h"
#include "tools/program.h"

namespace nnc::tool {

namespace {

std::string default_output(const std::string& model) {
  const size_t slash = model.rfind('/');
  const std::string name = slash == std::string::npos ? model : model.substr(slash + 1);
  const size_t dot = name.rfind('.');
  return cat(dot == std::string::npos || dot == 0 ? name : name.substr(0, dot), ".nnb");
}

int64_t code_bytes(const CompiledProgram& p) {
  int64_t n = 0;
  for (const NativeUnit& u : p.units) n += static_cast<int64_t>(u.code.size());
  return n;
}

std::vector<std::pair<std::string, std::string>> properties_of(const Module& module) {
  std::vector<std::pair<std::string, std::string>> out(module.metadata.begin(), module.metadata.end());
  for (const auto& [name, limit] : index_limits(module)) out.emplace_back(cat(kIndexLimitProperty, name), cat(limit));
  return out;
}

struct Line {  // of a program on the screen
  std::string target;
  CodeCounts counts;
  PlanMemory memory;
  int64_t code = 0;
  size_t kernels = 0;
};

Result<Line> line_of(const CompiledProgram& p) {
  Line out{p.program.target, count_steps(p.program, native_kernels(p)), {}, code_bytes(p), p.program.kernels.size()};
  NNC_ASSIGN(out.memory, plan_memory(p.program));
  return out;
}

// To a file, which becomes trusted, or to standard output.
Result<std::shared_ptr<const Artifact>> deliver(const std::string& path, const ArtifactContents& contents, Console& console) {
  if (path == "-") {
    NNC_ASSIGN(Bytes made, artifact_bytes(contents));
    const auto bytes = std::make_shared<const Bytes>(std::move(made));
    NNC_ASSIGN(auto artifact, Artifact::from_bytes(bytes, *bytes));
    console.raw(*bytes);
    return artifact;
  }
  NNC_ASSIGN(const Digest digest, write_artifact(path, contents));
  if (const Status trusted = add_trust(digest, path.substr(path.rfind('/') + 1)); !trusted.ok())
    console.warn(cat("the artifact is not on the list of trusted ones: ", trusted.error().message));
  return Artifact::open(path);
}

std::string bytes_text(int64_t n) { return human_bytes(static_cast<uint64_t>(n)); }

}  // namespace

Result<int> compile_command(const Arguments& a, Console& console) {
  NNC_ASSIGN(const Limits limits, limits_from(a));
  NNC_ASSIGN(const ModelFile model, open_model(a.positionals[0], a, limits));
  NNC_TRY(require_onnx(model, "compile"));
  NNC_ASSIGN(const ModelOptions options, model_options(a, model.interface));
  NNC_ASSIGN(const BuildOptions build, build_options(a, "cpu"));
  const std::string path = a.text("output", default_output(model.path));
  if (path != "-")
    NNC_TRY(check_writable(path));
  else if (console.json())
    return Error(Code::kUsage, "--json and -o - both want standard output").with("try: -o FILE.nnb");
  EmitKinds emit;
  if (a.has("emit")) { NNC_ASSIGN(emit, parse_emit(a.text("emit"))); }
  if (a.has("emit") && path == "-")
    return Error(Code::kUsage, "--emit needs the name of the artifact for its folder").with("try: -o FILE.nnb");
  PhaseTimes times;
  NNC_ASSIGN(const auto module, prepare_module(model, options, build, {}, console, &times));
  ArtifactContents contents;
  contents.graph = print_module(*module);  // before its copies are made, so that they share the hashes of constants
  contents.properties = properties_of(*module);
  std::vector<CompiledProgram> programs;
  std::vector<Line> lines;
  for (const Target& target : build.targets) {
    NNC_ASSIGN(CompiledProgram p, compile_module(*module, target, build, console, &times));
    NNC_ASSIGN(Line line, line_of(p));
    if (a.has("require") && (line.counts.vm > 0 || line.counts.library > 0))
      return Error(Code::kRequirement, cat("--require native: ", line.target, " has ", line.counts.vm, " interpreted steps"));
    console.phase("memory", target.name,
                  cat(bytes_text(line.memory.peak), ", lower bound ", bytes_text(line.memory.lower_bound), ", unplanned ",
                      bytes_text(line.memory.unplanned)),
                  0);
    lines.push_back(std::move(line));
    programs.push_back(std::move(p));
  }
  contents.programs = programs;
  NNC_ASSIGN(const auto written, deliver(path, contents, console));
  const Digest digest = written->digest();

  int64_t code = 0;
  for (const Line& l : lines) code += l.code;
  std::string said = cat("  wrote ", path == "-" ? "the artifact" : path, "  ", bytes_text(written->file_bytes()), "  (weights ",
                         bytes_text(written->weight_bytes()), ", code ", bytes_text(code), ", graph ",
                         bytes_text(static_cast<int64_t>(contents.graph.size())), ")");
  for (const Line& l : lines) append(said, "\n  steps ", l.target, ": ", counts_text(l.counts, l.target.substr(0, l.target.find(':'))));
  if (path == "-")
    console.note(said);
  else
    console.print(cat(said, "\n"));
  if (a.has("emit")) {
    NNC_ASSIGN(const int64_t files, emit_files(cat(path, ".d"), emit, contents.graph, programs));
    console.print(cat("  wrote ", path, ".d  ", files, " files\n"));
  }
  if (!console.json()) return 0;
  JsonWriter w = begin_document("compile", a);
  w.field("model", model.path)
      .field("artifact", path)
      .field("digest", digest.hex())
      .field("bytes", written->file_bytes())
      .field("weight_bytes", written->weight_bytes())
      .field("table_bytes", written->table_bytes());
  w.key("seconds")
      .object()
      .field("import", times.import)
      .field("simplify", times.simplify)
      .field("optimize", times.optimize)
      .field("plan", times.plan)
      .field("kernels", times.kernels)
      .end();
  w.key("programs").array();
  for (const Line& l : lines) {
    w.object()
        .field("target", l.target)
        .field("kernels", static_cast<int64_t>(l.kernels))
        .field("code_bytes", l.code)
        .field("plan_bytes", l.memory.peak)
        .field("plan_lower_bound", l.memory.lower_bound);
    w.field("plan_unplanned", l.memory.unplanned)
        .key("steps")
        .object()
        .field("native", l.counts.native)
        .field("vm", l.counts.vm)
        .field("host", l.counts.host)
        .field("library", l.counts.library)
        .end()
        .end();
  }
  w.end();
  finish_document(w, console);
  return 0;
}

}  // namespace nnc::tool

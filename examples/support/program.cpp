#include "examples/support/program.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "codegen/api/device.h"
#include "codegen/api/load.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "runtime/artifact.h"
#include "runtime/artifact_format.h"

namespace nnc::example {

Result<CommandLine> parse_command_line(int argc, char** argv, std::string_view about, const std::vector<std::string>& own) {
  CommandLine out;
  const std::string usage =
      cat("usage: ", argc > 0 ? argv[0] : "program", " --model M.onnx|M.nnb [--device cpu|cuda-emu] [--dump-input F.npz]",
          join(own, "", [](const std::string& f) { return cat(" [--", f, " X]"); }), " FILE");
  const auto wrong = [&usage](std::string what) { return Error(Code::kUsage, std::move(what)).with(usage); };
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    std::printf("%s\n%s\n", std::string(about).c_str(), usage.c_str());
    std::exit(0);
  }
  std::map<std::string, std::string*> flags = {{"--model", &out.model}, {"--device", &out.device}, {"--dump-input", &out.dump_input}};
  for (const std::string& f : own) flags[cat("--", f)] = &out.more[f];
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (const auto flag = flags.find(word); flag != flags.end()) {
      if (++k == argc) return wrong(cat(word, " needs a value"));
      *flag->second = argv[k];
    } else if (word.starts_with("--")) {
      std::vector<std::string> known;
      for (const auto& [name, value] : flags) known.push_back(name);
      const std::string close = nearest(word, known);
      return wrong(cat("there is no flag ", quote(word), close.empty() ? "" : cat("; did you mean ", close, "?")));
    } else if (out.file.empty()) {
      out.file = word;
    } else {
      return wrong(cat("one file at a time, not ", quote(out.file), " and ", quote(word)));
    }
  }
  if (out.model.empty()) return wrong("--model M.onnx or --model M.nnb is missing");
  if (out.file.empty()) return wrong("the file is missing");
  return out;
}

int finish(const Result<int>& outcome) {
  if (outcome.ok()) return *outcome;
  std::fprintf(stderr, "error: %s\n", outcome.error().str().c_str());
  return exit_code(outcome.error().code);
}

namespace {

constexpr std::string_view kMetadata = "model.";  // prefix of what the model's maker wrote

Result<bool> is_artifact(const std::string& path) {
  NNC_ASSIGN(const ReadFile file, ReadFile::open(path));
  std::array<uint8_t, kArtifactMagic.size()> magic{};
  if (file.size() >= static_cast<int64_t>(magic.size())) NNC_TRY(file.read(0, magic));
  return magic == kArtifactMagic;
}

}  // namespace

Result<Model> Model::open(const std::string& path, const std::string& device_name, const std::vector<ImportProfile>& profiles) {
  Model out;
  NNC_ASSIGN(const std::shared_ptr<Device> device, open_device(device_name));
  NNC_ASSIGN(const bool compiled_before, is_artifact(path));
  std::shared_ptr<const Executable> executable;
  if (compiled_before) {
    NNC_ASSIGN(const auto artifact, Artifact::open(path));
    for (const auto& [key, value] : artifact->properties()) out.metadata_[key] = value;
    NNC_ASSIGN(executable, load_executable(*artifact, device));
  } else {
    ImportOptions import;
    import.profiles = profiles;
    NNC_ASSIGN(const auto module, import_onnx_file(path, import));
    out.metadata_ = module->metadata;
    NNC_TRY(simplify_module(*module));
    NNC_ASSIGN(const Target target, parse_target(default_target(device_name)));
    NNC_ASSIGN(const CompiledProgram compiled, compile_for_target(*module, target));
    NNC_ASSIGN(executable, load_compiled(compiled, device));
  }
  out.entry_ = executable->entry_names().front();
  NNC_ASSIGN(out.session_, Session::create(executable));
  return out;
}

std::string Model::metadata(const std::string& key) const {
  const auto found = metadata_.find(cat(kMetadata, key));
  return found == metadata_.end() ? std::string() : found->second;
}

Status write_npz_file(const std::string& path, const std::vector<NamedTensor>& tensors) {
  NNC_ASSIGN(const Bytes bytes, npz_bytes(tensors));
  return write_file_atomic(path, bytes);
}

}  // namespace nnc::example

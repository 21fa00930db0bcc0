#include "examples/support/program.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "codegen/api/device.h"
#include "codegen/api/load.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "runtime/artifact.h"
#include "runtime/artifact_format.h"

namespace nnc::example {

Result<CommandLine> parse_command_line(int argc, char** argv, std::string_view about, const std::vector<std::string>& own) {
  CommandLine out;
  const Error usage =
      Error(Code::kUsage, std::string(about))
          .with(cat("usage: ", argc > 0 ? argv[0] : "program", " --model M.onnx|M.nnb [--device cpu|cuda-emu] [--dump-input F.npz]",
                    join(own, "", [](const std::string& f) { return cat(" [--", f, " X]"); }), " FILE"));
  std::map<std::string, std::string*> flags = {{"--model", &out.model}, {"--device", &out.device}, {"--dump-input", &out.dump_input}};
  for (const std::string& f : own) flags[cat("--", f)] = &out.more[f];
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (const auto flag = flags.find(word); flag != flags.end()) {
      if (++k == argc) return usage;
      *flag->second = argv[k];
    } else if (!word.starts_with("--") && out.file.empty()) {
      out.file = word;
    } else {
      return usage;
    }
  }
  if (out.model.empty() || out.file.empty()) return usage;
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

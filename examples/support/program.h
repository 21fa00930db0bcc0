#pragma once
// What the example programs share: their command line, and a model, ONNX file or artifact, as something to call.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/onnx/importer.h"
#include "ir/base/tensor_io.h"
#include "runtime/session.h"

namespace nnc::example {

struct CommandLine {
  std::string model, device = "cpu", dump_input, file;
  std::map<std::string, std::string> more;  // flags of the program itself
};
// `--model M --device D --dump-input F.npz FILE`, and the flags in `own`, each with a value. Prints usage and an error when the words are
// wrong.
Result<CommandLine> parse_command_line(int argc, char** argv, std::string_view about, const std::vector<std::string>& own = {});
// For the end of main: prints the error and gives the exit code.
int finish(const Result<int>& outcome);

class Model {
 public:
  // `profiles` say for what sizes and values an ONNX file is compiled; an artifact knows.
  static Result<Model> open(const std::string& path, const std::string& device, const std::vector<ImportProfile>& profiles);
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) { return session_->run(entry_, inputs); }
  // A text that the model's maker put into the file; empty where there is none.
  std::string metadata(const std::string& key) const;

 private:
  std::unique_ptr<Session> session_;
  std::string entry_;
  std::map<std::string, std::string> metadata_;
};

Status write_npz_file(const std::string& path, const std::vector<NamedTensor>& tensors);

}  // namespace nnc::example

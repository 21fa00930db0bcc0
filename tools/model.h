#pragma once
// A model as the command line names it: an ONNX file or an artifact, with what can be asked of both; and the flags that say how an ONNX
// file becomes a module. Running is program.h's matter.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/onnx/importer.h"
#include "ir/support/file.h"
#include "runtime/artifact.h"
#include "tools/console.h"
#include "tools/options.h"

namespace nnc::tool {

struct Arg {
  std::string name;
  DType dtype = DType::kInvalid;
  bool is_tensor = true, has_shape = true;
  std::vector<std::string> dims;  // a number, a name or an expression each
};
struct Interface {
  std::vector<Arg> inputs, outputs;
  const Arg* input(std::string_view name) const;
  std::vector<std::string> input_names() const, output_names() const;
};
std::string arg_text(const Arg& a);                   // "x f32[batch,3]"
std::string args_text(const std::vector<Arg>& args);  // joined by " · "
Place place_of(std::string file);
std::string type_text(DType dtype, std::span<const int64_t> dims);

struct ModelFile {
  std::string path;
  OnnxInterface onnx;                            // of an ONNX file
  mutable std::optional<FileContents> contents;  // of an ONNX file, until the first import took them
  std::shared_ptr<const Artifact> artifact;      // or null
  Interface interface;                           // of an artifact: of the entry asked for
};
inline constexpr int64_t kMaxModelBytes = int64_t(1) << 40;
// An artifact is known by its first bytes. `check_contents`: hashes and kernels too.
Result<ModelFile> open_model(const std::string& path, const Arguments& a, const Limits& limits, bool check_contents = false);
// kUsage for an artifact where an ONNX file is needed.
Status require_onnx(const ModelFile& model, std::string_view command);

// "8", "1..32", "1..32@8", "32..1280%32@320".
Result<DimSpec> parse_dim_spec(std::string_view text);
// "NAME=A" into name and the rest; kUsage names the flag.
Result<std::pair<std::string, std::string>> parse_assignment(std::string_view flag, std::string_view text);

// What flags say about the model. In `lists` are dims with several sizes (bench), which `dims` lacks.
struct ModelOptions {
  std::map<std::string, DimSpec> dims;
  std::map<std::string, std::vector<int64_t>> lists;
  std::vector<ImportProfile> profiles;
  std::map<std::string, std::string> rename;
  Limits limits;
  int level = 2;
};
Result<Limits> limits_from(const Arguments& a);
Result<ModelOptions> model_options(const Arguments& a, const Interface& interface, bool allow_lists = false);

// The module of an ONNX file. Without --profile there is one: the dims of the flags, and those of `given`. Where the structure depends on
// the values of small integer inputs, those given are taken too, and a note says so.
Result<std::unique_ptr<Module>> import_model(const ModelFile& model, const ModelOptions& options,
                                             const std::map<std::string, Tensor>& given, Console& console,
                                             std::vector<Error>* findings = nullptr);

// For integer inputs that select along an axis: the largest index (extents known without a call only).
std::map<std::string, int64_t> index_limits(const Module& module);
// The same, as compile stored it.
std::map<std::string, int64_t> index_limits(const Artifact& artifact);
inline constexpr std::string_view kIndexLimitProperty = "index_limit.";

}  // namespace nnc::tool

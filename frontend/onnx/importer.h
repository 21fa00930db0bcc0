#pragma once
// From an ONNX file to a Module. One entry per profile of dims: what depends on rank (an `If` over shapes) is decided under a profile and
// recorded in the graph. Every operator goes through the table of op_table.h; whatever an older operator version means is expressed in IR
// ops there. Nothing is optimised here.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/support/budget.h"
#include "ir/support/bytes.h"
#include "ir/support/file.h"

namespace nnc {

// What the user says about one dim: a size (lo == hi) or a range.
struct DimSpec {
  int64_t lo = 0, hi = kDimMax;
  int64_t typical = 0;  // 0: none given
  int64_t multiple = 1;
  static DimSpec size(int64_t n) { return {n, n, n, 1}; }
};

struct ImportProfile {
  std::string name;
  std::map<std::string, DimSpec> dims;   // by the model's name of a dim, or "INPUT.AXIS"
  std::map<std::string, Tensor> values;  // inputs that have one value in this profile
};

struct ImportOptions {
  std::vector<ImportProfile> profiles;             // none: one that says nothing
  std::map<std::string, std::string> rename_dims;  // the model's name (or INPUT.AXIS) -> the new name
  Limits limits;
  bool keep_source_trace = false;       // base name and line of the exporter's source, where the model has them
  bool initializers_as_inputs = false;  // initializers that are graph inputs too (IR version 3) stay inputs
  std::string entry = "main";
};

// Wrong or unsupported models: one Error that lists up to 20 findings; all of them in `findings`, if given.
Result<std::unique_ptr<Module>> import_onnx(ByteView bytes, const ImportOptions& options = {}, std::vector<Error>* findings = nullptr);
// Reads external data beneath the file's folder.
Result<std::unique_ptr<Module>> import_onnx_file(const std::string& path, const ImportOptions& options = {},
                                                 std::vector<Error>* findings = nullptr);

// The file without its weights, which an import reads to where they belong. A file that is no model is read whole; the import says what
// is wrong.
Result<FileContents> read_onnx_file(ReadFile file, int64_t max_bytes);
// The same when the file was read before.
Result<std::unique_ptr<Module>> import_onnx_file(const std::string& path, const FileContents& contents, const ImportOptions& options = {},
                                                 std::vector<Error>* findings = nullptr);

// What can be known of a model without importing it: for choosing profiles and for messages.
struct OnnxArg {
  std::string name;
  DType dtype = DType::kInvalid;  // kInvalid: not a tensor, or not said
  bool is_tensor = true;
  bool has_shape = false;
  std::vector<std::string> dims;  // "batch", "3", or "INPUT.AXIS" where the model has no name
};
struct OnnxInterface {
  std::vector<OnnxArg> inputs, outputs;   // without initializers
  std::map<std::string, int64_t> opsets;  // "" is ai.onnx
  int64_t ir_version = 0;
  size_t nodes = 0;  // of the main graph
};
Result<OnnxInterface> read_onnx_interface(ByteView bytes, const Limits& limits = {});

// Operators that the importer knows.
struct OnnxOperator {
  std::string_view domain, name;
  int64_t since, until;  // opset versions, inclusive
};
std::vector<OnnxOperator> onnx_operators();

}  // namespace nnc

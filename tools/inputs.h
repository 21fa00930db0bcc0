#pragma once
// Tensors of the command line: `-i` into inputs that fit the model, `-o` and `--expect` for its outputs.

#include <map>
#include <string>
#include <vector>

#include "ir/base/compare.h"
#include "ir/base/input_spec.h"
#include "ir/base/tensor_io.h"
#include "tools/model.h"

namespace nnc::tool {

struct GivenInput {
  InputSpec spec;      // how elements are made, where there is no tensor yet
  Tensor tensor;       // valid: read from a file
  std::string origin;  // "in.npz", "random, seed 0"
};
struct GivenInputs {
  std::map<std::string, GivenInput> inputs;
  std::vector<NamedTensor> expected;  // of a folder of ONNX's test data
  std::map<std::string, Tensor> tensors() const;
};

// Reads the files of `-i` and matches names, dtypes and ranks. Inputs that no `-i` names are random if there is no `-i` at all, else an
// error.
Result<GivenInputs> read_inputs(const Arguments& a, const Interface& interface, Console& console, Budget& budget);
// Makes what has no tensor: sizes of dims from the other inputs and then `dims`, largest indices from `limits`.
Status make_inputs(GivenInputs& given, const Interface& interface, const std::map<std::string, int64_t>& dims,
                   const std::map<std::string, int64_t>& limits, uint64_t seed, Console& console, Budget& budget);
// Sizes for making inputs: the typical size of each dim, where flags give one.
std::map<std::string, int64_t> typical_sizes(const std::map<std::string, DimSpec>& dims);

// The tensors of a file: all with names (npz), or one without (npy, pb).
Result<std::vector<NamedTensor>> read_tensors(const InputSpec& spec, Console& console, Budget& budget);
// Elements through the dtype's carriers: floats round once, floats to integers truncate and saturate.
Result<Tensor> cast_tensor(const Tensor& t, DType to);

// Expected tensors of `--expect`, names checked against the outputs.
Result<std::vector<NamedTensor>> read_expected(const Arguments& a, const Interface& interface, Console& console, Budget& budget);
// The forms of `-o`, its names against the outputs, its folders: before the work whose results it takes.
Status check_outputs(const Arguments& a, const Interface& interface);
// Whether a file can be made there.
Status check_writable(const std::string& path);
// Writes what `-o` asks for.
Status write_outputs(const Arguments& a, const std::vector<NamedTensor>& outputs, Console& console);
// All elements up to `max_elements`, else the first and last of each axis, in brackets.
std::string tensor_text(const Tensor& t, int64_t max_elements = 1000);
std::string element_text(const Tensor& t, int64_t i);

}  // namespace nnc::tool

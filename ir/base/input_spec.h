#pragma once
// What the command line says of an input (`-i`), an output (`-o`) or an expectation (`--expect`), and the tensors that need no file:
// random, constant, listed. Opening files and matching names, dtypes and extents with a model is the caller's matter.
//
//   x=@in.npy  @all.npz  x=@all.npz:images  x=@raw.bin:f16[8,512]  @folder/       files
//   x=f32[1,3,224,224]  ids=i64[1,128]~0..30521  x=~0..255                         random, uniform
//   mask=ones  mask=zeros  x=f32[2]:zeros  sr=i64[]:16000  axes=i64[3]:0,2,1        the same value everywhere, or all values in C order
//
// A dtype and extents may be left out where the model gives them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/base/tensor.h"
#include "ir/support/budget.h"

namespace nnc {

struct InputSpec {
  enum class Source : uint8_t { kRandom, kValues, kFile };
  std::string name = {};  // empty: the file names its tensors itself
  Source source = Source::kRandom;
  DType dtype = DType::kInvalid;                  // kInvalid: the model's
  std::optional<std::vector<int64_t>> dims = {};  // none: the model's
  std::string lo = {}, hi = {};                   // kRandom: the range as written, both ends included; empty: the dtype's default
  std::vector<std::string> values = {};           // kValues: as written; one stands for all elements
  std::string path = {};                          // kFile
  std::string entry = {};                         // of an npz file; empty: its only tensor, or all of them
  bool is_raw() const { return source == Source::kFile && dtype != DType::kInvalid; }  // elements without a header
  bool operator==(const InputSpec&) const = default;
};

// "f32[1,3,224,224]", "i64[]"; "f32" alone has no dims.
struct TypeSpec {
  DType dtype = DType::kInvalid;
  std::optional<std::vector<int64_t>> dims;
};
Result<TypeSpec> parse_type_spec(std::string_view text);

Result<InputSpec> parse_input_spec(std::string_view text);

// The tensor of a kRandom or kValues spec; `dtype` and `dims` are the final ones. Element i is a function of seed, stream and i alone
// (philox.h): floats lo + (hi - lo) * u rounded once, default -1..1 (f8e8m0 0.25..4); integers uniform over lo..hi, default 0..9 as far as
// the type holds it; bool 0 or 1.
Result<Tensor> generate(const InputSpec& spec, DType dtype, std::span<const int64_t> dims, uint64_t seed, uint64_t stream, Budget& budget);

}  // namespace nnc

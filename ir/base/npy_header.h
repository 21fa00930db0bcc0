#pragma once
// The text header of an npy array: a Python dictionary with descr, fortran_order and shape. For tensor_io's units only.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/base/dtype.h"
#include "ir/support/result.h"

namespace nnc {

enum class NpyStorage : uint8_t {
  kPlain,     // our own bytes, perhaps swapped
  kUnpacked,  // one element per byte, packed in our tensors
  kUnicode,   // UTF-32, padded with zeros
  kBytes,     // bytes, padded with zeros
};

struct NpyType {
  DType dtype = DType::kInvalid;
  NpyStorage storage = NpyStorage::kPlain;
  int64_t item = 0;   // bytes per element in the file
  bool swap = false;  // big endian
};

struct NpyHeader {
  NpyType type;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

// kParse with the column in place.column, or kUnsupportedOp for a type that we lack.
Result<NpyHeader> parse_npy_header(std::string_view text);
// The descr of a dtype; `item`: bytes per element of a string tensor.
std::string npy_descr(DType dtype, int64_t item);

}  // namespace nnc

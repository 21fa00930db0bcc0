#pragma once
// Types of values in the graph IR.

#include <string>
#include <vector>

#include "ir/base/dim.h"
#include "ir/base/dtype.h"

namespace nnc {

// A tensor; or a sequence or optional of tensors (element dtype given, element shape only if all agree); or a token that orders effects.
struct Type {
  enum class Kind : uint8_t { kTensor, kSequence, kOptional, kOptionalSequence, kToken };
  Kind kind = Kind::kTensor;
  DType dtype = DType::kInvalid;
  Shape shape;
  bool has_shape = true;  // false only for kSequence, kOptional: elements of different shapes

  static Type tensor(DType dtype, Shape shape) { return {Kind::kTensor, dtype, std::move(shape), true}; }
  static Type token() { return {Kind::kToken, DType::kInvalid, {}, true}; }
  bool is_tensor() const { return kind == Kind::kTensor; }
  int rank() const { return static_cast<int>(shape.size()); }
  bool operator==(const Type&) const = default;
};

// "f32[s0, 64]", "seq<f32[?]>", "token".
std::string type_str(const SymbolTable& symbols, const Type& t);
// For messages: names of dims instead of ids.
std::string type_pretty(const SymbolTable& symbols, const Type& t);

}  // namespace nnc

#pragma once
// The types that no kernel computes in, in kernel expressions: floats of 8 and 4 bits and integers of 4 and 2 bits. In memory they are
// codes (u8, packed below one byte), in expressions f32, i8 or u8.

#include "ir/base/dtype.h"
#include "ir/base/kernel_builder.h"

namespace nnc {

inline bool is_narrow(DType t) { return t != DType::kString && (dtype_bits(t) < 8 || (is_float(t) && dtype_bits(t) == 8)); }

// u8 codes of type t -> values.
Expr narrow_value(KernelBuilder& k, Expr code, DType t);
// Values of type t -> u8 codes; what is no value of t is rounded, and leaves its range as `overflow` says.
Expr narrow_code(KernelBuilder& k, Expr value, DType t, Overflow overflow = Overflow::kInf, ScaleRound round = ScaleRound::kNearest);
// Any number -> the value of type t that a cast gives.
Expr cast_narrow(KernelBuilder& k, Expr x, DType t, Overflow overflow, ScaleRound round);

}  // namespace nnc

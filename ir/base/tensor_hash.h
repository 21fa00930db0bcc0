#pragma once
// The content hash of a tensor: how constants are named in modules, plans and artifacts.

#include "ir/base/tensor.h"
#include "ir/support/hash.h"

namespace nnc {

// SHA-256 over "DTYPE[EXTENT,...]", a line end and the bytes; strings: each with its length.
Digest tensor_hash(const Tensor& t);

}  // namespace nnc

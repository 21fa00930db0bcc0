#pragma once
// The content hash of a tensor: how constants are named in modules, plans and artifacts.

#include <span>
#include <vector>

#include "ir/base/tensor.h"
#include "ir/support/hash.h"

namespace nnc {

// SHA-256 over "DTYPE[EXTENT,...]", a line end and the bytes; strings: each with its length.
Digest tensor_hash(const Tensor& t);
// Of many, on all processors.
std::vector<Digest> tensor_hashes(std::span<const Tensor* const> tensors);

}  // namespace nnc

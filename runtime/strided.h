#pragma once
// Copies between a dense array and the same array laid out with larger extents (a bounded axis has the strides of its bound).

#include <cstdint>
#include <span>

namespace nnc {

// Copies the elements of `dims`; `to_dims` and `from_dims` are the extents that the two memories are laid out for, each at least `dims`.
void copy_extents(void* to, std::span<const int64_t> to_dims, const void* from, std::span<const int64_t> from_dims,
                  std::span<const int64_t> dims, int64_t element_bytes);

}  // namespace nnc

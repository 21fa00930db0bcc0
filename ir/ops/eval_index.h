#pragma once
// Row-major indexing for the reference evaluations. Tables of offsets are computed once per node, so that loops over elements hold no index
// arithmetic.

#include <cstdint>
#include <span>
#include <vector>

#include "ir/support/result.h"

namespace nnc {

std::vector<int64_t> row_major_strides(std::span<const int64_t> dims);
// Strides of `dims` aligned to the last axes of `out`, 0 where the extent is 1 or the axis is missing.
std::vector<int64_t> broadcast_strides(std::span<const int64_t> dims, std::span<const int64_t> out);
// The offset of each coordinate of `dims`, in row-major order: sum of coordinate * stride.
std::vector<int64_t> offset_table(std::span<const int64_t> dims, std::span<const int64_t> strides);
// Both for a tensor of extents `dims` that is read once per element of `out`; an error if it does not broadcast.
Result<std::vector<int64_t>> broadcast_offsets(std::span<const int64_t> dims, std::span<const int64_t> out);

// A tensor seen as [outer, extent, inner] around one axis.
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
};
AxisView axis_view(std::span<const int64_t> dims, int64_t axis);

}  // namespace nnc

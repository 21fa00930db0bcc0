#pragma once
// Checks and small shape computations that several infer functions share.

#include <optional>
#include <string>

#include "ir/graph.h"

namespace nnc {

// Ok if operand i has one of the listed classes of dtypes.
enum DTypeClass : uint32_t { kClassFloat = 1, kClassInt = 2, kClassBool = 4 };
Status check_dtype(const InferContext& c, int i, uint32_t classes);
Status check_same_dtype(const InferContext& c, int i, int j);
Status check_rank(const InferContext& c, int i, int rank);
Status check_min_rank(const InferContext& c, int i, int rank);
// Ok unless the two extents are known to differ. `what` names them: "channels of the weight".
Status check_equal(InferContext& c, const Dim& a, const Dim& b, std::string_view what);
// Ok if operand i broadcasts to `shape` without changing it.
Status check_broadcasts_to(InferContext& c, int i, const Shape& shape);
// Axes must be in [0, rank), ascending, distinct.
Status check_axes(const InferContext& c, std::span<const int64_t> axes, int rank);
// Integers of an attribute that has one entry per spatial axis; `fallback` for all where the attribute is empty.
Result<std::vector<int64_t>> spatial_ints(const InferContext& c, std::string_view attr, size_t count, int64_t fallback, int64_t at_least);

}  // namespace nnc

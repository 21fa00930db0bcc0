#pragma once
// What layout and other passes share about permutations and about reshapes that keep groups of axes.

#include <optional>
#include <vector>

#include "ir/builder.h"

namespace nnc {

using Perm = std::vector<int64_t>;

Perm inverse(const Perm& p);
// Axes of more than one element keep their order under `perm`: the same bytes under another shape.
bool moves_nothing(const Shape& from, const Perm& perm);
// Transposed at once if constant, a reshape if nothing moves, else a node.
Result<ValueId> permuted(Builder& b, ValueId v, const Perm& perm);

// A reshape as groups of neighbouring axes: axes [from, from_end) of the operand become axes [to, to_end) of the result with as many
// elements, as fine as possible.
struct AxisGroup {
  size_t from, from_end, to, to_end;
};
// nullopt where the extents cannot be matched.
std::optional<std::vector<AxisGroup>> axis_groups(SymbolTable& symbols, const Shape& from, const Shape& to);

// reshape(transpose(x, perm)) to `to` as transpose(reshape(x, .first), .second), where each group of axes lies together in x too.
std::optional<std::pair<Shape, Perm>> reshape_before_transpose(SymbolTable& symbols, const Shape& x, const Perm& perm, const Shape& to);

}  // namespace nnc

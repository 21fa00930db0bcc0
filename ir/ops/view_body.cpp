#include "ir/ops/body_util.h"
#include "ir/support/mutant.h"

namespace nnc {

void body_reshape(BodyContext& c) {
  c.sources.push_back({0, Coords::of_flat(c.s, c.s.flatten(c.coords, c.result_type().shape), c.shape(0)), {}});
}

void body_transpose(BodyContext& c) {
  const auto& perm = c.node.ints("perm");
  Coords from(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) from[static_cast<size_t>(perm[i])] = c.coords[i];
  c.sources.push_back({0, std::move(from), {}});
}

void body_broadcast_to(BodyContext& c) {
  const Shape &from = c.shape(0), &to = c.result_type().shape;
  const size_t shift = to.size() - from.size();
  SymbolTable& symbols = c.k().symbols();
  Coords coords(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i].is_const(1)) continue;
    const Coord& at = c.coords[i + shift];
    // Where it is not known whether the extent is 1, the stride is computed: min(extent - 1, 1).
    const bool whole = from[i] == to[i + shift] || from[i].is_const();
    coords[i] = whole ? at : c.s.scale(at, symbols.min(symbols.max(symbols.sub(c.s.dim(from[i]), 1), 0), 1));
  }
  c.sources.push_back({0, std::move(coords), {}});
}

void body_slice(BodyContext& c) {
  const auto &axes = c.node.ints("axes"), &steps = c.node.ints("steps");
  Coords from = c.coords;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<size_t>(axes[k] < 0 ? axes[k] + static_cast<int64_t>(from.size()) : axes[k]);
    const int64_t step = mutant("slice_loses_its_step") && steps[k] > 1 ? 1 : steps[k];
    from[axis] = shifted(c, c.s.scale(from[axis], Dim(step)), c.node.dims("starts")[k]);
  }
  c.sources.push_back({0, std::move(from), {}});
}

}  // namespace nnc

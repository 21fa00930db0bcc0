#include "ir/ops/body_util.h"
#include "ir/ops/panel.h"

namespace nnc {

void body_pack(BodyContext& c) {
  const int64_t depth = panel_depth(c.dtype(0));
  const Shape& x = c.shape(0);
  const size_t batch = x.size() - 2;
  const bool transposed = c.node.i("transposed") != 0;
  const Dim &k = transposed ? x[batch + 1] : x[batch], &n = transposed ? x[batch] : x[batch + 1];
  const Coord column = c.s.add(c.s.scale(c.coords[batch], Dim(kPanelWidth)), c.coords[batch + 2]);
  Coord row = c.s.scale(c.coords[batch + 1], Dim(depth));
  if (depth > 1) row = c.s.add(row, c.coords[batch + 3]);
  MapSource source{0, Coords(axes_between(c.coords, 0, batch)), {}};
  source.coords.push_back(transposed ? column : row);
  source.coords.push_back(transposed ? row : column);
  SymbolTable& symbols = c.k().symbols();
  if (symbols.divisible(c.s.dim(n), kPanelWidth) != Ternary::kYes) source.mask = below(c, column, c.k().dim(c.s.dim(n)));
  if (depth > 1 && symbols.divisible(c.s.dim(k), depth) != Ternary::kYes)
    source.mask = both(c, source.mask, below(c, row, c.k().dim(c.s.dim(k))));
  c.sources.push_back(std::move(source));
}

void body_unpack(BodyContext& c) {
  const int64_t depth = panel_depth(c.dtype(0));
  const size_t batch = c.coords.size() - 2;
  const bool transposed = c.node.i("transposed") != 0;
  const Coord &row = c.coords[transposed ? batch + 1 : batch], &column = c.coords[transposed ? batch : batch + 1];
  auto [panel, lane] = c.s.split(column, Dim(kPanelWidth));
  Coords from(axes_between(c.coords, 0, batch));
  from.push_back(std::move(panel));
  if (depth > 1) {
    auto [group, part] = c.s.split(row, Dim(depth));
    from.push_back(std::move(group));
    from.push_back(std::move(lane));
    from.push_back(std::move(part));
  } else {
    from.push_back(row);
    from.push_back(std::move(lane));
  }
  c.sources.push_back({0, std::move(from), {}});
}

}  // namespace nnc

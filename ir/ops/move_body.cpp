#include "ir/ops/body_util.h"
#include "ir/support/mutant.h"

namespace nnc {

void body_concat(BodyContext& c) {
  KernelBuilder& k = c.k();
  SymbolTable& symbols = k.symbols();
  const auto axis = static_cast<size_t>(axis_of(c.node, static_cast<int>(c.coords.size())));
  const int count = static_cast<int>(c.node.operands.size());
  Dim start(0);
  for (int n = 0; n < count; ++n) {
    const Dim extent = c.s.dim(c.shape(n)[axis]), end = symbols.add(start, extent);
    if (!extent.is_const(0)) {
      MapSource source{n, c.coords, {}};
      source.coords[axis] = c.s.add(c.coords[axis], c.s.constant(symbols.sub(Dim(0), start)));
      if (!start.is_const(0)) source.mask = at_or_above(c, c.coords[axis], k.dim(start));
      if (n + 1 < count) source.mask = both(c, source.mask, below(c, c.coords[axis], k.dim(end)));
      c.sources.push_back(std::move(source));
    }
    start = end;
  }
  if (c.sources.empty()) c.sources.push_back({0, c.coords, k.mask_const(false)});
}

namespace {

// Where a pad mode other than constant reads: an index in [0, n) for coordinate i of what is kept, n > 0.
Expr padded_index(KernelBuilder& k, std::string_view mode, Expr i, Expr n) {
  const Expr zero = k.index(0), last = k.sub(n, k.index(1));
  if (mode == "edge") return k.max(k.min(i, mutant("edge_padding_one_in") ? k.sub(last, k.index(1)) : last), zero);
  if (mode == "wrap") return k.floormod(i, n);
  const Expr period = k.max(k.mul(last, k.index(2)), k.index(1)), r = k.floormod(i, period);
  return k.min(r, k.sub(period, r));
}

bool can_be_positive(BodyContext& c, const Dim& kernel_dim) { return c.k().symbols().at_most(kernel_dim, int64_t(0)) != Ternary::kYes; }

}  // namespace

void body_pad(BodyContext& c) {
  KernelBuilder& k = c.k();
  SymbolTable& symbols = k.symbols();
  const std::string_view mode = c.node.s("mode");
  MapSource source{0, c.coords, {}};
  for (size_t a = 0; a < c.coords.size(); ++a) {
    const Dim before = c.s.dim(c.node.dims("before")[a]), after = c.s.dim(c.node.dims("after")[a]), n = c.s.dim(c.shape(0)[a]);
    if (before.is_const(0) && after.is_const(0)) continue;
    const Coord at = c.s.add(c.coords[a], c.s.constant(symbols.sub(Dim(0), before)));
    source.coords[a] = at;
    if (mode == "constant") {
      // What is cropped needs no test: the result ends there.
      if (can_be_positive(c, before)) source.mask = both(c, source.mask, at_or_above(c, at, k.index(0)));
      if (can_be_positive(c, after)) source.mask = both(c, source.mask, below(c, at, k.dim(n)));
      continue;
    }
    const Dim front = symbols.max(symbols.sub(Dim(0), before), Dim(0)), back = symbols.max(symbols.sub(Dim(0), after), Dim(0));
    const Expr kept = k.dim(symbols.sub(symbols.sub(n, front), back));
    if (symbols.at_least(symbols.sub(symbols.sub(n, front), back), 1) != Ternary::kYes)
      source.mask = both(c, source.mask, k.lt(k.index(0), kept));
    const Expr inside = padded_index(k, mode, k.sub(uniform(c, at), k.dim(front)), kept);
    source.coords[a] =
        c.s.opaque(k.let("at", k.max(k.min(k.add(inside, k.dim(front)), k.dim(symbols.sub(n, 1))), k.index(0))), 0, symbols.sub(n, 1));
  }
  if (c.has(1)) c.fill = c.s.read(1, {});
  c.sources.push_back(std::move(source));
}

void body_tile(BodyContext& c) {
  Coords from(c.coords.size());
  for (size_t a = 0; a < from.size(); ++a) {
    const Dim& n = c.shape(0)[a];
    if (n.is_const(1)) continue;
    from[a] = n == c.result_type().shape[a] ? c.coords[a] : c.s.split(c.coords[a], c.s.dim(n)).second;
  }
  c.sources.push_back({0, std::move(from), {}});
}

void body_trilu(BodyContext& c) {
  KernelBuilder& k = c.k();
  const Shape& given = c.node.dims("k");
  const Coords& at = c.coords;
  const Coord &row = at[at.size() - 2], &column = at[at.size() - 1];
  const Coord difference = c.s.add(c.s.add(column, c.s.scale(row, Dim(-1))),
                                   c.s.constant(c.k().symbols().sub(Dim(0), given.empty() ? Dim(0) : c.s.dim(given[0]))));
  const bool upper = c.node.i("upper") != 0;
  c.sources.push_back({0, at, upper ? at_or_above(c, difference, k.index(0)) : below(c, difference, k.index(1))});
}

}  // namespace nnc

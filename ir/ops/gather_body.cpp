#include <tuple>

#include "ir/ops/body_util.h"

namespace nnc {

namespace {

// Axis by axis.
void gather_by_axes(BodyContext& c, size_t axis) {
  const Shape& x = c.shape(0);
  const size_t rank = c.shape(1).size();
  std::vector<Coord> from = axes_between(c.coords, 0, axis);
  from.push_back(checked_index(c, c.s.read(1, Coords(axes_between(c.coords, axis, axis + rank))), x[axis], "gather index"));
  for (Coord& inner : axes_between(c.coords, axis + rank, c.coords.size())) from.push_back(std::move(inner));
  c.sources.push_back({0, Coords(std::move(from)), not_empty(c, x[axis])});
}

}  // namespace

void body_gather(BodyContext& c) {
  const Shape &x = c.shape(0), &idx = c.shape(1);
  const auto axis = static_cast<size_t>(axis_of(c.node, static_cast<int>(x.size())));
  if (!has_exact_strides(c, x) || !has_exact_strides(c, idx)) return gather_by_axes(c, axis);
  // In flat positions: [outer, indices, inner] of the result is [outer, axis, inner] of x. Only these three parts are taken apart.
  SymbolTable& symbols = c.k().symbols();
  Dim inner = 1, count = 1;
  for (size_t i = axis + 1; i < x.size(); ++i) inner = symbols.mul(inner, c.s.dim(x[i]));
  for (const Dim& d : idx) count = symbols.mul(count, c.s.dim(d));
  const auto [above, within] = c.s.split(c.s.flatten(c.coords, c.result_type().shape), inner);
  Coord outer, number = above;
  if (axis > 0) std::tie(outer, number) = c.s.split(above, count);
  const Coord at = checked_index(c, c.s.read(1, Coords::of_flat(c.s, number, idx)), x[axis], "gather index");
  const Coord row = c.s.add(c.s.scale(outer, c.s.dim(x[axis])), at);
  c.sources.push_back({0, Coords::of_flat(c.s, c.s.add(c.s.scale(row, inner), within), x), not_empty(c, x[axis])});
}

void body_gather_elements(BodyContext& c) {
  const auto axis = static_cast<size_t>(axis_of(c.node, static_cast<int>(c.coords.size())));
  Coords from = c.coords;
  const std::string_view of = c.node.s("of");
  from[axis] = checked_index(c, c.s.read(1, c.coords), c.shape(0)[axis], of == "index" ? "gather_elements index" : std::string(of));
  c.sources.push_back({0, std::move(from), not_empty(c, c.shape(0)[axis])});
}

void body_gather_nd(BodyContext& c) {
  const Shape &x = c.shape(0), &idx = c.shape(1);
  const auto batch = static_cast<size_t>(c.node.i("batch_dims")), length = static_cast<size_t>(idx.back().constant()),
             outer = idx.size() - 1;
  Coords tuple(axes_between(c.coords, 0, outer)), from(axes_between(c.coords, 0, batch));
  tuple.push_back({});
  Expr mask;
  for (size_t j = 0; j < length; ++j) {
    tuple[outer] = c.s.constant(Dim(static_cast<int64_t>(j)));
    from.push_back(checked_index(c, c.s.read(1, tuple), x[batch + j], "gather_nd index"));
    mask = both(c, mask, not_empty(c, x[batch + j]));
  }
  for (size_t i = outer; i < c.coords.size(); ++i) from.push_back(c.coords[i]);
  c.sources.push_back({0, std::move(from), mask});
}

namespace {

Expr combined(BodyContext& c, Expr old, Expr update) {
  const std::string_view how = c.node.s("reduction");
  KernelBuilder& k = c.k();
  return how == "none"  ? update
         : how == "add" ? k.add(old, update)
         : how == "mul" ? k.mul(old, update)
         : how == "max" ? k.max(old, update)
                        : k.min(old, update);
}

// The index (any lanes) counted from the start; a scalar one is checked, which records a wrong one. (A vector of indices has no check: the
// attempt is given up.)
Expr resolved_index(BodyContext& c, Expr index, const Dim& extent, std::string what) {
  return c.s.scalar(checked_index(c, index, extent, std::move(what)));
}

// True at the lanes where the coordinate is the index.
Expr equals(BodyContext& c, const Coord& a, Expr index) {
  const Expr v = c.s.vector(a);
  return c.k().eq(v, c.k().splat(index, c.k().lanes(v)));
}

// Runs `update(j)` for j in [0, extent) (a kernel dim), each giving a mask and the value that is combined where it holds, over the element
// of x at the coordinates.
template <class F> void scan_updates(BodyContext& c, const Dim& extent, F&& update) {
  KernelBuilder& k = c.k();
  const Expr start = c.s.read(0, c.coords);
  const bool boolean = k.type(start).kind == KType::kMask;
  // A mask is no variable's type: bools are scanned as bytes.
  const VarId sum = k.mut("acc", k.splat(boolean ? k.convert(start, DType::kU8) : start, c.s.lanes()));
  k.for_("j", k.index(0), k.dim(extent), 1, [&](Expr j) {
    const Coord at = c.s.opaque(j, 0, k.symbols().sub(extent, 1));
    const auto [mask, value] = update(at);
    const Expr u = boolean ? k.convert(value, DType::kU8) : value;
    const Expr next = combined(c, k.var(sum), u);
    k.set(sum, k.splat(mask.valid() ? k.select(mask, next, k.var(sum)) : next, c.s.lanes()));
  });
  c.result = boolean ? k.convert(k.var(sum), DType::kBool) : k.var(sum);
}

}  // namespace

void body_scatter_elements(BodyContext& c) {
  const Shape &x = c.shape(0), &idx = c.shape(1);
  const auto axis = static_cast<size_t>(axis_of(c.node, static_cast<int>(x.size())));
  scan_updates(c, c.s.dim(idx[axis]), [&](const Coord& at) {
    Coords from = c.coords;
    from[axis] = at;
    Expr inside;  // the indices may be shorter than x
    for (size_t i = 0; i < x.size(); ++i) {
      if (i != axis && !(x[i] == idx[i])) inside = both(c, inside, below(c, c.coords[i], c.k().dim(c.s.dim(idx[i]))));
    }
    const Expr index = resolved_index(c, c.s.read(1, from, inside), x[axis], "scatter_elements index");
    const Expr hit = both(c, inside, equals(c, c.coords[axis], index));
    return std::pair(hit, c.s.read(2, from, hit));
  });
}

void body_scatter_nd(BodyContext& c) {
  const Shape &x = c.shape(0), &idx = c.shape(1);
  const auto length = static_cast<size_t>(idx.back().constant());
  const Shape outer(idx.begin(), idx.end() - 1), tail(x.begin() + static_cast<std::ptrdiff_t>(length), x.end());
  // In flat positions where strides allow it: update j lies at j * inner + the position inside of its slice.
  const bool exact = has_exact_strides(c, idx) && has_exact_strides(c, x);
  const Coord within = c.s.flatten(Coords(axes_between(c.coords, length, c.coords.size())), tail);
  SymbolTable& symbols = c.k().symbols();
  Dim inner = 1, count = 1;
  for (const Dim& d : tail) inner = symbols.mul(inner, c.s.dim(d));
  for (const Dim& d : outer) count = symbols.mul(count, c.s.dim(d));
  scan_updates(c, count, [&](const Coord& at) {
    Coords tuple = Coords::of_flat(c.s, at, outer), from = tuple;
    tuple.push_back({});
    Expr mask;
    for (size_t j = 0; j < length; ++j) {
      const Coord part = c.s.constant(Dim(static_cast<int64_t>(j)));
      tuple[outer.size()] = part;
      const Coords place = exact ? Coords::of_flat(c.s, c.s.add(c.s.scale(at, Dim(static_cast<int64_t>(length))), part), idx) : tuple;
      mask = both(c, mask, equals(c, c.coords[j], resolved_index(c, c.s.read(1, place), x[j], "scatter_nd index")));
    }
    for (size_t i = length; i < c.coords.size(); ++i) from.push_back(c.coords[i]);
    const Coords place = exact ? Coords::of_flat(c.s, c.s.add(c.s.scale(at, inner), within), c.shape(2)) : from;
    return std::pair(mask, c.s.read(2, place, mask));
  });
}

void body_one_hot(BodyContext& c) {
  KernelBuilder& k = c.k();
  const auto axis = static_cast<size_t>(axis_of(c.node, static_cast<int>(c.coords.size())));
  Coords from(axes_between(c.coords, 0, axis));
  for (size_t i = axis + 1; i < c.coords.size(); ++i) from.push_back(c.coords[i]);
  const Expr given = c.s.read(0, from), depth = k.dim(c.s.dim(c.node.dims("depth")[0]));
  const Expr index = k.to_index(given), zero = k.splat(k.index(0), k.lanes(index));
  const Expr wrapped =
      is_signed_int(k.type(given).elem) ? k.select(k.lt(index, zero), k.add(index, k.splat(depth, k.lanes(index))), index) : index;
  const Expr hit = k.eq(c.s.vector(c.coords[axis]), wrapped);
  const auto value = [&](int64_t n) { return c.s.read(1, Coords(std::vector<Coord>{c.s.constant(Dim(n))})); };
  c.result = k.select(hit, value(1), value(0));
}

}  // namespace nnc

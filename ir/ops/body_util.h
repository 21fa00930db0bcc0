#pragma once
// Coordinate arithmetic that bodies of moving ops share. Dims of the graph are given; they become kernel dims here.

#include "ir/body.h"
#include "ir/ops/bodies.h"

namespace nnc {

inline Coord shifted(BodyContext& c, const Coord& a, const Dim& graph_dim) { return c.s.add(a, c.s.constant(c.s.dim(graph_dim))); }
// max and min by their rules (NaN wins, -0 < +0), with fewer operations where the bound is a float constant: one comparison and a choice.
Expr max_with(KernelBuilder& k, Expr x, Expr bound);
Expr min_with(KernelBuilder& k, Expr x, Expr bound);

// Axes [begin, end) of coordinates.
std::vector<Coord> axes_between(const Coords& coords, size_t begin, size_t end);

// No extent is bounded: strides are products of the extents themselves.
bool has_exact_strides(BodyContext& c, const Shape& shape);

// Comparisons of a coordinate with an index x1: as wide as the coordinate varies.
Expr below(BodyContext& c, const Coord& a, Expr bound);        // a < bound
Expr at_or_above(BodyContext& c, const Coord& a, Expr bound);  // a >= bound
// Both masks; an invalid one always holds.
Expr both(BodyContext& c, Expr a, Expr b);
// The extent is known not to be 0.
bool never_empty(BodyContext& c, const Dim& graph_dim);
// A mask that holds if the extent is not 0, invalid where that is known.
Expr not_empty(BodyContext& c, const Dim& graph_dim);
// The coordinate as one number for all lanes; where lanes differ the vector attempt is given up.
Expr uniform(BodyContext& c, const Coord& a);
// A data-dependent index, negative ones counted from the end, checked against the extent; for all lanes the same, else the vector attempt
// is given up.
Coord checked_index(BodyContext& c, Expr index, const Dim& extent, std::string what);
// An integer constant of any value; `bits` above the type's width are dropped.
inline Expr integer_constant(KernelBuilder& k, DType t, uint64_t bits, int lanes = 1) {
  const int width = dtype_bits(t);
  return k.constant_bits(KType::of(t, lanes), width < 64 ? bits & ((uint64_t(1) << width) - 1) : bits);
}
inline int64_t axis_of(const Node& node, int rank) {
  const int64_t axis = node.i("axis");
  return axis < 0 ? axis + rank : axis;
}

}  // namespace nnc

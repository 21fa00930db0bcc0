#pragma once
// What the skeletons of products agree on, whatever their target: which operand is what, extents, and the coordinates of operands and
// result from batch axes, row, column and depth. Internal to the skeletons.

#include <vector>

#include "codegen/contraction.h"

namespace nnc {

struct ProductFacts {
  const Node* node = nullptr;
  ValueId a, b, bias, result;
  Shape batch;  // of the result, without the axes merged into m
  Dim m = 1, n = 1, k;
  bool a_vector = false, b_vector = false, packed = false;
  bool merged = false;  // the right operand has no batch: all leading axes of the left one are rows
  bool ta = false, tb = false;
  DType acc = DType::kF32;
};

// Of a matrix product or of a convolution with a 1 x 1 kernel: the same thing.
Result<ProductFacts> product_facts(const Graph& g, NodeId id);

// Leading coordinates of an operand from the result's batch axes, which are the body's first axes.
void batch_coords(GroupBody& body, const ProductFacts& f, const Shape& shape, size_t batch, Coords& c);
Coords left_coords(GroupBody& body, const ProductFacts& f, const Coord& row, const Coord& depth, const Dim& extent);
Coords right_coords(GroupBody& body, const ProductFacts& f, const Coord& depth, const Coord& column);
Coords product_coords(GroupBody& body, const ProductFacts& f, const Coord& row, const Coord& column, const Dim& columns);
// Axes from one flat number, by division where more than one is longer than 1.
std::vector<IterAxis> unpack_axes(GroupBody& body, const Shape& shape, Expr flat);

}  // namespace nnc

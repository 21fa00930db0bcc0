#include "codegen/product_facts.h"

namespace nnc {

Result<ProductFacts> product_facts(const Graph& g, NodeId id) {
  ProductFacts f;
  f.node = &g.node(id);
  f.a = f.node->operands[0];
  f.b = f.node->operands[1];
  f.result = f.node->results[0];
  f.acc = accumulator_of(g, *f.node);
  SymbolTable& s = const_cast<Graph&>(g).symbols();
  const Shape &sa = g.type(f.a).shape, &sc = g.type(f.result).shape;
  if (f.node->kind == OpKind::kConv) {
    if (f.node->operands.size() > 2) f.bias = f.node->operands[2];
    f.packed = f.node->s("w_format") == "panel16";
    f.k = sa.back();
    f.n = sc.back();
    f.m = s.mul(std::span<const Dim>(sc.data(), sc.size() - 1));
    f.merged = true;
    return f;
  }
  const Shape& sb = g.type(f.b).shape;
  f.packed = !f.node->s("b_format").empty();
  f.a_vector = sa.size() == 1;
  f.b_vector = !f.packed && sb.size() == 1;
  f.ta = f.node->i("transpose_a") != 0, f.tb = f.node->i("transpose_b") != 0;
  f.k = f.a_vector ? sa[0] : sa[sa.size() - (f.ta ? 2 : 1)];
  if (f.packed)
    f.n = f.node->dims("n")[0];
  else if (!f.b_vector)
    f.n = sb[sb.size() - (f.tb ? 2 : 1)];
  const size_t own = sb.size() - (f.packed ? 3 : f.b_vector ? 1 : 2);
  if (own == 0 && !f.ta && sa.size() > 2) {
    f.merged = true;
    f.m = s.mul(std::span<const Dim>(sa.data(), sa.size() - 1));
    return f;
  }
  if (!f.a_vector) f.m = sa[sa.size() - (f.ta ? 1 : 2)];
  f.batch.assign(sc.begin(), sc.end() - (f.a_vector ? 0 : 1) - (f.b_vector ? 0 : 1));
  return f;
}

namespace {
// A factor that is 0 where `extent` is 1: broadcasting along an axis whose extent is not known.
Dim stride_factor(GroupBody& body, const Dim& extent) {
  SymbolTable& s = const_cast<Graph&>(body.graph()).symbols();
  return body.dim(s.min(s.max(s.sub(extent, 1), 0), 1));
}

}  // namespace

void batch_coords(GroupBody& body, const ProductFacts& f, const Shape& shape, size_t batch, Coords& c) {
  const size_t skip = f.batch.size() - batch;
  for (size_t i = 0; i < batch; ++i) {
    if (shape[i].is_const(1)) continue;
    const Coord axis = body.axis(static_cast<uint32_t>(i + skip));
    c[i] = shape[i] == f.batch[i + skip] ? axis : body.scale(axis, stride_factor(body, shape[i]));
  }
}

std::vector<IterAxis> unpack_axes(GroupBody& body, const Shape& shape, Expr flat) {
  KernelBuilder& k = body.k();
  std::vector<IterAxis> axes;
  size_t outermost = shape.size();
  for (size_t i = shape.size(); i-- > 0;)
    if (!shape[i].is_const(1)) outermost = i;
  for (const Dim& d : shape) axes.push_back(IterAxis{body.dim(d), k.index(0), false, 1});
  Expr rest = flat;
  for (size_t a = shape.size(); a-- > 0;) {
    if (shape[a].is_const(1)) continue;
    if (a == outermost) {
      axes[a].base = rest;
      break;
    }
    axes[a].base = k.let("i", k.floormod(rest, k.dim(axes[a].extent)));
    rest = k.let("t", k.floordiv(rest, k.dim(axes[a].extent)));
  }
  return axes;
}

Coords left_coords(GroupBody& body, const ProductFacts& f, const Coord& row, const Coord& depth, const Dim& extent) {
  const Shape& shape = body.graph().type(f.a).shape;
  if (f.merged) return Coords::of_flat(body, body.add(body.scale(row, extent), depth), shape);
  Coords c(shape.size());
  if (f.a_vector) {
    c[0] = depth;
    return c;
  }
  batch_coords(body, f, shape, shape.size() - 2, c);
  c[shape.size() - 2] = f.ta ? depth : row;
  c[shape.size() - 1] = f.ta ? row : depth;
  return c;
}

Coords right_coords(GroupBody& body, const ProductFacts& f, const Coord& depth, const Coord& column) {
  const Shape& shape = body.graph().type(f.b).shape;
  Coords c(shape.size());
  if (f.b_vector) {
    c[0] = depth;
    return c;
  }
  if (!f.merged && f.node->kind != OpKind::kConv) batch_coords(body, f, shape, shape.size() - 2, c);
  c[shape.size() - 2] = f.tb ? column : depth;
  c[shape.size() - 1] = f.tb ? depth : column;
  return c;
}

Coords product_coords(GroupBody& body, const ProductFacts& f, const Coord& row, const Coord& column, const Dim& columns) {
  if (f.merged)
    return Coords::of_flat(body, f.b_vector ? row : body.add(body.scale(row, columns), column), body.graph().type(f.result).shape);
  Coords c;
  for (size_t b = 0; b < f.batch.size(); ++b) c.push_back(f.batch[b].is_const(1) ? Coord{} : body.axis(static_cast<uint32_t>(b)));
  if (!f.a_vector) c.push_back(row);
  if (!f.b_vector) c.push_back(column);
  return c;
}

}  // namespace nnc

#include "ir/ops/body_util.h"

#include "ir/support/mutant.h"

#include <cmath>
#include <optional>

namespace nnc {

namespace {

// The value of a float constant that is no NaN.
std::optional<double> float_constant(KernelBuilder& k, Expr e) {
  const ExprNode& n = k.node(e);
  const Expr inner = n.op == ExprOp::kSplat ? Expr{n.a} : e;
  const ExprNode& c = k.node(inner);
  if (c.op != ExprOp::kConst || !c.type.floating()) return std::nullopt;
  const double v = load_f64(c.type.elem, &c.bits, 0);
  return std::isnan(v) ? std::nullopt : std::optional(v);
}

}  // namespace

// A NaN in x fails the comparison and stays. Where the bound is a zero, the comparison includes or excludes the other zero as the order of
// zeros has it.
Expr max_with(KernelBuilder& k, Expr x, Expr bound) {
  const auto c = float_constant(k, bound);
  if (c && mutant("relu_loses_nan")) return k.select(k.lt(bound, x), x, bound);
  if (!c) return k.max(x, bound);
  return k.select(*c == 0 && !std::signbit(*c) ? k.le(x, bound) : k.lt(x, bound), bound, x);
}

Expr min_with(KernelBuilder& k, Expr x, Expr bound) {
  const auto c = float_constant(k, bound);
  if (!c) return k.min(x, bound);
  return k.select(*c == 0 && std::signbit(*c) ? k.le(bound, x) : k.lt(bound, x), bound, x);
}

std::vector<Coord> axes_between(const Coords& coords, size_t begin, size_t end) {
  std::vector<Coord> out;
  for (size_t i = begin; i < end; ++i) out.push_back(coords[i]);
  return out;
}

bool has_exact_strides(BodyContext& c, const Shape& shape) {
  const SymbolTable& symbols = c.graph.symbols();
  for (const Dim& d : shape) {
    for (const Term& t : d.terms()) {
      for (const uint32_t s : t.mono.s) {
        if (s != 0 && symbols[SymbolId(s - 1)].binding == Binding::kBounded) return false;
      }
    }
  }
  return true;
}

namespace {

Expr as_wide(BodyContext& c, Expr bound, Expr like) { return c.k().splat(bound, c.k().lanes(like)); }

}  // namespace

Expr below(BodyContext& c, const Coord& a, Expr bound) {
  const Expr v = c.s.vector(a);
  return c.k().lt(v, as_wide(c, bound, v));
}

Expr at_or_above(BodyContext& c, const Coord& a, Expr bound) {
  const Expr v = c.s.vector(a);
  return c.k().le(as_wide(c, bound, v), v);
}

Expr both(BodyContext& c, Expr a, Expr b) { return !a.valid() ? b : !b.valid() ? a : c.k().logical_and(a, b); }

bool never_empty(BodyContext& c, const Dim& graph_dim) { return c.k().symbols().at_least(c.s.dim(graph_dim), 1) == Ternary::kYes; }

Expr not_empty(BodyContext& c, const Dim& graph_dim) {
  if (never_empty(c, graph_dim)) return {};
  return c.k().lt(c.k().index(0), c.k().dim(c.s.dim(graph_dim)));
}

Expr uniform(BodyContext& c, const Coord& a) {
  for (const CoordTerm& t : a.terms) {
    if (t.axis == kLaneAxis) return c.s.cannot_vectorise(KType::index());
  }
  return c.s.scalar(a);
}

Coord checked_index(BodyContext& c, Expr index, const Dim& extent, std::string what) {
  KernelBuilder& k = c.k();
  Expr i = k.lanes(index) > 1 ? c.s.cannot_vectorise(KType::index()) : k.to_index(index);
  const Dim n = c.s.dim(extent);
  if (!mutant("gather_does_not_wrap")) i = k.let("i", k.select(k.lt(i, k.index(0)), k.add(i, k.dim(n)), i));
  return c.s.opaque(c.s.check(i, extent, std::move(what)), 0, k.symbols().sub(n, 1));
}

}  // namespace nnc

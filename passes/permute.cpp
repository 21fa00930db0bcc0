#include <algorithm>
#include <numeric>

#include "passes/layout.h"
#include "passes/weights.h"

namespace nnc {

Perm inverse(const Perm& p) {
  Perm q(p.size());
  for (size_t k = 0; k < p.size(); ++k) q[static_cast<size_t>(p[k])] = static_cast<int64_t>(k);
  return q;
}

bool moves_nothing(const Shape& from, const Perm& perm) {
  int64_t last = -1;
  for (int64_t p : perm) {
    if (from[static_cast<size_t>(p)].is_const(1)) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

Result<ValueId> permuted(Builder& b, ValueId v, const Perm& perm) {
  if (const Tensor* t = const_value(b.graph(), v); t != nullptr && dtype_bits(t->dtype()) >= 8 && dtype_bits(t->dtype()) <= 64)
    return b.constant(transposed(*t, perm));
  const Shape from = b.shape(v);
  if (!moves_nothing(from, perm)) return b.transpose(v, perm);
  Shape to;
  for (int64_t p : perm) to.push_back(from[static_cast<size_t>(p)]);
  return b.reshape(v, to);
}

std::optional<std::vector<AxisGroup>> axis_groups(SymbolTable& s, const Shape& from, const Shape& to) {
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // Extents of one stand alone, so that they can be dropped and made anywhere.
    if (i < from.size() && from[i].is_const(1) && !(j < to.size() && to[j].is_const(1))) {
      groups.push_back({i, i + 1, j, j});
      ++i;
      continue;
    }
    if (j < to.size() && to[j].is_const(1) && !(i < from.size() && from[i].is_const(1))) {
      groups.push_back({i, i, j, j + 1});
      ++j;
      continue;
    }
    if (i == from.size() || j == to.size()) return std::nullopt;
    AxisGroup g{i, i + 1, j, j + 1};
    Dim a = from[i], b = to[j];
    while (a != b) {
      // Grow the side that divides the other; constants decide by size.
      const bool grow_from = a.is_const() && b.is_const() ? a.constant() < b.constant() : s.div_exact(b, a).has_value();
      if (grow_from) {
        if (g.from_end == from.size()) return std::nullopt;
        a = s.mul(a, from[g.from_end++]);
      } else {
        if (g.to_end == to.size()) return std::nullopt;
        b = s.mul(b, to[g.to_end++]);
      }
    }
    i = g.from_end;
    j = g.to_end;
    groups.push_back(g);
  }
  return groups;
}

std::optional<std::pair<Shape, Perm>> reshape_before_transpose(SymbolTable& symbols, const Shape& x, const Perm& perm, const Shape& to) {
  Shape y;
  for (int64_t p : perm) y.push_back(x[static_cast<size_t>(p)]);
  const std::optional<std::vector<AxisGroup>> groups = axis_groups(symbols, y, to);
  if (!groups) return std::nullopt;
  // Groups in the order of x's axes; those that hold no axis of more than one element come last, they move for nothing.
  std::vector<std::pair<int64_t, size_t>> order;
  for (size_t k = 0; k < groups->size(); ++k) {
    const AxisGroup& g = (*groups)[k];
    int64_t first = -1, last = -1;
    for (size_t i = g.from; i < g.from_end; ++i) {
      if (y[i].is_const(1)) continue;
      // Axes of x between two of one group must have one element.
      for (int64_t between = last + 1; last >= 0 && between < perm[i]; ++between) {
        if (!x[static_cast<size_t>(between)].is_const(1)) return std::nullopt;
      }
      if (last >= 0 && perm[i] < last) return std::nullopt;
      last = perm[i];
      if (first < 0) first = last;
    }
    order.push_back({first < 0 ? static_cast<int64_t>(x.size() + k) : first, k});
  }
  std::sort(order.begin(), order.end());
  Shape shape;
  Perm back(to.size());
  for (const auto& [first, k] : order) {
    for (size_t j = (*groups)[k].to; j < (*groups)[k].to_end; ++j) {
      back[j] = static_cast<int64_t>(shape.size());
      shape.push_back(to[j]);
    }
  }
  return std::make_pair(std::move(shape), std::move(back));
}

}  // namespace nnc

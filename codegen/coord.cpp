// Arithmetic on coordinates: affine combinations of iteration axes, and splitting by an extent without a division where the terms allow it.

#include <algorithm>
#include <numeric>

#include "codegen/group_body.h"
#include "codegen/planner.h"
#include "ir/support/mutant.h"

namespace nnc {

namespace {
void add_term(SymbolTable& s, std::vector<CoordTerm>& terms, uint32_t axis, const Dim& coeff) {
  auto it = std::lower_bound(terms.begin(), terms.end(), axis, [](const CoordTerm& t, uint32_t a) { return t.axis < a; });
  if (it != terms.end() && it->axis == axis) {
    it->coeff = s.add(it->coeff, coeff);
    if (it->coeff.is_const(0)) terms.erase(it);
  } else if (!coeff.is_const(0)) {
    terms.insert(it, CoordTerm{axis, coeff});
  }
}
}  // namespace

Coord GroupBody::axis(uint32_t a) {
  Coord c;
  c.terms.push_back({a, 1});
  if (axes_[a].lane && lanes_ > 1) c.terms.push_back({kLaneAxis, 1});
  return c;
}

Coord GroupBody::constant(const Dim& d) {
  Coord c;
  c.offset = d;
  return c;
}

Coord GroupBody::add(const Coord& a, const Coord& b) {
  Coord c = a;
  for (const CoordTerm& t : b.terms) add_term(k_.symbols(), c.terms, t.axis, t.coeff);
  for (const OpaqueTerm& o : b.opaque) c.opaque.push_back(o);
  c.offset = k_.symbols().add(a.offset, b.offset);
  return c;
}

Coord GroupBody::scale(const Coord& a, const Dim& factor) {
  if (factor.is_const(1)) return a;
  Coord c;
  if (factor.is_const(0)) return c;
  c = a;
  for (CoordTerm& t : c.terms) t.coeff = k_.symbols().mul(t.coeff, factor);
  for (OpaqueTerm& o : c.opaque) o.factor = k_.symbols().mul(o.factor, factor);
  c.offset = k_.symbols().mul(a.offset, factor);
  return c;
}

Coord GroupBody::opaque(Expr scalar_index, int64_t lo, Dim hi_inclusive) {
  Coord c;
  if (auto v = k_.as_const_index(scalar_index)) {
    c.offset = *v;
    return c;
  }
  OpaqueTerm o;
  o.expr = scalar_index;
  o.factor = 1;
  o.lo = lo;
  o.hi_dim = std::move(hi_inclusive);
  o.has_hi_dim = true;
  c.opaque.push_back(std::move(o));
  return c;
}

// Largest value of a coordinate as a dim, if all coefficients are known to be non-negative.
Dim GroupBody::range_hi(const Coord& c, bool* known) {
  SymbolTable& s = k_.symbols();
  *known = true;
  Dim hi = c.offset;
  const Dim* lane_coeff = nullptr;
  for (const CoordTerm& t : c.terms)
    if (t.axis == kLaneAxis) lane_coeff = &t.coeff;
  bool lane_covered = lane_coeff == nullptr;
  for (const CoordTerm& t : c.terms) {
    if (s.at_least(t.coeff, 0) != Ternary::kYes) *known = false;
    if (t.axis == kLaneAxis) continue;
    if (axes_[t.axis].lane && lane_coeff && *lane_coeff == t.coeff) lane_covered = true;
    hi = s.add(hi, s.mul(t.coeff, s.sub(axes_[t.axis].extent, 1)));
  }
  if (!lane_covered) hi = s.add(hi, s.mul(*lane_coeff, lanes_ - 1));
  for (const OpaqueTerm& o : c.opaque) {
    if (!o.has_hi_dim || s.at_least(o.factor, 0) != Ternary::kYes) {
      *known = false;
      continue;
    }
    hi = s.add(hi, s.mul(o.factor, o.hi_dim));
  }
  return hi;
}

// 0 <= c is provable, also where an axis counts down.
bool GroupBody::never_negative(const Coord& c) {
  SymbolTable& s = k_.symbols();
  Dim lo = c.offset;
  for (const CoordTerm& t : c.terms) {
    if (s.at_least(t.coeff, 0) == Ternary::kYes) continue;
    if (s.at_most(t.coeff, Dim(0)) != Ternary::kYes || t.axis == kLaneAxis) return false;
    lo = s.add(lo, s.mul(t.coeff, s.sub(axes_[t.axis].extent, 1)));
  }
  for (const OpaqueTerm& o : c.opaque)
    if (o.lo < 0 || s.at_least(o.factor, 0) != Ternary::kYes) return false;
  return s.at_least(lo, 0) == Ternary::kYes;
}

// 0 <= c < f is provable.
bool GroupBody::fits_below(const Coord& c, const Dim& f) {
  SymbolTable& s = k_.symbols();
  if (s.at_least(c.offset, 0) != Ternary::kYes) return false;
  for (const OpaqueTerm& o : c.opaque)
    if (o.lo < 0) return false;
  bool known = false;
  const Dim hi = range_hi(c, &known);
  return known && s.at_least(s.sub(f, hi), mutant("what_reaches_counts_as_below") ? 0 : 1) == Ternary::kYes;
}

// Where all but a small part of `a` is made of multiples of some c, and c divides f: (c * x + small) / f = x / (f / c), and the small part
// takes part in no division.
std::optional<std::pair<Coord, Coord>> GroupBody::split_nested(const Coord& a, const Dim& f) {
  SymbolTable& s = k_.symbols();
  std::optional<std::pair<Coord, Dim>> best;  // the part to be split, and c
  size_t best_terms = a.terms.size() + a.opaque.size();
  const auto attempt = [&](const Dim& c) {
    if (c.is_const(1) || s.at_least(c, 0) != Ternary::kYes || !s.div_exact(f, c)) return;
    Coord big, small;
    for (const CoordTerm& t : a.terms) {
      if (const auto q = s.div_exact(t.coeff, c))
        big.terms.push_back({t.axis, *q});
      else
        small.terms.push_back(t);
    }
    for (const OpaqueTerm& o : a.opaque) {
      const auto q = s.div_exact(o.factor, c);
      (q ? big : small).opaque.push_back(o);
      if (q) big.opaque.back().factor = *q;
    }
    if (const auto q = s.div_exact(a.offset, c))
      big.offset = *q;
    else
      small.offset = a.offset;
    const size_t terms = big.terms.size() + big.opaque.size();
    if (terms >= best_terms || !fits_below(small, c)) return;
    best = {std::move(big), c};
    best_terms = terms;
  };
  for (const CoordTerm& t : a.terms) attempt(t.coeff);
  for (const OpaqueTerm& o : a.opaque) attempt(o.factor);
  if (!best) return std::nullopt;
  const auto& [big, c] = *best;
  auto [quotient, remainder] = split(big, *s.div_exact(f, c));
  const Coord small = add(a, scale(scale(big, c), Dim(-1)));
  return std::pair(std::move(quotient), add(scale(remainder, c), small));
}

std::pair<Coord, Coord> GroupBody::split(const Coord& a, const Dim& f) {
  SymbolTable& s = k_.symbols();
  if (f.is_const(1)) return {a, constant(0)};
  Coord hi, rest;
  for (const CoordTerm& t : a.terms) {
    if (auto q = s.div_exact(t.coeff, f))
      hi.terms.push_back({t.axis, *q});
    else
      rest.terms.push_back(t);
  }
  for (const OpaqueTerm& o : a.opaque) {
    if (auto q = s.div_exact(o.factor, f)) {
      hi.opaque.push_back(o);
      hi.opaque.back().factor = *q;
    } else {
      rest.opaque.push_back(o);
    }
  }
  if (auto q = s.div_exact(a.offset, f); q && !a.offset.is_const(0)) {
    hi.offset = *q;
  } else if (a.offset.is_const() && f.is_const() && f.constant() > 0 && a.offset.constant() >= 0) {
    hi.offset = a.offset.constant() / f.constant();
    rest.offset = a.offset.constant() % f.constant();
  } else {
    rest.offset = a.offset;
  }
  if (rest.terms.empty() && rest.opaque.empty() && rest.offset.is_const(0)) return {hi, rest};
  if (fits_below(rest, f)) return {hi, rest};
  if (auto nested = split_nested(rest, f)) return {add(hi, nested->first), std::move(nested->second)};

  // A single axis that straddles the boundary: finer iteration axes would help.
  for (const CoordTerm& t : rest.terms) {
    if (t.axis == kLaneAxis) continue;
    auto inner = s.div_exact(f, t.coeff);
    if (inner && s.at_least(*inner, 0) == Ternary::kYes && s.div_exact(axes_[t.axis].extent, *inner) && !inner->is_const(1) &&
        !(*inner == axes_[t.axis].extent))
      splits_.push_back({t.axis, *inner});
  }
  int64_t lane_step = 0;
  for (const CoordTerm& t : rest.terms)
    if (t.axis == kLaneAxis) lane_step = t.coeff.is_const() ? t.coeff.constant() : -1;
  if (lane_step != 0) {
    bool aligned = lane_step == 1 && f.is_const() && f.constant() % lanes_ == 0 && s.divisible(rest.offset, lanes_) == Ternary::kYes &&
                   rest.opaque.empty();
    for (const CoordTerm& t : rest.terms)
      if (t.axis != kLaneAxis && axes_[t.axis].align % lanes_ != 0 && s.divisible(t.coeff, lanes_) != Ternary::kYes) aligned = false;
    if (!aligned) {
      vector_failed_ = true;
      return {hi, rest};
    }
  }
  Coord lane_part;
  Coord uniform = rest;
  uniform.terms.clear();
  for (const CoordTerm& t : rest.terms) {
    if (t.axis == kLaneAxis)
      lane_part.terms.push_back(t);
    else
      uniform.terms.push_back(t);
  }
  const Expr e = k_.let("p", scalar(uniform));
  bool known = false;
  const Dim top = range_hi(rest, &known);
  const Expr fe = k_.dim(f);
  const Dim some = s.max(f, 1);  // without elements nothing is divided, but bounds are evaluated
  Coord q = opaque(k_.let("q", k_.floordiv(e, fe)), never_negative(rest) ? 0 : -kDimMax, known ? s.floordiv(top, some) : Dim(kDimMax));
  Coord r = opaque(k_.let("r", k_.floormod(e, fe)), 0, s.sub(f, 1 + (lane_step != 0 ? lanes_ - 1 : 0)));
  return {add(hi, q), add(r, lane_part)};
}

Expr GroupBody::scalar(const Coord& c) {
  Expr sum = k_.dim(c.offset);
  for (const CoordTerm& t : c.terms)
    if (t.axis != kLaneAxis) sum = k_.add(sum, k_.mul(axes_[t.axis].base, k_.dim(t.coeff)));
  for (const OpaqueTerm& o : c.opaque) sum = k_.add(sum, k_.mul(o.expr, k_.dim(o.factor)));
  return sum;
}

Expr GroupBody::vector(const Coord& c) {
  record(0x40000000u, c);
  const Expr base = scalar(c);
  for (const CoordTerm& t : c.terms)
    if (t.axis == kLaneAxis) return k_.add(k_.splat(base, lanes_), k_.mul(k_.iota(lanes_), k_.splat(k_.dim(t.coeff), lanes_)));
  return base;
}

Coord GroupBody::flatten(const Coords& coords, const Shape& shape) {
  if (const Coord* flat = coords.flat()) return *flat;
  Coord flat;
  Dim stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    flat = add(flat, scale(coords[i], stride));
    stride = k_.symbols().mul(stride, storage(shape[i]));
  }
  return flat;
}

// Strides are made for the upper bounds of bounded symbols.
Dim GroupBody::storage(const Dim& graph_dim) { return dim(capacity(const_cast<Graph&>(g_).symbols(), graph_dim)); }

Coord GroupBody::axis_of(const Coord& flat, const Shape& shape, size_t axis) {
  if (shape[axis].is_const(1)) return {};
  Dim inner = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i) inner = k_.symbols().mul(inner, storage(shape[i]));
  bool first = true;
  for (size_t i = 0; i < axis; ++i) first = first && shape[i].is_const(1);
  Coord c = split(flat, inner).first;
  return first ? c : split(c, storage(shape[axis])).second;
}

Coords GroupBody::broadcast_coords(const Coords& coords, const Shape& from, const Shape& to) {
  Coords out(from.size());
  const size_t skip = mutant("broadcast_from_the_left") ? 0 : to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    const Dim& have = from[i];
    const Dim& want = to[i + skip];
    if (have.is_const(1)) continue;
    if (have == want || have.is_const()) {
      out[i] = coords[i + skip];
    } else {
      // Unknown whether this extent is 1: the launch computes the stride factor min(extent - 1, 1).
      SymbolTable& outer = const_cast<Graph&>(g_).symbols();
      out[i] = scale(coords[i + skip], dim(outer.min(outer.max(outer.sub(have, 1), 0), 1)));
    }
  }
  return out;
}

}  // namespace nnc

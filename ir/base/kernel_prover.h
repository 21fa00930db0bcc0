#pragma once
// Inequalities over named quantities, and a prover for them: the arithmetic behind the bounds proof. A quantity ("atom") is a number with
// bounds that speak of earlier atoms; a polynomial over atoms is a Dim whose symbols are atoms.

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ir/base/dim_poly.h"

namespace nnc {

using AtomId = SymbolId;

struct Atom {
  enum Kind : uint8_t { kRange, kMin, kMax, kEither } kind = kRange;
  std::optional<Dim> lo, hi;    // kRange, over earlier atoms
  std::optional<Dim> hi_needs;  // `hi` holds only where this is >= 0
  Dim a, b;                     // kMin, kMax: of these; kEither: one of these
  std::vector<Dim> facts;       // polynomials that are >= 0 by definition of the atom
  int64_t divisor = 1;
};

class Prover {
 public:
  AtomId add(Atom a) { return atoms_.push(std::move(a)); }
  const Atom& operator[](AtomId a) const { return atoms_[a]; }
  Atom& edit(AtomId a) { return atoms_[a]; }
  // Facts hold until `drop` takes the list back to an earlier length.
  void assume(Dim at_least_zero) { facts_.push_back(std::move(at_least_zero)); }
  size_t mark() const { return facts_.size(); }
  void drop(size_t mark) { facts_.resize(mark); }

  bool at_least_zero(const Dim& d);          // with facts
  bool plainly_at_least_zero(const Dim& d);  // by bounds alone
  // Of each goal (null: no). Goals that are equal but for a constant are shown by the least of them.
  std::vector<bool> all_at_least_zero(std::span<const Dim* const> goals);
  // A polynomial over the first `count` atoms that bounds `d` from above.
  std::optional<Dim> upper(const Dim& d, size_t count);
  int64_t divisor(const Dim& d) const;  // divides every value of d

  static Dim substitute_or(const Dim& d, AtomId v, const Dim& by, bool* ok);

 private:
  static constexpr int kDepth = 24;
  bool plain(const Dim& d, int depth);
  bool with_facts(const Dim& d, int depth);
  std::optional<Dim> without_newest(const Dim& d);

  IdVec<AtomId, Atom> atoms_;
  std::vector<Dim> facts_;
  int budget_ = 0;
};

// d = slope * v + rest; nothing if v occurs with a power.
struct LinearIn {
  Dim slope, rest;
};
std::optional<LinearIn> linear_in(const Dim& d, AtomId v);
std::optional<AtomId> newest_atom(const Dim& d);

}  // namespace nnc

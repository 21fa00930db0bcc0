#include "ir/base/kernel_prover.h"

#include <algorithm>
#include <numeric>

namespace nnc {

std::optional<AtomId> newest_atom(const Dim& d) {
  uint32_t newest = 0;
  for (const Term& t : d.terms()) newest = std::max(newest, t.mono.s[0]);
  if (newest == 0) return std::nullopt;
  return AtomId(newest - 1);
}

std::optional<LinearIn> linear_in(const Dim& d, AtomId v) {
  std::vector<Term> slope, rest;
  const Mono just_v{{v.v + 1, 0, 0, 0}};
  for (const Term& t : DimPoly::terms(d)) {
    const auto without = DimPoly::over(t.mono, just_v);
    if (!without) {
      rest.push_back(t);
      continue;
    }
    if (DimPoly::over(*without, just_v)) return std::nullopt;
    slope.push_back({t.coeff, *without});
  }
  auto s = DimPoly::make(std::move(slope)), r = DimPoly::make(std::move(rest));
  if (!s || !r) return std::nullopt;
  return LinearIn{std::move(*s), std::move(*r)};
}

namespace {

std::optional<Dim> put(const LinearIn& d, const Dim& by) {
  const auto product = DimPoly::mul(d.slope, by);
  return product ? DimPoly::add(*product, d.rest) : std::nullopt;
}
std::optional<Dim> negated(const Dim& d) { return DimPoly::sub(Dim(0), d); }

}  // namespace

Dim Prover::substitute_or(const Dim& d, AtomId v, const Dim& by, bool* ok) {
  const auto l = linear_in(d, v);
  const auto r = l ? put(*l, by) : std::nullopt;
  *ok = r.has_value();
  return r ? *r : d;
}

// Every atom, newest first, at the extreme that makes `d` smallest.
bool Prover::plain(const Dim& d, int depth) {
  if (d.is_const()) return d.constant() >= 0;
  if (depth == 0 || --budget_ < 0) return false;
  const AtomId v = *newest_atom(d);
  const auto l = linear_in(d, v);
  if (!l) return false;
  const bool grows = plain(l->slope, depth - 1);
  if (!grows) {
    const auto falling = negated(l->slope);
    if (!falling || !plain(*falling, depth - 1)) return false;
  }
  const Atom& a = atoms_[v];
  if (a.kind != Atom::kRange) {
    // A minimum is at most either, and at least the smaller; a maximum the other way round.
    const bool either = (a.kind == Atom::kMin && !grows) || (a.kind == Atom::kMax && grows);
    const auto first = put(*l, a.a), second = put(*l, a.b);
    const bool x = first && plain(*first, depth - 1);
    if (x == either) return x;
    return second && plain(*second, depth - 1);
  }
  const std::optional<Dim>& extreme = grows ? a.lo : a.hi;
  if (!extreme) return false;
  if (!grows && a.hi_needs) {
    const Dim needs = *a.hi_needs;
    if (!plain(needs, depth - 1) && std::find(facts_.begin(), facts_.end(), needs) == facts_.end()) return false;
  }
  const auto next = put(*l, *extreme);
  return next && plain(*next, depth - 1);
}

// `d` with its newest atom at the extreme that makes it smallest; nothing if that is not known.
std::optional<Dim> Prover::without_newest(const Dim& d) {
  const auto v = newest_atom(d);
  if (!v || atoms_[*v].kind != Atom::kRange || atoms_[*v].hi_needs) return std::nullopt;
  const auto l = linear_in(d, *v);
  if (!l) return std::nullopt;
  const bool grows = plain(l->slope, kDepth);
  if (!grows) {
    const auto falling = negated(l->slope);
    if (!falling || !plain(*falling, kDepth)) return std::nullopt;
  }
  const std::optional<Dim>& extreme = grows ? atoms_[*v].lo : atoms_[*v].hi;
  return extreme ? put(*l, *extreme) : std::nullopt;
}

// d - factor * fact >= 0 with factor >= 0 shows d >= 0. The factor is the one that removes an atom from d.
bool Prover::with_facts(const Dim& d, int depth) {
  if (plain(d, kDepth)) return true;
  if (depth == 0 || budget_ < 0) return false;
  std::vector<const Dim*> usable;
  for (auto it = facts_.rbegin(); it != facts_.rend(); ++it) usable.push_back(&*it);
  std::vector<uint32_t> mentioned;
  for (const Term& t : d.terms())
    for (uint32_t s : t.mono.s)
      if (s != 0) mentioned.push_back(s - 1);
  std::sort(mentioned.begin(), mentioned.end(), std::greater<>());
  mentioned.erase(std::unique(mentioned.begin(), mentioned.end()), mentioned.end());
  for (uint32_t m : mentioned)
    for (const Dim& f : atoms_[AtomId(m)].facts) usable.push_back(&f);
  for (const Dim* f : usable) {
    for (uint32_t m : mentioned) {
      const auto in_fact = linear_in(*f, AtomId(m)), in_goal = linear_in(d, AtomId(m));
      if (!in_fact || !in_goal || in_fact->slope.is_const(0)) continue;
      const auto factor = DimPoly::div_exact(in_goal->slope, in_fact->slope);
      if (!factor || factor->is_const(0) || !plain(*factor, kDepth)) continue;
      const auto scaled = DimPoly::mul(*factor, *f);
      const auto rest = scaled ? DimPoly::sub(d, *scaled) : std::nullopt;
      if (rest && with_facts(*rest, depth - 1)) return true;
      if (budget_ < 0) return false;
    }
  }
  // A fact may speak of what bounds the newest atom.
  if (const auto next = without_newest(d)) return with_facts(*next, depth);
  // A minimum or a maximum is one of its operands.
  const auto v = newest_atom(d);
  if (!v || atoms_[*v].kind == Atom::kRange) return false;
  const auto l = linear_in(d, *v);
  const auto first = l ? put(*l, atoms_[*v].a) : std::nullopt, second = l ? put(*l, atoms_[*v].b) : std::nullopt;
  return first && second && with_facts(*first, depth) && with_facts(*second, depth);
}

bool Prover::at_least_zero(const Dim& d) {
  constexpr int kBudget = 600, kFactsDeep = 3;
  for (int deep = 0; deep <= kFactsDeep; ++deep) {
    budget_ = kBudget;
    if (with_facts(d, deep)) return true;
  }
  return false;
}

bool Prover::plainly_at_least_zero(const Dim& d) {
  budget_ = 1000;
  return plain(d, kDepth);
}

std::vector<bool> Prover::all_at_least_zero(std::span<const Dim* const> goals) {
  struct Family {
    std::span<const Term> terms;  // what its goals have in common
    const Dim* least;
    bool shown;
  };
  std::vector<Family> families;
  std::vector<size_t> family_of(goals.size());
  for (size_t i = 0; i < goals.size(); ++i) {
    if (goals[i] == nullptr) continue;
    const auto same = [&](const Family& f) { return std::ranges::equal(f.terms, goals[i]->terms()); };
    const auto found = std::ranges::find_if(families, same);
    family_of[i] = static_cast<size_t>(found - families.begin());
    if (found == families.end())
      families.push_back({goals[i]->terms(), goals[i], false});
    else if (goals[i]->constant() < found->least->constant())
      found->least = goals[i];
  }
  for (Family& f : families) f.shown = at_least_zero(*f.least);
  std::vector<bool> out(goals.size());
  for (size_t i = 0; i < goals.size(); ++i) {
    if (goals[i] == nullptr) continue;
    const Family& f = families[family_of[i]];
    out[i] = f.shown || (goals[i] != f.least && at_least_zero(*goals[i]));
  }
  return out;
}

std::optional<Dim> Prover::upper(const Dim& start, size_t count) {
  Dim d = start;
  for (int step = 0; step < kDepth; ++step) {
    const auto v = newest_atom(d);
    if (!v || v->index() < count) return d;
    const auto l = linear_in(d, *v);
    if (!l) return std::nullopt;
    const Atom& a = atoms_[*v];
    const bool grows = plainly_at_least_zero(l->slope);
    if (!grows) {
      const auto falling = negated(l->slope);
      if (!falling || !plainly_at_least_zero(*falling)) return std::nullopt;
    }
    std::optional<Dim> extreme = grows ? a.hi : a.lo;
    if ((a.kind == Atom::kMin && grows) || (a.kind == Atom::kMax && !grows)) extreme = a.a;
    if (!extreme || (grows && a.hi_needs)) return std::nullopt;
    auto next = put(*l, *extreme);
    if (!next) return std::nullopt;
    d = std::move(*next);
  }
  return std::nullopt;
}

int64_t Prover::divisor(const Dim& d) const {
  int64_t all = 0;
  for (const Term& t : DimPoly::terms(d)) {
    int64_t product = t.coeff;
    for (uint32_t s : t.mono.s) {
      int64_t next;
      if (s != 0 && !__builtin_mul_overflow(product, atoms_[AtomId(s - 1)].divisor, &next)) product = next;
    }
    all = std::gcd(all, product);
  }
  return all;
}

}  // namespace nnc

#include "ir/base/dim_poly.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace nnc {
namespace {

constexpr int kMaxDivisionSteps = 64;

using Sums = std::map<Mono, int64_t>;

bool accumulate(Sums& sums, const Mono& mono, int64_t coeff, bool negate = false) {
  const auto it = sums.try_emplace(mono, 0).first;
  const bool overflow =
      negate ? __builtin_sub_overflow(it->second, coeff, &it->second) : __builtin_add_overflow(it->second, coeff, &it->second);
  if (it->second == 0) sums.erase(it);
  return !overflow;
}

std::optional<Dim> make(const Sums& sums) {
  std::vector<Term> terms;
  for (const auto& [mono, coeff] : sums) terms.push_back({coeff, mono});
  return DimPoly::make(std::move(terms));
}

uint64_t magnitude(int64_t v) { return v < 0 ? 0 - uint64_t(v) : uint64_t(v); }

std::optional<Dim> combine(const Dim& a, const Dim& b, bool negate) {
  Sums sums;
  for (const Term& t : DimPoly::terms(a)) sums[t.mono] = t.coeff;
  for (const Term& t : DimPoly::terms(b))
    if (!accumulate(sums, t.mono, t.coeff, negate)) return std::nullopt;
  return make(sums);
}

// sums -= coeff * mono * b
bool subtract_product(Sums& sums, int64_t coeff, const Mono& mono, const std::vector<Term>& b) {
  for (const Term& t : b) {
    int64_t c;
    if (__builtin_mul_overflow(t.coeff, coeff, &c)) return false;
    const auto m = DimPoly::times(t.mono, mono);
    if (!m || !accumulate(sums, *m, c, true)) return false;
  }
  return true;
}

}  // namespace

__int128 dim_detail::round_scaled(__int128 scaled, int64_t den, int64_t mode) {
  const __int128 q = floor_div(scaled, den), twice = 2 * (scaled - q * den);
  if (mode == 0 || twice == 0) return q;
  if (mode == 1) return q + 1;
  return twice > den || (twice == den && (q & 1)) ? q + 1 : q;
}

std::vector<Term> DimPoly::terms(const Dim& d) {
  std::vector<Term> out;
  out.reserve(d.terms_.size() + 1);
  if (d.constant_ != 0) out.push_back({d.constant_, Mono{}});
  out.insert(out.end(), d.terms_.begin(), d.terms_.end());
  return out;
}

std::optional<Dim> DimPoly::make(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.mono < b.mono; });
  Dim d;
  for (const Term& t : terms) {
    if (t.coeff == 0) continue;
    if (t.mono == Mono{}) {
      if (__builtin_add_overflow(d.constant_, t.coeff, &d.constant_)) return std::nullopt;
    } else if (!d.terms_.empty() && d.terms_.back().mono == t.mono) {
      if (__builtin_add_overflow(d.terms_.back().coeff, t.coeff, &d.terms_.back().coeff)) return std::nullopt;
      if (d.terms_.back().coeff == 0) d.terms_.pop_back();
    } else {
      d.terms_.push_back(t);
    }
  }
  if (d.terms_.size() + (d.constant_ != 0) > kMaxTerms) return std::nullopt;
  return d;
}

std::optional<Mono> DimPoly::times(const Mono& a, const Mono& b) {
  Mono out;
  size_t i = 0, j = 0, n = 0;
  while (true) {
    const uint32_t x = i < 4 ? a.s[i] : 0, y = j < 4 ? b.s[j] : 0;
    if (x == 0 && y == 0) return out;
    if (n == 4) return std::nullopt;
    out.s[n++] = std::max(x, y);
    x >= y ? ++i : ++j;
  }
}

std::optional<Mono> DimPoly::over(const Mono& a, const Mono& b) {
  Mono out;
  size_t j = 0, n = 0;
  for (uint32_t s : a.s) {
    if (j < 4 && s != 0 && b.s[j] == s)
      ++j;
    else if (s != 0)
      out.s[n++] = s;
  }
  if (j < 4 && b.s[j] != 0) return std::nullopt;
  return out;
}

std::optional<Dim> DimPoly::plus_constant(const Dim& a, int64_t c, bool negate) {
  Dim d = a;
  if (negate ? __builtin_sub_overflow(a.constant_, c, &d.constant_) : __builtin_add_overflow(a.constant_, c, &d.constant_))
    return std::nullopt;
  if (d.terms_.size() + (d.constant_ != 0) > kMaxTerms) return std::nullopt;
  return d;
}

// Most extents are numbers: these cases stay free of the general machinery.
std::optional<Dim> DimPoly::add(const Dim& a, const Dim& b) {
  if (b.is_const()) return plus_constant(a, b.constant_, false);
  if (a.is_const()) return plus_constant(b, a.constant_, false);
  return combine(a, b, false);
}

std::optional<Dim> DimPoly::sub(const Dim& a, const Dim& b) {
  return b.is_const() ? plus_constant(a, b.constant_, true) : combine(a, b, true);
}

std::optional<Dim> DimPoly::mul(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) {
    int64_t product;
    if (__builtin_mul_overflow(a.constant_, b.constant_, &product)) return std::nullopt;
    return Dim(product);
  }
  if (a.is_const(1)) return b;
  if (b.is_const(1)) return a;
  const std::vector<Term> as = terms(a), bs = terms(b);
  Sums sums;
  for (const Term& x : as) {
    for (const Term& y : bs) {
      int64_t coeff;
      const auto mono = times(x.mono, y.mono);
      if (!mono || __builtin_mul_overflow(x.coeff, y.coeff, &coeff) || !accumulate(sums, *mono, coeff)) return std::nullopt;
    }
  }
  return nnc::make(sums);
}

std::optional<Dim> DimPoly::div_exact(const Dim& a, const Dim& b) {
  if (b.is_const(1)) return a;
  if (a.is_const() && b.is_const() && b.constant_ > 0)
    return a.constant_ % b.constant_ == 0 ? std::optional(Dim(a.constant_ / b.constant_)) : std::nullopt;
  const std::vector<Term> bs = terms(b);
  if (bs.empty()) return std::nullopt;
  const Term lead = bs.back();
  Sums rest;
  for (const Term& t : terms(a)) rest[t.mono] = t.coeff;
  std::vector<Term> quotient;
  for (int step = 0; !rest.empty(); ++step) {
    const auto& [mono, coeff] = *rest.rbegin();
    const auto m = over(mono, lead.mono);
    if (step == kMaxDivisionSteps || !m || (coeff == INT64_MIN && lead.coeff == -1) || coeff % lead.coeff != 0) return std::nullopt;
    const int64_t q = coeff / lead.coeff;
    quotient.push_back({q, *m});
    if (!subtract_product(rest, q, *m, bs)) return std::nullopt;
  }
  return make(std::move(quotient));
}

std::optional<std::pair<Dim, Dim>> DimPoly::divide(const Dim& a, const Dim& b) {
  const std::vector<Term> bs = terms(b);
  if (bs.empty() || bs.back().coeff <= 0) return std::nullopt;
  const Term lead = bs.back();
  Sums work;
  for (const Term& t : terms(a)) work[t.mono] = t.coeff;
  std::vector<Term> quotient, rest;
  for (int step = 0; !work.empty(); ++step) {
    if (step == kMaxDivisionSteps) return std::nullopt;
    const auto [mono, coeff] = *work.rbegin();
    const auto m = over(mono, lead.mono);
    const int64_t q = m ? int64_t(dim_detail::floor_div(coeff, lead.coeff)) : 0;
    if (q != 0) {
      quotient.push_back({q, *m});
      if (!subtract_product(work, q, *m, bs)) return std::nullopt;
    }
    // What is left of this mono is below the leading coefficient; the products added smaller monos only.
    if (auto it = work.find(mono); it != work.end()) {
      rest.push_back({it->second, mono});
      work.erase(it);
    }
  }
  auto q = make(std::move(quotient)), r = make(std::move(rest));
  if (!q || !r) return std::nullopt;
  return std::pair(std::move(*q), std::move(*r));
}

uint64_t DimPoly::content(const Dim& d, bool with_constant) {
  uint64_t g = with_constant ? magnitude(d.constant_) : 0;
  for (const Term& t : d.terms_) g = std::gcd(g, magnitude(t.coeff));
  return g;
}

}  // namespace nnc

#pragma once
// Polynomial arithmetic behind Dim: no symbol table, no bounds, no rules. Everything here is exact and answers nullopt where a coefficient
// overflows or the result passes the limits of a Dim. For the symbol table and the text form; others use SymbolTable.

#include <optional>
#include <utility>
#include <vector>

#include "ir/base/dim.h"

namespace nnc {

namespace dim_detail {
inline __int128 floor_div(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
// scaled / den, den > 0, by the modes of SymOp::kRound.
__int128 round_scaled(__int128 scaled, int64_t den, int64_t mode);
}  // namespace dim_detail

// A mono's rank in lexicographic order with the newest symbol first is that of its array, so the last term of a Dim leads.
struct DimPoly {
  static constexpr size_t kMaxTerms = 16;

  // The terms with the constant as a term of the empty mono in front; from terms in any order, equal monos summed.
  static std::vector<Term> terms(const Dim& d);
  static std::optional<Dim> make(std::vector<Term> terms);

  static std::optional<Mono> times(const Mono& a, const Mono& b);  // nullopt past degree 4
  static std::optional<Mono> over(const Mono& a, const Mono& b);   // nullopt if b does not divide a

  static std::optional<Dim> add(const Dim& a, const Dim& b);
  static std::optional<Dim> sub(const Dim& a, const Dim& b);
  static std::optional<Dim> mul(const Dim& a, const Dim& b);
  static std::optional<Dim> div_exact(const Dim& a, const Dim& b);
  // a = quotient * b + rest, with every coefficient of the rest that the leading term of b could reduce in [0, its coefficient). b must
  // lead with a positive coefficient.
  static std::optional<std::pair<Dim, Dim>> divide(const Dim& a, const Dim& b);
  static std::optional<Dim> plus_constant(const Dim& a, int64_t c, bool negate);
  static uint64_t content(const Dim& d, bool with_constant);  // gcd of the coefficients
};

}  // namespace nnc

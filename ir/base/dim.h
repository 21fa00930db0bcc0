#pragma once
// Symbolic extents. A Dim is a polynomial over symbols with integer coefficients in normal form (at most 16 terms, degree 4), so two dims
// are equal iff they are structurally equal. What is not a polynomial is a derived symbol, interned in the SymbolTable with its definition.
// This is no general algebra: only four rules exist (exact polynomial division; floordiv and mod split off multiples; constant folding;
// interval bounds). Three questions are answered yes, no or unknown; unknown costs a slower kernel or a run-time check, never a wrong
// answer.

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/ids.h"
#include "ir/support/result.h"

namespace nnc {

struct SymbolTag;
using SymbolId = Id<SymbolTag>;  // prints as s3

// A product of up to four symbols: ids + 1, descending, 0 = unused slot. The empty product is not stored in a Dim.
struct Mono {
  std::array<uint32_t, 4> s{};
  auto operator<=>(const Mono&) const = default;
};
struct Term {
  int64_t coeff = 0;
  Mono mono;
  auto operator<=>(const Term&) const = default;
};

class Dim {
 public:
  Dim() = default;
  Dim(int64_t constant) : constant_(constant) {}
  Dim(int constant) : constant_(constant) {}
  explicit Dim(SymbolId s) : terms_{Term{1, Mono{{s.v + 1, 0, 0, 0}}}} {}
  bool is_const() const { return terms_.empty(); }
  bool is_const(int64_t v) const { return terms_.empty() && constant_ == v; }
  int64_t constant() const { return constant_; }  // the constant part; the value if is_const()
  std::span<const Term> terms() const { return terms_; }
  std::optional<SymbolId> as_symbol() const;  // exactly one symbol, coefficient 1, no constant
  bool uses(SymbolId s) const;                // directly, not through derived symbols
  auto operator<=>(const Dim&) const = default;
  bool operator==(const Dim&) const = default;

 private:
  friend struct DimPoly;
  int64_t constant_ = 0;
  std::vector<Term> terms_;  // sorted by mono, no zero coefficient
};
using Shape = std::vector<Dim>;

enum class SymKind : uint8_t {
  kInput,    // an extent of an entry's input, bound at the call
  kData,     // found while the program runs: an element of an integer tensor, or a count; the op that defines it dominates all uses
  kDerived,  // computed from others, in table order
};
enum class Binding : uint8_t {
  kExact,    // the plan is made for its value
  kBounded,  // the plan is made for `hi`; kernels read the value from the dims block
};
enum class SymOp : uint8_t { kNone, kFloorDiv, kMod, kMin, kMax, kBroadcast, kRound, kOpaqueMul, kOpaqueAdd };
enum class Ternary : uint8_t { kNo, kYes, kUnknown };

inline constexpr int64_t kDimMax = int64_t(1) << 48;  // no extent is larger (limit "elements")

struct Symbol {
  std::string name;  // the user's name ("batch", "input.1") or empty
  SymKind kind = SymKind::kInput;
  Binding binding = Binding::kExact;
  int64_t lo = 0, hi = kDimMax, divisor = 1;
  int64_t typical = 0;      // for the cost model; 0: none given
  SymOp op = SymOp::kNone;  // kDerived only
  Dim a, b;                 // operands of op; kRound: a * num / den rounded by `mode`
  int64_t num = 1, den = 1;
  int64_t mode = 0;  // kRound: 0 floor, 1 ceil, 2 nearest even
  bool operator==(const Symbol&) const = default;
};

struct DimRange {
  int64_t lo, hi;  // inclusive
};

// Owns the symbols of a module and does all arithmetic on dims. Results past the limits of a polynomial become opaque derived symbols, so
// arithmetic never fails; overflow of a coefficient does too and is reported when the dim is evaluated.
class SymbolTable {
 public:
  SymbolId input(std::string name, int64_t lo = 0, int64_t hi = kDimMax, int64_t divisor = 1, int64_t typical = 0,
                 Binding binding = Binding::kExact);
  SymbolId data(std::string name, int64_t lo = INT64_MIN, int64_t hi = INT64_MAX, Binding binding = Binding::kExact);
  SymbolId add_raw(Symbol s);              // for a symbol known to be sound
  Result<SymbolId> add_checked(Symbol s);  // parser and artifact reader: kInvalidIr if bounds, divisor, operands or definition cannot be
  const Symbol& operator[](SymbolId id) const { return symbols_[id]; }
  // Narrows bounds (from the user, a guard, an op); never widens. Names and typical sizes may be replaced.
  // False, and nothing changed: no value is left (the caller reports it).
  bool narrow(SymbolId id, int64_t lo, int64_t hi, int64_t divisor = 1);
  void set_typical(SymbolId id, int64_t typical);
  void set_binding(SymbolId id, Binding b);
  void rename(SymbolId id, std::string name);
  std::optional<SymbolId> find(std::string_view name) const;
  size_t size() const { return symbols_.size(); }

  Dim add(const Dim& a, const Dim& b);
  Dim sub(const Dim& a, const Dim& b);
  Dim mul(const Dim& a, const Dim& b);
  Dim mul(std::span<const Dim> factors);                           // 1 for none
  std::optional<Dim> div_exact(const Dim& a, const Dim& b) const;  // polynomial division without remainder
  Dim floordiv(const Dim& a, const Dim& b);  // floor, also for negative a; b > 0 expected, b <= 0 is an error at evaluation
  Dim ceildiv(const Dim& a, const Dim& b);
  Dim mod(const Dim& a, const Dim& b);
  Dim min(const Dim& a, const Dim& b);
  Dim max(const Dim& a, const Dim& b);
  // 1 with x is x; equal is itself; a constant other than 1 wins over a symbol, and a derived symbol stays behind in the table that
  // `derive` checks. Two different constants other than 1 fail when evaluated: ask `equal` first.
  Dim broadcast(const Dim& a, const Dim& b);
  Dim round(const Dim& a, int64_t num, int64_t den, int64_t mode);  // den != 0

  DimRange range(const Dim& d) const;
  Ternary equal(const Dim& a, const Dim& b) const;
  Ternary at_most(const Dim& a, int64_t k) const;
  Ternary at_least(const Dim& a, int64_t k) const;
  Ternary at_most(const Dim& a, const Dim& b) const;
  Ternary divisible(const Dim& a, int64_t k) const;
  bool depends_on(const Dim& d, SymbolId s) const;  // also through derived symbols
  bool depends_on_kind(const Dim& d, SymKind kind) const;
  int64_t typical(const Dim& d) const;  // value with every symbol at its typical size (else a guess inside its bounds)
  int64_t upper(const Dim& d) const { return range(d).hi; }

  // `values` by symbol index; derived symbols must have been computed by `derive`. Checked 64-bit.
  Result<int64_t> eval(const Dim& d, std::span<const int64_t> values) const;
  // Fills in every derived symbol whose arguments are known, in table order. `known` marks which values are set and is updated.
  Status derive(std::span<int64_t> values, std::span<uint8_t> known) const;
  // Substitutes symbols by dims of another table (outlining, module linking). Unmapped symbols are an internal error.
  Dim substitute(const Dim& d, const std::map<SymbolId, Dim>& map);

  std::string str(const Dim& d) const;               // "2*s0*s1+3"; derived symbols print as their id
  std::string pretty(const Dim& d) const;            // for people: names, derived symbols spelled out
  std::string str(std::span<const Dim> dims) const;  // "[s0, 64]"
  Result<Dim> parse(std::string_view text) const;    // reads what `str` prints, with blanks; the symbols must exist

 private:
  struct Definition {
    SymOp op;
    Dim a, b;
    int64_t num, den, mode;
    auto operator<=>(const Definition&) const = default;
  };
  Dim derived(SymOp op, const Dim& a, const Dim& b, int64_t num = 1, int64_t den = 1, int64_t mode = 0);
  void refresh(Symbol& s) const;                                            // bounds and divisor of a derived symbol from its operands
  int64_t divisor(const Dim& d) const;                                      // divides every value of d; 0 for the dim 0
  std::optional<Dim> quotient_of_bounds(const Dim& a, const Dim& b) const;  // floor(a / b) where the bounds leave one value
  Result<int64_t> evaluate(const Symbol& s, std::span<const int64_t> values) const;
  std::string pretty(const Dim& d, int depth) const;
  IdVec<SymbolId, Symbol> symbols_;
  std::map<Definition, SymbolId> interned_;
};

// A dim times an exact rational: what shape arithmetic on floats carries (Resize scales).
struct Rational {
  Dim dim = 1;
  int64_t num = 1, den = 1;
  bool operator==(const Rational&) const = default;
};
// The value of an integer (or float) tensor of rank <= 1 and at most 64 elements, as far as it is known. Empty vector with `known` false:
// unknown.
struct ShapeValue {
  bool known = false;
  std::vector<std::optional<Rational>> elems;
  // All elements, if each is known and an integer dim.
  std::optional<std::vector<Dim>> dims() const;
  bool operator==(const ShapeValue&) const = default;
};
inline constexpr size_t kMaxShapeValue = 64;

}  // namespace nnc

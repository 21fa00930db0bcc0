#include <algorithm>

#include "ir/base/dim.h"
#include "ir/base/dim_poly.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

constexpr int kPrettyDepth = 8;

int degree(const Mono& m) {
  return int(std::count_if(m.s.begin(), m.s.end(), [](uint32_t s) { return s != 0; }));
}

// Terms by falling degree, then by their symbols in order of creation; the constant last.
template <class Name> std::string print(const Dim& d, Name&& name) {
  std::vector<std::pair<std::vector<uint32_t>, int64_t>> terms;
  for (const Term& t : d.terms()) {
    std::vector<uint32_t> symbols(t.mono.s.begin(), t.mono.s.begin() + degree(t.mono));
    std::reverse(symbols.begin(), symbols.end());
    terms.emplace_back(std::move(symbols), t.coeff);
  }
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    return a.first.size() != b.first.size() ? a.first.size() > b.first.size() : a.first < b.first;
  });
  std::string out;
  for (const auto& [symbols, coeff] : terms) {
    if (!out.empty() && coeff > 0) out += '+';
    if (coeff == -1)
      out += '-';
    else if (coeff != 1)
      append(out, coeff, "*");
    append(out, join(symbols, "*", [&](uint32_t s) { return name(SymbolId(s - 1)); }));
  }
  if (d.constant() > 0 && !out.empty()) out += '+';
  if (d.constant() != 0 || out.empty()) append(out, d.constant());
  return out;
}

// dim := ['-'] term (('+' | '-') term)*; term := factor ('*' factor)*; factor := integer | 's' integer
class Parser {
 public:
  Parser(std::string_view text, size_t symbols) : text_(text), symbols_(symbols) {}

  Result<Dim> run() {
    Dim sum;
    bool negative = accept('-');
    do {
      NNC_ASSIGN(Dim t, term(negative));
      auto next = DimPoly::add(sum, t);
      if (!next) return error("too many terms, or a coefficient does not fit 64 bits");
      sum = std::move(*next);
      negative = accept('-');
    } while (negative || accept('+'));
    if (at_ != text_.size()) return error("+, -, * or the end expected");
    return sum;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    skip();
    return true;
  }
  Error error(std::string_view what) const {
    Error e(Code::kParse, cat("dim ", quote(text_), ", column ", at_ + 1, ": ", what));
    e.place.column = int(at_ + 1);
    return e;
  }
  // The digits at the cursor; with `negative` down to INT64_MIN.
  Result<int64_t> number(bool negative) {
    const size_t start = at_;
    int64_t v = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const int digit = text_[at_] - '0';
      if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, negative ? -digit : digit, &v))
        return error("the number does not fit 64 bits");
    }
    if (at_ == start) return error("a number or a symbol (s0) expected");
    return v;
  }
  Result<Dim> factor(bool negative) {
    if (at_ == text_.size() || text_[at_] != 's') {
      NNC_ASSIGN(const int64_t v, number(negative));
      return Dim(v);
    }
    ++at_;
    NNC_ASSIGN(const int64_t id, number(false));
    if (uint64_t(id) >= symbols_) return error(cat("there is no symbol s", id));
    const auto signed_symbol = DimPoly::mul(Dim(SymbolId(size_t(id))), negative ? -1 : 1);
    return *signed_symbol;
  }
  Result<Dim> term(bool negative) {
    NNC_ASSIGN(Dim product, factor(negative));
    while (accept('*')) {
      NNC_ASSIGN(const Dim f, factor(false));
      auto next = DimPoly::mul(product, f);
      if (!next) return error("past degree 4, or a coefficient does not fit 64 bits");
      product = std::move(*next);
    }
    return product;
  }

  std::string_view text_;
  size_t symbols_;
  size_t at_ = 0;
};

}  // namespace

std::string SymbolTable::str(const Dim& d) const {
  return print(d, [](SymbolId id) { return cat("s", id.v); });
}

std::string SymbolTable::str(std::span<const Dim> dims) const {
  return cat("[", join(dims, ", ", [&](const Dim& d) { return str(d); }), "]");
}

std::string SymbolTable::pretty(const Dim& d) const { return pretty(d, kPrettyDepth); }

std::string SymbolTable::pretty(const Dim& d, int depth) const {
  return print(d, [&](SymbolId id) -> std::string {
    const Symbol& s = symbols_[id];
    if (!s.name.empty()) return s.name;
    if (s.kind != SymKind::kDerived || depth == 0) return cat("s", id.v);
    const std::string a = pretty(s.a, depth - 1);
    switch (s.op) {
      case SymOp::kFloorDiv: return cat("floor((", a, ")/(", pretty(s.b, depth - 1), "))");
      case SymOp::kMod: return cat("mod(", a, ", ", pretty(s.b, depth - 1), ")");
      case SymOp::kMin: return cat("min(", a, ", ", pretty(s.b, depth - 1), ")");
      case SymOp::kMax: return cat("max(", a, ", ", pretty(s.b, depth - 1), ")");
      case SymOp::kBroadcast: return cat("broadcast(", a, ", ", pretty(s.b, depth - 1), ")");
      case SymOp::kRound: return cat(s.mode == 0 ? "floor" : s.mode == 1 ? "ceil" : "round", "((", a, ")*", s.num, "/", s.den, ")");
      case SymOp::kOpaqueMul: return cat("(", a, ")*(", pretty(s.b, depth - 1), ")");
      case SymOp::kOpaqueAdd: return cat("(", a, "+", pretty(s.b, depth - 1), ")");
      case SymOp::kNone: break;
    }
    return cat("s", id.v);
  });
}

Result<Dim> SymbolTable::parse(std::string_view text) const { return Parser(text, symbols_.size()).run(); }

}  // namespace nnc

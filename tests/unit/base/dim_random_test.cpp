// Random expressions built through SymbolTable and evaluated both by it and by plain arithmetic on the leaves.
#include <gtest/gtest.h>

#include <random>

#include "ir/base/dim.h"
#include "ir/base/dim_poly.h"

namespace nnc {
namespace {

using Wide = __int128;

Wide floor_wide(Wide a, Wide b) {
  Wide q = a / b;
  if (a % b != 0 && ((a < 0) != (b < 0))) --q;
  return q;
}

// A dim and its value under each of a few assignments of the symbols; a missing value: the evaluation must fail or was too large.
struct Sample {
  Dim dim;
  std::vector<std::optional<Wide>> values;
};

class Machine {
 public:
  static constexpr size_t kWorlds = 6;

  explicit Machine(uint64_t seed) : rng_(seed) {
    for (int i = 0; i < 4; ++i) {
      const int64_t lo = pick(0, 3), divisor = pick(0, 2) == 0 ? 4 : 1, hi = lo + 4 + pick(0, 60);
      const SymbolId id = pick(0, 4) == 0 ? table.data("", -hi, hi) : table.input("", lo, hi, divisor);
      const Symbol& s = table[id];
      Sample sample{Dim(id), {}};
      for (size_t w = 0; w < kWorlds; ++w) {
        int64_t v = pick(s.lo, s.hi);
        v -= ((v % s.divisor) + s.divisor) % s.divisor;
        if (v < s.lo) v += s.divisor;
        sample.values.push_back(v);
      }
      pool_.push_back(sample);
      leaves_.push_back(sample);
    }
  }

  int64_t pick(int64_t lo, int64_t hi) { return lo + int64_t(rng_() % uint64_t(hi - lo + 1)); }

  Sample constant(int64_t v) { return {Dim(v), std::vector<std::optional<Wide>>(kWorlds, Wide(v))}; }
  Sample any() { return pick(0, 3) == 0 ? constant(pick(-6, 12)) : pool_[size_t(pick(0, int64_t(pool_.size()) - 1))]; }

  template <class F> static std::vector<std::optional<Wide>> zip(const Sample& a, const Sample& b, F&& f) {
    std::vector<std::optional<Wide>> out(kWorlds);
    for (size_t w = 0; w < kWorlds; ++w) {
      if (a.values[w] && b.values[w]) out[w] = f(*a.values[w], *b.values[w]);
      if (out[w] && (*out[w] > (Wide(1) << 40) || *out[w] < -(Wide(1) << 40))) out[w] = std::nullopt;
    }
    return out;
  }

  Sample step() {
    const Sample a = any(), b = any();
    using Out = std::optional<Wide>;
    switch (pick(0, 9)) {
      case 0:
      case 1: return {table.add(a.dim, b.dim), zip(a, b, [](Wide x, Wide y) -> Out { return x + y; })};
      case 2: return {table.sub(a.dim, b.dim), zip(a, b, [](Wide x, Wide y) -> Out { return x - y; })};
      case 3: return {table.mul(a.dim, b.dim), zip(a, b, [](Wide x, Wide y) -> Out { return x * y; })};
      case 4: return {table.floordiv(a.dim, b.dim), zip(a, b, [](Wide x, Wide y) -> Out { return y > 0 ? Out(floor_wide(x, y)) : Out(); })};
      case 5:
        return {table.ceildiv(a.dim, b.dim), zip(a, b, [](Wide x, Wide y) -> Out { return y > 0 ? Out(-floor_wide(-x, y)) : Out(); })};
      case 6:
        return {table.mod(a.dim, b.dim), zip(a, b, [](Wide x, Wide y) -> Out { return y > 0 ? Out(x - y * floor_wide(x, y)) : Out(); })};
      case 7: return {table.min(a.dim, b.dim), zip(a, b, [](Wide x, Wide y) -> Out { return std::min(x, y); })};
      case 8: return {table.max(a.dim, b.dim), zip(a, b, [](Wide x, Wide y) -> Out { return std::max(x, y); })};
      default: return rounded(a);
    }
  }

  Sample rounded(const Sample& a) {
    const int64_t num = pick(1, 9), den = pick(1, 6), mode = pick(0, 2);
    return {table.round(a.dim, num, den, mode), zip(a, a, [&](Wide x, Wide) -> std::optional<Wide> {
              const Wide f = floor_wide(x * num, den), c = -floor_wide(-x * num, den), below = x * num - f * den, above = c * den - x * num;
              if (mode == 0 || mode == 1) return mode == 0 ? f : c;
              return below != above ? (below < above ? f : c) : (f % 2 == 0 ? f : c);
            })};
  }

  void grow(int steps) {
    for (int i = 0; i < steps; ++i) {
      Sample s = step();
      bool useful = false;
      for (const auto& v : s.values) useful = useful || v.has_value();
      if (useful) pool_.push_back(std::move(s));
    }
  }

  // The values of all symbols in a world; false where a derived symbol could not be computed, which `derive` reports for the whole table.
  std::vector<int64_t> bind(size_t world, std::vector<uint8_t>& known) const {
    std::vector<int64_t> values(table.size(), 0);
    known.assign(table.size(), 0);
    for (size_t i = 0; i < leaves_.size(); ++i) {
      values[i] = int64_t(*leaves_[i].values[world]);
      known[i] = 1;
    }
    // A failure stops `derive`; the symbol that failed has no value, the ones after it may.
    for (size_t tries = 0; tries < table.size(); ++tries) {
      if (table.derive(values, known).ok()) break;
      size_t i = 0;
      while (known[i] == 1 || !operands_known(i, known)) ++i;
      known[i] = 2;
    }
    return values;
  }

  bool has_value(const Dim& d, const std::vector<uint8_t>& known) const {
    for (const Term& t : d.terms())
      for (uint32_t s : t.mono.s)
        if (s != 0 && !has_value(SymbolId(s - 1), known)) return false;
    return true;
  }
  bool has_value(SymbolId id, const std::vector<uint8_t>& known) const {
    if (known[id.index()] != 1) return false;
    const Symbol& s = table[id];
    return s.kind != SymKind::kDerived || (has_value(s.a, known) && has_value(s.b, known));
  }

  SymbolTable table;
  std::vector<Sample> pool_, leaves_;

 private:
  bool operands_known(size_t i, const std::vector<uint8_t>& known) const {
    const Symbol& s = table[SymbolId(i)];
    for (const Dim* d : {&s.a, &s.b})
      for (const Term& t : d->terms())
        for (uint32_t x : t.mono.s)
          if (x != 0 && !known[x - 1]) return false;
    return true;
  }
  std::mt19937_64 rng_;
};

void check_limits(const Dim& d) {
  ASSERT_LE(d.terms().size() + (d.constant() != 0), DimPoly::kMaxTerms);
  for (size_t i = 0; i < d.terms().size(); ++i) {
    ASSERT_NE(d.terms()[i].coeff, 0);
    ASSERT_NE(d.terms()[i].mono, Mono{});
    if (i > 0) { ASSERT_LT(d.terms()[i - 1].mono, d.terms()[i].mono); }
  }
}

TEST(DimRandom, AgreesWithPlainArithmetic) {
  int evaluated = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Machine m(seed);
    m.grow(40);
    for (size_t w = 0; w < Machine::kWorlds; ++w) {
      std::vector<uint8_t> known;
      const std::vector<int64_t> values = m.bind(w, known);
      for (const Sample& s : m.pool_) {
        if (!s.values[w] || !m.has_value(s.dim, known)) continue;
        const auto got = m.table.eval(s.dim, values);
        ASSERT_TRUE(got.ok()) << got.error().str();
        ASSERT_EQ(*got, int64_t(*s.values[w])) << "seed " << seed << ": " << m.table.pretty(s.dim);
        const DimRange r = m.table.range(s.dim);
        ASSERT_LE(r.lo, *got) << "seed " << seed << ": " << m.table.pretty(s.dim);
        ASSERT_GE(r.hi, *got) << "seed " << seed << ": " << m.table.pretty(s.dim);
        for (int64_t k : {2, 3, 4, 8}) {
          const Ternary t = m.table.divisible(s.dim, k);
          if (t != Ternary::kUnknown) { ASSERT_EQ(t == Ternary::kYes, *got % k == 0) << m.table.pretty(s.dim) << " by " << k; }
        }
        ++evaluated;
      }
    }
    for (const Sample& s : m.pool_) check_limits(s.dim);
  }
  EXPECT_GT(evaluated, 30000);
}

TEST(DimRandom, AnswersHoldForAllValues) {
  int answers = 0;
  for (uint64_t seed = 1000; seed < 1150; ++seed) {
    Machine m(seed);
    m.grow(25);
    for (int i = 0; i < 60; ++i) {
      const Sample a = m.any(), b = m.any();
      const Ternary same = m.table.equal(a.dim, b.dim), less = m.table.at_most(a.dim, b.dim);
      ASSERT_EQ(same, m.table.equal(b.dim, a.dim));
      answers += (same != Ternary::kUnknown) + (less != Ternary::kUnknown);
      for (size_t w = 0; w < Machine::kWorlds; ++w) {
        if (!a.values[w] || !b.values[w]) continue;
        std::vector<uint8_t> known;
        m.bind(w, known);
        if (!m.has_value(a.dim, known) || !m.has_value(b.dim, known)) continue;
        if (same != Ternary::kUnknown) {
          ASSERT_EQ(same == Ternary::kYes, *a.values[w] == *b.values[w]) << m.table.pretty(a.dim) << " = " << m.table.pretty(b.dim);
        }
        if (less != Ternary::kUnknown) {
          ASSERT_EQ(less == Ternary::kYes, *a.values[w] <= *b.values[w]) << m.table.pretty(a.dim) << " <= " << m.table.pretty(b.dim);
        }
      }
    }
  }
  EXPECT_GT(answers, 2000);
}

TEST(DimRandom, ParseReadsWhatStrPrints) {
  for (uint64_t seed = 2000; seed < 2100; ++seed) {
    Machine m(seed);
    m.grow(40);
    for (const Sample& s : m.pool_) {
      const auto back = m.table.parse(m.table.str(s.dim));
      ASSERT_TRUE(back.ok()) << back.error().str();
      ASSERT_EQ(*back, s.dim) << m.table.str(s.dim);
    }
  }
}

TEST(DimRandom, ProductsDivideExactly) {
  int divided = 0;
  for (uint64_t seed = 3000; seed < 3200; ++seed) {
    Machine m(seed);
    m.grow(20);
    for (int i = 0; i < 40; ++i) {
      const Dim a = m.any().dim, b = m.any().dim;
      const auto product = DimPoly::mul(a, b);
      if (!product || b == Dim(0)) continue;
      const auto q = m.table.div_exact(*product, b);
      // Division may pass the degree limit on its way where a lower term has a higher degree than the leading one.
      if (!q) continue;
      ASSERT_EQ(*q, a) << m.table.str(a) << " * " << m.table.str(b);
      ++divided;
    }
  }
  EXPECT_GT(divided, 4000);
}

TEST(DimRandom, SameStepsGiveTheSameTable) {
  Machine a(77), b(77);
  a.grow(60);
  b.grow(60);
  ASSERT_EQ(a.table.size(), b.table.size());
  for (size_t i = 0; i < a.table.size(); ++i) EXPECT_EQ(a.table[SymbolId(i)], b.table[SymbolId(i)]);
}

}  // namespace
}  // namespace nnc

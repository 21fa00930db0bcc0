#include "ir/base/dim.h"

#include <gtest/gtest.h>

namespace nnc {
namespace {

struct DimTest : testing::Test {
  SymbolTable t;
  Dim s0{t.input("batch")}, s1{t.input("seq", 1, 4096)}, s2{t.input("", 8, 64, 8)};
};

TEST_F(DimTest, NormalFormMakesEqualityStructural) {
  EXPECT_EQ(t.mul(t.add(s0, s1), 4), t.add(t.mul(s0, 4), t.mul(4, s1)));
  EXPECT_EQ(t.sub(s0, s0), Dim(0));
  EXPECT_EQ(t.str(t.add(t.mul(t.mul(s0, s1), 2), 3)), "2*s0*s1+3");
  EXPECT_EQ(t.str(t.sub(t.mul(s0, -1), 1)), "-s0-1");
  EXPECT_EQ(t.str(Dim(0)), "0");
}

TEST_F(DimTest, ReshapeChainsCancel) {
  const Dim whole = t.mul(t.mul(s0, s1), 768);
  EXPECT_EQ(t.div_exact(whole, t.mul(s1, 768)), s0);
  EXPECT_EQ(t.div_exact(whole, t.mul(s2, 768)), std::nullopt);
  EXPECT_EQ(t.div_exact(t.mul(t.add(s0, s1), t.sub(s0, s1)), t.add(s0, s1)), t.sub(s0, s1));
}

TEST_F(DimTest, FloordivSplitsOffMultiples) {
  EXPECT_EQ(t.floordiv(t.add(t.mul(s0, 4), 7), 4), t.add(s0, 1));
  EXPECT_EQ(t.mod(t.add(t.mul(s0, 4), 7), 4), Dim(3));
  const Dim out = t.floordiv(t.sub(s0, 1), 2);
  EXPECT_EQ(t.str(out), "s3-1");
  EXPECT_EQ(t.pretty(out), "floor((batch+1)/(2))-1");
  EXPECT_EQ(t.floordiv(t.add(s0, 1), 2), t.add(out, 1));
  EXPECT_EQ(t.size(), 4u);
  EXPECT_EQ(t.floordiv(t.add(t.mul(s0, s1), 5), s0), t.add(s1, t.floordiv(5, s0)));
  EXPECT_EQ(t.ceildiv(t.mul(s1, 6), 3), t.mul(s1, 2));
  EXPECT_EQ(t.mod(s2, 8), Dim(0));
}

TEST_F(DimTest, Questions) {
  EXPECT_EQ(t.at_most(s1, 4096), Ternary::kYes);
  EXPECT_EQ(t.at_most(s1, 0), Ternary::kNo);
  EXPECT_EQ(t.at_most(s1, 100), Ternary::kUnknown);
  EXPECT_EQ(t.divisible(t.mul(s2, 2), 16), Ternary::kYes);
  EXPECT_EQ(t.divisible(t.add(s2, 1), 4), Ternary::kNo);
  EXPECT_EQ(t.equal(t.mul(s0, 2), t.add(t.mul(s1, 2), 1)), Ternary::kNo);
  EXPECT_EQ(t.equal(s0, s1), Ternary::kUnknown);
}

TEST_F(DimTest, SameDefinitionSameSymbol) {
  const Dim a = t.min(s0, s1);
  const size_t size = t.size();
  EXPECT_EQ(t.min(s1, s0), a);
  EXPECT_EQ(t.max(t.max(s0, s1), 0), t.max(s1, s0));
  EXPECT_EQ(t.size(), size + 1);
  SymbolTable copy;
  for (size_t i = 0; i < t.size(); ++i) copy.add_raw(t[SymbolId(i)]);
  EXPECT_EQ(copy.min(s0, s1), a);
  EXPECT_EQ(copy.size(), t.size());
}

TEST_F(DimTest, BoundsFoldMinMaxAndQuotients) {
  EXPECT_EQ(t.min(s1, 5000), s1);
  EXPECT_EQ(t.max(s1, 1), s1);
  EXPECT_EQ(t.max(s0, 0), s0);
  EXPECT_EQ(t.min(t.add(s0, 1), s0), s0);
  EXPECT_EQ(t.floordiv(s1, 4097), Dim(0));
  EXPECT_EQ(t.mod(s1, 4097), s1);
  EXPECT_EQ(t.mod(t.mul(s0, 6), 4), t.mul(t.mod(s0, 2), 2));
  EXPECT_EQ(t.floordiv(t.add(t.mul(s0, 2), 1), 4), t.floordiv(s0, 2));
  const DimRange r = t.range(t.floordiv(s1, 16));
  EXPECT_EQ(r.lo, 0);
  EXPECT_EQ(r.hi, 256);
}

TEST_F(DimTest, BroadcastKeepsTheCheck) {
  EXPECT_EQ(t.broadcast(s0, s0), s0);
  EXPECT_EQ(t.broadcast(s0, 1), s0);
  EXPECT_EQ(t.broadcast(1, s0), s0);
  EXPECT_EQ(t.broadcast(s0, 64), Dim(64));
  const Dim both = t.broadcast(s1, s0);
  EXPECT_EQ(both, t.broadcast(s0, s1));
  std::vector<int64_t> values(t.size());
  const auto run = [&](int64_t a, int64_t b) {
    std::vector<uint8_t> known(t.size(), 0);
    values[0] = a;
    values[1] = b;
    known[0] = known[1] = 1;
    return t.derive(values, known);
  };
  ASSERT_TRUE(run(64, 64).ok());
  EXPECT_EQ(t.eval(both, values).value(), 64);
  ASSERT_TRUE(run(64, 1).ok());
  EXPECT_EQ(t.eval(both, values).value(), 64);
  ASSERT_TRUE(run(1, 7).ok());
  EXPECT_EQ(t.eval(both, values).value(), 7);
  EXPECT_EQ(run(3, 3).error().code, Code::kBadInput);  // 3 against the constant 64
  const Status bad = run(64, 3);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "extents batch = 64 and seq = 3 do not broadcast: equal or 1 expected");
}

TEST_F(DimTest, BroadcastsOfWhatIsMadeOfEachOther) {
  const Dim both = t.broadcast(s0, s1);
  EXPECT_EQ(t.broadcast(s0, both), both);
  EXPECT_EQ(t.broadcast(both, s1), both);
  EXPECT_EQ(t.broadcast(s0, t.min(s0, 512)), s0);
  EXPECT_EQ(t.broadcast(t.min(s0, 512), s0), s0);
  EXPECT_NE(t.broadcast(s0, t.min(s0, 1)), s0);  // 1 broadcasts
  // The check of the minimum stays.
  std::vector<int64_t> values(t.size());
  std::vector<uint8_t> known(t.size());
  for (size_t i = 0; i < t.size(); ++i) {
    if (t[SymbolId(i)].kind == SymKind::kDerived) continue;
    values[i] = 600;
    known[i] = 1;
  }
  EXPECT_FALSE(t.derive(values, known).ok());
}

TEST_F(DimTest, BoundsOfBroadcasts) {
  const auto bounds = [&](int64_t alo, int64_t ahi, int64_t blo, int64_t bhi) {
    const DimRange r = t.range(t.broadcast(Dim(t.input("", alo, ahi)), Dim(t.input("", blo, bhi))));
    return std::pair(r.lo, r.hi);
  };
  EXPECT_EQ(bounds(2, 5, 1, 9), std::pair(int64_t(2), int64_t(5)));
  EXPECT_EQ(bounds(1, 9, 2, 5), std::pair(int64_t(2), int64_t(5)));
  EXPECT_EQ(bounds(1, 4, 1, 9), std::pair(int64_t(1), int64_t(9)));
  EXPECT_EQ(bounds(0, 4, 1, 9), std::pair(int64_t(0), int64_t(9)));
  EXPECT_EQ(bounds(0, 0, 0, 9), std::pair(int64_t(0), int64_t(0)));
}

TEST_F(DimTest, NarrowingReachesDerivedSymbols) {
  const Dim half = t.floordiv(s0, 2), padded = t.mul(t.ceildiv(half, 4), 4);
  EXPECT_EQ(t.at_most(half, 50), Ternary::kUnknown);
  EXPECT_EQ(t.divisible(half, 4), Ternary::kUnknown);
  EXPECT_TRUE(t.narrow(*s0.as_symbol(), 3, 100, 8));
  EXPECT_EQ(t[*s0.as_symbol()].lo, 8);
  EXPECT_EQ(t[*s0.as_symbol()].hi, 96);
  EXPECT_EQ(t.at_most(half, 48), Ternary::kYes);
  EXPECT_EQ(t.at_most(padded, 48), Ternary::kYes);
  EXPECT_EQ(t.divisible(half, 4), Ternary::kYes);
  EXPECT_TRUE(t.narrow(*s0.as_symbol(), 0, 1000, 6));
  EXPECT_EQ(t[*s0.as_symbol()].divisor, 24);
  EXPECT_EQ(t[*s0.as_symbol()].hi, 96);
  const Symbol before = t[*s0.as_symbol()];
  EXPECT_FALSE(t.narrow(*s0.as_symbol(), 97, 100));
  EXPECT_FALSE(t.narrow(*s0.as_symbol(), 25, 47));
  EXPECT_EQ(t[*s0.as_symbol()], before);
}

TEST_F(DimTest, PastTheLimitsAProductIsOpaque) {
  Dim power = s0;
  for (int i = 0; i < 3; ++i) power = t.mul(power, s0);
  EXPECT_EQ(power.terms().size(), 1u);
  const size_t size = t.size();
  const Dim fifth = t.mul(power, s0);
  ASSERT_EQ(t.size(), size + 1);
  EXPECT_EQ(t.mul(s0, power), fifth);
  EXPECT_EQ(t.sub(fifth, fifth), Dim(0));
  std::vector<int64_t> values(t.size(), 3);
  std::vector<uint8_t> known(t.size(), 1);
  known.back() = 0;
  ASSERT_TRUE(t.derive(values, known).ok());
  EXPECT_EQ(t.eval(fifth, values).value(), 243);
  const Dim factors[] = {s0, s1, s2, 7, s1, s0}, shuffled[] = {7, s1, s0, s0, s2, s1};
  EXPECT_EQ(t.mul(factors), t.mul(shuffled));
  EXPECT_EQ(t.mul(std::span<const Dim>()), Dim(1));
}

TEST_F(DimTest, ManyTermsAreOpaque) {
  Dim sum = 1;
  for (int i = 0; i < 15; ++i) sum = t.add(sum, Dim(t.input("")));
  EXPECT_EQ(sum.terms().size(), 15u);
  const size_t size = t.size();
  const Dim more = t.add(sum, s0);
  EXPECT_TRUE(more.as_symbol());
  EXPECT_EQ(t.size(), size + 1);
  EXPECT_EQ(t.range(more).lo, 1);
}

TEST_F(DimTest, OverflowIsReportedWhenEvaluated) {
  const Dim big = t.mul(t.mul(s0, INT64_MAX), 3);
  std::vector<int64_t> values(t.size(), 0);
  std::vector<uint8_t> known(t.size(), 0);
  values[0] = 1;
  known[0] = known[1] = known[2] = 1;
  EXPECT_EQ(t.derive(values, known).error().code, Code::kLimit);
  values[0] = 0;
  ASSERT_TRUE(t.derive(values, known).ok());
  EXPECT_EQ(t.eval(big, values).value(), 0);
  values[0] = int64_t(1) << 62;
  EXPECT_EQ(t.eval(t.mul(s0, 2), values).error().code, Code::kLimit);
  EXPECT_EQ(t.eval(t.sub(t.mul(s0, -1), 1), values).value(), -(int64_t(1) << 62) - 1);
  EXPECT_EQ(t.sub(Dim(INT64_MIN), Dim(INT64_MIN)), Dim(0));
  EXPECT_TRUE(t.add(Dim(INT64_MAX), 1).as_symbol());
  EXPECT_EQ(t.range(t.mul(t.mul(s0, s0), s0)).hi, INT64_MAX);
  EXPECT_EQ(t.at_most(t.mul(t.mul(s0, s0), s0), INT64_MAX - 1), Ternary::kUnknown);
  EXPECT_EQ(t.divisible(INT64_MIN, 3), Ternary::kNo);
  EXPECT_EQ(t.divisible(INT64_MIN, 2), Ternary::kYes);
}

TEST_F(DimTest, DivisionByWhatIsNotPositiveFailsWhenEvaluated) {
  t.floordiv(s0, 0);
  t.mod(s0, t.sub(s1, 5));
  std::vector<int64_t> values(t.size(), 0);
  std::vector<uint8_t> known(t.size(), 0);
  known[0] = known[1] = 1;
  EXPECT_EQ(t.derive(values, known).error().message, "division of batch = 0 by 0 = 0: a positive divisor expected");
  known[3] = 1;
  values[1] = 5;
  EXPECT_EQ(t.derive(values, known).error().code, Code::kBadInput);
}

TEST_F(DimTest, DeriveWaitsForItsOperands) {
  const SymbolId count{t.data("found", 0, 100)};
  const Dim late = t.min(Dim(count), s0), early = t.floordiv(s0, 3);
  std::vector<int64_t> values(t.size(), 0);
  std::vector<uint8_t> known(t.size(), 0);
  values[0] = 10;
  known[0] = 1;
  ASSERT_TRUE(t.derive(values, known).ok());
  EXPECT_EQ(t.eval(early, values).value(), 3);
  EXPECT_FALSE(known[late.as_symbol()->index()]);
  values[count.index()] = 4;
  known[count.index()] = 1;
  ASSERT_TRUE(t.derive(values, known).ok());
  EXPECT_EQ(t.eval(late, values).value(), 4);
}

TEST_F(DimTest, RoundIsExactForScalesThatAreNoShortFractions) {
  EXPECT_EQ(t.round(s0, 4, 2, 0), t.mul(s0, 2));
  EXPECT_EQ(t.round(s0, 1, 2, 0), t.floordiv(s0, 2));
  EXPECT_EQ(t.round(s0, 1, 2, 1), t.ceildiv(s0, 2));
  EXPECT_EQ(t.round(5, 1, 2, 2), Dim(2));
  EXPECT_EQ(t.round(7, 1, 2, 2), Dim(4));
  EXPECT_EQ(t.round(7, 1, -2, 0), Dim(-4));
  const Dim third = t.round(s0, 6004799503160661, int64_t(1) << 54, 0);  // the double nearest to 1/3
  std::vector<int64_t> values(t.size(), 3'000'000);
  std::vector<uint8_t> known(t.size(), 1);
  known[third.as_symbol()->index()] = 0;
  ASSERT_TRUE(t.derive(values, known).ok());
  EXPECT_EQ(t.eval(third, values).value(), 999'999);
}

TEST_F(DimTest, Dependence) {
  const Dim d = t.add(t.floordiv(t.mul(s0, s1), 7), 1);
  EXPECT_FALSE(d.uses(*s0.as_symbol()));
  EXPECT_TRUE(t.depends_on(d, *s0.as_symbol()));
  EXPECT_FALSE(t.depends_on(d, *s2.as_symbol()));
  EXPECT_TRUE(t.depends_on_kind(d, SymKind::kDerived));
  EXPECT_FALSE(t.depends_on_kind(d, SymKind::kData));
  EXPECT_TRUE(t.depends_on_kind(t.min(Dim(t.data("n")), d), SymKind::kData));
  EXPECT_FALSE(t.depends_on(5, *s0.as_symbol()));
}

TEST_F(DimTest, TypicalSizes) {
  EXPECT_EQ(t.typical(s0), 128);
  EXPECT_EQ(t.typical(s2), 64);
  t.set_typical(*s0.as_symbol(), 10);
  EXPECT_EQ(t.typical(t.add(t.floordiv(s0, 3), t.mul(s0, 100))), 1003);
}

TEST_F(DimTest, SubstituteReachesAnotherTable) {
  SymbolTable other;
  const Dim x{other.input("x")};
  const Dim d = t.add(t.mul(t.mul(s0, s1), 2), 5);
  const Dim got = other.substitute(d, {{*s0.as_symbol(), other.add(x, 1)}, {*s1.as_symbol(), Dim(3)}});
  EXPECT_EQ(other.str(got), "6*s0+11");
}

TEST_F(DimTest, TextOfShapesAndNames) {
  const Dim dims[] = {s0, 64, t.mul(s0, s1)};
  EXPECT_EQ(t.str(dims), "[s0, 64, s0*s1]");
  EXPECT_EQ(t.pretty(t.mul(t.max(s0, s1), s2)), "s2*max(batch, seq)");
  EXPECT_EQ(t.find("seq"), s1.as_symbol());
  EXPECT_EQ(t.find("none"), std::nullopt);
  t.rename(*s1.as_symbol(), "words");
  EXPECT_EQ(t.pretty(s1), "words");
  EXPECT_EQ(t.parse(" 2 * s0*s1 - 3+s2 ").value(), t.add(t.sub(t.mul(t.mul(s0, s1), 2), 3), s2));
  EXPECT_EQ(t.parse("-9223372036854775808").value(), Dim(INT64_MIN));
  EXPECT_EQ(t.parse("-s0*2").value(), t.mul(s0, -2));
}

TEST_F(DimTest, ParseErrorsNameTheColumn) {
  for (const char* text : {"", " ", "s", "s9", "2*", "s0 s1", "+", "s0+", "s0--1", "x", "9223372036854775808", "s0*s0*s0*s0*s0",
                           "9223372036854775807+1", "s99999999999", "s0)"}) {
    const auto r = t.parse(text);
    ASSERT_FALSE(r.ok()) << text;
    EXPECT_EQ(r.error().code, Code::kParse) << text;
  }
  EXPECT_EQ(t.parse("s0+s7").error().message, "dim \"s0+s7\", column 6: there is no symbol s7");
}

TEST_F(DimTest, ShapeValuesAreWholeOrNot) {
  ShapeValue v;
  EXPECT_EQ(v.dims(), std::nullopt);
  v.known = true;
  EXPECT_EQ(v.dims()->size(), 0u);
  v.elems = {Rational{s0, 1, 1}, Rational{t.mul(s0, 6), 2, 3}, Rational{Dim(10), 1, 2}};
  EXPECT_EQ(*v.dims(), (std::vector<Dim>{s0, t.mul(s0, 4), Dim(5)}));
  v.elems.push_back(Rational{s0, 1, 2});
  EXPECT_EQ(v.dims(), std::nullopt);
  v.elems.back() = std::nullopt;
  EXPECT_EQ(v.dims(), std::nullopt);
}

TEST_F(DimTest, SymbolsFromOutsideAreChecked) {
  const Symbol good = t[*t.min(s0, s1).as_symbol()];
  SymbolTable read;
  EXPECT_EQ(read.add_checked(good).error().message, "symbol s0: operand s0 does not precede it");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(read.add_checked(t[SymbolId(i)]).ok());
  ASSERT_TRUE(read.add_checked(good).ok());
  EXPECT_EQ(read.add_checked(good).error().code, Code::kInvalidIr);
  const auto broken = [&](auto&& change) {
    Symbol s = good;
    s.b = 3;
    change(s);
    return !SymbolTable(read).add_checked(s).ok();
  };
  EXPECT_FALSE(broken([](Symbol&) {}));
  EXPECT_TRUE(broken([](Symbol& s) { s.lo = s.hi + 1; }));
  EXPECT_TRUE(broken([](Symbol& s) { s.divisor = 0; }));
  EXPECT_TRUE(broken([](Symbol& s) { s.typical = -1; }));
  EXPECT_TRUE(broken([](Symbol& s) { s.op = SymOp::kNone; }));
  EXPECT_TRUE(broken([](Symbol& s) { s.kind = SymKind::kInput; }));
  EXPECT_TRUE(broken([](Symbol& s) { s.op = SymOp::kRound, s.den = 0; }));
  EXPECT_TRUE(broken([](Symbol& s) { s.op = SymOp::kRound, s.mode = 3; }));
  EXPECT_TRUE(broken([](Symbol& s) { s.op = SymOp(77); }));
  EXPECT_TRUE(broken([&](Symbol& s) { s.b = Dim(SymbolId(3)); }));
}

TEST(Dim, ChainsOfDerivedSymbolsStayCheap) {
  SymbolTable t;
  Dim d{t.input("n", 1, kDimMax)};
  for (int i = 0; i < 400; ++i) d = t.add(t.floordiv(t.mul(d, 2), 3), t.mod(d, 5));
  EXPECT_TRUE(t.depends_on(d, SymbolId(0)));
  t.narrow(SymbolId(0), 1, 100);
  EXPECT_GE(t.typical(d), 0);
  EXPECT_LE(t.pretty(d).size(), 100'000u);
}

}  // namespace
}  // namespace nnc

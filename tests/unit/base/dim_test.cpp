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

}  // namespace
}  // namespace nnc

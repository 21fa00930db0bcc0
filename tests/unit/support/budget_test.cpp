#include "ir/support/budget.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace nnc {
namespace {

// The promised defaults, written a second time on purpose.
struct Expected {
  Limit limit;
  const char* name;
  int64_t value;
};
constexpr int64_t kMiB = 1 << 20;
constexpr Expected kExpected[] = {
    {Limit::kNodes, "nodes", 1'000'000},
    {Limit::kTensors, "tensors", 1'000'000},
    {Limit::kRank, "rank", 32},
    {Limit::kElements, "elements", 281'474'976'710'656},
    {Limit::kNameBytes, "name-bytes", 4096},
    {Limit::kStringBytes, "string-bytes", 256 * kMiB},
    {Limit::kSubgraphDepth, "subgraph-depth", 32},
    {Limit::kWireDepth, "wire-depth", 100},
    {Limit::kInlinedNodes, "inlined-nodes", 5'000'000},
    {Limit::kLoopTrips, "loop-trips", 2'147'483'648},
    {Limit::kSourceBytes, "source-bytes", 64 * kMiB},
    {Limit::kFoldedBytes, "folded-bytes", 256 * kMiB},
    {Limit::kTotalBytes, "total-bytes", 65536 * kMiB},
};

class EachLimit : public testing::TestWithParam<Expected> {};

TEST_P(EachLimit, AtTheLimitAndOneAbove) {
  const auto& [limit, name, value] = GetParam();
  EXPECT_EQ(limit_name(limit), name);
  Budget budget;
  EXPECT_TRUE(budget.within(limit, 0).ok());
  EXPECT_TRUE(budget.within(limit, value).ok());
  EXPECT_FALSE(budget.within(limit, value + 1).ok());

  EXPECT_TRUE(budget.charge(limit, value - 1).ok());
  EXPECT_TRUE(budget.charge(limit, 1).ok());
  const Status above = budget.charge(limit, 1);
  ASSERT_FALSE(above.ok());
  EXPECT_EQ(above.error().code, Code::kLimit);
  const std::string text = above.error().str();
  EXPECT_NE(text.find(name), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(value)), std::string::npos) << text;
  EXPECT_NE(text.find("--limit " + std::string(name) + "=" + std::to_string(value + 1)), std::string::npos) << text;
  EXPECT_EQ(budget.charged(limit), value);
}

TEST_P(EachLimit, CanBeChanged) {
  const auto& [limit, name, value] = GetParam();
  Limits limits;
  ASSERT_TRUE(limits.set(std::string(name) + "=7").ok());
  Budget budget(limits);
  EXPECT_TRUE(budget.charge(limit, 7).ok());
  EXPECT_FALSE(budget.charge(limit, 1).ok());
  EXPECT_FALSE(budget.within(limit, 8).ok());
  EXPECT_EQ(Limits()[limit], value);
}

INSTANTIATE_TEST_SUITE_P(All, EachLimit, testing::ValuesIn(kExpected));

TEST(Budget, EveryLimitIsExpected) { EXPECT_EQ(std::size(kExpected), kLimitCount); }

TEST(Budget, RefusedChargesAreNotCounted) {
  Limits limits;
  limits[Limit::kNodes] = 10;
  Budget budget(limits);
  EXPECT_FALSE(budget.charge(Limit::kNodes, 11).ok());
  EXPECT_TRUE(budget.charge(Limit::kNodes, 10).ok());
  budget.release(Limit::kNodes, 4);
  EXPECT_TRUE(budget.charge(Limit::kNodes, 4).ok());
  EXPECT_FALSE(budget.charge(Limit::kNodes, 1).ok());
}

TEST(Budget, HugeAndNegativeAmounts) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  Budget budget;
  EXPECT_TRUE(budget.charge(Limit::kTotalBytes, 5).ok());
  EXPECT_FALSE(budget.charge(Limit::kTotalBytes, kMax).ok());
  EXPECT_FALSE(budget.charge(Limit::kTotalBytes, -1).ok());
  EXPECT_FALSE(budget.within(Limit::kRank, -1).ok());
  EXPECT_FALSE(budget.within(Limit::kRank, kMax).ok());
  EXPECT_EQ(budget.charged(Limit::kTotalBytes), 5);
}

TEST(Budget, SettingsThatAreWrong) {
  Limits limits;
  for (const char* bad : {"", "nodes", "nodes=", "nodes=-1", "nodes=1e6", "nodes=99999999999999999999", "nodez=1", "=1"}) {
    const Status status = limits.set(bad);
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_EQ(status.error().code, Code::kUsage);
  }
  EXPECT_NE(limits.set("nodez=1").error().str().find("did you mean nodes?"), std::string::npos);
  EXPECT_EQ(limits[Limit::kNodes], 1'000'000);
}

TEST(BudgetDeathTest, ReleaseOfMoreThanCharged) {
  Budget budget;
  EXPECT_DEATH(budget.release(Limit::kNodes, 1), "more released than charged");
}

}  // namespace
}  // namespace nnc

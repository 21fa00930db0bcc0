#include "ir/support/checked.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace nnc {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(CheckedSize, AddsMultipliesAligns) {
  EXPECT_EQ(*(CheckedSize(3) * 4 + 5).value("x"), 17);
  EXPECT_EQ(CheckedSize(0).align_up(64).value_or(-2), 0);
  EXPECT_EQ(CheckedSize(1).align_up(64).value_or(-2), 64);
  EXPECT_EQ(CheckedSize(64).align_up(64).value_or(-2), 64);
  EXPECT_EQ(CheckedSize(10).align_up(3).value_or(-2), 12);
  EXPECT_EQ((CheckedSize(kMax - 1) + 1).value_or(-2), kMax);
}

TEST(CheckedSize, OverflowSticks) {
  EXPECT_FALSE((CheckedSize(kMax) + 1).ok());
  EXPECT_FALSE((CheckedSize(int64_t{1} << 32) * (int64_t{1} << 31)).ok());
  EXPECT_FALSE((CheckedSize(kMax) * 2 * 0).ok());
  EXPECT_FALSE((CheckedSize(kMax) * 2 + 0).ok());
  EXPECT_FALSE(CheckedSize(kMax).align_up(2).ok());
  EXPECT_FALSE((CheckedSize(kMax) + 1).align_up(2).ok());
  EXPECT_FALSE((CheckedSize(1) + (CheckedSize(kMax) + 1)).ok());
  EXPECT_FALSE(CheckedSize(8).align_up(0).ok());
  EXPECT_FALSE(CheckedSize(8).align_up(-8).ok());
}

TEST(CheckedSize, NegativeIsNoSize) {
  EXPECT_FALSE(CheckedSize(-1).ok());
  EXPECT_FALSE((CheckedSize(-1) + 5).ok());
  EXPECT_FALSE(CheckedSize(std::numeric_limits<int64_t>::min()).ok());
  const auto error = CheckedSize(-1).value("bytes of the tensor").error();
  EXPECT_EQ(error.code, Code::kLimit);
  EXPECT_NE(error.message.find("bytes of the tensor"), std::string::npos);
}

TEST(CheckedSize, FitsInside) {
  EXPECT_TRUE(fits(0, 0, 0));
  EXPECT_TRUE(fits(3, 4, 7));
  EXPECT_FALSE(fits(3, 5, 7));
  EXPECT_FALSE(fits(8, 0, 7));
  EXPECT_FALSE(fits(kMax, 1, kMax));
  EXPECT_FALSE(fits(-1, 2, 7));
  EXPECT_FALSE(fits(2, -1, 7));
}

TEST(CheckedSize, ElementCount) {
  EXPECT_EQ(*extent_product({}), 1);
  EXPECT_EQ(*extent_product(std::vector<int64_t>{2, 3, 5}), 30);
  EXPECT_EQ(*extent_product(std::vector<int64_t>{2, 0, 5}), 0);
  EXPECT_EQ(*extent_product(std::vector<int64_t>{kMax}), kMax);
  // An empty axis does not hide an overflow, wherever it stands.
  const int64_t big = int64_t{1} << 40;
  EXPECT_FALSE(extent_product(std::vector<int64_t>{0, big, big}).ok());
  EXPECT_FALSE(extent_product(std::vector<int64_t>{big, big, 0}).ok());
  EXPECT_FALSE(extent_product(std::vector<int64_t>{0, -1}).ok());
  EXPECT_EQ(extent_product(std::vector<int64_t>{4, -1}).error().message, "extents [4, -1]: -1 is negative");
}

TEST(CheckedSize, ByteSize) {
  EXPECT_EQ(*byte_size(std::vector<int64_t>{3}, 32), 12);
  EXPECT_EQ(*byte_size(std::vector<int64_t>{3}, 4), 2);
  EXPECT_EQ(*byte_size(std::vector<int64_t>{5}, 2), 2);
  EXPECT_EQ(*byte_size(std::vector<int64_t>{9}, 1), 2);
  EXPECT_EQ(*byte_size(std::vector<int64_t>{0, 7}, 64), 0);
  EXPECT_EQ(*byte_size({}, 128), 16);
  EXPECT_EQ(*byte_size(std::vector<int64_t>{kMax}, 8), kMax);
  EXPECT_EQ(*byte_size(std::vector<int64_t>{kMax}, 4), kMax / 2 + 1);
  EXPECT_FALSE(byte_size(std::vector<int64_t>{kMax}, 9).ok());
  EXPECT_TRUE(byte_size(std::vector<int64_t>{kMax / 8}, 64).ok());
  EXPECT_FALSE(byte_size(std::vector<int64_t>{kMax / 8 + 1}, 64).ok());
}

}  // namespace
}  // namespace nnc

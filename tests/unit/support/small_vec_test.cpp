#include "ir/support/small_vec.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace nnc {
namespace {

using Words = SmallVec<std::string, 2>;

std::string long_word(int i) { return std::string(40, static_cast<char>('a' + i % 26)); }

TEST(SmallVec, StaysInlineThenMovesToTheHeap) {
  Words v;
  EXPECT_TRUE(v.empty());
  EXPECT_EQ(v.capacity(), 2u);
  const void* inside = v.data();
  v.push_back("a");
  v.push_back("b");
  EXPECT_EQ(v.data(), inside);
  v.push_back("c");
  EXPECT_NE(v.data(), inside);
  EXPECT_EQ(v, (Words{"a", "b", "c"}));
}

TEST(SmallVec, PushOfOwnElementWhileGrowing) {
  Words v = {long_word(0), long_word(1)};
  v.push_back(v[0]);
  v.emplace_back(v.back());
  v.resize(9, v[1]);
  EXPECT_EQ(v[2], long_word(0));
  EXPECT_EQ(v[3], long_word(0));
  EXPECT_EQ(v[8], long_word(1));
}

TEST(SmallVec, CopyAndMoveInBothStates) {
  for (const size_t count : {0u, 1u, 2u, 3u, 7u}) {
    Words v;
    for (size_t i = 0; i < count; ++i) v.push_back(long_word(static_cast<int>(i)));
    const Words copy = v;
    EXPECT_EQ(copy, v);
    Words moved = std::move(v);
    EXPECT_EQ(moved, copy);
    EXPECT_TRUE(v.empty());  // NOLINT(bugprone-use-after-move): a moved-from SmallVec is empty
    v.push_back("again");
    v = moved;
    EXPECT_EQ(v, copy);
    for (const size_t other_count : {0u, 1u, 5u}) {
      Words other(other_count, "x");
      other = std::move(v);
      EXPECT_EQ(other, copy);
      v = copy;
      other.swap(v);
      EXPECT_EQ(other, copy);
    }
  }
}

TEST(SmallVec, InsertEraseResizeFollowStdVector) {
  uint32_t state = 7;
  const auto next = [&state](size_t n) { return (state = state * 1664525u + 1013904223u) / 65536u % n; };
  Words v;
  std::vector<std::string> expected;
  for (int step = 0; step < 4000; ++step) {
    const std::string word = long_word(step);
    const size_t at = next(expected.size() + 1);
    const auto vi = v.begin() + at;
    const auto ei = expected.begin() + static_cast<ptrdiff_t>(at);
    switch (next(7)) {
      case 0:
      case 1: v.insert(vi, word), expected.insert(ei, word); break;
      case 2:
        if (at < v.size()) v.erase(vi), expected.erase(ei);
        break;
      case 3: v.erase(v.begin(), vi), expected.erase(expected.begin(), ei); break;
      case 4: {
        const std::string several[] = {word, "s", "t"};
        v.insert(vi, several, several + 3), expected.insert(ei, several, several + 3);
        break;
      }
      case 5: v.resize(next(9)), expected.resize(v.size()); break;
      case 6:
        if (!v.empty()) v.pop_back(), expected.pop_back();
        break;
    }
    ASSERT_TRUE(std::equal(v.begin(), v.end(), expected.begin(), expected.end())) << step;
  }
}

TEST(SmallVec, ComparesLexicographically) {
  using Numbers = SmallVec<int, 2>;
  EXPECT_LT((Numbers{1, 2}), (Numbers{1, 2, 0}));
  EXPECT_LT((Numbers{1, 2, 3}), (Numbers{1, 3}));
  EXPECT_GT((Numbers{2}), (Numbers{}));
  EXPECT_NE((Numbers{1}), (Numbers{2}));
  EXPECT_EQ(Numbers(3, 4), (Numbers{4, 4, 4}));
  const Numbers v = {5, 6, 7};
  EXPECT_EQ((std::vector<int>(v.rbegin(), v.rend())), (std::vector<int>{7, 6, 5}));
  EXPECT_EQ(std::span<const int>(v).size(), 3u);
}

TEST(SmallVec, DestroysEveryElementOnce) {
  const auto counter = std::make_shared<int>(0);
  {
    SmallVec<std::shared_ptr<int>, 2> v(5, counter);
    v.erase(v.begin() + 1, v.begin() + 3);
    auto w = std::move(v);
    w.assign(4, counter);
    v = w;
    EXPECT_EQ(counter.use_count(), 9);
  }
  EXPECT_EQ(counter.use_count(), 1);
}

TEST(SmallVec, HoldsMoveOnlyAndOverAlignedElements) {
  SmallVec<std::unique_ptr<int>, 1> owners;
  for (int i = 0; i < 5; ++i) owners.push_back(std::make_unique<int>(i));
  EXPECT_EQ(*owners[4], 4);
  struct alignas(64) Wide {
    int v;
  };
  SmallVec<Wide, 1> wide;
  for (int i = 0; i < 5; ++i) {
    wide.push_back({i});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(wide.data()) % 64, 0u);
  }
}

TEST(SmallVecDeathTest, IndexIsChecked) {
  SmallVec<int, 2> v = {1};
  EXPECT_DEATH(v[1], "index outside the vector");
  v.clear();
  EXPECT_DEATH(v.back(), "index outside the vector");
  EXPECT_DEATH(v.pop_back(), "empty vector");
}

}  // namespace
}  // namespace nnc

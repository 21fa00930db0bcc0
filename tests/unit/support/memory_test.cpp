#include "ir/support/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace nnc {
namespace {

TEST(Memory, AlignedZeroedAndWritable) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{64}, size_t{100'000}, (size_t{2} << 20) - 1, size_t{2} << 20, size_t{5} << 20}) {
    SCOPED_TRACE(bytes);
    auto* p = static_cast<unsigned char*>(take_memory(bytes, true));
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % kMemoryAlign, 0u);
    EXPECT_TRUE(std::all_of(p, p + bytes, [](unsigned char c) { return c == 0; }));
    std::memset(p, 0xa5, bytes);
    give_memory(p);
  }
  give_memory(nullptr);
}

TEST(Memory, NothingWhereThereIsNone) {
  EXPECT_EQ(take_memory(SIZE_MAX, true), nullptr);
  EXPECT_EQ(shared_memory(SIZE_MAX - 100, false), nullptr);
}

TEST(Memory, SharedIsGivenBackOnce) {
  const std::shared_ptr<void> a = shared_memory(size_t{3} << 20, true), b = a;
  EXPECT_EQ(a.use_count(), 2);
  EXPECT_EQ(static_cast<unsigned char*>(b.get())[(size_t{3} << 20) - 1], 0);
}

}  // namespace
}  // namespace nnc

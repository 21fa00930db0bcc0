#include "ir/support/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace nnc {
namespace {

TEST(Parallel, EveryPieceOnce) {
  for (const size_t pieces : {0, 1, 2, 7, 1000}) {
    std::vector<int> times(pieces, 0);
    parallel_for(pieces, [&](size_t k) { ++times[k]; });
    EXPECT_EQ(std::ranges::count(times, 1), static_cast<ptrdiff_t>(pieces)) << pieces;
  }
}

TEST(Parallel, NoMoreThreadsThanPieces) {
  EXPECT_EQ(parallel_threads(0), 1u);
  EXPECT_EQ(parallel_threads(1), 1u);
  for (const size_t pieces : {2, 3, 1000}) {
    EXPECT_GE(parallel_threads(pieces), 1u);
    EXPECT_LE(parallel_threads(pieces), std::min<size_t>(pieces, 8));
  }
}

TEST(Parallel, QueuedPiecesOnceAndAllAtTheEnd) {
  for (const size_t pieces : {0, 1, 2, 500}) {
    std::vector<int> times(pieces, 0);
    PieceQueue queue;
    for (size_t k = 0; k < pieces; ++k) queue.add([&times, k] { ++times[k]; });
    queue.finish();
    EXPECT_EQ(std::ranges::count(times, 1), static_cast<ptrdiff_t>(pieces)) << pieces;
  }
}

TEST(Parallel, AQueueThatIsGivenUpWaitsForWhatHasBegun) {
  std::atomic<int> begun{0}, ended{0};
  {
    PieceQueue queue;
    for (int k = 0; k < 100; ++k)
      queue.add([&] {
        ++begun;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        ++ended;
      });
  }
  EXPECT_EQ(begun, ended);
  EXPECT_LE(ended, 100);
}

}  // namespace
}  // namespace nnc

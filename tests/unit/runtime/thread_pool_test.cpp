#include "runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/unit/runtime/programs.h"

namespace nnc {
namespace {

std::unique_ptr<ThreadPool> pool_of(int threads, int64_t spin_us = 50) {
  auto pool = ThreadPool::create({threads, false, spin_us});
  EXPECT_TRUE(pool.ok());
  return std::move(*pool);
}

// Marks each task once, and says which part did it.
struct Marks {
  std::vector<std::atomic<int>> count;
  std::vector<int> part;
  explicit Marks(size_t n) : count(n), part(n, -1) {}
  static void run(void* context, int p, int64_t begin, int64_t end) {
    Marks& m = *static_cast<Marks*>(context);
    for (int64_t i = begin; i < end; ++i) {
      ++m.count[static_cast<size_t>(i)];
      m.part[static_cast<size_t>(i)] = p;
    }
  }
};

TEST(ThreadPool, EveryTaskOnceInTheSameParts) {
  for (int threads : {1, 2, 3, 8, 64}) {
    auto pool = pool_of(threads);
    EXPECT_EQ(pool->threads(), threads);
    for (size_t tasks : {0, 1, 2, 7, 64, 1000}) {
      Marks first(tasks), second(tasks);
      pool->parallel(static_cast<int64_t>(tasks), Marks::run, &first);
      pool->parallel(static_cast<int64_t>(tasks), Marks::run, &second);
      for (size_t i = 0; i < tasks; ++i) {
        ASSERT_EQ(first.count[i], 1);
        ASSERT_EQ(first.part[i], second.part[i]);
      }
    }
  }
}

TEST(ThreadPool, SleepsAndWakes) {
  auto pool = pool_of(2, 0);
  for (int i = 0; i < 50; ++i) {
    if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Marks m(5);
    pool->parallel(5, Marks::run, &m);
    for (const auto& c : m.count) ASSERT_EQ(c, 1);
  }
}

TEST(ThreadPool, SharedByThreads) {
  auto pool = pool_of(2);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Marks m(9);
        pool->parallel(9, Marks::run, &m);
        for (const auto& c : m.count) wrong += c != 1;
      }
    });
  for (auto& c : callers) c.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, ChildOfAForkWorksAlone) {
  auto pool = pool_of(2);
  Marks before(4);
  pool->parallel(4, Marks::run, &before);
  const pid_t child = fork();
  if (child == 0) {
    Marks m(4);
    pool->parallel(4, Marks::run, &m);
    pool.reset();
    int sum = 0;
    for (const auto& c : m.count) sum += c;
    _exit(sum == 4 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ThreadPool, RefusesNonsense) {
  EXPECT_FALSE(ThreadPool::create({-1, false, 50}).ok());
  EXPECT_FALSE(ThreadPool::create({ThreadPool::kMaxThreads + 1, false, 50}).ok());
  EXPECT_GE(ThreadPool::usable_processors(), 1);
}

// The failure of the first task that fails is reported, whatever the number of threads.
TEST(ThreadPool, FirstFailureDoesNotDependOnThreads) {
  using namespace test;
  TestProgram p;
  p.plan =
      cat("plan 1 target \"cpu:vm\" features []\nkernels { #0 = \"gather\" }\n"
          "entry \"main\" profile \"\" {\n  arg \"x\" f32[4]\n  arg \"i\" i64[100]\n  result \"y\" f32[100]\n"
          "  segment { launch @0 (a0, a1, r0) kernel 0 dims [100, 4] }\n}\n");
  p.kernels = {gather_kernel()};
  std::vector<int64_t> index(100, 1);
  index[30] = 77;
  index[31] = 78;
  index[90] = -5;
  for (int threads : {1, 2, 3, 16}) {
    auto s = must_open(must_load(p, threads));
    for (int i = 0; i < 20; ++i) {
      auto r = s->run("main", std::vector<Tensor>{f32({4}, {1, 2, 3, 4}), Tensor::vector_i64(index)});
      ASSERT_FALSE(r.ok());
      EXPECT_NE(r.error().message.find("77"), std::string::npos) << r.error().message;
    }
  }
}

}  // namespace
}  // namespace nnc

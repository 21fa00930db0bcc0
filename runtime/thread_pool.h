#pragma once
// The pool behind the `cpu` device. A job is cut into one range per thread, always at the same places for a thread count, and the caller
// takes the first. Idle threads spin for a bounded time and then sleep in the kernel. No queue, no stealing: kernels are many and short.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ir/support/result.h"

namespace nnc {

struct ThreadPoolOptions {
  int threads = 0;       // with the caller's; 0: as many as this process may use (affinity mask, cgroup quota)
  bool pin = false;      // each of the pool's own threads to one processor of the mask; the caller's stays as it is
  int64_t spin_us = 50;  // how long a thread looks for work before it sleeps
};

class ThreadPool {
 public:
  static constexpr int kMaxThreads = 1024;
  static Result<std::unique_ptr<ThreadPool>> create(const ThreadPoolOptions& options);
  static int usable_processors();
  ~ThreadPool();

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Calls run(context, part, begin, end) for the parts of [0, tasks) and returns when all are done. A call while another thread uses the
  // pool, and any call in a forked child, runs on the caller's thread, in the same parts.
  using Run = void (*)(void* context, int part, int64_t begin, int64_t end);
  void parallel(int64_t tasks, Run run, void* context);

 private:
  struct Job {
    Run run = nullptr;
    void* context = nullptr;
    int64_t tasks = 0;
    int parts = 0;
  };
  explicit ThreadPool(int64_t spin_us) : spin_us_(spin_us) {}
  void work(int part);
  static void run_part(const Job& job, int part);

  const int64_t spin_us_;
  int process_ = 0;  // number of forks seen at creation
  Job job_;
  alignas(64) std::atomic<uint32_t> epoch_{0};    // a new value is a new job
  alignas(64) std::atomic<uint32_t> pending_{0};  // workers that have not finished it
  std::atomic<bool> stop_{false};
  std::mutex busy_;
  std::vector<std::thread> workers_;
};

}  // namespace nnc

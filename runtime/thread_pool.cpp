#include "runtime/thread_pool.h"

#include <algorithm>
#include <chrono>

#include <pthread.h>
#include <sched.h>

#include "ir/support/file.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

std::atomic<int> forks{0};

int fork_number() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }); });
  return forks.load(std::memory_order_relaxed);
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Until word != value, spinning for at most `spin_us`, then asleep.
void wait_while(const std::atomic<uint32_t>& word, uint32_t value, int64_t spin_us) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(spin_us);
  do {
    for (int i = 0; i < 64; ++i) {
      if (word.load(std::memory_order_acquire) != value) return;
      relax();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  while (word.load(std::memory_order_acquire) == value) word.wait(value, std::memory_order_acquire);
}

// "200000 100000" in cpu.max: two processors' worth.
int quota_processors() {
  auto text = read_system_file("/sys/fs/cgroup/cpu.max", 256);
  if (!text.ok()) return ThreadPool::kMaxThreads;
  const std::string_view line = trim(text_of(*text));
  const size_t blank = line.find(' ');
  int64_t quota = 0, period = 0;
  if (blank == std::string_view::npos || !parse_int(line.substr(0, blank), &quota) || !parse_int(line.substr(blank + 1), &period) ||
      period < 1)
    return ThreadPool::kMaxThreads;
  return static_cast<int>(std::clamp<int64_t>((quota + period - 1) / period, 1, ThreadPool::kMaxThreads));
}

std::vector<int> allowed_processors() {
  std::vector<int> out;
  for (int size = 1024; size <= 65536; size *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(size));
    if (!set) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(size));
    if (sched_getaffinity(0, bytes, set) == 0)
      for (int i = 0; i < size; ++i)
        if (CPU_ISSET_S(static_cast<size_t>(i), bytes, set)) out.push_back(i);
    CPU_FREE(set);
    if (!out.empty()) break;
  }
  return out;
}

void pin_thread(std::thread& thread, int processor) {
  const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(processor) + 1);
  cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(processor) + 1);
  if (!set) return;
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<size_t>(processor), bytes, set);
  pthread_setaffinity_np(thread.native_handle(), bytes, set);  // a wish: without it the thread runs where it may
  CPU_FREE(set);
}

}  // namespace

int ThreadPool::usable_processors() {
  const int allowed = static_cast<int>(allowed_processors().size());
  return std::max(1, std::min({allowed, quota_processors(), kMaxThreads}));
}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(const ThreadPoolOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads)
    return Error(Code::kUsage, cat("a pool of ", options.threads, " threads: 1 to ", kMaxThreads, " expected"));
  const int threads = options.threads == 0 ? usable_processors() : options.threads;
  std::unique_ptr<ThreadPool> pool(new ThreadPool(options.spin_us));
  pool->process_ = fork_number();
  const std::vector<int> processors = options.pin ? allowed_processors() : std::vector<int>();
  pool->workers_.reserve(static_cast<size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) {
    pool->workers_.emplace_back(&ThreadPool::work, pool.get(), i);
    if (!processors.empty()) pin_thread(pool->workers_.back(), processors[static_cast<size_t>(i) % processors.size()]);
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  if (fork_number() != process_) {
    for (std::thread& t : workers_) t.detach();  // they exist in the parent only
    return;
  }
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& t : workers_) t.join();
}

void ThreadPool::run_part(const Job& job, int part) {
  const int64_t each = job.tasks / job.parts, more = job.tasks % job.parts;  // the first `more` parts have one task more
  const int64_t begin = each * part + std::min<int64_t>(part, more), end = begin + each + (part < more ? 1 : 0);
  if (begin < end) job.run(job.context, part, begin, end);
}

void ThreadPool::work(int part) {
  uint32_t seen = 0;
  for (;;) {
    wait_while(epoch_, seen, spin_us_);
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    if (part < job_.parts) run_part(job_, part);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

void ThreadPool::parallel(int64_t tasks, Run run, void* context) {
  if (tasks <= 0) return;
  Job job{run, context, tasks, static_cast<int>(std::min<int64_t>(tasks, threads()))};
  if (job.parts == 1 || fork_number() != process_ || !busy_.try_lock()) {
    for (int part = 0; part < job.parts; ++part) run_part(job, part);
    return;
  }
  std::lock_guard<std::mutex> lock(busy_, std::adopt_lock);
  job_ = job;
  pending_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  run_part(job, 0);
  for (uint32_t left; (left = pending_.load(std::memory_order_acquire)) != 0;) wait_while(pending_, left, spin_us_);
}

}  // namespace nnc

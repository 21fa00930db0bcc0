#include "ir/support/parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace nnc {

namespace {

constexpr size_t kMostThreads = 8;  // more wait for memory

// A system that gives no more threads makes the work slower, not impossible.
bool start_thread(std::vector<std::thread>& threads, std::function<void()> work) {
  try {
    threads.emplace_back(std::move(work));
    return true;
  } catch (const std::system_error&) { return false; }
}

}  // namespace

size_t parallel_threads(size_t pieces) {
  static const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  return std::clamp<size_t>(std::min(pieces, processors), 1, kMostThreads);
}

void parallel_for(size_t pieces, const std::function<void(size_t)>& piece) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) piece(k);
  };
  std::vector<std::thread> others;
  for (size_t t = parallel_threads(pieces); t > 1 && start_thread(others, work); --t) {}
  work();
  for (std::thread& t : others) t.join();
}

PieceQueue::~PieceQueue() {
  {
    const std::lock_guard lock(mutex_);
    pieces_.clear();
  }
  close();
}

void PieceQueue::add(std::function<void()> piece) {
  if (others_.size() + 1 < parallel_threads(kMostThreads)) (void)start_thread(others_, [this] { work(); });
  {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
  }
  changed_.notify_one();
}

void PieceQueue::finish() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  work();
  close();
}

// Until the queue is closed and empty.
void PieceQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closed_ || !pieces_.empty(); });
    if (pieces_.empty()) return;
    const std::function<void()> piece = std::move(pieces_.front());
    pieces_.pop_front();
    lock.unlock();
    piece();
    lock.lock();
  }
}

void PieceQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  for (std::thread& t : others_) t.join();
  others_.clear();
}

}  // namespace nnc

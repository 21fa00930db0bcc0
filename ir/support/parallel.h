#pragma once
// Work in pieces on all processors of this process. Nothing may depend on which thread does a piece, nor on their order.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace nnc {

// Threads that are worth starting for `pieces` pieces, the caller's among them; 1 where one piece is all there is.
size_t parallel_threads(size_t pieces);
// Calls piece(0) ... piece(pieces - 1), each once, and returns when all have returned. The pieces share nothing that one of them writes.
void parallel_for(size_t pieces, const std::function<void(size_t)>& piece);

// Pieces that come one after the other: other threads begin with them at once. Of one thread.
class PieceQueue {
 public:
  PieceQueue() = default;
  PieceQueue(const PieceQueue&) = delete;
  ~PieceQueue();  // drops what nobody has begun, and waits for the rest
  void add(std::function<void()> piece);
  // Does what is left with the others, and returns when all is done. Once.
  void finish();

 private:
  void work();
  void close();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> pieces_;
  bool closed_ = false;
  std::vector<std::thread> others_;
};

}  // namespace nnc

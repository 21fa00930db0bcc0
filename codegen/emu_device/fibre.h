#pragma once
// Fibres: stacks that the emulator switches between by itself. Pooled: a stack once made serves every later block. No exceptions and no
// destructors cross a switch, so a fibre that is left for good needs no unwinding.

#include <cstddef>
#include <memory>
#include <vector>

#include "ir/support/result.h"

namespace nnc::emu {

class Fibre {
 public:
  // It begins `entry(argument)` at its next resumption; the entry never returns.
  void start(void (*entry)(void*), void* argument);
  // Runs it, from the caller's stack, until it calls `leave`.
  void resume();
  void leave();

 private:
  friend class FibrePool;
  std::byte* stack_ = nullptr;
  size_t size_ = 0;
  void* here_ = nullptr;    // the fibre's saved stack pointer
  void* caller_ = nullptr;  // the resumer's
};

class FibrePool {
 public:
  FibrePool() = default;
  FibrePool(const FibrePool&) = delete;
  FibrePool& operator=(const FibrePool&) = delete;
  ~FibrePool();
  // At least `count` fibres; kOutOfMemory when there is no room for their stacks.
  Status reserve(size_t count);
  Fibre& operator[](size_t i) { return *fibres_[i]; }

 private:
  std::vector<std::unique_ptr<Fibre>> fibres_;
};

}  // namespace nnc::emu

#pragma once
// Ctrl-C: the first one ends the run in progress (exit code 130), where none is in progress the program; the second one ends the program at
// once.

#include "runtime/session.h"

namespace nnc::tool {

inline constexpr int kInterrupted = 130;

// Once, by the program; a library does not take signals.
void catch_interrupts();
bool interrupted();

// While it lives, an interrupt cancels this session's run. One at a time.
class Interruptible {
 public:
  explicit Interruptible(Session& session);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
};

}  // namespace nnc::tool

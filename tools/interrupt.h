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

// While one lives, the first interrupt lets the compilers that run finish, so that their work is kept and nothing is left lying about; who
// starts them asks `interrupted`. The second ends the process at once.
class FinishesUnits {
 public:
  FinishesUnits();
  ~FinishesUnits();
  FinishesUnits(const FinishesUnits&) = delete;
  FinishesUnits& operator=(const FinishesUnits&) = delete;
};

}  // namespace nnc::tool

#include "tools/interrupt.h"

#include <atomic>
#include <csignal>

#include <unistd.h>

namespace nnc::tool {

namespace {

std::atomic<Session*> running{nullptr};
std::atomic<bool> seen{false}, compiling{false};
static_assert(std::atomic<Session*>::is_always_lock_free && std::atomic<bool>::is_always_lock_free, "a signal handler uses them");

void on_interrupt(int) {
  Session* const session = running.load();
  if (seen.exchange(true) || (session == nullptr && !compiling.load())) ::_exit(kInterrupted);
  if (session != nullptr) session->cancel();
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return seen.load(); }

Interruptible::Interruptible(Session& session) { running.store(&session); }
Interruptible::~Interruptible() { running.store(nullptr); }

FinishesUnits::FinishesUnits() { compiling.store(true); }
FinishesUnits::~FinishesUnits() { compiling.store(false); }

}  // namespace nnc::tool

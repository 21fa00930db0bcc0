#pragma once
// Warnings and progress on their way to whoever asked for them. A library never prints: it hands events to the Log it was given, and
// a Log without a sink drops them. Errors are not events (result.h), and events carry no time: the sink adds it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ir/support/result.h"

namespace nnc {

enum class EventKind : uint8_t { kWarning, kNote, kProgress };

struct Event {
  EventKind kind = EventKind::kNote;
  std::string phase;    // progress: "import", "compile kernels"
  std::string message;  // may be empty for progress
  Place place;
  int64_t done = 0;
  int64_t total = -1;  // -1: not known
};

// A handle; copies share one sink. Events of several threads reach the sink one at a time.
class Log {
 public:
  using Sink = std::function<void(const Event&)>;
  Log() = default;
  explicit Log(Sink sink);

  bool listening() const { return state_ != nullptr; }
  void warn(std::string message, Place place = {}) const;
  void note(std::string message, Place place = {}) const;
  void progress(std::string_view phase, int64_t done, int64_t total = -1, std::string message = {}) const;

 private:
  struct State;
  void emit(const Event& event) const;
  std::shared_ptr<State> state_;
};

}  // namespace nnc

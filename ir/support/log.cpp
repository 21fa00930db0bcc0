#include "ir/support/log.h"

#include <mutex>
#include <utility>

namespace nnc {

struct Log::State {
  std::mutex mutex;
  Sink sink;
};

Log::Log(Sink sink) {
  if (!sink) return;
  state_ = std::make_shared<State>();
  state_->sink = std::move(sink);
}

void Log::emit(const Event& event) const {
  const std::lock_guard lock(state_->mutex);
  state_->sink(event);
}

void Log::warn(std::string message, Place place) const {
  if (state_) emit({.kind = EventKind::kWarning, .phase = {}, .message = std::move(message), .place = std::move(place)});
}

void Log::note(std::string message, Place place) const {
  if (state_) emit({.kind = EventKind::kNote, .phase = {}, .message = std::move(message), .place = std::move(place)});
}

void Log::progress(std::string_view phase, int64_t done, int64_t total, std::string message) const {
  if (!state_) return;
  emit({.kind = EventKind::kProgress,
        .phase = std::string(phase),
        .message = std::move(message),
        .place = {},
        .done = done,
        .total = total});
}

}  // namespace nnc

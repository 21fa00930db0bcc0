#include "tools/progress.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "ir/support/text.h"
#include "tools/console.h"
#include "tools/json.h"

namespace nnc::tool {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kTick = std::chrono::milliseconds(100);
constexpr double kSilent = 0.2, kBetweenLines = 10, kBetweenEvents = 1;

int64_t now() { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }

std::string padded(std::string_view s, size_t width) {
  return cat(s, std::string(width > screen_width(s) ? width - screen_width(s) : 0, ' '));
}

}  // namespace

std::string progress_line(std::string_view name, std::string_view subject, int64_t done, int64_t total, double seconds) {
  constexpr int64_t kCells = 20;
  std::string out = cat("  ", padded(name, 10), " ", padded(subject, 18), " ");
  if (total > 0) {
    const int64_t full = std::clamp<int64_t>(done * kCells / total, 0, kCells);
    append(out, "[", std::string(static_cast<size_t>(full), '#'), std::string(static_cast<size_t>(kCells - full), '.'), "] ", done, "/",
           total, " ");
  }
  char time[32];
  std::snprintf(time, sizeof time, "%.1f s", seconds);
  return cat(out, time);
}

Progress::~Progress() {
  end();
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Progress::begin(std::string_view name, std::string_view subject) {
  const std::lock_guard lock(mutex_);
  hide();
  name_ = name;
  subject_ = printable(subject);
  done_ = total_ = 0;
  began_ = now();
  shown_at_ = 0;
  active_ = true;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_all();
}

void Progress::advance(int64_t done, int64_t total) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  total_ = total;
}

void Progress::end() {
  const std::lock_guard lock(mutex_);
  hide();
  active_ = false;
}

void Progress::write(std::string_view text) {
  const std::lock_guard lock(mutex_);
  hide();
  if (!text.empty()) write_(text);
}

void Progress::hide() {
  if (drawn_) write_("\r\x1b[K");
  drawn_ = false;
}

void Progress::show(double seconds) {
  switch (form_) {
    case Form::kDrawn:
      if (seconds < kSilent) return;
      write_(cat("\r", progress_line(name_, subject_, done_, total_, seconds), "\x1b[K"));
      drawn_ = true;
      return;
    case Form::kLines:
      if (seconds - shown_at_ < kBetweenLines) return;
      write_(cat(progress_line(name_, subject_, done_, total_, seconds), "\n"));
      break;
    case Form::kEvents: {
      if (seconds - shown_at_ < kBetweenEvents) return;
      JsonWriter w;
      w.object().field("event", "progress").field("phase", name_).field("subject", subject_).field("seconds", seconds);
      if (total_ > 0) w.field("done", done_).field("total", total_);
      w.end();
      write_(cat(w.take(), "\n"));
      break;
    }
  }
  shown_at_ = seconds;
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  while (!leave_) {
    if (active_) {
      wake_.wait_for(lock, kTick);
      if (active_ && !leave_) show(static_cast<double>(now() - began_) / 1e9);
    } else {
      wake_.wait(lock);
    }
  }
}

}  // namespace nnc::tool

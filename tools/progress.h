#pragma once
// What a long phase shows while it runs. On a terminal one line that is drawn over, from 200 ms on: a bar where the total is known, else
// the time that has passed. Elsewhere a line every ten seconds, or events. A thread of its own draws, and waits when nothing goes on.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace nnc::tool {

class Progress {
 public:
  enum class Form : uint8_t { kDrawn, kLines, kEvents };
  // `write` gets whole pieces of text, from one thread at a time.
  Progress(Form form, std::function<void(std::string_view)> write) : form_(form), write_(std::move(write)) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A phase begins and ends; `advance` may come from any thread.
  void begin(std::string_view name, std::string_view subject);
  void advance(int64_t done, int64_t total);
  void end();
  // Other text on the same stream: the drawn line makes room for it.
  void write(std::string_view text);

 private:
  void run();
  void show(double seconds);
  void hide();

  const Form form_;
  const std::function<void(std::string_view)> write_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;  // started by the first phase
  std::string name_, subject_;
  int64_t done_ = 0, total_ = 0, began_ = 0;
  double shown_at_ = 0;
  bool active_ = false, drawn_ = false, leave_ = false;
};

// "  kernels    cpu:x86-64-v3      [######..............]  3/10     2.1 s", without the time where it is negative.
std::string progress_line(std::string_view name, std::string_view subject, int64_t done, int64_t total, double seconds);

}  // namespace nnc::tool

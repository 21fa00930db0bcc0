#include "tests/conformance/isolated.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <set>

namespace nnc::test {

namespace {

unsigned g_seconds = 120;

std::string one_line(std::string s) {
  std::replace(s.begin(), s.end(), '\n', ' ');
  std::replace(s.begin(), s.end(), '\t', ' ');
  return s;
}

void say(int fd, const std::string& line) {
  const std::string text = line + "\n";
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n <= 0) return;
    at += static_cast<size_t>(n);
  }
}

using Work = std::function<void(const std::vector<size_t>&, const ItemReporter&)>;
using Result = std::function<void(size_t, const ItemResult&)>;

struct Child {
  pid_t pid = -1;
  int fd = -1;
  std::vector<size_t> items;
  size_t at = SIZE_MAX;
  std::set<size_t> left;
  std::string last_words;  // what it wrote to standard error
  std::string unread;      // the beginning of a line
};

void read_line(Child& c, const std::string& line, const Result& result) {
  if (line.starts_with("\x01@")) {
    c.at = std::strtoull(line.c_str() + 2, nullptr, 10);
  } else if (line.starts_with("\x01=")) {
    const size_t a = line.find('\t'), b = line.find('\t', a + 1);
    const size_t item = std::strtoull(line.c_str() + 2, nullptr, 10);
    c.left.erase(item);
    result(item, {line.substr(a + 1, b - a - 1), line.substr(b + 1)});
  } else if (!line.empty() && c.last_words.size() < 6000) {
    c.last_words += (c.last_words.empty() ? "" : " ") + line;
  }
}

void start(Child& c, const Work& work) {
  int fds[2];
  if (pipe(fds) != 0) std::abort();
  std::fflush(nullptr);
  c.pid = fork();
  if (c.pid < 0) std::abort();
  if (c.pid == 0) {
    close(fds[0]);
    dup2(fds[1], STDERR_FILENO);
    work(c.items, ItemReporter(fds[1]));
    std::fflush(nullptr);
    _exit(0);
  }
  close(fds[1]);
  c.fd = fds[0];
}

// False at the end of what the child says.
bool listen(Child& c, const Result& result) {
  char room[1 << 16];
  const ssize_t n = read(c.fd, room, sizeof room);
  if (n < 0 && errno == EINTR) return true;
  if (n > 0) c.unread.append(room, static_cast<size_t>(n));
  size_t from = 0;
  for (size_t end; (end = c.unread.find('\n', from)) != std::string::npos; from = end + 1)
    read_line(c, c.unread.substr(from, end - from), result);
  c.unread.erase(0, from);
  if (n > 0) return true;
  if (!c.unread.empty()) read_line(c, c.unread, result);
  return false;
}

class Run {
 public:
  Run(size_t count, const IsolateOptions& options, const Work& work, const Result& result)
      : options_(options), work_(work), result_(result) {
    for (size_t i = 0; i < count; ++i) waiting_.insert(i);
  }

  int64_t go() {
    for (;;) {
      while (!waiting_.empty() && children_.size() < options_.parallel && !(options_.stop && options_.stop())) begin();
      if (children_.empty()) return peak_;
      wait();
    }
  }

 private:
  void begin() {
    Child& c = children_.emplace_back();
    while (!waiting_.empty() && c.items.size() < options_.slice) c.items.push_back(waiting_.extract(waiting_.begin()).value());
    c.left.insert(c.items.begin(), c.items.end());
    start(c, work_);
  }

  void wait() {
    std::vector<pollfd> fds;
    for (const Child& c : children_) fds.push_back({c.fd, POLLIN, 0});
    if (poll(fds.data(), fds.size(), -1) < 0) return;
    size_t k = 0;
    for (auto c = children_.begin(); c != children_.end(); ++k) {
      if (fds[k].revents == 0 || listen(*c, result_)) {
        ++c;
        continue;
      }
      end(*c);
      c = children_.erase(c);
    }
  }

  void end(Child& c) {
    close(c.fd);
    int status = 0;
    rusage used{};
    wait4(c.pid, &status, 0, &used);
    peak_ = std::max(peak_, static_cast<int64_t>(used.ru_maxrss) * 1024);
    if (c.left.empty()) return;
    // The item at which it died goes; a child that died before any takes its first with it, so that this ends.
    const size_t culprit = c.left.count(c.at) ? c.at : *c.left.begin();
    const std::string how = !WIFSIGNALED(status)          ? "the child ended early"
                            : WTERMSIG(status) == SIGALRM ? "no answer in time"
                                                          : strsignal(WTERMSIG(status));
    c.left.erase(culprit);
    waiting_.insert(c.left.begin(), c.left.end());
    result_(culprit, {"crash", one_line(how + (c.last_words.empty() ? "" : ": " + c.last_words.substr(0, options_.last_words)))});
  }

  const IsolateOptions& options_;
  const Work& work_;
  const Result& result_;
  std::set<size_t> waiting_;
  std::list<Child> children_;
  int64_t peak_ = 0;
};

}  // namespace

void ItemReporter::at(size_t item) const {
  say(fd_, "\x01@" + std::to_string(item));
  alarm(g_seconds);
}

void ItemReporter::done(size_t item, const ItemResult& r) const {
  say(fd_, "\x01=" + std::to_string(item) + "\t" + one_line(r.status) + "\t" + one_line(r.reason));
}

int64_t run_isolated(size_t count, const IsolateOptions& options, const Work& work, const Result& result) {
  g_seconds = options.seconds;
  return Run(count, options, work, result).go();
}

}  // namespace nnc::test

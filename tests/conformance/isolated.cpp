#include "tests/conformance/isolated.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

struct Child {
  std::vector<size_t> items;
  size_t at = SIZE_MAX;
  std::set<size_t> left;
  std::string last_words;  // what it wrote to standard error
};

void read_line(Child& c, const std::string& line, const std::function<void(size_t, const ItemResult&)>& result) {
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

}  // namespace

void ItemReporter::at(size_t item) const {
  say(fd_, "\x01@" + std::to_string(item));
  alarm(g_seconds);
}

void ItemReporter::done(size_t item, const ItemResult& r) const {
  say(fd_, "\x01=" + std::to_string(item) + "\t" + one_line(r.status) + "\t" + one_line(r.reason));
}

void run_isolated(size_t count, const IsolateOptions& options,
                  const std::function<void(const std::vector<size_t>&, const ItemReporter&)>& work,
                  const std::function<void(size_t, const ItemResult&)>& result) {
  g_seconds = options.seconds;
  std::set<size_t> waiting;
  for (size_t i = 0; i < count; ++i) waiting.insert(i);
  while (!waiting.empty()) {
    Child c;
    for (const size_t i : waiting) {
      if (c.items.size() == options.slice) break;
      c.items.push_back(i);
    }
    c.left.insert(c.items.begin(), c.items.end());
    int fds[2];
    if (pipe(fds) != 0) std::abort();
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0) std::abort();
    if (pid == 0) {
      close(fds[0]);
      dup2(fds[1], STDERR_FILENO);
      work(c.items, ItemReporter(fds[1]));
      std::fflush(nullptr);
      _exit(0);
    }
    close(fds[1]);
    FILE* in = fdopen(fds[0], "r");
    char* line = nullptr;
    size_t room = 0;
    for (ssize_t n; (n = getline(&line, &room, in)) >= 0;) {
      if (n > 0 && line[n - 1] == '\n') line[n - 1] = 0;
      read_line(c, line, result);
    }
    std::free(line);
    std::fclose(in);
    int status = 0;
    waitpid(pid, &status, 0);
    for (const size_t i : c.items)
      if (!c.left.count(i)) waiting.erase(i);
    if (c.left.empty()) continue;
    // The item at which it died goes; a child that died before any takes its first with it, so that this ends.
    const size_t culprit = c.left.count(c.at) ? c.at : *c.left.begin();
    const std::string how = !WIFSIGNALED(status)          ? "the child ended early"
                            : WTERMSIG(status) == SIGALRM ? "no answer in time"
                                                          : strsignal(WTERMSIG(status));
    result(culprit, {"crash", one_line(how + (c.last_words.empty() ? "" : ": " + c.last_words.substr(0, options.last_words)))});
    waiting.erase(culprit);
  }
}

}  // namespace nnc::test

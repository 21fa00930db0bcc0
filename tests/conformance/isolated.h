#pragma once
// Work on a list of items in child processes, a slice at a time, so that an abort, a wild store or a hang of one item costs that item and
// not the run. The child says which item it is at; what it says last before it dies is the culprit, and the rest of its slice goes to a new
// child without it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nnc::test {

struct ItemResult {
  std::string status, reason;  // no tabs or line ends
};

class ItemReporter {
 public:
  explicit ItemReporter(int fd) : fd_(fd) {}
  void at(size_t item) const;  // also restarts the clock
  void done(size_t item, const ItemResult& result) const;

 private:
  int fd_;
};

struct IsolateOptions {
  size_t slice = 60;
  size_t parallel = 1;              // children at a time
  unsigned seconds = 120;           // for one item
  size_t last_words = 300;          // of what a child that dies wrote to standard error
  std::function<bool()> stop = {};  // asked before each slice: true ends the run
};

// `work` runs in the child on some of 0 .. count-1 and reports each of them; `result` is called here, in the order of completion. An item
// whose child died gets the status "crash". Returns the memory of the largest child in bytes, at its peak.
int64_t run_isolated(size_t count, const IsolateOptions& options,
                     const std::function<void(const std::vector<size_t>&, const ItemReporter&)>& work,
                     const std::function<void(size_t, const ItemResult&)>& result);

}  // namespace nnc::test

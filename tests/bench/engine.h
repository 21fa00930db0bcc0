#pragma once
// What both engines of the paired harness share: the commands on standard input, one JSON line for each.
//   run SECONDS      runs the model for that long: number of runs, quantiles of their wall times, mean processor time of a run (seconds)
//   probe SECONDS    the FMA peak of one thread (GFLOP/s)
//   outputs FILE     writes the outputs of the last run as npz
// Anything else ends the program.

#include <functional>
#include <string>
#include <vector>

#include "ir/base/tensor_io.h"

namespace nnc::bench {

double now();  // seconds, monotonic

// Ends the program with the error.
[[noreturn]] void fail(const std::string& text);
template <class T> T must(Result<T> r) {
  if (!r.ok()) fail(r.error().str());
  return std::move(r).value();
}
inline void must(const Status& s) {
  if (!s.ok()) fail(s.error().str());
}

std::vector<NamedTensor> read_inputs(const std::string& path);
void serve(const std::function<void()>& run, const std::function<std::vector<NamedTensor>()>& outputs);

}  // namespace nnc::bench

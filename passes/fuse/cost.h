#pragma once
// The cost model of fusion: a pure function of facts about one decision. Times are of a current server core; what matters is the order of
// magnitude.

namespace nnc {

struct MergeFacts {
  double bytes_saved = 0;  // not stored and loaded again
  bool launch_saved = true;
  double evaluations = 0;       // elements computed more often than once
  double cost_per_element = 1;  // in cheap operations
};

// Nanoseconds won (negative: lost).
inline double merge_gain(const MergeFacts& f) {
  constexpr double kBytesPerNs = 10, kOpsPerNs = 16, kLaunchNs = 500;
  return f.bytes_saved / kBytesPerNs + (f.launch_saved ? kLaunchNs : 0) - f.evaluations * f.cost_per_element / kOpsPerNs;
}

}  // namespace nnc

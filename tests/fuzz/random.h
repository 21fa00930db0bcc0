#pragma once
// The generator's source of chance: splitmix64, so that equal seeds give equal graphs on every machine and library.

#include <cstdint>
#include <initializer_list>

namespace nnc::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull) {
    for (int k = 0; k < 4; ++k) next();
  }
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  double uniform(double lo, double hi) { return lo + (hi - lo) * static_cast<double>(next() >> 11) * 0x1p-53; }
  template <class T> T pick(std::initializer_list<T> list) { return list.begin()[below(static_cast<int64_t>(list.size()))]; }

 private:
  uint64_t state_;
};

}  // namespace nnc::test

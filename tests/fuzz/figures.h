#pragma once
// What a run of random graphs holds: rows, dtypes, ranks, extents, groups. Figures to print, and the shares that acceptance wants.

#include <map>
#include <string>
#include <vector>

#include "tests/fuzz/generator.h"

namespace nnc::test {

// What compiling at the highest level made of one graph.
struct GroupFacts {
  bool group_of_three = false, hero_with_epilogue = false;
  int groups = 0;
};
GroupFacts look_at_groups(const Graph& g);

class Figures {
 public:
  void add(const RandomGraph& r);
  // Of a graph that agrees; `elsewhere`: with other extents too.
  void add(const GroupFacts& f, bool elsewhere);
  void print() const;
  // What falls short of the shares: every row `count` / 100 times, all dtypes with kernels, ranks 0 to 6, extents 0 and 1, symbolic extents
  // in 20 % and answers of other extents compared in 50 % of these, groups of three nodes in 50 %, a hero with epilogue in 10 %.
  std::vector<std::string> shortfalls() const;

 private:
  void count(const Graph& g, bool top);
  size_t graphs_ = 0, symbolic_ = 0, elsewhere_ = 0, grouped_ = 0, heroes_ = 0, empty_ = 0, ones_ = 0, looked_at_ = 0;
  int64_t nodes_ = 0;
  std::map<std::string, int64_t> rows_, dtypes_;
  std::map<int, int64_t> ranks_;
};

}  // namespace nnc::test

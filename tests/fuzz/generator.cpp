#include "tests/fuzz/generator.h"

#include "tests/fuzz/generator_ops.h"

namespace nnc::test {

namespace {

template <class T> const T& any_of(std::span<const T> list, Random& r) {
  int64_t total = 0;
  for (const T& m : list) total += m.weight;
  int64_t at = r.below(total);
  for (const T& m : list)
    if ((at -= m.weight) < 0) return m;
  return list.back();
}

bool holds(const Graph& g, OpKind kind) {
  for (const NodeId n : g.order()) {
    if (g.node(n).kind == kind) return true;
    for (const RegionId region : g.node(n).regions)
      if (holds(g.region(region), kind)) return true;
  }
  return false;
}

}  // namespace

RandomGraph random_graph(uint64_t seed) {
  Sketch s(seed);
  const auto makers = op_makers();
  const OpMaker& first = makers[seed % makers.size()];
  s.symbolic = s.r.chance(40);
  s.specials = s.r.chance(15);
  s.float_type = s.r.chance(70) ? DType::kF32 : s.r.pick({DType::kF16, DType::kBF16, DType::kF64});
  const size_t wanted = 3 + static_cast<size_t>(s.r.below(9));
  s.make_input(s.r.chance(75) ? s.float_type : s.any_dtype(), s.random_shape(), true);
  // A row that needs a certain argument gets another one for each try.
  for (int tries = 0; tries < 40 && !holds(s.graph(), first.kind); ++tries) {
    if (tries % 4 == 3) s.make_input(s.float_type, s.random_dims(static_cast<int>(1 + s.r.below(4))), true);
    first.make(s, first.kind);
  }
  for (int tries = 0; s.nodes < wanted && tries < 200; ++tries) {
    if (s.r.chance(12)) {
      any_of(patterns(), s.r).make(s);
      continue;
    }
    const OpMaker& m = any_of(op_makers(), s.r);
    m.make(s, m.kind);
  }
  return s.finish();
}

}  // namespace nnc::test

#include "tests/fuzz/generator.h"

#include "tests/fuzz/generator_ops.h"

namespace nnc::test {

namespace {

const OpMaker& any_maker(Random& r) {
  static const int64_t total = [] {
    int64_t sum = 0;
    for (const OpMaker& m : op_makers()) sum += m.weight;
    return sum;
  }();
  int64_t at = r.below(total);
  for (const OpMaker& m : op_makers())
    if ((at -= m.weight) < 0) return m;
  return op_makers().back();
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
    const OpMaker& m = any_maker(s.r);
    m.make(s, m.kind);
  }
  return s.finish();
}

}  // namespace nnc::test

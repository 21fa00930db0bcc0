#include "tests/e2e/carrying_modules.h"

#include <gtest/gtest.h>

#include "tests/e2e/compiled.h"

namespace nnc::test {

void build_decode(Module& m) {
  constexpr int64_t kWidth = kDecodeWidth, kTokens = kDecodeTokens;
  const SymbolId past = m.symbols.input("past", 0, kTokens, 1, 50, Binding::kBounded);
  Entry& e = m.add_entry("main");
  e.graph = std::make_unique<Graph>(&m, "main");
  Graph& g = *e.graph;
  Maker k(g);
  const ValueId x = g.add_input(Type::tensor(DType::kF32, {1, kWidth})),
                cache = g.add_input(Type::tensor(DType::kF32, {Dim(past), kWidth}));
  const ValueId w = k.constant(uniform(DType::kF32, {kWidth, kWidth}, 1));
  const ValueId q = k.op(OpKind::kMatMul, {x, w});
  const ValueId keys = k.op(OpKind::kConcat, {cache, x}, {{"axis", int64_t(0)}});
  const ValueId scores = k.op(OpKind::kMatMul, {q, keys}, {{"transpose_b", int64_t(1)}});
  const ValueId p = k.op(OpKind::kSoftmax, {scores}, {{"axis", int64_t(1)}});
  g.set_outputs({k.op(OpKind::kMatMul, {p, keys}), keys});
  e.args = {{"x", {}}, {"past", {}}};
  e.results = {{"y", {}}, {"present", {}}};
}

void build_found(Module& m) {
  constexpr int64_t kRows = kFoundRows, kWidth = kFoundWidth;
  const SymbolId found = m.symbols.data("found", 0, kRows);
  Entry& e = m.add_entry("main");
  e.graph = std::make_unique<Graph>(&m, "main");
  Graph& g = *e.graph;
  Maker k(g);
  const ValueId keep = g.add_input(Type::tensor(DType::kBool, {kRows})), x = g.add_input(Type::tensor(DType::kF32, {kRows, kWidth}));
  const ValueId at = k.op(OpKind::kNonZero, {keep}, {{"count", std::vector<SymbolId>{found}}});
  const ValueId flat = k.op(OpKind::kReshape, {at}, {{"shape", Shape{Dim(found)}}});
  const ValueId rows = k.op(OpKind::kGather, {x, flat}, {{"axis", int64_t(0)}});
  g.set_outputs({k.op(OpKind::kMatMul, {rows, k.constant(uniform(DType::kF32, {kWidth, 20}, 3))})});
  e.args = {{"keep", {}}, {"x", {}}};
  e.results = {{"y", {}}};
}

void build_loop(Module& m) {
  constexpr int64_t kWidth = kLoopWidth;
  Entry& e = m.add_entry("main");
  e.graph = std::make_unique<Graph>(&m, "main");
  Graph& g = *e.graph;
  Maker k(g);
  const Type row = Type::tensor(DType::kF32, {1, kWidth}), flag = Type::tensor(DType::kBool, {}), count = Type::tensor(DType::kI64, {});
  const ValueId x = g.add_input(row), trips = g.add_input(count);
  const ValueId w = k.constant(uniform(DType::kF32, {kWidth, kWidth}, 7, -0.2, 0.2));
  const RegionId body_id = g.add_region("body");
  Graph& body = g.region(body_id);
  {
    const ValueId i = body.add_input(count), go = body.add_input(flag), h = body.add_input(row),
                  weights = body.add_input(Type::tensor(DType::kF32, {kWidth, kWidth}));
    Maker kb(body);
    const ValueId next = kb.op(OpKind::kTanh, {kb.op(OpKind::kAdd, {h, kb.op(OpKind::kMatMul, {h, weights})})});
    const ValueId odd =
        kb.op(OpKind::kEqual, {kb.op(OpKind::kMod, {i, kb.constant(Tensor::scalar_i64(2))}), kb.constant(Tensor::scalar_i64(1))});
    const RegionId yes = body.add_region("then"), no = body.add_region("else");
    for (RegionId r : {yes, no}) {
      Graph& branch = body.region(r);
      const ValueId v = branch.add_input(row);
      Maker kr(branch);
      branch.set_outputs({r == yes ? kr.op(OpKind::kNeg, {v}) : kr.op(OpKind::kMul, {v, kr.constant(Tensor::scalar_f32(0.5f))})});
    }
    auto chosen = kb.b.ops(OpKind::kIf, {odd, next}, {}, {yes, no});
    EXPECT_TRUE(chosen.ok()) << chosen.error().str();
    body.set_outputs({go, (*chosen)[0]});
  }
  Tensor truth(DType::kBool, {});
  store_i64(DType::kBool, truth.data(), 0, 1);
  auto looped = k.b.ops(OpKind::kLoop, {trips, k.constant(truth), x, w}, {{"carried", int64_t(1)}, {"scan", int64_t(0)}}, {body_id});
  EXPECT_TRUE(looped.ok()) << looped.error().str();
  g.set_outputs({(*looped)[0]});
  e.args = {{"x", {}}, {"trips", {}}};
  e.results = {{"y", {}}};
}

int64_t build_stack(Module& m) {
  constexpr int64_t kWidth = kStackWidth;
  Entry& e = m.add_entry("main");
  e.graph = std::make_unique<Graph>(&m, "main");
  Graph& g = *e.graph;
  Maker k(g);
  ValueId v = g.add_input(Type::tensor(DType::kF32, {Dim(m.symbols.input("n", 1, 64)), kWidth}));
  int64_t weights = 0;
  for (uint64_t layer = 0; layer < 4; ++layer) {
    v = k.op(OpKind::kMatMul, {v, k.constant(uniform(DType::kF32, {kWidth, kWidth}, layer + 1, -0.1, 0.1))});
    v = k.op(OpKind::kRelu, {k.op(OpKind::kAdd, {v, k.constant(uniform(DType::kF32, {kWidth}, layer + 9))})});
    weights += 4 * (kWidth * kWidth + kWidth);
  }
  g.set_outputs({v});
  e.args = {{"x", {}}};
  e.results = {{"y", {}}};
  return weights;
}

}  // namespace nnc::test

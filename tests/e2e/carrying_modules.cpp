#include "tests/e2e/carrying_modules.h"

#include <gtest/gtest.h>

#include "passes/differentiate.h"
#include "tests/e2e/compiled.h"

namespace nnc::test {

namespace {

// The network on x: logits and loss.
std::pair<ValueId, ValueId> network(Maker& k, ValueId x, ValueId labels, const std::vector<ValueId>& w) {
  const ValueId hidden = k.op(OpKind::kRelu, {k.op(OpKind::kAdd, {k.op(OpKind::kMatMul, {x, w[0]}), w[1]})});
  const ValueId logits = k.op(OpKind::kAdd, {k.op(OpKind::kMatMul, {hidden, w[2]}), w[3]});
  return {logits, k.op(OpKind::kSoftmaxCrossEntropy, {logits, labels})};
}

}  // namespace

void build_training(Module& m) {
  const std::vector<std::pair<std::string, std::vector<int64_t>>> parameters = {
      {"w1", {kTrainIn, kTrainHidden}}, {"b1", {kTrainHidden}}, {"w2", {kTrainHidden, kTrainClasses}}, {"b2", {kTrainClasses}}};
  std::vector<Type> types;
  for (const auto& [name, dims] : parameters) {
    types.push_back(Type::tensor(DType::kF32, Shape(dims.begin(), dims.end())));
    m.states.push({name, types.back(), m.add_constant(uniform(DType::kF32, dims, 40 + types.size(), -0.3, 0.3))});
  }
  for (const char* name : {"train_step", "eval_step"}) {
    Entry& e = m.add_entry(name);
    e.graph = std::make_unique<Graph>(&m, name);
    Graph& g = *e.graph;
    const ValueId x = g.add_input(Type::tensor(DType::kF32, {kTrainBatch, kTrainIn})),
                  labels = g.add_input(Type::tensor(DType::kI64, {kTrainBatch}));
    e.args = {{"x", {}}, {"labels", {}}};
    std::vector<ValueId> w;
    for (size_t i = 0; i < types.size(); ++i) {
      w.push_back(g.add_input(types[i]));
      e.args.push_back({parameters[i].first, StateId(i)});
    }
    Maker k(g);
    const auto [logits, loss] = network(k, x, labels, w);
    e.results = {{"loss", {}}};
    if (e.name == "eval_step") {
      g.set_outputs({loss, logits});
      e.results.push_back({"logits", {}});
      continue;
    }
    const auto gradients = differentiate(g, loss, w);
    ASSERT_TRUE(gradients.ok()) << gradients.error().str();
    std::vector<ValueId> outputs{loss};
    const ValueId rate = k.constant(Tensor::scalar_f32(kTrainRate));
    for (size_t i = 0; i < w.size(); ++i) {
      outputs.push_back(k.op(OpKind::kSub, {w[i], k.op(OpKind::kMul, {(*gradients)[i], rate})}));
      e.results.push_back({parameters[i].first, StateId(i)});
    }
    g.set_outputs(outputs);
  }
}

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

}  // namespace nnc::test

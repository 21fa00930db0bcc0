// The carrying tests: small programs that reach through every layer and that later work stands on. Their names are fixed; they are never
// weakened.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/support/text.h"
#include "tests/e2e/carrying_modules.h"
#include "tests/e2e/compiled.h"

namespace nnc {
namespace {

using namespace test;

const AttrList kFlat = {};

// b. A toy decode loop of 100 tokens with a bounded `past`: one binding, no allocation after the first step.
TEST(Carrying, B_DecodeLoopWithBoundedPast) {
  constexpr int64_t kWidth = kDecodeWidth, kTokens = kDecodeTokens;
  Module m;
  build_decode(m);
  for (const Target& t : carrying_targets()) {
    auto s = open_compiled(m, t);
    ASSERT_TRUE(s) << t.name;
    Tensor have(DType::kF32, {0, kWidth});
    int64_t allocations = 0;
    for (int64_t token = 0; token < kTokens; ++token) {
      const std::vector<Tensor> in{uniform(DType::kF32, {1, kWidth}, static_cast<uint64_t>(100 + token)), have};
      const std::vector<Tensor> out = must_run(*s, "main", in);
      ASSERT_EQ(out.size(), 2u) << t.name << " token " << token;
      if (token % 13 == 0) {
        const std::vector<Tensor> want = must_eval(m, "main", in);
        EXPECT_EQ(far_apart(out[0], want[0], 1e-5, 1e-6), "") << t.name << " token " << token;
        EXPECT_EQ(far_apart(out[1], want[1], 0, 0), "") << t.name << " token " << token;
      }
      have = out[1];
      if (token == 0) allocations = s->stats().allocations;
    }
    EXPECT_EQ(s->stats().bindings, 1) << t.name;
    EXPECT_EQ(s->stats().allocations, allocations) << t.name;
  }
}

// c. NonZero -> Gather -> MatMul with another extent each run, 50 runs in shuffled order, equal to fresh sessions.
TEST(Carrying, C_NonZeroGatherMatMul) {
  constexpr int64_t kRows = kFoundRows, kWidth = kFoundWidth;
  Module m;
  build_found(m);
  std::vector<int64_t> counts;
  for (int64_t n = 0; n < 50; ++n) counts.push_back(n);
  std::shuffle(counts.begin(), counts.end(), std::mt19937(5));
  for (const Target& t : carrying_targets()) {
    auto s = open_compiled(m, t);
    ASSERT_TRUE(s) << t.name;
    for (int64_t n : counts) {
      Tensor mask(DType::kBool, {kRows});
      for (int64_t i = 0; i < n; ++i) store_i64(DType::kBool, mask.data(), (i * 37 + n) % kRows, 1);
      const std::vector<Tensor> in{mask, uniform(DType::kF32, {kRows, kWidth}, static_cast<uint64_t>(n))};
      const std::vector<Tensor> out = must_run(*s, "main", in);
      ASSERT_EQ(out.size(), 1u) << t.name << " " << n;
      EXPECT_EQ(far_apart(out[0], must_eval(m, "main", in)[0], 1e-5, 1e-6), "") << t.name << " " << n;
      auto fresh = Session::create(std::shared_ptr<const Executable>(&s->executable(), [](const Executable*) {}));
      ASSERT_TRUE(fresh.ok());
      EXPECT_TRUE(must_run(**fresh, "main", in)[0].same_bits(out[0])) << t.name << " " << n;
    }
  }
}

// d. A Loop with weights as invariants (packed once, carried value in place), an If nested in it.
TEST(Carrying, D_LoopWithInvariantWeightsAndIf) {
  constexpr int64_t kWidth = kLoopWidth;
  Module m;
  build_loop(m);
  for (const Target& t : carrying_targets()) {
    CompiledProgram compiled;
    auto s = open_compiled(m, t, 2, &compiled);
    ASSERT_TRUE(s) << t.name;
    // The weights are packed once: a constant of panels, and no packing kernel in the loop.
    bool packed = false, packs_at_run_time = false;
    for (const PlanConstant& c : compiled.program.constants) packed = packed || c.dims == std::vector<int64_t>{2, kWidth, 16};
    for (const PlanKernel& kernel : compiled.program.kernels) packs_at_run_time = packs_at_run_time || kernel.name.rfind("pack_", 0) == 0;
    EXPECT_TRUE(packed) << t.name;
    EXPECT_FALSE(packs_at_run_time) << t.name;
    for (int64_t n : {0, 1, 2, 7, 30}) {
      const std::vector<Tensor> in{uniform(DType::kF32, {1, kWidth}, static_cast<uint64_t>(n + 1)), Tensor::scalar_i64(n)};
      const std::vector<Tensor> out = must_run(*s, "main", in);
      ASSERT_EQ(out.size(), 1u);
      EXPECT_EQ(far_apart(out[0], must_eval(m, "main", in)[0], 1e-4, 1e-5), "") << t.name << " " << n;
    }
  }
}

// f. GEMM with a dequantize prologue and bias + gelu + residual epilogue in one kernel; an epilogue that reads the product at permuted
// coordinates is not fused, and is right.
TEST(Carrying, F_DequantizedProductWithEpilogue) {
  constexpr int64_t kM = 24, kK = 64, kN = 48;
  Module m;
  Entry& e = m.add_entry("main");
  e.graph = std::make_unique<Graph>(&m, "main");
  Graph& g = *e.graph;
  Maker k(g);
  const ValueId a = g.add_input(Type::tensor(DType::kF32, {kM, kK})), w = g.add_input(Type::tensor(DType::kU8, {kK, kN})),
                scale = g.add_input(Type::tensor(DType::kF32, {kN}));
  const ValueId bias = g.add_input(Type::tensor(DType::kF32, {kN})), residual = g.add_input(Type::tensor(DType::kF32, {kM, kN}));
  const ValueId dense = k.op(OpKind::kDequantize, {w, scale}, {{"axis", int64_t(1)}});
  const ValueId sum = k.op(OpKind::kAdd, {k.op(OpKind::kMatMul, {a, dense}), bias});
  g.set_outputs({k.op(OpKind::kAdd, {k.op(OpKind::kGelu, {sum}), residual})});
  e.args = {{"a", {}}, {"w", {}}, {"scale", {}}, {"bias", {}}, {"residual", {}}};
  e.results = {{"y", {}}};
  const std::vector<Tensor> in{uniform(DType::kF32, {kM, kK}, 1), uniform(DType::kU8, {kK, kN}, 2, 0, 255),
                               uniform(DType::kF32, {kN}, 3, 0.001, 0.01), uniform(DType::kF32, {kN}, 4),
                               uniform(DType::kF32, {kM, kN}, 5)};
  for (const Target& t : carrying_targets()) {
    CompiledProgram compiled;
    auto s = open_compiled(m, t, 2, &compiled);
    ASSERT_TRUE(s) << t.name;
    EXPECT_EQ(far_apart(must_run(*s, "main", in)[0], must_eval(m, "main", in)[0], 1e-4, 1e-4), "") << t.name;
    EXPECT_EQ(compiled.skeletons.size(), 1u) << t.name;
    EXPECT_EQ(compiled.skeletons["contraction"], 1) << t.name;
  }
}

TEST(Carrying, F_PermutedReaderIsNotFused) {
  constexpr int64_t kN = 40;
  Module m;
  Entry& e = m.add_entry("main");
  e.graph = std::make_unique<Graph>(&m, "main");
  Graph& g = *e.graph;
  Maker k(g);
  const ValueId a = g.add_input(Type::tensor(DType::kF32, {kN, 16})), b = g.add_input(Type::tensor(DType::kF32, {16, kN}));
  const ValueId p = k.op(OpKind::kMatMul, {a, b});
  g.set_outputs({k.op(OpKind::kAdd, {p, k.op(OpKind::kTranspose, {p}, {{"perm", std::vector<int64_t>{1, 0}}})})});
  e.args = {{"a", {}}, {"b", {}}};
  e.results = {{"y", {}}};
  const std::vector<Tensor> in{uniform(DType::kF32, {kN, 16}, 1), uniform(DType::kF32, {16, kN}, 2)};
  for (const Target& t : carrying_targets()) {
    CompiledProgram compiled;
    auto s = open_compiled(m, t, 2, &compiled);
    ASSERT_TRUE(s) << t.name;
    EXPECT_EQ(far_apart(must_run(*s, "main", in)[0], must_eval(m, "main", in)[0], 1e-5, 1e-5), "") << t.name;
    EXPECT_EQ(compiled.skeletons["contraction"], 1) << t.name;
    EXPECT_EQ(compiled.skeletons["pointwise"], 1) << t.name;
  }
}

}  // namespace
}  // namespace nnc

// Gradients of whole graphs against finite differences of their evaluation in f64.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/eval.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "passes/differentiate.h"
#include "passes/pipeline.h"
#include "tests/unit/passes/equivalence.h"

namespace nnc::test {
namespace {

std::unique_ptr<Module> parsed(std::string_view text) {
  Result<std::unique_ptr<Module>> m = parse_module(text);
  EXPECT_TRUE(m.ok()) << m.error().str();
  return m.ok() ? std::move(*m) : nullptr;
}

std::vector<EvalTensor> evaluated(const Module& m, const std::vector<Tensor>& inputs) {
  EvalOptions options;
  options.anchored = true;
  Interpreter interpreter(m, std::move(options));
  std::vector<EvalTensor> args;
  for (const Tensor& t : inputs) args.push_back(EvalTensor::from(t));
  Result<std::vector<EvalTensor>> r = interpreter.run(*m.entries[0]->graph, std::move(args));
  EXPECT_TRUE(r.ok()) << (r.ok() ? "" : r.error().str());
  return r.ok() ? *r : std::vector<EvalTensor>{};
}

// Result 0 is the loss; every float argument is varied.
void check_gradients(std::string_view text, bool simplified = false) {
  const std::unique_ptr<Module> forward = parsed(text), both = parsed(text);
  ASSERT_TRUE(forward && both);
  Entry& e = *both->entries[0];
  std::vector<std::string> wrt;
  std::vector<size_t> which;
  for (size_t k = 0; k < e.args.size(); ++k) {
    if (!is_float(e.graph->type(e.graph->inputs()[k]).dtype)) continue;
    wrt.push_back(e.args[k].name);
    which.push_back(k);
  }
  const size_t first = e.results.size();
  const Status s = differentiate_entry(*both, e, e.results[0].name, wrt);
  ASSERT_TRUE(s.ok()) << s.error().str();
  if (simplified) {
    const Status t = run_simplify(*both);
    ASSERT_TRUE(t.ok()) << t.error().str();
  }
  const Status v = verify_or_error(*both);
  ASSERT_TRUE(v.ok()) << v.error().str();
  std::vector<Tensor> inputs = random_inputs(*forward->entries[0]);
  const std::vector<EvalTensor> got = evaluated(*both, inputs);
  ASSERT_EQ(got.size(), first + wrt.size());
  for (size_t w = 0; w < which.size(); ++w) {
    Tensor& x = inputs[which[w]];
    for (int64_t k = 0; k < x.count(); ++k) {
      constexpr double kStep = 1e-5;
      const double at = x.f64(k);
      store_f64(x.dtype(), x.data(), k, at + kStep);
      const double up = evaluated(*forward, inputs)[0].f[0];
      store_f64(x.dtype(), x.data(), k, at - kStep);
      const double down = evaluated(*forward, inputs)[0].f[0];
      store_f64(x.dtype(), x.data(), k, at);
      const double want = (up - down) / (2 * kStep);
      EXPECT_NEAR(got[first + w].f[static_cast<size_t>(k)], want, 1e-7 + 1e-5 * std::abs(want)) << wrt[w] << " element " << k;
    }
  }
}

constexpr std::string_view kMlp = R"(
symbols {
  s0 = input "batch" in [2, 8]
}
graph @main(%x: f64[s0, 3], %w: f64[3, 4], %b: f64[4], %v: f64[4, 2], %labels: i64[s0]) {
  %0 = matmul(%x, %w) : f64[s0, 4]
  %1 = add(%0, %b) : f64[s0, 4]
  %2 = tanh(%1) : f64[s0, 4]
  %3 = matmul(%2, %v) : f64[s0, 2]
  %4, %5 = softmax_cross_entropy(%3, %labels) : f64[], f64[s0, 2]
  return %4
}
)";
TEST(Differentiate, Mlp) { check_gradients(kMlp); }
TEST(Differentiate, MlpSimplified) { check_gradients(kMlp, true); }

// The whole step goes through layout, packing and groups.
TEST(Differentiate, MlpOptimized) {
  const std::unique_ptr<Module> m = parsed(kMlp);
  const std::vector<std::string> wrt = {"w", "b", "v"};
  ASSERT_TRUE(differentiate_entry(*m, *m->entries[0], "out0", wrt).ok());
  const std::unique_ptr<Module> before = m->clone();
  const TargetFacts cpu;
  Status s = run_simplify(*m);
  if (s.ok()) s = run_optimize(*m, cpu);
  ASSERT_TRUE(s.ok()) << s.error().str();
  EXPECT_EQ(compare(*before, *m), "");
  int groups = 0;
  for (NodeId n : m->entries[0]->graph->order()) groups += m->entries[0]->graph->node(n).kind == OpKind::kGroup;
  EXPECT_LE(groups, 12) << print_module(*m);
}

TEST(Differentiate, ValueReadSeveralTimes) {
  check_gradients(R"(
graph @main(%x: f64[3, 2], %y: f64[2]) {
  %0 = mul(%x, %y) : f64[3, 2]
  %1 = add(%0, %x) : f64[3, 2]
  %2 = mul(%1, %0) : f64[3, 2]
  %3 = reduce(%2) {kind = sum, axes = [0, 1]} : f64[]
  return %3
}
)");
}

TEST(Differentiate, BranchRecomputesInside) {
  for (std::string_view condition : {"true", "false"}) {
    check_gradients(cat(R"(
graph @main(%x: f64[3], %y: f64[3]) {
  %c = constant() {value = bool[] {)",
                        condition, R"(}} : bool[]
  %0 = sin(%x) : f64[3]
  %1 = if(%c, %0, %y) : f64[3]
    region @then(%a: f64[3], %b: f64[3]) {
      %0 = mul(%a, %b) : f64[3]
      %1 = exp(%0) : f64[3]
      return %1
    }
    region @else(%a: f64[3], %b: f64[3]) {
      %0 = mul(%a, %a) : f64[3]
      return %0
    }
  %2 = mul(%1, %x) : f64[3]
  %3 = reduce(%2) {kind = sum, axes = [0]} : f64[]
  return %3
}
)"));
  }
}

TEST(Differentiate, LoopWithInvariantAndScan) {
  check_gradients(R"(
graph @main(%h: f64[2], %w: f64[2, 2], %u: f64[2]) {
  %n = constant() {value = i64[] {4}} : i64[]
  %0, %1 = loop(%n, _, %h, %w, %u) {carried = 1, scan = 1} : f64[2], f64[4, 2]
    region @body(%i: i64[], %c: bool[], %s: f64[2], %m: f64[2, 2], %k: f64[2]) {
      %0 = matmul(%s, %m) : f64[2]
      %1 = add(%0, %k) : f64[2]
      %2 = tanh(%1) : f64[2]
      %3 = mul(%2, %s) : f64[2]
      return %c, %2, %3
    }
  %2 = mul(%1, %1) : f64[4, 2]
  %3 = reduce(%2) {kind = sum, axes = [0, 1]} : f64[]
  %4 = reduce(%0) {kind = sum, axes = [0]} : f64[]
  %5 = add(%3, %4) : f64[]
  return %5
}
)");
}

std::string refusal(std::string_view text) {
  const std::unique_ptr<Module> m = parsed(text);
  const std::vector<std::string> wrt = {"x"};
  const Status s = differentiate_entry(*m, *m->entries[0], "out0", wrt);
  return s.ok() ? std::string() : s.error().str();
}

TEST(Differentiate, RefusesWithAReason) {
  EXPECT_THAT(refusal("graph @main(%x: f64[3]) {\n  return %x\n}\n"), testing::HasSubstr("one float number"));
  const std::string loop = refusal(R"(
graph @main(%x: f64[], %g: bool[]) {
  %0 = loop(_, %g, %x) {carried = 1} : f64[]
    region @body(%i: i64[], %c: bool[], %s: f64[]) {
      %0 = mul(%s, %s) : f64[]
      return %c, %0
    }
  return %0
}
)");
  EXPECT_THAT(loop, testing::HasSubstr("trip count"));
}

}  // namespace
}  // namespace nnc::test

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/support/text.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/unit/passes/equivalence.h"

namespace nnc::test {
namespace {

constexpr std::string_view kNet = R"(
symbols {
  s0 = input "batch" in [1, 8]
}
graph @main(%x: f32[s0, 2, 6, 6]) {
  %w = constant() {value = f32[2, 2, 3, 3] {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}} : f32[2, 2, 3, 3]
  %v = constant() {value = f32[2, 3] {1, -1, 2, -2, 3, -3}} : f32[2, 3]
  %one = constant() {value = f32[] {1}} : f32[]
  %0 = exp(%x) : f32[s0, 2, 6, 6]
  %1 = conv(%x, %w) : f32[s0, 2, 4, 4]
  %2 = mul(%1, %one) : f32[s0, 2, 4, 4]
  %3 = relu(%2) : f32[s0, 2, 4, 4]
  %4 = reduce(%3) {kind = mean, axes = [2, 3]} : f32[s0, 2]
  %5 = matmul(%4, %v) : f32[s0, 3]
  %6 = softmax(%5) {axis = 1} : f32[s0, 3]
  return %6
}
)";

std::unique_ptr<Module> net() {
  Result<std::unique_ptr<Module>> m = parse_module(kNet);
  EXPECT_TRUE(m.ok()) << m.error().str();
  return std::move(*m);
}

// Every level, every pass: the text changes where a change is reported and nowhere else, and parses back.
TEST(Pipeline, ReportsItsChanges) {
  for (int level = 0; level <= 2; ++level) {
    const std::unique_ptr<Module> m = net();
    PipelineOptions options;
    options.level = level;
    std::string last = print_module(*m);
    std::vector<std::string> ran;
    options.after_each = [&](const PassReport& r, const Module& now) {
      const std::string text = print_module(now);
      EXPECT_EQ(text != last, r.changes > 0) << r.name << " at level " << level;
      last = text;
      ran.push_back(r.name);
      const Result<ConstantSource> constants = open_constants_side_file(constants_side_file(now));
      ASSERT_TRUE(constants.ok());
      const Result<std::unique_ptr<Module>> again = parse_module(text, *constants);
      ASSERT_TRUE(again.ok()) << r.name << ": " << again.error().str();
      EXPECT_EQ(print_module(**again), text) << r.name;
    };
    if (level > 0) { ASSERT_TRUE(run_simplify(*m, options).ok()); }
    const TargetFacts cpu;
    const Status s = run_optimize(*m, cpu, options);
    ASSERT_TRUE(s.ok()) << s.error().str();
    EXPECT_EQ(compare(*net(), *m), "") << "level " << level;
    EXPECT_EQ(ran.back(), level == 2 ? "fuse" : "outline_single");
  }
}

TEST(Pipeline, StopsAfterRewrites) {
  std::string last;
  for (int64_t n = 0; n <= 6; ++n) {
    const std::unique_ptr<Module> m = net();
    PipelineOptions options;
    options.max_rewrites = n;
    ASSERT_TRUE(run_simplify(*m, options).ok());
    const TargetFacts cpu;
    ASSERT_TRUE(run_optimize(*m, cpu, options).ok());
    EXPECT_EQ(compare(*net(), *m), "") << n << " rewrites";
    EXPECT_NE(print_module(*m), last) << "one more rewrite is something else";
    last = print_module(*m);
  }
}

TEST(Pipeline, StopsAfterAPass) {
  const std::unique_ptr<Module> m = net();
  PipelineOptions options;
  std::vector<std::string> ran;
  options.after_each = [&](const PassReport& r, const Module&) { ran.push_back(r.name); };
  options.stop_after = "layout";
  const TargetFacts cpu;
  ASSERT_TRUE(run_optimize(*m, cpu, options).ok());
  EXPECT_THAT(ran, testing::ElementsAre("layout"));
}

TEST(Pipeline, UnknownPassIsNamed) {
  const std::unique_ptr<Module> m = net();
  const Status s = run_named_passes(*m, "canonicalize,layuot");
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kUnknownName);
  EXPECT_THAT(s.error().str(), testing::HasSubstr("layuot"));
}

// Equal input, equal text.
TEST(Pipeline, IsDeterministic) {
  std::vector<std::string> texts;
  for (int k = 0; k < 2; ++k) {
    const std::unique_ptr<Module> m = net();
    ASSERT_TRUE(run_simplify(*m).ok());
    const TargetFacts cpu;
    ASSERT_TRUE(run_optimize(*m, cpu).ok());
    texts.push_back(print_module(*m));
  }
  EXPECT_EQ(texts[0], texts[1]);
}

}  // namespace
}  // namespace nnc::test

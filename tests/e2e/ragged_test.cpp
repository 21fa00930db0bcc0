// Control flow whose extents are known only while it runs: loops whose values grow, counts found inside of branches and bodies, stacks of
// unknown length. Each module runs in one session over its inputs in a shuffled order, and must equal the interpreter.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/eval.h"
#include "ir/text.h"
#include "tests/e2e/compiled.h"

namespace nnc::test {
namespace {

struct Case {
  const char* name;
  const char* text;
  std::vector<std::vector<Tensor>> inputs;
  const char* words = nullptr;  // of the error that the last inputs give
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

Tensor count(int64_t v) { return Tensor::scalar_i64(v); }
Tensor flag(bool v) {
  Tensor t(DType::kBool, {});
  store_i64(DType::kBool, t.data(), 0, v);
  return t;
}
Tensor flags(std::vector<uint8_t> v) { return Tensor::of<uint8_t>(DType::kBool, {static_cast<int64_t>(v.size())}, v); }
Tensor floats(const std::vector<float>& v) { return Tensor::of<float>(DType::kF32, {static_cast<int64_t>(v.size())}, v); }
Tensor numbers(std::vector<int64_t> dims, uint64_t seed) { return uniform(DType::kF32, std::move(dims), seed); }

// x grows by two rows a round; the rows are multiplied by a constant behind the loop.
const char kGrows[] = R"(nnir 1
symbols {
  s0 = data in [0, 65536]
  s1 = data in [0, 65536]
}
entry @main(%0: i64[] "trips", %1: f32[1, 3] "x", %2: f32[3, 2] "w") -> ("rows", "y") {
  %3 = constant() {value = bool[] {true}} : bool[]
  %4 = loop(%0, %3, %1) {carried = 1, scan = 0, carried_symbols = [s0], result_symbols = [s1]} : f32[s1, 3]
    region @body(%0: i64[], %1: bool[], %2: f32[s0, 3]) {
      %3 = slice(%2) {axes = [0], starts = [0], ends = [1], steps = [1]} : f32[1, 3]
      %4 = constant() {value = f32[] {0.5}} : f32[]
      %5 = mul(%3, %4) : f32[1, 3]
      %6 = cast(%0) {to = f32, saturate = 1, round_mode = up} : f32[]
      %7 = add(%5, %6) : f32[1, 3]
      %8 = concat(%7, %2, %5) {axis = 0} : f32[s0+2, 3]
      return %1, %8
    }
  %5 = matmul(%4, %2) {transpose_a = 0, transpose_b = 0} : f32[s1, 2]
  return %4, %5
}
)";

// The carried value shrinks, so the two rooms that a loop exchanges differ in size.
const char kShrinks[] = R"(nnir 1
symbols {
  s0 = data in [0, 65536]
  s1 = data in [0, 65536]
}
entry @main(%0: i64[] "trips", %1: f32[40, 3] "x") -> ("y") {
  %2 = constant() {value = bool[] {true}} : bool[]
  %3 = loop(%0, %2, %1) {carried = 1, scan = 0, carried_symbols = [s0], result_symbols = [s1]} : f32[s1, 3]
    region @body(%0: i64[], %1: bool[], %2: f32[s0, 3]) {
      %3 = slice(%2) {axes = [0], starts = [0], ends = [7], steps = [1]} : f32[7, 3]
      %4 = constant() {value = f32[] {0.5}} : f32[]
      %5 = mul(%3, %4) : f32[7, 3]
      return %1, %5
    }
  return %3
}
)";

// A stack of known length around a count found in the body.
const char kStackOfFound[] = R"(nnir 1
symbols {
  s0 = data in [0, 6]
}
entry @main(%0: f32[6, 4] "x") -> ("y", "stack") {
  %1 = constant() {value = i64[] {5}} : i64[]
  %2 = constant() {value = f32[4] {0, 0, 0, 0}} : f32[4]
  %3, %4 = loop(%1, _, %2, %0) {carried = 1, scan = 1, carried_symbols = [], result_symbols = []} : f32[4], f32[5, 4]
    region @body(%0: i64[], %1: bool[], %2: f32[4], %3: f32[6, 4]) {
      %4 = slice(%3) {axes = [1], starts = [0], ends = [1], steps = [1]} : f32[6, 1]
      %5 = reshape(%4) {shape = [6]} : f32[6]
      %6 = reduce(%2) {kind = sum, axes = [0], keepdims = 0} : f32[]
      %7 = less(%6, %5) : bool[6]
      %8 = non_zero(%7) {count = [s0]} : i64[1, s0]
      %9 = reshape(%8) {shape = [s0]} : i64[s0]
      %10 = gather(%3, %9) {axis = 0} : f32[s0, 4]
      %11 = reduce(%10) {kind = sum, axes = [0], keepdims = 0} : f32[4]
      %12 = add(%2, %11) : f32[4]
      return %1, %12, %12
    }
  return %3, %4
}
)";

// What is found in a body is summed there.
const char kFoundInBody[] = R"(nnir 1
symbols {
  s0 = data in [0, 6]
}
entry @main(%0: i64[] "trips", %1: f32[6, 4] "x") -> ("y") {
  %2 = constant() {value = bool[] {true}} : bool[]
  %3 = constant() {value = f32[4] {0, 0, 0, 0}} : f32[4]
  %4 = loop(%0, %2, %3, %1) {carried = 1, scan = 0, carried_symbols = [], result_symbols = []} : f32[4]
    region @body(%0: i64[], %1: bool[], %2: f32[4], %3: f32[6, 4]) {
      %4 = slice(%3) {axes = [1], starts = [0], ends = [1], steps = [1]} : f32[6, 1]
      %5 = reshape(%4) {shape = [6]} : f32[6]
      %6 = reduce(%2) {kind = sum, axes = [0], keepdims = 0} : f32[]
      %7 = less(%6, %5) : bool[6]
      %8 = non_zero(%7) {count = [s0]} : i64[1, s0]
      %9 = reshape(%8) {shape = [s0]} : i64[s0]
      %10 = gather(%3, %9) {axis = 0} : f32[s0, 4]
      %11 = reduce(%10) {kind = sum, axes = [0], keepdims = 0} : f32[4]
      %12 = add(%2, %11) : f32[4]
      return %1, %12
    }
  return %4
}
)";

// One branch keeps what it finds, the other all rows; both feed a product. In the loop the branch taken changes.
const char kBranches[] = R"(nnir 1
symbols {
  s0 = data in [0, 6]
  s1 = data in [0, 6]
  s2 = data in [0, 4096]
  s3 = data in [0, 4096]
  s4 = data in [0, 4096]
}
entry @main(%0: bool[] "some", %1: i64[] "trips", %2: bool[6] "keep", %3: f32[6, 4] "x", %4: f32[4, 3] "w") -> ("y", "all") {
  %5 = if(%0, %2, %3) {result_symbols = [s1]} : f32[s1, 4]
    region @then(%0: bool[6], %1: f32[6, 4]) {
      %2 = non_zero(%0) {count = [s0]} : i64[1, s0]
      %3 = reshape(%2) {shape = [s0]} : i64[s0]
      %4 = gather(%1, %3) {axis = 0} : f32[s0, 4]
      return %4
    }
    region @else(%0: bool[6], %1: f32[6, 4]) {
      return %1
    }
  %6 = matmul(%5, %4) {transpose_a = 0, transpose_b = 0} : f32[s1, 3]
  %7 = constant() {value = bool[] {true}} : bool[]
  %8 = loop(%1, %7, %6, %0, %6) {carried = 1, scan = 0, carried_symbols = [s2], result_symbols = [s3]} : f32[s3, 3]
    region @body(%0: i64[], %1: bool[], %2: f32[s2, 3], %3: bool[], %4: f32[s1, 3]) {
      %5 = constant() {value = i64[] {1}} : i64[]
      %6 = equal(%0, %5) : bool[]
      %7 = if(%6, %2, %4) {result_symbols = [s4]} : f32[s4, 3]
        region @then(%0: f32[s2, 3], %1: f32[s1, 3]) {
          %2 = concat(%0, %1) {axis = 0} : f32[s2+s1, 3]
          return %2
        }
        region @else(%0: f32[s2, 3], %1: f32[s1, 3]) {
          %2 = neg(%0) : f32[s2, 3]
          return %2
        }
      return %1, %7
    }
  return %6, %8
}
)";

// Runs while the sum is small; the rounds are counted by the stack, whose rows have as many columns as the branch before the loop found.
const char kStacks[] = R"(nnir 1
symbols {
  s0 = data in [0, 6]
  s1 = data in [0, 1000]
  s2 = data in [0, 6]
  s3 = data in [0, 6]
}
entry @main(%0: f32[6] "x", %1: f32[] "until") -> ("total", "stack", "picked") {
  %2 = constant() {value = f32[] {0}} : f32[]
  %3 = less(%2, %1) : bool[]
  %4, %5, %6 = loop(_, %3, %2, %0, %1) {carried = 1, scan = 2, trip = [s1], carried_symbols = [], result_symbols = [s2]} : f32[], f32[s1], f32[s1, s2]
    region @body(%0: i64[], %1: bool[], %2: f32[], %3: f32[6], %4: f32[]) {
      %5 = constant() {value = f32[] {0.25}} : f32[]
      %6 = add(%2, %5) : f32[]
      %7 = less(%6, %4) : bool[]
      %8 = constant() {value = f32[] {0}} : f32[]
      %9 = less(%8, %3) : bool[6]
      %10 = non_zero(%9) {count = [s0]} : i64[1, s0]
      %11 = reshape(%10) {shape = [s0]} : i64[s0]
      %12 = gather(%3, %11) {axis = 0} : f32[s0]
      %13 = mul(%12, %6) : f32[s0]
      return %7, %6, %6, %13
    }
  return %4, %5, %6
}
)";

// Two values change places and grow; a loop in the loop grows one of them further.
const char kExchange[] = R"(nnir 1
symbols {
  s0 = data in [0, 65536]
  s1 = data in [0, 65536]
  s2 = data in [0, 65536]
  s3 = data in [0, 65536]
  s4 = data in [0, 65536]
  s5 = data in [0, 65536]
}
entry @main(%0: i64[] "outer", %1: i64[] "inner", %2: f32[2] "a", %3: f32[3] "b") -> ("a", "b") {
  %4 = constant() {value = bool[] {true}} : bool[]
  %5, %6 = loop(%0, %4, %2, %3, %1) {carried = 2, scan = 0, carried_symbols = [s0, s1], result_symbols = [s2, s3]} : f32[s2], f32[s3]
    region @body(%0: i64[], %1: bool[], %2: f32[s0], %3: f32[s1], %4: i64[]) {
      %5 = loop(%4, %1, %2) {carried = 1, scan = 0, carried_symbols = [s4], result_symbols = [s5]} : f32[s5]
        region @inner(%0: i64[], %1: bool[], %2: f32[s4]) {
          %3 = exp(%2) : f32[s4]
          %4 = tanh(%2) : f32[s4]
          %5 = concat(%3, %4) {axis = 0} : f32[2*s4]
          return %1, %5
        }
      return %1, %3, %5
    }
  return %5, %6
}
)";

// Columns are as many as the round found: the second round finds others, which a stack does not take.
const char kUneven[] = R"(nnir 1
symbols {
  s0 = data in [0, 6]
  s1 = data in [0, 6]
}
entry @main(%0: f32[6] "x") -> ("stack") {
  %1 = constant() {value = i64[] {2}} : i64[]
  %2 = loop(%1, _, %0) {carried = 0, scan = 1, carried_symbols = [], result_symbols = [s1]} : f32[2, s1]
    region @body(%0: i64[], %1: bool[], %2: f32[6]) {
      %3 = cast(%0) {to = f32, saturate = 1, round_mode = up} : f32[]
      %4 = less(%3, %2) : bool[6]
      %5 = non_zero(%4) {count = [s0]} : i64[1, s0]
      %6 = reshape(%5) {shape = [s0]} : i64[s0]
      %7 = gather(%2, %6) {axis = 0} : f32[s0]
      return %1, %7
    }
  return %2
}
)";

std::vector<Case> cases() {
  std::vector<Case> all;
  Case grows{"grows", kGrows, {}, nullptr};
  for (int64_t trips : {0, 1, 5, 40, 2, 3}) grows.inputs.push_back({count(trips), numbers({1, 3}, 5), numbers({3, 2}, 6)});
  all.push_back(grows);
  Case found{"found_in_body", kFoundInBody, {}, nullptr};
  for (int64_t trips : {0, 1, 2, 7}) found.inputs.push_back({count(trips), numbers({6, 4}, 10 + static_cast<uint64_t>(trips))});
  all.push_back(found);
  Case shrinks{"shrinks", kShrinks, {}, nullptr};
  for (int64_t trips : {0, 1, 2, 5}) shrinks.inputs.push_back({count(trips), numbers({40, 3}, 50 + static_cast<uint64_t>(trips))});
  all.push_back(shrinks);
  Case stack{"stack_of_found", kStackOfFound, {}, nullptr};
  for (uint64_t seed : {60, 61, 62}) stack.inputs.push_back({numbers({6, 4}, seed)});
  all.push_back(stack);
  Case branches{"branches", kBranches, {}, nullptr};
  for (int i = 0; i < 8; ++i) {
    std::vector<uint8_t> keep(6);
    for (int k = 0; k < 6; ++k) keep[static_cast<size_t>(k)] = i != 4 && (i * 7 + k * 3) % 4 < 2;
    branches.inputs.push_back(
        {flag(i % 3 != 1), count(i % 4), flags(keep), numbers({6, 4}, 20 + static_cast<uint64_t>(i)), numbers({4, 3}, 3)});
  }
  all.push_back(branches);
  Case stacks{"stacks", kStacks, {}, nullptr};
  for (double until : {-1.0, 0.1, 1.0, 30.0, 2.0})
    stacks.inputs.push_back({numbers({6}, 31), Tensor::scalar_f32(static_cast<float>(until))});
  all.push_back(stacks);
  Case exchange{"exchange", kExchange, {}, nullptr};
  for (auto [outer, inner] : {std::pair{3, 1}, {0, 2}, {2, 0}, {4, 2}, {1, 3}})
    exchange.inputs.push_back({count(outer), count(inner), numbers({2}, 41), numbers({3}, 42)});
  all.push_back(exchange);
  Case uneven{"uneven", kUneven, {}, "changes its extents"};
  for (float fourth : {5.0f, 0.5f}) uneven.inputs.push_back({floats({2, 3, -1, fourth, 0, 4})});
  all.push_back(uneven);
  return all;
}

class Ragged : public testing::TestWithParam<Case> {};

TEST_P(Ragged, EqualsTheInterpreter) {
  const Case& c = GetParam();
  auto m = parse_module(c.text);
  ASSERT_TRUE(m.ok()) << m.error().str();
  std::vector<size_t> order;
  for (size_t i = 0; i < c.inputs.size(); ++i) order.insert(order.end(), 3, i);
  std::shuffle(order.begin(), order.end(), std::mt19937(11));
  for (const Target& target : carrying_targets())
    for (int level : {0, 2}) {
      CompiledProgram compiled;
      const auto session = open_compiled(**m, target, level, &compiled);
      ASSERT_TRUE(session);
      const std::string plan = print_program(compiled.program);
      auto read = parse_program(plan);
      ASSERT_TRUE(read.ok()) << read.error().str();
      EXPECT_EQ(print_program(*read), plan);
      EXPECT_NE(plan.find("segment @"), std::string::npos);
      for (size_t i : order) {
        SCOPED_TRACE(testing::Message() << target.name << " -O" << level << ", inputs " << i);
        if (c.words && i + 1 == c.inputs.size()) {
          const auto run = session->run("main", c.inputs[i]);
          ASSERT_FALSE(run.ok());
          EXPECT_NE(run.error().message.find(c.words), std::string::npos) << run.error().str();
          EXPECT_FALSE(Interpreter(**m).run_entry("main", c.inputs[i]).ok());
          continue;
        }
        const auto got = must_run(*session, "main", c.inputs[i]), want = must_eval(**m, "main", c.inputs[i]);
        ASSERT_EQ(got.size(), want.size());
        for (size_t o = 0; o < want.size(); ++o) EXPECT_EQ(far_apart(got[o], want[o], 1e-5, 1e-6), "");
      }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Ragged, testing::ValuesIn(cases()), [](const auto& c) { return std::string(c.param.name); });

// Extents that were seen before cost nothing again.
TEST(RaggedMemory, ARepeatedRunAllocatesNothing) {
  const Case c = cases()[0];
  auto m = parse_module(c.text);
  ASSERT_TRUE(m.ok()) << m.error().str();
  const auto session = open_compiled(**m, carrying_targets().back());
  ASSERT_TRUE(session);
  must_run(*session, "main", c.inputs[2]);
  const int64_t before = session->stats().allocations;
  for (int i = 0; i < 3; ++i) must_run(*session, "main", c.inputs[2]);
  EXPECT_EQ(session->stats().allocations, before);
}

}  // namespace
}  // namespace nnc::test

#include <gtest/gtest.h>

#include <random>

#include "ir/base/plan.h"
#include "ir/base/plan_capacity.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

// Every table, step and field.
const char kEverything[] =
    "plan 1 target \"cuda:sm_90\" features [\"sm_90\", \"a \\\"b\\\"\"]\n"
    "symbols {\n"
    "  s0 = input \"n\" in [1, 64] divisor 2 typical 8\n"
    "  s1 = input in [0, 281474976710656] bounded\n"
    "  s2 = data \"found\" in [-9223372036854775808, 9223372036854775807]\n"
    "  s3 = floordiv(s0+3, 4) in [1, 16]\n"
    "  s4 = round(s0, -3, 7) in [-27, -1]\n"
    "  s5 = broadcast(s0, s1) in [0, 281474976710656]\n"
    "}\n"
    "kernels {\n"
    "  #0 = \"a_1\"\n"
    "  #1 = \"b_2\" in_place [0->2, 1->3]\n"
    "}\n"
    "constants {\n"
    "  #0 = f32[2, 3] sha256:0000000000000000000000000000000000000000000000000000000000000000\n"
    "  #1 = i64[] sha256:1111111111111111111111111111111111111111111111111111111111111111 unpack \"panel16\"\n"
    "}\n"
    "states {\n"
    "  #0 = \"w\" f32[2, 3] = c0\n"
    "  #1 = \"cache\" f16[s1, 4]\n"
    "}\n"
    "sources {\n"
    "  #0 = \"/a\" op \"Add\" scope \"x/y\"\n"
    "}\n"
    "entry \"main\" profile \"p\" {\n"
    "  arg \"x\" f32[s0, 3]\n"
    "  arg \"w\" f32[2, 3] state 0\n"
    "  result \"y\" f32[2*s0+1]\n"
    "  buffer b0 f32[s0] bytes 4*s0 align 64 life [0, 5]\n"
    "  buffer b1 raw[] bytes 128 align 256 life [1, 2] in 1 alias b0 loc [0]\n"
    "  buffer b2 f32[s2] bytes 4*s2 align 64 life [1, 2] room loc [0]\n"
    "  segment {\n"
    "    launch @0 (a0, t0, _, b0) kernel 1 dims [s0, 3] loc [0]\n"
    "    library @1 (b0, b1, r0) fn \"gemm\" ints [1, -2]\n"
    "    loop @2 (c1, _, b0, b1) carry [(a0, b0, b1)] scan [(b0, r0, 4*s0)] max 10 trip s2 do {\n"
    "      copy @3 (b0, b1) dims [4*s0]\n"
    "    }\n"
    "    if @4 (b0) do {\n"
    "      fill @5 (b0)\n"
    "    }\n"
    "    else {\n"
    "      fail @6 () message \"no \\\\ way\"\n"
    "    }\n"
    "    if @7 (b0) else {\n"
    "      segment @8 () in 2 do {\n"
    "        room @8 (b2) dims [4*s0] loc [0]\n"
    "        append @8 (b0, b2) dims [4*s0, s0]\n"
    "        bind @8 () dims [s0, 1] symbols [s2, s2]\n"
    "      }\n"
    "      segment @8 () in 3\n"
    "    }\n"
    "    switch @9 () when [s0 le 4, 2*s0 ne s1] {\n"
    "      fill @10 (b0)\n"
    "    }\n"
    "    when [] {\n"
    "    }\n"
    "    assert_dims @11 () dims [s0, s3] rel lt message \"m\"\n"
    "    host @12 (a0, b0) fn \"non_zero\" symbols [s2]\n"
    "  }\n"
    "  segment {\n"
    "  }\n"
    "}\n";

TEST(PlanText, EverythingReadsBackByteForByte) {
  std::string text = kEverything;
  const size_t at = text.find("round(s0, -3, 7)");
  text.replace(at, 16, "round(s0, -3/7, even)");
  auto p = parse_program(text);
  ASSERT_TRUE(p.ok()) << p.error().str();
  EXPECT_EQ(print_program(*p), text);
}

TEST(PlanText, KernelsGoAlongWhenAsked) {
  auto p = parse_program("plan 1 target \"cpu:vm\" features []\nkernels {\n  #0 = \"k\" text \"line\\n\\\"2\\\"\"\n}\n");
  ASSERT_TRUE(p.ok()) << p.error().str();
  EXPECT_EQ(p->kernels[0].text, "line\n\"2\"");
  EXPECT_EQ(print_program(*parse_program(print_program(*p, true)), true), print_program(*p, true));
}

// Any cut or changed character gives an error or another program, and never more than that.
TEST(PlanText, BrokenTextIsAnError) {
  std::string text = kEverything;
  text.replace(text.find("round(s0, -3, 7)"), 16, "round(s0, -3/7, even)");
  for (size_t n = 0; n + 2 < text.size(); ++n) {
    auto p = parse_program(std::string_view(text).substr(0, n));
    if (p.ok()) { EXPECT_EQ(print_program(*p), text.substr(0, print_program(*p).size())); }
  }
  std::mt19937 rng(5);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string broken = text;
    for (int k = 0; k < 1 + i % 3; ++k) broken[rng() % broken.size()] = static_cast<char>(rng() % 128);
    auto p = parse_program(broken);
    refused += !p.ok();
    if (p.ok()) { EXPECT_EQ(print_program(*parse_program(print_program(*p))), print_program(*p)); }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_FALSE(parse_program("plan 2 target \"\" features []").ok());
  EXPECT_NE(parse_program("plan 1 target \"t\" features []\nstates {\n  #1 = \"w\" f32[]\n}").error().str().find("line 3"),
            std::string::npos);
}

TEST(PlanText, DeepNestingIsAnError) {
  std::string text = "plan 1 target \"\" features [] entry \"e\" profile \"\" { segment {";
  for (int i = 0; i < 100000; ++i) text += "if @1 (b0) do {";
  EXPECT_FALSE(parse_program(text).ok());
}

TEST(PlanCapacity, BoundedSymbolsCountWithTheirBound) {
  SymbolTable t;
  const SymbolId n = t.input("n"), past = t.input("past", 1, 10, 1, 0, Binding::kBounded);
  const Dim half = t.floordiv(Dim(past), 2), sum = t.add(t.mul(Dim(n), Dim(past)), t.mul(Dim(past), -1));
  std::vector<int64_t> v{4, 3};
  v.resize(t.size());
  std::vector<uint8_t> known(t.size());
  known[0] = known[1] = 1;
  ASSERT_TRUE(t.derive(v, known).ok());
  EXPECT_EQ(*eval_capacity(t, Dim(n), v), 4);
  EXPECT_EQ(*eval_capacity(t, Dim(past), v), 10);
  EXPECT_EQ(*eval_capacity(t, half, v), 5);
  EXPECT_EQ(*eval_capacity(t, sum, v), 4 * 10 - 1);
  EXPECT_TRUE(is_bounded(t, half));
  EXPECT_FALSE(is_bounded(t, Dim(n)));
}

}  // namespace
}  // namespace nnc

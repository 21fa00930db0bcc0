#include "ir/base/plan_verify.h"

#include <gtest/gtest.h>

#include "ir/support/text.h"

namespace nnc {
namespace {

const char kMap[] =
    "kernel @map\nsymbol s0 = input lo 0 hi 1024 div 1 typical 0\n"
    "param $x.0 : f32[s0] align 64 r global\nparam $y.1 : f32[s0] align 64 w global\n"
    "grid [s0, 1, 1] threads 1 index i64\ninplace 0 -> 1\n{\n"
    "  %v.0 = load $x.0[task0] f32\n  store $y.1[task0] = add(%v.0, f32(1))\n}\n";
const char kChecked[] =
    "kernel @checked\nsymbol s0 = input lo 0 hi 1024 div 1 typical 0\n"
    "param $x.0 : i64[s0] align 64 r global\nparam $y.1 : i64[s0] align 64 w global\n"
    "grid [s0, 1, 1] threads 1 index i64\nsite 0 \"i\" loc 0\n{\n"
    "  %v.0 = load $x.0[task0] i64\n  %i.1 = check cast.sext(%v.0, index) < s0 at 0\n  store $y.1[task0] = %v.0\n}\n";

const char kPlan[] =
    "plan 1 target \"cpu:vm\" features []\n"
    "symbols { s0 = input \"n\" in [0, 1024] s1 = data \"m\" in [0, 1024] s2 = input \"unused\" in [0, 9] s3 = floordiv(s1, 2) in [0, 512] "
    "}\n"
    "kernels { #0 = \"map\" in_place [0->1] #1 = \"checked\" }\n"
    "constants { #0 = i64[1] sha256:0000000000000000000000000000000000000000000000000000000000000000 }\n"
    "states { #0 = \"w\" f32[4] #1 = \"v\" f32[4] }\n"
    "sources { #0 = \"/n\" op \"Op\" scope \"\" }\n"
    "entry \"main\" profile \"\" {\n"
    "  arg \"x\" f32[s0]\n  arg \"w\" f32[4] state 0\n  arg \"t\" i64[]\n  arg \"i\" i64[s0]\n"
    "  result \"y\" f32[s0]\n  result \"w\" f32[4] state 0\n"
    "  buffer b0 f32[s0] bytes 4*s0 align 64 life [0, 3]\n"
    "  buffer b1 f32[s0] bytes 4*s0 align 64 life [1, 3] alias b0\n"
    "  buffer b2 i64[] bytes 8 align 64 life [4, 8]\n"
    "  buffer b3 bool[] bytes 1 align 64 life [4, 8]\n"
    "  buffer b4 f32[4] bytes 16 align 64 life [4, 12]\n"
    "  buffer b5 f32[4] bytes 16 align 64 life [4, 8]\n"
    "  buffer b6 f32[4] bytes 16 align 64 life [5, 6]\n"
    "  buffer b7 f32[s1] bytes 4*s1 align 64 life [11, 11] in 1\n"
    "  buffer b8 i64[s0] bytes 8*s0 align 64 life [2, 2]\n"
    "  segment {\n"
    "    launch @0 (a0, b0) kernel 0 dims [s0] loc [0]\n"
    "    launch @1 (b0, b1) kernel 0 dims [s0]\n"
    "    launch @2 (a3, b8) kernel 1 dims [s0]\n"
    "    launch @3 (b1, r0) kernel 0 dims [s0]\n"
    "    loop @4 (a2, _, b2, b3) carry [(t0, b4, b5)] do {\n"
    "      launch @5 (b4, b6) kernel 0 dims [4]\n"
    "      launch @6 (b6, b5) kernel 0 dims [4]\n"
    "    }\n"
    "    assert_dims @9 () dims [s0, 1024] rel le\n"
    "    bind @10 (c0) symbols [s1]\n"
    "  }\n"
    "  segment {\n"
    "    fill @11 (b7)\n"
    "    copy @12 (b4, t0) dims [16]\n"
    "  }\n"
    "}\n";

// A loop of segments whose value grows, and what a branch found: both in rooms.
const char kRagged[] =
    "plan 1 target \"cpu:vm\" features []\n"
    "symbols { s0 = input \"n\" in [0, 64] s1 = data in [0, 64] s2 = data in [0, 64] s3 = data in [0, 64] s4 = data in [0, 64] "
    "s5 = data in [0, 64] }\n"
    "kernels { #0 = \"map\" in_place [0->1] #1 = \"checked\" }\n"
    "entry \"main\" profile \"\" {\n"
    "  arg \"x\" f32[s0]\n  arg \"t\" i64[]\n  arg \"c\" bool[]\n  result \"y\" f32[s2]\n  result \"z\" f32[s4]\n  result \"u\" f32[s5]\n"
    "  buffer b0 f32[s1] bytes 4*s1 align 64 life [1, 1] room\n"
    "  buffer b1 f32[s1] bytes 4*s1 align 64 life [1, 1] room\n"
    "  buffer b2 i64[] bytes 8 align 64 life [3, 15] in 1\n"
    "  buffer b3 bool[] bytes 1 align 64 life [3, 15] in 1\n"
    "  buffer b4 f32[s1] bytes 4*s1 align 64 life [7, 10] in 4\n"
    "  buffer b5 f32[s4] bytes 4*s4 align 64 life [1, 1] room\n"
    "  buffer b6 f32[s5] bytes 4*s5 align 64 life [1, 1] room\n"
    "  segment {\n"
    "    bind @0 () dims [s0] symbols [s1]\n"
    "  }\n"
    "  segment {\n"
    "    room @1 (b0) dims [4*s1]\n"
    "    copy @2 (a0, b0) dims [4*s1]\n"
    "    room @3 (b6) dims [0]\n"
    "    loop @4 (a1, _, b2, b3) symbols [s1] carry [(b0, b0, b1)] trip s5 do {\n"
    "      segment @5 () in 4 do {\n"
    "        launch @7 (b0, b4) kernel 0 dims [s1]\n"
    "        room @8 (b1) dims [4*s1]\n"
    "        copy @9 (b4, b1) dims [4*s1]\n"
    "        append @10 (b4, b6) dims [4]\n"
    "        bind @11 () dims [s1+1] symbols [s1]\n"
    "      }\n"
    "    }\n"
    "    bind @12 () dims [s1] symbols [s2]\n"
    "  }\n"
    "  segment {\n"
    "    copy @16 (b0, r0) dims [4*s2]\n"
    "    copy @17 (b6, r2) dims [4*s5]\n"
    "    if @18 (a2) do {\n"
    "      segment @19 () in 5 do {\n"
    "        bind @20 () dims [s0] symbols [s4]\n"
    "      }\n"
    "      segment @21 () in 6 do {\n"
    "        room @22 (b5) dims [4*s4]\n"
    "        copy @23 (a0, b5) dims [4*s4]\n"
    "      }\n"
    "    }\n"
    "    else {\n"
    "      segment @24 () in 7 do {\n"
    "        bind @25 () dims [s2] symbols [s4]\n"
    "      }\n"
    "      segment @26 () in 8 do {\n"
    "        room @27 (b5) dims [4*s4]\n"
    "        copy @28 (b0, b5) dims [4*s4]\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "  segment {\n"
    "    copy @30 (b5, r1) dims [4*s4]\n"
    "  }\n"
    "}\n";

Status verify(const std::string& text, const std::string& map_text = kMap) {
  NNC_ASSIGN(Program p, parse_program(text));
  NNC_TRY(verify_program(p));
  NNC_ASSIGN(Kernel map, parse_kernel(map_text));
  NNC_ASSIGN(Kernel checked, parse_kernel(kChecked));
  std::vector<Kernel> kernels;
  kernels.push_back(std::move(map));
  kernels.push_back(std::move(checked));
  return verify_launches(p, kernels);
}

struct Mutant {
  const char* name;  // of the case; those of kRagged begin with "room" or "segment"
  const char* from;
  const char* to;
  const char* words;  // of the message
};

class PlanVerify : public testing::TestWithParam<Mutant> {};

TEST(PlanVerifier, AcceptsThePlan) {
  const auto s = verify(kPlan);
  EXPECT_TRUE(s.ok()) << s.error().str();
}

TEST(PlanVerifier, SharedMemoryMustBeStated) {
  std::string map = kMap;
  map.erase(map.find("inplace 0 -> 1\n"), 15);
  const auto s = verify(kPlan, map);
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().message.find("share memory, which the kernel does not state"), std::string::npos) << s.error().message;
}

TEST(PlanVerifier, AcceptsSegmentsInRegions) {
  const auto s = verify(kRagged);
  EXPECT_TRUE(s.ok()) << s.error().str();
  auto p = parse_program(kRagged);
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(print_program(*parse_program(print_program(*p))), print_program(*p));
  auto facts = entry_facts(*p, p->entries[0]);
  ASSERT_TRUE(facts.ok());
  ASSERT_EQ(facts->segments.size(), 9u);
  EXPECT_EQ(facts->segments[4].steps, &p->entries[0].segments[1].steps[3].body[0].body);
  EXPECT_EQ(facts->segments[4].known, (std::vector<uint8_t>{1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(facts->segments[3].known, (std::vector<uint8_t>{1, 1, 1, 0, 1, 1}));
}

TEST_P(PlanVerify, Refuses) {
  const std::string_view name = GetParam().name;
  std::string text = name.starts_with("room") || name.starts_with("segment_") ? kRagged : kPlan;
  const size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(GetParam().from).size(), GetParam().to);
  const auto s = verify(text);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kInvalidIr) << s.error().str();
  EXPECT_NE(s.error().message.find(GetParam().words), std::string::npos) << s.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanVerify,
    testing::Values(
        Mutant{"operand", "launch @3 (b1, r0)", "launch @3 (b99, r0)", "operand 99 of 9"},
        Mutant{"result", "launch @3 (b1, r0)", "launch @3 (b1, r7)", "operand 7 of 2"},
        Mutant{"state_number", "copy @12 (b4, t0)", "copy @12 (b4, t5)", "operand 5 of 2"},
        Mutant{"kernel_number", "launch @3 (b1, r0) kernel 0", "launch @3 (b1, r0) kernel 9", "kernel 9 of 2"},
        Mutant{"source", "loc [0]", "loc [4]", "a source"}, Mutant{"life_too_short", "life [0, 3]", "life [0, 2]", "lives longer than"},
        Mutant{"use_after_death", "life [4, 12]", "life [4, 8]", "lives from step 4 to 8"},
        Mutant{"born_late", "life [5, 6]", "life [6, 6]", "lives from step 6"},
        Mutant{"dies_unborn", "life [5, 6]", "life [5, 4]", "dies before"},
        Mutant{"order", "launch @1 (b0, b1)", "launch @0 (b0, b1)", "in order"},
        Mutant{"bad_alias", "alias b0", "alias b44", "leads nowhere"}, Mutant{"alias_cycle", "alias b0", "alias b1", "leads nowhere"},
        Mutant{"alias_larger", "buffer b1 f32[s0] bytes 4*s0", "buffer b1 f32[s0] bytes 4*s0+4", "larger than buffer 0"},
        Mutant{"align", "bytes 4*s1 align 64", "bytes 4*s1 align 48", "alignment 48"},
        Mutant{"segment", "life [11, 11] in 1", "life [11, 11] in 2", "segment 2 of 2"},
        Mutant{"unbound_size", "life [11, 11] in 1", "life [11, 11]", "no value there"},
        Mutant{"unbound_dim", "launch @3 (b1, r0) kernel 0 dims [s0]", "launch @3 (b1, r0) kernel 0 dims [s1]", "no value there"},
        Mutant{"unbound_derived", "launch @3 (b1, r0) kernel 0 dims [s0]", "launch @3 (b1, r0) kernel 0 dims [s3]", "no value there"},
        Mutant{"unbound_input", "launch @3 (b1, r0) kernel 0 dims [s0]", "launch @3 (b1, r0) kernel 0 dims [s2]", "no value there"},
        Mutant{"bind_input", "symbols [s1]", "symbols [s0]", "no data symbol"},
        Mutant{"step_after_bind", "bind @10 (c0) symbols [s1]\n", "bind @10 (c0) symbols [s1]\n fill @11 (b8)\n", "buffer 8 lives"},
        Mutant{"write_arg", "launch @0 (a0, b0)", "launch @0 (b0, a0)", "read before"},
        Mutant{"write_constant", "launch @2 (a3, b8)", "launch @2 (a3, c0)", "not to be written"},
        Mutant{"read_unwritten", "launch @0 (a0, b0)", "launch @0 (a0, r0)", "buffer 0 is read before"},
        Mutant{"arity", "launch @0 (a0, b0)", "launch @0 (a0, b0, a0)", "3 operands for a kernel of 2"},
        Mutant{"copy_dtype", "copy @12 (b4, t0)", "copy @12 (a3, t0)", "f32 where i64"},
        Mutant{"loop_flag", "(a2, _, b2, b3)", "(a2, _, b2, b2)", "i64 where bool"},
        Mutant{"loop_trip", "(a2, _, b2, b3)", "(a0, _, b2, b3)", "f32 where i64"},
        Mutant{"carry_shares", "carry [(t0, b4, b5)]", "carry [(t0, b4, b5), (t0, b4, b5)]", "share memory"},
        Mutant{"carry_short_life", "life [4, 8]\n  buffer b6", "life [6, 6]\n  buffer b6", "lives from step 6"},
        Mutant{"stale_state", "fill @11 (b7)\n    copy @12 (b4, t0) dims [16]", "copy @11 (b4, t0) dims [16]\n copy @12 (t0, r1) dims [16]",
               "used after it was written"},
        Mutant{"fails_after_state", "assert_dims @9 () dims [s0, 1024] rel le",
               "copy @8 (b4, t0) dims [16] assert_dims @9 () dims [s0, 1024] rel le", "can fail after"},
        Mutant{"checks_after_state", "launch @2 (a3, b8)", "copy @2 (t1, t0) dims [16] launch @3 (a3, b8)", "lives from step 2"},
        Mutant{"state_in_loop", "launch @6 (b6, b5)", "copy @6 (b6, t0) dims [16] launch @7 (b6, b5)", "inside a region"},
        Mutant{"state_twice", "result \"y\" f32[s0]", "result \"y\" f32[4] state 0", "replaced twice"},
        Mutant{"state_type", "arg \"w\" f32[4] state 0", "arg \"w\" f32[5] state 0", "differ in type"},
        Mutant{"unstated_alias", "launch @2 (a3, b8) kernel 1", "launch @2 (b8, b8) kernel 1", "read before"},
        Mutant{"states_named_twice", "#1 = \"v\"", "#1 = \"w\"", "two states"},
        Mutant{"kernels_named_twice", "#1 = \"checked\"", "#1 = \"map\"", "two kernels"},
        Mutant{"segment_number", "@5 () in 4", "@5 () in 9", "segment 9 of 9"},
        Mutant{"segment_of_entry", "@5 () in 4", "@5 () in 1", "segment 1 of 9"},
        Mutant{"segment_twice", "@26 () in 8", "@26 () in 7", "segment 7 of 9"},
        Mutant{"segment_not_in_region", "bind @0 () dims [s0]", "segment @0 () in 4 bind @0 () dims [s0]", "in no region"},
        Mutant{"segment_memory", "copy @16 (b0, r0)", "copy @10 (b4, r0)", "not numbered in order"},
        Mutant{"segment_memory_gone", "life [7, 10] in 4", "life [7, 10] in 5", "no memory yet"},
        Mutant{"segment_dims", "copy @16 (b0, r0) dims [4*s2]", "copy @16 (b0, r0) dims [4*s4]", "no value there"},
        Mutant{"segment_bound_within", "launch @7 (b0, b4) kernel 0 dims [s1]", "launch @7 (b0, b4) kernel 0 dims [s2]", "no value there"},
        Mutant{"segment_one_side", "bind @25 () dims [s2] symbols [s4]", "bind @25 () dims [s2] symbols [s3]", "no value there"},
        Mutant{"segment_loop_not_again", "        bind @11 () dims [s1+1] symbols [s1]\n", "", "loop's symbols again"},
        Mutant{"segment_again_elsewhere", "bind @12 () dims [s1] symbols [s2]", "bind @12 () dims [s1] symbols [s1]", "bound twice"},
        Mutant{"segment_again_early", "launch @7 (b0, b4)", "bind @6 () dims [1] symbols [s1] launch @7 (b0, b4)", "that a binding ended"},
        Mutant{"segment_loop_unbound", "symbols [s1] carry", "symbols [s2] carry", "no value before the loop"},
        Mutant{"segment_bind_dims", "bind @0 () dims [s0]", "bind @0 () dims [s0, s0]", "one dim"},
        Mutant{"segment_flat_bind", "      segment @19 () in 5 do {\n        bind @20 () dims [s0] symbols [s4]\n      }\n",
               "      bind @20 () dims [s0] symbols [s4]\n", "inside a region"},
        Mutant{"segment_carries", "life [1, 1] room\n  buffer b1 f32[s1] bytes 4*s1 align 64 life [1, 1] room",
               "life [1, 28] in 1\n  buffer b1 f32[s1] bytes 4*s1 align 64 life [1, 28] in 1", "takes a room"},
        Mutant{"room_size", "room @8 (b1) dims [4*s1]", "room @8 (b1)", "one size"},
        Mutant{"room_no_room", "room @8 (b1)", "room @8 (b4)", "takes a room"},
        Mutant{"room_append", "append @10 (b4, b6) dims [4]", "append @10 (b4, b4) dims [4]", "takes a room"},
        Mutant{"room_append_size", "append @10 (b4, b6) dims [4]", "append @10 (b4, b6)", "place and a size"},
        Mutant{"room_alias", "life [1, 1] room\n  buffer b6", "life [1, 1] room alias b0\n  buffer b6", "shares no memory"},
        Mutant{"room_shared", "life [7, 10] in 4", "life [7, 10] in 4 alias b0", "memory of a room"},
        Mutant{"room_unfilled", "    copy @2 (a0, b0) dims [4*s1]\n", "", "read before anything writes it"},
        Mutant{"room_lost", "copy @9 (b4, b1)", "copy @8 (b4, b1)", "in order"},
        Mutant{"room_emptied", "copy @9 (b4, b1) dims [4*s1]", "fill @9 (b4)", "read before anything writes it"},
        Mutant{"room_init", "carry [(b0, b0, b1)]", "carry [(a0, b0, b1)]", "filled before it"},
        Mutant{"unknown_host", "fill @11 (b7)", "host @11 (b7) fn \"rm\"", "no host function"}),
    [](const testing::TestParamInfo<Mutant>& m) { return m.param.name; });

}  // namespace
}  // namespace nnc

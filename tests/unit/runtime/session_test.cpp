#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/unit/runtime/programs.h"

namespace nnc {
namespace {

using namespace test;

const char kHead[] = "plan 1 target \"cpu:vm\" features []\n";

TestProgram chain() {
  TestProgram p;
  p.plan = cat(kHead,
               "symbols { s0 = input \"n\" in [0, 1000] divisor 2 }\n"
               "kernels { #0 = \"inc\" #1 = \"sum\" }\n"
               "sources { #0 = \"/a/Add\" op \"Add\" scope \"\" }\n"
               "entry \"main\" profile \"\" {\n"
               "  arg \"x\" f32[s0]\n  arg \"y\" f32[s0]\n  result \"z\" f32[s0]\n"
               "  buffer b0 f32[s0] bytes 4*s0 align 64 life [0, 1]\n"
               "  buffer b1 f32[s0] bytes 4*s0 align 64 life [1, 2]\n"
               "  segment {\n"
               "    launch @0 (a0, b0) kernel 0 dims [s0] loc [0]\n"
               "    launch @1 (b0, a1, b1) kernel 1 dims [s0]\n"
               "    launch @2 (b1, r0) kernel 0 dims [s0]\n"
               "  }\n}\n");
  p.kernels = {add_constant(1), add_two()};
  return p;
}

TEST(Session, RunsShapesInAnyOrder) {
  const auto e = must_load(chain());
  ASSERT_TRUE(e);
  auto s = must_open(e);
  std::mt19937 rng(1);
  for (int run = 0; run < 60; ++run) {
    const int64_t n = static_cast<int64_t>(rng() % 6) * 2;
    std::vector<float> x, y, z;
    for (int64_t i = 0; i < n; ++i) {
      x.push_back(static_cast<float>(rng() % 100));
      y.push_back(static_cast<float>(rng() % 100));
      z.push_back(x.back() + 1 + y.back() + 1);
    }
    auto out = s->run("main", std::vector<Tensor>{f32({n}, x), f32({n}, y)});
    ASSERT_TRUE(out.ok()) << out.error().str();
    EXPECT_EQ(values((*out)[0]), z);
  }
  EXPECT_LE(s->stats().bindings, 6);
  EXPECT_EQ(e->counts("main").vm, 3);
  EXPECT_EQ(e->require_native().error().code, Code::kRequirement);
}

TEST(Session, AllocatesNothingAfterTheFirstRun) {
  auto s = must_open(must_load(chain()));
  std::vector<float> x(8, 1), y(8, 2), z(8);
  const int64_t dims[] = {8};
  const InputView in[] = {{DType::kF32, dims, x.data(), 32}, {DType::kF32, dims, y.data(), 32}};
  OutputView out[1];
  out[0].data = z.data();
  out[0].room = 32;
  ASSERT_TRUE(s->run("main", in, out).ok());
  const int64_t before = heap_allocations(), made = s->stats().allocations;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(s->run("main", in, out).ok());
  EXPECT_EQ(heap_allocations(), before);
  EXPECT_EQ(s->stats().allocations, made);
  EXPECT_EQ(z, std::vector<float>(8, 5));
  EXPECT_EQ(out[0].rank, 1);
  EXPECT_EQ(out[0].dims[0], 8);
}

TEST(Session, ErrorsNameTheArgument) {
  auto s = must_open(must_load(chain()));
  auto message = [&](std::vector<Tensor> in, Code code) {
    auto r = s->run("main", in);
    EXPECT_FALSE(r.ok());
    if (r.ok()) return std::string();
    EXPECT_EQ(r.error().code, code) << r.error().str();
    return r.error().str();
  };
  const Tensor two = f32({2}, {1, 2}), four = f32({4}, {1, 2, 3, 4});
  EXPECT_NE(message({two}, Code::kBadInput).find("takes 2 inputs (x: f32[n], y: f32[n]), 1 given"), std::string::npos);
  EXPECT_NE(message({two, Tensor(DType::kI64, {2})}, Code::kBadInput).find("input \"y\": i64[2] given, f32[n] expected"),
            std::string::npos);
  EXPECT_NE(message({two, f32({1, 2}, {1, 2})}, Code::kBadInput).find("f32[1, 2] given"), std::string::npos);
  const std::string conflict = message({two, four}, Code::kBadInput);
  EXPECT_NE(conflict.find("input \"y\" axis 0: 4 given, n = 2 expected"), std::string::npos) << conflict;
  EXPECT_NE(conflict.find("comes from input \"x\""), std::string::npos) << conflict;
  EXPECT_NE(message({f32({3}, {1, 2, 3}), f32({3}, {1, 2, 3})}, Code::kBadInput).find("multiple of 2"), std::string::npos);
  EXPECT_NE(message({Tensor(DType::kF32, {1002}), Tensor(DType::kF32, {1002})}, Code::kBadInput).find("made for 0 to 1000"),
            std::string::npos);
  auto unknown = s->run("mian", std::vector<Tensor>{});
  EXPECT_EQ(unknown.error().code, Code::kUnknownName);
  EXPECT_NE(unknown.error().str().find("did you mean \"main\""), std::string::npos);
  auto out = s->run("main", std::vector<Tensor>{two, two});  // the session still works
  EXPECT_TRUE(out.ok());
}

TEST(Session, CallersBuffersAreChecked) {
  auto s = must_open(must_load(chain()));
  std::vector<float> x(8, 1), z(8);
  const int64_t dims[] = {8};
  InputView in[] = {{DType::kF32, dims, x.data(), 32}, {DType::kF32, dims, x.data(), 32}};
  OutputView out[1];
  out[0].data = z.data();
  out[0].room = 28;
  EXPECT_EQ(s->run("main", in, out).error().code, Code::kBadInput);
  out[0].data = x.data();
  out[0].room = 32;
  EXPECT_NE(s->run("main", in, out).error().message.find("overlaps"), std::string::npos);
  out[0].data = z.data();
  in[1].bytes = 16;
  EXPECT_EQ(s->run("main", in, out).error().code, Code::kBadInput);
  // An input that is not aligned to its elements is copied first.
  std::vector<uint8_t> odd(33);
  std::memcpy(odd.data() + 1, x.data(), 32);
  in[1] = {DType::kF32, dims, odd.data() + 1, 32};
  ASSERT_TRUE(s->run("main", in, out).ok());
  EXPECT_EQ(z, std::vector<float>(8, 4));
}

TEST(Session, SmallerRunAfterFailedAllocation) {
  SessionOptions options;
  options.max_bytes = 1024;
  auto s = must_open(must_load(chain()), options);
  EXPECT_EQ(s->run("main", std::vector<Tensor>{Tensor(DType::kF32, {1000}), Tensor(DType::kF32, {1000})}).error().code, Code::kLimit);
  EXPECT_TRUE(s->run("main", std::vector<Tensor>{Tensor(DType::kF32, {10}), Tensor(DType::kF32, {10})}).ok());
}

TEST(Session, BindingsAreForgottenOldestFirst) {
  SessionOptions options;
  options.bindings = 2;
  auto s = must_open(must_load(chain()), options);
  for (int64_t n : {2, 4, 2, 6, 2, 4})
    ASSERT_TRUE(s->run("main", std::vector<Tensor>{Tensor(DType::kF32, {n}), Tensor(DType::kF32, {n})}).ok());
  EXPECT_EQ(s->stats().bindings, 4);  // 2, 4, 6, and 4 again
}

// Two states: `count` grows by one per step; `last` becomes x gathered at the index, which may be out of range.
TestProgram stateful() {
  TestProgram p;
  p.plan = cat(kHead,
               "kernels { #0 = \"inc\" #1 = \"gather\" }\n"
               "constants { #0 = f32[3] sha256:",
               zero_hash(),
               " }\n"
               "states { #0 = \"count\" f32[3] = c0 #1 = \"last\" f32[2] }\n"
               "sources { #0 = \"/emb/Gather\" op \"Gather\" scope \"\" }\n"
               "entry \"step\" profile \"\" {\n"
               "  arg \"count\" f32[3] state 0\n  arg \"last\" f32[2] state 1\n  arg \"i\" i64[2]\n"
               "  result \"count_out\" f32[3] state 0\n  result \"last_out\" f32[2] state 1\n  result \"seen\" f32[3]\n"
               "  buffer b0 f32[3] bytes 12 align 64 life [0, 3]\n"
               "  buffer b1 f32[2] bytes 8 align 64 life [1, 4]\n"
               "  segment {\n"
               "    launch @0 (t0, b0) kernel 0 dims [3]\n"
               "    launch @1 (b0, a2, b1) kernel 1 dims [2, 3] loc [0]\n"
               "    copy @2 (t0, r2) dims [12]\n"
               "    copy @3 (b0, t0) dims [12]\n"
               "    copy @4 (b1, t1) dims [8]\n"
               "  }\n}\n");
  p.kernels = {add_constant(1), gather_kernel()};
  p.constants = {f32({3}, {10, 20, 30})};
  return p;
}

TEST(Session, FailedStepLeavesStatesAsTheyWere) {
  auto s = must_open(must_load(stateful()));
  auto step = [&](int64_t a, int64_t b) { return s->run("step", std::vector<Tensor>{Tensor::vector_i64(std::vector<int64_t>{a, b})}); };
  ASSERT_TRUE(step(0, 2).ok());
  EXPECT_EQ(values(*s->state("count")), (std::vector<float>{11, 21, 31}));
  EXPECT_EQ(values(*s->state("last")), (std::vector<float>{11, 31}));
  for (int64_t bad : {int64_t(3), int64_t(-1), INT64_MIN, INT64_MAX}) {
    auto r = step(1, bad);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.error().code, Code::kIndexOutOfRange);
    EXPECT_EQ(r.error().place.node, "/emb/Gather");
    EXPECT_NE(r.error().message.find(cat("gather index ", bad, " is outside [0, 3)")), std::string::npos) << r.error().message;
    EXPECT_EQ(values(*s->state("count")), (std::vector<float>{11, 21, 31}));
    EXPECT_EQ(values(*s->state("last")), (std::vector<float>{11, 31}));
  }
  auto r = step(1, 1);
  ASSERT_TRUE(r.ok()) << r.error().str();
  EXPECT_EQ(values((*r)[0]), (std::vector<float>{11, 21, 31}));
  EXPECT_EQ(values(*s->state("count")), (std::vector<float>{12, 22, 32}));
  ASSERT_TRUE(s->set_state("last", f32({2}, {5, 6})).ok());
  EXPECT_EQ(values(*s->state("last")), (std::vector<float>{5, 6}));
  EXPECT_EQ(s->set_state("last", f32({3}, {5, 6, 7})).error().code, Code::kBadInput);
  EXPECT_EQ(s->state("lst").error().code, Code::kUnknownName);
  ASSERT_TRUE(s->reset_states().ok());
  EXPECT_EQ(values(*s->state("count")), (std::vector<float>{10, 20, 30}));
  EXPECT_EQ(values(*s->state("last")), (std::vector<float>{0, 0}));
}

// x -> NonZero -> values at the coordinates, doubled.
TestProgram segmented() {
  TestProgram p;
  p.plan = cat(kHead,
               "symbols { s0 = input \"n\" in [0, 4096] s1 = data \"found\" in [0, 4096] s2 = max(s1, 1) in [1, 4096] }\n"
               "kernels { #0 = \"gather\" #1 = \"double\" }\n"
               "entry \"main\" profile \"\" {\n"
               "  arg \"x\" f32[s0]\n  result \"at\" i64[1, s1]\n  result \"v\" f32[s1]\n"
               "  buffer b0 i64[1, s1] bytes 8*s0 align 64 life [0, 3]\n"
               "  buffer b1 f32[s1] bytes 4*s1 align 64 life [1, 2] in 1\n"
               "  segment { host @0 (a0, b0) fn \"non_zero\" symbols [s1] }\n"
               "  segment {\n"
               "    launch @1 (a0, b0, b1) kernel 0 dims [s1, s0]\n"
               "    launch @2 (b1, b1, r1) kernel 1 dims [s1]\n"
               "    copy @3 (b0, r0) dims [8*s1]\n"
               "  }\n}\n");
  p.kernels = {gather_kernel(), add_two()};
  return p;
}

TEST(Session, DataSymbolsStartSegments) {
  const auto e = must_load(segmented());
  ASSERT_TRUE(e);
  auto s = must_open(e);
  std::mt19937 rng(3);
  for (int run = 0; run < 50; ++run) {
    const size_t n = run < 25 ? rng() % 40 : rng() % 4000;
    std::vector<float> x, v;
    std::vector<int64_t> at;
    for (size_t i = 0; i < n; ++i) {
      x.push_back(rng() % 3 == 0 ? 0 : static_cast<float>(rng() % 9));
      if (x.back() == 0) continue;
      at.push_back(static_cast<int64_t>(i));
      v.push_back(2 * x.back());
    }
    for (Session* session : {s.get(), must_open(e).release()}) {
      auto out = session->run("main", std::vector<Tensor>{f32({static_cast<int64_t>(n)}, x)});
      ASSERT_TRUE(out.ok()) << out.error().str();
      EXPECT_EQ((*out)[0].dims(), (std::vector<int64_t>{1, static_cast<int64_t>(at.size())}));
      EXPECT_EQ(std::vector<int64_t>((*out)[0].as<int64_t>().begin(), (*out)[0].as<int64_t>().end()), at);
      EXPECT_EQ(values((*out)[1]), v);
      if (session != s.get()) delete session;
    }
  }
}

TEST(Session, BranchesRunOneSide) {
  TestProgram p;
  p.plan = cat(kHead,
               "kernels { #0 = \"inc\" #1 = \"dec\" }\n"
               "entry \"main\" profile \"\" {\n"
               "  arg \"c\" bool[]\n  arg \"x\" f32[2]\n  result \"y\" f32[2]\n"
               "  buffer b0 f32[2] bytes 8 align 64 life [1, 2]\n"
               "  segment {\n"
               "    if @0 (a0) do {\n      launch @1 (a1, b0) kernel 0 dims [2]\n      launch @2 (b0, r0) kernel 0 dims [2]\n    }\n"
               "    else {\n      launch @3 (a1, r0) kernel 1 dims [2]\n    }\n"
               "  }\n}\n");
  p.kernels = {add_constant(1), add_constant(-1)};
  auto s = must_open(must_load(p));
  EXPECT_EQ(values((*s->run("main", std::vector<Tensor>{flag(true), f32({2}, {1, 2})}))[0]), (std::vector<float>{3, 4}));
  EXPECT_EQ(values((*s->run("main", std::vector<Tensor>{flag(false), f32({2}, {1, 2})}))[0]), (std::vector<float>{0, 1}));
}

// carried a, b: (a, b) -> (b, a + b); stacked: a after each round. An odd and an even number of rounds end in different buffers.
TestProgram fibonacci() {
  TestProgram p;
  p.plan = cat(kHead,
               "kernels { #0 = \"sum\" #1 = \"inc\" }\n"
               "entry \"main\" profile \"\" {\n"
               "  arg \"trip\" i64[]\n  arg \"a\" f32[1]\n  arg \"b\" f32[1]\n  result \"a_out\" f32[1]\n  result \"all\" f32[8]\n"
               "  buffer b0 i64[] bytes 8 align 64 life [0, 9]\n"
               "  buffer b1 bool[] bytes 1 align 64 life [0, 9]\n"
               "  buffer b2 f32[1] bytes 4 align 64 life [0, 9]\n"
               "  buffer b3 f32[1] bytes 4 align 64 life [0, 9]\n"
               "  buffer b4 f32[1] bytes 4 align 64 life [0, 9]\n"
               "  buffer b5 f32[1] bytes 4 align 64 life [0, 9]\n"
               "  buffer b6 f32[8] bytes 32 align 64 life [0, 9]\n"
               "  segment {\n"
               "    fill @0 (b6)\n"
               "    loop @1 (a0, _, b0, b1) carry [(a1, b2, b3), (a2, b4, b5)] scan [(b3, b6, 4)] do {\n"
               "      copy @2 (b4, b3) dims [4]\n"
               "      launch @3 (b2, b4, b5) kernel 0 dims [1]\n"
               "    }\n"
               "    copy @8 (b2, r0) dims [4]\n"
               "    copy @9 (b6, r1) dims [32]\n"
               "  }\n}\n");
  p.kernels = {add_two(), add_constant(1)};
  return p;
}

TEST(Session, LoopsSwapCarriedBuffers) {
  auto s = must_open(must_load(fibonacci()));
  const std::vector<float> fib{1, 1, 2, 3, 5, 8, 13, 21, 34};
  for (int64_t trips : {0, 1, 2, 5, 8, 3}) {
    auto out = s->run("main", std::vector<Tensor>{Tensor::scalar_i64(trips), f32({1}, {1}), f32({1}, {1})});
    ASSERT_TRUE(out.ok()) << out.error().str();
    EXPECT_EQ(values((*out)[0])[0], fib[static_cast<size_t>(trips)]) << trips;
    std::vector<float> stacked(8, 0);
    for (size_t i = 0; i < static_cast<size_t>(trips); ++i) stacked[i] = fib[i + 1];
    EXPECT_EQ(values((*out)[1]), stacked);
  }
  auto out = s->run("main", std::vector<Tensor>{Tensor::scalar_i64(9), f32({1}, {1}), f32({1}, {1})});
  EXPECT_EQ(out.error().code, Code::kLimit);
  out = s->run("main", std::vector<Tensor>{Tensor::scalar_i64(3), f32({1}, {1}), f32({1}, {1})});  // after the failure in the middle
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(values((*out)[0])[0], 3);
}

// x, one element longer each round: y = what the loop leaves, z = x of each round, one behind the other.
TestProgram growing() {
  TestProgram p;
  p.plan = cat(kHead,
               "symbols { s0 = input \"n\" in [0, 99] s1 = data in [0, 99] s2 = data in [0, 99] s3 = data in [0, 99] }\n"
               "kernels { #0 = \"inc\" }\n"
               "entry \"main\" profile \"\" {\n"
               "  arg \"x\" f32[s0]\n  arg \"t\" i64[]\n  result \"y\" f32[s2]\n  result \"z\" f32[s3]\n"
               "  buffer b0 f32[s1] bytes 4*s1 align 64 life [1, 1] room\n"
               "  buffer b1 f32[s1] bytes 4*s1+4 align 64 life [1, 1] room\n"
               "  buffer b2 i64[] bytes 8 align 64 life [3, 15] in 1\n"
               "  buffer b3 bool[] bytes 1 align 64 life [3, 15] in 1\n"
               "  buffer b4 f32[s1] bytes 4*s1 align 64 life [6, 10] in 3\n"
               "  buffer b5 f32[s3] bytes 4*s3 align 64 life [1, 1] room\n"
               "  segment { bind @0 () dims [s0] symbols [s1] }\n"
               "  segment {\n"
               "    room @1 (b0) dims [4*s1] copy @2 (a0, b0) dims [4*s1] room @3 (b5) dims [0]\n"
               "    loop @4 (a1, _, b2, b3) symbols [s1] carry [(b0, b0, b1)] trip s3 do {\n"
               "      segment @5 () in 3 do {\n"
               "        launch @6 (b0, b4) kernel 0 dims [s1]\n"
               "        room @7 (b1) dims [4*s1+4]\n"
               "        fill @8 (b1) copy @9 (b4, b1) dims [4*s1]\n"
               "        append @10 (b4, b5) dims [4]\n"
               "        bind @11 () dims [s1+1] symbols [s1]\n"
               "      }\n    }\n"
               "    bind @16 () dims [s1] symbols [s2]\n"
               "  }\n"
               "  segment { copy @17 (b0, r0) dims [4*s2] copy @18 (b5, r1) dims [4*s3] }\n}\n");
  p.kernels = {add_constant(1)};
  return p;
}

TEST(Session, SegmentsOfALoopAreBoundForEachRound) {
  auto s = must_open(must_load(growing()));
  for (int64_t trips : {0, 1, 2, 5, 40, 2, 3}) {
    auto out = s->run("main", std::vector<Tensor>{f32({2}, {10, 20}), Tensor::scalar_i64(trips)});
    ASSERT_TRUE(out.ok()) << out.error().str();
    const auto n = static_cast<float>(trips);
    std::vector<float> y{10 + n, 20 + n}, z;
    for (int64_t i = 0; i < trips; ++i) {
      y.push_back(static_cast<float>(trips - 1 - i));
      z.push_back(11 + static_cast<float>(i));
    }
    EXPECT_EQ(values((*out)[0]), y);
    EXPECT_EQ(values((*out)[1]), z);
  }
  auto out = s->run("main", std::vector<Tensor>{f32({2}, {10, 20}), Tensor::scalar_i64(98)});
  EXPECT_EQ(out.error().code, Code::kAssertDims);  // 100 elements, where the symbol ends at 99
  SessionOptions small;
  small.max_bytes = 512;
  out = must_open(must_load(growing()), small)->run("main", std::vector<Tensor>{f32({2}, {10, 20}), Tensor::scalar_i64(90)});
  EXPECT_EQ(out.error().code, Code::kLimit);
}

// The plan's verification cannot compare a room with what is read of it; the run does.
TEST(Session, RoomsAreAsLargeAsTheirReadersSay) {
  for (const auto& [from, to] : {std::pair{"room @7 (b1) dims [4*s1+4]", "room @7 (b1) dims [4]"},
                                 {"room @1 (b0) dims [4*s1]", "room @1 (b0) dims [1]"},
                                 {"append @10 (b4, b5) dims [4]", "append @10 (b4, b5) dims [400]"},
                                 {"append @10 (b4, b5) dims [4]", "append @10 (b4, b5) dims [s1-99]"},
                                 {"copy @18 (b5, r1) dims [4*s3]", "copy @18 (b5, r1) dims [4*s3+4]"}}) {
    TestProgram p = growing();
    p.plan.replace(p.plan.find(from), std::string_view(from).size(), to);
    std::vector<float> x(40, 1);
    auto out = must_open(must_load(p))->run("main", std::vector<Tensor>{f32({40}, x), Tensor::scalar_i64(3)});
    ASSERT_FALSE(out.ok()) << to;
    EXPECT_EQ(out.error().code, Code::kInvalidIr) << out.error().str();
  }
}

// The `past` axis is bounded: [past, 2] laid out for 8 rows; transposed it is an inner axis: [2, past].
TestProgram bounded() {
  TestProgram p;
  p.plan = cat(kHead,
               "symbols { s0 = input \"past\" in [0, 8] bounded }\n"
               "kernels { #0 = \"inc\" }\n"
               "entry \"main\" profile \"\" {\n"
               "  arg \"x\" f32[2, s0]\n  result \"y\" f32[2, s0]\n"
               "  segment { launch @0 (a0, r0) kernel 0 dims [s0] }\n}\n");
  p.kernels = {
      "kernel @rows\nsymbol s0 = input lo 0 hi 8 div 1 typical 0\n"
      "param $x.0 : f32[16] align 64 r global\nparam $y.1 : f32[16] align 64 w global\n"
      "grid [2, 1, 1] threads 1 index i64\n{\n"
      "  for %j.0 = 0 to s0 step 1 {\n"
      "    %v.1 = load $x.0[add(mul(task0, 8), %j.0)] f32\n"
      "    store $y.1[add(mul(task0, 8), %j.0)] = add(%v.1, f32(1))\n"
      "  }\n}\n"};
  return p;
}

TEST(Session, BoundedExtentsShareOneBinding) {
  auto s = must_open(must_load(bounded()));
  for (int64_t past = 0; past <= 8; ++past) {
    std::vector<float> x, y;
    for (int64_t i = 0; i < 2 * past; ++i) {
      x.push_back(static_cast<float>(i));
      y.push_back(static_cast<float>(i + 1));
    }
    auto out = s->run("main", std::vector<Tensor>{f32({2, past}, x)});
    ASSERT_TRUE(out.ok()) << out.error().str();
    EXPECT_EQ((*out)[0].dims(), (std::vector<int64_t>{2, past}));
    EXPECT_EQ(values((*out)[0]), y);
  }
  EXPECT_EQ(s->stats().bindings, 1);
  // A step of a decoder: another extent each time, nothing from the heap.
  std::vector<float> x(16, 1), y(16);
  int64_t before = 0;
  for (int64_t step = 0; step < 100; ++step) {
    const int64_t dims[] = {2, step % 9};
    const InputView in[] = {{DType::kF32, dims, x.data(), 64}};
    OutputView out[1];
    out[0].data = y.data();
    out[0].room = 64;
    ASSERT_TRUE(s->run("main", in, out).ok());
    EXPECT_EQ(out[0].dims[1], step % 9);
    if (step == 0) before = heap_allocations();
  }
  EXPECT_EQ(heap_allocations(), before);
}

TEST(Session, ProfilesAreChosenByWhatFits) {
  TestProgram p;
  const std::string body = " {\n  arg \"x\" f32[s0]\n  result \"y\" f32[s0]\n  segment {\n    assert_dims @0 () dims [s0, 4] rel ";
  p.plan = cat(kHead, "symbols { s0 = input \"n\" in [0, 100] }\nkernels { #0 = \"inc\" #1 = \"dec\" }\n",
               "entry \"main\" profile \"small\"", body, "le message \"small\"\n    launch @1 (a0, r0) kernel 0 dims [s0]\n  }\n}\n",
               "entry \"main\" profile \"five\"", body, "ne message \"not four\"\n    launch @1 (a0, r0) kernel 1 dims [s0]\n  }\n}\n",
               "entry \"main\" profile \"pair\" {\n  arg \"x\" f32[s0]\n  arg \"z\" f32[s0]\n  result \"y\" f32[s0]\n",
               "  segment {\n    launch @0 (a0, r0) kernel 0 dims [s0]\n  }\n}\n");
  p.kernels = {add_constant(1), add_constant(-1)};
  auto s = must_open(must_load(p));
  EXPECT_EQ(values((*s->run("main", std::vector<Tensor>{f32({2}, {1, 2})}))[0]), (std::vector<float>{2, 3}));
  EXPECT_EQ(values((*s->run("main", std::vector<Tensor>{Tensor(DType::kF32, {6})}))[0]), std::vector<float>(6, -1));
  EXPECT_TRUE(s->run("main", std::vector<Tensor>{f32({2}, {1, 2}), f32({2}, {1, 2})}).ok());
  auto r = s->run("main", std::vector<Tensor>{Tensor(DType::kI64, {2})});
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().str().find("none of the 3 profiles"), std::string::npos);
}

TEST(Session, CancelEndsTheRun) {
  auto s = must_open(must_load(fibonacci()));
  s->cancel();
  const std::vector<Tensor> in{Tensor::scalar_i64(3), f32({1}, {1}), f32({1}, {1})};
  EXPECT_FALSE(s->run("main", in).ok());
  EXPECT_TRUE(s->run("main", in).ok());
}

}  // namespace
}  // namespace nnc

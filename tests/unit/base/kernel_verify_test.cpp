#include <gtest/gtest.h>

#include "ir/base/kernel_bounds.h"
#include "ir/base/kernel_builder.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

std::string wrap(const std::string& params, const std::string& body, const std::string& header = "grid [1, 1, 1] threads 1 index i64") {
  return "kernel @k\n" + params + header + "\n{\n" + body + "}\n";
}
const char kX[] = "param $x.0 : f32[1024] align 64 r global\nparam $y.1 : f32[1024] align 64 rw global\n";
const char kWarps[] = "grid [4, 1, 1] threads 64 index i64";

std::string problems_of(const std::string& text) {
  const auto k = parse_kernel(text);
  if (!k.ok()) return cat("parse: ", k.error().message);
  std::string out;
  for (const KernelProblem& p : verify_kernel(*k)) append(out, p.invariant, ": ", p.message, "\n");
  return out;
}

TEST(KernelVerify, GoodKernelsPass) {
  EXPECT_EQ(problems_of(wrap(kX, "  %v.0 = load $x.0[16] f32x16\n  store $y.1[0] = %v.0\n")), "");
  EXPECT_EQ(problems_of(wrap(kX,
                             "  alloc $s.2 : f32[64] shared align 16\n"
                             "  %v.0 = load $x.0[thread] f32\n"
                             "  store $s.2[thread] = %v.0\n"
                             "  barrier block\n"
                             "  %w.1 = warp.shfl_xor %v.0 by 1\n"
                             "  if lt(floordiv(thread, 32), 1) {\n"
                             "    %u.2 = warp.shfl_xor %w.1 by 2\n"
                             "    store $y.1[thread] = %u.2\n"
                             "  }\n",
                             kWarps)),
            "");
}

// One failing kernel for every invariant.
TEST(KernelVerify, EveryInvariantHasAFailingKernel) {
  struct Case {
    const char* what;
    std::string text, want;
  };
  const Case cases[] = {
      {"a load inside an expression", wrap(kX, "  let %a.0 = add(f32(1), load $x.0[0] f32)\n"), "invariant 1"},
      {"a name outside its block", wrap(kX, "  {\n    let %a.0 = add(task0, 1)\n  }\n  let %b.1 = add(%a.0, 1)\n"),
       "2: %a is used outside its scope"},
      {"a loop variable after its loop", wrap(kX, "  for %i.0 = 0 to 4 step 1 {\n    let %u.1 = %i.0\n  }\n  let %b.2 = %i.0\n"),
       "2: %i is used outside its scope"},
      {"set of a let", wrap(kX, "  let %a.0 = add(task0, 1)\n  set %a.0 = 4\n"), "2: %a is no mut"},
      {"set outside its block", wrap(kX, "  if lt(task0, 3) {\n    mut %a.0 = 1\n  }\n  set %a.0 = 2\n"), "2: %a is set outside its scope"},
      {"a buffer outside its block", wrap(kX, "  {\n    alloc $t.2 : f32[8] local align 16\n  }\n  store $t.2[task0] = f32(1)\n"),
       "2: buffer 't' is used outside its scope"},
      {"an access that is certainly outside", wrap(kX, "  %v.0 = load $x.0[1020] f32x8\n  store $y.1[0] = %v.0\n"), "3: access to $x"},
      {"an access below zero", wrap(kX, "  store $y.1[-1] = f32(0)\n"), "3: access to $y"},
      {"more elements than an i32 index reaches",
       wrap("symbol s0 = input lo 1 hi 4294967296 div 1 typical 0\nparam $x.0 : f32[s0] align 64 r global\n", "",
            "grid [1, 1, 1] threads 1 index i32"),
       "3: buffer 'x'"},
      {"a barrier that some threads miss", wrap(kX, "  if lt(thread, 5) {\n    barrier block\n  }\n", kWarps), "4: "},
      {"a barrier of the block in one warp", wrap(kX, "  if lt(floordiv(thread, 32), 1) {\n    barrier block\n  }\n", kWarps), "4: "},
      {"a shuffle in a loop of varying length",
       wrap(kX, "  for %i.0 = 0 to thread step 1 {\n    %w.1 = warp.shfl_xor f32(1) by 1\n  }\n", kWarps), "4: "},
      {"a wait under a varying mut",
       wrap(kX,
            "  mut %m.0 = 0\n  if lt(lane, 3) {\n    set %m.0 = 1\n  }\n  while lt(0, %m.0) {\n    copy.wait 0\n    set %m.0 = 0\n  }\n",
            kWarps),
       "4: "},
      {"an mma in a branch of lanes",
       wrap(kX,
            "  %c.0 = frag.zero f32 m16n8k16 c\n  %a.1 = frag.zero f16 m16n8k16 a\n  %b.2 = frag.zero f16 m16n8k16 b\n  if lt(lane, 4) {\n "
            "   frag.mma %c.0 += %a.1 %b.2\n  }\n",
            kWarps),
       "4: "},
      {"a shared buffer under control flow", wrap(kX, "  if lt(task0, 3) {\n    alloc $s.2 : f32[8] shared align 16\n  }\n", kWarps),
       "4: shared buffer"},
      {"a sum of two types", wrap(kX, "  let %a.0 = add(f32(1), f64(1))\n"), "operands must have one type"},
      {"arithmetic on f16", wrap(kX, "  let %a.0 = add(f16(1), f16(1))\n"), "convert to f32 first"},
      {"a store of another type", wrap(kX, "  store $y.1[0] = f64(1)\n"), "5: buffer 'y' of f32"},
      {"a value for masked-off lanes without a mask", wrap(kX, "  %v.0 = load $x.0[0] f32 else f32(1)\n"), "6: "},
      {"a select in place of a mask",
       wrap("symbol s0 = input lo 0 hi 4096 div 1 typical 0\nparam $x.0 : f32[s0] align 64 r global\nparam $y.1 : f32[1024] align 64 rw "
            "global\n",
            "  %v.0 = load $x.0[task0] f32\n  store $y.1[task0] = select(lt(task0, s0), %v.0, f32(0))\n",
            "grid [1024, 1, 1] threads 1 index i64"),
       "6: access to $x"},
      {"float atomics", wrap(kX, "  atomic.add $y.1[0] = f32(1)\n"), "7: "},
      {"a register tile as an array",
       wrap(kX, "  alloc $t.2 : f32[8] local align 16\n  store $t.2[0] = f32(1)\n  %v.0 = load $t.2[0] f32\n"), "8: local array 't'"},
      {"a local array of many threads", wrap(kX, "  alloc $t.2 : f32[8] local align 16\n  store $t.2[lane] = f32(1)\n", kWarps),
       "8: local array 't'"},
      // 0: malformed
      {"a write to an input", wrap(kX, "  store $x.0[0] = f32(1)\n"), "0: buffer 'x' is written"},
      {"a condition of many lanes", wrap(kX, "  if lt(iota(4), indexx4(2)) {\n    store $y.1[0] = f32(1)\n  }\n"), "0: a condition"},
      {"a mask of other lanes", wrap(kX, "  %v.0 = load $x.0[0] f32x4 mask lt(task0, 1)\n"), "0: mask of type"},
      {"a missing site", wrap(kX, "  %i.0 = check task0 < 4 at 2\n"), "0: check site"},
      {"an mma of other shapes",
       wrap(kX,
            "  %c.0 = frag.zero f32 m16n8k16 c\n  %a.1 = frag.zero bf16 m16n8k16 a\n  %b.2 = frag.zero f16 m16n8k16 b\n  frag.mma %c.0 += "
            "%a.1 %b.2\n",
            kWarps),
       "0: no mma"},
      {"fragments without warps", wrap(kX, "  %c.0 = frag.zero f32 m16n8k16 c\n"), "0: fragments belong to whole warps"},
  };
  for (const Case& c : cases)
    EXPECT_NE(problems_of(c.text).find(c.want), std::string::npos) << c.what << ": expected '" << c.want << "', got\n"
                                                                   << problems_of(c.text) << c.text;
}

TEST(KernelVerify, FloatAtomicsAreForTheFastLeague) {
  EXPECT_EQ(problems_of(wrap(kX, "  atomic.add $y.1[0] = f32(1)\n", "grid [1, 1, 1] threads 1 index i64 fast")), "");
}

TEST(KernelVerify, AllProblemsAtOnce) {
  const std::string p = problems_of(wrap(kX, "  store $x.0[0] = f32(1)\n  store $y.1[0] = f64(1)\n"));
  EXPECT_NE(p.find("0: "), std::string::npos) << p;
  EXPECT_NE(p.find("5: "), std::string::npos) << p;
  const Status s = verify_kernel_or_error(*parse_kernel(wrap(kX, "  store $x.0[0] = f32(1)\n")));
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kInvalidIr);
}

// ---- the bounds proof

int unproved(const std::string& text) {
  const auto k = parse_kernel(text);
  EXPECT_TRUE(k.ok()) << (k.ok() ? "" : k.error().str());
  if (!k.ok()) return -1;
  for (const KernelProblem& p : verify_kernel(*k)) EXPECT_EQ(p.invariant, 3) << p.message;
  return prove_accesses(*k).unproved;
}
const char kMatrix[] =
    "symbol s0 = input lo 1 hi 281474976710656 div 1 typical 0\n"
    "symbol s1 = input lo 1 hi 281474976710656 div 1 typical 0\n"
    "symbol s2 = input lo 16 hi 65536 div 16 typical 0\n"
    "param $x.0 : f32[s0*s1] align 64 r global\n"
    "param $y.1 : f32[s0*s2] align 64 rw global\n"
    "param $i.2 : i64[s0] align 64 r global\n";

TEST(KernelBounds, ProvesWhatSkeletonsWrite) {
  const std::pair<const char*, std::string> cases[] = {
      {"rows and columns",
       wrap(kMatrix,
            "  for %j.0 = 0 to s1 step 1 {\n    %v.1 = load $x.0[add(mul(task0, s1), %j.0)] f32\n    store $y.1[task0] = %v.1\n  }\n",
            "grid [s0, 1, 1] threads 1 index i64")},
      {"vectors over a divisible extent", wrap(kMatrix,
                                               "  for %j.0 = 0 to s2 step 16 {\n    %v.1 = load $y.1[add(mul(task0, s2), %j.0)] f32x16\n   "
                                               " store $y.1[add(mul(task0, s2), %j.0)] = %v.1\n  }\n",
                                               "grid [s0, 1, 1] threads 1 index i64")},
      {"main loop to a multiple, masked tail",
       wrap(kMatrix,
            "  let %m.0 = mul(floordiv(s1, 16), 16)\n"
            "  for %j.1 = 0 to %m.0 step 16 {\n"
            "    %v.2 = load $x.0[add(mul(task0, s1), %j.1)] f32x16\n"
            "  }\n"
            "  if lt(%m.0, s1) {\n"
            "    %w.3 = load $x.0[add(mul(task0, s1), %m.0)] f32x16 mask lt(add(splat(%m.0, 16), iota(16)), splat(s1, 16))\n"
            "  }\n",
            "grid [s0, 1, 1] threads 1 index i64")},
      {"a tile that ends at the smaller", wrap(kMatrix,
                                               "  for %j.0 = mul(task1, 64) to min(add(mul(task1, 64), 64), s1) step 1 {\n    %v.1 = load "
                                               "$x.0[add(mul(task0, s1), %j.0)] f32\n  }\n",
                                               "grid [s0, 1000, 1] threads 1 index i64")},
      {"a flat task number split into row and column", wrap(kMatrix,
                                                            "  let %r.0 = floordiv(task0, s1)\n  let %c.1 = floormod(task0, s1)\n  %v.2 = "
                                                            "load $x.0[add(mul(%r.0, s1), %c.1)] f32\n  %w.3 = load $i.2[%r.0] i64\n",
                                                            "grid [s0*s1, 1, 1] threads 1 index i64")},
      {"threads under a guard",
       wrap(kMatrix, "  let %i.0 = add(mul(task0, 256), thread)\n  if lt(%i.0, s0) {\n    %v.1 = load $i.2[%i.0] i64\n  }\n",
            "grid [1024, 1, 1] threads 256 index i64")},
      {"a guard on both coordinates", wrap(kMatrix,
                                           "  let %r.0 = add(mul(task0, 8), floordiv(thread, 32))\n  let %c.1 = add(mul(task1, 32), lane)\n"
                                           "  let %in.2 = and(lt(%r.0, s0), lt(%c.1, s1))\n"
                                           "  %v.3 = load $x.0[add(mul(%r.0, s1), %c.1)] f32 mask %in.2\n",
                                           "grid [64, 64, 1] threads 256 index i64")},
      {"a checked index", wrap(kMatrix,
                               "  %k.0 = load $i.2[task0] i64\n  %c.1 = check cast.sext(%k.0, index) < s0 at 0\n  %v.2 = load "
                               "$x.0[add(mul(%c.1, s1), 0)] f32\n",
                               "grid [s0, 1, 1] threads 1 index i64\nsite 0 \"gather\" loc 0")},
      {"a gather of lanes under a mask",
       wrap(kMatrix,
            "  let %j.0 = add(splat(mul(task0, 16), 16), iota(16))\n  %v.1 = load $i.2[%j.0] i64x16 mask lt(%j.0, splat(s0, 16))\n",
            "grid [4096, 1, 1] threads 1 index i64")},
      {"a clamped coordinate", wrap(kMatrix, "  let %j.0 = max(min(sub(task0, 3), sub(s0, 1)), 0)\n  %v.1 = load $i.2[%j.0] i64\n",
                                    "grid [4096, 1, 1] threads 1 index i64")},
      {"not less",
       wrap(kMatrix,
            "  if lt(task0, s0) {\n    %v.0 = load $i.2[task0] i64\n  }\n  if not(le(s0, task0)) {\n    %w.1 = load $i.2[task0] i64\n  }\n",
            "grid [4096, 1, 1] threads 1 index i64")},
      {"shared memory by bits of the thread",
       wrap(kMatrix, "  alloc $s.3 : f32[256] shared align 16\n  store $s.3[add(mul(shr(thread, 4), 16), and(thread, 15))] = f32(0)\n",
            "grid [4, 1, 1] threads 256 index i64")},
      {"asynchronous copies and fragments",
       wrap(kMatrix,
            "  alloc $s.3 : f32[1024] shared align 16\n  copy.async $s.3[mul(thread, 4)] <- $y.1[add(mul(task0, 256), mul(thread, 4))] "
            "bytes 16 mask le(add(mul(task0, 256), 256), s2)\n"
            "  %f.0 = frag.load $s.3[0] ld 8 f32 m16n8k8 a\n",
            "grid [64, 1, 1] threads 64 index i64")},
      {"a last tile moved back",
       wrap(kMatrix,
            "  if le(13, s0) {\n    for %t.0 = 0 to floordiv(add(s0, 12), 13) step 1 {\n      let %m.1 = min(mul(%t.0, 13), sub(s0, 13))\n"
            "      %v.2 = load $i.2[%m.1] i64\n      %w.3 = load $i.2[add(%m.1, 12)] i64\n    }\n  }\n",
            "grid [1, 1, 1] threads 1 index i64")},
      {"an empty grid excuses an extent of zero",
       wrap("symbol s0 = input lo 0 hi 4096 div 1 typical 0\nparam $x.0 : f32[s0] align 64 r global\n", "  %v.0 = load $x.0[0] f32\n",
            "grid [s0, 1, 1] threads 1 index i64")},
  };
  for (const auto& [what, text] : cases) EXPECT_EQ(unproved(text), 0) << what << "\n" << text;
}

TEST(KernelBounds, DoesNotProveWhatMayFail) {
  const std::pair<const char*, std::string> cases[] = {
      {"one too far", wrap(kMatrix, "  for %j.0 = 0 to s1 step 1 {\n    %v.1 = load $x.0[add(mul(task0, s1), add(%j.0, 1))] f32\n  }\n",
                           "grid [s0, 1, 1] threads 1 index i64")},
      {"one too low", wrap(kMatrix, "  for %j.0 = 0 to s1 step 1 {\n    %v.1 = load $x.0[sub(add(mul(task0, s1), %j.0), 1)] f32\n  }\n",
                           "grid [s0, 1, 1] threads 1 index i64")},
      {"a step that does not divide",
       wrap(kMatrix, "  for %j.0 = 0 to s1 step 16 {\n    %v.1 = load $x.0[add(mul(task0, s1), %j.0)] f32x16\n  }\n",
            "grid [s0, 1, 1] threads 1 index i64")},
      {"an unguarded tail", wrap(kMatrix, "  let %i.0 = add(mul(task0, 256), thread)\n  %v.1 = load $i.2[%i.0] i64\n",
                                 "grid [1024, 1, 1] threads 256 index i64")},
      {"a guard of another name",
       wrap(kMatrix, "  if lt(task1, s0) {\n    %v.0 = load $i.2[task0] i64\n  }\n", "grid [4096, 8, 1] threads 1 index i64")},
      {"a guard that has ended", wrap(kMatrix, "  if lt(task0, s0) {\n    let %u.0 = 1\n  }\n  %v.1 = load $i.2[task0] i64\n",
                                      "grid [4096, 1, 1] threads 1 index i64")},
      {"a guard in the other branch",
       wrap(kMatrix, "  if lt(task0, s0) {\n    let %u.0 = 1\n  } else {\n    %v.1 = load $i.2[task0] i64\n  }\n",
            "grid [4096, 1, 1] threads 1 index i64")},
      {"either of two conditions", wrap(kMatrix, "  if or(lt(task0, s0), lt(task0, s1)) {\n    %v.0 = load $i.2[task0] i64\n  }\n",
                                        "grid [4096, 1, 1] threads 1 index i64")},
      {"a last tile moved back, fewer rows than it has",
       wrap(kMatrix,
            "  if le(12, s0) {\n    for %t.0 = 0 to floordiv(add(s0, 12), 13) step 1 {\n      let %m.1 = min(mul(%t.0, 13), sub(s0, 13))\n"
            "      %v.2 = load $i.2[%m.1] i64\n    }\n  }\n",
            "grid [1, 1, 1] threads 1 index i64")},
      {"a loaded index", wrap(kMatrix, "  %k.0 = load $i.2[task0] i64\n  %v.1 = load $x.0[cast.sext(%k.0, index)] f32\n",
                              "grid [s0, 1, 1] threads 1 index i64")},
      {"a check against another bound", wrap(kMatrix, "  %c.0 = check task1 < s1 at 0\n  %v.1 = load $i.2[%c.0] i64\n",
                                             "grid [s0, 4096, 1] threads 1 index i64\nsite 0 \"gather\" loc 0")},
      {"a check of an extent that may be zero",
       wrap("symbol s0 = input lo 0 hi 4096 div 1 typical 0\nparam $x.0 : f32[s0] align 64 r global\n",
            "  %c.0 = check task0 < s0 at 0\n  %v.1 = load $x.0[%c.0] f32\n",
            "grid [8, 1, 1] threads 1 index i64\nsite 0 \"gather\" loc 0")},
      {"a mut after a loop that moves it",
       wrap(kMatrix, "  mut %p.0 = 0\n  while lt(%p.0, 1000) {\n    set %p.0 = add(%p.0, 7)\n  }\n  %v.1 = load $i.2[%p.0] i64\n",
            "grid [s0, 1, 1] threads 1 index i64")},
      {"a mut that a branch moved",
       wrap(kMatrix, "  mut %p.0 = 0\n  if lt(task0, 5) {\n    set %p.0 = 4096\n  }\n  %v.1 = load $i.2[%p.0] i64\n",
            "grid [s0, 1, 1] threads 1 index i64")},
      {"another lane's index", wrap(kMatrix,
                                    "  let %j.0 = add(splat(mul(task0, 16), 16), iota(16))\n  %v.1 = load $i.2[shuffle(%j.0, %j.0, [1, 2, "
                                    "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0])] i64x16 mask lt(%j.0, splat(s0, 16))\n",
                                    "grid [4096, 1, 1] threads 1 index i64")},
  };
  for (const auto& [what, text] : cases) EXPECT_GE(unproved(text), 1) << what << "\n" << text;
}

}  // namespace
}  // namespace nnc

#include <gtest/gtest.h>

#include <fstream>

#include "ir/support/text.h"
#include "tests/unit/base/kernel_random.h"

namespace nnc {
namespace {

using test::Random;

// Every statement and every option once.
const char kEverything[] =
    "kernel @all\n"
    "symbol s0 = input lo 1 hi 4096 div 16 typical 128\n"
    "symbol s1 = floordiv(s0+15, 16) lo 1 hi 256 div 1 typical 0\n"
    "symbol s2 = round(s0, 3, 2, 2) lo 2 hi 6144 div 1 typical 0\n"
    "param $x.0 : f32[16*s0+4096] align 64 r global\n"
    "param $h.1 : f16[65536] align 64 r constant\n"
    "param $y.2 : f32[65536] align 64 rw global\n"
    "param $n.3 : i32[64] align 64 w global\n"
    "grid [s0, s1, 1] threads 64 index i64 fast\n"
    "inplace 0 -> 2\n"
    "site 0 \"gather index \\\"a\\\"\" loc 7\n"
    "{\n"
    "  alloc $sh.4 : f32[512] shared align 16\n"
    "  alloc $st.5 : f16[1024] shared align 16\n"
    "  note \"softmax 12\" loc 3\n"
    "  let %a.0 = add(mul(task0, 16), thread)\n"
    "  mut %m.1 = f32x4(-inf)\n"
    "  %v.2 = load $x.0[%a.0] f32x4 mask lt(add(splat(%a.0, 4), iota(4)), indexx4(60)) else f32x4(0x7fc00001) nt\n"
    "  set %m.1 = max(%m.1, %v.2)\n"
    "  for %j.3 = 0 to s0 step 4 unroll {\n"
    "    prefetch $x.0[%j.3]\n"
    "    set %m.1 = fma(%m.1, f32x4(1.5), f32x4(1e-45))\n"
    "  }\n"
    "  while lt(extract(%m.1, 3), f32(-0)) {\n"
    "    set %m.1 = select(maskx4(true), %m.1, shuffle(%m.1, %v.2, [0, 5, 2, 7]))\n"
    "  }\n"
    "  if eq(thread, 0) {\n"
    "    store $y.2[0] = %m.1 mask isnan(%m.1) nt\n"
    "  } else {\n"
    "    {\n"
    "      store $sh.4[thread] = reduce.add(%m.1)\n"
    "    }\n"
    "  }\n"
    "  %i.4 = check cast.sext(i32(-5), index) < s0 at 0\n"
    "  %w.5 = warp.shfl_xor %m.1 by 4\n"
    "  %b.6 = warp.ballot lt(thread, 5)\n"
    "  barrier warp\n"
    "  copy.async $sh.4[mul(thread, 4)] <- $x.0[mul(thread, 4)] bytes 16 mask lt(thread, 32)\n"
    "  copy.commit\n"
    "  copy.wait 0\n"
    "  barrier block\n"
    "  %old.7 = atomic.cas $n.3[0] = i32(1) new i32(2)\n"
    "  atomic.add $y.2[0] = f32(1.1)\n"
    "  %fa.8 = frag.load $st.5[0] ld 16 f16 m16n8k16 a\n"
    "  %fb.9 = frag.load $st.5[256] ld 16 f16 m16n8k16 b transposed\n"
    "  %fc.10 = frag.zero f32 m16n8k16 c\n"
    "  frag.mma %fc.10 += %fa.8 %fb.9\n"
    "  %e.11 = frag.get %fc.10[3]\n"
    "  frag.set %fc.10[0] = cast.even(cast.bits(f16(0.333251953125), i16), f32)\n"
    "  frag.store $y.2[0] ld 8 = %fc.10\n"
    "}\n";

TEST(KernelText, EverythingReadsBackByteForByte) {
  const auto k = parse_kernel(kEverything);
  ASSERT_TRUE(k.ok()) << k.error().str();
  EXPECT_EQ(print_kernel(*k), kEverything);
}

TEST(KernelText, RandomKernelsReadBackByteForByte) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random r(seed);
    KernelBuilder k("random");
    const int lanes = r.pick({1, 4, 16, 64});
    std::vector<Expr> leaves{k.index(5), k.index(-3), k.thread()};
    for (DType t : test::value_dtypes()) {
      leaves.push_back(k.load(k.param(cat("x", int(t)), t, 256, Access::kRead), k.index(r.below(4)), lanes));
      leaves.push_back(k.constant_bits(KType::of(t, lanes), test::interesting_bits(r, t)));
    }
    test::ExprMaker maker(k, r, leaves);
    maker.grow(30);
    for (int i = 0; i < 8; ++i) k.let(r.below(2) ? "odd name!" : "", maker.any());
    const std::string text = print_kernel(k.raw());
    const auto back = parse_kernel(text);
    ASSERT_TRUE(back.ok()) << "seed " << seed << "\n" << back.error().str() << "\n" << text;
    ASSERT_EQ(print_kernel(*back), text) << "seed " << seed;
  }
}

// The example of the grammar page is a kernel, comments and all.
TEST(KernelText, ExampleOfTheGrammarPageReads) {
  std::ifstream page(NNC_SOURCE_DIR "/docs/ir-text.md");
  ASSERT_TRUE(page.is_open());
  const std::string all{std::istreambuf_iterator<char>(page), std::istreambuf_iterator<char>()};
  const size_t at = all.find("kernel @softmax");
  ASSERT_NE(at, std::string::npos);
  const std::string text = all.substr(at, all.find("```", at) - at);
  const auto k = parse_kernel("// from the page\n" + text);
  ASSERT_TRUE(k.ok()) << k.error().str();
  EXPECT_EQ(print_kernel(*k), text);
  EXPECT_TRUE(verify_kernel(*k).empty());
}

TEST(KernelText, HashSeesMeaningOnly) {
  const auto base = parse_kernel(kEverything);
  std::string renamed = kEverything;
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"@all", "@other"},
                                 {"%a.", "%name."},
                                 {"softmax 12", "gelu 3"},
                                 {"loc 7", "loc 9"},
                                 {"gather", "other"}})
    for (size_t at = 0; (at = renamed.find(from, at)) != std::string::npos; at += to.size()) renamed.replace(at, from.size(), to);
  const auto same = parse_kernel(renamed);
  ASSERT_TRUE(same.ok()) << same.error().str();
  EXPECT_EQ(kernel_hash(*base), kernel_hash(*same));
  std::string changed = kEverything;
  changed.replace(changed.find("1.5"), 3, "2.5");
  EXPECT_NE(kernel_hash(*base), kernel_hash(*parse_kernel(changed)));
}

TEST(KernelText, ErrorsNamePlaceAndExpectation) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "'kernel' expected"},
      {"kernel @k\ngrid [1, 1, 1] threads 1 index i64\n{\n  let %a.0 = add(1, f32(2))\n}\n", "operands must have one type"},
      {"kernel @k\ngrid [1, 1, 1] threads 1 index i64\n{\n  let %a.0 = %b.7\n}\n", "defined above"},
      {"kernel @k\ngrid [1, 1, 1] threads 1 index i64\n{\n  let %a.5 = 1\n}\n", "number 0"},
      {"kernel @k\ngrid [1, 1, 1] threads 1 index i64\n{\n  let %a.0 = i8(200)\n}\n", "is no i8"},
      {"kernel @k\ngrid [s0, 1, 1] threads 1 index i64\n{\n}\n", "there is no symbol s0"},
      {"kernel @k\nparam $x.0 : string[4] align 64 r global\ngrid [1, 1, 1] threads 1 index i64\n{\n}\n", "element type"},
      {"kernel @k\ngrid [1, 1, 1] threads 1 index i64\n{\n  let %a.0 = add(1, load $x.0[0] f32)\n}\n", "invariant 1"},
      {"kernel @k\ngrid [1, 1, 1] threads 1 index i64\n{\n", "'}' expected"},
  };
  for (const auto& [text, want] : cases) {
    const auto k = parse_kernel(text);
    ASSERT_FALSE(k.ok()) << text;
    EXPECT_NE(k.error().message.find(want), std::string::npos) << k.error().message << "\nfor\n" << text;
    EXPECT_EQ(k.error().code, Code::kParse);
    EXPECT_GT(k.error().place.line, 0);
  }
}

// Mutated text is an error or a kernel that prints and reads again, never a crash.
TEST(KernelText, MutationsNeverCrash) {
  const std::string base = kEverything;
  const std::string alphabet = "0159-+*()[]{}%$@.,:=<>\"\\ \nabcdefmnstxiu_";
  int parsed = 0;
  for (uint64_t seed = 1; seed <= 20000; ++seed) {
    Random r(seed);
    std::string text = base;
    for (int edits = 1 + r.below(3); edits > 0; --edits) {
      const size_t at = size_t(r.below(int(text.size())));
      switch (r.below(5)) {
        case 0: text.erase(at, 1 + size_t(r.below(8))); break;
        case 1: text.insert(at, 1, alphabet[size_t(r.below(int(alphabet.size())))]); break;
        case 2: text[at] = alphabet[size_t(r.below(int(alphabet.size())))]; break;
        case 3: text.resize(at); break;
        default: {
          const size_t from = size_t(r.below(int(base.size())));
          text.insert(at, base.substr(from, size_t(r.below(40))));
        }
      }
      if (text.empty()) break;
    }
    const auto k = parse_kernel(text);
    if (!k.ok()) continue;
    ++parsed;
    verify_kernel(*k);
    const std::string once = print_kernel(*k);
    const auto again = parse_kernel(once);
    ASSERT_TRUE(again.ok()) << again.error().str() << "\n" << once;
    ASSERT_EQ(print_kernel(*again), once);
  }
  EXPECT_GT(parsed, 300);
}

}  // namespace
}  // namespace nnc

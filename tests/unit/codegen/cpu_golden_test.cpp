// One text per CPU skeleton: kernel IR, as `nnc dump --kernels` shows it. NNC_BLESS=1 rewrites the files. What a golden must show is asked
// for by name.

#include <gtest/gtest.h>

#include "codegen/lower.h"
#include "ir/base/kernel.h"
#include "ir/support/text.h"
#include "tests/unit/codegen/golden_groups.h"

namespace nnc {
namespace {

using namespace golden_groups;

// One kernel each, and no masked access: what they read has a size that is known, so even borders need none.
const std::vector<Golden>& goldens() {
  static const std::vector<Golden> all = {
      {"pointwise",
       [](Group& f) {
         return f.op(OpKind::kRelu, {f.op(OpKind::kAdd, {f.input(DType::kF32, {64, 1024}), f.input(DType::kF32, {1024})})});
       },
       {"f32x16", "add("},
       {"mask"}},
      {"row_fold", softmax, {"f32x16", "exp"}, {"mask"}},
      {"contraction", [](Group& f) { return packed_product(f); }, {"f32x16", "fma("}, {"mask"}},
      {"convolution",
       [](Group& f) {
         return convolution(f, {1, 16, 28, 32}, {1, 4, 288, 16}, 1, {3, 3});
       },
       {"f32x16", "fma("},
       {"mask", "if ", "scratch"}},
      {"depthwise",
       [](Group& f) {
         return convolution(f, {1, 16, 16, 32}, {3, 3, 1, 32}, 32);
       },
       {"f32x16", "fma("},
       {"mask", "if ", "scratch"}},
      {"attention", [](Group& f) { return attention(f, DType::kF32); }, {"f32x16", "fma(", "shuffle(", "exp"}, {"mask", "if ", "scratch"}},
  };
  return all;
}

TEST(CpuGolden, Texts) {
  const auto target = parse_target("cpu:x86-64-v4");
  ASSERT_TRUE(target.ok());
  for (const Golden& golden : goldens()) {
    Group f;
    f.g.set_outputs({golden.build(f)});
    auto lowered = lower_group(f.g, *target);
    ASSERT_TRUE(lowered.ok()) << golden.name << ": " << lowered.error().str();
    ASSERT_EQ(lowered->kernels.size(), 1u) << golden.name;
    EXPECT_TRUE(lowered->scratch_bytes.empty()) << golden.name;
    const Kernel& k = lowered->kernels[0].kernel;
    EXPECT_EQ(k.facts.unproved_accesses, 0) << golden.name;
    const std::string text = print_kernel(k);
    check_text(golden, text, cat("tests/unit/codegen/cpu_golden/", golden.name, ".txt"));
  }
}

}  // namespace
}  // namespace nnc

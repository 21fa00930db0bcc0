// One text per CUDA skeleton, as people read it: helpers and kernel without the device's header. NNC_BLESS=1 rewrites the files. What a
// golden must show is asked for by name.

#include <gtest/gtest.h>

#include "codegen/cuda/nvrtc.h"
#include "codegen/emit.h"
#include "codegen/lower.h"
#include "ir/support/text.h"
#include "tests/unit/codegen/golden_groups.h"

namespace nnc {
namespace {

using namespace golden_groups;

const std::vector<Golden>& goldens() {
  static const std::vector<Golden> all = {
      {"pointwise",
       [](Group& f) {
         return f.op(OpKind::kRelu, {f.op(OpKind::kAdd, {f.input(DType::kF32, {64, 1024}), f.input(DType::kF32, {1024})})});
       },
       {"load_f32x4(", "store_f32x4("},
       {"masked", "_by"}},
      {"row_fold", softmax, {"load_f32x4(", "warp_shfl_down_f32", "NNC_BARRIER"}, {"masked", "_by"}},
      {"column_fold",
       [](Group& f) {
         return f.op(OpKind::kReduce, {f.input(DType::kF32, {128, 1024})},
                     {{"kind", std::string("sum")}, {"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t(0)}});
       },
       {"load_f32x4("},
       {"masked", "_by"}},
      {"contraction_f32",
       [](Group& f) { return product(f, DType::kF32); },
       {"copy_async_16", "NNC_SHARED", "fma_f32x4"},
       {"masked", "mma", "_by"}},
      {"contraction_f16", [](Group& f) { return product(f, DType::kF16); }, {"copy_async_16", "NNC_SHARED", "frag_mma"}, {"masked"}},
      {"contraction_bf16", [](Group& f) { return product(f, DType::kBF16); }, {"copy_async_16", "NNC_SHARED", "frag_mma"}, {"masked"}},
      {"convolution",
       [](Group& f) {
         return convolution(f, {1, 16, 16, 32}, {3, 3, 32, 64}, 1);
       },
       {"copy_async_16", "fma_f32x4"},
       {"mma"}},
      {"depthwise",
       [](Group& f) {
         return convolution(f, {1, 16, 16, 32}, {3, 3, 1, 32}, 32);
       },
       {"load_f32x4(", "fma_f32x4"},
       {"masked", "_by"}},
      {"attention",
       [](Group& f) { return attention(f, DType::kF32); },
       {"copy_async_16", "NNC_SHARED", "NNC_BARRIER", "warp_shfl_xor_f32", "fma_f32x4", "load_f32x4(", "store_f32x4("},
       {"masked", "mma"}},
      {"move",
       [](Group& f) {
         return f.op(OpKind::kTranspose, {f.input(DType::kF32, {256, 256})}, {{"perm", std::vector<int64_t>{1, 0}}});
       },
       {"NNC_SHARED", "NNC_BARRIER"},
       {"masked"}},
  };
  return all;
}

TEST(CudaGolden, Texts) {
  const auto target = parse_target("cuda:sm_80");
  ASSERT_TRUE(target.ok());
  for (const Golden& golden : goldens()) {
    Group f;
    f.g.set_outputs({golden.build(f)});
    auto lowered = lower_group(f.g, *target);
    ASSERT_TRUE(lowered.ok()) << golden.name << ": " << lowered.error().str();
    ASSERT_EQ(lowered->kernels.size(), 1u) << golden.name;
    const Kernel& k = lowered->kernels[0].kernel;
    EXPECT_GE(k.threads, 64) << golden.name;
    CudaEmitOptions bare;
    bare.header = false;
    const std::string text = emit_cuda_unit({{&k, golden.name}}, *target, bare);
    check_text(golden, text, cat("tests/unit/codegen/cuda_golden/", golden.name, ".cu"));
  }
}

// No test could hold the buffers that need it: what decides are extents, the upper bounds of symbols, and whether data says the place.
TEST(CudaGolden, IndexWidth) {
  const auto target = parse_target("cuda:sm_80");
  ASSERT_TRUE(target.ok());
  const auto wide = [&](const std::function<ValueId(Group&)>& build) {
    Group f;
    f.g.set_outputs({build(f)});
    auto lowered = lower_group(f.g, *target);
    EXPECT_TRUE(lowered.ok()) << lowered.error().str();
    return lowered.ok() && lowered->kernels[0].kernel.index64;
  };
  const auto relu = [](Shape shape, int64_t most) {
    return [=](Group& f) {
      Shape s = shape;
      if (most > 0) s.insert(s.begin(), Dim(f.m.symbols.input("rows", 1, most)));
      return f.op(OpKind::kRelu, {f.input(DType::kF32, s)});
    };
  };
  EXPECT_FALSE(wide(relu({64, 1024}, 0)));
  EXPECT_TRUE(wide(relu({65536, 32768}, 0)));
  EXPECT_TRUE(wide(relu({3, 1 << 30}, 0)));
  EXPECT_FALSE(wide(relu({1024}, 4096)));
  EXPECT_TRUE(wide(relu({1024}, 1 << 21)));
  EXPECT_TRUE(wide([](Group& f) {
    return f.op(OpKind::kGather, {f.input(DType::kF32, {64, 32}), f.input(DType::kI64, {8})}, {{"axis", int64_t(0)}});
  }));
}

TEST(CudaGolden, CompileForDevices) {
  for (int sm : {80, 90}) {
    const auto target = parse_target(cat("cuda:sm_", sm));
    ASSERT_TRUE(target.ok());
    std::vector<LoweredGroup> lowered;
    std::vector<std::pair<const Kernel*, std::string>> unit;
    for (const Golden& golden : goldens()) {
      Group f;
      f.g.set_outputs({golden.build(f)});
      auto l = lower_group(f.g, *target);
      ASSERT_TRUE(l.ok()) << golden.name;
      lowered.push_back(std::move(*l));
    }
    for (size_t i = 0; i < lowered.size(); ++i) unit.push_back({&lowered[i].kernels[0].kernel, goldens()[i].name});
    const auto code = compile_cuda(emit_cuda_unit(unit, *target), sm);
    ASSERT_TRUE(code.ok()) << code.error().str();
    ASSERT_EQ(code->kernels.size(), goldens().size()) << code->log;
    for (const CudaKernelUse& use : code->kernels) EXPECT_LE(use.spill_stores, 16) << "sm_" << sm << " " << use.name;
  }
}

}  // namespace
}  // namespace nnc

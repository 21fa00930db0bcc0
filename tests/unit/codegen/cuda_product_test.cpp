// Products lowered for CUDA: emulated with every check, bit-equal to their interpretation and near the reference, in every element type,
// transposed and not, with extents that fill no tile.

#include <gtest/gtest.h>

#include "codegen/cuda/nvrtc.h"
#include "codegen/emit.h"
#include "ir/support/text.h"
#include "tests/unit/codegen/run_lowered.h"

namespace nnc {
namespace {

struct Case {
  DType type;
  std::vector<int64_t> a, b;
  bool ta = false, tb = false, relu_left = false;
  double rtol = 1e-5, atol = 1e-5;
  const char* must = nullptr;  // stands in the device's text
  const char* must_not = nullptr;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {DType::kF32, {130, 48}, {48, 72}, false, false, false, 1e-5, 1e-4, "copy_async_16", "mma"},
      {DType::kF32, {37, 33}, {33, 29}, false, false, false, 1e-5, 1e-4, "copy_async_4", "mma"},
      {DType::kF32, {20, 70}, {70, 64}, true, true, false, 1e-5, 1e-4, "copy_async_4", "mma"},
      {DType::kF32, {3, 40}, {40, 200}, false, false, true, 1e-5, 1e-4, "copy_async_16", "mma"},
      {DType::kF32, {2, 3, 65, 20}, {3, 20, 9}, false, false, false, 1e-5, 1e-4, nullptr, "mma"},
      {DType::kF32, {50, 24}, {24}, false, false, false, 1e-5, 1e-4, nullptr, "mma"},
      {DType::kF64, {33, 18}, {18, 35}, false, false, false, 1e-12, 1e-12, "copy_async_16", "mma"},
      {DType::kI32, {20, 19}, {19, 40}, false, false, false, 0, 0, nullptr, "mma"},
      {DType::kF16, {70, 64}, {64, 80}, false, false, false, 2e-3, 2e-3, "frag_mma_frag_c16_f32_frag_a16_f16_frag_b16_f16"},
      {DType::kF16, {40, 50}, {50, 33}, true, true, false, 2e-3, 2e-3, "frag_mma"},
      {DType::kBF16, {33, 72}, {72, 40}, false, true, true, 2e-2, 2e-2, "frag_mma_frag_c16_f32_frag_a16_bf16_frag_b16_bf16"},
  };
  return all;
}

struct Built {
  Module m;
  std::unique_ptr<Graph> g;
  std::vector<Tensor> inputs;
};

std::unique_ptr<Built> build(const Case& c, uint32_t seed) {
  auto out = std::make_unique<Built>();
  out->g = std::make_unique<Graph>(&out->m, "group");
  Builder b(*out->g);
  auto input = [&](std::vector<int64_t> dims, bool transposed) {
    if (transposed) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    Shape shape;
    for (int64_t d : dims) shape.push_back(d);
    out->inputs.push_back(testing::random_tensor(c.type, dims, seed++, is_int(c.type) ? -9 : -1, is_int(c.type) ? 9 : 1));
    return out->g->add_input(Type::tensor(c.type, shape));
  };
  ValueId x = input(c.a, c.ta), w = input(c.b, c.tb);
  if (c.relu_left) x = *b.op(OpKind::kRelu, {x});
  AttrList attrs;
  if (c.ta) attrs.push_back({"transpose_a", int64_t(1)});
  if (c.tb) attrs.push_back({"transpose_b", int64_t(1)});
  ValueId y = *b.op(OpKind::kMatMul, {x, w}, attrs);
  if (!is_int(c.type)) y = *b.op(OpKind::kRelu, {y});
  out->g->set_outputs({y});
  return out;
}

TEST(CudaProduct, EveryTypeOnTheEmulator) {
  const auto target = parse_target("cuda-emu:sm_80");
  ASSERT_TRUE(target.ok());
  for (size_t i = 0; i < cases().size(); ++i) {
    const Case& c = cases()[i];
    auto built = build(c, static_cast<uint32_t>(i + 1));
    const testing::GroupRun r = testing::run_lowered(built->m, *built->g, *target, built->inputs);
    ASSERT_EQ(r.error, "") << "case " << i;
    EXPECT_EQ(r.lowered.kernels.size(), 1u);
    EXPECT_GE(r.lowered.kernels[0].kernel.threads, 64) << "case " << i;
    EXPECT_EQ(testing::bits_differ(r.compiled[0], r.interpreted[0]), "") << "case " << i;
    EXPECT_EQ(testing::far_apart(r.interpreted[0], r.reference[0], c.rtol, c.atol), "") << "case " << i;
    CudaEmitOptions bare;
    bare.header = false;
    const std::string text = emit_cuda_unit({{&r.lowered.kernels[0].kernel, "k"}}, *target, bare);
    if (c.must) { EXPECT_NE(text.find(c.must), std::string::npos) << "case " << i << "\n" << text; }
    if (c.must_not) { EXPECT_EQ(text.find(c.must_not), std::string::npos) << "case " << i << "\n" << text; }
  }
}

TEST(CudaProduct, CompilesForDevicesAlmostWithoutSpills) {
  for (int sm : {75, 80, 90}) {
    const auto target = parse_target(cat("cuda:sm_", sm));
    ASSERT_TRUE(target.ok());
    std::vector<LoweredGroup> groups;
    std::vector<std::unique_ptr<Built>> owners;
    std::vector<std::pair<const Kernel*, std::string>> unit;
    for (const Case& c : cases()) {
      owners.push_back(build(c, 1));
      auto lowered = lower_group(*owners.back()->g, *target);
      ASSERT_TRUE(lowered.ok()) << lowered.error().str();
      groups.push_back(std::move(*lowered));
    }
    for (const LoweredGroup& g : groups) unit.push_back({&g.kernels[0].kernel, cat("k", unit.size())});
    const auto code = compile_cuda(emit_cuda_unit(unit, *target), sm);
    ASSERT_TRUE(code.ok()) << code.error().str();
    for (const CudaKernelUse& use : code->kernels)
      EXPECT_LE(use.spill_stores, 16) << "sm_" << sm << " " << use.name << ", " << use.registers << " registers";
  }
}

}  // namespace
}  // namespace nnc

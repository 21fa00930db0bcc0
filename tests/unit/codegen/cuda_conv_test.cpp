// Convolutions lowered for CUDA: emulated with every check, bit-equal to their interpretation and near the reference.

#include <gtest/gtest.h>

#include "codegen/cuda/nvrtc.h"
#include "codegen/emit.h"
#include "ir/support/text.h"
#include "tests/unit/codegen/run_lowered.h"

namespace nnc {
namespace {

using Ints = std::vector<int64_t>;
struct Case {
  Ints x, w;  // [batch, spatial..., channels], [kernel..., in / group, out]
  Ints pads, strides, dilations;
  int64_t group = 1;
  DType type = DType::kF32;
  const char* must = nullptr;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{1, 9, 11, 12}, {3, 3, 12, 20}, {1, 1}, {2, 1}, {1, 1}, 1, DType::kF32, "copy_async_16"},
      {{2, 12, 12, 3}, {5, 5, 3, 32}, {2, 2}, {2, 2}, {1, 1}, 1, DType::kF32, "copy_async_4"},
      {{2, 30, 8}, {3, 8, 24}, {2}, {1}, {2}, 1, DType::kF32, "copy_async_16"},
      {{1, 8, 8, 16}, {3, 3, 4, 24}, {1, 1}, {1, 1}, {1, 1}, 4, DType::kF32, "copy_async_16"},
      {{2, 9, 10, 24}, {3, 3, 1, 24}, {1, 1}, {1, 1}, {1, 1}, 24, DType::kF32, "fma_f32x4"},
      {{1, 8, 7, 5}, {2, 3, 1, 5}, {0, 1}, {1, 2}, {1, 1}, 5, DType::kF32},
      {{1, 10, 10, 16}, {3, 3, 16, 24}, {1, 1}, {1, 1}, {1, 1}, 1, DType::kF16, "frag_mma"},
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
  auto input = [&](const Ints& dims) {
    Shape shape;
    for (int64_t d : dims) shape.push_back(d);
    out->inputs.push_back(testing::random_tensor(c.type, dims, seed++));
    return out->g->add_input(Type::tensor(c.type, shape));
  };
  const ValueId x = input(c.x), w = input(c.w), bias = input({c.w.back()});
  const ValueId y = *b.op(OpKind::kConv, {x, w, bias},
                          {{"layout", std::string("nhwc")},
                           {"w_format", std::string("hwio")},
                           {"group", c.group},
                           {"pads_begin", c.pads},
                           {"pads_end", c.pads},
                           {"strides", c.strides},
                           {"dilations", c.dilations}});
  out->g->set_outputs({*b.op(OpKind::kRelu, {y})});
  return out;
}

TEST(CudaConv, EveryKindOnTheEmulator) {
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
    EXPECT_EQ(
        testing::far_apart(r.interpreted[0], r.reference[0], c.type == DType::kF16 ? 5e-3 : 1e-4, c.type == DType::kF16 ? 5e-3 : 1e-4), "")
        << "case " << i;
    if (!c.must) continue;
    CudaEmitOptions bare;
    bare.header = false;
    const std::string text = emit_cuda_unit({{&r.lowered.kernels[0].kernel, "k"}}, *target, bare);
    EXPECT_NE(text.find(c.must), std::string::npos) << "case " << i << "\n" << text;
  }
}

TEST(CudaConv, CompilesForDevices) {
  for (int sm : {80, 90}) {
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
    for (const CudaKernelUse& use : code->kernels) EXPECT_LE(use.spill_stores, 16) << "sm_" << sm << " " << use.name;
  }
}

}  // namespace
}  // namespace nnc

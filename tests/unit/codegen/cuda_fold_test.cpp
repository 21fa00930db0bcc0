// Folds lowered for CUDA: emulated with every check, bit-equal to their interpretation and near the reference, rows and columns of every
// length class.

#include <gtest/gtest.h>

#include "codegen/cuda/nvrtc.h"
#include "codegen/emit.h"
#include "ir/support/text.h"
#include "tests/unit/codegen/run_lowered.h"

namespace nnc {
namespace {

struct Case {
  std::vector<int64_t> dims, axes;
  const char* kind;  // of a reduction, or softmax, argmax
  DType type = DType::kF32;
  const char* must = nullptr;  // stands in the device's text
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{3, 768}, {1}, "softmax", DType::kF32, "load_f32x4("},
      {{5, 1000}, {1}, "softmax", DType::kF32, "warp_shfl_down_f32"},
      {{7, 50}, {1}, "softmax", DType::kF32, "warp_shfl_idx_f32"},
      {{2, 3, 4, 4096}, {3}, "mean", DType::kF32, "NNC_BARRIER"},
      {{6, 8, 20}, {1, 2}, "max"},
      {{4097}, {0}, "sum"},
      {{9, 5, 37}, {0, 1}, "mean"},
      {{9, 5, 64}, {1}, "min", DType::kF32, "load_f32x4("},
      {{4, 300}, {1}, "argmax"},
      {{300, 6}, {0}, "argmax"},
      {{3, 96}, {1}, "sum", DType::kF16},
      {{3, 200}, {1}, "sum", DType::kI64},
      {{3, 77}, {1}, "sum", DType::kF64},
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
  Shape shape;
  for (int64_t d : c.dims) shape.push_back(d);
  out->inputs.push_back(testing::random_tensor(c.type, c.dims, seed, is_int(c.type) ? -99 : -1, is_int(c.type) ? 99 : 1));
  const ValueId x = out->g->add_input(Type::tensor(c.type, shape));
  const std::string kind = c.kind;
  auto reduce = [&](const char* how, ValueId v, int64_t keep) {
    return *b.op(OpKind::kReduce, {v}, {{"kind", std::string(how)}, {"axes", c.axes}, {"keepdims", keep}});
  };
  if (kind == "softmax") {
    const ValueId e = *b.op(OpKind::kExp, {*b.op(OpKind::kSub, {x, reduce("max", x, 1)})});
    out->g->set_outputs({*b.op(OpKind::kDiv, {e, reduce("sum", e, 1)})});
  } else if (kind == "argmax") {
    out->g->set_outputs({*b.op(OpKind::kArgReduce, {x}, {{"kind", std::string("max")}, {"axis", c.axes[0]}, {"keepdims", int64_t(0)}})});
  } else {
    out->g->set_outputs({reduce(c.kind, x, 0)});
  }
  return out;
}

TEST(CudaFold, EveryLengthOnTheEmulator) {
  const auto target = parse_target("cuda-emu:sm_80");
  ASSERT_TRUE(target.ok());
  for (size_t i = 0; i < cases().size(); ++i) {
    const Case& c = cases()[i];
    auto built = build(c, static_cast<uint32_t>(i + 1));
    const testing::GroupRun r = testing::run_lowered(built->m, *built->g, *target, built->inputs);
    ASSERT_EQ(r.error, "") << "case " << i;
    EXPECT_GE(r.lowered.kernels[0].kernel.threads, 64) << "case " << i;
    EXPECT_EQ(testing::bits_differ(r.compiled[0], r.interpreted[0]), "") << "case " << i;
    EXPECT_EQ(testing::far_apart(r.interpreted[0], r.reference[0], c.type == DType::kF16 ? 2e-3 : 1e-5, 1e-5), "") << "case " << i;
    if (!c.must) continue;
    CudaEmitOptions bare;
    bare.header = false;
    const std::string text = emit_cuda_unit({{&r.lowered.kernels[0].kernel, "k"}}, *target, bare);
    EXPECT_NE(text.find(c.must), std::string::npos) << "case " << i << "\n" << text;
  }
}

TEST(CudaFold, CompilesForDevices) {
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
    for (const CudaKernelUse& use : code->kernels) EXPECT_EQ(use.spill_stores, 0) << "sm_" << sm << " " << use.name;
  }
}

}  // namespace
}  // namespace nnc

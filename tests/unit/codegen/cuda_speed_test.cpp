// How fast the emulator is, with every check on: the figure is printed, the bound is for an idle machine and so is not one here.

#include <gtest/gtest.h>

#include <chrono>

#include "tests/unit/codegen/cuda_emulate.h"
#include "tests/unit/codegen/run_lowered.h"

namespace nnc {
namespace {

TEST(CudaSpeed, ContractionInF32) {
  Module m;
  Graph g(&m, "group");
  Builder b(g);
  constexpr int64_t kSize = 256;
  const ValueId x = g.add_input(Type::tensor(DType::kF32, {kSize, kSize})), w = g.add_input(Type::tensor(DType::kF32, {kSize, kSize}));
  g.set_outputs({*b.op(OpKind::kMatMul, {x, w})});
  const auto target = parse_target("cuda-emu:sm_80");
  ASSERT_TRUE(target.ok());
  const auto lowered = lower_group(g, *target);
  ASSERT_TRUE(lowered.ok()) << lowered.error().str();
  const Kernel& k = lowered->kernels[0].kernel;
  auto module = test::compile_emulated({k});
  ASSERT_TRUE(module.ok()) << module.error().str();
  Tensor a = testing::random_tensor(DType::kF32, {kSize, kSize}, 1), c = testing::random_tensor(DType::kF32, {kSize, kSize}, 2),
         y(DType::kF32, {kSize, kSize});
  std::vector<EmuBuffer> buffers;
  for (Tensor* t : {&a, &c, &y}) buffers.push_back({t->data(), static_cast<int64_t>(t->bytes()), nullptr});
  for (bool races : {true, false}) {
    double best = 1e9;
    for (int round = 0; round < 5; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      EmuOptions options;
      options.races = races;
      const test::EmuRun run = test::run_emulated((*module)->kernel(0), k, buffers, {}, options);
      EXPECT_TRUE(run.reports.empty()) << run.text();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    const double rate = static_cast<double>(kSize * kSize * kSize) / best * 1e-9;
    RecordProperty(races ? "gmac_per_s_checked" : "gmac_per_s_without_races", std::to_string(rate));
    std::printf("%s: %.2f GMAC/s\n", races ? "every check" : "without races", rate);
    EXPECT_GT(rate, 0.02);
  }
}

}  // namespace
}  // namespace nnc

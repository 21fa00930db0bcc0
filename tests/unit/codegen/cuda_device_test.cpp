// The device cuda-emu through the runtime's interface: memory, a launch, and a finding as the launch's error.

#include "codegen/emu_device/device.h"

#include <gtest/gtest.h>

#include <numeric>

#include "codegen/emit.h"
#include "codegen/host_compiler.h"
#include "ir/base/kernel_builder.h"

namespace nnc {
namespace {

constexpr int64_t kCount = 192;

Kernel doubled(bool racy) {
  KernelBuilder k(racy ? "racy" : "doubled", 64);
  const BufId x = k.param("x", DType::kF32, kCount, Access::kRead), y = k.param("y", DType::kF32, kCount, Access::kWrite);
  k.grid(kCount / 64);
  const Expr id = k.add(k.mul(k.task(0), k.index(64)), k.thread());
  const Expr v = k.load(x, id, 1);
  k.store(y, racy ? k.thread() : id, k.add(v, v));
  return k.raw();
}

TEST(CudaDevice, LaunchesAndFindsFaults) {
  const Kernel clean = doubled(false), racy = doubled(true);
  const auto emu = parse_target("cuda-emu:sm_80"), host = parse_target("cpu:x86-64-v3");
  ASSERT_TRUE(emu.ok() && host.ok());
  const auto code =
      compile_cpu_units({{emit_cuda_unit({{&clean, "doubled"}, {&racy, "racy"}}, *emu, {.emulate = true, .header = true})}}, *host);
  ASSERT_TRUE(code.ok()) << code.error().str();

  const std::shared_ptr<Device> device = make_emu_device();
  EXPECT_EQ(device->name(), "cuda-emu");
  EXPECT_TRUE(device->runs("cuda-emu:sm_90"));
  EXPECT_FALSE(device->runs("cuda:sm_90"));
  auto module = device->load({(*code)[0], {{"doubled", &clean}, {"racy", &racy}}});
  ASSERT_TRUE(module.ok()) << module.error().str();
  EXPECT_EQ((*module)->kernel(0)->kind(), CodeKind::kNative);

  auto in = DeviceBuffer::create(device, kCount * 4), out = DeviceBuffer::create(device, kCount * 4);
  ASSERT_TRUE(in.ok() && out.ok());
  std::vector<float> values(kCount);
  std::iota(values.begin(), values.end(), 1.0f);
  ASSERT_TRUE(device->copy(in->data(), values.data(), kCount * 4).ok());
  void* const buffers[] = {in->data(), out->data()};
  const int64_t bytes[] = {kCount * 4, kCount * 4};
  CheckFailure failure;
  LaunchArgs args;
  args.buffers = buffers;
  args.bytes = bytes;
  args.buffer_count = 2;
  args.grid = {kCount / 64, 1, 1};
  args.tasks = kCount / 64;
  args.failure = &failure;
  const Status ran = device->launch(*(*module)->kernel(0), args);
  ASSERT_TRUE(ran.ok()) << ran.error().str();
  ASSERT_TRUE(device->copy(values.data(), out->data(), kCount * 4).ok());
  for (int64_t i = 0; i < kCount; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], 2.0f * static_cast<float>(i + 1));

  const Status raced = device->launch(*(*module)->kernel(1), args);
  ASSERT_FALSE(raced.ok());
  EXPECT_EQ(raced.error().code, Code::kDeviceFailed);
  EXPECT_NE(raced.error().message.find("data race in kernel racy"), std::string::npos) << raced.error().str();

  // A buffer that is smaller than the kernel's extent is found, not overrun.
  const int64_t short_bytes[] = {kCount * 4, kCount * 4 - 4};
  args.bytes = short_bytes;
  const Status overrun = device->launch(*(*module)->kernel(0), args);
  ASSERT_FALSE(overrun.ok());
  EXPECT_EQ(overrun.error().code, Code::kDeviceFailed) << overrun.error().str();
}

TEST(CudaDevice, RunsCompiledKernelsOnly) {
  const Kernel k = doubled(false);
  const auto module = make_emu_device()->load({{}, {{"doubled", &k}}});
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::kNoDevice);
}

}  // namespace
}  // namespace nnc

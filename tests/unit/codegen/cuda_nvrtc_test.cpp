// The device's side of the CUDA text: NVRTC takes it for every architecture of the suite, and what its log says is read.

#include "codegen/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include "codegen/cuda/nvrtc_api.h"
#include "codegen/emit.h"
#include "ir/base/kernel_builder.h"
#include "ir/support/text.h"
#include "tests/unit/base/kernel_random.h"

namespace nnc {
namespace {

std::string unit_of(const std::vector<Kernel>& kernels, int sm) {
  std::vector<std::pair<const Kernel*, std::string>> unit;
  for (const Kernel& k : kernels) unit.push_back({&k, cat("k", unit.size())});
  auto target = parse_target(cat("cuda:sm_", sm));
  EXPECT_TRUE(target.ok());
  return emit_cuda_unit(unit, *target);
}

// Every operation over types and lanes, as the random kernels of the emulator's test.
Kernel random_kernel(uint64_t seed) {
  test::Random r(seed);
  KernelBuilder k("random", 64);
  const int lanes = r.pick({1, 2, 4, 8});
  std::vector<Expr> leaves{k.index(5), k.index(-3), k.thread()};
  std::vector<BufId> outs;
  for (DType t : test::value_dtypes())
    leaves.push_back(k.load(k.param(cat("x_", dtype_name(t)), t, lanes, Access::kRead), k.index(0), lanes));
  for (DType t : test::value_dtypes()) outs.push_back(k.param(cat("y_", dtype_name(t)), t, 4096, Access::kWrite));
  test::ExprMaker maker(k, r, leaves);
  maker.grow(60);
  for (size_t i = leaves.size(); i < maker.all().size(); ++i) {
    Expr e = maker.all()[i];
    if (k.type(e).kind == KType::kMask) e = k.convert(e, DType::kU8);
    if (k.type(e).kind == KType::kIndex) e = k.convert(e, DType::kI64);
    for (size_t o = 0; o < outs.size(); ++o)
      if (test::value_dtypes()[o] == k.type(e).elem) k.store(outs[o], k.index(int64_t(i) * 16), e);
  }
  return k.raw();
}

// Everything that threads do together: shared memory, barriers, votes, every shuffle, atomics, asynchronous copies, prefetch, checks.
Kernel thread_kernel() {
  KernelBuilder k("threads", 64);
  const BufId x = k.param("x", DType::kF32, 1024, Access::kRead), y = k.param("y", DType::kF32, 1024, Access::kReadWrite);
  const BufId n = k.param("n", DType::kI32, 1024, Access::kReadWrite), w = k.param("w", DType::kI64, 1024, Access::kReadWrite);
  const BufId s = k.alloc("s", DType::kF32, 1024, Space::kShared);
  k.prefetch(x, k.thread());
  const Expr at = k.mul(k.thread(), k.index(4));
  k.copy_async(s, at, x, at, 16);
  k.copy_async(s, k.add(at, k.index(256)), x, at, 16, k.lt(k.thread(), k.index(7)));
  k.copy_commit();
  k.copy_wait(0);
  k.barrier();
  Expr v = k.load(s, k.thread(), 1);
  for (WarpOp op : {WarpOp::kShflXor, WarpOp::kShflUp, WarpOp::kShflDown, WarpOp::kShflIdx}) v = k.warp(op, v, k.index(3));
  const Expr odd = k.lt(v, k.constant(DType::kF32, 1));
  const Expr votes = k.warp(WarpOp::kBallot, odd, {});
  const Expr any = k.warp(WarpOp::kAny, odd, {}), all = k.warp(WarpOp::kAll, odd, {});
  k.barrier(Scope::kWarp);
  const Expr checked = k.check(k.to_index(votes), k.index(1024), "index");
  for (AtomicOp op : {AtomicOp::kAdd, AtomicOp::kMin, AtomicOp::kMax, AtomicOp::kOr, AtomicOp::kCas})
    for (BufId b : {n, w}) {
      const Expr one = k.constant(b == n ? DType::kI32 : DType::kI64, 1);
      k.atomic(op, b, checked, one, op == AtomicOp::kCas ? one : Expr());
    }
  k.if_(k.logical_or(any, all), [&] { k.store(y, k.thread(), v); });
  const Expr pair = k.warp(WarpOp::kShflXor, k.load(x, k.mul(k.thread(), k.index(4)), 4), k.index(1));
  k.store(y, at, pair);
  return k.raw();
}

// More shared memory than a kernel may have without asking for it.
Kernel large_shared_kernel() {
  KernelBuilder k("large", 64);
  const BufId x = k.param("x", DType::kF32, 64, Access::kRead), y = k.param("y", DType::kF32, 64, Access::kWrite);
  const BufId a = k.alloc("a", DType::kF32, 64, Space::kShared), b = k.alloc("b", DType::kF32, 16384, Space::kShared);
  k.store(a, k.thread(), k.load(x, k.thread(), 1));
  k.store(b, k.mul(k.thread(), k.index(256)), k.load(x, k.thread(), 1));
  k.barrier();
  const Expr other = k.sub(k.index(63), k.thread());
  k.store(y, k.thread(), k.add(k.load(a, other, 1), k.load(b, k.mul(other, k.index(256)), 1)));
  return k.raw();
}

Kernel tile_kernel(DType a, DType b, uint8_t depth) {
  KernelBuilder k("tiles", 32);
  const DType c = depth == 32 ? DType::kI32 : DType::kF32;
  const BufId x = k.param("x", a, 16 * 64, Access::kRead), w = k.param("w", b, 64 * 8, Access::kRead),
              y = k.param("y", c, 128, Access::kReadWrite);
  const VarId acc = k.frag_zero("acc", c, {16, 8, depth, FragShape::kC});
  const VarId fa = k.frag_load("a", a, {16, 8, depth, FragShape::kA}, x, k.index(0), k.index(64));
  const VarId fb = k.frag_load("b", b, {16, 8, depth, FragShape::kB}, w, k.index(0), k.index(8));
  const VarId fc = k.frag_load("c", b, {16, 8, depth, FragShape::kB}, w, k.index(0), k.index(64), true);
  k.frag_mma(acc, fa, fb);
  k.frag_mma(acc, fa, fc);
  k.frag_set(acc, 1, k.frag_get(acc, 0));
  k.frag_store(acc, y, k.index(0), k.index(8));
  return k.raw();
}

TEST(CudaNvrtc, TakesEveryOperationForEveryArchitectureOfTheSuite) {
  std::vector<Kernel> plain;
  for (uint64_t seed = 1; seed <= 4; ++seed) plain.push_back(random_kernel(seed));
  plain.push_back(thread_kernel());
  plain.push_back(large_shared_kernel());
  std::vector<Kernel> tiles;
  for (DType t : {DType::kF16, DType::kBF16}) tiles.push_back(tile_kernel(t, t, 16));
  tiles.push_back(tile_kernel(DType::kF32, DType::kF32, 8));
  for (DType a : {DType::kI8, DType::kU8})
    for (DType b : {DType::kI8, DType::kU8}) tiles.push_back(tile_kernel(a, b, 32));
  for (int sm : {75, 80, 90}) {
    std::vector<Kernel> all = plain;
    if (sm >= 80)
      all.insert(all.end(), tiles.begin(), tiles.end());
    else
      all.push_back(tiles[0]);
    const auto code = compile_cuda(unit_of(all, sm), sm);
    ASSERT_TRUE(code.ok()) << code.error().str();
    ASSERT_EQ(code->code.size() > 4 && code->code[1] == 'E' && code->code[2] == 'L' && code->code[3] == 'F', true);
    EXPECT_EQ(code->kernels.size(), all.size()) << code->log;
    for (const CudaKernelUse& k : code->kernels) EXPECT_GT(k.registers, 0) << code->log;
  }
}

TEST(CudaNvrtc, VectorsAreSingleAccessesAndTilesAreMatrixInstructions) {
  std::vector<Kernel> kernels{tile_kernel(DType::kF16, DType::kF16, 16), tile_kernel(DType::kBF16, DType::kBF16, 16),
                              tile_kernel(DType::kI8, DType::kI8, 32), thread_kernel()};
  for (DType t : {DType::kF32, DType::kF16, DType::kU8, DType::kF64}) {
    KernelBuilder k("copy", 64);
    const int lanes = 128 / dtype_bits(t);
    const BufId x = k.param("x", t, 4096, Access::kRead), y = k.param("y", t, 4096, Access::kWrite);
    const Expr at = k.mul(k.thread(), k.index(lanes));
    k.store(y, at, k.load(x, at, lanes));
    kernels.push_back(k.raw());
  }
  NvrtcOptions options;
  options.ptx = true;
  const auto code = compile_cuda(unit_of(kernels, 80), 80, options);
  ASSERT_TRUE(code.ok()) << code.error().str();
  const std::string ptx(code->code.begin(), code->code.end());
  auto count = [&](std::string_view what, size_t from = 0) {
    int n = 0;
    for (size_t at = from; (at = ptx.find(what, at)) != std::string::npos; at += what.size()) ++n;
    return n;
  };
  EXPECT_EQ(count("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), 2);
  EXPECT_EQ(count("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), 2);
  EXPECT_EQ(count("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"), 2);
  EXPECT_EQ(count("cp.async.cg.shared.global"), 2);
  for (int k = 4; k < 8; ++k) {
    const size_t begin = ptx.find(cat(".entry k", k)), end = ptx.find("ret;", begin);
    const std::string body = ptx.substr(begin, end - begin);
    EXPECT_NE(body.find("ld.global.nc.v4.u32"), std::string::npos) << body;
    EXPECT_NE(body.find("st.global.v4.u32"), std::string::npos) << body;
  }
}

TEST(CudaNvrtc, SaysWhatIsMissing) {
  NvrtcOptions nowhere;
  nowhere.library = "/nonexistent/libnvrtc.so.13";
  const auto none = nvrtc_version(nowhere);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::kNoCompiler);
  EXPECT_NE(none.error().str().find("nvidia-cuda-toolkit"), std::string::npos);
  EXPECT_NE(none.error().str().find("nvidia-cuda-nvrtc"), std::string::npos);
  const auto old = compile_cuda("", 12);
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().code, Code::kIncompatible) << old.error().str();
}

TEST(CudaNvrtc, ReadsTheAssemblersLog) {
  const auto use = parse_ptxas_log(
      "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'k0' for 'sm_80'\nptxas info    : Function properties for "
      "k0\n"
      "    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\nptxas info    : Used 42 registers, used 1 barriers, 2048 "
      "bytes smem, 376 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'k1' for 'sm_80'\nptxas info    : Used 8 registers, 360 bytes cmem[0]\n");
  ASSERT_EQ(use.size(), 2u);
  EXPECT_EQ(use[0].name, "k0");
  EXPECT_EQ(use[0].registers, 42);
  EXPECT_EQ(use[0].stack_bytes, 16);
  EXPECT_EQ(use[0].spill_stores, 12);
  EXPECT_EQ(use[0].spill_loads, 20);
  EXPECT_EQ(use[0].shared_bytes, 2048);
  EXPECT_EQ(use[1].name, "k1");
  EXPECT_EQ(use[1].registers, 8);
  EXPECT_EQ(use[1].spill_stores, 0);
}

}  // namespace
}  // namespace nnc

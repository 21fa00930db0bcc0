#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ir/base/frag_layout.h"
#include "ir/base/kernel_builder.h"
#include "ir/base/kernel_vm.h"

namespace nnc {
namespace {

template <class T> VmBuffer buffer_of(std::vector<T>& v) { return {v.data(), int64_t(v.size() * sizeof(T))}; }

Status run(const Kernel& k, std::vector<VmBuffer> buffers, std::vector<int64_t> dims = {}, CheckFailure* failure = nullptr,
           VmOptions options = {}) {
  NNC_ASSIGN(auto vm, VmKernel::compile(k, options));
  NNC_ASSIGN(const auto grid, grid_extents(k, dims));
  return vm.run(buffers, dims, 0, grid[0] * grid[1] * grid[2], failure);
}
std::string error_of(const Status& s) { return s.ok() ? "" : s.error().message; }

// Block-wide sum by warp shuffles and shared memory: the shape of a CUDA fold.
Kernel block_sum(int threads) {
  KernelBuilder k("sum", threads);
  const int warps = threads / 32;
  const BufId x = k.param("x", DType::kF32, 4 * threads, Access::kRead), y = k.param("y", DType::kF32, 4, Access::kWrite);
  k.grid(4);
  const BufId s = k.alloc("s", DType::kF32, warps, Space::kShared);
  const Expr at = k.add(k.mul(k.task(0), k.index(threads)), k.thread());
  const VarId sum = k.mut("sum", k.load(x, at, 1));
  for (int step = 16; step > 0; step /= 2) k.set(sum, k.add(k.var(sum), k.warp(WarpOp::kShflXor, k.var(sum), k.index(step))));
  k.if_(k.eq(k.lane(), k.index(0)), [&] { k.store(s, k.floordiv(k.thread(), k.index(32)), k.var(sum)); });
  k.barrier();
  k.if_(k.eq(k.thread(), k.index(0)), [&] {
    const VarId total = k.mut("total", k.constant(DType::kF32, 0));
    k.for_("w", k.index(0), k.index(warps), 1, [&](Expr w) { k.set(total, k.add(k.var(total), k.load(s, w, 1))); });
    k.store(y, k.task(0), k.var(total));
  });
  return k.finish();
}

TEST(KernelThreads, ShufflesAndBarriersFoldABlock) {
  for (int threads : {64, 192, 1024}) {
    std::vector<float> x(size_t(4 * threads)), y(4);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(int(i % 37) - 11);
    const Status s = run(block_sum(threads), {buffer_of(x), buffer_of(y)});
    ASSERT_TRUE(s.ok()) << s.error().str();
    for (int t = 0; t < 4; ++t) EXPECT_EQ(y[size_t(t)], std::accumulate(x.begin() + t * threads, x.begin() + (t + 1) * threads, 0.0f));
  }
}

TEST(KernelThreads, WarpOperationsFollowTheirDefinitions) {
  const auto k = parse_kernel(
      "kernel @warp\nparam $y.0 : i64[64] align 64 rw global\nparam $b.1 : u32[64] align 64 rw global\ngrid [1, 1, 1] threads 48 index "
      "i64\n{\n"
      "  let %me.0 = cast.sext(thread, i64)\n"
      "  %a.1 = warp.shfl_up %me.0 by 3\n"
      "  %d.2 = warp.shfl_down %me.0 by 5\n"
      "  %i.3 = warp.shfl_idx %me.0 by 2\n"
      "  %v.4 = warp.ballot lt(lane, 3)\n"
      "  %any.5 = warp.any eq(thread, 40)\n"
      "  %all.6 = warp.all lt(thread, 32)\n"
      "  let %s.7 = add(mul(%a.1, i64(1000000)), add(mul(%d.2, i64(1000)), %i.3))\n"
      "  store $y.0[thread] = %s.7\n"
      "  store $b.1[thread] = add(%v.4, add(select(%any.5, u32(1000), u32(0)), select(%all.6, u32(10000), u32(0))))\n"
      "}\n");
  ASSERT_TRUE(k.ok()) << k.error().str();
  std::vector<int64_t> y(64);
  std::vector<uint32_t> b(64);
  const Status s = run(*k, {buffer_of(y), buffer_of(b)});
  ASSERT_TRUE(s.ok()) << s.error().str();
  for (int t = 0; t < 48; ++t) {
    const int warp = t / 32 * 32, lane = t % 32, lanes = warp == 0 ? 32 : 16;
    const int64_t up = lane >= 3 ? t - 3 : t, down = lane + 5 < lanes ? t + 5 : t, idx = warp + 2;
    EXPECT_EQ(y[size_t(t)], up * 1000000 + down * 1000 + idx) << t;
    EXPECT_EQ(b[size_t(t)], 7u + (warp == 32 ? 1000u : 0u) + (warp == 0 ? 10000u : 0u)) << t;
  }
}

std::string shared_kernel(const std::string& body, const char* threads = "64") {
  return std::string(
             "kernel @k\nparam $x.0 : f32[4096] align 64 r global\nparam $y.1 : f32[4096] align 64 rw global\ngrid [1, 1, 1] threads ") +
         threads + " index i64\n{\n  alloc $s.2 : f32[256] shared align 16\n" + body + "}\n";
}

TEST(KernelThreads, MistakesAreErrorsThatSayWhere) {
  const std::tuple<const char*, std::string, const char*> cases[] = {
      {"reading shared memory that nobody wrote", shared_kernel("  %v.0 = load $s.2[thread] f32\n  store $y.1[thread] = %v.0\n"),
       "before anything was written"},
      {"a missing barrier",  // threads run in order, so the next one's value is not there yet
       shared_kernel("  store $s.2[thread] = f32(1)\n  %v.0 = load $s.2[sub(63, thread)] f32\n  store $y.1[thread] = %v.0\n"),
       "before anything was written"},
      {"reading before the copy is waited for",
       shared_kernel("  copy.async $s.2[mul(thread, 4)] <- $x.0[mul(thread, 4)] bytes 16\n  copy.commit\n  %v.0 = load $s.2[mul(thread, "
                     "4)] f32\n  store $y.1[0] = %v.0\n"),
       "a copy has landed"},
      {"waiting for all but the copy that is read",
       shared_kernel("  copy.async $s.2[mul(thread, 4)] <- $x.0[mul(thread, 4)] bytes 16\n  copy.commit\n  copy.wait 1\n  %v.0 = load "
                     "$s.2[mul(thread, 4)] f32\n  store $y.1[0] = %v.0\n"),
       "a copy has landed"},
      {"a copy that is not aligned", shared_kernel("  copy.async $s.2[mul(thread, 4)] <- $x.0[add(mul(thread, 4), 1)] bytes 16\n"),
       "not aligned"},
      {"a read past the end", shared_kernel("  %v.0 = load $x.0[mul(thread, 100)] f32\n  store $y.1[thread] = %v.0\n"),
       "buffer 'x', which has 4096"},
      {"a negative index", shared_kernel("  store $y.1[sub(thread, 1)] = f32(0)\n"), "[-1, -1+1)"},
      {"a gather past the end", shared_kernel("  %v.0 = load $x.0[mul(iota(4), indexx4(2000))] f32x4\n  store $y.1[0] = %v.0\n"),
       "[6000, 6000+1)"},
      {"an atomic past the end",
       "kernel @k\nparam $n.0 : i32[4] align 64 rw global\ngrid [1, 1, 1] threads 64 index i64\n{\n  atomic.add $n.0[thread] = i32(1)\n}\n",
       "atomic access"},
  };
  for (const auto& [what, text, want] : cases) {
    const auto k = parse_kernel(text);
    ASSERT_TRUE(k.ok()) << what << ": " << k.error().str();
    std::vector<float> x(4096), y(4096);
    std::vector<VmBuffer> buffers{buffer_of(x)};
    if (k->param_count == 2)
      buffers.push_back(buffer_of(y));
    else
      buffers[0].bytes = 16;
    const std::string got = error_of(run(*k, buffers));
    EXPECT_NE(got.find(want), std::string::npos) << what << ": '" << got << "'";
    EXPECT_NE(got.find("kernel @k, task (0, 0, 0), thread "), std::string::npos) << got;
  }
}

TEST(KernelThreads, AsynchronousCopiesLandAtTheirWait) {
  const auto k =
      parse_kernel(shared_kernel("  copy.async $s.2[mul(thread, 4)] <- $x.0[mul(thread, 4)] bytes 16 mask lt(thread, 8)\n"
                                 "  copy.commit\n"
                                 "  copy.wait 0\n"
                                 "  barrier block\n"
                                 "  %v.0 = load $s.2[sub(255, thread)] f32\n"
                                 "  %w.1 = load $s.2[thread] f32\n"
                                 "  store $y.1[thread] = add(%v.0, %w.1)\n"));
  ASSERT_TRUE(k.ok()) << k.error().str();
  std::vector<float> x(4096, 3.0f), y(4096);
  const Status s = run(*k, {buffer_of(x), buffer_of(y)});
  ASSERT_TRUE(s.ok()) << s.error().str();
  for (int t = 0; t < 64; ++t) EXPECT_EQ(y[size_t(t)], t < 32 ? 3.0f : 0.0f);  // what is masked off lands as zero
}

// A 16 x 8 product over k for every element type, against plain sums.
TEST(KernelThreads, FragmentsMultiplyTiles) {
  struct Case {
    DType elem, acc;
    int k;
  };
  for (const Case& c : {Case{DType::kF16, DType::kF32, 16}, Case{DType::kBF16, DType::kF32, 16}, Case{DType::kF32, DType::kF32, 8},
                        Case{DType::kI8, DType::kI32, 32}, Case{DType::kU8, DType::kI32, 32}}) {
    for (bool transposed : {false, true}) {
      KernelBuilder b("mma", 32);
      const BufId x = b.param("a", c.elem, 16 * c.k, Access::kRead), w = b.param("b", c.elem, 8 * c.k, Access::kRead),
                  y = b.param("y", c.acc, 16 * 8, Access::kWrite);
      const auto shape = [&](FragShape::Role role) { return FragShape{16, 8, static_cast<uint8_t>(c.k), role}; };
      const VarId acc = b.frag_zero("acc", c.acc, shape(FragShape::kC));
      const VarId fa = b.frag_load("fa", c.elem, shape(FragShape::kA), x, b.index(0), b.index(c.k));
      const VarId fb = b.frag_load("fb", c.elem, shape(FragShape::kB), w, b.index(0), b.index(transposed ? c.k : 8), transposed);
      b.frag_mma(acc, fa, fb);
      b.frag_mma(acc, fa, fb);
      b.frag_set(acc, 0, b.frag_get(acc, 0));
      b.frag_store(acc, y, b.index(0), b.index(8));
      const size_t size = size_t(dtype_bits(c.elem) / 8);
      std::vector<std::byte> ab(size * size_t(16 * c.k)), bb(size * size_t(8 * c.k));
      std::vector<int32_t> out(16 * 8);
      const auto av = [&](int r, int k) { return double((r * 7 + k * 3) % 11) - (c.elem == DType::kU8 ? 0 : 5); };
      const auto bv = [&](int k, int n) { return double((k * 5 + n * 2) % 9) - (c.elem == DType::kU8 ? 0 : 4); };
      for (int r = 0; r < 16; ++r)
        for (int k = 0; k < c.k; ++k) store_f64(c.elem, ab.data(), r * c.k + k, av(r, k));
      for (int k = 0; k < c.k; ++k)
        for (int n = 0; n < 8; ++n) store_f64(c.elem, bb.data(), transposed ? n * c.k + k : k * 8 + n, bv(k, n));
      const Status s = run(b.finish(), {buffer_of(ab), buffer_of(bb), buffer_of(out)});
      ASSERT_TRUE(s.ok()) << s.error().str();
      for (int r = 0; r < 16; ++r)
        for (int n = 0; n < 8; ++n) {
          double want = 0;
          for (int k = 0; k < c.k; ++k) want += 2 * av(r, k) * bv(k, n);
          EXPECT_EQ(load_f64(c.acc, out.data(), r * 8 + n), want) << dtype_name(c.elem) << " " << r << " " << n;
        }
    }
  }
}

TEST(KernelThreads, FragmentLayoutsCoverEachElementOnce) {
  for (int k : {8, 16, 32})
    for (FragShape::Role role : {FragShape::kA, FragShape::kB, FragShape::kC}) {
      const FragShape s{16, 8, static_cast<uint8_t>(k), role};
      std::vector<int> seen(size_t(frag_rows(s) * frag_cols(s)));
      for (int lane = 0; lane < 32; ++lane)
        for (int e = 0; e < frag_elements(s); ++e) {
          const FragPlace p = frag_place(s, lane, e);
          ASSERT_TRUE(p.row >= 0 && p.row < frag_rows(s) && p.col >= 0 && p.col < frag_cols(s));
          ++seen[size_t(p.row) * size_t(frag_cols(s)) + size_t(p.col)];
        }
      for (int n : seen) EXPECT_EQ(n, 1);
    }
  // Spot values of the PTX manual: mma.m16n8k16, lane 5.
  const auto at = [](FragShape::Role role, int k, int lane, int e) {
    const FragPlace p = frag_place({16, 8, static_cast<uint8_t>(k), role}, lane, e);
    return std::pair(p.row, p.col);
  };
  EXPECT_EQ(at(FragShape::kA, 16, 5, 0), std::pair(1, 2));
  EXPECT_EQ(at(FragShape::kA, 16, 5, 3), std::pair(9, 3));
  EXPECT_EQ(at(FragShape::kA, 16, 5, 6), std::pair(9, 10));
  EXPECT_EQ(at(FragShape::kB, 16, 5, 2), std::pair(10, 1));
  EXPECT_EQ(at(FragShape::kC, 16, 5, 2), std::pair(9, 2));
  EXPECT_EQ(at(FragShape::kA, 32, 5, 5), std::pair(9, 5));
  EXPECT_EQ(at(FragShape::kA, 32, 5, 9), std::pair(1, 21));
  EXPECT_EQ(at(FragShape::kA, 8, 5, 1), std::pair(9, 1));
  EXPECT_EQ(at(FragShape::kA, 8, 5, 2), std::pair(1, 5));
}

TEST(KernelThreads, ChecksClampAndRecordTheFirstFailure) {
  KernelBuilder k("gather");
  const Dim n(k.symbols().input("n", 0, 1024));
  const BufId i = k.param("i", DType::kI64, 8, Access::kRead), x = k.param("x", DType::kF32, n, Access::kRead),
              y = k.param("y", DType::kF32, 8, Access::kWrite);
  k.grid(8);
  const Expr bound = k.dim(n);
  const Expr at = k.check(k.to_index(k.load(i, k.task(0), 1)), bound, "gather index");
  k.store(y, k.task(0), k.load(x, at, 1, {.mask = k.lt(k.index(0), bound), .other = k.constant(DType::kF32, -1)}));
  const Kernel kernel = k.finish();
  EXPECT_EQ(kernel.facts.unproved_accesses, 0);
  std::vector<int64_t> index{0, 3, 7, -2, 4, 1, 2, 3};
  std::vector<float> values{10, 11, 12, 13, 14}, out(8);
  CheckFailure failure;
  ASSERT_TRUE(run(kernel, {buffer_of(index), buffer_of(values), buffer_of(out)}, {5}, &failure).ok());
  EXPECT_EQ(out, (std::vector<float>{10, 13, 14, 10, 14, 11, 12, 13}));
  EXPECT_TRUE(failure.set);
  EXPECT_EQ(failure.index, 7);
  EXPECT_EQ(failure.bound, 5);
  EXPECT_EQ(kernel.sites[failure.site].what, "gather index");
  // Nothing to index: every access is masked.
  ASSERT_TRUE(run(kernel, {buffer_of(index), VmBuffer{}, buffer_of(out)}, {0}, &failure).ok());
  EXPECT_EQ(out, std::vector<float>(8, -1.0f));
}

TEST(KernelThreads, EndlessLoopsEndWhenRoundsAreLimited) {
  const auto k = parse_kernel(
      "kernel @loop\nparam $y.0 : f32[1] align 64 rw global\ngrid [1, 1, 1] threads 1 index i64\n{\n  while le(task0, 0) {\n    store "
      "$y.0[0] = f32(1)\n  }\n}\n");
  ASSERT_TRUE(k.ok());
  std::vector<float> y(1);
  EXPECT_NE(error_of(run(*k, {buffer_of(y)}, {}, nullptr, {.max_rounds = 1000})).find("more loop rounds"), std::string::npos);
}

TEST(KernelThreads, DerivedSymbolsAreComputed) {
  KernelBuilder k("tiles");
  const Dim n(k.symbols().input("n", 1, 1 << 20));
  const Dim tiles = k.symbols().ceildiv(n, 16);
  const BufId y = k.param("y", DType::kI64, n, Access::kWrite);
  k.grid(tiles);
  const Expr at = k.add(k.splat(k.mul(k.task(0), k.index(16)), 16), k.iota(16));
  k.store(y, k.mul(k.task(0), k.index(16)), k.convert(at, DType::kI64), {.mask = k.lt(at, k.dim(n))});
  const Kernel kernel = k.finish();
  EXPECT_EQ(kernel.facts.unproved_accesses, 0) << print_kernel(kernel);
  std::vector<int64_t> out(37, -1);
  ASSERT_TRUE(run(kernel, {buffer_of(out)}, {37, 0}).ok());
  for (int i = 0; i < 37; ++i) EXPECT_EQ(out[size_t(i)], i);
}

}  // namespace
}  // namespace nnc

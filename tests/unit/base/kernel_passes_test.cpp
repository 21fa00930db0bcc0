#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "ir/base/kernel_vm.h"
#include "tests/unit/base/kernel_random.h"

namespace nnc {
namespace {

using test::Random;

// Random kernels with control flow over one output buffer per type.
class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : r_(seed), k_("program") {
    lanes_ = r_.pick({1, 4, 16});
    std::vector<Expr> leaves{k_.index(5), k_.task(0), k_.dim(Dim(k_.symbols().input("n", 1, 8)))};
    for (DType t : {DType::kF32, DType::kI32, DType::kU8, DType::kF64, DType::kI64}) {
      inputs_.push_back(k_.param("x", t, 64, Access::kRead));
      types_.push_back(t);
    }
    for (DType t : types_) outputs_.push_back(k_.param("y", t, 4096, Access::kReadWrite));
    k_.grid(3);
    for (BufId b : inputs_) leaves.push_back(k_.load(b, k_.index(0), lanes_));
    scope(leaves, 3);
  }
  Kernel take() { return k_.raw(); }
  size_t params() const { return inputs_.size() * 2; }

 private:
  void scope(std::vector<Expr> known, int depth) {
    std::vector<VarId> muts;
    for (int i = 0; i < 6; ++i) {
      test::ExprMaker maker(k_, r_, known);
      maker.grow(5);
      const Expr e = maker.any();
      switch (r_.below(8)) {
        case 0: known.push_back(k_.let("l", e)); break;
        case 1: {
          const VarId m = k_.mut("m", e);
          muts.push_back(m);
          known.push_back(k_.var(m));
          break;
        }
        case 2:
          if (!muts.empty()) {
            const VarId m = muts[size_t(r_.below(int(muts.size())))];
            if (k_.kernel().vars[m].type == k_.type(e)) k_.set(m, e);
          }
          break;
        case 3:
          if (depth > 0)
            k_.for_("i", k_.index(r_.below(3)), k_.index(r_.below(5)), 1 + r_.below(2), [&](Expr round) {
              auto inner = known;
              inner.push_back(round);
              scope(inner, depth - 1);
            });
          break;
        case 4:
          if (depth > 0) {
            const Expr c = r_.below(3) ? k_.lt(k_.task(0), k_.index(r_.below(4))) : k_.mask_const(r_.below(2));
            k_.if_(
                c, [&] { scope(known, depth - 1); },
                r_.below(2) ? KernelBuilder::Body([&] { scope(known, depth - 1); }) : KernelBuilder::Body());
          }
          break;
        case 5: known.push_back(k_.load(inputs_[size_t(r_.below(5))], k_.index(r_.below(8)), lanes_)); break;
        default: emit(e);
      }
      if (r_.below(3) == 0) emit(maker.any());
    }
  }
  void emit(Expr e) {
    if (k_.type(e).kind == KType::kMask) e = k_.convert(e, DType::kU8);
    if (k_.type(e).kind == KType::kIndex) e = k_.convert(e, DType::kI64);
    for (size_t o = 0; o < types_.size(); ++o)
      if (types_[o] == k_.type(e).elem) k_.store(outputs_[o], k_.add(k_.mul(k_.task(0), k_.index(1000)), k_.index(r_.below(900))), e);
  }

  Random r_;
  KernelBuilder k_;
  int lanes_;
  std::vector<BufId> inputs_, outputs_;
  std::vector<DType> types_;
};

std::vector<std::vector<std::byte>> outputs_of(const Kernel& k) {
  Random r(99);
  std::vector<std::vector<std::byte>> memory;
  std::vector<VmBuffer> buffers;
  for (uint32_t i = 0; i < k.param_count; ++i) {
    const KBuffer& b = k.buffers[BufId(i)];
    memory.emplace_back(size_t(b.extent.constant() * dtype_bits(b.elem) / 8));
    if (b.access == Access::kRead)
      for (int64_t e = 0; e < b.extent.constant(); ++e) {
        const uint64_t bits = test::interesting_bits(r, b.elem);
        std::memcpy(memory.back().data() + e * dtype_bits(b.elem) / 8, &bits, size_t(dtype_bits(b.elem) / 8));
      }
  }
  for (auto& m : memory) buffers.push_back({m.data(), int64_t(m.size())});
  auto vm = VmKernel::compile(k);
  EXPECT_TRUE(vm.ok()) << vm.error().str() << print_kernel(k);
  if (!vm.ok()) return {};
  const Status s = vm->run(buffers, std::vector<int64_t>{3}, 0, 3, nullptr);
  EXPECT_TRUE(s.ok()) << s.error().str();
  return memory;
}

void expect_same(const Kernel& k, const std::vector<std::vector<std::byte>>& a, const std::vector<std::vector<std::byte>>& b,
                 const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    const KType t = KType::of(k.buffers[BufId(uint32_t(i))].elem);
    const size_t size = size_t(dtype_bits(t.elem) / 8);
    for (size_t e = 0; e < a[i].size(); e += size) {
      uint64_t x = 0, y = 0;
      std::memcpy(&x, a[i].data() + e, size);
      std::memcpy(&y, b[i].data() + e, size);
      ASSERT_TRUE(test::same_bits(t, x, y)) << what << ": parameter " << i << " element " << e / size << " " << std::hex << x << " became "
                                            << y;
    }
  }
}

TEST(KernelPasses, KeepEveryBitOfRandomPrograms) {
  int shorter = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Kernel k = RandomProgram(seed).take();
    const auto before = outputs_of(k);
    const size_t length = print_kernel(k).size();
    const std::string name = "seed " + std::to_string(seed);
    simplify_kernel(k);
    expect_same(k, before, outputs_of(k), name + " simplified");
    hoist_and_share(k);
    expect_same(k, before, outputs_of(k), name + " shared");
    compact_kernel(k);
    expect_same(k, before, outputs_of(k), name + " compacted");
    const std::string text = print_kernel(k);
    shorter += text.size() < length;
    const auto back = parse_kernel(text);
    ASSERT_TRUE(back.ok()) << name << back.error().str() << text;
    ASSERT_EQ(print_kernel(*back), text) << name;
    Kernel again = k;
    compact_kernel(again);
    ASSERT_EQ(print_kernel(again), text) << name << ": compacting twice";
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(shorter, 100);
}

std::string after(void (*pass)(Kernel&), const std::string& body, const char* header = "grid [8, 1, 1] threads 1 index i64") {
  const std::string head =
      std::string("kernel @k\nparam $x.0 : f32[4096] align 64 r global\nparam $y.1 : f32[4096] align 64 rw global\n") + header + "\n{\n";
  auto k = parse_kernel(head + body + "}\n");
  EXPECT_TRUE(k.ok()) << (k.ok() ? "" : k.error().str());
  if (!k.ok()) return "";
  pass(*k);
  std::string text = print_kernel(*k);
  return text.substr(head.size(), text.size() - head.size() - 2);
}

TEST(KernelPasses, SimplifyFoldsControlAndDropsWhatNobodyReads) {
  EXPECT_EQ(after(simplify_kernel,
                  "  let %dead.0 = mul(task0, 7)\n"
                  "  let %c.1 = add(2, 3)\n"
                  "  mut %m.2 = f32(0)\n"
                  "  set %m.2 = f32(1)\n"
                  "  %v.3 = load $x.0[%c.1] f32 mask mask(true) else f32(1)\n"
                  "  if mask(false) {\n    store $y.1[0] = f32(9)\n  } else {\n    store $y.1[1] = %v.3\n  }\n"
                  "  for %i.4 = 3 to 4 step 1 {\n    store $y.1[mul(%i.4, 2)] = %v.3\n  }\n"
                  "  for %j.5 = 4 to 4 step 1 {\n    store $y.1[7] = %v.3\n  }\n"
                  "  store $y.1[8] = %v.3 mask mask(false)\n"
                  "  %unused.6 = load $x.0[9] f32\n"),
            "  %v.0 = load $x.0[5] f32\n"
            "  store $y.1[1] = %v.0\n"
            "  store $y.1[6] = %v.0\n");
}

TEST(KernelPasses, HoistMovesInvariantsOutOfLoopsButNotOutOfBranches) {
  EXPECT_EQ(after(hoist_and_share,
                  "  for %i.0 = 0 to 8 step 1 {\n"
                  "    for %j.1 = 0 to 8 step 1 {\n"
                  "      %v.2 = load $x.0[add(mul(task0, 64), add(mul(%i.0, 8), %j.1))] f32\n"
                  "      if lt(%j.1, 3) {\n"
                  "        store $y.1[add(mul(task0, 100), %j.1)] = %v.2\n"
                  "      }\n"
                  "    }\n"
                  "  }\n"),
            "  let %t.0 = mul(task0, 64)\n"
            "  for %i.1 = 0 to 8 step 1 {\n"
            "    let %t.2 = add(%t.0, mul(%i.1, 8))\n"
            "    for %j.3 = 0 to 8 step 1 {\n"
            "      %v.4 = load $x.0[add(%t.2, %j.3)] f32\n"
            "      if lt(%j.3, 3) {\n"
            "        store $y.1[add(mul(task0, 100), %j.3)] = %v.4\n"
            "      }\n"
            "    }\n"
            "  }\n");
}

TEST(KernelPasses, ShareNamesWhatIsUsedTwiceAndRespectsMuts) {
  EXPECT_EQ(after(hoist_and_share,
                  "  mut %m.0 = f32(1)\n"
                  "  store $y.1[add(task0, 16)] = mul(add(%m.0, f32(1)), add(%m.0, f32(1)))\n"
                  "  set %m.0 = f32(5)\n"
                  "  store $y.1[add(task0, 16)] = add(%m.0, f32(1))\n"),
            "  mut %m.0 = f32(1)\n"
            "  let %t.1 = add(task0, 16)\n"
            "  let %t.2 = add(%m.0, f32(1))\n"
            "  store $y.1[%t.1] = mul(%t.2, %t.2)\n"
            "  set %m.0 = f32(5)\n"
            "  store $y.1[%t.1] = add(%m.0, f32(1))\n");
}

TEST(KernelPasses, FactsAreCounted) {
  KernelBuilder k("facts");
  const Dim n(k.symbols().input("n", 1, 1 << 20, 1, 100));
  const BufId x = k.param("x", DType::kF32, k.symbols().mul(n, 64), Access::kRead), y = k.param("y", DType::kF32, n, Access::kWrite);
  k.grid(n);
  const VarId sum = k.mut("sum", k.constant(DType::kF32, 0, 16));
  k.for_("j", k.index(0), k.index(64), 16, [&](Expr j) {
    const Expr v = k.load(x, k.add(k.mul(k.task(0), k.index(64)), j), 16);
    k.set(sum, k.fma(v, v, k.var(sum)));
  });
  k.store(y, k.task(0), k.hreduce(ExprOp::kReduceAdd, k.var(sum)));
  const KernelFacts f = k.finish().facts;
  EXPECT_EQ(f.bytes_read, 100 * 64 * 4);
  EXPECT_EQ(f.bytes_written, 100 * 4);
  EXPECT_EQ(f.flops, 100 * (64 * 2 + 15));
  EXPECT_EQ(f.live_registers, 2);
  EXPECT_EQ(f.unproved_accesses, 0);
}

// A register tile as contractions build it: what `finish` costs.
Kernel tile_kernel() {
  KernelBuilder k("tile");
  const Dim m(k.symbols().input("m", 1, 1 << 20)), depth(k.symbols().input("k", 1, 1 << 20));
  const BufId a = k.param("a", DType::kF32, k.symbols().mul(k.symbols().mul(m, 8), depth), Access::kRead),
              b = k.param("b", DType::kF32, k.symbols().mul(depth, 48), Access::kRead);
  const BufId c = k.param("c", DType::kF32, k.symbols().mul(m, 8 * 48), Access::kWrite);
  k.grid(m);
  std::vector<VarId> acc;
  for (int i = 0; i < 24; ++i) acc.push_back(k.mut("acc", k.constant(DType::kF32, 0, 16)));
  k.for_("p", k.index(0), k.dim(depth), 1, [&](Expr p) {
    Expr row[3];
    for (int j = 0; j < 3; ++j) row[j] = k.load(b, k.add(k.mul(p, k.index(48)), k.index(16 * j)), 16);
    for (int i = 0; i < 8; ++i) {
      const Expr s = k.load(a, k.add(k.mul(k.add(k.mul(k.task(0), k.index(8)), k.index(i)), k.dim(depth)), p), 1);
      for (int j = 0; j < 3; ++j) k.set(acc[size_t(i) * 3 + size_t(j)], k.fma(s, row[j], k.var(acc[size_t(i) * 3 + size_t(j)])));
    }
  });
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 3; ++j) {
      const Expr v = k.var(acc[size_t(i) * 3 + size_t(j)]);
      k.store(c, k.add(k.mul(k.add(k.mul(k.task(0), k.index(8)), k.index(i)), k.index(48)), k.index(16 * j)),
              k.mul(v, k.math(ExprOp::kErf, v)));
    }
  return k.finish();
}

TEST(KernelPasses, FinishIsQuick) {
  const auto start = std::chrono::steady_clock::now();
  constexpr int kTimes = 20;
  int unproved = 0;
  for (int i = 0; i < kTimes; ++i) unproved += tile_kernel().facts.unproved_accesses;
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / kTimes;
  std::printf("finish: %.2f ms a kernel of %zu statements\n", ms, tile_kernel().stmts.size());
  EXPECT_EQ(unproved, 0);
  EXPECT_LT(ms, 100);
}

}  // namespace
}  // namespace nnc

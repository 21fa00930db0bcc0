#include "ir/base/kernel_vm.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "tests/unit/base/kernel_random.h"

namespace nnc {
namespace {

using test::Random;

// One kernel: loads one value of each type at `lanes`, grows expressions, stores each in the output of its type.
struct RandomCase {
  Kernel kernel;
  std::vector<DType> in_types;
  std::map<ExprId, std::pair<uint32_t, int64_t>> stored;  // expression -> (parameter, element)
  std::vector<std::vector<std::byte>> params;
  std::map<VarId, std::vector<uint64_t>> vars;
};

RandomCase make_case(uint64_t seed) {
  Random r(seed);
  RandomCase c;
  KernelBuilder k("random");
  const int lanes = r.pick({1, 2, 4, 8, 16, 32, 64});
  std::vector<BufId> ins, outs;
  for (DType t : test::value_dtypes()) ins.push_back(k.param("x", t, lanes, Access::kRead));
  for (DType t : test::value_dtypes()) outs.push_back(k.param("y", t, 64 * 64, Access::kWrite));
  std::vector<Expr> leaves{k.index(5), k.index(-3)};
  for (size_t i = 0; i < ins.size(); ++i) {
    const DType t = test::value_dtypes()[i];
    const Expr v = k.load(ins[i], k.index(0), lanes);
    std::vector<uint64_t> bits;
    std::vector<std::byte> bytes(static_cast<size_t>(lanes * dtype_bits(t) / 8));
    for (int l = 0; l < lanes; ++l) {
      bits.push_back(test::interesting_bits(r, t));
      std::memcpy(bytes.data() + l * dtype_bits(t) / 8, &bits.back(), static_cast<size_t>(dtype_bits(t) / 8));
    }
    c.params.push_back(std::move(bytes));
    c.vars[k.node(v).var] = bits;
    leaves.push_back(v);
  }
  for (DType t : test::value_dtypes()) c.params.emplace_back(static_cast<size_t>(64 * 64 * dtype_bits(t) / 8));
  test::ExprMaker maker(k, r, leaves);
  maker.grow(60);
  std::vector<int64_t> used(outs.size());
  for (size_t i = leaves.size(); i < maker.all().size(); ++i) {
    Expr e = maker.all()[i];
    if (k.type(e).kind == KType::kMask) e = k.convert(e, DType::kU8);
    if (k.type(e).kind == KType::kIndex) e = k.convert(e, DType::kI64);
    for (size_t o = 0; o < outs.size(); ++o) {
      if (test::value_dtypes()[o] != k.type(e).elem) continue;
      k.store(outs[o], k.index(used[o]), e);
      c.stored[e.id] = {static_cast<uint32_t>(ins.size() + o), used[o]};
      used[o] += k.lanes(e);
    }
  }
  c.kernel = k.raw();
  return c;
}

TEST(KernelVm, RandomExpressionsAgreeWithScalars) {
  int64_t compared = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    RandomCase c = make_case(seed);
    test::NaiveValues naive(c.kernel, c.vars);
    for (int level : {1, 3, 4}) {
      auto vm = VmKernel::compile(c.kernel, {.level = level});
      ASSERT_TRUE(vm.ok()) << vm.error().str();
      std::vector<VmBuffer> buffers;
      for (auto& p : c.params) buffers.push_back({p.data(), int64_t(p.size())});
      const Status ran = vm->run(buffers, {}, 0, 1, nullptr);
      ASSERT_TRUE(ran.ok()) << ran.error().str();
      for (const auto& [e, place] : c.stored) {
        const KType t = c.kernel.exprs[e].type;
        const std::vector<uint64_t>& want = naive.of(e);
        for (int l = 0; l < t.lanes; ++l) {
          uint64_t got = 0;
          const size_t size = static_cast<size_t>(dtype_bits(t.elem) / 8);
          std::memcpy(&got, c.params[place.first].data() + (place.second + l) * int64_t(size), size);
          ++compared;
          ASSERT_TRUE(test::same_bits(t, got, want[size_t(l)]))
              << "seed " << seed << " level " << level << " lane " << l << " of " << expr_op_name(c.kernel.exprs[e].op) << " "
              << type_text(t) << " of " << type_text(c.kernel.exprs[c.kernel.exprs[e].a].type) << ": " << std::hex << got << " for "
              << want[size_t(l)];
        }
      }
    }
  }
  EXPECT_GT(compared, 400000);
}

// Scalars spread over lanes are factors of fma without being spread; every level and every use of them gives the same bits.
TEST(KernelVm, SpreadFactorsAgreeAcrossLevels) {
  for (int lanes : {4, 16, 64}) {
    KernelBuilder k("factors");
    const BufId a = k.param("a", DType::kF32, 64, Access::kRead), b = k.param("b", DType::kF32, 64 * 64, Access::kRead),
                y = k.param("y", DType::kF32, 4096, Access::kWrite);
    std::vector<VarId> acc;
    for (int i = 0; i < 4; ++i) acc.push_back(k.mut("acc", k.constant(DType::kF32, 0.5 * i, lanes)));
    k.for_("p", k.index(0), k.index(32), 1, [&](Expr p) {
      const Expr s = k.splat(k.load(a, p, 1), lanes), t = k.splat(k.load(a, k.add(p, k.index(1)), 1), lanes);
      const Expr v = k.load(b, k.mul(p, k.index(64)), lanes);
      k.set(acc[0], k.fma(s, v, k.var(acc[0])));
      k.set(acc[1], k.fma(v, s, k.var(acc[1])));
      k.set(acc[2], k.fma(s, t, k.var(acc[2])));
      k.set(acc[3], k.fma(v, k.var(acc[3]), t));
    });
    for (int i = 0; i < 4; ++i) k.store(y, k.index(64 * i), k.var(acc[size_t(i)]));
    const Kernel kernel = k.finish();
    std::vector<float> av(64), bv(64 * 64), first;
    Random r(3);
    for (float& x : av) x = float(r.below(2000) - 1000) / 512;
    for (float& x : bv) x = float(r.below(2000) - 1000) / 1024;
    for (int level : {1, 3, 4}) {
      auto vm = VmKernel::compile(kernel, {.level = level});
      ASSERT_TRUE(vm.ok());
      std::vector<float> out(4096);
      const Status s =
          vm->run(std::vector<VmBuffer>{{av.data(), 256}, {bv.data(), 64 * 64 * 4}, {out.data(), 4096 * 4}}, {}, 0, 1, nullptr);
      ASSERT_TRUE(s.ok()) << s.error().str();
      if (level == 1) first = out;
      EXPECT_EQ(std::memcmp(first.data(), out.data(), out.size() * 4), 0) << "level " << level << " lanes " << lanes;
    }
    for (int l = 0; l < lanes; ++l) {
      float want = 0;
      for (int p = 0; p < 32; ++p) want = std::fma(av[size_t(p)], bv[size_t(p) * 64 + size_t(l)], want);
      EXPECT_EQ(first[size_t(l)], want);
    }
  }
}

// Kernels made of damaged text that still verify run inside their buffers or end with an error.
TEST(KernelVm, DamagedKernelsStayInside) {
  const std::string base =
      "kernel @victim\nsymbol s0 = input lo 1 hi 64 div 1 typical 8\nparam $x.0 : f32[16*s0] align 64 r global\nparam $y.1 : f32[16*s0] "
      "align 64 rw global\n"
      "grid [s0, 2, 1] threads 64 index i64\nsite 0 \"at\" loc 0\n{\n  alloc $s.2 : f32[96] shared align 16\n  mut %m.0 = f32x4(0)\n"
      "  for %i.1 = 0 to 16 step 4 {\n    %v.2 = load $x.0[add(mul(task0, 16), %i.1)] f32x4\n    set %m.0 = max(%m.0, %v.2)\n  }\n"
      "  let %h.3 = reduce.max(%m.0)\n  store $s.2[thread] = %h.3\n  barrier block\n  %u.4 = load $s.2[sub(63, thread)] f32\n"
      "  %w.5 = warp.shfl_xor %u.4 by 3\n  if lt(thread, 16) {\n    %c.6 = check add(mul(task0, 16), thread) < mul(s0, 16) at 0\n    store "
      "$y.1[%c.6] = %w.5\n  }\n}\n";
  const std::string alphabet = "0123456789-+*()%$.,sxy";
  int ran = 0, failed = 0;
  for (uint64_t seed = 1; seed <= 20000; ++seed) {
    Random r(seed);
    std::string text = base;
    for (int edits = 1 + r.below(2); edits > 0; --edits) {
      const size_t at = size_t(r.below(int(text.size())));
      if (r.below(3) == 0)
        text.erase(at, 1);
      else
        text[at] = alphabet[size_t(r.below(int(alphabet.size())))];
    }
    const auto k = parse_kernel(text);
    if (!k.ok() || k->param_count != 2) continue;
    auto vm = VmKernel::compile(*k, {.max_rounds = 2000});
    if (!vm.ok()) continue;
    // Guarded by canaries.
    std::vector<float> memory(3 * 256 + 2 * 64, 7.0f);
    const auto grid = grid_extents(*k, std::vector<int64_t>(k->symbols.size(), 8));
    if (!grid.ok()) continue;
    const std::vector<VmBuffer> buffers{{memory.data() + 256, 64 * 4}, {memory.data() + 2 * 256 + 64, 64 * 4}};
    const int64_t tasks = std::min<int64_t>((*grid)[0] * (*grid)[1] * (*grid)[2], 4);
    const Status s = vm->run(buffers, std::vector<int64_t>(k->symbols.size(), 8), 0, tasks, nullptr);
    (s.ok() ? ran : failed) += 1;
    for (size_t i = 0; i < memory.size(); ++i) {
      if (i >= 2 * 256 + 64 && i < 2 * 256 + 128) continue;
      ASSERT_EQ(memory[i], 7.0f) << "seed " << seed << " word " << i << "\n" << text;
    }
  }
  EXPECT_GT(ran, 50);
  EXPECT_GT(failed, 50);
}

}  // namespace
}  // namespace nnc

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

}  // namespace
}  // namespace nnc

// Random kernels on the emulator against the kernel interpreter, bit for bit: every operation over every type and number of lanes that CUDA
// kernels hold.

#include <gtest/gtest.h>

#include "ir/base/kernel_vm.h"
#include "tests/unit/base/kernel_random.h"
#include "tests/unit/codegen/cuda_emulate.h"

namespace nnc {
namespace {

using test::Random;

constexpr int64_t kOut = 4096;  // elements of each output

struct RandomKernel {
  Kernel kernel;
  std::vector<DType> params;  // inputs, then outputs
  size_t inputs = 0;
};

// Loads a value of each type, grows expressions from them and stores each in the output of its type.
RandomKernel make_kernel(uint64_t seed) {
  Random r(seed);
  RandomKernel out;
  KernelBuilder k("random", 1);
  const int lanes = r.pick({1, 2, 4, 8});
  std::vector<BufId> ins, outs;
  for (DType t : test::value_dtypes())
    ins.push_back(k.param(std::string("x_") + std::string(dtype_name(t)), t, lanes, Access::kRead)), out.params.push_back(t);
  out.inputs = ins.size();
  for (DType t : test::value_dtypes())
    outs.push_back(k.param(std::string("y_") + std::string(dtype_name(t)), t, kOut, Access::kWrite)), out.params.push_back(t);
  k.set_index64(true);
  std::vector<Expr> leaves{k.index(5), k.index(-3)};
  for (BufId in : ins) leaves.push_back(k.load(in, k.index(0), lanes));
  test::ExprMaker maker(k, r, leaves);
  maker.grow(60);
  std::vector<int64_t> used(outs.size());
  for (size_t i = leaves.size(); i < maker.all().size(); ++i) {
    Expr e = maker.all()[i];
    if (k.type(e).kind == KType::kMask) e = k.convert(e, DType::kU8);
    if (k.type(e).kind == KType::kIndex) e = k.convert(e, DType::kI64);
    for (size_t o = 0; o < outs.size(); ++o) {
      if (test::value_dtypes()[o] != k.type(e).elem) continue;
      const int n = k.lanes(e);
      used[o] = (used[o] + n - 1) / n * n;
      k.store(outs[o], k.index(used[o]), e);
      used[o] += n;
    }
  }
  out.kernel = k.raw();
  return out;
}

struct Memory {
  std::vector<std::vector<uint64_t>> params;  // 64-bit words, so that all types are aligned
  void* at(size_t p) { return params[p].data(); }
  int64_t bytes(size_t p) const { return static_cast<int64_t>(params[p].size() * 8); }
};

Memory make_memory(const RandomKernel& k, uint64_t seed) {
  Random r(seed + 77);
  Memory m;
  for (size_t p = 0; p < k.params.size(); ++p) {
    const int size = dtype_bits(k.params[p]) / 8;
    const int64_t n = p < k.inputs ? k.kernel.buffers[BufId(static_cast<uint32_t>(p))].extent.constant() : kOut;
    m.params.emplace_back(static_cast<size_t>((n * size + 7) / 8 + 2), 0);
    if (p >= k.inputs) continue;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t bits = test::interesting_bits(r, k.params[p]);
      std::memcpy(static_cast<char*>(m.at(p)) + i * size, &bits, static_cast<size_t>(size));
    }
  }
  return m;
}

void compare(const RandomKernel& k, Memory& got, Memory& want, uint64_t seed, int64_t* compared) {
  for (size_t p = k.inputs; p < k.params.size(); ++p) {
    const size_t size = static_cast<size_t>(dtype_bits(k.params[p]) / 8);
    for (int64_t i = 0; i < kOut; ++i) {
      uint64_t a = 0, b = 0;
      std::memcpy(&a, static_cast<char*>(got.at(p)) + static_cast<size_t>(i) * size, size);
      std::memcpy(&b, static_cast<char*>(want.at(p)) + static_cast<size_t>(i) * size, size);
      ++*compared;
      if (test::same_bits(KType::of(k.params[p]), a, b)) continue;
      std::string what;
      for (const Stmt& s : k.kernel.stmts)
        if (s.kind == StmtKind::kStore && s.buf.v == p) {
          const ExprNode& e = k.kernel.exprs[s.value];
          const int64_t at = static_cast<int64_t>(k.kernel.exprs[s.index].bits);
          if (at <= i && i < at + e.type.lanes)
            what = std::string(expr_op_name(e.op)) + " " + type_text(e.type) + " of " +
                   (e.a ? type_text(k.kernel.exprs[e.a].type) : "nothing");
        }
      FAIL() << "seed " << seed << ", " << dtype_name(k.params[p]) << " " << i << ": " << std::hex << a << " for " << b << ", " << what;
    }
  }
}

TEST(CudaRandom, EmulatedOperationsHaveTheInterpretersBits) {
  constexpr uint64_t kSeeds = 6, kPart = 6;
  int64_t compared = 0;
  for (uint64_t first = 1; first <= kSeeds; first += kPart) {
    std::vector<RandomKernel> cases;
    std::vector<Kernel> kernels;
    for (uint64_t seed = first; seed < first + kPart; ++seed) {
      cases.push_back(make_kernel(seed));
      kernels.push_back(cases.back().kernel);
    }
    auto module = test::compile_emulated(kernels);
    ASSERT_TRUE(module.ok()) << module.error().str();
    for (size_t c = 0; c < cases.size(); ++c) {
      const uint64_t seed = first + c;
      Memory got = make_memory(cases[c], seed), want = make_memory(cases[c], seed);
      std::vector<EmuBuffer> emu;
      std::vector<VmBuffer> vm_buffers;
      for (size_t p = 0; p < cases[c].params.size(); ++p) {
        emu.push_back({got.at(p), got.bytes(p), nullptr});
        vm_buffers.push_back({want.at(p), want.bytes(p)});
      }
      const test::EmuRun run = test::run_emulated((*module)->kernel(c), kernels[c], emu);
      EXPECT_TRUE(run.reports.empty()) << run.text();
      auto vm = VmKernel::compile(kernels[c]);
      ASSERT_TRUE(vm.ok()) << vm.error().str();
      const Status ran = vm->run(vm_buffers, {}, 0, 1, nullptr);
      ASSERT_TRUE(ran.ok()) << ran.error().str();
      compare(cases[c], got, want, seed, &compared);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(compared, 250000);
}

}  // namespace
}  // namespace nnc

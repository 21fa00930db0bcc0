// Random kernels through the host compiler against the kernel interpreter, bit for bit: every operation over every type and number of
// lanes.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codegen/emit.h"
#include "codegen/host_compiler.h"
#include "ir/base/abi.h"
#include "ir/support/text.h"
#include "tests/unit/base/kernel_random.h"

namespace nnc {
namespace {

using test::Random;

constexpr int64_t kOut = 4096;  // elements of each output

// Loads a value of each type, grows expressions from them and stores each in the output of its type.
Kernel make_kernel(uint64_t seed) {
  Random r(seed);
  KernelBuilder k("random");
  const int lanes = r.pick({1, 2, 4, 8, 16, 32, 64});
  std::vector<BufId> ins, outs;
  for (DType t : test::value_dtypes()) ins.push_back(k.param(cat("x_", dtype_name(t)), t, lanes, Access::kRead));
  for (DType t : test::value_dtypes()) outs.push_back(k.param(cat("y_", dtype_name(t)), t, kOut, Access::kWrite));
  std::vector<Expr> leaves{k.index(5), k.index(-3)};
  for (BufId in : ins) leaves.push_back(k.load(in, k.index(0), lanes));
  test::ExprMaker maker(k, r, leaves);
  maker.grow(50);
  std::vector<int64_t> used(outs.size());
  for (size_t i = leaves.size(); i < maker.all().size(); ++i) {
    Expr e = maker.all()[i];
    if (k.type(e).kind == KType::kMask) e = k.convert(e, DType::kU8);
    if (k.type(e).kind == KType::kIndex) e = k.convert(e, DType::kI64);
    for (size_t o = 0; o < outs.size(); ++o) {
      if (test::value_dtypes()[o] != k.type(e).elem || used[o] + k.lanes(e) > kOut) continue;
      k.store(outs[o], k.index(used[o]), e);
      used[o] += k.lanes(e);
    }
  }
  return k.finish();
}

struct Memory {
  std::vector<std::vector<uint64_t>> params;
  std::vector<VmBuffer> buffers;
  std::vector<void*> pointers;
};
Memory make_memory(const Kernel& k, uint64_t seed) {
  Random r(seed + 77);
  Memory m;
  for (uint32_t p = 0; p < k.param_count; ++p) {
    const KBuffer& b = k.buffers[BufId(p)];
    const int64_t n = b.extent.constant(), size = dtype_bits(b.elem) / 8;
    m.params.emplace_back(static_cast<size_t>(n * size / 8 + 16));
    auto* at = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(m.params.back().data()) + 63) / 64 * 64);
    for (int64_t i = 0; b.access == Access::kRead && i < n; ++i) {
      const uint64_t bits = test::interesting_bits(r, b.elem);
      std::memcpy(at + i * size, &bits, static_cast<size_t>(size));
    }
    m.buffers.push_back({at, n * size});
    m.pointers.push_back(at);
  }
  return m;
}

// What the first element that differs was computed by; empty: none does.
std::string first_difference(const Kernel& k, const Memory& got, const Memory& want, int64_t* compared) {
  for (uint32_t p = 0; p < k.param_count; ++p) {
    const KBuffer& b = k.buffers[BufId(p)];
    const size_t size = static_cast<size_t>(dtype_bits(b.elem) / 8);
    for (int64_t i = 0; b.access != Access::kRead && i < b.extent.constant(); ++i) {
      uint64_t x = 0, y = 0;
      std::memcpy(&x, static_cast<std::byte*>(got.pointers[p]) + size_t(i) * size, size);
      std::memcpy(&y, static_cast<std::byte*>(want.pointers[p]) + size_t(i) * size, size);
      ++*compared;
      if (test::same_bits(KType::of(b.elem), x, y)) continue;
      std::string what = cat(dtype_name(b.elem), " ", i, ": ", hex(x, 16), " for ", hex(y, 16));
      for (const Stmt& s : k.stmts) {
        if (s.kind != StmtKind::kStore || s.buf.v != p) continue;
        const ExprNode& e = k.exprs[s.value];
        const int64_t at = static_cast<int64_t>(k.exprs[s.index].bits);
        if (at <= i && i < at + e.type.lanes) append(what, ", ", expr_op_name(e.op), " ", type_text(e.type));
      }
      return what;
    }
  }
  return {};
}

TEST(CpuRandom, CompiledOperationsHaveTheInterpretersBits) {
  int64_t compared = 0;
  for (const char* name : {"cpu:x86-64-v3", "cpu:x86-64-v4"}) {
    if (std::string_view(name) == "cpu:x86-64-v4" && !__builtin_cpu_supports("avx512bw")) continue;
    const auto target = parse_target(name);
    ASSERT_TRUE(target.ok());
    std::vector<Kernel> kernels;
    std::vector<std::pair<const Kernel*, std::string>> unit;
    constexpr uint64_t kKernels = 14;
    for (uint64_t seed = 1; seed <= kKernels; ++seed) kernels.push_back(make_kernel(seed));
    for (size_t i = 0; i < kernels.size(); ++i) unit.emplace_back(&kernels[i], cat("kernel", i));
    const auto so = compile_cpu_units({{emit_cpu_unit(unit, *target)}}, *target);
    ASSERT_TRUE(so.ok()) << so.error().str();
    const int fd = memfd_create("kernels", MFD_CLOEXEC);
    ASSERT_EQ(write(fd, (*so)[0].data(), (*so)[0].size()), static_cast<ssize_t>((*so)[0].size()));
    void* library = dlopen(cat("/proc/self/fd/", fd).c_str(), RTLD_NOW | RTLD_LOCAL);
    close(fd);
    ASSERT_NE(library, nullptr);
    for (size_t i = 0; i < kernels.size(); ++i) {
      const auto fn = reinterpret_cast<KernelFn>(dlsym(library, unit[i].second.c_str()));
      ASSERT_NE(fn, nullptr);
      for (uint64_t round = 0; round < 8; ++round) {
        Memory got = make_memory(kernels[i], round * 1000 + i), want = make_memory(kernels[i], round * 1000 + i);
        fn(got.pointers.data(), nullptr, 0, 1, nullptr);
        auto vm = VmKernel::compile(kernels[i]);
        ASSERT_TRUE(vm.ok()) << vm.error().str();
        const Status ran = vm->run(want.buffers, {}, 0, 1, nullptr);
        ASSERT_TRUE(ran.ok()) << ran.error().str();
        EXPECT_EQ(first_difference(kernels[i], got, want, &compared), "") << name << ", seed " << i + 1 << ", round " << round;
      }
    }
    dlclose(library);
  }
  EXPECT_GT(compared, 1000000);
}

}  // namespace
}  // namespace nnc

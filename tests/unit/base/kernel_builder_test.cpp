#include "ir/base/kernel_builder.h"

#include <gtest/gtest.h>

namespace nnc {
namespace {

TEST(KernelBuilder, PrintsWhatWasBuilt) {
  KernelBuilder k("scale");
  SymbolTable outer;
  const Dim n(outer.input("n", 1, 4096, 16, 128));
  const Dim d = k.import_dim(outer, outer.mul(n, 16));
  const BufId x = k.param("x", DType::kF32, d, Access::kRead), y = k.param("y", DType::kF32, d, Access::kWrite);
  k.grid(k.import_dim(outer, n));
  const Expr at = k.mul(k.task(0), k.index(16));
  const Expr v = k.load(x, at, 16);
  k.store(y, at, k.mul(v, k.constant(DType::kF32, 1.5)));
  EXPECT_EQ(print_kernel(k.finish()),
            "kernel @scale\n"
            "symbol s0 = input lo 1 hi 4096 div 16 typical 128\n"
            "param $x.0 : f32[16*s0] align 64 r global\n"
            "param $y.1 : f32[16*s0] align 64 w global\n"
            "grid [s0, 1, 1] threads 1 index i64\n"
            "{\n"
            "  let %t.0 = mul(task0, 16)\n"
            "  %v.1 = load $x.0[%t.0] f32x16\n"
            "  store $y.1[%t.0] = mul(%v.1, f32x16(1.5))\n"
            "}\n");
}

}  // namespace
}  // namespace nnc

// Elementwise rows and sources as kernels, over dtypes, shapes, special values, with constant and symbolic extents.

#include <gtest/gtest.h>

#include "ir/support/text.h"
#include "tests/unit/codegen/row_kernel.h"

namespace nnc {
namespace {

const std::vector<Dims> kShapes = {{}, {1}, {7}, {64}, {131}, {0, 3}, {3, 5}, {2, 130}, {2, 1, 3, 4}};
const std::vector<Dims> kFewShapes = {{}, {131}, {0, 3}};
const std::vector<std::pair<Dims, Dims>> kPairs = {{{}, {5}},        {{3, 1}, {1, 70}}, {{2, 3, 33}, {33}},    {{2, 3, 33}, {3, 1}},
                                                   {{4, 1}, {4, 1}}, {{0, 2}, {1, 2}},  {{2, 3, 4}, {2, 3, 4}}};
const std::vector<DType> kFloats = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
const std::vector<DType> kInts = {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kU64};

std::vector<DType> with(std::vector<DType> a, const std::vector<DType>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void check_unary(OpKind kind, const std::vector<DType>& dtypes, AttrList attrs = {}) {
  for (const DType dtype : dtypes) {
    for (const Dims& dims : dtype == DType::kF32 ? kShapes : kFewShapes) {
      KernelCase c{.name = cat(dtype_name(dtype), " ", dims.size(), " ", element_count(dims)), .kind = kind, .attrs = attrs};
      Draw draw(c.name);
      c.operands = {draw_tensor(dtype, dims, draw, op_def(kind).domain, true)};
      check_kernel(c);
      c.symbolic = true;
      if (dtype == DType::kF32) check_kernel(c);
    }
  }
}

void check_binary(OpKind kind, const std::vector<DType>& dtypes, AttrList attrs = {}) {
  for (const DType dtype : dtypes) {
    const size_t pairs = dtype == DType::kF32 ? kPairs.size() : 2;
    for (size_t pair = 0; pair < pairs; ++pair) {
      const auto& [a, b] = kPairs[pair];
      for (const bool swapped : {false, true}) {
        KernelCase c{.name = cat(dtype_name(dtype), " ", a.size(), " with ", b.size(), " ", element_count(a), swapped),
                     .kind = kind,
                     .attrs = attrs};
        Draw draw(c.name);
        c.operands = {draw_tensor(dtype, swapped ? b : a, draw, op_def(kind).domain, true),
                      draw_tensor(dtype, swapped ? a : b, draw, op_def(kind).domain, true)};
        check_kernel(c);
        c.symbolic = true;
        if (dtype == DType::kF32) check_kernel(c);
      }
    }
  }
}

TEST(ElementwiseKernel, UnaryExact) {
  for (const OpKind kind : {OpKind::kNeg, OpKind::kAbs, OpKind::kSign, OpKind::kRelu}) check_unary(kind, with(kFloats, kInts));
  for (const OpKind kind : {OpKind::kSqrt, OpKind::kReciprocal, OpKind::kFloor, OpKind::kCeil, OpKind::kRound, OpKind::kIsNan})
    check_unary(kind, kFloats);
  check_unary(OpKind::kNot, with({DType::kBool}, kInts));
}

TEST(ElementwiseKernel, UnaryMath) {
  for (const OpKind kind : {OpKind::kExp, OpKind::kLog, OpKind::kSin, OpKind::kCos, OpKind::kTanh, OpKind::kErf, OpKind::kSigmoid,
                            OpKind::kGelu, OpKind::kSilu, OpKind::kHardSigmoid, OpKind::kHardSwish}) {
    const bool wide = kind == OpKind::kSin || kind == OpKind::kCos;  // f64 beyond 1e15 radians: no digits are promised
    check_unary(kind, wide ? std::vector<DType>{DType::kF16, DType::kBF16, DType::kF32} : kFloats);
  }
  check_unary(OpKind::kGelu, {DType::kF32, DType::kF16}, {{"approximate", std::string("tanh")}});
  check_unary(OpKind::kHardSigmoid, {DType::kF32}, {{"alpha", 0.75}, {"beta", -0.25}});
}

TEST(ElementwiseKernel, Casts) {
  const std::vector<DType> all = with(with(kFloats, kInts), {DType::kBool});
  for (const DType to : all) check_unary(OpKind::kCast, all, {{"to", to}});
}

TEST(ElementwiseKernel, Arithmetic) {
  for (const OpKind kind : {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv, OpKind::kMin, OpKind::kMax, OpKind::kMod, OpKind::kLess,
                            OpKind::kLessEqual}) {
    check_binary(kind, with(kFloats, kInts));
  }
  check_binary(OpKind::kMod, with(kFloats, kInts), {{"fmod", int64_t(1)}});
  check_binary(OpKind::kEqual, with(with(kFloats, kInts), {DType::kBool}));
  for (const OpKind kind : {OpKind::kAnd, OpKind::kOr, OpKind::kXor}) check_binary(kind, with({DType::kBool}, kInts));
}

TEST(ElementwiseKernel, Power) {
  check_binary(OpKind::kPow, with(kFloats, kInts));
  for (const auto& [x, y] : {std::pair{DType::kF32, DType::kI64},
                             {DType::kI32, DType::kF32},
                             {DType::kF32, DType::kF64},
                             {DType::kI64, DType::kU8},
                             {DType::kF16, DType::kI32}}) {
    KernelCase c{.name = cat(dtype_name(x), " to ", dtype_name(y)), .kind = OpKind::kPow};
    Draw draw(c.name);
    c.operands = {draw_tensor(x, {40}, draw, {-3, 3}, false), draw_tensor(y, {40}, draw, {-2, 4}, false)};
    for (int64_t& v : c.operands[1].i) v = v % 4;
    check_kernel(c);
  }
}

TEST(ElementwiseKernel, WhereAndClip) {
  for (const DType dtype : with(with(kFloats, kInts), {DType::kBool})) {
    for (const bool symbolic : {false, true}) {
      Draw draw("where");
      check_kernel({.name = std::string(dtype_name(dtype)),
                    .kind = OpKind::kWhere,
                    .operands = {draw_tensor(DType::kBool, {3, 1}, draw, {}, true), draw_tensor(dtype, {3, 70}, draw, {}, true),
                                 draw_tensor(dtype, {70}, draw, {}, true)},
                    .symbolic = symbolic});
      check_kernel({.name = std::string(dtype_name(dtype)),
                    .kind = OpKind::kWhere,
                    .operands = {draw_tensor(DType::kBool, {2, 70}, draw, {}, true), draw_tensor(dtype, {}, draw, {}, true),
                                 draw_tensor(dtype, {2, 70}, draw, {}, true)},
                    .symbolic = symbolic});
      if (dtype == DType::kBool) continue;
      const EvalTensor lo = draw_tensor(dtype, {}, draw, {-1, 0}, false), hi = draw_tensor(dtype, {}, draw, {0, 1}, true);
      check_kernel(
          {.name = "both", .kind = OpKind::kClip, .operands = {draw_tensor(dtype, {67}, draw, {}, true), lo, hi}, .symbolic = symbolic});
      check_kernel({.name = "lo", .kind = OpKind::kClip, .operands = {draw_tensor(dtype, {67}, draw, {}, true), lo}, .symbolic = symbolic});
      check_kernel({.name = "hi",
                    .kind = OpKind::kClip,
                    .operands = {draw_tensor(dtype, {67}, draw, {}, true), absent(), hi},
                    .symbolic = symbolic});
    }
  }
}

TEST(ElementwiseKernel, Sources) {
  for (const DType dtype : with(kFloats, kInts)) {
    const EvalTensor start = is_float(dtype) ? floats({}, {0.1}, dtype) : ints({}, {3}, dtype),
                     delta = is_float(dtype) ? floats({}, {-0.7}, dtype) : ints({}, {wrap_int(dtype, -2)}, dtype);
    for (const int64_t n : {0, 1, 77})
      check_kernel({.name = cat(dtype_name(dtype), " ", n),
                    .kind = OpKind::kRange,
                    .operands = {start, delta},
                    .attrs = {{"count", Shape{Dim(n)}}}});
  }
  check_kernel({.kind = OpKind::kDimsValue, .attrs = {{"dims", Shape{Dim(4), Dim(-9), Dim(int64_t(1) << 40)}}}});
  check_kernel({.kind = OpKind::kDimsValue, .attrs = {{"dims", Shape{Dim(4)}}, {"rank0", int64_t(1)}}});
  check_kernel({.kind = OpKind::kDimsValue, .attrs = {{"dims", Shape{}}}});
}

}  // namespace
}  // namespace nnc

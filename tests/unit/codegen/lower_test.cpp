// Groups through all ways of running them.

#include <gtest/gtest.h>

#include "ir/base/kernel_bounds.h"
#include "tests/unit/codegen/run_lowered.h"

namespace nnc {
namespace {

using testing::random_tensor;

struct Fixture {
  Module m;
  Graph g{&m, "group"};
  Builder b{g};
  std::vector<Tensor> inputs;
  uint32_t seed = 1;

  ValueId input(DType t, Shape shape, std::vector<int64_t> dims = {}, double lo = -1, double hi = 1) {
    if (dims.empty()) {
      for (const Dim& d : shape) dims.push_back(d.constant());
    }
    inputs.push_back(random_tensor(t, dims, seed++, lo, hi));
    return g.add_input(Type::tensor(t, std::move(shape)));
  }
  ValueId op(OpKind k, std::vector<ValueId> args, AttrList attrs = {}) {
    auto v = b.op(k, std::move(args), std::move(attrs));
    EXPECT_TRUE(v.ok()) << (v.ok() ? "" : v.error().str());
    return v.ok() ? *v : ValueId();
  }
  void check(std::vector<ValueId> outputs, double rtol = 1e-5, double atol = 1e-6,
             const char* targets = "cpu:x86-64-v3,x86-64-v4,vm,cuda-emu:sm_80") {
    g.set_outputs(std::move(outputs));
    auto list = parse_targets(targets);
    ASSERT_TRUE(list.ok());
    for (const Target& t : *list) {
      const bool native = t.kind == TargetKind::kCpu || t.kind == TargetKind::kCudaEmu;
      testing::GroupRun r = testing::run_lowered(m, g, t, inputs, native);
      ASSERT_EQ(r.error, "") << t.name;
      for (size_t o = 0; o < r.reference.size(); ++o) {
        EXPECT_EQ(testing::far_apart(r.interpreted[o], r.reference[o], rtol, atol), "") << t.name << " interpreted, output " << o << "\n"
                                                                                        << print_kernel(r.lowered.kernels.back().kernel);
        if (native) { EXPECT_EQ(testing::bits_differ(r.compiled[o], r.interpreted[o]), "") << t.name << " compiled, output " << o; }
      }
    }
  }
};

TEST(Lower, AddRelu) {
  Fixture f;
  ValueId x = f.input(DType::kF32, {5, 33}), y = f.input(DType::kF32, {33});
  f.check({f.op(OpKind::kRelu, {f.op(OpKind::kAdd, {x, y})})}, 0, 0);
}

// Rotating the halves of a row reads elements that another one overwrites: not in place.
TEST(Lower, RotatedHalvesAreNotInPlace) {
  Fixture f;
  ValueId x = f.input(DType::kF32, {4, 32});
  auto half = [&](int64_t from) { return f.b.slice(x, {1}, Shape{Dim(from)}, Shape{Dim(from + 16)}, {1}).value(); };
  f.g.set_outputs({f.op(OpKind::kMul, {f.op(OpKind::kConcat, {half(16), half(0)}, {{"axis", int64_t(1)}}), x})});
  auto target = parse_target("cpu:x86-64-v4");
  auto lowered = lower_group(f.g, *target);
  ASSERT_TRUE(lowered.ok());
  EXPECT_TRUE(lowered->in_place.empty());
}

TEST(Lower, ReshapeTranspose) {
  Fixture f;
  ValueId x = f.input(DType::kF32, {6, 32});
  ValueId r = f.op(OpKind::kReshape, {x}, {{"shape", Shape{2, 3, 4, 8}}});
  f.check({f.op(OpKind::kTranspose, {r}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}})}, 0, 0);
}

TEST(Lower, TransposeOfTiles) {
  for (DType t : {DType::kF32, DType::kF16, DType::kBool, DType::kI64}) {
    Fixture f;
    ValueId x = f.input(t, {3, 50, 33});
    f.check({f.op(OpKind::kTranspose, {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}})}, 0, 0, "cpu:vm,cuda-emu:sm_80");
    auto target = parse_target("cuda-emu:sm_80");
    auto lowered = lower_group(f.g, *target);
    ASSERT_TRUE(lowered.ok());
    EXPECT_EQ(lowered->skeleton, "move");
  }
}

TEST(Lower, SoftmaxRow) {
  Fixture f;
  ValueId x = f.input(DType::kF32, {7, 50});
  ValueId mx = f.op(OpKind::kReduce, {x}, {{"kind", std::string("max")}, {"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t(1)}});
  ValueId e = f.op(OpKind::kExp, {f.op(OpKind::kSub, {x, mx})});
  ValueId s = f.op(OpKind::kReduce, {e}, {{"kind", std::string("sum")}, {"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t(1)}});
  f.check({f.op(OpKind::kDiv, {e, s})});
}

TEST(Lower, ReduceColumns) {
  Fixture f;
  ValueId x = f.input(DType::kF32, {9, 5, 37});
  f.check({f.op(OpKind::kReduce, {x}, {{"kind", std::string("mean")}, {"axes", std::vector<int64_t>{0, 1}}, {"keepdims", int64_t(0)}})});
}

TEST(Lower, MatMulBiasGelu) {
  Fixture f;
  ValueId a = f.input(DType::kF32, {2, 19, 40}), w = f.input(DType::kF32, {40, 70}), c = f.input(DType::kF32, {70});
  ValueId p = f.op(OpKind::kMatMul, {a, w});
  f.check({f.op(OpKind::kGelu, {f.op(OpKind::kAdd, {p, c})})}, 1e-4, 1e-5);
}

TEST(Lower, MatMulBatchTransposed) {
  Fixture f;
  ValueId a = f.input(DType::kF32, {2, 3, 17, 32}), w = f.input(DType::kF32, {2, 3, 21, 32});
  f.check({f.op(OpKind::kMatMul, {a, w}, {{"transpose_b", int64_t(1)}})}, 1e-4, 1e-5);
}

// Where a right operand that is no constant is read: few rows where it lies, a task's own columns from panels that it packs itself, what
// several tasks read from panels of a first kernel.
TEST(Lower, MatMulRightOperand) {
  struct Case {
    const char* name;
    Shape a, b;
    bool turned;
    size_t kernels, scratch;
    DType type = DType::kF32;
  };
  const std::vector<Case> cases = {
      {"few rows", {2, 3, 5, 32}, {2, 3, 32, 21}, false, 1, 0},
      {"one row", {1, 70}, {70, 150}, false, 1, 0},
      {"few rows, shared", {4, 3, 2, 24}, {1, 3, 24, 48}, false, 1, 0},
      {"few rows of doubles", {2, 5, 24}, {2, 24, 21}, false, 1, 0, DType::kF64},
      {"few rows, half", {2, 5, 24}, {2, 24, 21}, false, 1, 0, DType::kBF16},
      {"few rows, turned", {2, 3, 5, 32}, {2, 3, 21, 32}, true, 1, 1},
      {"own columns", {2, 3, 40, 32}, {2, 3, 32, 21}, false, 1, 1},
      {"own columns, turned", {2, 3, 40, 32}, {2, 3, 90, 32}, true, 1, 1},
      {"own columns of doubles", {2, 40, 32}, {2, 90, 32}, true, 1, 1, DType::kF64},
      {"own columns, merged", {3, 40, 32}, {32, 70}, false, 1, 1},
      {"shared by a batch", {2, 3, 40, 32}, {3, 32, 21}, false, 2, 1},
      {"shared by blocks of rows", {1000, 16}, {16, 21}, false, 2, 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Fixture f;
    ValueId a = f.input(c.type, c.a), b = f.input(c.type, c.b);
    f.check({f.op(OpKind::kMatMul, {a, b}, {{"transpose_b", int64_t(c.turned)}})}, c.type == DType::kBF16 ? 0.01 : 1e-4, 1e-5,
            "cpu:x86-64-v3,x86-64-v4,vm");
    for (const char* target : {"cpu:x86-64-v3", "cpu:x86-64-v4"}) {
      auto lowered = lower_group(f.g, *parse_target(target));
      ASSERT_TRUE(lowered.ok());
      EXPECT_EQ(lowered->kernels.size(), c.kernels) << target;
      EXPECT_EQ(lowered->scratch_bytes.size(), c.scratch) << target;
    }
  }
}

TEST(Lower, MatMulHeadsOut) {
  Fixture f;
  ValueId a = f.input(DType::kF32, {2, 5, 48}), w = f.input(DType::kF32, {48, 48});
  ValueId p = f.op(OpKind::kMatMul, {a, w});
  ValueId r = f.op(OpKind::kReshape, {p}, {{"shape", Shape{2, 5, 3, 16}}});
  f.check({f.op(OpKind::kTranspose, {r}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}})}, 1e-4, 1e-5);
}

// Convolutions with all that decides which taps lie inside. Extents that are negative are symbols with that size.
struct ConvCase {
  const char* what;
  DType type = DType::kF32;
  std::vector<int64_t> x, w;  // [batch, spatial.., channels], [kernel.., in / group, out]
  std::vector<int64_t> pads_begin, pads_end, strides, dilations;
  int64_t group = 1;
  std::string auto_pad = "notset";
};

void check_conv(const ConvCase& c, const char* targets = "cpu:x86-64-v3,x86-64-v4,vm") {
  SCOPED_TRACE(c.what);
  Fixture f;
  Shape shape;
  std::vector<int64_t> dims;
  for (int64_t d : c.x) {
    dims.push_back(std::abs(d));
    shape.push_back(d >= 0 ? Dim(d) : Dim(f.g.symbols().input("s" + std::to_string(dims.size()), 1, 4096, 1, -d)));
  }
  const Shape weights(c.w.begin(), c.w.end());
  const ValueId x = f.input(c.type, shape, dims), w = f.input(c.type, weights), bias = f.input(c.type, {c.w.back()});
  const ValueId y = f.op(OpKind::kConv, {x, w, bias},
                         {{"layout", std::string("nhwc")},
                          {"w_format", std::string("hwio")},
                          {"group", c.group},
                          {"pads_begin", c.pads_begin},
                          {"pads_end", c.pads_end},
                          {"strides", c.strides},
                          {"dilations", c.dilations},
                          {"auto_pad", c.auto_pad}});
  const double tolerance = c.type == DType::kF16 ? 2e-3 : 1e-4;
  f.check({f.op(OpKind::kRelu, {y})}, tolerance, tolerance / 10, targets);
  const auto lowered = lower_group(f.g, *parse_target("cpu:x86-64-v4"));
  ASSERT_TRUE(lowered.ok());
  for (const LoweredKernel& k : lowered->kernels) {
    const BoundsReport r = prove_accesses(k.kernel);
    EXPECT_EQ(r.unproved, 0) << k.kernel.name << ": " << (r.open.empty() ? "" : r.open[0].text);
  }
}

TEST(Lower, ConvInsideKnownExtents) {
  check_conv({"one tile a line, both borders in it", DType::kF32, {1, 9, 11, 12}, {3, 3, 12, 20}, {1, 1}, {1, 1}, {2, 1}, {}},
             "cpu:x86-64-v3,x86-64-v4,vm,cuda-emu:sm_80");
  check_conv({"uneven tiles, wide window", DType::kF32, {1, 6, 75, 5}, {5, 5, 5, 72}, {2, 2}, {2, 2}, {2, 2}, {}});
  check_conv({"dilation", DType::kF32, {2, 8, 31, 3}, {3, 3, 3, 17}, {2, 3}, {2, 3}, {1, 1}, {2, 3}});
  check_conv({"tiles that see no input", DType::kF32, {1, 3, 4, 4}, {3, 3, 4, 16}, {5, 30}, {5, 30}, {1, 1}, {}});
  check_conv({"rows along the first axis", DType::kF32, {1, 40, 2, 4}, {3, 2, 4, 16}, {1, 0}, {1, 0}, {1, 1}, {}});
  check_conv({"three axes", DType::kF32, {1, 4, 5, 6, 4}, {3, 3, 3, 4, 8}, {1, 1, 1}, {1, 1, 1}, {1, 2, 1}, {}});
  check_conv({"groups on one axis", DType::kF32, {2, 50, 24}, {7, 12, 32}, {3}, {3}, {1}, {}, 2});
  check_conv({"one axis, weights beyond the cache", DType::kF32, {1, 6, 256}, {3, 256, 256}, {1}, {1}, {1}, {}});
  check_conv({"f16", DType::kF16, {1, 5, 16, 8}, {3, 3, 8, 16}, {1, 1}, {1, 1}, {1, 1}, {}});
}

TEST(Lower, ConvInsideSymbolicExtents) {
  check_conv({"wide", DType::kF32, {1, -7, -41, 6}, {3, 3, 6, 24}, {1, 1}, {1, 1}, {2, 2}, {}});
  check_conv({"dilated", DType::kF32, {1, -9, -23, 4}, {3, 5, 4, 16}, {2, 4}, {1, 3}, {1, 1}, {2, 2}});
  check_conv({"same", DType::kF32, {1, -6, -15, 4}, {3, 4, 4, 16}, {}, {}, {1, 2}, {}, 1, "same_upper"});
  // Compiled for typical lines of 41, run on lines shorter than a tile.
  Fixture f;
  const Dim width(f.g.symbols().input("w", 1, 4096, 1, 41));
  const ValueId x = f.input(DType::kF32, {1, 3, width, 4}, {1, 3, 5, 4}), w = f.input(DType::kF32, {3, 3, 4, 16});
  f.check({f.op(OpKind::kConv, {x, w},
                {{"layout", std::string("nhwc")},
                 {"w_format", std::string("hwio")},
                 {"pads_begin", std::vector<int64_t>{1, 1}},
                 {"pads_end", std::vector<int64_t>{1, 1}}})},
          1e-4, 1e-5, "cpu:x86-64-v4,vm");
}

TEST(Lower, ConvDepthwise) {
  check_conv({"channels that fill no vector", DType::kF32, {2, 9, 10, 24}, {3, 3, 1, 24}, {1, 1}, {1, 1}, {1, 1}, {}, 24},
             "cpu:x86-64-v3,x86-64-v4,vm,cuda-emu:sm_80");
  check_conv({"stride and dilation", DType::kF32, {1, 7, 29, 40}, {5, 5, 1, 40}, {4, 4}, {4, 4}, {2, 2}, {2, 2}, 40});
  check_conv({"long window", DType::kF32, {1, 60, 5}, {13, 1, 5}, {6}, {6}, {1}, {}, 5});
  check_conv({"symbolic", DType::kF32, {1, -6, -21, 16}, {3, 3, 1, 16}, {1, 1}, {1, 1}, {2, 2}, {}, 16});
  check_conv(
      {"taps far apart", DType::kF32, {1, 3, 6, 16}, {1, 3, 1, 16}, {0, 100'000'000}, {0, 100'000'000}, {1, 1}, {1, 100'000'000}, 16});
  check_conv({"no vector of channels", DType::kF32, {1, 6, 9, 19}, {3, 3, 1, 19}, {1, 1}, {0, 1}, {1, 1}, {}, 19});
}

TEST(Lower, Lstm) {
  Fixture f;
  ValueId x = f.input(DType::kF32, {4, 2, 19}), w = f.input(DType::kF32, {2, 4 * 12, 19}), r = f.input(DType::kF32, {2, 4 * 12, 12}),
          b = f.input(DType::kF32, {2, 8 * 12});
  auto ys = f.b.ops(OpKind::kLstm, {x, w, r, b}, {{"hidden", int64_t(12)}, {"direction", std::string("bidirectional")}});
  ASSERT_TRUE(ys.ok());
  f.check(*ys, 1e-4, 1e-5);
}

}  // namespace
}  // namespace nnc

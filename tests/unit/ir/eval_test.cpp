#include "ir/eval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/builder.h"
#include "tests/unit/ir/test_graphs.h"

namespace nnc {
namespace {

using test::parsed;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor f32(std::vector<int64_t> dims, std::vector<float> values) { return Tensor::of<float>(DType::kF32, std::move(dims), values); }
Tensor i64(std::vector<int64_t> values) { return Tensor::vector_i64(values); }

Result<std::vector<Tensor>> run(const Module& m, std::vector<Tensor> args, EvalOptions options = {}) {
  return Interpreter(m, options).run_entry("main", args);
}

TEST(Eval, BindsSymbolsAndRuns) {
  const std::unique_ptr<Module> m = parsed(
      "graph @main(%x: f32[s0, 2], %y: f32[2*s0+1]) {\n"
      "  %1 = add(%x, %x) : f32[s0, 2]\n"
      "  %2 = dims_value() {dims = [s0, 3*s0]} : i64[2]\n"
      "  return %1, %2, %y\n"
      "}\n");
  const auto r = run(*m, {f32({2, 2}, {1, 2, 3, 4}), f32({5}, {0, 0, 0, 0, 0})});
  ASSERT_TRUE(r.ok()) << r.error().str();
  EXPECT_THAT((*r)[0].as<float>(), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT((*r)[1].as<int64_t>(), ElementsAre(2, 6));
}

TEST(Eval, SolvesLinearExtentsInAnyOrder) {
  const std::unique_ptr<Module> m = parsed(
      "graph @main(%x: f32[s0+2*s1], %y: f32[3*s0], %z: f32[s0*s1]) {\n  %1 = dims_value() {dims = [s0, s1]} : i64[2]\n  return %1\n}\n");
  const auto zeros = [](int64_t n) { return Tensor(DType::kF32, {n}); };
  const auto r = run(*m, {zeros(12), zeros(6), zeros(10)});
  ASSERT_TRUE(r.ok()) << r.error().str();
  EXPECT_THAT((*r)[0].as<int64_t>(), ElementsAre(2, 5));
  EXPECT_FALSE(run(*m, {zeros(12), zeros(7), zeros(10)}).ok());
  EXPECT_FALSE(run(*m, {zeros(12), zeros(6), zeros(11)}).ok());
}

TEST(Eval, WrongInputsNameTheArgument) {
  const std::unique_ptr<Module> m =
      parsed("symbols {\n  s0 = input \"batch\" in [1, 4] divisor 2\n}\ngraph @main(%x: f32[s0, 2], %y: f32[s0]) {\n  return %x\n}\n");
  const auto error = [&](Tensor x, Tensor y) {
    const auto r = run(*m, {std::move(x), std::move(y)});
    EXPECT_FALSE(r.ok());
    if (r.ok()) return std::string();
    EXPECT_EQ(r.error().code, Code::kBadInput);
    return r.error().message;
  };
  EXPECT_THAT(error(i64({1, 2}), f32({2}, {1, 2})), HasSubstr("argument \"x\" must be f32[batch, 2], got i64[2]"));
  EXPECT_THAT(error(f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({2}, {1, 2})), HasSubstr("argument \"x\", axis 1: extent 3 where 2 is expected"));
  EXPECT_THAT(error(f32({2, 2}, {1, 2, 3, 4}), f32({4}, {1, 2, 3, 4})),
              HasSubstr("argument \"y\", axis 0: extent 4 where batch = 2 is expected"));
  EXPECT_THAT(error(f32({3, 2}, {1, 2, 3, 4, 5, 6}), f32({3}, {1, 2, 3})), HasSubstr("divisible by 2"));
  EXPECT_THAT(error(Tensor(DType::kF32, {6, 2}), Tensor(DType::kF32, {6})), HasSubstr("must be in [1, 4]"));
  EXPECT_FALSE(run(*m, {f32({2}, {1, 2})}).ok());
  EXPECT_EQ(Interpreter(*m).run_entry("other", {}).error().code, Code::kUnknownName);
}

TEST(Eval, RoundsToTheDtypeUnlessAnchored) {
  const std::unique_ptr<Module> m = parsed(
      "graph @main(%x: f32[1]) {\n"
      "  %c = constant() {value = f32[1] {1e8}} : f32[1]\n"
      "  %1 = add(%x, %c) : f32[1]\n"
      "  %2 = sub(%1, %c) : f32[1]\n"
      "  return %2\n"
      "}\n");
  EXPECT_EQ((*run(*m, {f32({1}, {1})}))[0].f64(0), 0);
  EvalOptions anchored;
  anchored.anchored = true;
  EXPECT_EQ((*run(*m, {f32({1}, {1})}, anchored))[0].f64(0), 1);
  // Results are f64, and so may be arguments: what no f32 holds goes through.
  Tensor third(DType::kF64, {1});
  store_f64(DType::kF64, third.data(), 0, 1.0 / 3);
  EXPECT_FALSE(run(*m, {third}).ok());
  const auto wide = run(*m, {third}, anchored);
  ASSERT_TRUE(wide.ok()) << wide.error().str();
  EXPECT_EQ((*wide)[0].dtype(), DType::kF64);
  EXPECT_NEAR((*wide)[0].f64(0), 1.0 / 3, 1e-8);
  EXPECT_NE((*wide)[0].f64(0), static_cast<float>((*wide)[0].f64(0)));
}

TEST(Eval, AnchoredCastsKeepWhatQuantizingRounds) {
  const std::unique_ptr<Module> m = parsed(
      "graph @main(%x: f32[2]) {\n"
      "  %1 = cast(%x) {to = f16} : f16[2]\n"
      "  %2 = cast(%1) {to = f32} : f32[2]\n"
      "  %s = constant() {value = f32[] {0.1}} : f32[]\n"
      "  %3 = quantize(%x, %s) {to = i8} : i8[2]\n"
      "  return %2, %3\n"
      "}\n");
  EvalOptions anchored;
  anchored.anchored = true;
  const Tensor x = f32({2}, {0.1f, 0.26f});
  const auto plain = run(*m, {x}), wide = run(*m, {x}, anchored);
  ASSERT_TRUE(plain.ok() && wide.ok());
  EXPECT_NE((*plain)[0].f64(0), x.f64(0));
  EXPECT_EQ((*wide)[0].f64(0), x.f64(0));
  for (const auto* r : {&*plain, &*wide}) {
    EXPECT_EQ((*r)[1].i64(0), 1);
    EXPECT_EQ((*r)[1].i64(1), 3);
  }
}

TEST(Eval, IntegersWrap) {
  const std::unique_ptr<Module> m =
      parsed("graph @main(%x: u8[1], %y: i64[1]) {\n  %1 = add(%x, %x) : u8[1]\n  %2 = add(%y, %y) : i64[1]\n  return %1, %2\n}\n");
  Tensor x(DType::kU8, {1});
  store_i64(DType::kU8, x.data(), 0, 200);
  const auto r = run(*m, {x, i64({INT64_MAX})});
  ASSERT_TRUE(r.ok()) << r.error().str();
  EXPECT_EQ((*r)[0].i64(0), 144);
  EXPECT_EQ((*r)[1].i64(0), -2);
}

constexpr const char* kProfiles =
    "graph @main profile \"short\" (%x: f32[s0]) {\n"
    "  assert_dims() {a = [s0], b = [4], rel = le, message = \"short only\"}\n"
    "  %1 = neg(%x) : f32[s0]\n"
    "  return %1\n"
    "}\n"
    "entry @main profile \"even\" (%0: f32[2*s0] \"x\") -> (\"out0\") {\n"
    "  return %0\n"
    "}\n";

TEST(Eval, TheFirstProfileThatFitsRuns) {
  const std::unique_ptr<Module> m = parsed(kProfiles);
  EXPECT_EQ((*run(*m, {f32({2}, {1, 2})}))[0].f64(1), -2);
  EXPECT_EQ((*run(*m, {f32({6}, {1, 2, 3, 4, 5, 6})}))[0].f64(1), 2);
  const auto r = run(*m, {f32({5}, {1, 2, 3, 4, 5})});
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().message, HasSubstr("no profile of entry \"main\" fits"));
  EXPECT_EQ(r.error().context.size(), 2u);
}

TEST(Eval, DataSymbolsAreBoundWhileItRuns) {
  const std::unique_ptr<Module> m = parsed(
      "symbols {\n  s0 = data in [0, 5]\n}\n"
      "graph @main(%n: i64[1], %x: f32[]) {\n"
      "  bind_dims(%n) {symbols = [s0]}\n"
      "  %1 = broadcast_to(%x) {shape = [2*s0+1]} : f32[2*s0+1]\n"
      "  return %1\n"
      "}\n");
  for (const int64_t n : {3, 0, 5}) EXPECT_EQ((*run(*m, {i64({n}), Tensor::scalar_f32(1)}))[0].count(), 2 * n + 1);
  const auto r = run(*m, {i64({6}), Tensor::scalar_f32(1)});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().place.op, "bind_dims");
}

TEST(Eval, LimitOfElements) {
  const std::unique_ptr<Module> m =
      parsed("graph @main(%x: f32[s0]) {\n  %1 = broadcast_to(%x) {shape = [1000000, s0]} : f32[1000000, s0]\n  return %1\n}\n");
  EvalOptions options;
  options.limits[Limit::kElements] = 1000;
  const auto r = run(*m, {f32({2}, {1, 2})}, options);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, Code::kLimit);
}

TEST(Eval, TraceSeesEveryNodeOnce) {
  const std::unique_ptr<Module> m = parsed("graph @main(%x: f32[1]) {\n  %1 = neg(%x) : f32[1]\n  %2 = abs(%1) : f32[1]\n  return %2\n}\n");
  std::vector<double> seen;
  EvalOptions options;
  options.trace = [&](NodeId, std::span<const EvalTensor> results) { seen.push_back(results[0].f[0]); };
  ASSERT_TRUE(run(*m, {f32({1}, {3})}, options).ok());
  EXPECT_THAT(seen, ElementsAre(-3, 3));
}

TEST(Eval, EveryDtypeThroughTheCarriers) {
  test::Rng rng(3);
  for (size_t t = 1; t < static_cast<size_t>(DType::kCount); ++t) {
    const auto dtype = static_cast<DType>(t);
    Tensor tensor(dtype, {2, 8});
    if (dtype == DType::kString) {
      tensor.strings()[3] = "abc";
    } else if (is_complex(dtype)) {
      for (float& v : tensor.as_mut<float>()) v = 1.5f;
    } else {
      for (int64_t k = 0; k < 16; ++k)
        is_float(dtype) ? store_f64(dtype, tensor.data(), k, 0.5 * static_cast<double>(rng.below(8)))
                        : store_i64(dtype, tensor.data(), k, rng.below(2));
    }
    const EvalTensor carried = EvalTensor::from(tensor);
    EXPECT_TRUE(carried.to_tensor().same_bits(tensor)) << dtype_name(dtype);
    EXPECT_EQ(carried.count(), 16);
  }
}

// A loop of one carried value whose extent grows, and an if nested in it.
constexpr const char* kLoop =
    "symbols {\n  s0 = data in [0, 100]\n  s1 = data in [0, 100]\n  s2 = data in [0, 100]\n}\n"
    "graph @main(%n: i64[], %x: f32[1]) {\n"
    "  %r, %all = loop(%n, _, %x, %x) {carried = 1, scan = 1, trip = [s2], carried_symbols = [s0], result_symbols = [s1]} : f32[s1], "
    "f32[s2, 1]\n"
    "    region @body(%i: i64[], %c: bool[], %a: f32[s0], %w: f32[1]) {\n"
    "      %two = constant() {value = i64[] {2}} : i64[]\n"
    "      %small = less(%i, %two) : bool[]\n"
    "      %v = if(%small, %w) : f32[1]\n"
    "        region @then(%t: f32[1]) {\n"
    "          return %t\n"
    "        }\n"
    "        region @else(%t: f32[1]) {\n"
    "          %m = neg(%t) : f32[1]\n"
    "          return %m\n"
    "        }\n"
    "      %g = concat(%a, %v) {axis = 0} : f32[s0+1]\n"
    "      return %c, %g, %v\n"
    "    }\n"
    "  return %r, %all\n"
    "}\n";

TEST(Eval, RegionsRunWithTheSymbolsOfTheMoment) {
  const std::unique_ptr<Module> m = parsed(kLoop);
  for (const int64_t n : {4, 0, 1}) {
    const auto r = run(*m, {Tensor::scalar_i64(n), f32({1}, {7})});
    ASSERT_TRUE(r.ok()) << r.error().str();
    EXPECT_EQ((*r)[0].count(), n + 1);
    EXPECT_THAT((*r)[1].dims(), ElementsAre(n, 1));
  }
  EXPECT_THAT((*run(*m, {Tensor::scalar_i64(4), f32({1}, {7})}))[0].as<float>(), ElementsAre(7, 7, 7, -7, -7));
}

}  // namespace
}  // namespace nnc

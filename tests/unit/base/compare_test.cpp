#include "ir/base/compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nnc {
namespace {

constexpr float kNaN = NAN, kInf = INFINITY;

Tensor floats(std::vector<float> v) { return Tensor::of<float>(DType::kF32, {int64_t(v.size())}, v); }
Tensor of(DType t, std::vector<double> v) {
  Tensor x(t, {int64_t(v.size())});
  for (size_t i = 0; i < v.size(); ++i) store_f64(t, x.data(), int64_t(i), v[i]);
  return x;
}

TEST(Compare, EqualTensorsPass) {
  const Comparison c = *compare(floats({1, -2, 0}), floats({1, -2, 0}), {0, 0});
  EXPECT_TRUE(c.pass);
  EXPECT_EQ(c.max_ulp, 0u);
  EXPECT_EQ(c.cosine, 1);
  EXPECT_EQ(c.worst_index, (std::vector<int64_t>{0}));
}

TEST(Compare, FollowsTheAllcloseRule) {
  // |got - expected| = 0.5 against atol + rtol * 100.
  EXPECT_TRUE(compare(floats({100.5f}), floats({100}), {0.005, 0})->pass);
  EXPECT_FALSE(compare(floats({100.5f}), floats({100}), {0.00499, 0})->pass);
  EXPECT_TRUE(compare(floats({100.5f}), floats({100}), {0.004, 0.1})->pass);
  // The rule is not symmetric: rtol counts from the expected side.
  EXPECT_TRUE(compare(floats({9}), floats({10}), {0.1, 0})->pass);
  EXPECT_FALSE(compare(floats({10}), floats({9}), {0.1, 0})->pass);
}

TEST(Compare, Figures) {
  const Tensor got = floats({1, 2, 3.5f, 4, 0, 6}).reshaped({2, 3}), expected = floats({1, 2, 3, 4.125f, 0.25f, 6}).reshaped({2, 3});
  const Comparison c = *compare(got, expected, {0, 0.2});
  EXPECT_FALSE(c.pass);
  EXPECT_EQ(c.over, 2);
  EXPECT_DOUBLE_EQ(c.over_share(), 2.0 / 6);
  EXPECT_EQ(c.max_abs, 0.5);
  EXPECT_EQ(c.max_rel, 1);
  EXPECT_EQ(c.worst, 2);
  EXPECT_EQ(c.worst_index, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(c.worst_got, "3.5");
  EXPECT_EQ(c.worst_expected, "3");
  const double dot = 1 + 4 + 10.5 + 16.5 + 36, a = 1 + 4 + 12.25 + 16 + 36, b = 1 + 4 + 9 + 4.125 * 4.125 + 0.0625 + 36;
  EXPECT_NEAR(c.cosine, dot / std::sqrt(a * b), 1e-15);
  EXPECT_EQ(compare(got, expected, {0, 1})->worst, 2) << "the largest difference when all pass";
  EXPECT_NE(c.str().find("FAIL  2 of 6 elements over, max abs 0.5"), std::string::npos) << c.str();
}

TEST(Compare, UlpsCountNeighboursOfTheType) {
  EXPECT_EQ(compare(floats({1}), floats({std::nextafter(1.0f, 2.0f)}))->max_ulp, 1u);
  EXPECT_EQ(compare(floats({-0.0f}), floats({0.0f}))->max_ulp, 0u);
  EXPECT_EQ(compare(floats({-1e-45f}), floats({1e-45f}))->max_ulp, 2u);
  EXPECT_EQ(compare(of(DType::kF16, {1}), of(DType::kF16, {1 + 0x1p-9}))->max_ulp, 2u);
  EXPECT_EQ(compare(of(DType::kBF16, {1}), of(DType::kBF16, {1 - 0x1p-8}))->max_ulp, 1u);
  EXPECT_EQ(compare(of(DType::kF8E4M3FN, {448}), of(DType::kF8E4M3FN, {-448}))->max_ulp, 252u);
  EXPECT_EQ(compare(of(DType::kF4E2M1, {0.5, 6}), of(DType::kF4E2M1, {0.5, -0.5}))->max_ulp, 8u);
  EXPECT_EQ(compare(of(DType::kF8E8M0, {0.5}), of(DType::kF8E8M0, {4}))->max_ulp, 3u);
  EXPECT_EQ(compare(of(DType::kF64, {-HUGE_VAL, 1}), of(DType::kF64, {-HUGE_VAL, 1 + 0x1p-52}))->max_ulp, 1u);
}

TEST(Compare, SpecialValuesMustStandAtTheSamePlaces) {
  EXPECT_TRUE(compare(floats({kNaN, kInf, -kInf}), floats({kNaN, kInf, -kInf}))->pass);
  for (auto [a, b] : {std::pair{kNaN, 1.0f}, {1.0f, kNaN}, {kInf, -kInf}, {kInf, 1e38f}, {1.0f, -kInf}, {kNaN, kInf}}) {
    const Comparison c = *compare(floats({5, a, 2}), floats({7, b, 2}), {1e9, 1e9});
    EXPECT_FALSE(c.pass);
    EXPECT_EQ(c.special_differs, 1);
    EXPECT_EQ(c.over, 1);
    EXPECT_EQ(c.worst, 1);
    EXPECT_EQ(c.max_abs, 2);
  }
}

TEST(Compare, IntegersAreExact) {
  Tensor a(DType::kI64, {2}), b(DType::kI64, {2});
  a.as_mut<int64_t>()[0] = INT64_MAX;
  b.as_mut<int64_t>()[0] = INT64_MAX - 1;  // equal as doubles
  Comparison c = *compare(a, b, {0, 0});
  EXPECT_FALSE(c.pass);
  EXPECT_EQ(c.max_ulp, 1u);
  EXPECT_EQ(c.worst_got, "9223372036854775807");
  b.as_mut<int64_t>()[0] = INT64_MIN;
  EXPECT_EQ(compare(a, b)->max_ulp, UINT64_MAX);
  Tensor u(DType::kU64, {1}), v(DType::kU64, {1});
  u.as_mut<uint64_t>()[0] = UINT64_MAX;
  c = *compare(u, v);
  EXPECT_EQ(c.max_ulp, UINT64_MAX);
  EXPECT_EQ(c.worst_got, "18446744073709551615");
  EXPECT_TRUE(compare(of(DType::kI8, {100}), of(DType::kI8, {101}), {0, 1})->pass);
  EXPECT_FALSE(compare(of(DType::kBool, {1}), of(DType::kBool, {0}), {10, 10})->pass);
  EXPECT_FALSE(compare(of(DType::kU4, {1, 2, 3}), of(DType::kU4, {1, 2, 4}), {0, 0})->pass);
}

TEST(Compare, StringsAndComplex) {
  Tensor a(DType::kString, {2}), b = a;
  EXPECT_TRUE(compare(a, b)->pass);
  b.strings()[1] = "x";
  Comparison c = *compare(a, b);
  EXPECT_FALSE(c.pass);
  EXPECT_EQ(c.worst, 1);
  EXPECT_EQ(c.worst_expected, "\"x\"");
  Tensor p(DType::kC64, {1}), q(DType::kC64, {1});
  p.as_mut<float>()[0] = 3;
  p.as_mut<float>()[1] = 4;
  c = *compare(q, p, {0, 4.9});
  EXPECT_FALSE(c.pass);
  EXPECT_EQ(c.max_abs, 5);
  EXPECT_EQ(c.worst_expected, "(3, 4)");
  EXPECT_EQ(c.cosine, 0);
  EXPECT_TRUE(compare(q, p, {1, 0})->pass);
  q.as_mut<float>()[1] = kNaN;
  EXPECT_EQ(compare(q, p)->special_differs, 1);
}

TEST(Compare, EmptyPassesAndOtherTypesAreErrors) {
  const Comparison c = *compare(floats({}), floats({}));
  EXPECT_TRUE(c.pass);
  EXPECT_EQ(c.worst, -1);
  EXPECT_EQ(c.over_share(), 0);
  EXPECT_EQ(compare(floats({1}), floats({1, 2})).error().message, "got f32[1], expected f32[2]");
  EXPECT_EQ(compare(floats({1}), of(DType::kF64, {1})).error().code, Code::kMismatch);
  const Tensor scalar = Tensor::scalar_f32(2);
  EXPECT_FALSE(compare(scalar, Tensor::scalar_f32(3))->pass);
  EXPECT_TRUE(compare(scalar, Tensor::scalar_f32(3))->worst_index.empty());
}

}  // namespace
}  // namespace nnc

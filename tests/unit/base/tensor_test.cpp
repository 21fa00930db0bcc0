#include "ir/base/tensor.h"

#include <gtest/gtest.h>

#include "ir/base/tensor_hash.h"

namespace nnc {
namespace {

TEST(Tensor, StartsZeroedAndAligned) {
  Tensor t(DType::kF32, {3, 5});
  EXPECT_EQ(t.bytes(), 60u);
  EXPECT_EQ(t.count(), 15);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
  for (float v : t.as<float>()) EXPECT_EQ(v, 0.0f);
}

TEST(Tensor, EmptyAndScalar) {
  EXPECT_EQ(Tensor(DType::kF32, {2, 0}).bytes(), 0u);
  EXPECT_NE(Tensor(DType::kF32, {2, 0}).data(), nullptr);
  EXPECT_EQ(Tensor::scalar_i64(7).rank(), 0);
  EXPECT_EQ(Tensor::scalar_i64(7).i64(0), 7);
  EXPECT_EQ(Tensor::scalar_f32(0.5f).f64(0), 0.5);
  const int64_t v[] = {1, 2, 3};
  EXPECT_EQ(Tensor::vector_i64(v).dims(), std::vector<int64_t>{3});
}

TEST(Tensor, CopiesShareUntilWritten) {
  Tensor a = Tensor::scalar_f32(1.0f);
  Tensor b = a;
  EXPECT_EQ(std::as_const(a).data(), std::as_const(b).data());
  b.as_mut<float>()[0] = 2.0f;
  EXPECT_EQ(a.f64(0), 1.0);
  EXPECT_EQ(b.f64(0), 2.0);
  const void* before = std::as_const(b).data();
  b.as_mut<float>()[0] = 3.0f;
  EXPECT_EQ(std::as_const(b).data(), before);
}

TEST(Tensor, ForeignBytesAreNeverWritten) {
  const float source[2] = {1, 2};
  Tensor t(DType::kF32, {2}, nullptr, source, sizeof source);
  EXPECT_EQ(std::as_const(t).data(), source);
  t.as_mut<float>()[0] = 9;
  EXPECT_EQ(source[0], 1);
  EXPECT_EQ(t.f64(0), 9);
  EXPECT_EQ(t.f64(1), 2);
}

TEST(Tensor, ReshapeSharesBytes) {
  Tensor a(DType::kI32, {2, 3});
  Tensor b = a.reshaped({6});
  EXPECT_EQ(std::as_const(a).data(), std::as_const(b).data());
  EXPECT_FALSE(a.same_bits(b));
  EXPECT_TRUE(a.same_bits(b.reshaped({2, 3})));
}

TEST(Tensor, HashesOfManyAreThoseOfEach) {
  // Of all sizes and not in their order, together enough for several threads.
  std::vector<Tensor> tensors = {Tensor::scalar_f32(1), Tensor(DType::kString, {2}), Tensor(DType::kF32, {0, 3}), Tensor()};
  tensors[1].strings() = {"a", "bc"};
  for (const int64_t n : {1, 600'000, 5, 64, 17'000, 600'000, 16, 3, 250'001, 1000}) {
    tensors.emplace_back(DType::kU8, std::vector<int64_t>{n});
    auto bytes = tensors.back().as_mut<uint8_t>();
    for (size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<uint8_t>(k * k + tensors.size());
  }
  for (size_t count = 0; count <= tensors.size(); ++count) {
    std::vector<const Tensor*> some;
    for (size_t k = 0; k < count; ++k) some.push_back(&tensors[k]);
    const std::vector<Digest> hashes = tensor_hashes(some);
    ASSERT_EQ(hashes.size(), count);
    for (size_t k = 0; k < count; ++k) EXPECT_EQ(hashes[k], tensor_hash(tensors[k])) << count << " " << k;
  }
}

TEST(Tensor, CreateRejectsWhatDoesNotFit) {
  EXPECT_EQ(Tensor::create(DType::kF32, {-1}).error().code, Code::kLimit);
  EXPECT_EQ(Tensor::create(DType::kF32, {int64_t(1) << 40, int64_t(1) << 40}).error().code, Code::kLimit);
  EXPECT_EQ(Tensor::create(DType::kF32, {INT64_MAX, 2}).error().code, Code::kLimit);
  EXPECT_EQ(Tensor::create(DType::kF64, {int64_t(1) << 47}).error().code, Code::kOutOfMemory);
  EXPECT_EQ(Tensor::create(DType::kF32, {int64_t(1) << 20, 0, int64_t(1) << 40}).value().count(), 0);
  EXPECT_EQ(Tensor::create(DType::kInvalid, {1}).error().code, Code::kBadInput);
}

TEST(Tensor, StringsAreElements) {
  Tensor t(DType::kString, {2});
  t.strings()[1] = "x";
  Tensor u = t;
  EXPECT_TRUE(t.same_bits(u));
  u.strings()[0] = "y";
  EXPECT_FALSE(t.same_bits(u));
}

TEST(Tensor, SubByteElementsArePackedLowBitsFirst) {
  Tensor t(DType::kI4, {3});
  EXPECT_EQ(t.bytes(), 2u);
  for (int i = 0; i < 3; ++i) store_i64(DType::kI4, t.data(), i, -1 - i);
  EXPECT_EQ(t.as<uint8_t>()[0], 0xef);
  EXPECT_EQ(t.as<uint8_t>()[1], 0x0d);
  EXPECT_EQ(t.i64(2), -3);
}

}  // namespace
}  // namespace nnc

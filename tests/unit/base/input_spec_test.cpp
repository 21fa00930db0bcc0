#include "ir/base/input_spec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/base/philox.h"

namespace nnc {
namespace {

using Source = InputSpec::Source;
using Dims = std::vector<int64_t>;

TEST(Philox, KnownAnswers) {
  // The known-answer vectors that the authors publish for philox4x32-10.
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, ElementsAreHalvesOfBlocks) {
  const PhiloxBlock block = philox4x32_10({5, 0, 7, 1}, {9, 2});
  EXPECT_EQ(philox_element(9 | uint64_t(2) << 32, 7 | uint64_t(1) << 32, 10), block[0] | uint64_t(block[1]) << 32);
  EXPECT_EQ(philox_element(9 | uint64_t(2) << 32, 7 | uint64_t(1) << 32, 11), block[2] | uint64_t(block[3]) << 32);
  EXPECT_EQ(philox_unit(~0ull), 1 - 0x1p-53);
  EXPECT_EQ(philox_unit(0), 0);
  EXPECT_EQ(philox_below(~0ull, 10), 9u);
  EXPECT_EQ(philox_below(~0ull, 0), ~0ull);
}

InputSpec spec(std::string_view text) {
  auto s = parse_input_spec(text);
  EXPECT_TRUE(s.ok()) << text << ": " << (s.ok() ? "" : s.error().str());
  return s.ok() ? *s : InputSpec();
}

TEST(InputSpec, Files) {
  EXPECT_EQ(spec("x=@in.npy"), (InputSpec{.name = "x", .source = Source::kFile, .path = "in.npy"}));
  EXPECT_EQ(spec("@all.npz"), (InputSpec{.source = Source::kFile, .path = "all.npz"}));
  EXPECT_EQ(spec("@test_data_set_0/"), (InputSpec{.source = Source::kFile, .path = "test_data_set_0/"}));
  EXPECT_EQ(spec("x=@all.npz:a/b"), (InputSpec{.name = "x", .source = Source::kFile, .path = "all.npz", .entry = "a/b"}));
  const InputSpec raw = spec("x=@raw.bin:f16[8,512]");
  EXPECT_EQ(raw, (InputSpec{.name = "x", .source = Source::kFile, .dtype = DType::kF16, .dims = Dims{8, 512}, .path = "raw.bin"}));
  EXPECT_TRUE(raw.is_raw());
  EXPECT_EQ(spec("x=@raw.bin:u8").dims, std::nullopt);
  EXPECT_EQ(spec("x=@odd:name.npy").path, "odd:name.npy");
  EXPECT_EQ(spec("x=@a=b.npy").path, "a=b.npy");
}

TEST(InputSpec, RandomAndValues) {
  EXPECT_EQ(spec("x=f32[1,3,224,224]"), (InputSpec{.name = "x", .dtype = DType::kF32, .dims = Dims{1, 3, 224, 224}}));
  EXPECT_EQ(spec("ids=i64[1,128]~0..30521"),
            (InputSpec{.name = "ids", .dtype = DType::kI64, .dims = Dims{1, 128}, .lo = "0", .hi = "30521"}));
  EXPECT_EQ(spec("x=~-0.5..1e3"), (InputSpec{.name = "x", .lo = "-0.5", .hi = "1e3"}));
  EXPECT_EQ(spec("x=f16~0..1").dims, std::nullopt);
  EXPECT_EQ(spec("mask=ones"), (InputSpec{.name = "mask", .source = Source::kValues, .values = {"ones"}}));
  EXPECT_EQ(spec("mask=zeros").values, std::vector<std::string>{"zeros"});
  EXPECT_EQ(spec("x=bool[2]:ones").dims, Dims{2});
  EXPECT_EQ(spec("sr=i64[]:16000"),
            (InputSpec{.name = "sr", .source = Source::kValues, .dtype = DType::kI64, .dims = Dims{}, .values = {"16000"}}));
  EXPECT_EQ(spec("axes=:0,2,1").values, (std::vector<std::string>{"0", "2", "1"}));
  EXPECT_EQ(spec("input.1:0/x=f32[ 2 , 3 ]").name, "input.1:0/x");
  EXPECT_EQ(spec("s=string[2]:a,b=c").values, (std::vector<std::string>{"a", "b=c"}));
}

TEST(InputSpec, Errors) {
  for (const char* text : {"",
                           "x",
                           "=f32[1]",
                           "x=",
                           "x=f33[1]",
                           "x=f32[1",
                           "x=f32[-1]",
                           "x=f32[a]",
                           "x=f32[1,]",
                           "x=f32]",
                           "x=@",
                           "@",
                           "x=@a.npz:",
                           "x=f32[1]~",
                           "x=f32[1]~1",
                           "x=f32[1]~..2",
                           "x=f32[1]~1..",
                           "x=f32[1]~a..b",
                           "x=ones[2]",
                           "x=ones:1",
                           "@raw.bin:f16[8]",
                           "x=f32[1] ",
                           "x=f32[99999999999999999999]"}) {
    const auto s = parse_input_spec(text);
    ASSERT_FALSE(s.ok()) << text;
    EXPECT_EQ(s.error().code, Code::kUsage) << text;
    EXPECT_FALSE(s.error().context.empty());
  }
}

Result<Tensor> make(std::string_view text, uint64_t seed = 1, uint64_t stream = 0) {
  const InputSpec s = spec(text);
  Budget budget;
  return generate(s, s.dtype, s.dims.value_or(Dims{}), seed, stream, budget);
}

TEST(Generate, UniformFloats) {
  const Tensor t = *make("x=f32[100,100]");
  double sum = 0, squares = 0, lo = 1, hi = -1;
  for (int64_t i = 0; i < t.count(); ++i) {
    const double v = t.f64(i);
    sum += v;
    squares += v * v;
    lo = std::min(lo, v);
    hi = std::max(hi, v);
  }
  EXPECT_NEAR(sum / 10000, 0, 0.02);  // four standard deviations are 0.023
  EXPECT_NEAR(squares / 10000, 1.0 / 3, 0.012);
  EXPECT_GE(lo, -1);
  EXPECT_LT(lo, -0.99);
  EXPECT_LE(hi, 1);
  EXPECT_GT(hi, 0.99);
  EXPECT_EQ(t.f64(7), double(float(-1 + 2 * philox_unit(philox_element(1, 0, 7)))));
}

TEST(Generate, SameSeedSameBytesElseNot) {
  EXPECT_TRUE(make("x=f16[50]")->same_bits(*make("x=f16[50]")));
  EXPECT_FALSE(make("x=f16[50]")->same_bits(*make("x=f16[50]", 2)));
  EXPECT_FALSE(make("x=f16[50]")->same_bits(*make("x=f16[50]", 1, 1)));
  // The index in C order counts, not the shape.
  EXPECT_TRUE(make("x=f32[6]")->same_bits(make("x=f32[2,3]")->reshaped({6})));
}

TEST(Generate, IntegersCoverTheirRange) {
  for (const char* text :
       {"x=i64[4000]~-2..3", "x=u4[4000]~0..5", "x=i8[4000]~-128..-123", "x=u64[4000]~18446744073709551610..18446744073709551615"}) {
    const Tensor t = *make(text);
    int count[6] = {};
    const int64_t first = t.dtype() == DType::kU64   ? int64_t(18446744073709551610u)
                          : t.dtype() == DType::kI8  ? -128
                          : t.dtype() == DType::kI64 ? -2
                                                     : 0;
    for (int64_t i = 0; i < t.count(); ++i) {
      const int64_t k = t.i64(i) - first;
      ASSERT_TRUE(k >= 0 && k < 6) << text;
      ++count[k];
    }
    for (int n : count) EXPECT_NEAR(n, 667, 120) << text;
  }
  for (const char* text : {"x=i64[100]", "x=u2[100]", "x=i2[100]", "x=bool[100]"}) {
    const Tensor t = *make(text);
    const int64_t top = t.dtype() == DType::kBool ? 1 : std::min<int64_t>(9, int64_t(int_max(t.dtype())));
    int64_t hi = 0;
    for (int64_t i = 0; i < 100; ++i) {
      ASSERT_GE(t.i64(i), 0);
      hi = std::max(hi, t.i64(i));
    }
    EXPECT_EQ(hi, top) << text;
  }
  EXPECT_EQ(make("x=i64[3]~7..7")->i64(2), 7);
  EXPECT_FALSE(make("x=i64[1]~-9223372036854775808..9223372036854775807")->same_bits(Tensor::vector_i64(std::vector<int64_t>{0})));
}

TEST(Generate, EveryFloatTypeIsFinite) {
  for (int d = 1; d < int(DType::kCount); ++d) {
    const DType t = DType(d);
    if (!is_float(t)) continue;
    Budget budget;
    const Tensor x = *generate(InputSpec{}, t, Dims{50}, 3, 0, budget);
    for (int64_t i = 0; i < 50; ++i) EXPECT_TRUE(std::isfinite(x.f64(i))) << dtype_name(t);
  }
}

TEST(Generate, Values) {
  EXPECT_EQ(make("x=i64[]:16000")->i64(0), 16000);
  EXPECT_EQ(make("x=f32[3]:0.5")->f64(2), 0.5);
  EXPECT_EQ(make("x=i64[3]:3,1,2")->i64(0), 3);
  EXPECT_EQ(make("x=u64[]:18446744073709551615")->i64(0), -1);
  EXPECT_EQ(make("x=bool[2]:true,false")->i64(0), 1);
  EXPECT_EQ(make("x=f16[2]:ones")->f64(1), 1);
  EXPECT_EQ(make("x=i4[3]:zeros")->i64(2), 0);
  EXPECT_EQ(make("x=f32[]:-inf")->f64(0), -INFINITY);
  EXPECT_EQ(make("x=string[2]:a,b")->strings()[1], "b");
  EXPECT_EQ(make("x=string[2]:ones")->strings()[1], "ones");
  Budget budget;
  EXPECT_EQ(generate(spec("x=ones"), DType::kBool, Dims{2}, 0, 0, budget)->i64(1), 1);
}

TEST(Generate, Errors) {
  for (const char* text :
       {"x=i64[3]:1,2", "x=i8[]:128", "x=u8[]:-1", "x=i64[]:1.5", "x=f32[]:abc", "x=bool[]:2", "x=i64[2]~3..2", "x=i64[2]~0.5..2",
        "x=u8[2]~0..256", "x=f32[2]~1..0", "x=f32[2]~0..inf", "x=string[2]", "x=c64[2]", "x=c64[2]:1"}) {
    const auto t = make(text);
    ASSERT_FALSE(t.ok()) << text;
    EXPECT_EQ(t.error().code, Code::kUsage) << text;
  }
  EXPECT_EQ(make("x=f32[1000000,1000000]").error().code, Code::kLimit);
  EXPECT_EQ(make("x=f32[9223372036854775807,2]").error().code, Code::kLimit);
}

}  // namespace
}  // namespace nnc

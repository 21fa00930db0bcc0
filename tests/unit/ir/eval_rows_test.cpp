// Hand-made cases of the reference evaluation: what each row promises about NaN, infinities, signed zeros, integer edges, rank 0 and size
// 0.

#include <gtest/gtest.h>

#include <limits>

#include "ir/support/text.h"
#include "tests/unit/ir/one_op.h"

namespace nnc {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

EvalTensor f32(std::vector<double> v) { return floats({static_cast<int64_t>(v.size())}, v); }
EvalTensor i8(std::vector<int64_t> v) { return ints({static_cast<int64_t>(v.size())}, v, DType::kI8); }
EvalTensor i64(std::vector<int64_t> v) { return ints({static_cast<int64_t>(v.size())}, v); }
EvalTensor u64(std::vector<int64_t> v) { return ints({static_cast<int64_t>(v.size())}, v, DType::kU64); }
EvalTensor boolean(std::vector<int64_t> v) { return ints({static_cast<int64_t>(v.size())}, v, DType::kBool); }
AttrList to(DType t) { return {{"to", t}}; }
Shape dims(std::vector<int64_t> v) { return Shape(v.begin(), v.end()); }
using Ints = std::vector<int64_t>;

TEST(EvalRows, Unary) {
  EXPECT_EQ(eval_text(OpKind::kNeg, {f32({0, -0.0, 1})}), "f32[3] -0 0 -1");
  EXPECT_EQ(eval_text(OpKind::kNeg, {i8({-128, 127, 0})}), "i8[3] -128 -127 0");
  EXPECT_EQ(eval_text(OpKind::kNeg, {u64({1})}), "u64[1] 18446744073709551615");
  EXPECT_EQ(eval_text(OpKind::kAbs, {i8({-128, -1})}), "i8[2] -128 1");
  EXPECT_EQ(eval_text(OpKind::kAbs, {f32({-0.0, -kInf})}), "f32[2] 0 inf");
  EXPECT_EQ(eval_text(OpKind::kSign, {f32({-0.0, -2, kInf, kNan})}), "f32[4] 0 -1 1 nan");
  EXPECT_EQ(eval_text(OpKind::kSign, {u64({-1})}), "u64[1] 1");
  EXPECT_EQ(eval_text(OpKind::kRelu, {f32({-0.0, -1, kNan, -kInf})}), "f32[4] 0 0 nan 0");
  EXPECT_EQ(eval_text(OpKind::kRound, {f32({0.5, 1.5, 2.5, -0.5, -1.5, kInf})}), "f32[6] 0 2 2 -0 -2 inf");
  EXPECT_EQ(eval_text(OpKind::kFloor, {f32({-0.0, -0.5, kNan})}), "f32[3] -0 -1 nan");
  EXPECT_EQ(eval_text(OpKind::kCeil, {f32({-0.5, 0.5})}), "f32[2] -0 1");
  EXPECT_EQ(eval_text(OpKind::kSqrt, {f32({-0.0, -1, 4})}), "f32[3] -0 nan 2");
  EXPECT_EQ(eval_text(OpKind::kReciprocal, {f32({0, -0.0, kInf})}), "f32[3] inf -inf 0");
  EXPECT_EQ(eval_text(OpKind::kSigmoid, {f32({-kInf, kInf, 0, kNan})}), "f32[4] 0 1 0.5 nan");
  EXPECT_EQ(eval_text(OpKind::kHardSwish, {f32({-3, 3, 0, kNan})}), "f32[4] -0 3 0 nan");
  EXPECT_EQ(eval_text(OpKind::kNot, {boolean({0, 1})}), "bool[2] 1 0");
  EXPECT_EQ(eval_text(OpKind::kNot, {i8({0, 5})}), "i8[2] -1 -6");
  EXPECT_EQ(eval_text(OpKind::kIsNan, {f32({kNan, 1, kInf})}), "bool[3] 1 0 0");
  EXPECT_EQ(eval_text(OpKind::kExp, {floats({}, {0})}), "f32[] 1");
  EXPECT_EQ(eval_text(OpKind::kTanh, {floats({0, 3}, {})}), "f32[0, 3]");
}

TEST(EvalRows, Cast) {
  EXPECT_EQ(eval_text(OpKind::kCast, {f32({1.9, -1.9, kNan, kInf, -kInf, 300})}, to(DType::kI8)), "i8[6] 1 -1 0 127 -128 127");
  EXPECT_EQ(eval_text(OpKind::kCast, {f32({-1, 1e20, 255.9})}, to(DType::kU64)), "u64[3] 0 18446744073709551615 255");
  EXPECT_EQ(eval_text(OpKind::kCast, {f32({kInf, 9.3e18})}, to(DType::kI64)), cat("i64[2] ", kMax, " ", kMax));
  EXPECT_EQ(eval_text(OpKind::kCast, {i64({300, -1, 128})}, to(DType::kI8)), "i8[3] 44 -1 -128");
  EXPECT_EQ(eval_text(OpKind::kCast, {i8({-1})}, to(DType::kU64)), "u64[1] 18446744073709551615");
  EXPECT_EQ(eval_text(OpKind::kCast, {f32({0, -0.0, kNan, 0.1})}, to(DType::kBool)), "bool[4] 0 0 1 1");
  EXPECT_EQ(eval_text(OpKind::kCast, {boolean({0, 1})}, to(DType::kF16)), "f16[2] 0 1");
  EXPECT_EQ(eval_text(OpKind::kCast, {f32({65519, 65520, -65520})}, to(DType::kF16)), "f16[3] 65504 inf -inf");
  // Rounded once: through f64 this one would become 2^60.
  EXPECT_EQ(eval_text(OpKind::kCast, {i64({(int64_t(1) << 60) + (int64_t(1) << 36) + 1})}, to(DType::kF32)),
            cat("f32[1] ", static_cast<double>((int64_t(1) << 60) + (int64_t(1) << 37))));
  EXPECT_EQ(eval_text(OpKind::kCast, {i64({(int64_t(1) << 60) + (int64_t(1) << 36)})}, to(DType::kF32)),
            cat("f32[1] ", static_cast<double>(int64_t(1) << 60)));
  EXPECT_EQ(eval_text(OpKind::kCast, {f32({kInf, 1e6, kNan})}, to(DType::kF8E4M3FN)), "f8e4m3fn[3] 448 448 nan");
  EXPECT_EQ(eval_text(OpKind::kCast, {f32({kInf, -1e6})}, {{"to", DType::kF8E5M2}, {"saturate", int64_t(0)}}), "f8e5m2[2] inf -inf");
  EXPECT_EQ(eval_text(OpKind::kCast, {f32({kInf, -1e6})}, to(DType::kF8E5M2)), "f8e5m2[2] 57344 -57344");
  EXPECT_EQ(eval_text(OpKind::kCast, {f32({3})}, {{"to", DType::kF8E8M0}, {"round_mode", std::string("up")}}), "f8e8m0[1] 4");
  EXPECT_EQ(eval_text(OpKind::kCast, {f32({3})}, {{"to", DType::kF8E8M0}, {"round_mode", std::string("down")}}), "f8e8m0[1] 2");
  EXPECT_EQ(eval_text(OpKind::kCast, {texts({3}, {"1.5", " -inf", "0x"})}, to(DType::kF32)), "error: the string \"0x\" is no number");
  EXPECT_EQ(eval_text(OpKind::kCast, {texts({3}, {"1.5", "+INF", "NaN"})}, to(DType::kF32)), "f32[3] 1.5 inf nan");
  EXPECT_EQ(eval_text(OpKind::kCast, {texts({2}, {"9007199254740993", "-7"})}, to(DType::kI64)), "i64[2] 9007199254740993 -7");
}

// Moving f8e5m2 must not saturate its infinities.
TEST(EvalRows, InfinitiesOfSmallFloatsSurviveMoves) {
  EXPECT_EQ(eval_text(OpKind::kReshape, {floats({2}, {kInf, 2}, DType::kF8E5M2)}, {{"shape", dims({1, 2})}}), "f8e5m2[1, 2] inf 2");
}

TEST(EvalRows, Arithmetic) {
  EXPECT_EQ(eval_text(OpKind::kAdd, {i8({127}), i8({1})}), "i8[1] -128");
  EXPECT_EQ(eval_text(OpKind::kMul, {i64({kMin}), i64({-1})}), cat("i64[1] ", kMin));
  EXPECT_EQ(eval_text(OpKind::kDiv, {i8({-7, 7, 5, -128}), i8({2, -2, 0, -1})}), "i8[4] -3 -3 0 -128");
  EXPECT_EQ(eval_text(OpKind::kDiv, {i64({kMin}), i64({-1})}), cat("i64[1] ", kMin));
  EXPECT_EQ(eval_text(OpKind::kDiv, {u64({-1}), u64({2})}), "u64[1] 9223372036854775807");
  EXPECT_EQ(eval_text(OpKind::kMod, {i8({-7, 7, -7, 5, -128}), i8({3, -3, -3, 0, -1})}), "i8[5] 2 -2 -1 0 0");
  EXPECT_EQ(eval_text(OpKind::kMod, {i8({-7, 7, -7}), i8({3, -3, -3})}, {{"fmod", int64_t(1)}}), "i8[3] -1 1 -1");
  EXPECT_EQ(eval_text(OpKind::kMod, {f32({-7, 7, -6, 6, 1, -1, 1}), f32({3, -3, 3, -3, kInf, kInf, 0})}), "f32[7] 2 -2 0 -0 1 inf nan");
  EXPECT_EQ(eval_text(OpKind::kMod, {f32({-7, 7, -6}), f32({3, -3, 3})}, {{"fmod", int64_t(1)}}), "f32[3] -1 1 -0");
  EXPECT_EQ(eval_text(OpKind::kMin, {f32({0, -0.0, kNan, 1}), f32({-0.0, 0, 1, kNan})}), "f32[4] -0 -0 nan nan");
  EXPECT_EQ(eval_text(OpKind::kMax, {f32({0, -0.0, kNan, 1}), f32({-0.0, 0, 1, kNan})}), "f32[4] 0 0 nan nan");
  EXPECT_EQ(eval_text(OpKind::kMax, {u64({-1}), u64({1})}), "u64[1] 18446744073709551615");
  EXPECT_EQ(eval_text(OpKind::kPow, {i64({2, -1, 0, 3, -1}), i64({-1, -3, -1, 41, 2})}), "i64[5] 0 -1 0 -420491770248316829 1");
  EXPECT_EQ(eval_text(OpKind::kPow, {ints({2}, {2, 3}, DType::kI32), f32({0.5, 40})}), "i32[2] 1 2147483647");
  EXPECT_EQ(eval_text(OpKind::kPow, {f32({2, -2}), i64({-1, 3})}), "f32[2] 0.5 -8");
  EXPECT_EQ(eval_text(OpKind::kAdd, {floats({2, 1}, {1, 2}), floats({3}, {10, 20, 30})}), "f32[2, 3] 11 21 31 12 22 32");
  EXPECT_EQ(eval_text(OpKind::kAdd, {floats({0, 2}, {}), floats({1, 2}, {1, 2})}), "f32[0, 2]");
  EXPECT_EQ(eval_text(OpKind::kAdd, {floats({}, {1}), floats({}, {2})}), "f32[] 3");
}

TEST(EvalRows, Compare) {
  EXPECT_EQ(eval_text(OpKind::kEqual, {f32({kNan, 0, kInf}), f32({kNan, -0.0, kInf})}), "bool[3] 0 1 1");
  EXPECT_EQ(eval_text(OpKind::kEqual, {texts({2}, {"a", "b"}), texts({}, {"b"})}), "bool[2] 0 1");
  EXPECT_EQ(eval_text(OpKind::kLess, {f32({kNan, 1, -0.0}), f32({1, kNan, 0})}), "bool[3] 0 0 0");
  EXPECT_EQ(eval_text(OpKind::kLessEqual, {f32({kNan, 1, -0.0}), f32({1, kNan, 0})}), "bool[3] 0 0 1");
  EXPECT_EQ(eval_text(OpKind::kLess, {u64({1}), u64({-1})}), "bool[1] 1");
  EXPECT_EQ(eval_text(OpKind::kAnd, {boolean({0, 1}), boolean({1, 1})}), "bool[2] 0 1");
  EXPECT_EQ(eval_text(OpKind::kXor, {i8({-1}), i8({5})}), "i8[1] -6");
  EXPECT_EQ(eval_text(OpKind::kWhere, {boolean({1, 0}), texts({}, {"x"}), texts({2}, {"y", "z"})}), "string[2] x z");
  EXPECT_EQ(eval_text(OpKind::kClip, {f32({kNan, 5, -5}), floats({}, {-1}), floats({}, {1})}), "f32[3] nan 1 -1");
  EXPECT_EQ(eval_text(OpKind::kClip, {f32({0}), floats({}, {2}), floats({}, {1})}), "f32[1] 1");
  EXPECT_EQ(eval_text(OpKind::kClip, {f32({0}), floats({}, {kNan})}), "f32[1] nan");
  EXPECT_EQ(eval_text(OpKind::kClip, {i8({-9, 9}), absent(), ints({}, {3}, DType::kI8)}), "i8[2] -9 3");
}

TEST(EvalRows, Quantize) {
  const auto scale = [](double v) { return floats({}, {v}); };
  EXPECT_EQ(eval_text(OpKind::kQuantize, {f32({0.5, 1.5, 2.5, -300, kNan, kInf}), scale(1), ints({}, {3}, DType::kI8)}, to(DType::kI8)),
            "i8[6] 3 5 5 -128 3 127");
  // A reciprocal of 3 would give 0.99999997 and 0.
  EXPECT_EQ(eval_text(OpKind::kQuantize, {f32({4.5, 1.5}), scale(3)}, to(DType::kU8)), "u8[2] 2 0");
  EXPECT_EQ(eval_text(OpKind::kQuantize, {floats({2, 2}, {1, 2, 3, 4}), f32({1, 2}), ints({2}, {0, 10}, DType::kU8)},
                      {{"to", DType::kU8}, {"axis", int64_t(-1)}}),
            "u8[2, 2] 1 11 3 12");
  EXPECT_EQ(eval_text(OpKind::kQuantize, {floats({1, 5}, {1, 2, 3, 4, 5}), floats({1, 3}, {1, 2, 5})},
                      {{"to", DType::kI8}, {"axis", int64_t(1)}, {"block", int64_t(2)}}),
            "i8[1, 5] 1 2 2 2 1");
  EXPECT_EQ(eval_text(OpKind::kDequantize, {i8({-128, 127}), scale(0.5), ints({}, {-128}, DType::kI8)}), "f32[2] 0 127.5");
  EXPECT_EQ(eval_text(OpKind::kDequantize, {ints({2, 2}, {1, 2, 3, 4}, DType::kU8), f32({1, 10})}, {{"axis", int64_t(0)}}),
            "f32[2, 2] 1 2 30 40");
  EXPECT_EQ(eval_text(OpKind::kDequantize, {i8({3}), floats({}, {0.5}, DType::kF16)}, to(DType::kF32)), "f32[1] 1.5");
  EXPECT_EQ(eval_text(OpKind::kQuantize, {f32({1e9, -0.0}), scale(1)}, {{"to", DType::kF8E4M3FN}}), "f8e4m3fn[2] 448 -0");
}

TEST(EvalRows, SourcesAndShapes) {
  EXPECT_EQ(eval_text(OpKind::kRange, {floats({}, {1}), floats({}, {-0.5})}, {{"count", dims({4})}}), "f32[4] 1 0.5 0 -0.5");
  EXPECT_EQ(eval_text(OpKind::kRange, {ints({}, {120}, DType::kI8), ints({}, {5}, DType::kI8)}, {{"count", dims({3})}}),
            "i8[3] 120 125 -126");
  EXPECT_EQ(eval_text(OpKind::kDimsValue, {}, {{"dims", dims({7})}, {"rank0", int64_t(1)}}), "i64[] 7");
  EXPECT_EQ(eval_text(OpKind::kResolveReshape, {i64({0, -1})}, {{"input", dims({2, 3, 4})}}), "i64[2] 2 12");
  EXPECT_EQ(eval_text(OpKind::kResolveReshape, {i64({0, 3})}, {{"input", dims({0, 3})}, {"allowzero", int64_t(1)}}), "i64[2] 0 3");
  EXPECT_NE(eval_text(OpKind::kResolveReshape, {i64({5, -1})}, {{"input", dims({2, 3})}}).find("number of elements differs"),
            std::string::npos);
  EXPECT_NE(eval_text(OpKind::kResolveReshape, {i64({-1, -1})}, {{"input", dims({2, 3})}}).find("twice"), std::string::npos);
  EXPECT_NE(eval_text(OpKind::kAssertDims, {}, {{"a", dims({2})}, {"b", dims({3})}, {"message", std::string("heads")}})
                .find("heads: 2 = 2 must be equal to 3 = 3"),
            std::string::npos);
}

TEST(EvalRows, Views) {
  EXPECT_EQ(eval_text(OpKind::kReshape, {texts({2}, {"a", "b"})}, {{"shape", dims({2, 1})}}), "string[2, 1] a b");
  EXPECT_NE(eval_text(OpKind::kReshape, {i64({1, 2, 3})}, {{"shape", dims({2})}}).find("number of elements differs"), std::string::npos);
  EXPECT_EQ(eval_text(OpKind::kTranspose, {i64({1})}, {{"perm", Ints{0}}}), "i64[1] 1");
  EXPECT_EQ(eval_text(OpKind::kTranspose, {ints({2, 3}, {1, 2, 3, 4, 5, 6})}, {{"perm", Ints{1, 0}}}), "i64[3, 2] 1 4 2 5 3 6");
  EXPECT_EQ(eval_text(OpKind::kBroadcastTo, {ints({}, {5})}, {{"shape", dims({0, 2})}}), "i64[0, 2]");
  const auto slice = [](int64_t start, int64_t end, int64_t step) {
    return AttrList{{"axes", Ints{0}}, {"starts", dims({start})}, {"ends", dims({end})}, {"steps", Ints{step}}};
  };
  EXPECT_EQ(eval_text(OpKind::kSlice, {i64({0, 1, 2, 3, 4})}, slice(1, 5, 2)), "i64[2] 1 3");
  EXPECT_EQ(eval_text(OpKind::kSlice, {i64({0, 1, 2, 3, 4})}, slice(4, -1, -2)), "i64[3] 4 2 0");
  EXPECT_EQ(eval_text(OpKind::kSlice, {i64({0, 1, 2})}, slice(2, 1, 1)), "i64[0]");
  EXPECT_EQ(eval_text(OpKind::kSlice, {i64({})}, slice(-1, -1, -1)), "i64[0]");
  EXPECT_NE(eval_text(OpKind::kSlice, {i64({0, 1})}, slice(0, 3, 1)).find("outside"), std::string::npos);
}

TEST(EvalRows, Moves) {
  EXPECT_EQ(eval_text(OpKind::kConcat, {i64({1}), i64({}), i64({2, 3})}, {{"axis", int64_t(0)}}), "i64[3] 1 2 3");
  const auto pad = [](int64_t before, int64_t after, const char* mode) {
    return AttrList{{"before", dims({before})}, {"after", dims({after})}, {"mode", std::string(mode)}};
  };
  EXPECT_EQ(eval_text(OpKind::kPad, {i64({1, 2, 3}), ints({}, {9})}, pad(1, 2, "constant")), "i64[6] 9 1 2 3 9 9");
  EXPECT_EQ(eval_text(OpKind::kPad, {i64({1, 2, 3})}, pad(-1, 1, "constant")), "i64[3] 2 3 0");
  EXPECT_EQ(eval_text(OpKind::kPad, {i64({1, 2, 3})}, pad(5, 4, "reflect")), "i64[12] 2 1 2 3 2 1 2 3 2 1 2 3");
  EXPECT_EQ(eval_text(OpKind::kPad, {i64({7})}, pad(2, 1, "reflect")), "i64[4] 7 7 7 7");
  EXPECT_EQ(eval_text(OpKind::kPad, {i64({1, 2, 3})}, pad(-1, 3, "reflect")), "i64[5] 2 3 2 3 2");
  EXPECT_EQ(eval_text(OpKind::kPad, {i64({1, 2, 3})}, pad(2, 4, "wrap")), "i64[9] 2 3 1 2 3 1 2 3 1");
  EXPECT_EQ(eval_text(OpKind::kPad, {i64({1, 2})}, pad(2, 1, "edge")), "i64[5] 1 1 1 2 2");
  EXPECT_NE(eval_text(OpKind::kPad, {i64({})}, pad(1, 0, "edge")).find("no element"), std::string::npos);
  EXPECT_EQ(eval_text(OpKind::kPad, {texts({1}, {"a"})}, pad(1, 0, "constant")), "string[2]  a");
  EXPECT_EQ(eval_text(OpKind::kTile, {ints({1, 2}, {1, 2})}, {{"repeats", dims({2, 2})}}), "i64[2, 4] 1 2 1 2 1 2 1 2");
  EXPECT_EQ(eval_text(OpKind::kTrilu, {ints({2, 2}, {1, 2, 3, 4})}, {{"upper", int64_t(0)}, {"k", dims({-1})}}), "i64[2, 2] 0 0 3 0");
}

TEST(EvalRows, Gathers) {
  EXPECT_EQ(eval_text(OpKind::kGather, {texts({3}, {"a", "b", "c"}), i64({-1, 0})}), "string[2] c a");
  EXPECT_EQ(eval_text(OpKind::kGather, {i64({1, 2, 3}), i64({3})}),
            "error: index 3 (element 0 of the indices) is outside [-3, 3) of axis 0");
  EXPECT_EQ(eval_text(OpKind::kGather, {i64({1, 2, 3}), u64({-1})}),
            "error: index 18446744073709551615 (element 0 of the indices) is outside [-3, 3) of axis 0");
  EXPECT_EQ(eval_text(OpKind::kGather, {i64({}), i64({})}), "i64[0]");
  EXPECT_EQ(eval_text(OpKind::kGatherElements, {ints({2, 2}, {1, 2, 3, 4}), ints({1, 2}, {1, -2})}, {{"axis", int64_t(0)}}),
            "i64[1, 2] 3 2");
  EXPECT_EQ(eval_text(OpKind::kGatherNd, {ints({2, 2}, {1, 2, 3, 4}), ints({2, 2}, {0, 1, -1, 0})}), "i64[2] 2 3");
  EXPECT_EQ(eval_text(OpKind::kGatherNd, {ints({2, 2}, {1, 2, 3, 4}), ints({2, 1}, {1, 0})}, {{"batch_dims", int64_t(1)}}), "i64[2] 2 3");
  const auto how = [](const char* reduction) { return AttrList{{"reduction", std::string(reduction)}}; };
  EXPECT_EQ(eval_text(OpKind::kScatterElements, {i64({1, 2, 3}), i64({1, 1, -1}), i64({5, 6, 7})}), "i64[3] 1 6 7");
  EXPECT_EQ(eval_text(OpKind::kScatterElements, {i8({100, 2, 3}), i64({0, 0}), i8({20, 20})}, how("add")), "i8[3] -116 2 3");
  EXPECT_EQ(eval_text(OpKind::kScatterElements, {f32({1, 2}), i64({0, 1}), f32({kNan, 1})}, how("max")), "f32[2] nan 2");
  EXPECT_EQ(eval_text(OpKind::kScatterNd, {ints({2, 2}, {1, 2, 3, 4}), ints({1, 1}, {1}), ints({1, 2}, {10, 20})}, how("mul")),
            "i64[2, 2] 1 2 30 80");
  EXPECT_EQ(eval_text(OpKind::kOneHot, {i64({0, -1, 3, -4}), f32({-1, 1})}, {{"depth", dims({3})}}),
            "f32[4, 3] 1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1");
  EXPECT_EQ(eval_text(OpKind::kNonZero, {floats({2, 2}, {0, kNan, -0.0, 3})}), "i64[2, 2] 0 1 1 1");
  EXPECT_EQ(eval_text(OpKind::kNonZero, {floats({}, {3})}), "i64[0, 1]");
  EXPECT_EQ(eval_text(OpKind::kNonZero, {floats({0, 2}, {})}), "i64[2, 0]");
}

TEST(EvalRows, PackedPanels) {
  // Row 0 of the only group holds rows 0 and 1 of each column side by side.
  const auto packed = eval_one(OpKind::kPack, {floats({3, 2}, {1, 2, 3, 4, 5, 6}, DType::kBF16)});
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->dims, (Ints{1, 2, 16, 2}));
  EXPECT_EQ((std::vector<double>(packed->f.begin(), packed->f.begin() + 5)), (std::vector<double>{1, 3, 2, 4, 0}));
  EXPECT_EQ((std::vector<double>(packed->f.begin() + 32, packed->f.begin() + 37)), (std::vector<double>{5, 0, 6, 0, 0}));
}

}  // namespace
}  // namespace nnc

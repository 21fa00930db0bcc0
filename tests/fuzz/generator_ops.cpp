#include "tests/fuzz/generator_ops.h"

namespace nnc::test {

namespace {

constexpr OpMaker kMakers[] = {
    {OpKind::kNeg, 3, make_exact_unary},
    {OpKind::kAbs, 3, make_exact_unary},
    {OpKind::kSign, 2, make_rounding},
    {OpKind::kSqrt, 2, make_float_unary},
    {OpKind::kReciprocal, 2, make_rounding},  // signs of zero in sums and norms are nobody's promise
    {OpKind::kExp, 3, make_math},
    {OpKind::kLog, 2, make_math},
    {OpKind::kSin, 2, make_math},
    {OpKind::kCos, 2, make_math},
    {OpKind::kTanh, 3, make_math},
    {OpKind::kErf, 2, make_math},
    {OpKind::kSigmoid, 3, make_math},
    {OpKind::kRelu, 4, make_float_unary},
    {OpKind::kGelu, 3, make_math},
    {OpKind::kSilu, 3, make_math},
    {OpKind::kHardSigmoid, 2, make_math},
    {OpKind::kHardSwish, 2, make_math},
    {OpKind::kFloor, 2, make_rounding},
    {OpKind::kCeil, 2, make_rounding},
    {OpKind::kRound, 2, make_rounding},
    {OpKind::kNot, 2, make_not},
    {OpKind::kIsNan, 2, make_rounding},
    {OpKind::kCast, 4, make_cast},
    {OpKind::kAdd, 6, make_arithmetic},
    {OpKind::kSub, 4, make_arithmetic},
    {OpKind::kMul, 6, make_arithmetic},
    {OpKind::kDiv, 3, make_division},
    {OpKind::kMod, 3, make_division},
    {OpKind::kPow, 2, make_pow},
    {OpKind::kMin, 2, make_arithmetic},
    {OpKind::kMax, 2, make_arithmetic},
    {OpKind::kEqual, 2, make_compare},
    {OpKind::kLess, 2, make_compare},
    {OpKind::kLessEqual, 2, make_compare},
    {OpKind::kAnd, 2, make_logic},
    {OpKind::kOr, 2, make_logic},
    {OpKind::kXor, 2, make_logic},
    {OpKind::kWhere, 3, make_where},
    {OpKind::kClip, 3, make_clip},
    {OpKind::kQuantize, 2, make_quantize},
    {OpKind::kDequantize, 2, make_quantize},

    {OpKind::kConstant, 1, make_source},
    {OpKind::kRange, 2, make_source},
    {OpKind::kDimsValue, 1, make_source},
    {OpKind::kBindDims, 1, make_bind_dims},
    {OpKind::kAssertDims, 1, make_assertion},
    {OpKind::kAssertValue, 1, make_assertion},
    {OpKind::kResolveReshape, 1, make_resolve_reshape},
    {OpKind::kReshape, 4, make_view},
    {OpKind::kTranspose, 5, make_view},
    {OpKind::kBroadcastTo, 3, make_view},
    {OpKind::kSlice, 4, make_view},
    {OpKind::kConcat, 4, make_concat},
    {OpKind::kPad, 4, make_pad},
    {OpKind::kTile, 2, make_tile},
    {OpKind::kTrilu, 2, make_trilu},
    {OpKind::kGather, 3, make_gather},
    {OpKind::kGatherElements, 2, make_gather},
    {OpKind::kGatherNd, 2, make_gather},
    {OpKind::kScatterElements, 2, make_scatter},
    {OpKind::kScatterNd, 2, make_scatter},
    {OpKind::kOneHot, 2, make_one_hot},
    {OpKind::kNonZero, 1, make_non_zero},
    {OpKind::kPack, 1, make_panels},
    {OpKind::kUnpack, 1, make_panels},

    {OpKind::kReduce, 6, make_reduce},
    {OpKind::kArgReduce, 3, make_arg_reduce},
    {OpKind::kCumSum, 2, make_cumsum},
    {OpKind::kSoftmax, 3, make_norm},
    {OpKind::kLayerNorm, 2, make_norm},
    {OpKind::kRmsNorm, 2, make_norm},
    {OpKind::kBatchNorm, 2, make_norm},
    {OpKind::kSoftmaxCrossEntropy, 1, make_cross_entropy},

    {OpKind::kMatMul, 4, make_matmul},
    {OpKind::kConv, 4, make_conv},
    {OpKind::kConvTranspose, 2, make_conv},
    {OpKind::kConvInputGrad, 1, make_conv_grad},
    {OpKind::kConvFilterGrad, 1, make_conv_grad},
    {OpKind::kPool, 2, make_pool},
    {OpKind::kMaxPoolIndices, 1, make_pool},
    {OpKind::kPoolGrad, 1, make_pool_grad},
    {OpKind::kResize, 2, make_resize},
    {OpKind::kResizeGrad, 1, make_resize},
    {OpKind::kAttention, 2, make_attention},
    {OpKind::kRotary, 1, make_rotary},
    {OpKind::kLstm, 1, make_lstm},

    {OpKind::kIf, 2, make_if},
    {OpKind::kLoop, 2, make_loop},
    {OpKind::kFail, 1, make_if},
};

constexpr OpWithoutMaker kWithout[] = {
    {OpKind::kGroup, "made by fusion; counted in what is compiled"},
};

}  // namespace

std::span<const OpMaker> op_makers() { return kMakers; }
std::span<const OpWithoutMaker> ops_without_maker() { return kWithout; }

}  // namespace nnc::test

// Elementwise operators, casts, and chains of them (Sum, Mean, Min, Max of many).

#include "frontend/onnx/context.h"
#include "frontend/onnx/numpy_random.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

Status unary(NodeContext& c) { return c.set(c.row().kind, {c.in(0)}); }
Status binary(NodeContext& c) { return c.set(c.row().kind, {c.in(0), c.in(1)}); }
Status swapped(NodeContext& c) { return c.set(c.row().kind, {c.in(1), c.in(0)}); }
Status ternary(NodeContext& c) { return c.set(c.row().kind, {c.in(0), c.in(1), c.in(2)}); }

Result<ValueId> chain(NodeContext& c, OpKind kind) {
  ValueId acc = c.in(0);
  for (int k = 1; k < c.inputs(); ++k) {
    if (!c.has(k)) return c.error(cat("input ", k, " must be given"));
    NNC_ASSIGN(acc, c.b().binary(kind, acc, c.in(k)));
  }
  return acc;
}
Status variadic(NodeContext& c) { return c.set(chain(c, c.row().kind)); }

Status mean(NodeContext& c) {
  NNC_ASSIGN(const ValueId sum, chain(c, OpKind::kAdd));
  NNC_ASSIGN(const ValueId count, c.b().scalar(c.b().dtype(sum), c.inputs()));
  return c.set(OpKind::kDiv, {sum, count});
}

Status identity(NodeContext& c) {
  c.out(0, c.in(0));
  return {};
}

Status mod(NodeContext& c) {
  const int64_t fmod = c.i("fmod", 0);
  if (fmod == 0 && is_float(c.dtype(0))) return c.error("attribute \"fmod\" must be 1 for floats");
  return c.set(OpKind::kMod, {c.in(0), c.in(1)}, {{"fmod", fmod}});
}

Status cast_to(NodeContext& c, DType to) {
  const int64_t saturate = c.i("saturate", 1);
  NNC_ASSIGN(const std::string mode, c.choice("round_mode", "up", "up|down|nearest"));
  if (c.dtype(0) == to) return identity(c);
  // Out of range, types of 2 and 4 bits keep the low bits of the integer.
  if (is_float(c.dtype(0)) && is_int(to) && dtype_bits(to) < 8) {
    NNC_ASSIGN(const ValueId whole, c.b().cast(c.in(0), DType::kI32));
    return c.set(c.b().cast(whole, to));
  }
  return c.set(OpKind::kCast, {c.in(0)}, {{"to", to}, {"saturate", saturate}, {"round_mode", mode}});
}

Status cast(NodeContext& c) {
  NNC_ASSIGN(const DType to, c.dtype_attr("to", DType::kInvalid));
  if (to == DType::kInvalid) return c.error("attribute \"to\" must be given");
  return cast_to(c, to);
}
Status cast_like(NodeContext& c) { return cast_to(c, c.dtype(1)); }

Status clip_attributes(NodeContext& c) {
  const DType t = c.dtype(0);
  ValueId lo, hi;
  if (c.has_attr("min")) { NNC_ASSIGN(lo, c.b().scalar(t, c.f("min", 0))); }
  if (c.has_attr("max")) { NNC_ASSIGN(hi, c.b().scalar(t, c.f("max", 0))); }
  return c.set(OpKind::kClip, {c.in(0), lo, hi});
}

Status clip_inputs(NodeContext& c) {
  std::vector<ValueId> operands = {c.in(0)};
  for (int k = 1; k <= 2; ++k) {
    ValueId bound = c.in(k);
    if (c.has(k)) { NNC_ASSIGN(bound, as_scalar(c, bound)); }
    operands.push_back(bound);
  }
  return c.set(OpKind::kClip, std::move(operands));
}

Status hard_sigmoid(NodeContext& c) {
  return c.set(OpKind::kHardSigmoid, {c.in(0)}, {{"alpha", c.f("alpha", 0.2)}, {"beta", c.f("beta", 0.5)}});
}

Status gelu(NodeContext& c) {
  NNC_ASSIGN(const std::string approximate, c.choice("approximate", "none", "none|tanh"));
  return c.set(OpKind::kGelu, {c.in(0)}, {{"approximate", approximate}});
}

// Inference: the input itself, and a mask of ones.
Status dropout_as_identity(NodeContext& c) {
  c.out(0, c.in(0));
  if (!c.wants(1)) return {};
  const DType mask = c.version() >= 10 ? DType::kBool : c.dtype(0);
  NNC_ASSIGN(const ValueId one, c.b().scalar(mask, 1));
  NNC_ASSIGN(const ValueId ones, c.b().broadcast_to(one, c.shape(0)));
  c.out(1, ones);
  return {};
}

Status dropout_attribute(NodeContext& c) {
  c.ignore_attr("ratio");
  return dropout_as_identity(c);
}

// Training with a seed drops the same elements in every run: those of the reference implementation, found here.
Status dropout_seeded(NodeContext& c) {
  constexpr int64_t kMostElements = 1 << 20;
  if (!c.has_attr("seed"))
    return c.unsupported(
        "dropout in training mode without a seed: its random stream is not defined by the standard; give the attribute seed");
  const auto seed = static_cast<uint32_t>(c.i("seed", 0));
  std::vector<int64_t> dims;
  int64_t count = 1;
  for (const Dim& d : c.shape(0)) {
    if (!d.is_const())
      return Error(Code::kNeedDims,
                   cat("dropout in training mode draws a number for each element: the extent ", c.symbols().pretty(d), " must be known"))
          .with("  try: --dim NAME=VALUE");
    dims.push_back(d.constant());
    if (d.constant() > kMostElements || (count *= d.constant()) > kMostElements)
      return c.unsupported(cat("dropout in training mode with a seed over more than ", kMostElements, " elements"));
  }
  Tensor drawn(DType::kF64, dims);
  NumpyRandom random(seed);
  for (int64_t k = 0; k < count; ++k) store_f64(DType::kF64, drawn.data(), k, random.uniform());
  Builder& b = c.b();
  NNC_ASSIGN(ValueId ratio, c.has(1) ? as_scalar(c, c.in(1)) : b.scalar(DType::kF32, 0.5));
  NNC_ASSIGN(const ValueId numbers, b.constant(std::move(drawn)));
  NNC_ASSIGN(const ValueId limit, b.cast(ratio, DType::kF64));
  NNC_ASSIGN(const ValueId dropped, b.binary(OpKind::kLess, numbers, limit));
  NNC_ASSIGN(const ValueId kept, b.unary(OpKind::kNot, dropped));
  NNC_ASSIGN(ratio, b.cast(ratio, c.dtype(0)));
  NNC_ASSIGN(const ValueId one, b.scalar(c.dtype(0), 1));
  NNC_ASSIGN(const ValueId zero, b.scalar(c.dtype(0), 0));
  NNC_ASSIGN(const ValueId rest, b.binary(OpKind::kSub, one, ratio));
  NNC_ASSIGN(const ValueId scale, b.unary(OpKind::kReciprocal, rest));
  NNC_ASSIGN(const ValueId scaled, b.binary(OpKind::kMul, c.in(0), scale));
  NNC_ASSIGN(const ValueId y, b.op(OpKind::kWhere, {kept, scaled, zero}));
  c.out(0, y);
  if (c.wants(1)) c.out(1, kept);
  return {};
}

Status dropout_inputs(NodeContext& c) {
  c.ignore_attr("seed");
  if (c.has(2)) {
    NNC_ASSIGN(const bool training, known_flag(c, 2, "training_mode"));
    bool keeps_all = false;
    if (const Tensor* ratio = c.constant(1)) keeps_all = ratio->count() == 1 && ratio->f64(0) == 0;
    if (training && !keeps_all) return dropout_seeded(c);
  }
  return dropout_as_identity(c);
}

}  // namespace

std::span<const OpRow> rows_elementwise() {
  using K = OpKind;
  static const OpRow rows[] = {
      {.name = "Neg", .since = 6, .import = unary, .kind = K::kNeg},
      {.name = "Abs", .since = 6, .import = unary, .kind = K::kAbs},
      {.name = "Sign", .since = 9, .import = unary, .kind = K::kSign},
      {.name = "Sqrt", .since = 6, .import = unary, .kind = K::kSqrt},
      {.name = "Reciprocal", .since = 6, .import = unary, .kind = K::kReciprocal},
      {.name = "Exp", .since = 6, .import = unary, .kind = K::kExp},
      {.name = "Log", .since = 6, .import = unary, .kind = K::kLog},
      {.name = "Sin", .since = 7, .import = unary, .kind = K::kSin},
      {.name = "Cos", .since = 7, .import = unary, .kind = K::kCos},
      {.name = "Tanh", .since = 6, .import = unary, .kind = K::kTanh},
      {.name = "Erf", .since = 9, .import = unary, .kind = K::kErf},
      {.name = "Sigmoid", .since = 6, .import = unary, .kind = K::kSigmoid},
      {.name = "Relu", .since = 6, .import = unary, .kind = K::kRelu},
      {.name = "HardSwish", .since = 14, .import = unary, .kind = K::kHardSwish},
      {.name = "HardSigmoid", .since = 6, .import = hard_sigmoid},
      {.name = "Gelu", .since = 20, .import = gelu},
      {.name = "Floor", .since = 6, .import = unary, .kind = K::kFloor},
      {.name = "Ceil", .since = 6, .import = unary, .kind = K::kCeil},
      {.name = "Round", .since = 11, .import = unary, .kind = K::kRound},
      {.name = "Not", .since = 1, .import = unary, .kind = K::kNot},
      {.name = "BitwiseNot", .since = 18, .import = unary, .kind = K::kNot},
      {.name = "IsNaN", .since = 9, .import = unary, .kind = K::kIsNan},
      {.name = "Identity", .since = 1, .import = identity},
      {.name = "Cast", .since = 6, .import = cast},
      {.name = "CastLike", .since = 15, .min_inputs = 2, .max_inputs = 2, .import = cast_like},
      {.name = "Add", .since = 7, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kAdd},
      {.name = "Sub", .since = 7, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kSub},
      {.name = "Mul", .since = 7, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kMul},
      {.name = "Div", .since = 7, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kDiv},
      {.name = "Pow", .since = 7, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kPow},
      {.name = "Mod", .since = 10, .min_inputs = 2, .max_inputs = 2, .import = mod},
      {.name = "Equal", .since = 7, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kEqual},
      {.name = "Less", .since = 7, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kLess},
      {.name = "LessOrEqual", .since = 12, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kLessEqual},
      {.name = "Greater", .since = 7, .min_inputs = 2, .max_inputs = 2, .import = swapped, .kind = K::kLess},
      {.name = "GreaterOrEqual", .since = 12, .min_inputs = 2, .max_inputs = 2, .import = swapped, .kind = K::kLessEqual},
      {.name = "And", .since = 7, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kAnd},
      {.name = "BitwiseAnd", .since = 18, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kAnd},
      {.name = "Or", .since = 7, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kOr},
      {.name = "BitwiseOr", .since = 18, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kOr},
      {.name = "Xor", .since = 7, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kXor},
      {.name = "BitwiseXor", .since = 18, .min_inputs = 2, .max_inputs = 2, .import = binary, .kind = K::kXor},
      {.name = "Where", .since = 9, .min_inputs = 3, .max_inputs = 3, .import = ternary, .kind = K::kWhere},
      {.name = "Min", .since = 8, .max_inputs = -1, .import = variadic, .kind = K::kMin},
      {.name = "Max", .since = 8, .max_inputs = -1, .import = variadic, .kind = K::kMax},
      {.name = "Sum", .since = 8, .max_inputs = -1, .import = variadic, .kind = K::kAdd},
      {.name = "Mean", .since = 8, .max_inputs = -1, .import = mean},
      {.name = "Clip", .since = 6, .until = 10, .import = clip_attributes},
      {.name = "Clip", .since = 11, .max_inputs = 3, .import = clip_inputs},
      {.name = "Dropout", .since = 7, .until = 11, .max_outputs = 2, .import = dropout_attribute},
      {.name = "Dropout", .since = 12, .max_inputs = 3, .max_outputs = 2, .import = dropout_inputs},
  };
  return rows;
}

}  // namespace nnc::onnx

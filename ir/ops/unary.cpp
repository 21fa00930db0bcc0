#include <vector>

#include "ir/ops/bodies.h"
#include "ir/ops/evals.h"
#include "ir/ops/families.h"
#include "ir/ops/gradients.h"
#include "ir/ops/rules.h"

namespace nnc {
namespace {

Status same_type(InferContext& c) {
  c.result(c.type(0));
  return {};
}
Status infer_float(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_float(c.dtype(0)), "a float type"));
  return same_type(c);
}
Status infer_numeric(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_numeric(c.dtype(0)), "a number type"));
  return same_type(c);
}
Status infer_logical(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_logical(c.dtype(0)), "bool or an integer type"));
  return same_type(c);
}
Status infer_is_nan(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_float(c.dtype(0)), "a float type"));
  c.result(DType::kBool, c.shape(0));
  return {};
}
Status infer_cast(InferContext& c) {
  const DType from = c.dtype(0), to = c.node().dtype("to");
  NNC_TRY(require_dtype(c, 0, !is_complex(from), "of a real type, bool or string"));
  if (to == DType::kInvalid || is_complex(to)) return c.error("attribute \"to\" must be a real type, bool or string");
  c.result(to, c.shape(0));
  return {};
}

void value_neg(InferContext& c) {
  map_value(c, c.dtype(0), [](InferContext& k, const Rational& x) { return make_rational(k.symbols(), x.dim, -1, x.den); });
}
void value_abs(InferContext& c) {
  map_value(c, c.dtype(0), [](InferContext& k, const Rational& x) -> std::optional<Rational> {
    if (k.symbols().at_least(x.dim, 0) == Ternary::kYes) return x;
    if (k.symbols().at_most(x.dim, int64_t(0)) == Ternary::kYes) return make_rational(k.symbols(), x.dim, -1, x.den);
    return std::nullopt;
  });
}
void value_sign(InferContext& c) {
  map_value(c, c.dtype(0), [](InferContext& k, const Rational& x) -> std::optional<Rational> {
    if (x.dim.is_const(0)) return Rational{Dim(0)};
    if (k.symbols().at_least(x.dim, 1) == Ternary::kYes) return Rational{Dim(1)};
    if (k.symbols().at_most(x.dim, int64_t(-1)) == Ternary::kYes) return Rational{Dim(-1)};
    return std::nullopt;
  });
}
void value_floor(InferContext& c) {
  map_value(c, c.dtype(0), [](InferContext& k, const Rational& x) { return round_rational(k.symbols(), x, RoundTo::kFloor); });
}
void value_ceil(InferContext& c) {
  map_value(c, c.dtype(0), [](InferContext& k, const Rational& x) { return round_rational(k.symbols(), x, RoundTo::kCeil); });
}
void value_round(InferContext& c) {
  map_value(c, c.dtype(0), [](InferContext& k, const Rational& x) { return round_rational(k.symbols(), x, RoundTo::kNearestEven); });
}
void value_not(InferContext& c) {
  if (c.dtype(0) != DType::kBool) return;
  map_value(c, DType::kBool, [](InferContext&, const Rational& x) -> std::optional<Rational> {
    if (!x.dim.is_const()) return std::nullopt;
    return Rational{Dim(x.dim.is_const(0) ? 1 : 0)};
  });
}
void value_cast(InferContext& c) {
  const DType to = c.node().dtype("to");
  if (is_float(to)) return map_value(c, to, [](InferContext&, const Rational& x) { return std::optional(x); });
  if (to == DType::kBool) {
    return map_value(c, to, [](InferContext& k, const Rational& x) -> std::optional<Rational> {
      const Ternary zero = k.symbols().equal(x.dim, Dim(0));
      if (zero == Ternary::kUnknown) return std::nullopt;
      return Rational{Dim(zero == Ternary::kYes ? 0 : 1)};
    });
  }
  map_value(c, to, [](InferContext& k, const Rational& x) { return round_rational(k.symbols(), x, RoundTo::kZero); });
}

constexpr uint32_t kPointwise = kPure | kFoldable | kInPlaceOk;
// Of the fixed kernels that compute exp, tanh and the like.
constexpr Tolerance kMath{4e-7, 1e-7};

}  // namespace

std::span<const OpDef> ops_unary() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kNeg,
       .doc = "-x. Integers wrap: the smallest value stays itself, unsigned values are taken modulo their width.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_numeric,
       .value = value_neg,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary},
      {.kind = OpKind::kAbs,
       .doc = "|x|. abs(-0) = +0; the smallest integer stays itself. The gradient at 0 is 0.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_numeric,
       .value = value_abs,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary},
      {.kind = OpKind::kSign,
       .doc = "-1, 0 or 1 as x is below, at or above zero. sign(NaN) = NaN, sign(-0) = 0.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_numeric,
       .value = value_sign,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = zero_gradient},
      {.kind = OpKind::kSqrt,
       .doc = "Square root, correctly rounded. Negative x gives NaN; sqrt(-0) = -0.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .domain = {0.1, 9}},
      {.kind = OpKind::kReciprocal,
       .doc = "1 / x, correctly rounded. 1 / 0 is an infinity of x's sign.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .domain = {0.2, 5}},
      {.kind = OpKind::kExp,
       .doc = "e to the power x.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .tolerance = kMath},
      {.kind = OpKind::kLog,
       .doc = "Natural logarithm. log(0) = -inf, negative x gives NaN.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .domain = {0.1, 9},
       .tolerance = kMath},
      {.kind = OpKind::kSin,
       .doc = "Sine of x in radians; NaN at the infinities.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .tolerance = kMath},
      {.kind = OpKind::kCos,
       .doc = "Cosine of x in radians; NaN at the infinities.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .tolerance = kMath},
      {.kind = OpKind::kTanh,
       .doc = "Hyperbolic tangent.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .tolerance = kMath},
      {.kind = OpKind::kErf,
       .doc = "Error function.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .tolerance = kMath},
      {.kind = OpKind::kSigmoid,
       .doc = "1 / (1 + exp(-x)), without overflow on either side.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .tolerance = kMath},
      {.kind = OpKind::kRelu,
       .doc = "max(x, 0). relu(NaN) = NaN, relu(-0) = +0. The gradient at 0 is 0.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_numeric,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary},
      {.kind = OpKind::kGelu,
       .doc = "x times the normal distribution function of x: x/2 (1 + erf(x / sqrt 2)), or with approximate = tanh x/2 (1 + "
              "tanh(sqrt(2/pi) (x + 0.044715 x^3))).",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_choice("approximate", "none|tanh", "none")},
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .tolerance = {1e-6, 4e-7}},
      {.kind = OpKind::kSilu,
       .doc = "x * sigmoid(x). silu(-inf) = NaN by that definition.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .tolerance = {1e-6, 2e-7}},
      {.kind = OpKind::kHardSigmoid,
       .doc = "max(0, min(1, alpha * x + beta)); alpha and beta are rounded to x's dtype. NaN stays.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_float("alpha", 0.2), attr_float("beta", 0.5)},
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .tolerance = {2.4e-7, 1.2e-7}},
      {.kind = OpKind::kHardSwish,
       .doc = "x * max(0, min(1, x/6 + 0.5)). NaN stays.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = gradient_unary,
       .tolerance = {4e-7, 2.4e-7}},
      {.kind = OpKind::kFloor,
       .doc = "Largest integer not above x; -0, infinities and NaN stay.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .value = value_floor,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = zero_gradient},
      {.kind = OpKind::kCeil,
       .doc = "Smallest integer not below x; -0, infinities and NaN stay.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .value = value_ceil,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = zero_gradient},
      {.kind = OpKind::kRound,
       .doc = "Nearest integer, ties to even; the sign of zero, infinities and NaN stay.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_float,
       .value = value_round,
       .eval = eval_unary,
       .body = body_unary,
       .gradient = zero_gradient},
      {.kind = OpKind::kNot,
       .doc = "Logical not of bool, all bits inverted of integers.",
       .min_operands = 1,
       .max_operands = 1,
       .traits = kPointwise,
       .infer = infer_logical,
       .value = value_not,
       .eval = eval_unary,
       .body = body_unary,
       .no_gradient = "operand and result are not real numbers"},
      {.kind = OpKind::kIsNan,
       .doc = "Bool: x is NaN.",
       .min_operands = 1,
       .max_operands = 1,
       .infer = infer_is_nan,
       .eval = eval_unary,
       .body = body_unary,
       .no_gradient = "the result is bool"},
      {.kind = OpKind::kCast,
       .doc = "x as dtype `to`. Float to integer truncates toward zero and saturates, NaN gives 0; integer to integer wraps; to bool is x "
              "!= 0 (NaN is true). To float rounds "
              "once, to nearest even (f8e8m0: by round_mode); out of range gives an infinity, for float8 and float4 the largest finite "
              "value where saturate = 1, else the format's infinity or NaN (f4e2m1 has neither: NaN becomes -0). "
              "Numbers become strings in shortest form, strings are parsed as numbers (an error if they are none).",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_required("to", AttrKind::kDType), attr_int("saturate", 1), attr_choice("round_mode", "up|down|nearest", "up")},
       .infer = infer_cast,
       .value = value_cast,
       .eval = eval_cast,
       .body = body_cast,
       .gradient = gradient_cast},
  };
  return rows;
}

}  // namespace nnc

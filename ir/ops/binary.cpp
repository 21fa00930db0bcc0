#include <vector>

#include "ir/graph.h"
#include "ir/ops/bodies.h"
#include "ir/ops/evals.h"
#include "ir/ops/families.h"
#include "ir/ops/gradients.h"
#include "ir/ops/rules.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

Status broadcast_result(InferContext& c, DType dtype) {
  NNC_ASSIGN(Shape shape, c.broadcast(c.shape(0), c.shape(1)));
  c.result(dtype, std::move(shape));
  return {};
}
Status infer_arithmetic(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_numeric(c.dtype(0)), "a number type"));
  NNC_TRY(require_same_dtype(c, 0, 1));
  return broadcast_result(c, c.dtype(0));
}
Status infer_pow(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_numeric(c.dtype(0)), "a number type"));
  NNC_TRY(require_dtype(c, 1, is_numeric(c.dtype(1)), "a number type"));
  return broadcast_result(c, c.dtype(0));
}
Status infer_equal(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, !is_complex(c.dtype(0)), "of a real type, bool or string"));
  NNC_TRY(require_same_dtype(c, 0, 1));
  return broadcast_result(c, DType::kBool);
}
Status infer_order(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_numeric(c.dtype(0)), "a number type"));
  NNC_TRY(require_same_dtype(c, 0, 1));
  return broadcast_result(c, DType::kBool);
}
Status infer_logic(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_logical(c.dtype(0)), "bool or an integer type"));
  NNC_TRY(require_same_dtype(c, 0, 1));
  return broadcast_result(c, c.dtype(0));
}
Status infer_where(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, c.dtype(0) == DType::kBool, "bool"));
  NNC_TRY(require_dtype(c, 1, true, {}));
  NNC_TRY(require_same_dtype(c, 1, 2));
  NNC_ASSIGN(const Shape inner, c.broadcast(c.shape(1), c.shape(2)));
  NNC_ASSIGN(Shape shape, c.broadcast(c.shape(0), inner));
  c.result(c.dtype(1), std::move(shape));
  return {};
}
Status infer_clip(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, is_numeric(c.dtype(0)), "a number type"));
  for (int i = 1; i <= 2; ++i) {
    if (!c.has(i)) continue;
    NNC_TRY(require_same_dtype(c, 0, i));
    NNC_TRY(check_rank(c, i, 0));
  }
  c.result(c.type(0));
  return {};
}

template <RationalOp op> std::optional<Rational> combined(InferContext& c, const Rational& a, const Rational& b) {
  return combine(c.symbols(), op, a, b, !is_float(c.dtype(0)));
}
template <RationalOp op> void value_arithmetic(InferContext& c) { zip_value(c, c.dtype(0), combined<op>); }

void value_mod(InferContext& c) {
  if (is_float(c.dtype(0))) return;
  zip_value(c, c.dtype(0), c.node().i("fmod") != 0 ? combined<RationalOp::kTruncMod> : combined<RationalOp::kFloorMod>);
}
std::optional<Rational> truth(Ternary t) {
  if (t == Ternary::kUnknown) return std::nullopt;
  return Rational{Dim(t == Ternary::kYes ? 1 : 0)};
}
void value_equal(InferContext& c) {
  zip_value(c, DType::kBool,
            [](InferContext& k, const Rational& a, const Rational& b) { return truth(rational_equal(k.symbols(), a, b)); });
}
void value_less(InferContext& c) {
  zip_value(c, DType::kBool, [](InferContext& k, const Rational& a, const Rational& b) { return truth(rational_less(k.symbols(), a, b)); });
}
void value_less_equal(InferContext& c) {
  zip_value(c, DType::kBool, [](InferContext& k, const Rational& a, const Rational& b) -> std::optional<Rational> {
    const Ternary greater = rational_less(k.symbols(), b, a);
    if (greater == Ternary::kUnknown) return std::nullopt;
    return truth(greater == Ternary::kYes ? Ternary::kNo : Ternary::kYes);
  });
}

// Bool only. One known operand decides where it alone does.
void value_logic(InferContext& c) {
  if (c.dtype(0) != DType::kBool) return;
  zip_value(c, DType::kBool, [](InferContext& k, const Rational& a, const Rational& b) -> std::optional<Rational> {
    if (!a.dim.is_const() || !b.dim.is_const()) return std::nullopt;
    const int64_t x = a.dim.constant(), y = b.dim.constant();
    const OpKind kind = k.node().kind;
    return Rational{Dim(kind == OpKind::kAnd ? x & y : kind == OpKind::kOr ? x | y : x ^ y)};
  });
}

// Chosen where the condition is known, or where both choices are equal.
void value_where(InferContext& c) {
  size_t count = 1;
  for (int i = 0; i < 3; ++i) {
    const auto n = shape_value_count(c.type(i));
    if (!n) return;
    if (*n != 1) count = *n;
  }
  std::vector<std::optional<Rational>> elems(count);
  for (size_t k = 0; k < count; ++k) {
    const auto condition = value_at(c.value(0), k), a = value_at(c.value(1), k), b = value_at(c.value(2), k);
    if (condition && condition->dim.is_const())
      elems[k] = condition->dim.is_const(0) ? b : a;
    else if (a && b && *a == *b)
      elems[k] = a;
  }
  ShapeValue v = known_value(std::move(elems));
  if (v.known) c.set_value(0, std::move(v));
}

void value_clip(InferContext& c) {
  map_value(c, c.dtype(0), [](InferContext& k, const Rational& x) -> std::optional<Rational> {
    std::optional<Rational> r = x;
    for (int i = 1; i <= 2 && r; ++i) {
      if (!k.has(i)) continue;
      const auto bound = value_at(k.value(i), 0);
      r = bound ? combine(k.symbols(), i == 1 ? RationalOp::kMax : RationalOp::kMin, *r, *bound, !is_float(k.dtype(0))) : std::nullopt;
    }
    return r;
  });
}

constexpr uint32_t kPointwise = kPure | kFoldable | kInPlaceOk | kBroadcasts;
constexpr uint32_t kCompare = kPure | kFoldable | kBroadcasts;
constexpr std::string_view kBoolResult = "the result is bool";

}  // namespace

std::span<const OpDef> ops_binary() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kAdd,
       .doc = "a + b. Integers wrap.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kPointwise | kCommutative,
       .infer = infer_arithmetic,
       .value = value_arithmetic<RationalOp::kAdd>,
       .eval = eval_binary,
       .body = body_binary,
       .gradient = gradient_binary},
      {.kind = OpKind::kSub,
       .doc = "a - b. Integers wrap.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kPointwise,
       .infer = infer_arithmetic,
       .value = value_arithmetic<RationalOp::kSub>,
       .eval = eval_binary,
       .body = body_binary,
       .gradient = gradient_binary},
      {.kind = OpKind::kMul,
       .doc = "a * b. Integers wrap.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kPointwise | kCommutative,
       .infer = infer_arithmetic,
       .value = value_arithmetic<RationalOp::kMul>,
       .eval = eval_binary,
       .body = body_binary,
       .gradient = gradient_binary},
      {.kind = OpKind::kDiv,
       .doc = "a / b. Floats: IEEE division. Integers truncate toward zero; division by zero gives 0, the smallest value by -1 wraps to "
              "itself.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kPointwise,
       .infer = infer_arithmetic,
       .value = value_arithmetic<RationalOp::kDiv>,
       .eval = eval_binary,
       .body = body_binary,
       .gradient = gradient_binary,
       .domain = {0.25, 4}},
      {.kind = OpKind::kMod,
       .doc = "Remainder of a / b. fmod = 0: a - floor(a / b) * b, the sign is b's; fmod = 1: the remainder of truncating division, the "
              "sign is a's. Integers by zero give 0, "
              "floats by zero NaN. Float remainders are exact, then (fmod = 0) b is added where the signs differ; a finite and b infinite: "
              "a, or b where the signs differ.",
       .min_operands = 2,
       .max_operands = 2,
       .attrs = {attr_int("fmod")},
       .traits = kPointwise,
       .infer = infer_arithmetic,
       .value = value_mod,
       .eval = eval_binary,
       .body = body_binary,
       .gradient = gradient_binary,
       .domain = {0.25, 4}},
      {.kind = OpKind::kPow,
       .doc = "x to the power y, in x's dtype; y may have another number dtype. Two integers: repeated product that wraps; a negative "
              "exponent gives 0 but for x = 1 and -1. "
              "Otherwise computed as floats, and the result is cast to an integer x's dtype.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kPointwise,
       .infer = infer_pow,
       .eval = eval_binary,
       .body = body_pow,
       .gradient = gradient_binary,
       .domain = {0.25, 3},
       .tolerance = {1e-6, 1e-7}},
      {.kind = OpKind::kMin,
       .doc = "The smaller one. NaN wins; -0 is below +0. Equal operands share the gradient.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kPointwise | kCommutative,
       .infer = infer_arithmetic,
       .value = value_arithmetic<RationalOp::kMin>,
       .eval = eval_binary,
       .body = body_binary,
       .gradient = gradient_binary},
      {.kind = OpKind::kMax,
       .doc = "The greater one. NaN wins; -0 is below +0. Equal operands share the gradient.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kPointwise | kCommutative,
       .infer = infer_arithmetic,
       .value = value_arithmetic<RationalOp::kMax>,
       .eval = eval_binary,
       .body = body_binary,
       .gradient = gradient_binary},
      {.kind = OpKind::kEqual,
       .doc = "Bool: a == b. NaN equals nothing, -0 equals +0; strings compare by bytes.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kCompare | kCommutative,
       .infer = infer_equal,
       .value = value_equal,
       .eval = eval_compare,
       .body = body_binary,
       .no_gradient = kBoolResult},
      {.kind = OpKind::kLess,
       .doc = "Bool: a < b. False if either is NaN.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kCompare,
       .infer = infer_order,
       .value = value_less,
       .eval = eval_compare,
       .body = body_binary,
       .no_gradient = kBoolResult},
      {.kind = OpKind::kLessEqual,
       .doc = "Bool: a <= b. False if either is NaN.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kCompare,
       .infer = infer_order,
       .value = value_less_equal,
       .eval = eval_compare,
       .body = body_binary,
       .no_gradient = kBoolResult},
      {.kind = OpKind::kAnd,
       .doc = "Logical and of bool, bitwise and of integers.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kPointwise | kCommutative,
       .infer = infer_logic,
       .value = value_logic,
       .eval = eval_binary,
       .body = body_binary,
       .no_gradient = "operands and result are not real numbers"},
      {.kind = OpKind::kOr,
       .doc = "Logical or of bool, bitwise or of integers.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kPointwise | kCommutative,
       .infer = infer_logic,
       .value = value_logic,
       .eval = eval_binary,
       .body = body_binary,
       .no_gradient = "operands and result are not real numbers"},
      {.kind = OpKind::kXor,
       .doc = "Logical exclusive or of bool, bitwise of integers.",
       .min_operands = 2,
       .max_operands = 2,
       .traits = kPointwise | kCommutative,
       .infer = infer_logic,
       .value = value_logic,
       .eval = eval_binary,
       .body = body_binary,
       .no_gradient = "operands and result are not real numbers"},
      {.kind = OpKind::kWhere,
       .doc = "a where the condition (bool, operand 0) holds, else b; bits are copied. All three broadcast.",
       .min_operands = 3,
       .max_operands = 3,
       .traits = kCompare,
       .infer = infer_where,
       .value = value_where,
       .eval = eval_where,
       .body = body_where,
       .gradient = gradient_where},
      {.kind = OpKind::kClip,
       .doc = "min(max(x, lo), hi) by the rules of min and max: NaN in x, lo or hi gives NaN; lo > hi gives hi. lo and hi are scalars, "
              "either may be absent.",
       .min_operands = 1,
       .max_operands = 3,
       .traits = kPure | kFoldable | kInPlaceOk,
       .infer = infer_clip,
       .value = value_clip,
       .eval = eval_clip,
       .body = body_clip,
       .gradient = gradient_clip},
  };
  return rows;
}

}  // namespace nnc

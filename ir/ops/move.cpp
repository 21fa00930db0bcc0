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

Status infer_concat(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, true, {}));
  NNC_ASSIGN(const int64_t a, c.axis(c.node().i("axis"), c.rank(0)));
  const auto axis = static_cast<size_t>(a);
  Shape shape = c.shape(0);
  for (int k = 1; k < c.operand_count(); ++k) {
    NNC_TRY(require_same_dtype(c, 0, k));
    NNC_TRY(check_rank(c, k, c.rank(0)));
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i == axis) {
        shape[i] = c.symbols().add(shape[i], c.shape(k)[i]);
      } else {
        NNC_ASSIGN(shape[i], same_extent(c, shape[i], c.shape(k)[i], cat("axis ", i, " of operands 0 and ", k)));
      }
    }
  }
  c.result(c.dtype(0), std::move(shape));
  return {};
}

void value_concat(InferContext& c) {
  if (c.rank(0) != 1) return;
  std::vector<std::optional<Rational>> elems;
  for (int k = 0; k < c.operand_count(); ++k) {
    const auto count = shape_value_count(c.type(k));
    if (!count) return;
    for (size_t i = 0; i < *count; ++i) elems.push_back(value_at(c.value(k), i));
  }
  if (elems.size() > kMaxShapeValue) return;
  ShapeValue v = known_value(std::move(elems));
  if (v.known) c.set_value(0, std::move(v));
}

Status infer_pad(InferContext& c) {
  const Node& n = c.node();
  SymbolTable& t = c.symbols();
  NNC_TRY(require_dtype(c, 0, true, {}));
  const Shape &before = n.dims("before"), &after = n.dims("after");
  if (before.size() != c.shape(0).size() || after.size() != c.shape(0).size())
    return c.error(cat("attributes \"before\" and \"after\" must have one dim per axis, ", c.rank(0)));
  if (c.has(1)) {
    if (n.s("mode") != "constant") return c.error(cat("a pad value goes with mode = constant, not ", n.s("mode")));
    NNC_TRY(require_same_dtype(c, 0, 1));
    NNC_TRY(check_rank(c, 1, 0));
  }
  Shape shape;
  for (size_t i = 0; i < before.size(); ++i) {
    shape.push_back(t.add(t.add(c.shape(0)[i], before[i]), after[i]));
    if (t.at_most(shape[i], int64_t(-1)) == Ternary::kYes)
      return c.error(cat("negative pads of axis ", i, " exceed its extent ", t.pretty(c.shape(0)[i])));
  }
  c.result(c.dtype(0), std::move(shape));
  return {};
}

Status infer_tile(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, true, {}));
  const Shape& repeats = c.node().dims("repeats");
  if (repeats.size() != c.shape(0).size()) return c.error(cat("attribute \"repeats\" must have one dim per axis, ", c.rank(0)));
  Shape shape;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (c.symbols().at_most(repeats[i], int64_t(-1)) == Ternary::kYes) return c.error("attribute \"repeats\" must not be negative");
    shape.push_back(c.symbols().mul(c.shape(0)[i], repeats[i]));
  }
  c.result(c.dtype(0), std::move(shape));
  return {};
}

void value_tile(InferContext& c) {
  if (!c.value(0).known) return;
  if (c.rank(0) == 0) return c.set_value(0, c.value(0));
  const auto count = shape_value_count(c.type(0));
  const Dim& repeats = one_dim(c.node(), "repeats");
  if (!count || !repeats.is_const() || repeats.constant() > static_cast<int64_t>(kMaxShapeValue)) return;
  const size_t total = *count * static_cast<size_t>(repeats.constant());
  if (total > kMaxShapeValue) return;
  std::vector<std::optional<Rational>> elems(total);
  for (size_t k = 0; k < total; ++k) elems[k] = value_at(c.value(0), k % *count);
  ShapeValue v = known_value(std::move(elems));
  if (v.known) c.set_value(0, std::move(v));
}

Status infer_trilu(InferContext& c) {
  NNC_TRY(require_dtype(c, 0, c.dtype(0) != DType::kString, "of a number type or bool"));
  if (c.rank(0) < 2) return c.error(cat("operand 0 must have rank 2 or more, not ", c.rank(0)));
  if (c.node().dims("k").size() > 1) return c.error("attribute \"k\" must be one dim");
  c.result(c.type(0));
  return {};
}

}  // namespace

std::span<const OpDef> ops_move() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kConcat,
       .doc = "The operands one after another along `axis`; all other extents are equal.",
       .min_operands = 1,
       .max_operands = -1,
       .attrs = {attr_required("axis", AttrKind::kInt)},
       .traits = kPure | kFoldable | kVariadic,
       .lowering = Lowering::kMap,
       .infer = infer_concat,
       .value = value_concat,
       .eval = eval_concat,
       .body = body_concat,
       .gradient = gradient_concat},
      {.kind = OpKind::kPad,
       .doc = "The operand with before[i] and after[i] elements added at the ends of axis i; negative numbers crop, which happens first. "
              "constant: the scalar operand 1, or zero "
              "(empty string); edge: the nearest element; reflect: mirrored without repeating the edge; wrap: periodic. Added parts may be "
              "longer than the operand. The last three "
              "need an element left on each axis that they extend.",
       .min_operands = 1,
       .max_operands = 2,
       .attrs = {attr_required("before", AttrKind::kDims), attr_required("after", AttrKind::kDims),
                 attr_choice("mode", "constant|edge|reflect|wrap", "constant")},
       .lowering = Lowering::kMap,
       .infer = infer_pad,
       .eval = eval_pad,
       .body = body_pad,
       .gradient = gradient_pad},
      {.kind = OpKind::kTile,
       .doc = "The whole operand repeated repeats[i] times along axis i.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_required("repeats", AttrKind::kDims)},
       .lowering = Lowering::kMap,
       .infer = infer_tile,
       .value = value_tile,
       .eval = eval_tile,
       .body = body_tile,
       .gradient = gradient_tile},
      {.kind = OpKind::kTrilu,
       .doc = "Of each matrix (last two axes) the elements with column - row >= k where upper = 1, <= k where upper = 0; all others become "
              "zero.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_int("upper", 1), attr_list("k", AttrKind::kDims)},
       .lowering = Lowering::kMap,
       .infer = infer_trilu,
       .eval = eval_trilu,
       .body = body_trilu,
       .gradient = gradient_trilu},
  };
  return rows;
}

}  // namespace nnc

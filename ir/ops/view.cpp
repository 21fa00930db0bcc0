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

Status require_tensor(InferContext& c) { return require_dtype(c, 0, true, {}); }

Status require_extents(InferContext& c, const Shape& shape) {
  for (const Dim& d : shape) {
    if (c.symbols().at_most(d, int64_t(-1)) == Ternary::kYes)
      return c.error(cat("attribute \"shape\" has a negative extent: ", c.symbols().str(shape)));
  }
  return {};
}

Status infer_reshape(InferContext& c) {
  NNC_TRY(require_tensor(c));
  const Shape& shape = c.node().dims("shape");
  SymbolTable& t = c.symbols();
  NNC_TRY(require_extents(c, shape));
  if (t.equal(t.mul(c.shape(0)), t.mul(shape)) == Ternary::kNo) {
    return c.error(cat("a tensor of shape ", t.str(c.shape(0)), " cannot become ", t.str(shape), ": the number of elements differs"));
  }
  c.result(c.dtype(0), shape);
  return {};
}

void value_reshape(InferContext& c) {
  const auto count = shape_value_count(Type::tensor(c.dtype(0), c.node().dims("shape")));
  if (c.value(0).known && count && *count == c.value(0).elems.size()) c.set_value(0, c.value(0));
}

Status infer_transpose(InferContext& c) {
  NNC_TRY(require_tensor(c));
  const auto& perm = c.node().ints("perm");
  if (!is_permutation_of_axes(perm, c.rank(0))) return c.error(cat("attribute \"perm\" must name each of the ", c.rank(0), " axes once"));
  Shape shape;
  for (const int64_t p : perm) shape.push_back(c.shape(0)[static_cast<size_t>(p)]);
  c.result(c.dtype(0), std::move(shape));
  return {};
}

void value_transpose(InferContext& c) {
  if (c.value(0).known && c.rank(0) <= 1) c.set_value(0, c.value(0));
}

Status infer_broadcast_to(InferContext& c) {
  NNC_TRY(require_tensor(c));
  const Shape &from = c.shape(0), &to = c.node().dims("shape");
  NNC_TRY(require_extents(c, to));
  if (from.size() > to.size()) return c.error(cat("a tensor of rank ", from.size(), " cannot be broadcast to rank ", to.size()));
  const size_t shift = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (c.symbols().equal(from[i], Dim(1)) != Ternary::kNo) continue;
    NNC_TRY(same_extent(c, from[i], to[i + shift], cat("axis ", i + shift, " of the broadcast")));
  }
  c.result(c.dtype(0), to);
  return {};
}

void value_broadcast_to(InferContext& c) {
  const auto count = shape_value_count(Type::tensor(c.dtype(0), c.node().dims("shape")));
  if (!c.value(0).known || !count) return;
  std::vector<std::optional<Rational>> elems(*count);
  for (size_t k = 0; k < *count; ++k) elems[k] = value_at(c.value(0), k);
  ShapeValue v = known_value(std::move(elems));
  if (v.known) c.set_value(0, std::move(v));
}

Status infer_slice(InferContext& c) {
  NNC_TRY(require_tensor(c));
  const Node& n = c.node();
  const auto &axes = n.ints("axes"), &steps = n.ints("steps");
  const Shape &starts = n.dims("starts"), &ends = n.dims("ends");
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size()) {
    return c.error("attributes \"axes\", \"starts\", \"ends\" and \"steps\" must have one length");
  }
  Shape shape = c.shape(0);
  std::vector<bool> seen(shape.size());
  SymbolTable& t = c.symbols();
  for (size_t k = 0; k < axes.size(); ++k) {
    NNC_ASSIGN(const int64_t a, c.axis(axes[k], c.rank(0)));
    const auto axis = static_cast<size_t>(a);
    if (seen[axis]) return c.error(cat("attribute \"axes\" names axis ", a, " twice"));
    seen[axis] = true;
    if (steps[k] == 0) return c.error("attribute \"steps\" must not contain 0");
    const Dim &extent = c.shape(0)[axis], lowest = Dim(steps[k] > 0 ? 0 : -1), highest = steps[k] > 0 ? extent : t.sub(extent, Dim(1));
    for (const Dim& p : {starts[k], ends[k]}) {
      if (t.at_most(t.sub(p, lowest), int64_t(-1)) == Ternary::kYes || t.at_most(t.sub(highest, p), int64_t(-1)) == Ternary::kYes) {
        return c.error(cat("slice position ", t.pretty(p), " lies outside axis ", a, " of extent ", t.pretty(extent)));
      }
    }
    shape[axis] = slice_extent(t, starts[k], ends[k], steps[k]);
  }
  c.result(c.dtype(0), std::move(shape));
  return {};
}

void value_slice(InferContext& c) {
  const Node& n = c.node();
  if (!c.value(0).known || c.rank(0) != 1) return;
  if (n.ints("axes").empty()) return c.set_value(0, c.value(0));
  const Dim &start = n.dims("starts")[0], &end = n.dims("ends")[0];
  const int64_t step = n.ints("steps")[0];
  if (!start.is_const() || !end.is_const()) return;
  std::vector<std::optional<Rational>> elems;
  const auto& x = c.value(0).elems;
  for (int64_t i = start.constant(); step > 0 ? i < end.constant() : i > end.constant(); i += step) {
    if (i < 0 || i >= static_cast<int64_t>(x.size())) return;
    elems.push_back(x[static_cast<size_t>(i)]);
    if (step > static_cast<int64_t>(kMaxShapeValue) || step < -static_cast<int64_t>(kMaxShapeValue)) break;
  }
  ShapeValue v = known_value(std::move(elems));
  if (v.known) c.set_value(0, std::move(v));
}

}  // namespace

std::span<const OpDef> ops_view() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kReshape,
       .doc = "The elements in row-major order under another shape with as many elements. Squeeze and unsqueeze are reshapes.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_required("shape", AttrKind::kDims)},
       .lowering = Lowering::kMap,
       .infer = infer_reshape,
       .value = value_reshape,
       .eval = eval_reshape,
       .body = body_reshape,
       .gradient = gradient_reshape},
      {.kind = OpKind::kTranspose,
       .doc = "Axis i of the result is axis perm[i] of the operand.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_required("perm", AttrKind::kInts)},
       .lowering = Lowering::kMap,
       .infer = infer_transpose,
       .value = value_transpose,
       .eval = eval_transpose,
       .body = body_transpose,
       .gradient = gradient_transpose},
      {.kind = OpKind::kBroadcastTo,
       .doc = "The operand repeated to `shape` by numpy's rule: aligned at the last axis, each extent equal or 1. (A target extent of 1 "
              "does not stretch: importers broadcast first.)",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_required("shape", AttrKind::kDims)},
       .lowering = Lowering::kMap,
       .infer = infer_broadcast_to,
       .value = value_broadcast_to,
       .eval = eval_broadcast_to,
       .body = body_broadcast_to,
       .gradient = gradient_broadcast_to},
      {.kind = OpKind::kSlice,
       .doc = "Elements starts, starts + step, ... before ends along each of `axes`. Positions are normalised: in [0, n] for a positive "
              "step; for a negative one in [-1, n-1], -1 "
              "standing before the first element. An end that is not after the start (in the step's direction) gives extent 0.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_required("axes", AttrKind::kInts), attr_required("starts", AttrKind::kDims), attr_required("ends", AttrKind::kDims),
                 attr_required("steps", AttrKind::kInts)},
       .lowering = Lowering::kMap,
       .infer = infer_slice,
       .value = value_slice,
       .eval = eval_slice,
       .body = body_slice,
       .gradient = gradient_slice},
  };
  return rows;
}

}  // namespace nnc

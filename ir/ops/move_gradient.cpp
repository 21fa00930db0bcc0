#include "ir/ops/gradient_util.h"
#include "ir/ops/rules.h"

namespace nnc {
namespace {

Shape negated(Gradient& t, const Shape& dims) {
  Shape out;
  for (const Dim& d : dims) out.push_back(t.symbols().sub(Dim(0), d));
  return out;
}

ValueId pad_zeros(Gradient& t, ValueId v, Shape before, Shape after) {
  return t.op(OpKind::kPad, {v}, {{"before", std::move(before)}, {"after", std::move(after)}});
}

ValueId slice_axis(Gradient& t, ValueId v, size_t axis, const Dim& start, const Dim& end, int64_t step) {
  return t.op(OpKind::kSlice, {v},
              {{"axes", std::vector<int64_t>{static_cast<int64_t>(axis)}},
               {"starts", Shape{start}},
               {"ends", Shape{end}},
               {"steps", std::vector<int64_t>{step}}});
}

// Gradient of a slice of axis `axis` of extent n by `step` from `start`: the elements of g back at their places, zeros between.
ValueId spread(Gradient& t, ValueId g, size_t axis, const Dim& n, const Dim& start, int64_t step) {
  SymbolTable& s = t.symbols();
  const Shape shape = t.shape(g);
  const Dim m = shape[axis];
  const int64_t stride = step < 0 ? -step : step;
  Dim first = start;
  if (step < 0) {
    g = slice_axis(t, g, axis, s.sub(m, Dim(1)), Dim(-1), -1);
    first = s.sub(start, s.mul(s.sub(m, Dim(1)), Dim(stride)));
  }
  if (stride > 1) {
    Shape split = shape, zeros(shape.size() + 1, Dim(0)), gaps = zeros, merged = shape;
    split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis) + 1, Dim(1));
    gaps[axis + 1] = Dim(stride - 1);
    merged[axis] = s.mul(m, Dim(stride));
    g = t.reshape(pad_zeros(t, t.reshape(g, std::move(split)), std::move(zeros), std::move(gaps)), std::move(merged));
  }
  Shape before(shape.size(), Dim(0)), after(shape.size(), Dim(0));
  before[axis] = first;
  after[axis] = s.sub(s.sub(n, first), s.mul(m, Dim(stride)));
  return pad_zeros(t, g, std::move(before), std::move(after));
}

}  // namespace

Status gradient_range(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  t.give(0, t.g());
  const ValueId steps = t.op(OpKind::kRange, {t.num(t.g(), 0), t.num(t.g(), 1)}, {{"count", t.node().dims("count")}});
  t.give(1, t.mul(t.g(), steps));
  return t.finish();
}

Status gradient_reshape(GradContext& c) {
  Gradient t(c);
  if (t.g().valid() && t.wants(0)) t.give(0, t.reshape(t.g(), t.shape(t.x(0))));
  return t.finish();
}

Status gradient_transpose(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  const auto& perm = t.node().ints("perm");
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  t.give(0, t.transpose(t.g(), std::move(inverse)));
  return t.finish();
}

Status gradient_broadcast_to(GradContext& c) {
  Gradient t(c);
  t.give(0, t.g());
  return t.finish();
}

Status gradient_slice(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  const Shape x = t.shape(t.x(0));
  const auto &axes = t.node().ints("axes"), &steps = t.node().ints("steps");
  ValueId g = t.g();
  for (size_t k = 0; k < axes.size() && g.valid(); ++k) {
    const auto axis = static_cast<size_t>(axes[k] < 0 ? axes[k] + static_cast<int64_t>(x.size()) : axes[k]);
    g = spread(t, g, axis, x[axis], t.node().dims("starts")[k], steps[k]);
  }
  t.give(0, t.reshape(g, x));
  return t.finish();
}

Status gradient_concat(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  const int64_t attr = t.node().i("axis");
  const auto axis = static_cast<size_t>(attr < 0 ? attr + static_cast<int64_t>(t.shape(t.g()).size()) : attr);
  Dim start(0);
  for (size_t k = 0; k < t.node().operands.size(); ++k) {
    const ValueId x = t.x(static_cast<int>(k));
    const Dim end = t.symbols().add(start, t.shape(x)[axis]);
    t.give(static_cast<int>(k), slice_axis(t, t.g(), axis, start, end, 1));
    start = end;
  }
  return t.finish();
}

Status gradient_pad(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  const Shape &before = t.node().dims("before"), &after = t.node().dims("after"), x = t.shape(t.x(0));
  const std::string mode(t.node().s("mode"));
  if (mode == "constant") {
    const ValueId inner = pad_zeros(t, t.g(), negated(t, before), negated(t, after));
    t.give(0, t.reshape(inner, x));
    if (t.wants(1)) t.give(1, t.sub(t.sum_to(t.g(), {}), t.sum_to(inner, {})));
    return t.finish();
  }
  // Each axis is a gather at padded positions.
  ValueId g = t.g();
  for (size_t a = x.size(); a-- > 0 && g.valid();) {
    if (before[a].is_const(0) && after[a].is_const(0)) continue;
    const ValueId zero = t.keep(t.builder().scalar(DType::kI64, 0)), one = t.keep(t.builder().scalar(DType::kI64, 1));
    const ValueId positions = t.op(OpKind::kRange, {zero, one}, {{"count", Shape{x[a]}}});
    const ValueId padded = t.op(OpKind::kPad, {positions}, {{"before", Shape{before[a]}}, {"after", Shape{after[a]}}, {"mode", mode}});
    Shape target = t.shape(g);
    target[a] = x[a];
    g = accumulate_along(t, static_cast<int64_t>(a), padded, g, target);
  }
  t.give(0, g);
  return t.finish();
}

Status gradient_tile(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  const Shape x = t.shape(t.x(0));
  Shape split;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x.size(); ++i) {
    axes.push_back(static_cast<int64_t>(split.size()));
    split.push_back(t.node().dims("repeats")[i]);
    split.push_back(x[i]);
  }
  if (axes.empty()) {
    t.give(0, t.g());
  } else {
    const ValueId sum = t.op(OpKind::kReduce, {t.reshape(t.g(), std::move(split))},
                             {{"kind", std::string("sum")}, {"axes", std::move(axes)}, {"keepdims", int64_t(0)}});
    t.give(0, t.reshape(sum, x));
  }
  return t.finish();
}

Status gradient_trilu(GradContext& c) {
  Gradient t(c);
  if (t.g().valid() && t.wants(0)) t.give(0, t.op(OpKind::kTrilu, {t.g()}, {{"upper", t.node().i("upper")}, {"k", t.node().dims("k")}}));
  return t.finish();
}

Status gradient_pack(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  const int64_t transposed = t.node().i("transposed");
  if (t.node().kind == OpKind::kUnpack) {
    t.give(0, t.op(OpKind::kPack, {t.g()}, {{"transposed", transposed}}));
    return t.finish();
  }
  const Shape x = t.shape(t.x(0));
  Dim k = x[x.size() - 2], n = x.back();
  if (transposed != 0) std::swap(k, n);
  t.give(0, t.op(OpKind::kUnpack, {t.g()}, {{"transposed", transposed}, {"k", Shape{k}}, {"n", Shape{n}}}));
  return t.finish();
}

}  // namespace nnc

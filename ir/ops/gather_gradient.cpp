#include "ir/ops/gradient_util.h"

namespace nnc {
namespace {

AttrList with_reduction(const Node& node, std::string_view reduction) {
  AttrList attrs = {{"reduction", std::string(reduction)}};
  if (node.kind == OpKind::kScatterElements || node.kind == OpKind::kGatherElements) attrs.push_back({"axis", node.i("axis")});
  return attrs;
}

// Reading and writing where a scatter node's indices point.
class Places {
 public:
  explicit Places(Gradient& t) : t_(t) {}
  ValueId read(ValueId x) {
    if (t_.node().kind == OpKind::kScatterNd) return t_.op(OpKind::kGatherNd, {x, t_.x(1)});
    return t_.op(OpKind::kGatherElements, {x, t_.x(1)}, {{"axis", t_.node().i("axis")}});
  }
  ValueId write(ValueId x, ValueId updates, std::string_view reduction) {
    return t_.op(t_.node().kind, {x, t_.x(1), updates}, with_reduction(t_.node(), reduction));
  }

 private:
  Gradient& t_;
};

// y is a product over x and the updates at each place. The derivative by one factor is the product of the others: y / factor unless zeros
// are among them, which are counted: with one zero its derivative is the product of the rest and all others are 0, with more all are 0.
void give_products(Gradient& t, Places& places) {
  const ValueId x = t.x(0), u = t.x(2), g = t.g(), zero = t.num(x, 0), one = t.num(x, 1);
  const ValueId x_zero = t.equal(x, zero), u_zero = t.equal(u, zero);
  const ValueId x_safe = t.where(x_zero, one, x), u_safe = t.where(u_zero, one, u);
  const ValueId product = places.write(x_safe, u_safe, "mul");
  const ValueId zeros = places.write(t.cast(x_zero, t.dtype(x)), t.cast(u_zero, t.dtype(x)), "add");
  const auto derivative = [&](ValueId is_zero, ValueId safe, ValueId rest, ValueId count) {
    const ValueId others = t.sub(count, t.cast(is_zero, t.dtype(x)));
    return t.where_or_zero(t.equal(others, zero), t.div(rest, safe));
  };
  t.give(0, t.mul(g, derivative(x_zero, x_safe, product, zeros)));
  t.give(2, t.mul(places.read(g), derivative(u_zero, u_safe, places.read(product), places.read(zeros))));
}

// All operands equal to the result share its gradient.
void give_extremes(Gradient& t, Places& places) {
  const DType dtype = t.dtype(t.x(0));
  const ValueId x_hit = t.cast(t.equal(t.x(0), t.y()), dtype), u_hit = t.cast(t.equal(t.x(2), places.read(t.y())), dtype);
  const ValueId share = t.div(t.g(), places.write(x_hit, u_hit, "add"));
  t.give(0, t.mul(share, x_hit));
  t.give(2, t.mul(places.read(share), u_hit));
}

// Index tuples of a gather_nd with batch axes, as tuples without: the batch coordinates are written out.
ValueId explicit_tuples(Gradient& t, ValueId indices, size_t batch) {
  const Shape shape = t.shape(indices);
  std::vector<ValueId> parts;
  const ValueId zero = t.keep(t.builder().scalar(DType::kI64, 0)), one = t.keep(t.builder().scalar(DType::kI64, 1));
  for (size_t b = 0; b < batch; ++b) {
    Shape column(shape.size(), Dim(1)), whole = shape;
    column[b] = shape[b];
    whole.back() = Dim(1);
    const ValueId coordinate = t.reshape(t.op(OpKind::kRange, {zero, one}, {{"count", Shape{shape[b]}}}), std::move(column));
    parts.push_back(t.op(OpKind::kBroadcastTo, {coordinate}, {{"shape", std::move(whole)}}));
  }
  parts.push_back(t.cast(indices, DType::kI64));
  return t.op(OpKind::kConcat, std::move(parts), {{"axis", static_cast<int64_t>(shape.size()) - 1}});
}

}  // namespace

Status gradient_gather(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  const Shape x = t.shape(t.x(0));
  const int64_t axis = t.node().i("axis");
  t.give(0, accumulate_along(t, axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis, t.x(1), t.g(), x));
  return t.finish();
}

Status gradient_gather_elements(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  const ValueId zeros = t.full(t.shape(t.x(0)), t.dtype(t.g()), 0);
  t.give(0, t.op(OpKind::kScatterElements, {zeros, t.x(1), t.g()}, {{"reduction", std::string("add")}, {"axis", t.node().i("axis")}}));
  return t.finish();
}

Status gradient_gather_nd(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  const ValueId tuples = explicit_tuples(t, t.x(1), static_cast<size_t>(t.node().i("batch_dims")));
  const ValueId zeros = t.full(t.shape(t.x(0)), t.dtype(t.g()), 0);
  t.give(0, t.op(OpKind::kScatterNd, {zeros, tuples, t.g()}, {{"reduction", std::string("add")}}));
  return t.finish();
}

Status gradient_scatter(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(0)) return {};
  const std::string reduction(t.node().s("reduction"));
  Places places(t);
  if (reduction == "none") {
    t.give(0, places.write(t.g(), t.full(t.shape(t.x(2)), t.dtype(t.g()), 0), "none"));
    t.give(2, places.read(t.g()));
  } else if (reduction == "add") {
    t.give(0, t.g());
    t.give(2, places.read(t.g()));
  } else if (reduction == "mul") {
    give_products(t, places);
  } else {
    give_extremes(t, places);
  }
  return t.finish();
}

Status gradient_one_hot(GradContext& c) {
  Gradient t(c);
  if (!t.g().valid() || !t.wants(1)) return {};
  const ValueId off_on =
      t.op(OpKind::kConcat, {t.reshape(t.num(t.g(), 0), {Dim(1)}), t.reshape(t.num(t.g(), 1), {Dim(1)})}, {{"axis", int64_t(0)}});
  const ValueId hot = t.op(OpKind::kOneHot, {t.x(0), off_on}, {{"axis", t.node().i("axis")}, {"depth", t.node().dims("depth")}});
  const ValueId on = t.reshape(t.sum_to(t.mul(t.g(), hot), {}), {Dim(1)}), all = t.reshape(t.sum_to(t.g(), {}), {Dim(1)});
  t.give(1, t.op(OpKind::kConcat, {t.sub(all, on), on}, {{"axis", int64_t(0)}}));
  return t.finish();
}

}  // namespace nnc

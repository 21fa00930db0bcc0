// The gradient of lstm: what depends on one step alone is computed for all steps at once; two loops remain, one that finds the cell states
// again, one that carries the gradients of the states back. Everything is in step order (the order in which a direction walks), [steps,
// batch, ...].

#include <functional>

#include "ir/ops/contract.h"
#include "ir/ops/recurrent.h"
#include "ir/ops/spelling.h"

namespace nnc {

namespace {

using Ints = std::vector<int64_t>;

struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

Activation activation(const Node& node, size_t at) {
  static constexpr std::string_view kDefaults[] = {"sigmoid", "tanh", "tanh"};
  const auto* names = std::get_if<std::vector<std::string>>(&node.attr("activations"));
  const auto number = [&](std::string_view attr) { return node.floats(attr).empty() ? 0.0 : node.floats(attr)[at]; };
  return {names != nullptr && !names->empty() ? (*names)[at] : std::string(kDefaults[at % 3]), number("activation_alpha"),
          number("activation_beta")};
}

ValueId one_minus(Gradient& t, ValueId x) { return t.sub(t.num(x, 1), x); }
ValueId unary(Gradient& t, OpKind kind, ValueId x) { return t.op(kind, {x}); }
ValueId indicator(Gradient& t, ValueId condition, ValueId like) { return t.cast(condition, t.dtype(like)); }
ValueId linear(Gradient& t, const Activation& a, ValueId x) { return t.plus(t.scaled(x, a.alpha), a.beta); }
ValueId negative(Gradient& t, ValueId x) { return t.less(x, t.num(x, 0)); }

ValueId activate(Gradient& t, const Activation& a, ValueId x) {
  if (a.name == "sigmoid") return unary(t, OpKind::kSigmoid, x);
  if (a.name == "tanh") return unary(t, OpKind::kTanh, x);
  if (a.name == "relu") return unary(t, OpKind::kRelu, x);
  if (a.name == "affine") return linear(t, a, x);
  if (a.name == "leaky_relu") return t.where(negative(t, x), t.scaled(x, a.alpha), x);
  if (a.name == "thresholded_relu") return t.where_or_zero(t.less(t.num(x, a.alpha), x), x);
  if (a.name == "scaled_tanh") return t.scaled(unary(t, OpKind::kTanh, t.scaled(x, a.beta)), a.alpha);
  if (a.name == "hard_sigmoid") return t.op(OpKind::kClip, {linear(t, a, x), t.num(x, 0), t.num(x, 1)});
  if (a.name == "elu") return t.where(negative(t, x), t.scaled(t.plus(unary(t, OpKind::kExp, x), -1), a.alpha), x);
  const ValueId size = unary(t, OpKind::kAbs, x);
  if (a.name == "softsign") return t.div(x, t.plus(size, 1));
  return t.add(unary(t, OpKind::kRelu, x), unary(t, OpKind::kLog, t.plus(unary(t, OpKind::kExp, t.neg(size)), 1)));  // softplus
}

ValueId slope(Gradient& t, const Activation& a, ValueId x) {
  const auto square_of_tanh = [&](ValueId v) {
    const ValueId y = unary(t, OpKind::kTanh, v);
    return t.mul(y, y);
  };
  if (a.name == "sigmoid") {
    const ValueId y = unary(t, OpKind::kSigmoid, x);
    return t.mul(y, one_minus(t, y));
  }
  if (a.name == "tanh") return one_minus(t, square_of_tanh(x));
  if (a.name == "relu") return indicator(t, t.less(t.num(x, 0), x), x);
  if (a.name == "affine") return t.full(t.shape(x), t.dtype(x), a.alpha);
  if (a.name == "leaky_relu") return t.where(negative(t, x), t.num(x, a.alpha), t.num(x, 1));
  if (a.name == "thresholded_relu") return indicator(t, t.less(t.num(x, a.alpha), x), x);
  if (a.name == "scaled_tanh") return t.scaled(one_minus(t, square_of_tanh(t.scaled(x, a.beta))), a.alpha * a.beta);
  if (a.name == "hard_sigmoid") {
    const ValueId v = linear(t, a, x), inside = t.op(OpKind::kAnd, {t.less(t.num(x, 0), v), t.less(v, t.num(x, 1))});
    return t.scaled(indicator(t, inside, x), a.alpha);
  }
  if (a.name == "elu") return t.where(negative(t, x), t.scaled(unary(t, OpKind::kExp, x), a.alpha), t.num(x, 1));
  if (a.name == "softsign") {
    const ValueId d = t.plus(unary(t, OpKind::kAbs, x), 1);
    return unary(t, OpKind::kReciprocal, t.mul(d, d));
  }
  return unary(t, OpKind::kSigmoid, x);  // softplus
}

ValueId clipped(Gradient& t, ValueId x) {
  const double limit = t.node().f("clip");
  return limit > 0 ? t.op(OpKind::kClip, {x, t.num(x, -limit), t.num(x, limit)}) : x;
}
// The slope of an activation of the clipped x.
ValueId clipped_slope(Gradient& t, const Activation& a, ValueId x) {
  const ValueId s = slope(t, a, clipped(t, x));
  const double limit = t.node().f("clip");
  return limit > 0 ? t.mul(s, one_minus(t, indicator(t, t.less(t.num(x, limit), unary(t, OpKind::kAbs, x)), x))) : s;
}

ValueId cut(Gradient& t, ValueId v, int64_t axis, const Dim& begin, const Dim& end, int64_t step = 1) {
  return v.valid() ? t.keep(t.builder().slice(v, {axis}, {begin}, {end}, {step})) : v;
}
// Part `k` of `n` elements along the last axis.
ValueId part(Gradient& t, ValueId v, int64_t k, int64_t n) {
  return v.valid() ? cut(t, v, static_cast<int64_t>(t.shape(v).size()) - 1, k * n, (k + 1) * n) : v;
}
// v at `at` of `axis`, which goes.
ValueId pick(Gradient& t, ValueId v, int64_t axis, int64_t at) {
  if (!v.valid()) return v;
  Shape shape = t.shape(v);
  shape.erase(shape.begin() + axis);
  return t.reshape(cut(t, v, axis, at, at + 1), std::move(shape));
}
ValueId flipped(Gradient& t, ValueId v) { return v.valid() ? cut(t, v, 0, t.symbols().sub(t.shape(v)[0], 1), -1, -1) : v; }
ValueId join(Gradient& t, std::vector<ValueId> vs, int64_t axis) {
  for (ValueId v : vs)
    if (!v.valid()) return v;
  return t.keep(t.builder().concat(std::move(vs), axis));
}

struct Lstm {
  DType compute;
  Dim steps, batch, inputs;
  int64_t hidden, directions;
  bool batch_first;
};

// One loop over the steps: carried values and what is the same for all, then in the body the step's slice of each of `per_step`. The body
// gives the new carried values and one value to stack.
struct LoopBody {
  std::vector<ValueId> carried, fixed, at_step;
};
struct LoopResult {
  std::vector<ValueId> carried, stacked;
};
Result<LoopResult> loop_over_steps(GradContext& c, const Lstm& l, const std::vector<ValueId>& carried, const std::vector<ValueId>& fixed,
                                   const std::vector<ValueId>& per_step,
                                   const std::function<std::vector<ValueId>(Gradient&, const LoopBody&)>& body) {
  Graph& g = c.b.graph();
  NNC_ASSIGN(const std::vector<ValueId> trip, c.b.ops(OpKind::kDimsValue, {}, {{"dims", Shape{l.steps}}, {"rank0", int64_t{1}}}));
  std::vector<ValueId> operands = {trip[0], {}};
  for (const auto* group : {&carried, &fixed, &per_step}) operands.insert(operands.end(), group->begin(), group->end());
  const RegionId id = g.add_region("lstm");
  Graph& region = g.region(id);
  const ValueId step = region.add_input(Type::tensor(DType::kI64, {})), go = region.add_input(Type::tensor(DType::kBool, {}));
  LoopBody in;
  const auto add = [&](const std::vector<ValueId>& outer, std::vector<ValueId>& inner) {
    for (ValueId v : outer) inner.push_back(region.add_input(Type(g.type(v))));
  };
  std::vector<ValueId> whole;
  add(carried, in.carried), add(fixed, in.fixed), add(per_step, whole);
  Builder b(region, c.b.loc());
  GradContext inside{b, c.graph, c.node, {}, nullptr};
  Gradient t(inside);
  for (ValueId v : whole) in.at_step.push_back(t.op(OpKind::kGather, {v, step}));
  std::vector<ValueId> outputs = body(t, in);
  NNC_TRY(t.finish());
  outputs.insert(outputs.begin(), go);
  const auto scan = static_cast<int64_t>(outputs.size() - 1 - carried.size());
  region.set_outputs(outputs);
  NNC_ASSIGN(const std::vector<ValueId> results,
             c.b.ops(OpKind::kLoop, operands, {{"carried", static_cast<int64_t>(carried.size())}, {"scan", scan}}, {id}));
  const auto split = results.begin() + static_cast<std::ptrdiff_t>(carried.size());
  return LoopResult{{results.begin(), split}, {split, results.end()}};
}

// Gradients of one direction, batch after the steps.
struct DirectionGradients {
  ValueId x, w, r, b, h0, c0, peephole;
};

class Direction {
 public:
  Direction(GradContext& c, Gradient& t, const Lstm& l, int64_t d) : c_(c), t_(t), l_(l), d_(d) {
    for (size_t k = 0; k < 3; ++k) act_[k] = activation(t.node(), static_cast<size_t>(3 * d) + k);
    reverse_ = t.node().s("direction") == "reverse" || d == 1;
  }
  Result<DirectionGradients> run();

 private:
  ValueId wide(ValueId v) { return t_.cast(v, l_.compute); }
  ValueId state(int operand) {  // [B, H]
    return t_.has(operand) ? wide(pick(t_, t_.x(operand), l_.batch_first ? 1 : 0, d_)) : t_.full({l_.batch, l_.hidden}, l_.compute, 0);
  }
  ValueId final_gradient(int result) {
    return t_.g(result).valid() ? wide(pick(t_, t_.g(result), l_.batch_first ? 1 : 0, d_)) : t_.full({l_.batch, l_.hidden}, l_.compute, 0);
  }
  ValueId sequence(ValueId v) { return l_.batch_first && v.valid() ? t_.transpose(v, {1, 0, 2}) : v; }
  ValueId rows_of_y(ValueId y) { return wide(sequence(pick(t_, y, l_.batch_first ? 2 : 1, d_))); }
  void find_order();
  ValueId to_steps(ValueId v);  // its own inverse where a step is valid
  ValueId shifted(ValueId first, ValueId rest);
  ValueId product(ValueId a, ValueId b, bool ta, bool tb) {
    return t_.op(OpKind::kMatMul, {a, b}, {{"transpose_a", int64_t{ta}}, {"transpose_b", int64_t{tb}}});
  }
  // sum over steps and batch of a' b.
  ValueId outer(ValueId a, ValueId b) {
    const Dim rows = t_.symbols().mul(l_.steps, l_.batch);
    const auto flat = [&](ValueId v) { return v.valid() ? t_.reshape(v, {rows, t_.shape(v)[2]}) : v; };
    return product(flat(a), flat(b), true, false);
  }
  ValueId total(ValueId v) { return v.valid() ? t_.keep(t_.builder().reduce("sum", v, {0, 1}, false)) : v; }
  ValueId peephole(int64_t gate) { return part(t_, pick(t_, wide(t_.x(7)), 0, d_), gate, l_.hidden); }  // [H]
  ValueId with_peephole(Gradient& t, ValueId z, ValueId weight, ValueId cell) { return weight.valid() ? t.add(z, t.mul(weight, cell)) : z; }

  GradContext& c_;
  Gradient& t_;
  const Lstm& l_;
  int64_t d_;
  bool reverse_ = false;
  Activation act_[3];
  ValueId valid_;  // [S, B, 1], invalid: all are
  ValueId order_;  // [S, B] rows of [S * B, ...], invalid: as they are, or flipped
};

void Direction::find_order() {
  if (!t_.has(4)) return;
  const ValueId lengths = t_.cast(t_.x(4), DType::kI64), zero = t_.keep(t_.builder().scalar(DType::kI64, 0)),
                one = t_.keep(t_.builder().scalar(DType::kI64, 1));
  const ValueId step = t_.reshape(t_.op(OpKind::kRange, {zero, one}, {{"count", Shape{l_.steps}}}), {l_.steps, 1});
  valid_ = t_.reshape(t_.less(step, lengths), {l_.steps, l_.batch, 1});
  if (!reverse_) return;
  const ValueId from_end = t_.op(OpKind::kMax, {t_.sub(t_.sub(lengths, one), step), zero});
  const ValueId width = t_.op(OpKind::kDimsValue, {}, {{"dims", Shape{l_.batch}}, {"rank0", int64_t{1}}});
  order_ = t_.add(t_.mul(from_end, width), t_.op(OpKind::kRange, {zero, one}, {{"count", Shape{l_.batch}}}));
}

ValueId Direction::to_steps(ValueId v) {
  if (!v.valid() || !reverse_) return v;
  if (!order_.valid()) return flipped(t_, v);
  return t_.op(OpKind::kGather, {t_.reshape(v, {t_.symbols().mul(l_.steps, l_.batch), t_.shape(v)[2]}), order_});
}

// [first, rest without its last]: the states before each step.
ValueId Direction::shifted(ValueId first, ValueId rest) {
  return cut(t_, join(t_, {t_.reshape(first, {1, l_.batch, l_.hidden}), rest}, 0), 0, 0, l_.steps);
}

Result<DirectionGradients> Direction::run() {
  const int64_t n = l_.hidden;
  const bool coupled = t_.node().i("input_forget") != 0;
  find_order();
  const ValueId x = to_steps(wide(sequence(t_.x(0)))), w = wide(pick(t_, t_.x(1), 0, d_)), r = wide(pick(t_, t_.x(2), 0, d_));
  const ValueId h_before = shifted(state(5), to_steps(rows_of_y(t_.y(0))));
  ValueId z = t_.add(product(x, w, false, true), product(h_before, r, false, true));
  if (t_.has(3)) {
    const ValueId b = wide(pick(t_, t_.x(3), 0, d_));
    z = t_.add(z, t_.add(part(t_, b, 0, 4 * n), part(t_, b, 1, 4 * n)));
  }
  const ValueId zi = part(t_, z, 0, n), zo = part(t_, z, 1, n), zf = part(t_, z, 2, n), zc = part(t_, z, 3, n);
  std::vector<ValueId> peep;  // i, o, f
  for (int64_t gate = 0; gate < 3 && t_.has(7); ++gate) peep.push_back(peephole(gate));
  const auto weight = [&](const std::vector<ValueId>& p, size_t gate) { return p.empty() ? ValueId() : p[gate]; };
  NNC_TRY(t_.finish());

  std::vector<ValueId> per_step = {zi, zf, zc};
  if (valid_.valid()) per_step.push_back(valid_);
  NNC_ASSIGN(const LoopResult forward,
             loop_over_steps(c_, l_, {state(6)}, peep, per_step, [&](Gradient& t, const LoopBody& in) -> std::vector<ValueId> {
               const ValueId before = in.carried[0];
               const ValueId i = activate(t, act_[0], clipped(t, with_peephole(t, in.at_step[0], weight(in.fixed, 0), before)));
               const ValueId f = coupled ? one_minus(t, i)
                                         : activate(t, act_[0], clipped(t, with_peephole(t, in.at_step[1], weight(in.fixed, 2), before)));
               ValueId cell = t.add(t.mul(f, before), t.mul(i, activate(t, act_[1], clipped(t, in.at_step[2]))));
               if (valid_.valid()) cell = t.where(in.at_step[3], cell, before);
               return {cell, cell};
             }));
  const ValueId cell = forward.stacked[0], cell_before = shifted(state(6), cell);
  const ValueId ai = with_peephole(t_, zi, weight(peep, 0), cell_before), af = with_peephole(t_, zf, weight(peep, 2), cell_before);
  const ValueId ao = with_peephole(t_, zo, weight(peep, 1), cell);
  const ValueId i = activate(t_, act_[0], clipped(t_, ai)), o = activate(t_, act_[0], clipped(t_, ao)),
                g = activate(t_, act_[1], clipped(t_, zc));
  const ValueId f = coupled ? one_minus(t_, i) : activate(t_, act_[0], clipped(t_, af));
  // With dh and dc what flows into the states after a step: dz_o = dh * k_o, dc += dh * k_h, dz_i = dc * k_i, dz_f = dc * k_f, dz_c = dc *
  // k_c, and dc * k_b flows to the cell before.
  const ValueId k_o = t_.mul(activate(t_, act_[2], cell), clipped_slope(t_, act_[0], ao));
  const ValueId k_h = with_peephole(t_, t_.mul(o, slope(t_, act_[2], cell)), weight(peep, 1), k_o);
  const ValueId k_i = t_.mul(coupled ? t_.sub(g, cell_before) : g, clipped_slope(t_, act_[0], ai));
  const ValueId k_f = coupled ? t_.full({l_.steps, l_.batch, n}, l_.compute, 0) : t_.mul(cell_before, clipped_slope(t_, act_[0], af));
  const ValueId k_c = t_.mul(i, clipped_slope(t_, act_[1], zc));
  const ValueId k_b = with_peephole(t_, with_peephole(t_, f, weight(peep, 0), k_i), weight(peep, 2), k_f);
  const ValueId dy = t_.g(0).valid() ? to_steps(rows_of_y(t_.g(0))) : t_.full({l_.steps, l_.batch, n}, l_.compute, 0);
  per_step.clear();
  for (ValueId v : {dy, k_o, k_h, k_i, k_f, k_c, k_b}) per_step.push_back(flipped(t_, v));
  if (valid_.valid()) per_step.push_back(flipped(t_, valid_));
  const ValueId dh_end = final_gradient(1), dc_end = final_gradient(2);
  NNC_TRY(t_.finish());

  NNC_ASSIGN(const LoopResult backward,
             loop_over_steps(c_, l_, {dh_end, dc_end}, {r}, per_step, [&](Gradient& t, const LoopBody& in) -> std::vector<ValueId> {
               const auto& k = in.at_step;
               const ValueId dh = t.add(in.carried[0], k[0]), dc = t.add(in.carried[1], t.mul(dh, k[2]));
               ValueId dz = join(t, {t.mul(dc, k[3]), t.mul(dh, k[1]), t.mul(dc, k[4]), t.mul(dc, k[5])}, 1);
               ValueId before_h = t.op(OpKind::kMatMul, {dz, in.fixed[0]}), before_c = t.mul(dc, k[6]);
               if (valid_.valid()) {
                 before_h = t.where(k[7], before_h, in.carried[0]);
                 before_c = t.where(k[7], before_c, in.carried[1]);
                 dz = t.where_or_zero(k[7], dz);
               }
               return {before_h, before_c, dz};
             }));
  const ValueId dz = flipped(t_, backward.stacked[0]);
  DirectionGradients d;
  d.h0 = backward.carried[0];
  d.c0 = backward.carried[1];
  d.w = outer(dz, x);
  d.r = outer(dz, h_before);
  const ValueId db = total(dz);
  d.b = join(t_, {db, db}, 0);
  if (!peep.empty()) {
    d.peephole = join(t_,
                      {total(t_.mul(part(t_, dz, 0, n), cell_before)), total(t_.mul(part(t_, dz, 1, n), cell)),
                       total(t_.mul(part(t_, dz, 2, n), cell_before))},
                      0);
  }
  d.x = to_steps(product(dz, w, false, false));
  if (valid_.valid()) d.x = t_.where_or_zero(valid_, d.x);
  d.x = sequence(d.x);
  NNC_TRY(t_.finish());
  return d;
}

}  // namespace

Status gradient_lstm(GradContext& c) {
  Gradient t(c);
  if (is_packed(t.node().s("w_format")))
    return Error(Code::kNoGradient, "packed weights have no gradient: weights are packed after differentiation");
  const Shape x = t.shape(t.x(0));
  Lstm l;
  l.compute = compute_float(t.dtype(t.x(0)));
  l.batch_first = t.node().s("layout") == "batch_first";
  l.steps = x[l.batch_first ? 1 : 0], l.batch = x[l.batch_first ? 0 : 1], l.inputs = x[2];
  l.hidden = t.node().i("hidden");
  l.directions = t.node().s("direction") == "bidirectional" ? 2 : 1;
  std::vector<DirectionGradients> all;
  for (int64_t d = 0; d < l.directions; ++d) {
    NNC_ASSIGN(DirectionGradients one, Direction(c, t, l, d).run());
    all.push_back(one);
  }
  const auto give = [&](int i, ValueId DirectionGradients::*member, int64_t axis) {
    if (!t.wants(i)) return;
    std::vector<ValueId> each;
    for (const DirectionGradients& d : all) {
      if (!(d.*member).valid()) return;
      Shape shape = t.shape(d.*member);
      shape.insert(shape.begin() + axis, Dim(1));
      each.push_back(t.reshape(d.*member, std::move(shape)));
    }
    t.give(i, t.cast(join(t, std::move(each), axis), t.dtype(t.x(i))));
  };
  ValueId dx = all[0].x;
  if (all.size() > 1) dx = t.add(dx, all[1].x);
  t.give(0, t.cast(dx, t.dtype(t.x(0))));
  give(1, &DirectionGradients::w, 0);
  give(2, &DirectionGradients::r, 0);
  give(3, &DirectionGradients::b, 0);
  give(5, &DirectionGradients::h0, l.batch_first ? 1 : 0);
  give(6, &DirectionGradients::c0, l.batch_first ? 1 : 0);
  give(7, &DirectionGradients::peephole, 0);
  return t.finish();
}

}  // namespace nnc

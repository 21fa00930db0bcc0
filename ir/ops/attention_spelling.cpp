// attention and rotary in simpler ops, forward and backward.

#include <cmath>
#include <limits>

#include "ir/ops/attention.h"
#include "ir/ops/spelling.h"

namespace nnc {

namespace {

using Ints = std::vector<int64_t>;

ValueId iota(Gradient& t, const Dim& count, bool rows) {
  const ValueId zero = t.keep(t.builder().scalar(DType::kI64, 0)), one = t.keep(t.builder().scalar(DType::kI64, 1));
  const ValueId v = t.op(OpKind::kRange, {zero, one}, {{"count", Shape{count}}});
  return rows ? t.reshape(v, {count, 1}) : v;
}

// What both directions need: operands in the compute dtype, heads of k and v repeated, probabilities.
struct Attention {
  DType compute;
  ValueId q, k, v, capped, probability;
  ValueId scale;
  Shape grouped;  // [B, G, H / G, T, .] without the last axis; empty where no head is repeated
};

// Each head of x, [B, G, T, D], repeated for the heads of q that share it.
ValueId repeat_heads(Gradient& t, ValueId x, const Shape& grouped, const Dim& heads) {
  if (grouped.empty() || !x.valid()) return x;
  const Shape from = t.shape(x);
  Shape wide = grouped;
  wide.push_back(from[3]);
  const ValueId spread = broadcast(t, t.reshape(x, {from[0], from[1], 1, from[2], from[3]}), wide);
  return t.reshape(spread, {from[0], heads, from[2], from[3]});
}

// The gradient of repeat_heads.
ValueId sum_heads(Gradient& t, ValueId g, const Shape& grouped) {
  if (grouped.empty() || !g.valid()) return g;
  Shape wide = grouped;
  wide.push_back(t.shape(g)[3]);
  const ValueId split = t.reshape(g, wide);
  return split.valid() ? t.keep(t.builder().reduce("sum", split, {2}, false)) : split;
}

ValueId product(Gradient& t, ValueId a, ValueId b, bool ta, bool tb) {
  return t.op(OpKind::kMatMul, {a, b}, {{"transpose_a", int64_t{ta}}, {"transpose_b", int64_t{tb}}});
}

ValueId masked(Gradient& t, const Attention& a, ValueId score) {
  const Shape q = t.shape(t.x(0));
  const Dim keys = t.shape(t.x(1))[2];
  const ValueId never = t.num(score, -std::numeric_limits<double>::infinity());
  if (t.has(3)) score = t.dtype(t.x(3)) == DType::kBool ? t.where(t.x(3), score, never) : t.add(score, t.cast(t.x(3), a.compute));
  if (t.has(4)) score = t.where(t.less(iota(t, keys, false), t.reshape(t.x(4), {q[0], 1, 1, 1})), score, never);
  if (t.node().i("causal") != 0) {
    const Shape offset = t.node().dims("causal_offset");
    ValueId last = iota(t, q[2], true);
    if (!offset.empty()) last = t.add(last, t.op(OpKind::kDimsValue, {}, {{"dims", offset}, {"rank0", int64_t{1}}}));
    score = t.where(t.less(last, iota(t, keys, false)), never, score);
  }
  return score;
}

ValueId scale_value(Gradient& t, ValueId like) {
  if (t.node().has_attr("scale")) return t.num(like, t.node().f("scale"));
  return t.op(OpKind::kReciprocal, {t.op(OpKind::kSqrt, {element_count_of(t, {t.shape(t.x(0))[3]}, like)})});
}

Result<Attention> forward(Gradient& t) {
  Attention a;
  a.compute = compute_float(t.dtype(t.x(0)));
  const Shape q = t.shape(t.x(0)), k = t.shape(t.x(1));
  if (t.symbols().equal(q[1], k[1]) != Ternary::kYes) {
    const std::optional<Dim> repeat = t.symbols().div_exact(q[1], k[1]);
    if (!repeat)
      return Error(Code::kNeedDims, "attention over grouped heads needs the number of heads").with("try: --dim NAME=N for the heads");
    a.grouped = {k[0], k[1], *repeat, k[2]};
  }
  a.q = t.cast(t.x(0), a.compute);
  a.k = repeat_heads(t, t.cast(t.x(1), a.compute), a.grouped, q[1]);
  a.v = repeat_heads(t, t.cast(t.x(2), a.compute), a.grouped, q[1]);
  a.scale = scale_value(t, a.q);
  ValueId score = t.mul(product(t, a.q, a.k, false, true), a.scale);
  if (const double cap = t.node().f("softcap"); cap > 0) {
    a.capped = t.op(OpKind::kTanh, {t.div(score, t.num(score, cap))});
    score = t.scaled(a.capped, cap);
  }
  a.probability = t.op(OpKind::kSoftmax, {masked(t, a, score)}, {{"axis", int64_t{3}}});
  return a;
}

}  // namespace

Status expand_attention(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results) {
  Expansion t(b, g, id);
  NNC_ASSIGN(const Attention a, forward(t));
  const ValueId y = product(t, a.probability, a.v, false, false);
  return t.finish({t.cast(y, t.dtype(t.x(0)))}, results);
}

Status gradient_attention(GradContext& c) {
  Gradient t(c);
  NNC_ASSIGN(const Attention a, forward(t));
  const ValueId g = t.cast(t.g(), a.compute), p = a.probability;
  const auto give = [&](int i, ValueId v) { t.give(i, t.cast(v, t.dtype(t.x(i)))); };
  if (t.wants(2)) give(2, sum_heads(t, product(t, p, g, true, false), a.grouped));
  const ValueId dp = product(t, g, a.v, false, true);
  ValueId ds = t.mul(p, t.sub(dp, reduced(t, "sum", t.mul(dp, p), {3})));
  if (t.wants(3)) give(3, t.sum_to(ds, t.shape(t.x(3))));
  if (a.capped.valid()) ds = t.mul(ds, t.sub(t.num(ds, 1), t.mul(a.capped, a.capped)));
  ds = t.mul(ds, a.scale);
  if (t.wants(0)) give(0, product(t, ds, a.k, false, false));
  if (t.wants(1)) give(1, sum_heads(t, product(t, ds, a.q, true, false), a.grouped));
  return t.finish();
}

namespace {

// The elements of the last axis that are rotated, as first and second of each pair, and the others.
struct Pairs {
  ValueId first, second, rest;
};

ValueId take(Gradient& t, ValueId x, const Dim& begin, const Dim& end, int64_t step) {
  if (!x.valid()) return x;
  return t.keep(t.builder().slice(x, {static_cast<int64_t>(t.shape(x).size()) - 1}, {begin}, {end}, {step}));
}

Pairs split(Gradient& t, ValueId x, const Dim& rotated) {
  if (!x.valid()) return {};
  Pairs p;
  const Dim width = t.shape(x).back(), half = t.symbols().floordiv(rotated, 2);
  if (t.node().i("interleaved") != 0) {
    p.first = take(t, x, 0, rotated, 2);
    p.second = take(t, x, 1, rotated, 2);
  } else {
    p.first = take(t, x, 0, half, 1);
    p.second = take(t, x, half, rotated, 1);
  }
  if (width != rotated) p.rest = take(t, x, rotated, width, 1);
  return p;
}

ValueId join(Gradient& t, Pairs p, const Dim& rotated) {
  if (!p.first.valid() || !p.second.valid()) return {};
  const auto last = static_cast<int64_t>(t.shape(p.first).size()) - 1;
  ValueId y;
  if (t.node().i("interleaved") != 0) {
    Shape column = t.shape(p.first), whole = column;
    column.emplace_back(1);
    whole.back() = rotated;
    y = t.reshape(t.keep(t.builder().concat({t.reshape(p.first, column), t.reshape(p.second, column)}, last + 1)), whole);
  } else {
    y = t.keep(t.builder().concat({p.first, p.second}, last));
  }
  return p.rest.valid() && y.valid() ? t.keep(t.builder().concat({y, p.rest}, last)) : y;
}

struct Rotation {
  DType compute;
  Dim rotated;
  Pairs x, cos, sin;
  bool full[2];  // cos, sin have one entry per element
};

Rotation rotation(Gradient& t) {
  Rotation r;
  r.compute = compute_float(t.dtype(t.x(0)));
  r.rotated = t.node().i("rotary_dim") != 0 ? Dim(t.node().i("rotary_dim")) : t.shape(t.x(0)).back();
  r.x = split(t, t.cast(t.x(0), r.compute), r.rotated);
  for (int i = 0; i < 2; ++i) {
    const ValueId table = t.cast(t.x(i + 1), r.compute);
    r.full[i] = t.symbols().equal(t.shape(table).back(), r.rotated) == Ternary::kYes;
    (i == 0 ? r.cos : r.sin) = r.full[i] ? split(t, table, r.rotated) : Pairs{table, table, {}};
  }
  return r;
}

}  // namespace

Status expand_rotary(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results) {
  Expansion t(b, g, id);
  const Rotation r = rotation(t);
  Pairs y;
  y.first = t.sub(t.mul(r.x.first, r.cos.first), t.mul(r.x.second, r.sin.first));
  y.second = t.add(t.mul(r.x.second, r.cos.second), t.mul(r.x.first, r.sin.second));
  y.rest = r.x.rest;
  return t.finish({t.cast(join(t, y, r.rotated), t.dtype(t.x(0)))}, results);
}

Status gradient_rotary(GradContext& c) {
  Gradient t(c);
  const Rotation r = rotation(t);
  const Pairs g = split(t, t.cast(t.g(), r.compute), r.rotated);
  Pairs dx;
  dx.first = t.add(t.mul(g.first, r.cos.first), t.mul(g.second, r.sin.second));
  dx.second = t.sub(t.mul(g.second, r.cos.second), t.mul(g.first, r.sin.first));
  dx.rest = g.rest;
  t.give(0, t.cast(join(t, dx, r.rotated), t.dtype(t.x(0))));
  const auto give_table = [&](int i, ValueId first, ValueId second) {
    if (!t.wants(i)) return;
    const ValueId whole = r.full[i - 1] ? join(t, {first, second, {}}, r.rotated) : t.add(first, second);
    t.give(i, t.cast(t.sum_to(whole, t.shape(t.x(i))), t.dtype(t.x(i))));
  };
  give_table(1, t.mul(g.first, r.x.first), t.mul(g.second, r.x.second));
  give_table(2, t.neg(t.mul(g.first, r.x.second)), t.mul(g.second, r.x.first));
  return t.finish();
}

}  // namespace nnc

#include "codegen/attention.h"

#include <cmath>
#include <limits>

#include "ir/support/text.h"

namespace nnc {

Result<AttentionFacts> attention_facts(const Graph& g, const Target& target) {
  AttentionFacts f;
  for (NodeId n : g.order())
    if (g.node(n).kind == OpKind::kAttention) f.node = &g.node(n);
  const Node& node = *f.node;
  const auto operand = [&](size_t i) { return i < node.operands.size() ? node.operands[i] : ValueId(); };
  f.q = operand(0), f.k = operand(1), f.v = operand(2), f.mask = operand(3), f.lengths = operand(4);
  f.result = node.results[0];
  const Shape &q = g.type(f.q).shape, &k = g.type(f.k).shape, &v = g.type(f.v).shape;
  const auto repeat = g.symbols().equal(q[1], k[1]) == Ternary::kYes ? Dim(1) : const_cast<Graph&>(g).symbols().div_exact(q[1], k[1]);
  if (!repeat || !repeat->is_const() || !q[3].is_const() || !v[3].is_const())
    return Error(Code::kUnsupportedOp, cat("the attention kernel of ", target.name, " needs heads of known width and repetition"))
        .at({g.module().loc_str(node.loc), std::string(node.def().name), "", "", -1, 0, 0});
  f.batch = q[0], f.groups = k[1], f.queries = q[2], f.keys = k[2];
  f.repeat = repeat->constant();
  f.width = q[3].constant(), f.value_width = v[3].constant();
  f.acc = g.type(f.q).dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  f.scale = node.has_attr("scale") ? node.f("scale") : 1 / std::sqrt(static_cast<double>(f.width));
  f.softcap = node.f("softcap");
  f.causal = node.i("causal") != 0;
  if (!node.dims("causal_offset").empty()) f.causal_offset = node.dims("causal_offset")[0];
  return f;
}

AttentionAxes::AttentionAxes(GroupBody& body, const AttentionFacts& f) : body_(body), f_(f), axes_(kCount) {
  SymbolTable& s = body.k().symbols();
  const Dim extents[kCount] = {body.dim(f.batch), body.dim(f.groups), f.repeat, body.dim(f.queries), body.dim(f.keys),
                               f.width,           f.value_width};
  for (uint32_t a = 0; a < kCount; ++a) axes_[a] = IterAxis{extents[a], body.k().index(0), false, 1};
  rows_ = s.mul(extents[kRepeat], extents[kQuery]);
}

void AttentionAxes::set(Axis a, Expr base, int64_t align) {
  axes_[a].base = base;
  axes_[a].align = align;
}

void AttentionAxes::set_row(Expr row) {
  KernelBuilder& k = body_.k();
  if (f_.repeat == 1) return set(kQuery, row);
  if (axes_[kQuery].extent.is_const(1)) return set(kRepeat, row);
  set(kRepeat, k.let("r", k.floordiv(row, k.dim(axes_[kQuery].extent))));
  set(kQuery, k.let("s", k.floormod(row, k.dim(axes_[kQuery].extent))));
}

void AttentionAxes::apply(Axis lane_axis, int lanes) {
  for (uint32_t a = 0; a < kCount; ++a) axes_[a].lane = lanes > 1 && a == lane_axis;
  body_.set_axes(axes_, lanes);
}

Coord AttentionAxes::head() { return body_.add(body_.scale(at(kGroup), f_.repeat), at(kRepeat)); }
Coords AttentionAxes::of_q() { return Coords(std::vector<Coord>{at(kBatch), head(), at(kQuery), at(kWidth)}); }
Coords AttentionAxes::of_result() { return Coords(std::vector<Coord>{at(kBatch), head(), at(kQuery), at(kValueWidth)}); }

Coords AttentionAxes::of_mask() {
  const Shape& q = body_.graph().type(f_.q).shape;
  const Coords score(std::vector<Coord>{at(kBatch), head(), at(kQuery), at(kKey)});
  return body_.broadcast_coords(score, body_.graph().type(f_.mask).shape, {q[0], q[1], q[2], f_.keys});
}

bool AttentionAxes::mask_ignores_rows() const {
  const Shape& m = body_.graph().type(f_.mask).shape;
  const bool queries = m.size() < 2 || m[m.size() - 2].is_const(1), heads = m.size() < 3 || m[m.size() - 3].is_const(1);
  return queries && (heads || f_.repeat == 1);
}

void Scores::begin() {
  if (!f_.lengths.valid()) return;
  axes_.apply(AttentionAxes::kCount, 1);
  length_ = k_.let("length", k_.to_index(body_.emit(f_.lengths, axes_.of_lengths())));
}

Expr Scores::mask(Expr inside) { return f_.mask.valid() ? body_.emit(f_.mask, axes_.of_mask(), inside) : Expr{}; }

Expr Scores::present(Expr keys, bool padded) {
  const int lanes = k_.lanes(keys);
  Expr in;
  const auto below = [&](Expr end) {
    const Expr c = k_.lt(keys, k_.splat(end, lanes));
    in = in.valid() ? k_.logical_and(in, c) : c;
  };
  if (padded) below(k_.dim(body_.dim(f_.keys)));
  if (length_.valid()) below(length_);
  return in.valid() ? k_.let("in", in) : in;
}

Expr Scores::finish(Expr dots, Expr keys, Expr present, Expr mask) {
  const int lanes = k_.lanes(dots);
  const Expr never = num(-std::numeric_limits<double>::infinity(), dots);
  Expr s = k_.mul(dots, num(f_.scale, dots));
  if (f_.softcap > 0) s = k_.mul(k_.math(ExprOp::kTanh, k_.let("s", k_.div(s, num(f_.softcap, dots)))), num(f_.softcap, dots));
  if (mask.valid()) {
    if (body_.graph().type(f_.mask).dtype == DType::kBool)
      s = k_.select(k_.splat(mask, lanes), s, never);
    else
      s = k_.add(s, k_.splat(k_.convert(mask, f_.acc), lanes));
  }
  if (f_.causal) {
    const Expr last = k_.add(axes_.base(AttentionAxes::kQuery), k_.dim(body_.dim(f_.causal_offset)));
    s = k_.select(k_.le(keys, k_.splat(last, lanes)), s, never);
  }
  return present.valid() ? k_.select(present, s, never) : s;
}

}  // namespace nnc

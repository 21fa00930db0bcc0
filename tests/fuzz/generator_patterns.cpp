// Nodes that passes look for together: spelled-out composites, identities, weights that take up what follows them, products that share an
// operand. Each also as a near miss, whose constants, axes or operands are not the ones looked for.

#include <cmath>

#include "tests/fuzz/generator_ops.h"

namespace nnc::test {

namespace {

// Applies one node after the other, until one is refused.
class Chain {
 public:
  explicit Chain(Sketch& s) : s_(s) {}
  ValueId operator()(OpKind kind, std::vector<ValueId> operands, AttrList attrs = {}, int exactness = 0) {
    for (const ValueId v : operands) ok_ = ok_ && v.valid();
    ok_ = ok_ && s_.apply(kind, std::move(operands), std::move(attrs), exactness);
    return ok_ ? s_.last() : ValueId();
  }
  explicit operator bool() const { return ok_; }

 private:
  Sketch& s_;
  bool ok_ = true;
};

ValueId constant(Sketch& s, Tensor t) {
  s.add(*s.b().constant(std::move(t)), true);
  return s.last();
}
// The same number everywhere; as a scalar, or with some of the extents of `like` where these are fixed.
ValueId number(Sketch& s, ValueId like, double v) {
  const DType t = s.dtype(like);
  Ints dims;
  if (s.r.chance(20))
    for (const Dim& d : s.shape(like)) dims.push_back(d.is_const() && s.r.chance(50) ? d.constant() : 1);
  Tensor x(t, dims);
  for (int64_t k = 0; k < x.count(); ++k) {
    if (is_float(t))
      store_f64(t, x.data(), k, v);
    else
      store_i64(t, x.data(), k, static_cast<int64_t>(v));
  }
  return constant(s, std::move(x));
}
// The number looked for, or one near it.
double about(Sketch& s, double v) { return s.r.chance(70) ? v : v * s.r.pick({0.5, 1.25, -1.0}); }
// The value looked for, or another of its type.
ValueId about(Sketch& s, ValueId v) { return s.r.chance(85) ? v : s.like(s.dtype(v), s.shape(v)); }
// A constant that several may read.
ValueId weights(Sketch& s, DType t, const Ints& dims) {
  const auto same = s.choose([&](const Known& k) {
    const Tensor* c = const_value(s.graph(), k.v);
    return c != nullptr && c->dtype() == t && c->dims() == dims;
  });
  return same && s.r.chance(40) ? *same : constant(s, s.random_tensor(t, dims, -1, 1));
}
DType wide(Sketch& s) { return s.float_type == DType::kF64 ? DType::kF64 : DType::kF32; }

ValueId either_way(Sketch& s, Chain& c, OpKind kind, ValueId a, ValueId b) { return s.r.chance(50) ? c(kind, {a, b}) : c(kind, {b, a}); }

// k x f(x), its three factors multiplied in any order.
void product_of(Sketch& s, Chain& c, ValueId x, ValueId f, double k) {
  if (!c) return;
  ValueId factors[] = {x, f, number(s, x, k)};
  std::swap(factors[s.r.below(3)], factors[2]);
  const ValueId p = either_way(s, c, OpKind::kMul, factors[0], factors[1]);
  if (c) either_way(s, c, OpKind::kMul, p, factors[2]);
}

void gelu(Sketch& s) {
  Chain c(s);
  const ValueId x = s.floating();
  ValueId inner;
  const bool erf = s.r.chance(50);
  if (erf) {
    inner = s.r.chance(50) ? c(OpKind::kDiv, {x, number(s, x, about(s, std::sqrt(2.0)))})
                           : c(OpKind::kMul, {x, number(s, x, about(s, std::sqrt(0.5)))});
  } else {
    const ValueId cube = s.r.chance(50) ? c(OpKind::kPow, {x, number(s, x, 3)}) : c(OpKind::kMul, {c(OpKind::kMul, {x, x}), x});
    const ValueId term = c(OpKind::kMul, {cube, number(s, x, about(s, 0.044715))});
    inner = c(OpKind::kMul, {c(OpKind::kAdd, {x, term}), number(s, x, about(s, std::sqrt(2 / std::acos(-1.0))))});
  }
  const ValueId f = c(erf ? OpKind::kErf : OpKind::kTanh, {inner});
  const ValueId plus = c(OpKind::kAdd, {f, number(s, x, about(s, 1))});
  product_of(s, c, about(s, x), plus, about(s, 0.5));
}

// x sigmoid(x), and its form of straight lines.
void gate(Sketch& s) {
  Chain c(s);
  const ValueId x = s.floating();
  if (s.r.chance(40)) {
    either_way(s, c, OpKind::kMul, about(s, x), c(OpKind::kSigmoid, {x}));
    return;
  }
  const double top = s.r.chance(50) ? 6 : 1;
  const ValueId line = top == 6 ? c(OpKind::kAdd, {x, number(s, x, about(s, 3))})
                                : c(OpKind::kAdd, {c(OpKind::kDiv, {x, number(s, x, about(s, 6))}), number(s, x, about(s, 0.5))});
  const auto bound = [&](double v) {
    Tensor t(s.dtype(x), {});
    store_f64(s.dtype(x), t.data(), 0, v);
    return constant(s, std::move(t));
  };
  const ValueId ramp = s.r.chance(50) ? c(OpKind::kClip, {line, bound(0), bound(std::fabs(about(s, top)))})
                                      : c(OpKind::kMin, {c(OpKind::kRelu, {line}), bound(std::fabs(about(s, top)))});
  if (s.r.chance(30))
    c(OpKind::kDiv, {ramp, number(s, x, about(s, top))});
  else
    product_of(s, c, about(s, x), ramp, 1 / about(s, top));
}

Ints trailing_axes(Sketch& s, ValueId x) {
  const auto rank = static_cast<int64_t>(s.shape(x).size());
  if (s.r.chance(15)) return {s.axis(x)};
  Ints axes;
  for (int64_t k = s.r.chance(70) ? rank - 1 : s.r.below(rank); k < rank; ++k) axes.push_back(k);
  return axes;
}
ValueId fold(Chain& c, const char* how, ValueId x, const Ints& axes) {
  return c(OpKind::kReduce, {x}, {{"kind", std::string(how)}, {"axes", axes}, {"keepdims", int64_t{1}}});
}

// Of fresh values: what nearly cancels loses its digits in one order or the other.
void norm(Sketch& s) {
  const Sketch::Plain plain(s);
  Chain c(s);
  Ints dims = s.random_dims(static_cast<int>(1 + s.r.below(3)));
  for (int64_t& d : dims) d += d < 3 ? 4 : 0;
  while (element_count(dims) > kMostElements) dims.pop_back();
  const ValueId x = s.make_input(wide(s), dims, -4, 4, true);
  const Ints axes = trailing_axes(s, x);
  const ValueId d = s.r.chance(70) ? c(OpKind::kSub, {x, fold(c, "mean", x, s.r.chance(80) ? axes : Ints{s.axis(x)})}) : x;
  if (!c) return;
  const ValueId square = s.r.chance(50) ? c(OpKind::kMul, {d, d}) : c(OpKind::kPow, {d, number(s, d, 2)});
  const ValueId variance = fold(c, s.r.chance(85) ? "mean" : "sum", square, axes);
  if (!c) return;
  const ValueId sum = c(OpKind::kAdd, {variance, number(s, variance, s.r.pick({1e-5, 1e-3, 0.5}))});
  if (!c) return;
  const ValueId root = s.r.chance(50) ? c(OpKind::kSqrt, {sum}) : c(OpKind::kPow, {sum, number(s, sum, 0.5)});
  ValueId y = s.r.chance(50) ? c(OpKind::kDiv, {about(s, d), root}) : either_way(s, c, OpKind::kMul, d, c(OpKind::kReciprocal, {root}));
  if (!c) return;
  const size_t first = s.r.chance(70) ? static_cast<size_t>(axes[0]) : 0;
  const Shape own(s.shape(y).begin() + static_cast<std::ptrdiff_t>(first), s.shape(y).end());
  if (s.r.chance(60)) y = either_way(s, c, OpKind::kMul, y, s.make_input(s.dtype(x), own, -2, 2, false));
  if (c && s.r.chance(60)) either_way(s, c, OpKind::kAdd, y, s.make_input(s.dtype(x), own, -2, 2, false));
}

void softmax(Sketch& s) {
  Chain c(s);
  const ValueId x = s.make_input(wide(s), s.as_shape(s.random_dims(static_cast<int>(1 + s.r.below(3))), true), -4, 4, true);
  const int64_t a = s.axis(x), b = s.r.chance(75) ? a : s.axis(x);
  const ValueId d = c(OpKind::kSub, {x, fold(c, "max", x, {b})});
  const ValueId e = c(OpKind::kExp, {d});
  const ValueId sum = fold(c, s.r.chance(85) ? "sum" : "mean", e, {a});
  if (s.r.chance(60))
    c(OpKind::kDiv, {e, sum});
  else
    c(OpKind::kSub, {d, c(OpKind::kLog, {sum})});
}

// Operands that leave the other one as it is, or nearly do.
void identity(Sketch& s) {
  Chain c(s);
  const ValueId x = s.any();
  const DType t = s.dtype(x);
  if (t == DType::kBool) {
    const ValueId v = constant(s, s.random_tensor(DType::kBool, {}, 0, 2));
    c(s.r.pick({OpKind::kAnd, OpKind::kOr, OpKind::kXor}), {x, v}, {}, 1);
    return;
  }
  switch (s.r.below(6)) {
    case 0: c(s.r.pick({OpKind::kAdd, OpKind::kSub}), {x, number(s, x, s.r.pick({0.0, -0.0, 1.0}))}, {}, 1); return;
    case 1: c(OpKind::kMul, {x, number(s, x, s.r.pick({1.0, -1.0, 0.0, 2.0}))}, {}, 1); return;
    case 2: c(OpKind::kDiv, {x, number(s, x, s.r.pick({1.0, 2.0, 8.0, 3.0}))}, {}, 1); return;
    case 3: c(OpKind::kPow, {s.exact_value(true), number(s, s.last(), s.r.pick({1.0, 2.0, 3.0, 0.5}))}); return;
    case 4:
      if (is_float(t)) c(s.r.pick({OpKind::kMin, OpKind::kMax}), {x, number(s, x, s.r.pick({HUGE_VAL, -HUGE_VAL}))}, {}, 1);
      return;
    default: c(s.r.pick({OpKind::kAdd, OpKind::kSub}), {x, c(OpKind::kNeg, {s.partner(x)}, {}, 1)}, {}, 1);
  }
}

// Ops that undo or repeat what was done before them.
void twice(Sketch& s) {
  Chain c(s);
  const OpKind kind = s.r.pick({OpKind::kNeg, OpKind::kRelu, OpKind::kNot, OpKind::kWhere, OpKind::kTranspose, OpKind::kReshape,
                                OpKind::kSlice, OpKind::kConcat, OpKind::kPad, OpKind::kCast});
  if (kind == OpKind::kWhere) {
    const ValueId x = s.any(), y = s.partner(x);
    const ValueId is = s.make_input(DType::kBool, s.r.chance(60) ? s.shape(x) : Shape{}, 0, 2, false);
    c(kind, {c(OpKind::kNot, {is}, {}, 1), x, y}, {}, 1);
    return;
  }
  const ValueId x = kind == OpKind::kNot ? s.of_dtype(DType::kBool) : kind == OpKind::kRelu ? s.floating() : ValueId();
  if (x.valid()) {
    c(kind, {c(kind, {x}, {}, 1)}, {}, 1);
    return;
  }
  for (const OpMaker& m : op_makers())
    for (int k = 0; m.kind == kind && k < 2; ++k) m.make(s, kind);
}

// y = x w, then scales and shifts by column or channel that constant weights can take up.
void affine(Sketch& s, Chain& c, ValueId y, int64_t channels, size_t axes_behind) {
  const DType t = s.float_type;
  Ints dims = {s.r.chance(80) ? channels : 1};
  dims.resize(1 + axes_behind, 1);
  for (int64_t k = 1 + s.r.below(2); k > 0 && c; --k) {
    if (axes_behind > 0 && s.r.chance(30)) {
      const auto vector = [&](double lo) { return constant(s, s.random_tensor(t, {channels}, lo, 2)); };
      y = c(OpKind::kBatchNorm, {y, vector(-2), vector(-2), vector(-2), vector(0.5)}, {{"axis", int64_t{1}}});
    } else {
      y = c(s.r.pick({OpKind::kMul, OpKind::kAdd, OpKind::kSub}), {y, weights(s, t, dims)});
    }
  }
}

void padded_conv(Sketch& s) {
  const Sketch::Plain plain(s);
  Chain c(s);
  const size_t spatial = static_cast<size_t>(1 + s.r.below(2));
  const int64_t in = 1 + s.r.below(4), out = 1 + s.r.below(8);
  Ints dims = {1 + s.r.below(2), in}, w = {out, in}, ones(spatial, 1);
  for (size_t k = 0; k < spatial; ++k) {
    dims.push_back(4 + s.r.below(8));
    w.push_back(1 + s.r.below(3));
  }
  ValueId x = s.make_input(s.float_type, dims, -2, 2, true);
  if (s.r.chance(60)) {
    Shape before = {0, 0}, after = {0, 0};
    for (size_t k = 0; k < spatial; ++k) {
      before.emplace_back(s.r.below(3));
      after.emplace_back(s.r.below(3));
    }
    std::vector<ValueId> operands = {x};
    if (s.r.chance(30)) operands.push_back(constant(s, s.random_tensor(s.float_type, {}, 0, 1)));
    const std::string mode = s.r.chance(80) || operands.size() > 1 ? "constant" : "edge";
    x = c(OpKind::kPad, operands, {{"before", before}, {"after", after}, {"mode", mode}}, 1);
  }
  const ValueId y = c(OpKind::kConv, {x, weights(s, s.float_type, w)},
                      {{"strides", Ints(spatial, 1 + s.r.below(2))}, {"pads_begin", Ints(spatial, s.r.below(2))}, {"pads_end", ones}});
  if (c) affine(s, c, y, out, spatial);
}

// Factors before a product, work on its right operand, and what its constant weights take up.
void scaled_product(Sketch& s) {
  Chain c(s);
  const DType t = s.float_type;
  const int64_t m = 1 + s.r.below(20), k = 1 + s.r.below(20), n = 1 + s.r.below(40);
  ValueId x = s.make_input(t, Ints{m, k}, -2, 2, true);
  const bool constant_weights = s.r.chance(60);
  ValueId w = constant_weights ? weights(s, t, {k, n}) : s.make_input(t, Shape{s.shape(x)[1], n}, -1, 1, true);
  if (s.r.chance(40)) x = c(OpKind::kMul, {x, number(s, x, s.r.pick({0.125, 3.0, -1.0}))});
  if (s.r.chance(40)) w = c(s.r.pick({OpKind::kRelu, OpKind::kNeg, OpKind::kTanh, OpKind::kAbs}), {w});
  if (s.r.chance(30) && c) w = c(OpKind::kMul, {w, number(s, w, s.r.pick({0.25, 5.0}))});
  AttrList attrs;
  if (s.r.chance(30) && c) {
    w = c(OpKind::kTranspose, {w}, {{"perm", Ints{1, 0}}}, 1);
    attrs.push_back({"transpose_b", int64_t{1}});
  }
  const ValueId y = c(OpKind::kMatMul, {x, w}, attrs);
  if (c && s.r.chance(70)) affine(s, c, y, n, 0);
  if (c && s.r.chance(40)) make_epilogue(s);
}

// Query, key and value of one operand, by heads, as models spell attention.
void attention(Sketch& s) {
  Chain c(s);
  const DType t = s.float_type;
  const int64_t batch = 1 + s.r.below(2), length = 1 + s.r.below(9), heads = s.r.pick<int64_t>({1, 2, 4}),
                width = s.r.pick<int64_t>({3, 8, 16}), model = heads * width;
  const ValueId x = s.make_input(t, Ints{batch, length, model}, -1, 1, true);
  const Shape outer = s.shape(x);
  const auto part = [&](const Ints& perm) {
    const bool turned = s.r.chance(30);
    ValueId y = c(OpKind::kMatMul, {x, weights(s, t, {model, model})}, turned ? AttrList{{"transpose_b", int64_t{1}}} : AttrList{});
    if (s.r.chance(60) && c) y = c(OpKind::kAdd, {y, weights(s, t, {model})});
    return c(OpKind::kTranspose, {c(OpKind::kReshape, {y}, {{"shape", Shape{outer[0], outer[1], heads, width}}})}, {{"perm", perm}});
  };
  const ValueId q = part({0, 2, 1, 3}), k = part({0, 2, 3, 1}), v = part({0, 2, 1, 3});
  ValueId scores = c(OpKind::kMatMul, {q, k});
  if (c && s.r.chance(70)) scores = c(OpKind::kMul, {scores, number(s, scores, 0.25)});
  const ValueId p = c(OpKind::kSoftmax, {scores}, {{"axis", int64_t(s.r.chance(85) ? 3 : 2)}});
  const ValueId y = c(OpKind::kTranspose, {c(OpKind::kMatMul, {p, v})}, {{"perm", Ints{0, 2, 1, 3}}});
  c(OpKind::kReshape, {y}, {{"shape", Shape{outer[0], outer[1], model}}});
}

// A fold without its axes, and these put back; a fold of a fold.
void refold(Sketch& s) {
  Chain c(s);
  const ValueId x = s.exact_value(false, 1);
  const Ints axes = {s.axis(x)};
  Shape kept = s.shape(x);
  if (s.dims_of(x)[static_cast<size_t>(axes[0])] == 0) return;
  kept[static_cast<size_t>(axes[0])] = 1;
  const bool place = s.r.chance(30);
  const char* how = s.r.pick({"max", "min", "sum"});
  const ValueId y = place ? c(OpKind::kArgReduce, {x}, {{"kind", std::string("max")}, {"axis", axes[0]}, {"keepdims", int64_t{0}}})
                          : c(OpKind::kReduce, {x}, {{"kind", std::string(how)}, {"axes", axes}, {"keepdims", int64_t{0}}}, how[0] == 'm');
  if (!c) return;
  if (s.r.chance(60))
    c(OpKind::kReshape, {y}, {{"shape", kept}}, 1);
  else if (!s.shape(y).empty())
    c(OpKind::kReduce, {y}, {{"kind", std::string(how)}, {"axes", Ints{s.axis(y)}}, {"keepdims", s.r.below(2)}}, how[0] == 'm');
}

constexpr Pattern kPatterns[] = {
    {2, gelu},  {2, gate},        {3, norm},           {2, softmax},   {4, identity},
    {4, twice}, {3, padded_conv}, {3, scaled_product}, {1, attention}, {2, refold},
};

}  // namespace

std::span<const Pattern> patterns() { return kPatterns; }

}  // namespace nnc::test

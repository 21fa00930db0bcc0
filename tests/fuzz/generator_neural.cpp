// Makers of folds, norms, windows and heroes.

#include <algorithm>

#include "tests/fuzz/generator_ops.h"

namespace nnc::test {

namespace {
// Many halves of one sign, whose sum no half holds.
ValueId large_halves(Sketch& s, int rank) {
  const Sketch::Plain plain(s);
  Ints dims = s.random_dims(rank);
  for (int64_t& d : dims) d = std::max<int64_t>(d, 5);
  while (element_count(dims) > kMostElements)
    for (int64_t& d : dims) d = (d + 1) / 2;
  return s.make_input(s.r.pick({DType::kF16, DType::kF16, DType::kBF16}), dims, 1e2, s.r.pick({1e3, 6e4}), true);
}
}  // namespace

void make_reduce(Sketch& s, OpKind kind) {
  ValueId x = s.r.chance(20) ? s.of_dtype(s.any_dtype()) : s.any();
  if (s.r.chance(10)) {
    x = large_halves(s, static_cast<int>(1 + s.r.below(3)));
    s.apply(kind, {x},
            {{"kind", s.r.pick({std::string("mean"), std::string("mean"), std::string("l1"), std::string("l2"), std::string("log_sum")})},
             {"axes", s.some_axes(x)},
             {"keepdims", s.r.below(2)}},
            0);
    return;
  }
  std::string how = s.r.pick({std::string("sum"), std::string("prod"), std::string("max"), std::string("min"), std::string("mean"),
                              std::string("l1"), std::string("l2"), std::string("sum_square"), std::string("log_sum"),
                              std::string("log_sum_exp"), std::string("sum"), std::string("max")});
  if (s.r.chance(15)) {  // of nothing: what the fold begins with
    Ints dims = s.random_dims(static_cast<int>(1 + s.r.below(3)));
    const int64_t none = s.r.below(static_cast<int64_t>(dims.size()));
    dims[static_cast<size_t>(none)] = 0;
    x = s.make_input(s.r.chance(70) ? s.float_type : s.any_dtype(), dims, true);
    if (s.r.chance(60)) how = s.r.pick({std::string("max"), std::string("min"), std::string("prod"), std::string("mean")});
    s.apply(kind, {x}, {{"kind", how}, {"axes", Ints{none}}, {"keepdims", s.r.below(2)}}, how == "max" || how == "min" ? 1 : 0);
    return;
  }
  // The order of a product decides whether it overflows before it meets a zero: short ones alone.
  bool fixed = true;
  for (const Dim& d : s.shape(x)) fixed = fixed && d.is_const();
  if (how == "prod" && is_float(s.dtype(x)) && (!fixed || s.count(x) > 16)) how = "sum";
  s.apply(kind, {x}, {{"kind", how}, {"axes", s.some_axes(x)}, {"keepdims", s.r.below(2)}}, how == "max" || how == "min" ? 1 : 0);
}

void make_arg_reduce(Sketch& s, OpKind kind) {
  const ValueId x = s.exact_value(false, 1);
  const int64_t a = s.axis(x);
  if (s.dims_of(x)[static_cast<size_t>(a)] == 0) return;
  s.apply(kind, {x},
          {{"kind", s.r.pick({std::string("max"), std::string("min")})},
           {"axis", a},
           {"keepdims", s.r.below(2)},
           {"select_last", s.r.below(2)}});
}

void make_cumsum(Sketch& s, OpKind kind) {
  const ValueId x = s.ranked(1);
  s.apply(kind, {x}, {{"axis", s.axis(x)}, {"exclusive", s.r.below(2)}, {"reverse", s.r.below(2)}}, 0);
}

void make_norm(Sketch& s, OpKind kind) {
  // The statistics of a batch norm may cancel what is infinite: its operands are its own.
  const bool batch = kind == OpKind::kBatchNorm && s.specials;
  const auto plain = batch ? std::make_unique<Sketch::Plain>(s) : nullptr;
  const ValueId x = batch ? s.make_input(s.float_type, s.random_dims(static_cast<int>(2 + s.r.below(3))), -4, 4, true)
                    : kind != OpKind::kBatchNorm && s.r.chance(8) ? large_halves(s, static_cast<int>(2 + s.r.below(2)))
                                                                  : s.floating(2);
  const Shape shape = s.shape(x);
  const int64_t a = s.axis(x), last = static_cast<int64_t>(shape.size()) - 1;
  const DType t = s.dtype(x);
  const double epsilon = s.r.pick({1e-5, 1e-5, 1e-3, 0.5});
  const auto vector = [&](const Dim& n, double lo = -2) { return s.make_input(t, Shape{n}, lo, 2, false); };
  if (kind == OpKind::kSoftmax) {
    s.apply(kind, {x}, {{"axis", a}, {"log", s.r.below(2)}}, 0);
  } else if (kind == OpKind::kLayerNorm) {
    s.apply(kind, {x, vector(shape.back()), vector(shape.back())},
            {{"axis", s.r.chance(60) ? last : a}, {"stats", s.r.below(2)}, {"epsilon", epsilon}}, 0);
  } else if (kind == OpKind::kRmsNorm) {
    s.apply(kind, {x, vector(shape.back())}, {{"axis", last}, {"epsilon", epsilon}}, 0);
  } else {
    const Dim& c = shape[1];
    s.apply(kind, {x, vector(c), vector(c), vector(c), vector(c, 0.5)}, {{"axis", int64_t(1)}, {"epsilon", epsilon}}, 0);
  }
}

void make_cross_entropy(Sketch& s, OpKind kind) {
  const ValueId x = s.floating(2);
  const Shape shape = s.shape(x);
  const int64_t classes = s.dims_of(x)[1];
  if (classes == 0) return;
  Shape l = {shape[0]};
  l.insert(l.end(), shape.begin() + 2, shape.end());
  AttrList attrs = {{"reduction", s.r.pick({std::string("none"), std::string("sum"), std::string("mean")})}};
  if (s.r.chance(30)) attrs.push_back({"ignore_index", int64_t{0}});
  s.apply(kind, {x, s.make_input(DType::kI64, l, 0, static_cast<double>(classes), false)}, attrs, 0);
}

void make_rotary(Sketch& s, OpKind kind) {
  ValueId x = s.floating(2);
  const auto fits = [&] { return s.shape(x).back().is_const() && s.dims_of(x).back() >= 2 && s.dims_of(x).back() % 2 == 0; };
  if (!fits()) {
    Ints dims = s.random_dims(static_cast<int>(1 + s.r.below(3)));
    while (element_count(dims) > 256)
      for (int64_t& d : dims) d = (d + 1) / 2;
    Shape shape = s.as_shape(dims, true);
    shape.emplace_back(s.r.pick<int64_t>({2, 8, 16}));
    x = s.make_input(s.float_type, shape, -3, 3, true);
  }
  const Dim half = s.dims_of(x).back() / 2;
  const auto angles = [&] { return s.make_input(s.dtype(x), Shape{half}, -1, 1, false); };
  const ValueId cos = angles(), sin = angles();
  s.apply(kind, {x, cos, sin}, {{"interleaved", s.r.below(2)}}, 0);
}

// ---- windows

namespace {

Ints windows(Sketch& s, int spatial, int64_t most) {
  Ints k;
  for (int d = 0; d < spatial; ++d) k.push_back(1 + s.r.below(most));
  return k;
}

AttrList window_attrs(Sketch& s, const Ints& kernel) {
  Ints begin, end, strides, dilations;
  for (const int64_t k : kernel) {
    begin.push_back(s.r.below(k));
    end.push_back(s.r.below(k));
    strides.push_back(1 + s.r.below(2));
    dilations.push_back(1 + s.r.below(4) / 3);
  }
  return {{"strides", strides}, {"pads_begin", begin}, {"pads_end", end}, {"dilations", dilations}};
}

ValueId image(Sketch& s, int64_t channels, int spatial) {
  Ints dims = {1 + s.r.below(2), channels};
  for (int d = 0; d < spatial; ++d) dims.push_back(3 + s.r.below(9));
  return s.make_input(s.float_type, dims, -2, 2, true);
}

}  // namespace

void make_pool(Sketch& s, OpKind kind) {
  const bool indices = kind == OpKind::kMaxPoolIndices;
  ValueId x = indices ? s.exact_value(true, 3) : s.floating(3);
  if (s.shape(x).size() > 5 || (indices && !s.exact(x))) x = image(s, 1 + s.r.below(4), static_cast<int>(1 + s.r.below(2)));
  const int spatial = static_cast<int>(s.shape(x).size()) - 2;
  const Ints kernel = windows(s, spatial, 3);
  AttrList attrs = window_attrs(s, kernel);
  attrs.push_back({"kernel", kernel});
  if (!indices) {
    attrs.push_back({"kind", s.r.pick({std::string("max"), std::string("avg"), std::string("lp")})});
    attrs.push_back({"count_include_pad", s.r.below(2)});
  }
  attrs.push_back({"ceil_mode", s.r.below(2)});
  s.apply(kind, {x}, attrs, 0);
}

void make_pool_grad(Sketch& s, OpKind kind) {
  const Sketch::Plain plain(s);
  const ValueId x = image(s, 1 + s.r.below(3), static_cast<int>(1 + s.r.below(2)));
  const int spatial = static_cast<int>(s.shape(x).size()) - 2;
  AttrList attrs = window_attrs(s, windows(s, spatial, 3));
  const Ints kernel = windows(s, spatial, 3);
  attrs.push_back({"kernel", kernel});
  const std::string how = s.r.pick({std::string("max"), std::string("avg")});
  attrs.push_back({"kind", how});
  attrs.push_back({"ceil_mode", s.r.below(2)});
  if (!s.apply(OpKind::kPool, {x}, attrs, how == "max" ? 1 : 0)) return;
  attrs.push_back({"shape", s.shape(x)});
  const ValueId dy = s.make_input(s.dtype(x), s.shape(s.last()), -2, 2, false);
  std::vector<ValueId> operands = {dy};
  if (how == "max") operands.push_back(x);
  s.apply(kind, operands, attrs, 0);
}

void make_resize(Sketch& s, OpKind kind) {
  const bool gradient = kind == OpKind::kResizeGrad;
  const auto plain = gradient ? std::make_unique<Sketch::Plain>(s) : nullptr;
  const ValueId x = gradient ? s.make_input(s.float_type, s.random_dims(static_cast<int>(1 + s.r.below(3))), -2, 2, true) : s.floating(1);
  const Ints axes = {s.axis(x)};
  const int64_t e = s.dims_of(x)[static_cast<size_t>(axes[0])];
  if (e == 0) return;
  AttrList attrs = {{"axes", axes},
                    {"sizes", Shape{1 + s.r.below(2 * e)}},
                    {"mode", s.r.pick({std::string("nearest"), std::string("linear"), std::string("cubic")})},
                    {"coordinate_mode", s.r.pick({std::string("half_pixel"), std::string("align_corners"), std::string("asymmetric")})}};
  if (!s.apply(OpKind::kResize, {x}, attrs, 0) || !gradient) return;
  attrs.push_back({"shape", s.shape(x)});
  s.apply(kind, {s.make_input(s.dtype(x), s.shape(s.last()), -2, 2, false)}, attrs, 0);
}

// ---- heroes

void make_epilogue(Sketch& s) {
  ValueId v = s.last();
  // A reader at two places.
  if (s.r.chance(40))
    if (const auto other = s.turned(v); other && s.apply(OpKind::kAdd, {v, *other})) v = s.last();
  for (int64_t k = 1 + s.r.below(3); k > 0; --k) {
    const bool ok = s.r.chance(50)
                        ? s.apply(OpKind::kAdd, {v, s.partner(v)})
                        : s.apply(s.r.pick({OpKind::kRelu, OpKind::kTanh, OpKind::kGelu, OpKind::kNeg, OpKind::kSigmoid}), {v}, {}, 0);
    if (!ok) return;
    v = s.last();
  }
}

void make_matmul(Sketch& s, OpKind kind) {
  if (s.r.chance(25)) {  // square, in its rows and columns or in its outer axes
    const int64_t n = s.r.pick<int64_t>({1, 3, 8, 16, 17, 32, 33}), k = s.r.pick<int64_t>({1, 2, 5, 16, 31});
    if (s.r.chance(50)) {
      const ValueId stack = s.make_input(s.float_type, Ints{n % 9, n % 9, k}, -2, 2, true);
      if (s.apply(kind, {stack, s.make_input(s.float_type, Shape{s.shape(stack)[2], s.extent()}, -1, 1, false)}, {}, 0)) make_epilogue(s);
      return;
    }
    const ValueId left = s.make_input(s.float_type, Ints{n, k}, -2, 2, true);
    const Shape right = {s.shape(left)[1], s.shape(left)[0]};
    if (s.apply(kind, {left, s.make_input(s.float_type, right, -1, 1, false)}, {}, 0)) make_epilogue(s);
    return;
  }
  ValueId x = s.floating(1);
  if (s.shape(x).size() > 4 || s.count(x) > 2048) x = s.make_input(s.float_type, Ints{1 + s.r.below(20), s.extent()}, -2, 2, true);
  const Shape shape = s.shape(x);
  Shape w = {shape.back(), s.extent()};
  const bool transposed = s.r.chance(30);
  if (transposed) std::swap(w[0], w[1]);
  if (shape.size() == 3 && s.r.chance(40)) w.insert(w.begin(), shape[0]);
  AttrList attrs;
  if (transposed) attrs.push_back({"transpose_b", int64_t(1)});
  if (shape.size() == 2 && s.r.chance(20)) {  // the rows of x run through its first axis
    attrs.push_back({"transpose_a", int64_t(1)});
    w[transposed ? 1 : 0] = shape[0];
  }
  if (s.apply(kind, {x, s.make_input(s.dtype(x), w, -1, 1, false)}, attrs, 0) && s.r.chance(75)) make_epilogue(s);
}

void make_conv(Sketch& s, OpKind kind) {
  // Zeros of a border, or between the inputs of a transposed convolution, may meet weights that are not finite or be left out
  // (docs/ops.md).
  const Sketch::Plain plain(s);
  const int spatial = static_cast<int>(1 + s.r.below(2));
  const int64_t group = s.r.pick<int64_t>({1, 1, 1, 2, 4});
  const int64_t c = group * (1 + s.r.below(4)), m = group * (1 + s.r.below(8));
  const ValueId x = image(s, c, spatial);
  const Ints kernel = windows(s, spatial, 3);
  AttrList attrs = window_attrs(s, kernel);
  attrs.push_back({"group", group});
  Shape w = kind == OpKind::kConvTranspose ? Shape{c, m / group} : Shape{m, c / group};
  for (const int64_t k : kernel) w.emplace_back(k);
  std::vector<ValueId> operands = {x, s.make_input(s.float_type, w, -1, 1, false)};
  if (s.r.chance(50)) operands.push_back(s.make_input(s.float_type, Shape{m}, -1, 1, false));
  if (s.apply(kind, operands, attrs, 0) && s.r.chance(75)) make_epilogue(s);
}

void make_conv_grad(Sketch& s, OpKind kind) {
  const Sketch::Plain plain(s);
  const int spatial = static_cast<int>(1 + s.r.below(2));
  const int64_t group = s.r.pick<int64_t>({1, 1, 2}), c = group * (1 + s.r.below(3)), m = group * (1 + s.r.below(4));
  const ValueId x = image(s, c, spatial);
  const Ints kernel = windows(s, spatial, 3);
  AttrList attrs = window_attrs(s, kernel);
  attrs.push_back({"group", group});
  Shape w = {m, c / group};
  for (const int64_t k : kernel) w.emplace_back(k);
  const ValueId weights = s.make_input(s.float_type, w, -1, 1, false);
  if (!s.apply(OpKind::kConv, {x, weights}, attrs, 0)) return;
  const ValueId dy = s.make_input(s.float_type, s.shape(s.last()), -1, 1, false);
  const bool of_input = kind == OpKind::kConvInputGrad;
  attrs.push_back({"shape", of_input ? s.shape(x) : w});
  s.apply(kind, of_input ? std::vector<ValueId>{dy, weights} : std::vector<ValueId>{x, dy}, attrs, 0);
}

void make_attention(Sketch& s, OpKind kind) {
  const int64_t heads = s.r.pick<int64_t>({1, 2, 4}), groups = s.r.chance(60) ? heads : 1, batch = 1 + s.r.below(2), sq = 1 + s.r.below(8),
                sk = 1 + s.r.below(12), d = s.r.pick<int64_t>({3, 8, 16}), e = s.r.pick<int64_t>({5, 8, 16});
  const auto operand = [&](int64_t h, const Dim& length, int64_t width) {
    return s.make_input(s.float_type, Shape{batch, h, length, width}, -1, 1, true);
  };
  const Dim past = s.as_shape({sk}, true)[0], now = s.as_shape({sq}, true)[0];
  const ValueId q = operand(heads, now, d), k = operand(groups, past, d), v = operand(groups, past, e);
  std::vector<ValueId> operands = {q, k, v};
  if (s.r.chance(40)) operands.push_back(s.make_input(s.float_type, Shape{now, past}, -1, 1, false));
  AttrList attrs = {{"causal", s.r.below(2)}};
  if (s.r.chance(30)) attrs.push_back({"scale", 0.4});
  if (s.r.chance(20)) attrs.push_back({"softcap", 2.0});
  if (s.apply(kind, operands, attrs, 0) && s.r.chance(60)) make_epilogue(s);
}

void make_lstm(Sketch& s, OpKind kind) {
  const int64_t steps = 1 + s.r.below(4), batch = 1 + s.r.below(3), in = 1 + s.r.below(9), h = 1 + s.r.below(9);
  const bool both = s.r.chance(40);
  const int64_t dir = both ? 2 : 1;
  const ValueId x = s.make_input(s.float_type, Ints{steps, batch, in}, -1, 1, true);
  const auto weights = [&](const Shape& shape) { return s.make_input(s.float_type, shape, -1, 1, false); };
  const ValueId w = weights({dir, 4 * h, in}), r = weights({dir, 4 * h, h}), bias = weights({dir, 8 * h});
  std::vector<ValueId> operands = {x, w, r, bias};
  if (s.r.chance(40)) {
    const ValueId lengths = s.r.chance(50) ? s.make_input(DType::kI32, Shape{batch}, 1, static_cast<double>(steps) + 1, false) : ValueId();
    operands.insert(operands.end(), {lengths, weights({dir, batch, h}), weights({dir, batch, h})});
  }
  const std::string direction = both ? "bidirectional" : s.r.chance(30) ? "reverse" : "forward";
  if (s.apply(kind, operands, {{"hidden", h}, {"direction", direction}}, 0) && s.r.chance(50)) make_epilogue(s);
}

}  // namespace nnc::test

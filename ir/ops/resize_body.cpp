#include <cmath>
#include <functional>

#include "ir/ops/body_util.h"
#include "ir/ops/resize.h"

namespace nnc {

namespace {

// One resized axis: attributes, and its extents as i64 expressions.
struct BodyAxis {
  size_t axis = 0;
  Dim in_dim, out_dim;  // graph dims
  Expr in, out;         // i64 x1
  double scale = 0;     // as given, or 0
  double roi_begin = 0, roi_end = 1;
};

// A source coordinate split at its floor: i64 and f64 x1. `outside`: tf_crop_and_resize only, else invalid.
struct Source {
  Expr floor, fraction, outside;
};

class Sampler {
 public:
  // `image`, `out`: graph shapes of both sides.
  Sampler(BodyContext& c, const Shape& image, const Shape& out) : c_(c), k_(c.k()), node_(c.node) {
    const auto& ids = node_.ints("axes");
    const auto &scales = node_.floats("scales"), &roi = node_.floats("roi");
    for (size_t i = 0; i < ids.size(); ++i) {
      BodyAxis a;
      a.axis = static_cast<size_t>(ids[i]);
      a.in_dim = image[a.axis];
      a.out_dim = out[a.axis];
      a.in = extent(a.in_dim);
      a.out = extent(a.out_dim);
      if (!scales.empty()) a.scale = scales[i];
      if (roi.size() == 2 * ids.size()) a.roi_begin = roi[i], a.roi_end = roi[i + ids.size()];
      axes.push_back(a);
    }
  }

  // Floating results are computed in this dtype.
  DType compute() const {
    const DType t = compute_dtype(c_.dtype(0));
    return is_float(t) ? t : DType::kF64;
  }
  bool nearest() const { return node_.s("mode") == "nearest"; }

  Source source(const BodyAxis& a, Expr i);  // i: i64 x1
  Coord nearest_coord(const BodyAxis& a, const Coord& out);
  // visit(index in the image (i64 x1, clamped), weight (compute dtype x1)) for each tap of the source coordinate.
  using Visit = std::function<void(Expr, Expr)>;
  void taps(const BodyAxis& a, const Source& s, const Visit& visit);
  Coord coord(const BodyAxis& a, Expr index) {
    return c_.s.opaque(k_.let("at", k_.to_index(index)), 0, k_.symbols().sub(c_.s.dim(a.in_dim), 1));
  }
  Expr position(const Coord& x) { return k_.convert(uniform(c_, x), DType::kI64); }
  Expr whole(int64_t v) { return k_.constant_bits(KType::of(DType::kI64), static_cast<uint64_t>(v)); }
  Expr real(double v) { return k_.constant(DType::kF64, v); }

  std::vector<BodyAxis> axes;

 private:
  Expr extent(const Dim& d) { return k_.convert(k_.dim(c_.s.dim(d)), DType::kI64); }
  Expr as_real(Expr v) { return k_.convert(v, DType::kF64); }
  Source ratio(Expr num, Expr den);
  Source split(Expr x);
  Expr clamped(const BodyAxis& a, Expr index);
  Expr scale_of(const BodyAxis& a) { return a.scale != 0 ? real(a.scale) : k_.div(as_real(a.out), as_real(a.in)); }
  Expr kernel_weight(Expr distance);
  std::optional<int64_t> whole_factor(const BodyAxis& a);

  BodyContext& c_;
  KernelBuilder& k_;
  const Node& node_;
};

Source Sampler::ratio(Expr num, Expr den) {
  Source s;
  // An extent of 0 never gets here with a mask that holds; the divisor must not be 0 all the same.
  const Expr d = k_.let("den", k_.max(den, whole(1)));
  s.floor = k_.let("floor", k_.floordiv(num, d));
  s.fraction = k_.let("part", k_.div(as_real(k_.sub(num, k_.mul(s.floor, d))), as_real(d)));
  return s;
}

Source Sampler::split(Expr x) {
  const Expr floor = k_.let("floor", k_.unary(ExprOp::kFloor, x));
  return {k_.let("whole", k_.convert(floor, DType::kI64)), k_.let("part", k_.sub(x, floor)), {}};
}

// The formulas of the row's doc, in its order of operations: the reference computes the same numbers.
Source Sampler::source(const BodyAxis& a, Expr i) {
  const std::string_view mode = node_.s("coordinate_mode");
  const Expr one = whole(1), single = k_.eq(a.out, one), x = as_real(i), last = as_real(k_.sub(a.in, one));
  if (mode == "align_corners") return ratio(k_.select(single, whole(0), k_.mul(i, k_.sub(a.in, one))), k_.sub(a.out, one));
  if (mode == "tf_crop_and_resize") {
    const Expr middle = k_.mul(real(0.5 * (a.roi_begin + a.roi_end)), last);
    const Expr along = k_.div(k_.mul(k_.mul(x, real(a.roi_end - a.roi_begin)), last), as_real(k_.max(k_.sub(a.out, one), one)));
    const Expr at = k_.let("source", k_.select(single, middle, k_.add(k_.mul(real(a.roi_begin), last), along)));
    Source s = split(at);
    s.outside = k_.let("outside", k_.logical_or(k_.lt(at, real(0)), k_.lt(last, at)));
    return s;
  }
  if (mode == "asymmetric") return a.scale != 0 ? split(k_.div(x, real(a.scale))) : ratio(k_.mul(i, a.in), a.out);
  const bool pytorch = mode == "pytorch_half_pixel";
  if (a.scale == 0) {
    const Expr num = k_.sub(k_.mul(k_.add(k_.mul(i, whole(2)), one), a.in), a.out);
    return ratio(pytorch ? k_.select(single, whole(0), num) : num, k_.mul(a.out, whole(2)));
  }
  Expr offset = real(0);
  if (mode == "half_pixel_symmetric") {
    const Expr center = k_.div(as_real(a.in), real(2));
    offset = k_.mul(center, k_.sub(real(1), k_.div(as_real(a.out), k_.mul(real(a.scale), as_real(a.in)))));
  }
  const Expr at = k_.sub(k_.add(offset, k_.div(k_.add(x, real(0.5)), real(a.scale))), real(0.5));
  return split(pytorch ? k_.select(single, real(0), at) : at);
}

Expr Sampler::clamped(const BodyAxis& a, Expr index) { return k_.max(k_.min(index, k_.sub(a.in, whole(1))), whole(0)); }

// out = factor * in, where source elements are then repeated: for half pixels however ties are rounded (there are none), for asymmetric
// where it rounds down.
std::optional<int64_t> Sampler::whole_factor(const BodyAxis& a) {
  SymbolTable& s = const_cast<Graph&>(c_.graph).symbols();
  const std::optional<Dim> factor = a.scale == 0 ? s.div_exact(a.out_dim, a.in_dim) : std::nullopt;
  if (!factor || !factor->is_const() || factor->constant() < 1) return std::nullopt;
  const std::string_view mode = node_.s("coordinate_mode"), rounding = node_.s("nearest_mode");
  const bool half = (mode == "half_pixel" || mode == "half_pixel_symmetric") && rounding.starts_with("round");
  if (half || (mode == "asymmetric" && rounding == "floor")) return factor->constant();
  return std::nullopt;
}

Coord Sampler::nearest_coord(const BodyAxis& a, const Coord& out) {
  if (const auto factor = whole_factor(a)) return *factor == 1 ? out : c_.s.split(out, *factor).first;
  const Source s = source(a, position(out));
  const std::string_view mode = node_.s("nearest_mode");
  Expr up = k_.mask_const(false);
  if (mode == "ceil") up = k_.lt(real(0), s.fraction);
  if (mode == "round_prefer_floor") up = k_.lt(real(0.5), s.fraction);
  if (mode == "round_prefer_ceil") up = k_.le(real(0.5), s.fraction);
  return coord(a, clamped(a, k_.select(up, k_.add(s.floor, whole(1)), s.floor)));
}

Expr Sampler::kernel_weight(Expr distance) {
  const Expr x = k_.unary(ExprOp::kAbs, distance);
  if (node_.s("mode") == "linear") return k_.max(k_.sub(real(1), x), real(0));
  const double a = node_.f("cubic_coeff_a");
  const Expr near = k_.add(k_.mul(k_.mul(k_.sub(k_.mul(real(a + 2), x), real(a + 3)), x), x), real(1));
  const Expr far = k_.sub(k_.mul(k_.add(k_.mul(k_.sub(k_.mul(real(a), x), real(5 * a)), x), real(8 * a)), x), real(4 * a));
  return k_.select(k_.le(x, real(1)), near, k_.select(k_.lt(x, real(2)), far, real(0)));
}

void Sampler::taps(const BodyAxis& a, const Source& s, const Visit& visit) {
  const bool antialias = node_.i("antialias") != 0, exclude = node_.i("exclude_outside") != 0;
  const double reach = node_.s("mode") == "cubic" ? 2 : 1;
  const Expr stretch = antialias ? k_.let("stretch", k_.min(scale_of(a), real(1))) : real(1);
  const Expr begin =
      antialias ? k_.let("begin", k_.add(k_.convert(k_.unary(ExprOp::kFloor, k_.div(real(-reach), stretch)), DType::kI64), whole(1)))
                : whole(1 - static_cast<int64_t>(reach));
  // Weight of tap j, 0 where it is excluded.
  const auto weight_at = [&](Expr j) {
    const Expr w = kernel_weight(k_.mul(k_.sub(as_real(j), s.fraction), stretch));
    if (!exclude) return w;
    const Expr at = k_.add(s.floor, j), inside = k_.logical_and(k_.le(whole(0), at), k_.lt(at, a.in));
    return k_.select(inside, w, real(0));
  };
  const auto each = [&](const std::function<void(Expr)>& f) {
    if (!antialias) {
      for (int64_t j = 1 - static_cast<int64_t>(reach); j <= static_cast<int64_t>(reach); ++j) f(whole(j));
      return;
    }
    k_.for_("tap", k_.to_index(begin), k_.to_index(k_.sub(whole(2), begin)), 1, [&](Expr j) { f(k_.convert(j, DType::kI64)); });
  };
  Expr total;
  if (antialias || exclude) {
    const VarId sum = k_.mut("total", real(0));
    each([&](Expr j) { k_.set(sum, k_.add(k_.var(sum), weight_at(j))); });
    total = k_.let("total", k_.select(k_.eq(k_.var(sum), real(0)), real(1), k_.var(sum)));
  }
  each([&](Expr j) {
    const Expr w = weight_at(j);
    visit(clamped(a, k_.add(s.floor, j)), k_.let("weight", k_.convert(total.valid() ? k_.div(w, total) : w, compute())));
  });
}

// An interpolated value as the dtype has it.
Expr finished(BodyContext& c, Expr v) {
  const DType t = compute_dtype(c.dtype(0));
  return is_float(t) ? v : c.k().convert(c.k().unary(ExprOp::kRoundEven, v), t);
}

Expr extrapolation(BodyContext& c) {
  const DType t = compute_dtype(c.dtype(0));
  const double v = c.node.f("extrapolation_value");
  if (t == DType::kBool) return c.k().mask_const(v != 0, c.s.lanes());
  return is_float(t) ? c.k().constant(t, v, c.s.lanes())
                     : integer_constant(c.k(), t, static_cast<uint64_t>(static_cast<int64_t>(v)), c.s.lanes());
}

}  // namespace

void body_resize(BodyContext& c) {
  KernelBuilder& k = c.k();
  Sampler sampler(c, c.shape(0), c.result_type().shape);
  Coords from(axes_between(c.coords, 0, c.coords.size()));
  std::vector<Source> sources;
  Expr outside, exists;  // exists: an index is clamped, but into nothing where the image is empty
  for (const BodyAxis& a : sampler.axes) exists = both(c, exists, not_empty(c, a.in_dim));
  const bool crop = c.node.s("coordinate_mode") == "tf_crop_and_resize";
  for (const BodyAxis& a : sampler.axes) {
    if (sampler.nearest()) from[a.axis] = sampler.nearest_coord(a, c.coords[a.axis]);
    if (!sampler.nearest() || crop) sources.push_back(sampler.source(a, sampler.position(c.coords[a.axis])));
    if (crop) outside = outside.valid() ? k.logical_or(outside, sources.back().outside) : sources.back().outside;
  }
  if (sampler.nearest()) {
    c.result = c.s.read(0, from, exists);
  } else {
    const DType t = sampler.compute();
    const VarId sum = k.mut("sum", k.constant(t, 0, c.s.lanes()));
    std::function<void(size_t, Expr)> nest = [&](size_t n, Expr weight) {
      if (n == sampler.axes.size()) {
        const Expr v = k.convert(c.s.read(0, from, exists), t);
        k.set(sum, k.add(k.var(sum), k.splat(weight.valid() ? k.mul(k.splat(weight, k.lanes(v)), v) : v, c.s.lanes())));
        return;
      }
      const BodyAxis& a = sampler.axes[n];
      sampler.taps(a, sources[n], [&](Expr index, Expr w) {
        from[a.axis] = sampler.coord(a, index);
        nest(n + 1, weight.valid() ? k.let("weight", k.mul(weight, w)) : w);
      });
    };
    nest(0, {});
    c.result = finished(c, k.var(sum));
  }
  if (outside.valid()) c.result = k.select(k.splat(outside, k.lanes(c.result)), extrapolation(c), c.result);
}

// Each element of x adds up what the outputs that sample it send: every output is asked for its weight here, axis by axis.
void body_resize_grad(BodyContext& c) {
  KernelBuilder& k = c.k();
  Sampler sampler(c, c.result_type().shape, c.shape(0));
  const DType t = sampler.compute();
  const VarId sum = k.mut("sum", k.constant(t, 0, c.s.lanes()));
  Coords from(axes_between(c.coords, 0, c.coords.size()));
  std::function<void(size_t, Expr)> nest = [&](size_t n, Expr weight) {
    if (n == sampler.axes.size()) {
      const Expr g = k.convert(c.s.read(0, from), t);
      k.set(sum, k.add(k.var(sum), k.splat(weight.valid() ? k.mul(k.splat(weight, k.lanes(g)), g) : g, c.s.lanes())));
      return;
    }
    const BodyAxis& a = sampler.axes[n];
    const Expr here = sampler.position(c.coords[a.axis]);
    k.for_("out", k.index(0), k.dim(c.s.dim(a.out_dim)), 1, [&](Expr i) {
      const Source s = sampler.source(a, k.convert(i, DType::kI64));
      const Expr zero = k.constant(t, 0);
      const VarId share = k.mut("share", zero);
      if (sampler.nearest()) {
        const Coord at = sampler.nearest_coord(a, c.s.opaque(i, 0, k.symbols().sub(c.s.dim(a.out_dim), 1)));
        k.set(share, k.select(k.eq(k.convert(c.s.scalar(at), DType::kI64), here), k.constant(t, 1), zero));
      } else {
        sampler.taps(a, s, [&](Expr index, Expr w) { k.set(share, k.add(k.var(share), k.select(k.eq(index, here), w, zero))); });
      }
      if (s.outside.valid()) k.set(share, k.select(s.outside, zero, k.var(share)));
      k.if_(k.logical_not(k.eq(k.var(share), zero)), [&] {
        from[a.axis] = c.s.opaque(i, 0, k.symbols().sub(c.s.dim(a.out_dim), 1));
        nest(n + 1, weight.valid() ? k.mul(weight, k.var(share)) : k.var(share));
      });
    });
  };
  nest(0, {});
  c.result = k.var(sum);
}

}  // namespace nnc

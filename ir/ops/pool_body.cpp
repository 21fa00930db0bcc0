#include <functional>
#include <limits>

#include "ir/ops/body_util.h"
#include "ir/ops/pool.h"

namespace nnc {

namespace {

// One spatial axis as a kernel sees it.
struct BodyAxis {
  int64_t kernel = 1, stride = 1, dilation = 1;
  Dim in, out;                                // graph dims
  Dim pad_begin, pad_end;                     // graph dims: with auto_pad they depend on the extent
  bool fits_begin = false, fits_end = false;  // no window reaches outside there
};

class Windows {
 public:
  // `image` and `windows`: graph shapes of both sides.
  Windows(BodyContext& c, const Shape& image, const Shape& windows, std::string_view layout);

  // Runs `visit` for each element of the window at `window` (coordinates of the windows' side), in index order: its coordinates in the
  // image, the mask of those inside the image and of those inside it or its padding (invalid: always).
  struct Element {
    Coords at;
    Expr inside, padded;
  };
  void visit(const Coords& window, const std::function<void(const Element&)>& f);
  bool always_inside() const;
  int64_t elements() const;
  const ImageAxes& image_axes() const { return image_; }
  const std::vector<BodyAxis>& axes() const { return axes_; }
  Coord position(size_t axis, const Coord& window, const Coord& k);  // in the image

 private:
  void nest(size_t axis, const Coords& window, Element e, const std::function<void(const Element&)>& f);
  BodyContext& c_;
  ImageAxes image_;
  std::vector<BodyAxis> axes_;
};

Windows::Windows(BodyContext& c, const Shape& image, const Shape& windows, std::string_view layout)
    : c_(c), image_(nnc::image_axes(layout, static_cast<int>(image.size()))) {
  SymbolTable& s = const_cast<Graph&>(c.graph).symbols();
  const Node& node = c.node;
  const auto given = [&](std::string_view name, size_t k, int64_t fallback) {
    return node.ints(name).empty() ? fallback : node.ints(name)[k];
  };
  const std::string_view auto_pad = node.s("auto_pad");
  for (size_t k = 0; k < image_.spatial; ++k) {
    BodyAxis a;
    a.kernel = node.ints("kernel")[k];
    a.stride = given("strides", k, 1);
    a.dilation = given("dilations", k, 1);
    a.in = image[image_.first + k];
    a.out = windows[image_.first + k];
    const Dim last = s.add(s.mul(s.sub(a.out, 1), a.stride), (a.kernel - 1) * a.dilation);  // of the last window, were there no padding
    const WindowAxis window{a.kernel, a.stride, a.dilation, given("pads_begin", k, 0), given("pads_end", k, 0)};
    const Padding padding = window_padding(s, a.in, a.out, window, auto_pad);
    a.pad_begin = padding.begin;
    a.pad_end = padding.end;
    a.fits_begin = s.at_most(a.pad_begin, int64_t(0)) == Ternary::kYes;
    const bool floor = auto_pad == "notset" && node.i("ceil_mode") == 0;  // then the last window ends inside the padding by construction
    a.fits_end = (floor && s.at_most(a.pad_end, int64_t(0)) == Ternary::kYes) ||
                 s.at_most(s.sub(s.sub(last, a.pad_begin), s.sub(a.in, 1)), int64_t(0)) == Ternary::kYes;
    axes_.push_back(a);
  }
}

bool Windows::always_inside() const {
  for (const BodyAxis& a : axes_)
    if (!a.fits_begin || !a.fits_end) return false;
  return true;
}

int64_t Windows::elements() const {
  int64_t n = 1;
  for (const BodyAxis& a : axes_) n *= a.kernel;
  return n;
}

Coord Windows::position(size_t axis, const Coord& window, const Coord& k) {
  const BodyAxis& a = axes_[axis];
  SymbolTable& s = c_.k().symbols();
  return c_.s.add(c_.s.add(c_.s.scale(window, a.stride), c_.s.scale(k, a.dilation)), c_.s.constant(s.sub(0, c_.s.dim(a.pad_begin))));
}

void Windows::nest(size_t axis, const Coords& window, Element e, const std::function<void(const Element&)>& f) {
  if (axis == axes_.size()) return f(e);
  const BodyAxis& a = axes_[axis];
  KernelBuilder& k = c_.k();
  const size_t at = image_.first + axis;
  const auto element = [&](const Coord& kernel) {
    Element next = e;
    next.at[at] = position(axis, window[at], kernel);
    if (!a.fits_begin) next.inside = both(c_, next.inside, at_or_above(c_, next.at[at], k.index(0)));
    if (!a.fits_end) {
      next.inside = both(c_, next.inside, below(c_, next.at[at], k.dim(c_.s.dim(a.in))));
      next.padded = both(c_, next.padded, below(c_, next.at[at], k.dim(k.symbols().add(c_.s.dim(a.in), c_.s.dim(a.pad_end)))));
    }
    nest(axis + 1, window, std::move(next), f);
  };
  constexpr int64_t kUnrolled = 7;
  if (a.kernel <= kUnrolled) {
    for (int64_t i = 0; i < a.kernel; ++i) element(c_.s.constant(i));
  } else {
    k.for_("w", k.index(0), k.index(a.kernel), 1, [&](Expr i) { element(c_.s.opaque(i, 0, a.kernel - 1)); });
  }
}

void Windows::visit(const Coords& window, const std::function<void(const Element&)>& f) {
  Element e;
  e.at = Coords(axes_between(window, 0, window.size()));
  nest(0, window, std::move(e), f);
}

Expr number(BodyContext& c, DType t, double v) { return c.k().constant(t, v, c.s.lanes()); }

Expr lowest(BodyContext& c, DType t) {
  if (is_float(t)) return number(c, t, -std::numeric_limits<double>::infinity());
  return integer_constant(c.k(), t, static_cast<uint64_t>(int_min(t)), c.s.lanes());
}

// |x|^p and its inverse.
Expr power(KernelBuilder& k, Expr x, double p) {
  if (p == 1) return x;
  if (p == 2) return k.mul(x, x);
  return p == 0.5 ? k.unary(ExprOp::kSqrt, x) : k.math(ExprOp::kPow, x, k.constant(k.type(x).elem, p, k.lanes(x)));
}

// A register that `visit` updates, where the mask holds.
class Register {
 public:
  Register(BodyContext& c, const char* name, Expr start) : c_(c), var_(c.k().mut(name, c.k().splat(start, c.s.lanes()))) {}
  Expr get() const { return c_.k().var(var_); }
  void set(Expr v, Expr mask = {}) {
    KernelBuilder& k = c_.k();
    const Expr wide = k.splat(v, c_.s.lanes());
    k.set(var_, mask.valid() ? k.select(k.splat(mask, c_.s.lanes()), wide, get()) : wide);
  }

 private:
  BodyContext& c_;
  VarId var_;
};

// Pooling of operand `x` over the window at `window`.
Expr pooled(BodyContext& c, Windows& w, int x, const Coords& window, std::string_view kind) {
  KernelBuilder& k = c.k();
  const DType dtype = compute_dtype(c.dtype(x));
  const double p = static_cast<double>(c.node.i("p"));
  Register acc(c, "acc", kind == "max" ? lowest(c, dtype) : number(c, dtype, 0)), count(c, "count", number(c, dtype, 0));
  const bool counts = kind == "avg" && !w.always_inside();
  w.visit(window, [&](const Windows::Element& e) {
    const Expr v = c.s.read(x, e.at, e.inside);
    acc.set(kind == "max" ? k.max(acc.get(), v) : k.add(acc.get(), kind == "lp" ? power(k, k.unary(ExprOp::kAbs, v), p) : v), e.inside);
    if (counts) count.set(k.add(count.get(), number(c, dtype, 1)), c.node.i("count_include_pad") != 0 ? e.padded : e.inside);
  });
  if (kind == "max") return acc.get();
  if (kind == "lp") return power(k, acc.get(), 1 / p);
  return k.div(acc.get(), counts ? count.get() : number(c, dtype, static_cast<double>(w.elements())));
}

// Row-major position in the image, or with the spatial axes first-fastest.
Expr flat_index(BodyContext& c, const Coords& at, const Shape& image, bool first_fastest) {
  std::vector<Coord> coords = axes_between(at, 0, at.size());
  Shape shape = image;
  if (first_fastest) {
    std::reverse(coords.begin() + 2, coords.end());
    std::reverse(shape.begin() + 2, shape.end());
  }
  return c.k().convert(c.s.vector(c.s.flatten(Coords(std::move(coords)), shape)), DType::kI64);
}

// Index of the largest element of operand x in the window, the first among equals; the first NaN wins; -1 for none.
Expr largest_index(BodyContext& c, Windows& w, int x, const Shape& image, const Coords& window, bool first_fastest) {
  KernelBuilder& k = c.k();
  const DType dtype = compute_dtype(c.dtype(x));
  Register best(c, "best", number(c, dtype, 0)), index(c, "index", k.constant(DType::kI64, -1, c.s.lanes()));
  w.visit(window, [&](const Windows::Element& e) {
    const Expr v = c.s.read(x, e.at, e.inside), none = k.lt(index.get(), k.constant(DType::kI64, 0, c.s.lanes()));
    Expr above = k.lt(best.get(), v);
    if (is_float(dtype))
      above = k.logical_or(above, k.logical_and(k.unary(ExprOp::kIsNan, v), k.logical_not(k.unary(ExprOp::kIsNan, best.get()))));
    const Expr take = k.let("take", both(c, e.inside, k.logical_or(none, above)));
    best.set(v, take);
    index.set(flat_index(c, e.at, image, first_fastest), take);
  });
  return index.get();
}

}  // namespace

void body_pool(BodyContext& c) {
  Windows w(c, c.shape(0), c.result_type().shape, c.node.s("layout"));
  c.result = pooled(c, w, 0, c.coords, c.node.s("kind"));
}

void body_max_pool_indices(BodyContext& c) {
  Windows w(c, c.shape(0), c.result_type().shape, "nchw");
  c.result = largest_index(c, w, 0, c.shape(0), c.coords, c.node.i("storage_order") != 0);
}

// Each element of x adds up what the windows that hold it send: those whose element k lies on it, for every k.
void body_pool_grad(BodyContext& c) {
  KernelBuilder& k = c.k();
  const Shape& image = c.result_type().shape;
  const std::string_view kind = c.node.s("kind");
  Windows w(c, image, c.shape(0), c.node.s("layout"));
  const DType dtype = compute_dtype(c.dtype(0));
  const double p = static_cast<double>(c.node.i("p"));
  Register sum(c, "sum", number(c, dtype, 0));
  const auto from_window = [&](const Coords& window, Expr mask) {
    const Expr g = c.s.read(0, window, mask);
    if (kind == "max") {
      const Expr mine = k.eq(largest_index(c, w, 1, image, window, false), flat_index(c, c.coords, image, false));
      sum.set(k.add(sum.get(), g), both(c, mask, mine));
      return;
    }
    if (kind == "lp") {
      const Expr norm = pooled(c, w, 1, window, "lp"), x = c.s.read(1, c.coords, mask), zero = number(c, dtype, 0);
      const Expr share = power(k, k.div(k.unary(ExprOp::kAbs, x), norm), p - 1),
                 toward = k.select(k.lt(x, zero), k.unary(ExprOp::kNeg, share), share);
      const Expr counts = k.logical_and(k.logical_not(k.eq(norm, zero)), k.logical_not(k.eq(x, zero)));
      sum.set(k.add(sum.get(), k.mul(g, toward)), both(c, mask, counts));
      return;
    }
    Register count(c, "count", number(c, dtype, 0));
    w.visit(window, [&](const Windows::Element& e) {
      count.set(k.add(count.get(), number(c, dtype, 1)), c.node.i("count_include_pad") != 0 ? e.padded : e.inside);
    });
    sum.set(k.add(sum.get(), k.div(g, count.get())), mask);
  };
  std::function<void(size_t, Coords, Expr)> nest = [&](size_t axis, Coords window, Expr mask) {
    if (axis == w.axes().size()) return from_window(window, mask);
    const BodyAxis& a = w.axes()[axis];
    const size_t at = w.image_axes().first + axis;
    k.for_("w", k.index(0), k.index(a.kernel), 1, [&](Expr i) {
      // here + pad_begin - i * dilation = window * stride
      const Expr here = k.add(uniform(c, c.coords[at]), k.dim(c.s.dim(a.pad_begin)));
      const Expr reach = k.let("reach", k.sub(here, k.mul(i, k.index(a.dilation)))), out = k.dim(c.s.dim(a.out));
      const Expr number_of = k.let("window", k.floordiv(reach, k.index(a.stride)));
      const Expr hit =
          k.logical_and(k.eq(k.mul(number_of, k.index(a.stride)), reach), k.logical_and(k.le(k.index(0), number_of), k.lt(number_of, out)));
      Coords next = window;
      next[at] =
          c.s.opaque(k.let("at", k.max(k.min(number_of, k.sub(out, k.index(1))), k.index(0))), 0, k.symbols().sub(c.s.dim(a.out), 1));
      nest(axis + 1, std::move(next), both(c, mask, k.let("hit", hit)));
    });
  };
  // Without windows there is none to look into, not even at a clamped place.
  Expr some;
  for (const BodyAxis& a : w.axes()) some = both(c, some, not_empty(c, a.out));
  const auto all = [&] { nest(0, Coords(axes_between(c.coords, 0, c.coords.size())), {}); };
  if (some.valid())
    k.if_(some, all);
  else
    all();
  c.result = sum.get();
}

}  // namespace nnc

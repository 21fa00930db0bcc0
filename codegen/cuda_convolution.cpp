// Convolutions on CUDA, channels last. Dense and grouped ones are products whose rows are output positions and whose depth is (kernel...,
// channel): the left tile is gathered from the input, positions outside of it are zeros, and no patch matrix is made. Depthwise: a thread a
// position and a vector of channels.

#include "codegen/conv_facts.h"
#include "codegen/cuda_product.h"

namespace nnc {

namespace {

// Digits of `number` over `extents`, last one fastest.
std::vector<Expr> digits(KernelBuilder& k, Expr number, const std::vector<Dim>& extents) {
  std::vector<Expr> d(extents.size(), k.index(0));
  Expr rest = number;
  size_t outermost = extents.size();
  for (size_t i = extents.size(); i-- > 0;)
    if (!extents[i].is_const(1)) outermost = i;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i].is_const(1)) continue;
    if (i == outermost) {
      d[i] = rest;
      break;
    }
    d[i] = k.let("i", k.floormod(rest, k.dim(extents[i])));
    rest = k.let("t", k.floordiv(rest, k.dim(extents[i])));
  }
  return d;
}

// Where a window's tap lies in the input, and whether that is inside.
struct Tap {
  std::vector<Coord> at;
  Expr inside;  // invalid: always
};
Tap tap_of(GroupBody& body, const ConvFacts& f, const std::vector<Coord>& output, const std::vector<Expr>& taps) {
  KernelBuilder& k = body.k();
  const Shape& sx = body.graph().type(f.x).shape;
  Tap t;
  for (size_t d = 0; d < f.spatial; ++d) {
    const Coord within = body.opaque(taps[d], 0, k.symbols().sub(body.dim(f.kernel[d]), 1));
    Coord c = body.add(body.scale(output[d], f.stride[d]), body.scale(within, f.dilation[d]));
    c = body.add(c, body.constant(k.symbols().mul(body.dim(f.pad_begin[d]), -1)));
    t.at.push_back(c);
    if (!f.padded) continue;
    const Expr p = k.let("p", body.scalar(c));
    const Expr in = k.logical_and(k.le(k.index(0), p), k.lt(p, k.dim(body.dim(sx[d + 1]))));
    t.inside = t.inside.valid() ? k.logical_and(t.inside, in) : in;
  }
  return t;
}

class ConvTiles final : public CudaProduct {
 public:
  ConvTiles(const Graph& g, const Target& t, const ConvFacts& f, const CudaTiling& x) : CudaProduct(g, t, f.result, f.acc, x), f_(f) {
    args.all();
    SymbolTable& s = k.symbols();
    const Shape& sy = g.type(f.result).shape;
    m_ = 1;
    for (size_t i = 0; i <= f.spatial; ++i) {
      positions_.push_back(body.dim(sy[i]));
      m_ = s.mul(m_, positions_.back());
    }
    n_ = body.dim(f.out_channels);
    depth_ = body.dim(f.in_channels);
    for (const Dim& d : f.kernel) {
      taps_.push_back(body.dim(d));
      depth_ = s.mul(depth_, taps_.back());
    }
    taps_.push_back(body.dim(f.in_channels));
    a_ = side(f.x, true, false);
    b_ = side(f.w, false, f.packed);
  }
  void build() { CudaProduct::build(Shape{Dim(f_.group)}); }

 private:
  Side side(ValueId v, bool left, bool packed) {
    Side s;
    const DType type = g_.type(v).dtype;
    s.type = x_.tiles ? type : acc_;
    s.depth_runs = left;
    for (uint32_t i = 0; i < g_.inputs().size(); ++i)
      if (g_.inputs()[i] == v && type == s.type) {
        s.direct = true;
        s.buffer = body.declare_input(i);
      }
    const Dim& run = left ? taps_.back() : n_;
    s.vectors = s.direct && ((!left && packed) || k.symbols().divisible(run, 16 / (dtype_bits(type) / 8)) == Ternary::kYes);
    return s;
  }
  struct Place {
    Coords coords;
    Expr inside;
  };
  Place input_place(Expr m, Expr p) {
    const std::vector<Expr> o = digits(k, m, positions_), t = digits(k, p, taps_);
    std::vector<Coord> output;
    for (size_t d = 0; d < f_.spatial; ++d) output.push_back(body.opaque(o[d + 1], 0, k.symbols().sub(positions_[d + 1], 1)));
    const Tap tap = tap_of(body, f_, output, t);
    Place place{Coords(f_.spatial + 2), tap.inside};
    place.coords[0] = body.opaque(o[0], 0, k.symbols().sub(positions_[0], 1));
    for (size_t d = 0; d < f_.spatial; ++d) place.coords[d + 1] = tap.at[d];
    const Coord channel = body.opaque(t[f_.spatial], 0, k.symbols().sub(taps_.back(), 1));
    body.set_axes(axes_, 1);
    place.coords[f_.spatial + 1] = f_.group == 1 ? channel : body.add(body.scale(body.axis(0), taps_.back()), channel);
    return place;
  }
  Expr inside(bool left, Expr outer, Expr depth) override {
    if (!left) return {};
    place_ = input_place(outer, depth);
    return place_.inside;
  }
  // Weights [kernel..., in, out], or panels [group][out / 16][depth][16].
  Expr weight_flat(Expr n, Expr p) {
    SymbolTable& s = k.symbols();
    const Expr g = axes_[0].base;
    if (!f_.packed) return k.add(k.mul(p, k.dim(s.mul(n_, f_.group))), k.add(k.mul(g, k.dim(n_)), n));
    const Expr panel = k.add(k.mul(g, k.dim(s.ceildiv(n_, kPanel))), k.floordiv(n, k.index(kPanel)));
    return k.add(k.mul(k.add(k.mul(panel, k.dim(depth_)), p), k.index(kPanel)), k.floormod(n, k.index(kPanel)));
  }
  Expr flat(const Side&, bool left, Expr outer, Expr depth) override {
    return left ? body.scalar(body.flatten(place_.coords, g_.type(f_.x).shape)) : weight_flat(outer, depth);
  }
  Expr value(bool left, Expr outer, Expr depth, Expr mask) override {
    if (left) return body.emit(f_.x, place_.coords, mask);
    const Dim count = k.symbols().mul(k.symbols().mul(n_, f_.group), depth_);
    if (!f_.packed) {
      const Coord at = body.opaque(weight_flat(outer, depth), 0, k.symbols().sub(count, 1));
      return body.emit(f_.w, Coords::of_flat(body, at, g_.type(f_.w).shape), mask);
    }
    for (uint32_t i = 0; i < g_.inputs().size(); ++i)
      if (g_.inputs()[i] == f_.w)
        return body.to_compute(k.load(body.declare_input(i), weight_flat(outer, depth), 1, {mask, {}, false}), g_.type(f_.w).dtype);
    NNC_CHECK(false, "packed weights must be an input of their group");
  }
  Coord out_channel() {
    const Coord c = body.axis(column_axis());
    return f_.group == 1 ? c : body.add(body.scale(body.axis(0), n_), c);
  }
  Coords result_coords() override {
    const Coord flat = body.add(body.scale(body.axis(row_axis()), k.symbols().mul(n_, f_.group)), out_channel());
    return Coords::of_flat(body, flat, g_.type(f_.result).shape);
  }
  Expr bias(Expr mask) override {
    if (!f_.bias.valid()) return {};
    Coords c(1);
    c[0] = out_channel();
    return body.emit(f_.bias, c, mask);
  }

  const ConvFacts& f_;
  std::vector<Dim> positions_, taps_;  // image and output extents; kernel extents and channels
  Place place_;                        // of the left element at hand
};

constexpr int kDepthwiseThreads = 128;

class CudaDepthwise {
 public:
  CudaDepthwise(const Graph& g, const Target& t, const ConvFacts& f, int lanes)
      : k(group_name(g), kDepthwiseThreads), body(k, g, t), args(k, body), g_(g), f_(f), lanes_(lanes), epilogue_(body, f.result) {
    args.all();
  }

  void build() {
    SymbolTable& s = k.symbols();
    std::vector<Dim> extents;
    Dim total = 1;
    for (const Dim& d : g_.type(f_.result).shape) axes_.push_back(IterAxis{body.dim(d), k.index(0), false, 1});
    for (const IterAxis& a : axes_) extents.push_back(a.extent);
    extents.back() = s.floordiv(extents.back(), lanes_);
    for (const Dim& d : extents) total = s.mul(total, d);
    k.grid(s.ceildiv(total, kDepthwiseThreads));
    const Expr id = k.let("id", k.add(k.mul(k.task(0), k.index(kDepthwiseThreads)), k.thread()));
    auto one = [&] {
      const std::vector<Expr> d = digits(k, id, extents);
      for (size_t a = 0; a < axes_.size(); ++a) axes_[a].base = d[a];
      IterAxis& c = axes_.back();
      c = IterAxis{c.extent, k.let("c0", k.mul(c.base, k.index(lanes_))), lanes_ > 1, lanes_};
      body.set_axes(axes_, lanes_);
      position();
    };
    if (s.divisible(total, kDepthwiseThreads) == Ternary::kYes)
      one();
    else
      k.if_(k.lt(id, k.dim(total)), one);
  }

  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;

 private:
  void position() {
    const uint32_t channel = static_cast<uint32_t>(axes_.size() - 1);
    const VarId acc = k.mut("c", k.constant(f_.acc, 0, lanes_));
    std::vector<Expr> taps;
    std::function<void(size_t)> nest = [&](size_t d) {
      if (d < f_.spatial) {
        k.for_("k", k.index(0), k.dim(body.dim(f_.kernel[d])), 1, [&](Expr v) {
          taps.push_back(v);
          nest(d + 1);
          taps.pop_back();
        });
        return;
      }
      std::vector<Coord> output;
      for (uint32_t p = 0; p < f_.spatial; ++p) output.push_back(body.axis(1 + p));
      const Tap tap = tap_of(body, f_, output, taps);
      auto multiply = [&] {
        body.enter();
        Coords w(f_.spatial + 2), c(f_.spatial + 2);
        c[0] = body.axis(0);
        for (size_t p = 0; p < f_.spatial; ++p) {
          w[p] = body.opaque(taps[p], 0, k.symbols().sub(body.dim(f_.kernel[p]), 1));
          c[p + 1] = tap.at[p];
        }
        c[f_.spatial + 1] = w[f_.spatial + 1] = body.axis(channel);
        const Expr x = k.splat(k.convert(body.emit(f_.x, c), f_.acc), lanes_), y = k.splat(k.convert(body.emit(f_.w, w), f_.acc), lanes_);
        k.set(acc, is_float(f_.acc) ? k.fma(x, y, k.var(acc)) : k.add(k.mul(x, y), k.var(acc)));
        body.leave();
      };
      if (tap.inside.valid())
        k.if_(tap.inside, multiply);
      else
        multiply();
    };
    nest(0);
    const DType type = g_.type(f_.result).dtype;
    body.enter();
    Coords c;
    for (uint32_t a = 0; a < axes_.size(); ++a) c.push_back(body.axis(a));
    Expr v = k.var(acc);
    if (f_.bias.valid()) {
      Coords b;
      b.push_back(body.axis(channel));
      v = k.add(v, k.convert(body.emit(f_.bias, b), f_.acc));
    }
    v = k.let("c", body.round_value(k.convert(v, compute_dtype(type)), type));
    body.bind(f_.result, [v](const Coords&, Expr) { return v; });
    epilogue_.place(c);
    epilogue_.store();
    body.unbind(f_.result);
    body.leave();
  }

  const Graph& g_;
  const ConvFacts& f_;
  const int lanes_;
  Epilogue epilogue_;
  std::vector<IterAxis> axes_;
};

}  // namespace

Result<LoweredGroup> lower_convolution_cuda(const Graph& g, const ConvFacts& f, const Target& target, const LowerOptions& options) {
  LoweredGroup out;
  SymbolTable& s = const_cast<Graph&>(g).symbols();
  if (!f.packed && f.in_channels.is_const(1) && f.out_channels.is_const(1) && f.group > 1) {
    out.skeleton = "depthwise";
    int lanes = target.lanes(widest_element(g));
    while (lanes > 1 && s.divisible(g.type(f.x).shape.back(), lanes) != Ternary::kYes) lanes /= 2;
    for (;;) {
      CudaDepthwise d(g, target, f, lanes);
      d.build();
      if (d.body.vector_failed() && lanes > 1) {
        lanes = 1;
        continue;
      }
      out.kernels.push_back(d.args.finish(options));
      return out;
    }
  }
  out.skeleton = "convolution";
  Dim m = 1;
  const Shape& sy = g.type(f.result).shape;
  for (size_t i = 0; i <= f.spatial; ++i) m = s.mul(m, sy[i]);
  const CudaTiling x = choose_cuda_tiling(target, s, m, f.out_channels, f.acc, g.type(f.x).dtype, g.type(f.w).dtype);
  for (bool vectors : {true, false}) {
    ConvTiles p(g, target, f, x);
    if (!vectors) p.one_lane();
    p.build();
    if (p.vector_failed() && vectors) continue;
    out.kernels.push_back(p.args.finish(options));
    break;
  }
  return out;
}

}  // namespace nnc

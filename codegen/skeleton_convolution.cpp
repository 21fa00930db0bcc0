// Convolutions, channels last. Dense and grouped ones are products whose rows are the output positions along the last spatial axis and
// whose inner dimension is (kernel..., channel); no patch matrix is made. Padding is done once, by a first kernel that copies the input
// into scratch with its border, so that the product's loops have neither masks nor cases. Depthwise: vectors along the channels, a few
// positions in registers.

#include <algorithm>

#include "codegen/conv_facts.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

std::vector<int64_t> ints_or(const Node& n, std::string_view name, size_t count, int64_t value) {
  const std::vector<int64_t>& v = n.ints(name);
  return v.empty() ? std::vector<int64_t>(count, value) : v;
}

}  // namespace

Result<ConvFacts> conv_facts(const Graph& g) {
  ConvFacts f;
  for (NodeId n : g.order())
    if (g.node(n).kind == OpKind::kConv) f.node = &g.node(n);
  if (!f.node)
    return Error(Code::kUnsupportedOp, "transposed convolutions and gradients of convolutions are expanded before kernels are made");
  const Node& n = *f.node;
  if (n.s("layout") != "nhwc") return Error(Code::kInternal, "the layout pass has not run: a convolution with channels first");
  f.x = n.operands[0], f.w = n.operands[1], f.result = n.results[0];
  if (n.operands.size() > 2) f.bias = n.operands[2];
  SymbolTable& s = const_cast<Graph&>(g).symbols();
  const Shape &sx = g.type(f.x).shape, &sw = g.type(f.w).shape, &sy = g.type(f.result).shape;
  f.spatial = sx.size() - 2;
  f.packed = n.s("w_format") == "panel16";
  f.group = n.i("group");
  if (f.packed) {
    for (int64_t k : n.ints("kernel")) f.kernel.push_back(k);
  } else if (n.s("w_format") == "hwio") {
    f.kernel.assign(sw.begin(), sw.begin() + static_cast<std::ptrdiff_t>(f.spatial));
  } else {
    return Error(Code::kInternal, "the layout pass has not run: a convolution with weights [out, in, kernel]");
  }
  f.stride = ints_or(n, "strides", f.spatial, 1);
  f.dilation = ints_or(n, "dilations", f.spatial, 1);
  const std::vector<int64_t> begin = ints_or(n, "pads_begin", f.spatial, 0);
  f.in_channels = s.floordiv(sx.back(), f.group);
  f.out_channels = s.floordiv(sy.back(), f.group);
  f.acc = accumulator_of(g, n);
  for (size_t d = 0; d < f.spatial; ++d) {
    const Dim reach = s.add(s.add(s.mul(s.sub(sy[d + 1], 1), f.stride[d]), s.mul(s.sub(f.kernel[d], 1), f.dilation[d])), 1);
    Dim pad = begin[d];
    if (const std::string_view mode = n.s("auto_pad"); mode != "notset") {
      const Dim total = s.max(s.sub(reach, sx[d + 1]), 0);
      pad = mode == "same_upper" ? s.floordiv(total, 2) : s.ceildiv(total, 2);
    }
    f.pad_begin.push_back(pad);
    f.reach.push_back(reach);
    // Without a border every position that is read lies inside.
    if (!pad.is_const(0) || s.at_least(s.sub(sx[d + 1], reach), 0) != Ternary::kYes) f.padded = true;
  }
  return f;
}

namespace {

// Extents of the padded copy of the input: batch, reach..., channels.
Shape padded_shape(const Graph& g, const ConvFacts& f) {
  Shape p{g.type(f.x).shape[0]};
  p.insert(p.end(), f.reach.begin(), f.reach.end());
  p.push_back(g.type(f.x).shape.back());
  return p;
}

Dim count_of(KernelBuilder& k, GroupBody& b, const Shape& shape) {
  Dim n = 1;
  for (const Dim& d : shape) n = k.symbols().mul(n, b.dim(d));
  return n;
}

// ---- first kernel: input with border, in the accumulator's type.
LoweredKernel pad_input(const Graph& g, const Target& t, const ConvFacts& f, const LowerOptions& o, int lanes, bool* failed) {
  KernelBuilder k("pad_" + group_name(g));
  GroupBody body(k, g, t);
  ArgRecorder args(k, body);
  for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
  const Shape padded = padded_shape(g, f);
  const BufId out = args.scratch(0, f.acc, count_of(k, body, padded), Access::kWrite);
  SymbolTable& s = k.symbols();
  const Shape& sx = g.type(f.x).shape;
  std::vector<IterAxis> axes;
  for (const Dim& d : padded) axes.push_back(IterAxis{body.dim(d), k.index(0), false, 1});
  k.grid(axes[1].extent, axes[0].extent);
  axes[0].base = k.task(1);
  axes[1].base = k.task(0);
  const size_t last = axes.size() - 1;
  axes[last].align = lanes;
  auto element = [&](Expr channel, int n, Expr tail) {
    axes[last].base = channel;
    axes[last].lane = n > 1;
    body.set_axes(axes, n);
    body.enter();
    Coords in(sx.size()), at(padded.size());
    Expr inside;
    for (size_t a = 0; a < axes.size(); ++a) at[a] = body.axis(static_cast<uint32_t>(a));
    in[0] = at[0];
    in[last] = at[last];
    for (size_t d = 0; d < f.spatial; ++d) {
      in[d + 1] = body.add(body.axis(static_cast<uint32_t>(d + 1)), body.constant(s.mul(body.dim(f.pad_begin[d]), -1)));
      const Expr pos = body.scalar(in[d + 1]);
      const Expr ok = k.logical_and(k.le(k.index(0), pos), k.lt(pos, k.dim(body.dim(sx[d + 1]))));
      inside = inside.valid() ? k.logical_and(inside, ok) : ok;
    }
    inside = k.splat(k.let("inside", inside), n);
    if (tail.valid()) inside = k.logical_and(inside, tail);
    const Expr v = k.splat(k.convert(body.emit(f.x, in, inside), f.acc), n);
    StoreOptions so;
    so.mask = tail;
    k.store(out, body.scalar(body.flatten(at, padded)), k.select(inside, v, k.constant(f.acc, 0, n)), so);
    body.leave();
  };
  const Dim channels = axes[last].extent;
  std::function<void(size_t)> nest = [&](size_t a) {
    if (a < last) {
      k.for_("q", k.index(0), k.dim(axes[a].extent), 1, [&](Expr q) {
        axes[a].base = q;
        nest(a + 1);
      });
      return;
    }
    const Dim vectors = s.floordiv(channels, lanes);
    k.for_("c", k.index(0), k.dim(vectors), 1, [&](Expr c) { element(k.mul(c, k.index(lanes)), lanes, {}); });
    if (lanes == 1 || s.divisible(channels, lanes) == Ternary::kYes) return;
    k.for_("c", k.dim(s.mul(vectors, lanes)), k.dim(channels), 1, [&](Expr c) { element(c, 1, {}); });
  };
  nest(2);
  *failed = body.vector_failed();
  return args.finish(o);
}

// ---- weights [kernel..., in, out] into panels [group][out / 16][depth][16].
LoweredKernel pack_weights(const Graph& g, const Target& t, const ConvFacts& f, const LowerOptions& o, uint32_t scratch) {
  KernelBuilder k("pack_" + group_name(g));
  GroupBody body(k, g, t);
  ArgRecorder args(k, body);
  for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
  SymbolTable& s = k.symbols();
  const Dim n = body.dim(f.out_channels), panels = s.ceildiv(n, kPanel), all = s.mul(n, f.group);
  Dim depth = body.dim(f.in_channels);
  for (const Dim& d : f.kernel) depth = s.mul(depth, body.dim(d));
  const BufId out = args.scratch(scratch, f.acc, s.mul(s.mul(s.mul(panels, depth), kPanel), f.group), Access::kWrite);
  k.grid(panels, f.group);
  const Expr base = k.let("base", k.mul(k.mul(k.add(k.mul(k.task(1), k.dim(panels)), k.task(0)), k.dim(depth)), k.index(kPanel)));
  const Expr n0 = k.let("n0", k.mul(k.task(0), k.index(kPanel)));
  k.for_("p", k.index(0), k.dim(depth), 1, [&](Expr p) {
    k.for_("j", k.index(0), k.index(kPanel), 1, [&](Expr j) {
      body.set_axes({}, 1);
      body.enter();
      const Expr column = k.let("n", k.add(n0, j));
      const Expr inside = k.lt(column, k.dim(n));
      const Coord flat =
          body.opaque(k.add(k.mul(p, k.dim(all)), k.add(k.mul(k.task(1), k.dim(n)), column)), 0, s.sub(s.mul(depth, all), 1));
      const Expr v = k.convert(body.emit(f.w, Coords::of_flat(body, flat, g.type(f.w).shape), inside), f.acc);
      k.store(out, k.add(k.add(base, k.mul(p, k.index(kPanel))), j), k.select(inside, v, k.constant(f.acc, 0)));
      body.leave();
    });
  });
  return args.finish(o);
}

// The last spatial axis that is longer than 1: where a tile finds its rows.
size_t row_spatial(const Graph& g, const ConvFacts& f) {
  const Shape& sy = g.type(f.result).shape;
  for (size_t d = f.spatial; d-- > 0;)
    if (!sy[d + 1].is_const(1)) return d;
  return f.spatial - 1;
}

// ---- the product
class ConvProduct : public TileProduct {
 public:
  ConvProduct(const Graph& g, const Target& t, const ConvFacts& f, const Tiling& x) : TileProduct(g, t, f.result, f.acc, x), f_(f) {
    for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
    for (uint32_t o = 0; o < g.outputs().size(); ++o) args.output(o);
    SymbolTable& s = k.symbols();
    const Shape& sy = g.type(f.result).shape;
    row_ = row_spatial(g, f);
    m_ = body.dim(sy[row_ + 1]);
    n_ = body.dim(f.out_channels);
    depth_ = body.dim(f.in_channels);
    for (const Dim& d : f.kernel) depth_ = s.mul(depth_, body.dim(d));
    panels_ = s.ceildiv(n_, kPanel);
    padded_ = padded_shape(g, f);
    if (f.padded) input_ = args.scratch(0, f.acc, count_of(k, body, padded_), Access::kRead);
    if (f.packed) {
      right_ = find_input(f.w);
      right_type_ = g.type(f.w).dtype;
    } else {
      right_ = args.scratch(f.padded ? 1 : 0, f.acc, s.mul(s.mul(s.mul(panels_, depth_), kPanel), f.group), Access::kRead);
      right_type_ = f.acc;
    }
  }

  void build() {
    SymbolTable& s = k.symbols();
    const Shape& sy = g_.type(f_.result).shape;
    axes_.push_back(IterAxis{body.dim(sy[0]), k.index(0), false, 1});
    axes_.push_back(IterAxis{Dim(f_.group), k.index(0), false, 1});
    Dim outer = 1;
    for (size_t d = 0; d < f_.spatial; ++d) {
      if (d == row_) continue;
      axes_.push_back(IterAxis{body.dim(sy[d + 1]), k.index(0), false, 1});
      outer = s.mul(outer, axes_.back().extent);
    }
    axes_.push_back(IterAxis{m_, k.index(0), false, 1});
    axes_.push_back(IterAxis{n_, k.index(0), x_.lanes > 1, kPanel});
    // Large weights stay in L2 while all rows pass; small ones leave more tasks to share.
    const int64_t weight_bytes = s.typical(depth_) * s.typical(n_) * 4, rows = s.typical(outer);
    const int64_t block = weight_bytes > (1 << 19) ? std::max<int64_t>(1, (rows + 1) / 2) : std::max<int64_t>(1, (rows + 3) / 4);
    k.grid(s.ceildiv(panels_, x_.panels), s.ceildiv(outer, block), s.mul(axes_[0].extent, f_.group));
    if (f_.group == 1) {
      axes_[0].base = k.task(2);
    } else {
      axes_[0].base = k.let("image", k.floordiv(k.task(2), k.index(f_.group)));
      axes_[1].base = k.let("g", k.floormod(k.task(2), k.index(f_.group)));
    }
    right_base_ = k.let("rb", k.mul(axes_[1].base, k.dim(s.mul(s.mul(panels_, depth_), kPanel))));
    const Expr first_panel = k.let("p0", k.mul(k.task(0), k.index(x_.panels)));
    auto one_row = [&] { panels(k.index(0), k.dim(m_), first_panel); };
    if (f_.spatial == 1) {
      one_row();
      return;
    }
    const Expr first = k.let("row0", k.mul(k.task(1), k.index(block)));
    k.for_("row", first, k.let("row1", k.min(k.dim(outer), k.add(first, k.index(block)))), 1, [&](Expr row) {
      Expr rest = row;
      for (size_t d = f_.spatial - 1; d-- > 0;) {
        axes_[2 + d].base = d == 0 ? rest : k.let("o", k.floormod(rest, k.dim(axes_[2 + d].extent)));
        if (d > 0) rest = k.let("t", k.floordiv(rest, k.dim(axes_[2 + d].extent)));
      }
      one_row();
    });
  }

 private:
  void walk_depth(const std::function<void(const DepthStep&)>& step) override {
    std::vector<Expr> vars;
    std::function<void(size_t, Expr)> nest = [&](size_t d, Expr flat) {
      if (d == f_.spatial) {
        const Dim c = body.dim(f_.in_channels);
        const Expr base = k.let("kc", k.mul(flat, k.dim(c)));
        depth_loop(k.index(0), k.dim(c), c, [&](Expr ci) {
          vars.push_back(ci);
          step({k.add(base, ci), vars});
          vars.pop_back();
        });
        return;
      }
      const Dim extent = body.dim(f_.kernel[d]);
      if (extent.is_const(1)) {
        vars.push_back(k.index(0));
        nest(d + 1, flat);
        vars.pop_back();
        return;
      }
      k.for_("k", k.index(0), k.dim(extent), 1, [&](Expr v) {
        vars.push_back(v);
        nest(d + 1, k.add(k.mul(flat, k.dim(extent)), v));
        vars.pop_back();
      });
    };
    nest(0, k.index(0));
  }
  // The iteration axis of a spatial axis.
  uint32_t axis_of(size_t d) const { return d == row_ ? row_axis() : static_cast<uint32_t>(2 + (d < row_ ? d : d - 1)); }
  // Position in the padded input.
  Coord position(size_t d, const DepthStep& step) {
    const Coord window = body.scale(body.axis(axis_of(d)), f_.stride[d]);
    const Coord inside = body.opaque(step.vars[d], 0, k.symbols().sub(body.dim(f_.kernel[d]), 1));
    return body.add(window, body.scale(inside, f_.dilation[d]));
  }
  Expr left(const DepthStep& step) override {
    Coords c(f_.spatial + 2);
    c[0] = body.axis(0);
    for (size_t d = 0; d < f_.spatial; ++d) c[d + 1] = position(d, step);
    const Coord channel = body.opaque(step.vars.back(), 0, k.symbols().sub(body.dim(f_.in_channels), 1));
    c[f_.spatial + 1] = f_.group == 1 ? channel : body.add(body.scale(body.axis(1), body.dim(f_.in_channels)), channel);
    if (!f_.padded) return body.emit(f_.x, c);
    return body.load_flat(input_, f_.acc, body.flatten(c, padded_));
  }
  Coord out_channel() {
    const Coord c = body.axis(column_axis());
    return f_.group == 1 ? c : body.add(body.scale(body.axis(1), n_), c);
  }
  Coords result_coords() override {
    Coords c;
    c.push_back(body.axis(0));
    for (size_t d = 0; d < f_.spatial; ++d) c.push_back(body.axis(axis_of(d)));
    c.push_back(out_channel());
    return c;
  }
  Expr bias(Expr mask) override {
    if (!f_.bias.valid()) return {};
    Coords c;
    c.push_back(out_channel());
    return body.emit(f_.bias, c, mask);
  }

  const ConvFacts& f_;
  size_t row_ = 0;  // the spatial axis that the tile's rows run along
  Shape padded_;
  BufId input_;
};

// ---- depthwise: one filter per channel.
class Depthwise {
 public:
  Depthwise(const Graph& g, const Target& t, const ConvFacts& f, int lanes)
      : k(group_name(g)), body(k, g, t), args(k, body), g_(g), f_(f), lanes_(lanes), epilogue_(body, f.result) {
    for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
    for (uint32_t o = 0; o < g.outputs().size(); ++o) args.output(o);
    padded_ = padded_shape(g, f);
    if (f.padded) input_ = args.scratch(0, f.acc, count_of(k, body, padded_), Access::kRead);
  }

  void build() {
    SymbolTable& s = k.symbols();
    const Shape& sy = g_.type(f_.result).shape;
    for (const Dim& d : sy) axes_.push_back(IterAxis{body.dim(d), k.index(0), false, 1});
    const size_t last = axes_.size() - 1, row = last - 1;
    axes_[last].align = lanes_;
    Dim outer = 1;
    for (size_t a = 1; a < row; ++a) outer = s.mul(outer, axes_[a].extent);
    k.grid(outer, axes_[0].extent);
    axes_[0].base = k.task(1);
    Expr rest = k.task(0);
    for (size_t a = row; a-- > 1;) {
      axes_[a].base = a == 1 ? rest : k.let("o", k.floormod(rest, k.dim(axes_[a].extent)));
      if (a > 1) rest = k.let("t", k.floordiv(rest, k.dim(axes_[a].extent)));
    }
    const Dim channels = axes_[last].extent, vectors = s.floordiv(channels, lanes_);
    k.for_("c", k.index(0), k.dim(vectors), 1, [&](Expr c) { channel_block(k.let("c0", k.mul(c, k.index(lanes_))), lanes_); });
    if (lanes_ > 1 && s.divisible(channels, lanes_) != Ternary::kYes)
      k.for_("c", k.dim(s.mul(vectors, lanes_)), k.dim(channels), 1, [&](Expr c) { channel_block(c, 1); });
  }

  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;

 private:
  void channel_block(Expr c0, int lanes) {
    const size_t last = axes_.size() - 1;
    axes_[last].base = c0;
    axes_[last].lane = lanes > 1;
    const Dim width = axes_[last - 1].extent;
    constexpr int kTile = 6;
    const Dim tiles = k.symbols().floordiv(width, kTile);
    k.for_("t", k.index(0), k.dim(tiles), 1, [&](Expr t) { tile(k.let("o", k.mul(t, k.index(kTile))), kTile, lanes); });
    if (k.symbols().divisible(width, kTile) != Ternary::kYes)
      k.for_("o", k.dim(k.symbols().mul(tiles, kTile)), k.dim(width), 1, [&](Expr o) { tile(o, 1, lanes); });
  }

  void at(Expr position, int lanes) {
    axes_[axes_.size() - 2].base = position;
    body.set_axes(axes_, lanes);
  }

  void tile(Expr o0, int count, int lanes) {
    const uint32_t channel = static_cast<uint32_t>(axes_.size() - 1);
    std::vector<VarId> acc;
    for (int i = 0; i < count; ++i) acc.push_back(k.mut("c", k.constant(f_.acc, 0, lanes)));
    std::vector<Expr> vars;
    std::function<void(size_t)> nest = [&](size_t d) {
      if (d < f_.spatial) {
        k.for_("k", k.index(0), k.dim(body.dim(f_.kernel[d])), 1, [&](Expr v) {
          vars.push_back(v);
          nest(d + 1);
          vars.pop_back();
        });
        return;
      }
      body.enter();
      at(o0, lanes);
      Coords wc(f_.spatial + 2);
      for (size_t i = 0; i < f_.spatial; ++i) wc[i] = body.opaque(vars[i], 0, k.symbols().sub(body.dim(f_.kernel[i]), 1));
      wc[f_.spatial + 1] = body.axis(channel);
      const Expr w = k.let("w", k.splat(k.convert(body.emit(f_.w, wc), f_.acc), lanes));
      for (int i = 0; i < count; ++i) {
        at(k.add(o0, k.index(i)), lanes);
        Coords c(f_.spatial + 2);
        c[0] = body.axis(0);
        for (size_t p = 0; p < f_.spatial; ++p)
          c[p + 1] = body.add(body.scale(body.axis(static_cast<uint32_t>(1 + p)), f_.stride[p]),
                              body.scale(body.opaque(vars[p], 0, k.symbols().sub(body.dim(f_.kernel[p]), 1)), f_.dilation[p]));
        c[f_.spatial + 1] = body.axis(channel);
        const Expr x = f_.padded ? body.load_flat(input_, f_.acc, body.flatten(c, padded_)) : k.convert(body.emit(f_.x, c), f_.acc);
        const VarId v = acc[static_cast<size_t>(i)];
        k.set(v, is_float(f_.acc) ? k.fma(k.splat(x, lanes), w, k.var(v)) : k.add(k.mul(k.splat(x, lanes), w), k.var(v)));
      }
      body.leave();
    };
    nest(0);
    const DType type = g_.type(f_.result).dtype;
    for (int i = 0; i < count; ++i) {
      at(k.add(o0, k.index(i)), lanes);
      body.enter();
      Coords c;
      for (uint32_t a = 0; a < axes_.size(); ++a) c.push_back(body.axis(a));
      Expr value = k.var(acc[static_cast<size_t>(i)]);
      if (f_.bias.valid()) {
        Coords b;
        b.push_back(body.axis(channel));
        value = k.add(value, k.convert(body.emit(f_.bias, b), f_.acc));
      }
      value = k.let("c", body.round_value(k.convert(value, compute_dtype(type)), type));
      body.bind(f_.result, [value](const Coords&, Expr) { return value; });
      epilogue_.place(c);
      epilogue_.store();
      body.unbind(f_.result);
      body.leave();
    }
  }

  const Graph& g_;
  const ConvFacts& f_;
  int lanes_;
  Epilogue epilogue_;
  Shape padded_;
  BufId input_;
  std::vector<IterAxis> axes_;
};

bool is_product(const ConvFacts& f) {
  if (f.padded || f.group != 1) return false;
  for (size_t d = 0; d < f.spatial; ++d)
    if (!f.kernel[d].is_const(1) || f.stride[d] != 1) return false;
  return true;
}

}  // namespace

Result<LoweredGroup> lower_convolution(const Graph& g, const Target& target, const LowerOptions& options) {
  NNC_ASSIGN(const ConvFacts f, conv_facts(g));
  if (is_product(f)) return lower_contraction(g, target, options);
  if (target.is_cuda()) return lower_convolution_cuda(g, f, target, options);
  LoweredGroup out;
  SymbolTable& s = const_cast<Graph&>(g).symbols();
  const int bytes = dtype_bits(f.acc) / 8;
  int lanes = target.kind == TargetKind::kVm ? 64 : target.vector_bytes / std::max(4, bytes);
  if (f.padded) {
    const Dim channels = g.type(f.x).shape.back();
    int wide = lanes;
    if (channels.is_const())
      while (wide > 1 && wide > channels.constant()) wide /= 2;
    bool failed = false;
    LoweredKernel pad = pad_input(g, target, f, options, wide, &failed);
    if (failed) pad = pad_input(g, target, f, options, 1, &failed);
    out.kernels.push_back(std::move(pad));
    Dim size = bytes;
    for (const Dim& d : padded_shape(g, f)) size = s.mul(size, d);
    out.scratch_bytes.push_back(size);
  }
  const bool depthwise = !f.packed && f.in_channels.is_const(1) && f.out_channels.is_const(1) && f.group > 1;
  if (depthwise) {
    out.skeleton = "depthwise";
    const Dim channels = g.type(f.x).shape.back();
    if (channels.is_const())
      while (lanes > 1 && lanes > channels.constant()) lanes /= 2;
    for (;;) {
      Depthwise d(g, target, f, lanes);
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
  if (!f.packed) {
    out.kernels.push_back(pack_weights(g, target, f, options, f.padded ? 1 : 0));
    Dim size = bytes * kPanel * f.group;
    size = s.mul(size, s.mul(s.ceildiv(f.out_channels, kPanel), f.in_channels));
    for (const Dim& d : f.kernel) size = s.mul(size, d);
    out.scratch_bytes.push_back(size);
  }
  Tiling x = choose_tiling(target, s, g.type(f.result).shape[row_spatial(g, f) + 1], f.out_channels, f.acc);
  for (;;) {
    ConvProduct p(g, target, f, x);
    p.build();
    if (p.body.vector_failed() && x.lanes > 1) {
      x = Tiling{1, 1, 1};
      continue;
    }
    out.kernels.push_back(p.args.finish(options));
    return out;
  }
}

}  // namespace nnc

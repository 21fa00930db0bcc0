// Convolutions, channels last: what they are made of, and which kernel takes one. Those without window or stride are plain products
// (skeleton_contraction.cpp), depthwise ones have vectors along the channels (conv_depthwise.cpp), all others are products over the taps
// (conv_product.cpp). No kernel makes a copy of the input with a border.

#include <algorithm>

#include "codegen/conv_skeletons.h"
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

// ---- weights [kernel..., in, out] into panels [group][out / 16][depth][16].
LoweredKernel pack_weights(const Graph& g, const Target& t, const ConvFacts& f, const LowerOptions& o) {
  KernelBuilder k("pack_" + group_name(g));
  GroupBody body(k, g, t);
  ArgRecorder args(k, body);
  for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
  SymbolTable& s = k.symbols();
  const Dim n = body.dim(f.out_channels), panels = s.ceildiv(n, kPanel), all = s.mul(n, f.group);
  Dim depth = body.dim(f.in_channels);
  for (const Dim& d : f.kernel) depth = s.mul(depth, body.dim(d));
  const BufId out = args.scratch(0, f.acc, s.mul(s.mul(s.mul(panels, depth), kPanel), f.group), Access::kWrite);
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
  if (!f.packed && f.in_channels.is_const(1) && f.out_channels.is_const(1) && f.group > 1) {
    out.skeleton = "depthwise";
    out.kernels.push_back(lower_depthwise(g, target, f, options));
    return out;
  }
  out.skeleton = "convolution";
  if (!f.packed) {
    SymbolTable& s = const_cast<Graph&>(g).symbols();
    out.kernels.push_back(pack_weights(g, target, f, options));
    Dim size = dtype_bits(f.acc) / 8 * kPanel * f.group;
    size = s.mul(size, s.mul(s.ceildiv(f.out_channels, kPanel), f.in_channels));
    for (const Dim& d : f.kernel) size = s.mul(size, d);
    out.scratch_bytes.push_back(size);
  }
  out.kernels.push_back(lower_conv_product(g, target, f, options));
  return out;
}

}  // namespace nnc

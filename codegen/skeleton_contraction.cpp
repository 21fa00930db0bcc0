// Contractions: c[b, m, n] = epilogue(sum over k of a[b, m, k] * b[b, k, n]). CPU: register tiles of rows by whole panels of 16 columns. The right operand is read as panels [N/16][K][16]: packed ahead of time where it
// is constant, else by a first kernel into scratch. A task is a block of rows by a few panels; the left operand's rows are streamed as scalars. Few rows take one row and many panels, whose streams lie far apart.

#include <algorithm>

#include "codegen/contraction.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

struct Facts {
  const Node* node = nullptr;
  ValueId a, b, bias, result;
  Shape batch;                    // of the result, without the axes merged into m
  Dim m = 1, n = 1, k;
  bool a_vector = false, b_vector = false, packed = false;
  bool merged = false;            // the right operand has no batch: all leading axes of the left one are rows
  bool ta = false, tb = false;
  DType acc = DType::kF32;
};

// A convolution with a 1 x 1 kernel, or a product: the same thing.
Result<Facts> facts_of(const Graph& g, NodeId id) {
  Facts f;
  f.node = &g.node(id);
  f.a = f.node->operands[0];
  f.b = f.node->operands[1];
  f.result = f.node->results[0];
  f.acc = accumulator_of(g, *f.node);
  SymbolTable& s = const_cast<Graph&>(g).symbols();
  const Shape &sa = g.type(f.a).shape, &sc = g.type(f.result).shape;
  if (f.node->kind == OpKind::kConv) {
    if (f.node->operands.size() > 2) f.bias = f.node->operands[2];
    f.packed = f.node->s("w_format") == "panel16";
    f.k = sa.back();
    f.n = sc.back();
    f.m = s.mul(std::span<const Dim>(sc.data(), sc.size() - 1));
    f.merged = true;
    return f;
  }
  const Shape& sb = g.type(f.b).shape;
  f.packed = !f.node->s("b_format").empty();
  f.a_vector = sa.size() == 1;
  f.b_vector = !f.packed && sb.size() == 1;
  f.ta = f.node->i("transpose_a") != 0, f.tb = f.node->i("transpose_b") != 0;
  f.k = f.a_vector ? sa[0] : sa[sa.size() - (f.ta ? 2 : 1)];
  if (f.packed)
    f.n = f.node->dims("n")[0];
  else if (!f.b_vector)
    f.n = sb[sb.size() - (f.tb ? 2 : 1)];
  const size_t own = sb.size() - (f.packed ? 3 : f.b_vector ? 1 : 2);
  if (own == 0 && !f.ta && sa.size() > 2) {
    f.merged = true;
    f.m = s.mul(std::span<const Dim>(sa.data(), sa.size() - 1));
    return f;
  }
  if (!f.a_vector) f.m = sa[sa.size() - (f.ta ? 1 : 2)];
  f.batch.assign(sc.begin(), sc.end() - (f.a_vector ? 0 : 1) - (f.b_vector ? 0 : 1));
  return f;
}

// A factor that is 0 where `extent` is 1: broadcasting along an axis whose extent is not known.
Dim stride_factor(GroupBody& body, const Dim& extent) {
  SymbolTable& s = const_cast<Graph&>(body.graph()).symbols();
  return body.dim(s.min(s.max(s.sub(extent, 1), 0), 1));
}

// Leading coordinates of an operand from the result's batch axes.
void batch_coords(GroupBody& body, const Facts& f, const Shape& shape, size_t batch, Coords& c) {
  const size_t skip = f.batch.size() - batch;
  for (size_t i = 0; i < batch; ++i) {
    if (shape[i].is_const(1)) continue;
    const Coord axis = body.axis(static_cast<uint32_t>(i + skip));
    c[i] = shape[i] == f.batch[i + skip] ? axis : body.scale(axis, stride_factor(body, shape[i]));
  }
}

// Axes from one flat number, by division where more than one is longer than 1.
std::vector<IterAxis> unpack_axes(GroupBody& body, const Shape& shape, Expr flat) {
  KernelBuilder& k = body.k();
  std::vector<IterAxis> axes;
  size_t outermost = shape.size();
  for (size_t i = shape.size(); i-- > 0;)
    if (!shape[i].is_const(1)) outermost = i;
  for (const Dim& d : shape) axes.push_back(IterAxis{body.dim(d), k.index(0), false, 1});
  Expr rest = flat;
  for (size_t a = shape.size(); a-- > 0;) {
    if (shape[a].is_const(1)) continue;
    if (a == outermost) {
      axes[a].base = rest;
      break;
    }
    axes[a].base = k.let("i", k.floormod(rest, k.dim(axes[a].extent)));
    rest = k.let("t", k.floordiv(rest, k.dim(axes[a].extent)));
  }
  return axes;
}

// ---- first kernel: the right operand into panels, [batch of b][N/16][K][16] of the accumulator's type, short panels filled with zeros.
LoweredKernel pack_right(const Graph& g, const Target& t, const Facts& f, const LowerOptions& o, bool vectorise, bool* failed) {
  KernelBuilder k("pack_" + group_name(g));
  GroupBody body(k, g, t);
  ArgRecorder args(k, body);
  SymbolTable& s = k.symbols();
  const Shape& sb = g.type(f.b).shape;
  const bool conv = f.node->kind == OpKind::kConv;
  const size_t own = conv || f.b_vector ? 0 : sb.size() - 2;
  const Shape batch(sb.begin(), sb.begin() + static_cast<std::ptrdiff_t>(own));
  // Only what the right operand is made of is a parameter.
  const Dim n = body.dim(f.n), depth = body.dim(f.k), panels = s.ceildiv(n, kPanel);
  Dim count = 1;
  for (const Dim& d : batch) count = s.mul(count, body.dim(d));
  const int lanes = vectorise ? std::min<int>(16, t.kind == TargetKind::kVm ? 16 : t.vector_bytes / std::max(4, dtype_bits(f.acc) / 8)) : 1;
  for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
  const BufId out = args.scratch(0, f.acc, s.mul(s.mul(count, s.mul(panels, depth)), kPanel), Access::kWrite);
  k.grid(panels, count);
  std::vector<IterAxis> axes = unpack_axes(body, batch, k.task(1));
  const uint32_t na = static_cast<uint32_t>(axes.size());
  axes.push_back(IterAxis{n, k.index(0), lanes > 1, kPanel});
  const Expr panel0 = k.let("n0", k.mul(k.task(0), k.index(kPanel)));
  const Expr base = k.let("base", k.mul(k.mul(k.add(k.mul(k.task(1), k.dim(panels)), k.task(0)), k.dim(depth)), k.index(kPanel)));
  const bool whole = s.divisible(n, kPanel) == Ternary::kYes;
  k.for_("p", k.index(0), k.dim(depth), 1, [&](Expr p) {
    const Expr at = k.let("at", k.add(base, k.mul(p, k.index(kPanel))));
    auto element = [&](Expr j, Expr column, Expr mask) {
      axes[na].base = column;
      body.set_axes(axes, lanes);
      body.enter();
      Coords c(sb.size());
      for (size_t i = 0; i < own; ++i)
        if (!sb[i].is_const(1)) c[i] = body.axis(static_cast<uint32_t>(i));
      const Coord row = body.opaque(p, 0, s.sub(depth, 1)), col = body.axis(na);
      if (f.b_vector) {
        c[0] = row;
      } else {
        c[sb.size() - 2] = f.tb ? col : row;
        c[sb.size() - 1] = f.tb ? row : col;
      }
      Expr v = k.splat(k.convert(body.emit(f.b, c, mask), f.acc), lanes);
      if (mask.valid()) v = k.select(mask, v, k.constant(f.acc, 0, lanes));
      k.store(out, k.add(at, j), v);
      body.leave();
    };
    if (lanes > 1) {
      for (int v = 0; v < kPanel / lanes; ++v) {
        const Expr column = k.let("n", k.add(panel0, k.index(int64_t(v) * lanes)));
        element(k.index(int64_t(v) * lanes), column, whole ? Expr{} : k.lt(k.add(k.iota(lanes), k.splat(column, lanes)), k.splat(k.dim(n), lanes)));
      }
    } else {
      k.for_("j", k.index(0), k.index(kPanel), 1, [&](Expr j) {
        const Expr column = k.let("n", k.add(panel0, j));
        element(j, column, whole ? Expr{} : k.lt(column, k.dim(n)));
      });
    }
  });
  *failed = body.vector_failed();
  return args.finish(o);
}

// ---- the product
class Product : public TileProduct {
 public:
  Product(const Graph& g, const Target& t, const Facts& f, const Tiling& x) : TileProduct(g, t, f.result, f.acc, x), f_(f) {
    for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
    for (uint32_t o = 0; o < g.outputs().size(); ++o) args.output(o);
    SymbolTable& s = k.symbols();
    m_ = body.dim(f.m), n_ = body.dim(f.n), depth_ = body.dim(f.k);
    panels_ = s.ceildiv(n_, kPanel);
    if (f.packed) {
      right_ = find_input(f.b);
      right_type_ = g.type(f.b).dtype;
      return;
    }
    Dim count = 1;
    const Shape& sb = g.type(f.b).shape;
    for (size_t i = 0; !f.merged && !f.b_vector && i + 2 < sb.size(); ++i) count = s.mul(count, body.dim(sb[i]));
    right_ = args.scratch(0, f.acc, s.mul(s.mul(count, s.mul(panels_, depth_)), kPanel), Access::kRead);
    right_type_ = f.acc;
  }

  void build() {
    SymbolTable& s = k.symbols();
    Dim batch = 1;
    for (const Dim& d : f_.batch) batch = s.mul(batch, body.dim(d));
    // Blocks of rows: enough to reuse a panel in L1/L2, few enough to share the work out.
    const int64_t block = x_.rows * std::max<int64_t>(1, (s.typical(m_) > 384 ? 96 : 384) / x_.rows);
    const bool one_block = s.at_most(m_, block) == Ternary::kYes;
    k.grid(s.ceildiv(panels_, x_.panels), one_block ? Dim(1) : s.ceildiv(m_, block), batch);
    axes_ = unpack_axes(body, f_.batch, k.task(2));
    axes_.push_back(IterAxis{m_, k.index(0), false, 1});
    axes_.push_back(IterAxis{n_, k.index(0), x_.lanes > 1, kPanel});
    right_base_ = k.let("rb", k.mul(right_batch(), k.dim(s.mul(s.mul(panels_, depth_), kPanel))));
    const Expr begin = one_block ? k.index(0) : k.let("m0", k.mul(k.task(1), k.index(block)));
    const Expr end = one_block ? k.dim(m_) : k.let("m1", k.min(k.dim(m_), k.add(begin, k.index(block))));
    panels(begin, end, k.let("p0", k.mul(k.task(0), k.index(x_.panels))));
  }

 private:
  // Which matrix of the right operand this task reads.
  Expr right_batch() {
    const Shape& sb = g_.type(f_.b).shape;
    const size_t tail = f_.packed ? 3 : f_.b_vector ? 1 : 2;
    if (f_.merged || sb.size() <= tail) return k.index(0);
    const Shape batch(sb.begin(), sb.end() - static_cast<std::ptrdiff_t>(tail));
    body.set_axes(axes_, 1);
    Coords c(batch.size());
    batch_coords(body, f_, batch, batch.size(), c);
    return body.scalar(body.flatten(c, batch));
  }
  void walk_depth(const std::function<void(const DepthStep&)>& step) override {
    k.for_("p", k.index(0), k.dim(depth_), 1, [&](Expr p) { step({p, {p}}); });
  }
  Expr left(const DepthStep& d) override {
    const Shape& sa = g_.type(f_.a).shape;
    const Coord row = body.axis(row_axis()), col = body.opaque(d.vars[0], 0, k.symbols().sub(depth_, 1));
    if (f_.merged) return body.emit(f_.a, Coords::of_flat(body, body.add(body.scale(row, depth_), col), sa));
    Coords c(sa.size());
    if (f_.a_vector) {
      c[0] = col;
    } else {
      batch_coords(body, f_, sa, sa.size() - 2, c);
      c[sa.size() - 2] = f_.ta ? col : row;
      c[sa.size() - 1] = f_.ta ? row : col;
    }
    return body.emit(f_.a, c);
  }
  Coords result_coords() override {
    if (f_.merged) {
      const Coord row = body.axis(row_axis());
      const Coord flat = f_.b_vector ? row : body.add(body.scale(row, n_), body.axis(column_axis()));
      return Coords::of_flat(body, flat, g_.type(result_).shape);
    }
    Coords c;
    for (size_t b = 0; b < f_.batch.size(); ++b) c.push_back(f_.batch[b].is_const(1) ? Coord{} : body.axis(static_cast<uint32_t>(b)));
    if (!f_.a_vector) c.push_back(body.axis(row_axis()));
    if (!f_.b_vector) c.push_back(body.axis(column_axis()));
    return c;
  }
  Expr bias(Expr mask) override {
    if (!f_.bias.valid()) return {};
    Coords c;
    c.push_back(body.axis(column_axis()));
    return body.emit(f_.bias, c, mask);
  }
  bool single_column() const override { return f_.b_vector; }

  const Facts& f_;
};

Result<LoweredGroup> lower_product(const Graph& g, NodeId id, const Target& target, const LowerOptions& options) {
  NNC_ASSIGN(const Facts f, facts_of(g, id));
  if (f.packed && g.type(f.b).shape.back() != Dim(kPanel)) return Error(Code::kUnsupportedOp, "no CPU kernel reads panels with interleaved rows");
  LoweredGroup out;
  out.skeleton = "contraction";
  SymbolTable& symbols = const_cast<Graph&>(g).symbols();
  if (!f.packed) {
    bool failed = false;
    LoweredKernel pack = pack_right(g, target, f, options, true, &failed);
    if (failed) pack = pack_right(g, target, f, options, false, &failed);
    out.kernels.push_back(std::move(pack));
    Dim bytes = dtype_bits(f.acc) / 8 * kPanel;
    const Shape& sb = g.type(f.b).shape;
    for (size_t i = 0; !f.merged && !f.b_vector && i + 2 < sb.size(); ++i) bytes = symbols.mul(bytes, sb[i]);
    out.scratch_bytes.push_back(symbols.mul(symbols.mul(bytes, symbols.ceildiv(f.n, kPanel)), f.k));
  }
  Tiling x = choose_tiling(target, symbols, f.m, f.n, f.acc);
  for (;;) {
    Product p(g, target, f, x);
    p.build();
    if (p.body.vector_failed() && x.lanes > 1) {
      x = Tiling{1, 1, 1};
      continue;
    }
    out.kernels.push_back(p.args.finish(options));
    return out;
  }
}

}  // namespace

Result<LoweredGroup> lower_contraction(const Graph& g, const Target& target, const LowerOptions& options) {
  for (NodeId n : g.order())
    if (g.node(n).kind == OpKind::kMatMul || g.node(n).kind == OpKind::kConv) return lower_product(g, n, target, options);
  NNC_CHECK(false, "no contraction in the group");
}

}  // namespace nnc

// Contractions: c[b, m, n] = epilogue(sum over k of a[b, m, k] * b[b, k, n]). CPU: register tiles of rows by whole panels of 16 columns.
// The right operand is read as panels [N/16][K][16]: packed ahead of time where it is constant, else by a first kernel into scratch. A task
// is a block of rows by a few panels; the left operand's rows are streamed as scalars. Few rows take one row and many panels, whose streams
// lie far apart.

#include <algorithm>

#include "codegen/contraction.h"
#include "codegen/cuda_product.h"
#include "codegen/product_facts.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

// ---- first kernel: the right operand into panels, [batch of b][N/16][K][16] of the accumulator's type, short panels filled with zeros.
LoweredKernel pack_right(const Graph& g, const Target& t, const ProductFacts& f, const LowerOptions& o, bool vectorise, bool* failed) {
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
        element(k.index(int64_t(v) * lanes), column,
                whole ? Expr{} : k.lt(k.add(k.iota(lanes), k.splat(column, lanes)), k.splat(k.dim(n), lanes)));
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
  Product(const Graph& g, const Target& t, const ProductFacts& f, const Tiling& x) : TileProduct(g, t, f.result, f.acc, x), f_(f) {
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
    return body.emit(f_.a, left_coords(body, f_, body.axis(row_axis()), body.opaque(d.vars[0], 0, k.symbols().sub(depth_, 1)), depth_));
  }
  Coords result_coords() override { return product_coords(body, f_, body.axis(row_axis()), body.axis(column_axis()), n_); }
  Expr bias(Expr mask) override {
    if (!f_.bias.valid()) return {};
    Coords c;
    c.push_back(body.axis(column_axis()));
    return body.emit(f_.bias, c, mask);
  }
  bool single_column() const override { return f_.b_vector; }

  const ProductFacts& f_;
};

Result<LoweredGroup> lower_product(const Graph& g, NodeId id, const Target& target, const LowerOptions& options) {
  if (target.is_cuda()) return lower_product_cuda(g, id, target, options);
  NNC_ASSIGN(const ProductFacts f, product_facts(g, id));
  if (f.packed && g.type(f.b).shape.back() != Dim(kPanel))
    return Error(Code::kUnsupportedOp, "no CPU kernel reads panels with interleaved rows");
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

// Contractions: c[b, m, n] = epilogue(sum over k of a[b, m, k] * b[b, k, n]). CPU: register tiles of rows by whole panels of 16 columns.
// The right operand is read as panels [N/16][K][16], packed ahead of time where it is constant. Else few rows read it where it lies, a task
// that alone reads its columns packs them itself, and a first kernel packs what several tasks read. A task is a block of rows by a few
// panels; the left operand's rows are streamed as scalars. Few rows take one row and many panels, whose streams lie far apart.

#include <algorithm>

#include "codegen/contraction.h"
#include "codegen/cuda_product.h"
#include "codegen/product_facts.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

// Where the product finds its right operand.
enum class RightSource {
  kPanels,   // constant, packed ahead of time
  kInPlace,  // as the group's input has it: columns are vectors there
  kOwnTask,  // panels that the task packs into its own part of the scratch
  kKernel,   // panels from a first kernel
};

// Packing costs about as much as this many rows.
constexpr int64_t kFewRows = 16;

int64_t row_block(const SymbolTable& s, const ProductFacts& f, const Tiling& x) {
  return x.rows * std::max<int64_t>(1, (s.typical(f.m) > 384 ? 96 : 384) / x.rows);
}

// All rows in one task: where a block holds them, or where enough other tasks share the work out and the left operand stays in L2.
bool one_block(const Graph& g, const Target& t, const ProductFacts& f, const Tiling& x) {
  SymbolTable& s = const_cast<Graph&>(g).symbols();
  if (s.at_most(f.m, row_block(s, f, x)) == Ternary::kYes) return true;
  constexpr int64_t kEnoughTasks = 16;
  int64_t tasks = s.typical(s.ceildiv(f.n, kPanel * x.panels));
  for (const Dim& d : f.batch) tasks *= s.typical(d);
  return tasks >= kEnoughTasks && s.typical(f.m) * s.typical(f.k) * (dtype_bits(f.acc) / 8) <= t.l2_bytes / 2;
}

// The right operand's own batch axes.
Shape right_batch_shape(const Graph& g, const ProductFacts& f) {
  const Shape& sb = g.type(f.b).shape;
  const size_t tail = f.packed ? 3 : f.b_vector ? 1 : 2;
  if (f.merged || sb.size() <= tail) return {};
  return Shape(sb.begin(), sb.end() - static_cast<std::ptrdiff_t>(tail));
}

RightSource right_source(const Graph& g, const Target& t, const ProductFacts& f, const Tiling& x) {
  if (f.packed) return RightSource::kPanels;
  const SymbolTable& s = const_cast<Graph&>(g).symbols();
  if (!f.tb && !f.b_vector && x.lanes > 1 && s.typical(f.m) < kFewRows) return RightSource::kInPlace;
  const bool alone = f.merged || right_batch_shape(g, f) == f.batch;
  return alone && one_block(g, t, f, x) ? RightSource::kOwnTask : RightSource::kKernel;
}

int pack_lanes(const Target& t, const ProductFacts& f) {
  return std::min<int>(16, t.kind == TargetKind::kVm ? 16 : t.vector_bytes / std::max(4, dtype_bits(f.acc) / 8));
}

// One panel of the right operand: [K][16] at `base`, in the accumulator's type, columns beyond the last filled with zeros. `axes` ends with
// the columns; `coords` makes the operand's coordinates.
struct PanelPacker {
  GroupBody& body;
  const ProductFacts& f;
  std::vector<IterAxis> axes;
  std::function<Coords(const Coord& depth, const Coord& column)> coords;
  Dim n, depth;
  int lanes;

  void pack(BufId out, Expr panel, Expr base) {
    KernelBuilder& k = body.k();
    const Expr first = k.let("n0", k.mul(panel, k.index(kPanel)));
    const bool whole = k.symbols().divisible(n, kPanel) == Ternary::kYes;
    axes.back().lane = lanes > 1;
    k.for_("p", k.index(0), k.dim(depth), 1, [&](Expr p) {
      const Expr at = k.let("at", k.add(base, k.mul(p, k.index(kPanel))));
      if (lanes > 1) {
        for (int v = 0; v < kPanel / lanes; ++v) {
          const Expr column = k.let("n", k.add(first, k.index(int64_t(v) * lanes)));
          const Expr inside = whole ? Expr{} : k.lt(k.add(k.iota(lanes), k.splat(column, lanes)), k.splat(k.dim(n), lanes));
          element(out, k.add(at, k.index(int64_t(v) * lanes)), p, column, inside);
        }
        return;
      }
      k.for_("j", k.index(0), k.index(kPanel), 1, [&](Expr j) {
        const Expr column = k.let("n", k.add(first, j));
        element(out, k.add(at, j), p, column, whole ? Expr{} : k.lt(column, k.dim(n)));
      });
    });
  }

 private:
  void element(BufId out, Expr at, Expr p, Expr column, Expr inside) {
    KernelBuilder& k = body.k();
    axes.back().base = column;
    body.set_axes(axes, lanes);
    body.enter();
    const Coords c = coords(body.opaque(p, 0, k.symbols().sub(depth, 1)), body.axis(static_cast<uint32_t>(axes.size() - 1)));
    Expr v = k.splat(k.convert(body.emit(f.b, c, inside), f.acc), lanes);
    if (inside.valid()) v = k.select(inside, v, k.constant(f.acc, 0, lanes));
    k.store(out, at, v);
    body.leave();
  }
};

// Scratch for all panels.
Dim panel_bytes(const Graph& g, const ProductFacts& f) {
  SymbolTable& s = const_cast<Graph&>(g).symbols();
  Dim bytes = dtype_bits(f.acc) / 8 * kPanel;
  for (const Dim& d : right_batch_shape(g, f)) bytes = s.mul(bytes, d);
  return s.mul(s.mul(bytes, s.ceildiv(f.n, kPanel)), f.k);
}

// ---- first kernel: the right operand into panels, [batch of b][N/16][K][16].
LoweredKernel pack_right(const Graph& g, const Target& t, const ProductFacts& f, const LowerOptions& o, int lanes, bool* failed) {
  KernelBuilder k("pack_" + group_name(g));
  GroupBody body(k, g, t);
  ArgRecorder args(k, body);
  SymbolTable& s = k.symbols();
  const Shape& sb = g.type(f.b).shape;
  const bool conv = f.node->kind == OpKind::kConv;
  const size_t own = conv || f.b_vector ? 0 : sb.size() - 2;
  const Shape batch(sb.begin(), sb.begin() + static_cast<std::ptrdiff_t>(own));
  const Dim n = body.dim(f.n), depth = body.dim(f.k), panels = s.ceildiv(n, kPanel);
  Dim count = 1;
  for (const Dim& d : batch) count = s.mul(count, body.dim(d));
  for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
  const BufId out = args.scratch(0, f.acc, s.mul(s.mul(count, s.mul(panels, depth)), kPanel), Access::kWrite);
  k.grid(panels, count);
  PanelPacker packer{body, f, unpack_axes(body, batch, k.task(1)), {}, n, depth, lanes};
  packer.axes.push_back(IterAxis{n, k.index(0), false, kPanel});
  packer.coords = [&](const Coord& row, const Coord& column) {
    Coords c(sb.size());
    for (size_t i = 0; i < own; ++i)
      if (!sb[i].is_const(1)) c[i] = body.axis(static_cast<uint32_t>(i));
    if (f.b_vector) {
      c[0] = row;
    } else {
      c[sb.size() - 2] = f.tb ? column : row;
      c[sb.size() - 1] = f.tb ? row : column;
    }
    return c;
  };
  const Expr base = k.let("base", k.mul(k.mul(k.add(k.mul(k.task(1), k.dim(panels)), k.task(0)), k.dim(depth)), k.index(kPanel)));
  packer.pack(out, k.task(0), base);
  *failed = body.vector_failed();
  return args.finish(o);
}

// ---- the product
class Product : public TileProduct {
 public:
  Product(const Graph& g, const Target& t, const ProductFacts& f, const Tiling& x, RightSource source, int pack_lanes)
      : TileProduct(g, t, f.result, f.acc, x), f_(f), source_(source), pack_lanes_(pack_lanes) {
    for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
    for (uint32_t o = 0; o < g.outputs().size(); ++o) args.output(o);
    SymbolTable& s = k.symbols();
    m_ = body.dim(f.m), n_ = body.dim(f.n), depth_ = body.dim(f.k);
    panels_ = s.ceildiv(n_, kPanel);
    if (source == RightSource::kInPlace) return;
    if (source == RightSource::kPanels) {
      right_ = find_input(f.b);
      right_type_ = g.type(f.b).dtype;
      return;
    }
    Dim count = 1;
    for (const Dim& d : right_batch_shape(g, f)) count = s.mul(count, body.dim(d));
    right_ = args.scratch(0, f.acc, s.mul(s.mul(count, s.mul(panels_, depth_)), kPanel),
                          source == RightSource::kOwnTask ? Access::kReadWrite : Access::kRead);
    right_type_ = f.acc;
  }

  void build() {
    SymbolTable& s = k.symbols();
    Dim batch = 1;
    for (const Dim& d : f_.batch) batch = s.mul(batch, body.dim(d));
    // Blocks of rows: enough to reuse a panel in L1/L2, few enough to share the work out.
    const int64_t block = row_block(s, f_, x_);
    const bool one = one_block(g_, body.target(), f_, x_);
    k.grid(s.ceildiv(panels_, x_.panels), one ? Dim(1) : s.ceildiv(m_, block), batch);
    axes_ = unpack_axes(body, f_.batch, k.task(2));
    axes_.push_back(IterAxis{m_, k.index(0), false, 1});
    axes_.push_back(IterAxis{n_, k.index(0), x_.lanes > 1, kPanel});
    if (source_ != RightSource::kInPlace) right_base_ = k.let("rb", k.mul(right_batch(), k.dim(s.mul(s.mul(panels_, depth_), kPanel))));
    const Expr begin = one ? k.index(0) : k.let("m0", k.mul(k.task(1), k.index(block)));
    const Expr end = one ? k.dim(m_) : k.let("m1", k.min(k.dim(m_), k.add(begin, k.index(block))));
    const Expr first = k.let("p0", k.mul(k.task(0), k.index(x_.panels)));
    if (source_ == RightSource::kOwnTask) pack_own(first);
    panels(begin, end, first);
  }

 private:
  void pack_own(Expr first) {
    PanelPacker packer{body, f_, axes_, {}, n_, depth_, pack_lanes_};
    packer.coords = [this](const Coord& depth, const Coord& column) { return right_coords(body, f_, depth, column); };
    Expr end = k.add(first, k.index(x_.panels));
    if (k.symbols().divisible(panels_, x_.panels) != Ternary::kYes) end = k.let("pe", k.min(k.dim(panels_), end));
    k.for_("q", first, end, 1, [&](Expr q) { packer.pack(right_, q, k.let("base", panel_at(q))); });
  }
  // Which matrix of the right operand this task reads.
  Expr right_batch() {
    const Shape batch = right_batch_shape(g_, f_);
    if (batch.empty()) return k.index(0);
    body.set_axes(axes_, 1);
    Coords c(batch.size());
    batch_coords(body, f_, batch, batch.size(), c);
    return body.scalar(body.flatten(c, batch));
  }
  Coord depth_coord(const DepthStep& d) { return body.opaque(d.vars[0], 0, k.symbols().sub(depth_, 1)); }
  void walk_depth(const std::function<void(const DepthStep&)>& step) override {
    depth_loop(
        k.index(0), k.dim(depth_), depth_,
        [&](Expr p) {
          step({p, {p}});
        },
        true);
  }
  Expr left(const DepthStep& d) override { return body.emit(f_.a, left_coords(body, f_, body.axis(row_axis()), depth_coord(d), depth_)); }
  Expr right(const DepthStep& d, Expr at, int64_t offset, Expr mask) override {
    if (source_ != RightSource::kInPlace) return TileProduct::right(d, at, offset, mask);
    return k.convert(body.emit(f_.b, right_coords(body, f_, depth_coord(d), body.axis(column_axis())), mask), acc_);
  }
  bool right_in_place() const override { return source_ == RightSource::kInPlace; }
  Coords result_coords() override { return product_coords(body, f_, body.axis(row_axis()), body.axis(column_axis()), n_); }
  Expr bias(Expr mask) override {
    if (!f_.bias.valid()) return {};
    Coords c;
    c.push_back(body.axis(column_axis()));
    return body.emit(f_.bias, c, mask);
  }
  bool single_column() const override { return f_.b_vector; }

  const ProductFacts& f_;
  const RightSource source_;
  const int pack_lanes_;
};

Result<LoweredGroup> lower_product(const Graph& g, NodeId id, const Target& target, const LowerOptions& options) {
  if (target.is_cuda()) return lower_product_cuda(g, id, target, options);
  NNC_ASSIGN(const ProductFacts f, product_facts(g, id));
  if (f.packed && g.type(f.b).shape.back() != Dim(kPanel))
    return Error(Code::kUnsupportedOp, "no CPU kernel reads panels with interleaved rows");
  LoweredGroup out;
  out.skeleton = "contraction";
  SymbolTable& symbols = const_cast<Graph&>(g).symbols();
  Tiling x = choose_tiling(target, symbols, f.m, f.n, f.acc);
  RightSource source = right_source(g, target, f, x);
  int lanes = pack_lanes(target, f);
  if (source == RightSource::kKernel) {
    bool failed = false;
    LoweredKernel pack = pack_right(g, target, f, options, lanes, &failed);
    if (failed) pack = pack_right(g, target, f, options, 1, &failed);
    out.kernels.push_back(std::move(pack));
  }
  for (;;) {
    Product p(g, target, f, x, source, lanes);
    p.build();
    if (!p.body.vector_failed() || x.lanes == 1) {
      if (source == RightSource::kOwnTask || source == RightSource::kKernel) out.scratch_bytes.push_back(panel_bytes(g, f));
      out.kernels.push_back(p.args.finish(options));
      return out;
    }
    // What may be at fault, one after the other: the operand read as vectors, its packing, the tile.
    if (source == RightSource::kInPlace)
      source = right_source(g, target, f, Tiling{1, x.rows, x.panels});
    else if (source == RightSource::kOwnTask && lanes > 1)
      lanes = 1;
    else
      x = Tiling{1, 1, 1};
  }
}

}  // namespace

Result<LoweredGroup> lower_contraction(const Graph& g, const Target& target, const LowerOptions& options) {
  for (NodeId n : g.order())
    if (g.node(n).kind == OpKind::kMatMul || g.node(n).kind == OpKind::kConv) return lower_product(g, n, target, options);
  NNC_CHECK(false, "no contraction in the group");
}

}  // namespace nnc

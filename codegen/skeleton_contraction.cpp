// Contractions: c[b, m, n] = epilogue(sum over k of a[b, m, k] * b[b, k, n]). CPU: register tiles of MR rows by whole panels of 16 columns. The right operand is read as panels [N/16][K][16]: packed ahead of time where
// it is constant, else by a first kernel into scratch. A task is a block of rows by a few panels; the left operand's rows are streamed as scalars. Small M takes one row and many panels, whose streams lie far apart.

#include <algorithm>

#include "codegen/epilogue.h"
#include "codegen/skeletons.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

constexpr int64_t kPanel = 16;

struct Facts {
  NodeId id;
  const Node* node = nullptr;
  ValueId a, b, result;
  Shape batch;                    // of the result
  Dim m = 1, n = 1, k;
  bool a_vector = false, b_vector = false, packed = false;
  DType acc = DType::kF32;
};

Result<Facts> facts_of(const Graph& g) {
  Facts f;
  for (NodeId n : g.order())
    if (g.node(n).kind == OpKind::kMatMul) f.id = n;
  f.node = &g.node(f.id);
  f.a = f.node->operands[0];
  f.b = f.node->operands[1];
  f.result = f.node->results[0];
  const Shape &sa = g.type(f.a).shape, &sb = g.type(f.b).shape, &sc = g.type(f.result).shape;
  f.packed = !f.node->s("b_format").empty();
  if (f.packed && f.node->s("b_format") != "panel16") return Error(Code::kUnsupportedOp, cat("no CPU kernel reads the format ", f.node->s("b_format")));
  f.a_vector = sa.size() == 1;
  f.b_vector = !f.packed && sb.size() == 1;
  const bool ta = f.node->i("transpose_a") != 0, tb = f.node->i("transpose_b") != 0;
  if (!f.a_vector) f.m = sa[sa.size() - (ta ? 1 : 2)];
  f.k = f.a_vector ? sa[0] : sa[sa.size() - (ta ? 2 : 1)];
  if (f.packed)
    f.n = f.node->dims("n")[0];
  else if (!f.b_vector)
    f.n = sb[sb.size() - (tb ? 2 : 1)];
  f.batch.assign(sc.begin(), sc.end() - (f.a_vector ? 0 : 1) - (f.b_vector ? 0 : 1));
  const DType operand = g.type(f.a).dtype, result = g.type(f.result).dtype;
  f.acc = f.node->has_attr("accumulate") ? f.node->dtype("accumulate") : is_float(operand) ? (operand == DType::kF64 ? DType::kF64 : DType::kF32) : result;
  return f;
}

struct Tiling {
  int lanes = 16;
  int rows = 8;
  int panels = 3;
  int vectors() const { return panels * static_cast<int>(kPanel) / lanes; }
};

Tiling choose_tiling(const Target& t, const SymbolTable& s, const Facts& f) {
  Tiling x;
  const int bytes = dtype_bits(f.acc) / 8;
  x.lanes = t.kind == TargetKind::kVm ? 16 : std::min<int>(16, t.vector_bytes / std::max(4, bytes));
  const int per_panel = static_cast<int>(kPanel) / x.lanes;
  const int budget = std::max(4, (t.vector_registers >= 32 ? 24 : 12) / per_panel);  // accumulators, in panels
  const int64_t m = s.typical(f.m), panels = (s.typical(f.n) + kPanel - 1) / kPanel;
  if (t.kind == TargetKind::kVm) {
    x.rows = static_cast<int>(std::min<int64_t>(8, m));
    x.panels = 1;
  } else if (m <= 2) {
    x.rows = 1;
    x.panels = static_cast<int>(std::min<int64_t>(panels, budget >= 24 ? 8 : 4));
  } else if (budget >= 24) {
    if (panels % 3 == 0) {
      x.rows = 8, x.panels = 3;
    } else if (panels % 4 == 0 && (m % 6 == 0 || m > 48)) {
      x.rows = 6, x.panels = 4;
    } else if (panels % 2 == 0) {
      x.rows = 12, x.panels = 2;
    } else if (panels > 3) {
      x.rows = 8, x.panels = 3;
    } else {
      x.rows = 14, x.panels = 1;
    }
    if (x.panels == 2 && m % 12 != 0 && m % 8 == 0) x.rows = 8;
  } else {
    x.rows = budget, x.panels = 1;
  }
  x.rows = static_cast<int>(std::clamp<int64_t>(m, 1, x.rows));
  return x;
}

// Coordinates of an operand from the result's batch axes and its own two last ones.
Coords operand_coords(GroupBody& body, const Facts& f, const Shape& shape, size_t matrix_rank, const Coord& row, const Coord& col, bool transposed) {
  Coords c(shape.size());
  const size_t batch = shape.size() - matrix_rank;
  const size_t skip = f.batch.size() - batch;
  for (size_t i = 0; i < batch; ++i) {
    const Dim& have = shape[i];
    if (have.is_const(1)) continue;
    if (have == f.batch[i + skip])
      c[i] = body.axis(static_cast<uint32_t>(i + skip));
    else
      c[i] = body.scale(body.axis(static_cast<uint32_t>(i + skip)), body.dim([&] {
        SymbolTable& s = const_cast<Graph&>(body.graph()).symbols();
        return s.min(s.max(s.sub(have, 1), 0), 1);
      }()));
  }
  if (matrix_rank == 1) {
    c[batch] = row;
  } else if (matrix_rank == 2) {
    c[batch] = transposed ? col : row;
    c[batch + 1] = transposed ? row : col;
  }
  return c;
}

std::vector<IterAxis> batch_axes(GroupBody& body, const Facts& f, Expr flat) {
  KernelBuilder& k = body.k();
  std::vector<IterAxis> axes;
  for (const Dim& d : f.batch) axes.push_back(IterAxis{body.dim(d), k.index(0), false, 1});
  Expr rest = flat;
  bool first = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t a = axes.size() - 1 - i;
    if (f.batch[a].is_const(1)) continue;
    bool outermost = true;
    for (size_t j = 0; j < a; ++j) outermost = outermost && f.batch[j].is_const(1);
    if (outermost) {
      axes[a].base = rest;
    } else {
      axes[a].base = k.let("b", k.floormod(rest, k.dim(axes[a].extent)));
      rest = k.let("t", k.floordiv(rest, k.dim(axes[a].extent)));
    }
    first = false;
  }
  (void)first;
  return axes;
}

// ---- first kernel: the right operand into panels, [batch of b][N/16][K][16] of the accumulator's type, short panels filled with zeros.
LoweredKernel pack_right(const Graph& g, const Target& t, const Facts& f, const LowerOptions& o, bool vectorise, bool* failed) {
  KernelBuilder k("pack_" + group_name(g));
  GroupBody body(k, g, t);
  ArgRecorder args(k, body);
  for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
  SymbolTable& s = k.symbols();
  const Shape& sb = g.type(f.b).shape;
  const Dim n = body.dim(f.n), depth = body.dim(f.k), panels = s.ceildiv(n, kPanel);
  Dim count = 1;
  const size_t own = f.b_vector ? 0 : sb.size() - 2;
  for (size_t i = 0; i < own; ++i) count = s.mul(count, body.dim(sb[i]));
  const BufId out = args.scratch(0, f.acc, s.mul(s.mul(count, s.mul(panels, depth)), kPanel), Access::kWrite);
  const int lanes = vectorise ? std::min<int>(16, t.kind == TargetKind::kVm ? 16 : t.vector_bytes / (dtype_bits(f.acc) / 8)) : 1;
  k.grid(panels, count);
  std::vector<IterAxis> axes;
  Expr rest = k.task(1);
  for (size_t i = 0; i < own; ++i) axes.push_back(IterAxis{body.dim(sb[i]), k.index(0), false, 1});
  for (size_t i = own; i-- > 0;) {
    axes[i].base = i == 0 ? rest : k.let("b", k.floormod(rest, k.dim(axes[i].extent)));
    if (i > 0) rest = k.let("t", k.floordiv(rest, k.dim(axes[i].extent)));
  }
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
      for (size_t i = 0; i < own; ++i) c[i] = sb[i].is_const(1) ? Coord{} : body.axis(static_cast<uint32_t>(i));
      const Coord row = body.opaque(p, 0, s.sub(depth, 1)), col = body.axis(na);
      if (f.b_vector) {
        c[0] = row;
      } else {
        const bool tb = f.node->i("transpose_b") != 0;
        c[own] = tb ? col : row;
        c[own + 1] = tb ? row : col;
      }
      Expr v = k.convert(body.emit(f.b, c, mask), f.acc);
      v = k.splat(v, lanes);
      if (mask.valid()) v = k.select(mask, v, k.constant(f.acc, 0, lanes));
      k.store(out, k.add(at, j), v);
      body.leave();
    };
    if (lanes > 1) {
      for (int v = 0; v < kPanel / lanes; ++v) {
        const Expr column = k.add(panel0, k.index(v * lanes));
        const Expr mask = whole ? Expr{} : k.lt(k.add(k.iota(lanes), k.splat(column, lanes)), k.splat(k.dim(n), lanes));
        element(k.index(v * lanes), column, mask);
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
class Product {
 public:
  Product(const Graph& g, const Target& t, const Facts& f, const Tiling& x)
      : g_(g), f_(f), x_(x), k(group_name(g)), body(k, g, t), args(k, body), epilogue_(body, f.result) {
    for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
    for (uint32_t o = 0; o < g.outputs().size(); ++o) args.output(o);
    SymbolTable& s = k.symbols();
    m_ = body.dim(f.m), n_ = body.dim(f.n), depth_ = body.dim(f.k);
    panels_ = s.ceildiv(n_, kPanel);
    const Shape& sb = g.type(f.b).shape;
    if (f.packed) {
      for (uint32_t i = 0; i < g.inputs().size(); ++i)
        if (g.inputs()[i] == f.b) right_ = body.declare_input(i);
      right_type_ = g.type(f.b).dtype;
    } else {
      Dim count = 1;
      for (size_t i = 0; !f.b_vector && i + 2 < sb.size(); ++i) count = s.mul(count, body.dim(sb[i]));
      right_ = args.scratch(0, f.acc, s.mul(s.mul(count, s.mul(panels_, depth_)), kPanel), Access::kRead);
      right_type_ = f.acc;
    }
  }

  void build() {
    SymbolTable& s = k.symbols();
    Dim batch = 1;
    for (const Dim& d : f_.batch) batch = s.mul(batch, body.dim(d));
    // Blocks of rows: enough to reuse a panel in L1/L2, few enough to share the work out.
    const int64_t block = x_.rows * std::max<int64_t>(1, (s.typical(m_) > 384 ? 96 : 384) / x_.rows);
    const bool one_block = s.at_most(m_, block) == Ternary::kYes;
    k.grid(s.ceildiv(panels_, x_.panels), one_block ? Dim(1) : s.ceildiv(m_, block), batch);
    axes_ = batch_axes(body, f_, k.task(2));
    batch_rank_ = axes_.size();
    axes_.push_back(IterAxis{m_, k.index(0), false, 1});
    axes_.push_back(IterAxis{n_, k.index(0), x_.lanes > 1, kPanel});
    right_base_ = k.let("rb", k.mul(right_batch(), k.dim(s.mul(s.mul(panels_, depth_), kPanel))));
    const Expr first_row = one_block ? k.index(0) : k.let("m0", k.mul(k.task(1), k.index(block)));
    const Expr row_end = one_block ? k.dim(m_) : k.let("m1", k.min(k.dim(m_), k.add(first_row, k.index(block))));
    const Expr first_panel = k.let("p0", k.mul(k.task(0), k.index(x_.panels)));
    const bool all_whole = s.divisible(n_, kPanel * x_.panels) == Ternary::kYes;
    auto wide = [&] { rows(first_row, row_end, first_panel, x_.panels, false); };
    if (all_whole) {
      wide();
      return;
    }
    k.if_(k.le(k.mul(k.add(first_panel, k.index(x_.panels)), k.index(kPanel)), k.dim(n_)), wide, [&] {
      const Expr end = k.let("pe", k.min(k.dim(panels_), k.add(first_panel, k.index(x_.panels))));
      k.for_("p", first_panel, end, 1, [&](Expr p) {
        if (s.divisible(n_, kPanel) == Ternary::kYes) {
          rows(first_row, row_end, p, 1, false);
          return;
        }
        k.if_(k.le(k.mul(k.add(p, k.index(1)), k.index(kPanel)), k.dim(n_)), [&] { rows(first_row, row_end, p, 1, false); }, [&] { rows(first_row, row_end, p, 1, true); });
      });
    });
  }

  const Graph& g_;
  const Facts& f_;
  Tiling x_;
  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;

 private:
  // Which matrix of the right operand this task reads.
  Expr right_batch() {
    const Shape& sb = g_.type(f_.b).shape;
    const size_t tail = f_.packed ? 3 : f_.b_vector ? 1 : 2;
    if (sb.size() <= tail) return k.index(0);
    Shape batch(sb.begin(), sb.end() - static_cast<std::ptrdiff_t>(tail));
    body.set_axes(axes_, 1);
    return body.scalar(body.flatten(operand_coords(body, f_, batch, 0, {}, {}, false), batch));
  }

  void rows(Expr begin, Expr end, Expr panel, int panels, bool masked) {
    SymbolTable& s = k.symbols();
    const int r = x_.rows;
    if (r == 1) {
      k.for_("m", begin, end, 1, [&](Expr m) { tile(m, 1, panel, panels, masked); });
      return;
    }
    const Expr count = k.let("count", k.sub(end, begin));
    const Expr main = k.let("main", k.floordiv(count, k.index(r)));
    k.for_("t", k.index(0), main, 1, [&](Expr t) { tile(k.let("m", k.add(begin, k.mul(t, k.index(r)))), r, panel, panels, masked); });
    if (s.divisible(m_, r) == Ternary::kYes) return;
    Expr at = k.let("rest", k.add(begin, k.mul(main, k.index(r))));
    if (r > 4) {
      const Expr fours = k.let("fours", k.floordiv(k.sub(end, at), k.index(4)));
      k.for_("t", k.index(0), fours, 1, [&](Expr t) { tile(k.let("m", k.add(at, k.mul(t, k.index(4)))), 4, panel, panels, masked); });
      at = k.let("rest", k.add(at, k.mul(fours, k.index(4))));
    }
    k.for_("m", at, end, 1, [&](Expr m) { tile(m, 1, panel, panels, masked); });
  }

  void set_row(Expr m, Expr n) {
    axes_[batch_rank_].base = m;
    axes_[batch_rank_ + 1].base = n;
    body.set_axes(axes_, x_.lanes);
  }

  void tile(Expr m0, int rows, Expr panel, int panels, bool masked) {
    SymbolTable& s = k.symbols();
    const int vectors = panels * static_cast<int>(kPanel) / x_.lanes, per_panel = static_cast<int>(kPanel) / x_.lanes;
    std::vector<std::vector<VarId>> acc(static_cast<size_t>(rows));
    for (auto& row : acc)
      for (int j = 0; j < vectors; ++j) row.push_back(k.mut("c", k.constant(f_.acc, 0, x_.lanes)));
    std::vector<Expr> at;
    for (int p = 0; p < panels; ++p)
      at.push_back(k.let("b", k.add(right_base_, k.mul(k.mul(k.add(panel, k.index(p)), k.dim(depth_)), k.index(kPanel)))));
    const Shape& sa = g_.type(f_.a).shape;
    const Expr n0 = k.let("n0", k.mul(panel, k.index(kPanel)));
    k.for_("p", k.index(0), k.dim(depth_), 1, [&](Expr p) {
      body.enter();
      std::vector<Expr> b;
      for (int j = 0; j < vectors; ++j) {
        const Expr index = k.add(k.add(at[static_cast<size_t>(j / per_panel)], k.mul(p, k.index(kPanel))), k.index(j % per_panel * x_.lanes));
        b.push_back(k.let("bv", k.convert(body.to_compute(k.load(right_, index, x_.lanes), right_type_), f_.acc)));
      }
      for (int i = 0; i < rows; ++i) {
        set_row(k.add(m0, k.index(i)), n0);
        const Coord row = body.axis(static_cast<uint32_t>(batch_rank_)), col = body.opaque(p, 0, s.sub(depth_, 1));
        const Coords c = operand_coords(body, f_, sa, f_.a_vector ? 1 : 2, f_.a_vector ? col : row, col, f_.node->i("transpose_a") != 0);
        const Expr a = k.let("a", k.splat(k.convert(body.emit(f_.a, c), f_.acc), x_.lanes));
        for (int j = 0; j < vectors; ++j) {
          const VarId v = acc[static_cast<size_t>(i)][static_cast<size_t>(j)];
          k.set(v, is_float(f_.acc) ? k.fma(a, b[static_cast<size_t>(j)], k.var(v)) : k.add(k.mul(a, b[static_cast<size_t>(j)]), k.var(v)));
        }
      }
      body.leave();
    });
    const DType result = g_.type(f_.result).dtype;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < vectors; ++j) {
        const Expr n = k.let("n", k.add(n0, k.index(int64_t(j) * x_.lanes)));
        set_row(k.add(m0, k.index(i)), n);
        body.enter();
        Coords c;
        for (size_t b = 0; b < batch_rank_; ++b) c.push_back(f_.batch[b].is_const(1) ? Coord{} : body.axis(static_cast<uint32_t>(b)));
        if (!f_.a_vector) c.push_back(body.axis(static_cast<uint32_t>(batch_rank_)));
        if (!f_.b_vector) c.push_back(body.axis(static_cast<uint32_t>(batch_rank_ + 1)));
        Expr value = k.var(acc[static_cast<size_t>(i)][static_cast<size_t>(j)]);
        value = body.round_value(k.convert(value, compute_dtype(result)), result);
        if (f_.b_vector && x_.lanes > 1) value = k.extract(value, 0);  // one column
        body.bind(f_.result, [value](const Coords&, Expr) { return value; });
        epilogue_.place(c);
        Expr mask;
        if (masked && !f_.b_vector) mask = k.lt(k.add(k.iota(x_.lanes), k.splat(n, x_.lanes)), k.splat(k.dim(n_), x_.lanes));
        if (!f_.b_vector || j == 0) epilogue_.store(mask);
        body.unbind(f_.result);
        body.leave();
      }
  }

  Epilogue epilogue_;
  Dim m_, n_, depth_, panels_;
  BufId right_;
  DType right_type_ = DType::kF32;
  Expr right_base_;
  std::vector<IterAxis> axes_;
  size_t batch_rank_ = 0;
};

}  // namespace

Result<LoweredGroup> lower_contraction(const Graph& g, const Target& target, const LowerOptions& options) {
  NNC_ASSIGN(const Facts f, facts_of(g));
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
    for (size_t i = 0; !f.b_vector && i + 2 < sb.size(); ++i) bytes = symbols.mul(bytes, sb[i]);
    out.scratch_bytes.push_back(symbols.mul(symbols.mul(bytes, symbols.ceildiv(f.n, kPanel)), f.k));
  }
  Tiling x = choose_tiling(target, symbols, f);
  for (;;) {
    Product p(g, target, f, x);
    p.build();
    if (p.body.vector_failed() && x.lanes > 1) {
      x.lanes = 1;
      x.rows = 1;
      x.panels = 1;
      continue;
    }
    out.kernels.push_back(p.args.finish(options));
    return out;
  }
}

}  // namespace nnc

#include "codegen/contraction.h"

#include <algorithm>

namespace nnc {

DType accumulator_of(const Graph& g, const Node& node) {
  if (node.has_attr("accumulate")) return node.dtype("accumulate");
  const DType operand = g.type(node.operands[0]).dtype;
  if (!is_float(operand)) return g.type(node.results[0]).dtype;
  return operand == DType::kF64 ? DType::kF64 : DType::kF32;
}

int64_t part_length(int64_t rows, const Dim& depth) {
  constexpr int64_t kShort = 32, kUsual = 128, kLong = 256, kStep = 16;
  if (rows <= 4) return kShort;
  if (!depth.is_const() || depth.constant() <= kUsual) return kUsual;
  return std::min(kLong, (depth.constant() / 2 + kStep - 1) / kStep * kStep);
}

Tiling choose_tiling(const Target& t, const SymbolTable& s, const Dim& rows, const Dim& columns, DType acc) {
  Tiling x;
  const int bytes = dtype_bits(acc) / 8;
  x.lanes = t.kind == TargetKind::kVm ? 16 : std::min<int>(16, t.vector_bytes / std::max(4, bytes));
  const int per_panel = static_cast<int>(kPanel) / x.lanes;
  const int budget = std::max(4, (t.vector_registers >= 32 ? 24 : 12) / per_panel);  // accumulators, in panels
  const int64_t m = std::max<int64_t>(1, s.typical(rows)), panels = std::max<int64_t>(1, (s.typical(columns) + kPanel - 1) / kPanel);
  if (t.kind == TargetKind::kVm) {
    // Registers cost nothing there; what counts is how many products follow each load and each step of an index.
    x.rows = static_cast<int>(std::min<int64_t>(8, m));
    x.panels = static_cast<int>(std::clamp<int64_t>(panels, 1, 4));
  } else if (m <= 2) {
    x.rows = 1;
    x.panels = static_cast<int>(std::min<int64_t>(panels, budget >= 24 ? 8 : 4));
  } else if (budget >= 24) {
    if (panels % 3 == 0)
      x.rows = 8, x.panels = 3;
    else if (panels % 4 == 0 && (m % 6 == 0 || m > 48))
      x.rows = 6, x.panels = 4;
    else if (panels % 2 == 0)
      x.rows = m % 12 != 0 && m % 8 == 0 ? 8 : 12, x.panels = 2;
    else if (panels > 3)
      x.rows = 8, x.panels = 3;
    else
      x.rows = 14, x.panels = 1;
  } else {
    x.rows = budget, x.panels = 1;
  }
  x.rows = static_cast<int>(std::clamp<int64_t>(m, 1, x.rows));
  return x;
}

TileProduct::TileProduct(const Graph& g, const Target& t, ValueId result, DType acc, Tiling x)
    : k(group_name(g)), body(k, g, t), args(k, body), g_(g), result_(result), acc_(acc), x_(x), epilogue_(body, result) {}

BufId TileProduct::find_input(ValueId v) {
  for (uint32_t i = 0; i < g_.inputs().size(); ++i)
    if (g_.inputs()[i] == v) return body.declare_input(i);
  NNC_CHECK(false, "a packed operand must be an input of its group");
}

void TileProduct::panels(Expr begin, Expr end, Expr first_panel) {
  SymbolTable& s = k.symbols();
  auto wide = [&] { rows(begin, end, first_panel, x_.panels, false); };
  if (s.divisible(n_, kPanel * x_.panels) == Ternary::kYes) {
    wide();
    return;
  }
  k.if_(k.le(k.mul(k.add(first_panel, k.index(x_.panels)), k.index(kPanel)), k.dim(n_)), wide, [&] {
    const Expr last = k.let("pe", k.min(k.dim(panels_), k.add(first_panel, k.index(x_.panels))));
    k.for_("p", first_panel, last, 1, [&](Expr p) {
      if (s.divisible(n_, kPanel) == Ternary::kYes) {
        rows(begin, end, p, 1, false);
        return;
      }
      k.if_(
          k.le(k.mul(k.add(p, k.index(1)), k.index(kPanel)), k.dim(n_)), [&] { rows(begin, end, p, 1, false); },
          [&] { rows(begin, end, p, 1, true); });
    });
  });
}

void TileProduct::rows(Expr begin, Expr end, Expr panel, int panels, bool masked) {
  SymbolTable& s = k.symbols();
  const int r = x_.rows;
  if (r == 1) {
    k.for_("m", begin, end, 1, [&](Expr m) { tile(m, 1, panel, panels, masked); });
    return;
  }
  const Expr main = k.let("main", k.floordiv(k.sub(end, begin), k.index(r)));
  k.for_("t", k.index(0), main, 1, [&](Expr t) { tile(k.let("m", k.add(begin, k.mul(t, k.index(r)))), r, panel, panels, masked); });
  if (s.divisible(m_, r) == Ternary::kYes) return;
  Expr at = k.let("rest", k.add(begin, k.mul(main, k.index(r))));
  // Blocks are whole tiles, so what remains of a known extent is the same wherever it remains.
  if (m_.is_const()) {
    const int rest = static_cast<int>(m_.constant() % r);
    k.if_(k.le(k.add(at, k.index(rest)), end), [&] { tile(at, rest, panel, panels, masked); });
    return;
  }
  if (r > 4) {
    const Expr fours = k.let("fours", k.floordiv(k.sub(end, at), k.index(4)));
    k.for_("t", k.index(0), fours, 1, [&](Expr t) { tile(k.let("m", k.add(at, k.mul(t, k.index(4)))), 4, panel, panels, masked); });
    at = k.let("rest", k.add(at, k.mul(fours, k.index(4))));
  }
  k.for_("m", at, end, 1, [&](Expr m) { tile(m, 1, panel, panels, masked); });
}

void TileProduct::set_row(Expr m, Expr n) {
  axes_[row_axis()].base = m;
  axes_[column_axis()].base = n;
  body.set_axes(axes_, x_.lanes);
}

Expr TileProduct::panel_at(Expr panel) { return k.add(right_base_, k.mul(k.mul(panel, k.dim(depth_)), k.index(kPanel))); }

Expr TileProduct::columns_mask(Expr n) {
  return k.let("mask", k.lt(k.add(k.iota(x_.lanes), k.splat(n, x_.lanes)), k.splat(k.dim(n_), x_.lanes)));
}

Expr TileProduct::right(const DepthStep& d, Expr at, int64_t offset, Expr) {
  const Expr index = k.add(k.add(at, k.mul(d.flat, k.index(kPanel))), k.index(offset));
  return k.convert(body.to_compute(k.load(right_, index, x_.lanes), right_type_), acc_);
}

void TileProduct::depth_loop(Expr begin, Expr end, const Dim& extent, const std::function<void(Expr)>& round, bool unroll) {
  SymbolTable& s = k.symbols();
  const int64_t part = part_length(x_.rows, depth_);
  if (!end_part_) {
    k.for_("p", begin, end, 1, round, unroll);
    return;
  }
  if (s.at_most(extent, part) == Ternary::kYes) {
    k.for_("p", begin, end, 1, round, unroll);
    end_part_();
    return;
  }
  k.for_("q", begin, end, part, [&](Expr q) {
    k.for_("p", q, k.let("qe", k.min(k.add(q, k.index(part)), end)), 1, round, unroll);
    end_part_();
  });
}

void TileProduct::tile(Expr m0, int rows, Expr panel, int panels, bool masked) {
  const int per_panel = static_cast<int>(kPanel) / x_.lanes, vectors = panels * per_panel;
  std::vector<std::vector<VarId>> acc(static_cast<size_t>(rows));
  for (auto& row : acc)
    for (int j = 0; j < vectors; ++j) row.push_back(k.mut("c", k.constant(acc_, 0, x_.lanes)));
  std::vector<Expr> at(static_cast<size_t>(panels)), n, mask(static_cast<size_t>(vectors));
  for (int p = 0; p < panels && !right_in_place(); ++p) at[static_cast<size_t>(p)] = k.let("b", panel_at(k.add(panel, k.index(p))));
  std::vector<std::vector<VarId>> sum;
  if (acc_ == DType::kF32 && k.symbols().at_most(depth_, part_length(x_.rows, depth_)) != Ternary::kYes) {
    sum = acc;
    for (auto& row : sum)
      for (VarId& v : row) v = k.mut("s", k.constant(acc_, 0, x_.lanes));
    end_part_ = [&] {
      for (size_t i = 0; i < acc.size(); ++i)
        for (size_t j = 0; j < acc[i].size(); ++j) {
          k.set(sum[i][j], k.add(k.var(sum[i][j]), k.var(acc[i][j])));
          k.set(acc[i][j], k.constant(acc_, 0, x_.lanes));
        }
    };
  }
  const Expr n0 = k.let("n0", k.mul(panel, k.index(kPanel)));
  for (int j = 0; j < vectors; ++j) {
    n.push_back(k.let("n", k.add(n0, k.index(int64_t(j) * x_.lanes))));
    if (masked && !single_column()) mask[static_cast<size_t>(j)] = columns_mask(n.back());
  }
  walk_depth([&](const DepthStep& d) {
    body.enter();
    std::vector<Expr> b;
    for (int j = 0; j < vectors; ++j) {
      if (right_in_place()) set_row(m0, n[static_cast<size_t>(j)]);
      b.push_back(
          k.let("bv", right(d, at[static_cast<size_t>(j / per_panel)], int64_t(j % per_panel) * x_.lanes, mask[static_cast<size_t>(j)])));
    }
    for (int i = d.row; i < std::min(rows, d.row_end); ++i) {
      set_row(k.add(m0, k.index(i)), n0);
      const Expr a = k.let("a", k.splat(k.convert(left(d), acc_), x_.lanes));
      for (int j = 0; j < vectors; ++j) {
        const VarId v = acc[static_cast<size_t>(i)][static_cast<size_t>(j)];
        k.set(v, is_float(acc_) ? k.fma(a, b[static_cast<size_t>(j)], k.var(v)) : k.add(k.mul(a, b[static_cast<size_t>(j)]), k.var(v)));
      }
    }
    body.leave();
  });
  end_part_ = {};
  if (!sum.empty()) acc = sum;
  const DType type = g_.type(result_).dtype;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < vectors; ++j) {
      set_row(k.add(m0, k.index(i)), n[static_cast<size_t>(j)]);
      if (single_column() && j > 0) break;
      body.enter();
      const Expr inside = mask[static_cast<size_t>(j)];
      Expr value = k.var(acc[static_cast<size_t>(i)][static_cast<size_t>(j)]);
      if (const Expr more = bias(inside); more.valid()) value = k.add(value, k.convert(more, acc_));
      value = k.let("c", body.round_value(k.convert(value, compute_dtype(type)), type));
      if (single_column() && x_.lanes > 1) value = k.extract(value, 0);
      body.bind(result_, [value](const Coords&, Expr) { return value; });
      epilogue_.place(result_coords());
      epilogue_.store(inside);
      body.unbind(result_);
      body.leave();
    }
}

}  // namespace nnc

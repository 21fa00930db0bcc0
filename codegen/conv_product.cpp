// Dense and grouped convolutions: a product whose rows are the output positions along one spatial axis and whose inner dimension is
// (kernel..., channel). No patch matrix and no border is made: along the other axes the loops over the taps begin and end inside the input,
// along the rows' axis the tiles at the border leave out what falls outside.

#include <algorithm>

#include "codegen/conv_skeletons.h"
#include "codegen/conv_taps.h"

namespace nnc {

namespace {

// The last spatial axis that is longer than 1: where a tile finds its rows.
size_t row_spatial(const Graph& g, const ConvFacts& f) {
  const Shape& sy = g.type(f.result).shape;
  for (size_t d = f.spatial; d-- > 0;)
    if (!sy[d + 1].is_const(1)) return d;
  return f.spatial - 1;
}

// Rows are cut evenly, so the tile is what divides a line best, and panels fill the registers that are left.
Tiling conv_tiling(const Target& t, const SymbolTable& s, const Dim& rows, const Dim& columns, DType acc) {
  Tiling x = choose_tiling(t, s, rows, columns, acc);
  const int per_panel = static_cast<int>(kPanel) / x.lanes;
  if (t.kind == TargetKind::kVm || per_panel != 1) return x;
  constexpr int kMostRows = 14, kAccumulators = 28;
  const int64_t m = std::max<int64_t>(1, s.typical(rows)), panels = std::max<int64_t>(1, (s.typical(columns) + kPanel - 1) / kPanel);
  const int64_t tiles = (m + kMostRows - 1) / kMostRows;
  x.rows = static_cast<int>((m + tiles - 1) / tiles);
  x.panels = x.rows >= 7 ? 2 : x.rows >= 3 ? 4 : 8;
  while (x.rows * x.panels > kAccumulators - (x.panels > 2 ? 4 : 0)) --x.panels;
  if (panels < x.panels) x.panels = static_cast<int>(panels);
  // No narrower tile at the end where a little less each time does.
  const int64_t tasks = (panels + x.panels - 1) / x.panels;
  x.panels = static_cast<int>((panels + tasks - 1) / tasks);
  return x;
}

class ConvProduct : public TileProduct {
 public:
  ConvProduct(const Graph& g, const Target& t, const ConvFacts& f, const Tiling& x) : TileProduct(g, t, f.result, f.acc, x), f_(f) {
    for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
    for (uint32_t o = 0; o < g.outputs().size(); ++o) args.output(o);
    SymbolTable& s = k.symbols();
    row_ = row_spatial(g, f);
    for (size_t d = 0; d < f.spatial; ++d) taps_.push_back(tap_axis(body, f, d));
    m_ = taps_[row_].outputs;
    n_ = body.dim(f.out_channels);
    channels_ = body.dim(f.in_channels);
    depth_ = channels_;
    for (const TapAxis& a : taps_) depth_ = s.mul(depth_, a.taps);
    panels_ = s.ceildiv(n_, kPanel);
    if (f.packed) {
      right_ = find_input(f.w);
      right_type_ = g.type(f.w).dtype;
    } else {
      right_ = args.scratch(0, f.acc, s.mul(s.mul(s.mul(panels_, depth_), kPanel), f.group), Access::kRead);
      right_type_ = f.acc;
    }
  }

  void build() {
    SymbolTable& s = k.symbols();
    axes_.push_back(IterAxis{body.dim(g_.type(f_.result).shape[0]), k.index(0), false, 1});
    axes_.push_back(IterAxis{Dim(f_.group), k.index(0), false, 1});
    Dim outer = 1;
    for (size_t d = 0; d < f_.spatial; ++d) {
      if (d == row_) continue;
      axes_.push_back(IterAxis{taps_[d].outputs, k.index(0), false, 1});
      outer = s.mul(outer, axes_.back().extent);
    }
    axes_.push_back(IterAxis{m_, k.index(0), false, 1});
    axes_.push_back(IterAxis{n_, k.index(0), x_.lanes > 1, kPanel});
    // Tasks in a row share what is dearer to fetch again: large weights, or else the input's lines.
    const int64_t rows = s.typical(outer), block = std::max<int64_t>(1, (rows + 3) / 4);
    const bool large = s.typical(depth_) * s.typical(n_) * (dtype_bits(f_.acc) / 8) > body.target().l2_bytes / 2;
    const Dim panel_tasks = s.ceildiv(panels_, x_.panels), row_tasks = s.ceildiv(outer, block);
    k.grid(large ? row_tasks : panel_tasks, large ? panel_tasks : row_tasks, s.mul(axes_[0].extent, f_.group));
    panel_task_ = k.task(large ? 1 : 0);
    const Expr row_task = k.task(large ? 0 : 1);
    lines_ = outer;
    fetch_ahead_ = large && body.target().kind == TargetKind::kCpu;
    if (f_.group == 1) {
      axes_[0].base = k.task(2);
    } else {
      axes_[0].base = k.let("image", k.floordiv(k.task(2), k.index(f_.group)));
      axes_[1].base = k.let("g", k.floormod(k.task(2), k.index(f_.group)));
    }
    right_base_ = k.let("rb", k.mul(axes_[1].base, k.dim(s.mul(s.mul(panels_, depth_), kPanel))));
    const Expr first_panel = k.let("p0", k.mul(panel_task_, k.index(x_.panels)));
    if (f_.spatial == 1) {
      line_ = k.index(0);
      columns(first_panel);
      return;
    }
    const Expr first = k.let("row0", k.mul(row_task, k.index(block)));
    k.for_("row", first, k.let("row1", k.min(k.dim(outer), k.add(first, k.index(block)))), 1, [&](Expr row) {
      Expr rest = row;
      line_ = row;
      for (size_t d = f_.spatial - 1; d-- > 0;) {
        axes_[2 + d].base = d == 0 ? rest : k.let("o", k.floormod(rest, k.dim(axes_[2 + d].extent)));
        if (d > 0) rest = k.let("t", k.floordiv(rest, k.dim(axes_[2 + d].extent)));
      }
      columns(first_panel);
    });
  }

 private:
  // The panels of one task: the last task has fewer, or lanes that the result has not.
  void columns(Expr first_panel) {
    if (!n_.is_const()) {
      panels(k.index(0), k.dim(m_), first_panel);
      return;
    }
    const int64_t n = n_.constant(), count = (n + kPanel - 1) / kPanel, whole = n / (kPanel * x_.panels);
    const int left = static_cast<int>(count - whole * x_.panels);
    const auto full = [&] { line(first_panel, x_.panels, false); };
    const auto last = [&] { line(k.index(whole * x_.panels), left, n % kPanel != 0); };
    if (left == 0)
      full();
    else if (whole == 0)
      last();
    else
      k.if_(k.lt(panel_task_, k.index(whole)), full, last);
  }

  void rows(Expr, Expr, Expr panel, int panels, bool masked) override { line(panel, panels, masked); }

  void line(Expr panel, int panels, bool masked) {
    cut_line(k, taps_[row_], x_.rows, [&](const LineTile& t) {
      now_ = t;
      tile(t.first, t.rows, panel, panels, masked);
    });
  }

  // Neighbouring taps of one channel lie where neighbouring channels lie, so that both are one loop.
  bool taps_join_channels() const {
    return row_ + 1 == f_.spatial && f_.dilation[row_] == 1 && f_.group == 1 && now_.edge != LineTile::kUnknown &&
           !g_.value(f_.x).def.valid();
  }

  using Step = std::function<void(const DepthStep&)>;

  void walk_depth(const Step& step) override {
    joined_ = taps_join_channels();
    find_part_axis();
    std::vector<Expr> vars;
    axis_taps(0, k.index(0), vars, step);
    if (end_part_ && part_rounds_ > 1) end_part_();
  }

  // Parts of sums (part_length) end with rounds of the outermost loop over taps whose round is no longer than a part; where there is none,
  // within the loop over the channels.
  void find_part_axis() {
    SymbolTable& s = k.symbols();
    const int64_t part = part_length(x_.rows, depth_);
    part_axis_ = f_.spatial;
    part_rounds_ = 1;
    for (size_t d = joined_ ? row_ : f_.spatial; d-- > 0;) {
      Dim steps = channels_;
      for (size_t i = d + 1; i < f_.spatial; ++i) steps = s.mul(steps, taps_[i].taps);
      if (s.at_most(steps, part) != Ternary::kYes) return;
      part_axis_ = d;
      part_rounds_ = steps.is_const() ? std::max<int64_t>(1, part / std::max<int64_t>(1, steps.constant())) : 1;
    }
  }
  void end_round(size_t d, Expr tap) {
    if (!end_part_ || d != part_axis_) return;
    if (part_rounds_ == 1) return end_part_();
    k.if_(k.eq(k.floormod(tap, k.index(part_rounds_)), k.index(part_rounds_ - 1)), [&] { end_part_(); });
  }

  // The taps of spatial axis d and of those after it, then the channels. `flat`: taps so far, as one number.
  void axis_taps(size_t d, Expr flat, std::vector<Expr>& vars, const Step& step) {
    if (d == f_.spatial) return channels(flat, k.index(0), k.dim(channels_), channels_, 0, kAllRows, vars, step);
    const TapAxis& a = taps_[d];
    const auto tap_loop = [&](Expr begin, Expr end, const std::function<void()>& body_of_tap) {
      const auto one = [&](Expr v) {
        vars.push_back(v);
        tap_ = k.add(k.mul(flat, k.dim(a.taps)), v);
        body_of_tap();
        vars.pop_back();
        end_round(d, v);
      };
      if (const auto b = k.as_const_index(begin), e = k.as_const_index(end); b && e && *b + 1 == *e) return one(begin);
      k.for_("k", begin, end, 1, one);
    };
    if (d != row_) {
      const auto [begin, end] = inside_taps(k, a, axes_[axis_of(d)].base);
      tap_loop(begin, end, [&] { axis_taps(d + 1, tap_, vars, step); });
      return;
    }
    std::vector<TapRun> runs;
    if (now_.edge == LineTile::kKnown) runs = known_taps(a, *k.as_const_index(now_.first), now_.rows);
    const auto run = [&](Expr begin, Expr end, int row, int row_end) {
      if (joined_) {
        vars.push_back(k.index(0));
        channels(k.mul(flat, k.dim(a.taps)), k.mul(begin, k.dim(channels_)), k.mul(end, k.dim(channels_)),
                 k.symbols().mul(a.taps, channels_), row, row_end, vars, step);
        vars.pop_back();
        return;
      }
      rows_seen_ = {row, row_end};
      tap_loop(begin, end, [&] { axis_taps(d + 1, tap_, vars, step); });
      rows_seen_ = {0, kAllRows};
    };
    if (now_.edge == LineTile::kUnknown) return border_taps(d, flat, vars, step);
    if (now_.edge != LineTile::kKnown) return run(k.index(0), k.dim(a.taps), 0, kAllRows);
    for (const TapRun& r : runs) run(k.index(r.tap), k.index(r.tap_end), r.row, r.row_end);
  }

  // A tile whose place is not known: each tap looks how many rows at either end it would have outside. Where that is more than text is
  // made for, rows go one by one.
  void border_taps(size_t d, Expr flat, std::vector<Expr>& vars, const Step& step) {
    constexpr int kMostCut = 2;
    const TapAxis& a = taps_[d];
    const int rows = now_.rows;
    k.for_("k", k.index(0), k.dim(a.taps), 1, [&](Expr tap) {
      const auto position = [&](int row) {
        const Expr window = k.mul(k.add(now_.first, k.index(row)), k.index(a.stride));
        return k.sub(k.add(window, k.mul(tap, k.index(a.dilation))), k.dim(a.pad));
      };
      const auto inside = [&](int row, int end) {
        return k.logical_and(k.le(k.index(0), position(row)), k.lt(position(end - 1), k.dim(a.inputs)));
      };
      const auto taken = [&](int row, int end) {
        vars.push_back(tap);
        rows_seen_ = {row, end};
        axis_taps(d + 1, k.add(k.mul(flat, k.dim(a.taps)), tap), vars, step);
        rows_seen_ = {0, kAllRows};
        vars.pop_back();
      };
      std::vector<std::pair<int, int>> cuts;
      for (int cut = 0; cut <= kMostCut && cut < rows; ++cut) {
        cuts.emplace_back(cut, rows);
        if (cut > 0) cuts.emplace_back(0, rows - cut);
      }
      const std::function<void(size_t)> choose = [&](size_t i) {
        if (i < cuts.size()) {
          const int row = cuts[i].first, end = cuts[i].second;
          k.if_(
              inside(row, end), [&] { taken(row, end); }, [&] { choose(i + 1); });
          return;
        }
        for (int row = 0; rows > 1 && row < rows; ++row) k.if_(inside(row, row + 1), [&] { taken(row, row + 1); });
      };
      choose(0);
      end_round(d, tap);
    });
  }

  void channels(Expr flat, Expr begin, Expr end, const Dim& most, int row, int row_end, std::vector<Expr>& vars, const Step& step) {
    const Expr base = k.let("kc", k.mul(flat, k.dim(channels_)));
    const auto round = [&](Expr c) {
      fetch_next_panels(k.add(base, c));
      vars.push_back(c);
      step({k.add(base, c), vars, std::max(row, rows_seen_.first), std::min(row_end, rows_seen_.second)});
      vars.pop_back();
    };
    if (part_axis_ == f_.spatial)
      depth_loop(begin, end, most, round);
    else
      k.for_("c", begin, end, 1, round);
  }

  // Few lines of one tile each use a task's panels only so often: meanwhile those of the next task come, a piece at each step.
  void fetch_next_panels(Expr step) {
    constexpr int64_t kFewLines = 16;
    if (!fetch_ahead_ || !lines_.is_const() || !depth_.is_const() || !m_.is_const() || m_.constant() > x_.rows) return;
    const int64_t lines = lines_.constant(), depth = depth_.constant(), piece = kPanel * x_.panels / std::max<int64_t>(1, lines);
    if (lines > kFewLines || piece == 0) return;
    const Expr next = k.add(right_base_, k.mul(k.add(k.mul(panel_task_, k.index(x_.panels)), k.index(x_.panels)), k.index(depth * kPanel)));
    k.prefetch(right_, k.add(next, k.mul(k.add(k.mul(line_, k.index(depth)), step), k.index(piece))));
  }

  // The iteration axis of a spatial axis.
  uint32_t axis_of(size_t d) const { return d == row_ ? row_axis() : static_cast<uint32_t>(2 + (d < row_ ? d : d - 1)); }

  Expr left(const DepthStep& step) override {
    Coords c(f_.spatial + 2);
    c[0] = body.axis(0);
    for (size_t d = 0; d < f_.spatial; ++d) {
      const Coord tap = body.opaque(step.vars[d], 0, k.symbols().sub(taps_[d].taps, 1));
      c[d + 1] = tap_position(body, taps_[d], body.axis(axis_of(d)), tap);
    }
    const Coord channel = body.opaque(step.vars.back(), 0, k.symbols().sub(channels_, 1));
    c[f_.spatial + 1] = f_.group == 1 ? channel : body.add(body.scale(body.axis(1), channels_), channel);
    return k.convert(body.emit(f_.x, c), f_.acc);
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

  static constexpr int kAllRows = DepthStep::kAllRows;

  const ConvFacts& f_;
  size_t row_ = 0;  // the spatial axis that the tile's rows run along
  std::vector<TapAxis> taps_;
  Dim channels_;
  Expr panel_task_, line_;
  Dim lines_;
  bool fetch_ahead_ = false;
  LineTile now_;
  std::pair<int, int> rows_seen_{0, kAllRows};  // by the tap at hand
  Expr tap_;
  bool joined_ = false;
  size_t part_axis_ = 0;
  int64_t part_rounds_ = 1;
};

}  // namespace

LoweredKernel lower_conv_product(const Graph& g, const Target& target, const ConvFacts& f, const LowerOptions& options) {
  SymbolTable& s = const_cast<Graph&>(g).symbols();
  Tiling x = conv_tiling(target, s, g.type(f.result).shape[row_spatial(g, f) + 1], f.out_channels, f.acc);
  for (;;) {
    ConvProduct p(g, target, f, x);
    p.build();
    if (!p.body.vector_failed() || x.lanes == 1) return p.args.finish(options);
    x = Tiling{1, 1, 1};
  }
}

}  // namespace nnc

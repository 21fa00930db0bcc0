#include "codegen/conv_taps.h"

#include <algorithm>

namespace nnc {

TapAxis tap_axis(GroupBody& body, const ConvFacts& f, size_t d) {
  const Graph& g = body.graph();
  SymbolTable& s = const_cast<Graph&>(g).symbols();
  const Dim &in = g.type(f.x).shape[d + 1], &out = g.type(f.result).shape[d + 1];
  TapAxis a;
  a.outputs = body.dim(out);
  a.inputs = body.dim(in);
  a.taps = body.dim(f.kernel[d]);
  a.pad = body.dim(f.pad_begin[d]);
  a.stride = f.stride[d];
  a.dilation = f.dilation[d];
  a.low = !f.pad_begin[d].is_const(0);
  a.high = s.at_least(s.sub(s.add(in, f.pad_begin[d]), f.reach[d]), 0) != Ternary::kYes;
  return a;
}

Coord tap_position(GroupBody& body, const TapAxis& a, const Coord& output, const Coord& tap) {
  const Coord at = body.add(body.scale(output, a.stride), body.scale(tap, a.dilation));
  return a.low ? body.add(at, body.constant(body.k().symbols().mul(a.pad, -1))) : at;
}

std::pair<Expr, Expr> inside_taps(KernelBuilder& k, const TapAxis& a, Expr at) {
  const Expr begin = k.mul(at, k.index(a.stride)), pad = k.dim(a.pad);
  // Taps of which `distance` rounded up comes first.
  const auto up = [&](Expr distance) { return k.floordiv(k.add(distance, k.index(a.dilation - 1)), k.index(a.dilation)); };
  Expr first = k.index(0), end = k.dim(a.taps);
  if (a.low) first = k.let("first", k.max(k.index(0), up(k.sub(pad, begin))));
  if (a.high) end = k.let("end", k.min(end, up(k.sub(k.add(k.dim(a.inputs), pad), begin))));
  return {first, end};
}

Expr inside_input(KernelBuilder& k, const TapAxis& a, Expr position) {
  return k.logical_and(k.le(k.index(0), position), k.lt(position, k.dim(a.inputs)));
}

namespace {

struct KnownAxis {
  int64_t outputs, inputs, taps, pad, stride, dilation;
  bool inside(int64_t output, int64_t tap) const {
    const int64_t at = output * stride + tap * dilation - pad;
    return at >= 0 && at < inputs;
  }
  bool whole(int64_t first, int rows) const { return taps == 0 || (inside(first, 0) && inside(first + rows - 1, taps - 1)); }
};
std::optional<KnownAxis> known(const TapAxis& a) {
  for (const Dim* d : {&a.outputs, &a.inputs, &a.taps, &a.pad})
    if (!d->is_const()) return std::nullopt;
  return KnownAxis{a.outputs.constant(), a.inputs.constant(), a.taps.constant(), a.pad.constant(), a.stride, a.dilation};
}

// Every tile at the border is text of its own.
constexpr int kMostBorderTiles = 6;

bool cut_known(KernelBuilder& k, const TapAxis& a, int most, const std::function<void(const LineTile&)>& tile) {
  const bool clipped = a.low || a.high;
  const auto axis = known(a);
  if (clipped ? !axis : !a.outputs.is_const()) return false;
  const int64_t outputs = a.outputs.constant(), count = (outputs + most - 1) / most;
  struct Run {
    int64_t first, tiles;
    int rows;
    bool whole;
  };
  std::vector<Run> runs;
  int border = 0;
  for (int64_t i = 0, first = 0; i < count; ++i) {
    const int rows = static_cast<int>(outputs / count + (i < outputs % count ? 1 : 0));
    const bool whole = !clipped || axis->whole(first, rows);
    border += !whole;
    if (!runs.empty() && whole && runs.back().whole && runs.back().rows == rows)
      ++runs.back().tiles;
    else
      runs.push_back({first, 1, rows, whole});
    first += rows;
  }
  if (border > kMostBorderTiles) return false;
  for (const Run& r : runs) {
    if (r.tiles == 1) {
      tile({k.index(r.first), r.rows, r.whole ? LineTile::kInside : LineTile::kKnown});
      continue;
    }
    k.for_("t", k.index(0), k.index(r.tiles), 1, [&](Expr t) {
      tile({k.let("m", k.add(k.mul(t, k.index(r.rows)), k.index(r.first))), r.rows, LineTile::kInside});
    });
  }
  return true;
}

}  // namespace

std::vector<TapRun> known_taps(const TapAxis& a, int64_t first, int rows) {
  const auto axis = known(a);
  NNC_CHECK(axis, "a tile's place is known where the extents are not");
  std::vector<TapRun> runs;
  for (int64_t t = 0; t < axis->taps; ++t) {
    int row = 0, end = rows;
    while (row < end && !axis->inside(first + row, t)) ++row;
    while (row < end && !axis->inside(first + end - 1, t)) --end;
    if (row == end) continue;
    if (!runs.empty() && runs.back().tap_end == t && runs.back().row == row && runs.back().row_end == end)
      ++runs.back().tap_end;
    else
      runs.push_back({t, t + 1, row, end});
  }
  return runs;
}

void cut_line(KernelBuilder& k, const TapAxis& a, int most, const std::function<void(const LineTile&)>& tile) {
  if (cut_known(k, a, most, tile)) return;
  SymbolTable& s = k.symbols();
  const auto place = [&](Expr first, int rows) {
    if (!a.low && !a.high) return tile({first, rows, LineTile::kInside});
    const Expr begin = k.sub(k.mul(first, k.index(a.stride)), k.dim(a.pad));
    const Expr span = k.dim(s.add(s.mul(s.sub(a.taps, 1), a.dilation), a.stride * (rows - 1)));
    const Expr whole = k.logical_and(k.le(k.index(0), begin), k.lt(k.add(begin, span), k.dim(a.inputs)));
    k.if_(
        whole,
        [&] {
          tile({first, rows, LineTile::kInside});
        },
        [&] {
          tile({first, rows, LineTile::kUnknown});
        });
  };
  const auto tiles = [&] {
    k.for_("t", k.index(0), k.dim(s.ceildiv(a.outputs, most)), 1,
           [&](Expr t) { place(k.let("m", k.min(k.mul(t, k.index(most)), k.sub(k.dim(a.outputs), k.index(most)))), most); });
  };
  const auto singles = [&] { k.for_("m", k.index(0), k.dim(a.outputs), 1, [&](Expr m) { place(m, 1); }); };
  if (most == 1) return singles();
  if (s.at_least(a.outputs, most) == Ternary::kYes) return tiles();
  k.if_(k.le(k.index(most), k.dim(a.outputs)), tiles, singles);
}

}  // namespace nnc

// Depthwise convolutions: one filter per channel. Vectors lie along the channels; a tile is a few neighbouring positions, and each vector
// of the input that it sees is loaded once. Taps outside of the input are left out, as in conv_product.cpp.

#include <algorithm>
#include <map>
#include <numeric>

#include "codegen/conv_skeletons.h"
#include "codegen/conv_taps.h"

namespace nnc {

namespace {

class Depthwise {
 public:
  Depthwise(const Graph& g, const Target& t, const ConvFacts& f, int lanes)
      : k(group_name(g)), body(k, g, t), args(k, body), g_(g), f_(f), lanes_(lanes), epilogue_(body, f.result) {
    for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
    for (uint32_t o = 0; o < g.outputs().size(); ++o) args.output(o);
    for (size_t d = 0; d < f.spatial; ++d) taps_.push_back(tap_axis(body, f, d));
    tile_ = t.vector_registers >= 32 ? 8 : 6;
  }

  void build() {
    SymbolTable& s = k.symbols();
    const Shape& sy = g_.type(f_.result).shape;
    for (const Dim& d : sy) axes_.push_back(IterAxis{body.dim(d), k.index(0), false, 1});
    const size_t row = axes_.size() - 2;
    Dim outer = 1;
    for (size_t a = 1; a < row; ++a) outer = s.mul(outer, axes_[a].extent);
    k.grid(outer, axes_[0].extent);
    axes_[0].base = k.task(1);
    Expr rest = k.task(0);
    for (size_t a = row; a-- > 1;) {
      axes_[a].base = a == 1 ? rest : k.let("o", k.floormod(rest, k.dim(axes_[a].extent)));
      if (a > 1) rest = k.let("t", k.floordiv(rest, k.dim(axes_[a].extent)));
    }
    const Dim& line = taps_.back().outputs;
    const int most = line.is_const() ? static_cast<int>(std::clamp<int64_t>(line.constant(), 1, tile_)) : tile_;
    cut_line(k, taps_.back(), most, [&](const LineTile& t) { channels(t); });
  }

  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;

 private:
  // All channels of a tile. What a vector does not fill is computed by one moved back over its neighbour.
  void channels(const LineTile& t) {
    SymbolTable& s = k.symbols();
    IterAxis& channel = axes_.back();
    const Dim all = channel.extent;
    if (all.is_const() && all.constant() >= lanes_) {
      const int64_t n = all.constant(), vectors = (n + lanes_ - 1) / lanes_;
      channel.align = std::gcd(n, static_cast<int64_t>(lanes_));
      k.for_("c", k.index(0), k.index(vectors), 1, [&](Expr c) {
        const Expr at = k.mul(c, k.index(lanes_));
        tile(t, k.let("c0", n % lanes_ == 0 ? at : k.min(at, k.index(n - lanes_))), lanes_);
      });
      return;
    }
    channel.align = lanes_;
    const Dim vectors = s.floordiv(all, lanes_);
    k.for_("c", k.index(0), k.dim(vectors), 1, [&](Expr c) { tile(t, k.let("c0", k.mul(c, k.index(lanes_))), lanes_); });
    if (lanes_ > 1 && s.divisible(all, lanes_) != Ternary::kYes)
      k.for_("c", k.dim(s.mul(vectors, lanes_)), k.dim(all), 1, [&](Expr c) { tile(t, c, 1); });
  }

  void at(Expr position, Expr channel, int lanes) {
    axes_[axes_.size() - 2].base = position;
    axes_.back().base = channel;
    axes_.back().lane = lanes > 1;
    body.set_axes(axes_, lanes);
  }

  void tile(const LineTile& t, Expr c0, int lanes) {
    std::vector<VarId> acc;
    for (int i = 0; i < t.rows; ++i) acc.push_back(k.mut("c", k.constant(f_.acc, 0, lanes)));
    std::vector<Expr> taps;
    at(t.first, c0, lanes);
    outer_taps(taps, [&] { line_taps(t, taps, acc, lanes); });
    for (int i = 0; i < t.rows; ++i) {
      at(k.add(t.first, k.index(i)), c0, lanes);
      result(k.var(acc[static_cast<size_t>(i)]));
    }
  }

  // The taps of all spatial axes but the last.
  void outer_taps(std::vector<Expr>& taps, const std::function<void()>& inner) {
    const size_t d = taps.size();
    if (d + 1 == f_.spatial) return inner();
    const auto [begin, end] = inside_taps(k, taps_[d], axes_[d + 1].base);
    k.for_("k", begin, end, 1, [&](Expr v) {
      taps.push_back(v);
      outer_taps(taps, inner);
      taps.pop_back();
    });
  }

  void line_taps(const LineTile& t, std::vector<Expr>& taps, const std::vector<VarId>& acc, int lanes) {
    const TapAxis& a = taps_.back();
    constexpr int64_t kMostInText = 11;
    if (a.taps.is_const() && a.taps.constant() <= kMostInText) return line_in_text(t, taps, acc, lanes);
    k.for_("k", k.index(0), k.dim(a.taps), 1, [&](Expr v) {
      body.enter();
      taps.push_back(v);
      const Expr w = weight(taps, lanes);
      for (int i = 0; i < t.rows; ++i) {
        const Coord at = body.add(body.axis(line_axis()), body.constant(i));
        multiply(acc[static_cast<size_t>(i)],
                 input(taps, tap_position(body, a, at, body.opaque(v, 0, k.symbols().sub(a.taps, 1))), true, lanes), w, lanes);
      }
      taps.pop_back();
      body.leave();
    });
  }

  // Tap by tap in text, so that what neighbouring positions see is loaded once.
  void line_in_text(const LineTile& t, std::vector<Expr>& taps, const std::vector<VarId>& acc, int lanes) {
    const TapAxis& a = taps_.back();
    const int64_t count = a.taps.constant();
    std::vector<std::vector<bool>> sees(static_cast<size_t>(count), std::vector<bool>(acc.size(), t.edge != LineTile::kKnown));
    if (t.edge == LineTile::kKnown)
      for (const TapRun& r : known_taps(a, *k.as_const_index(t.first), t.rows))
        for (int64_t tap = r.tap; tap < r.tap_end; ++tap)
          for (int row = r.row; row < r.row_end; ++row) sees[static_cast<size_t>(tap)][static_cast<size_t>(row)] = true;
    body.enter();
    std::vector<Expr> w;
    for (int64_t tap = 0; tap < count; ++tap) {
      taps.push_back(k.index(tap));
      w.push_back(weight(taps, lanes));
      taps.pop_back();
    }
    std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>> readers;  // rows and taps by the offset that they see
    for (int64_t row = 0; row < t.rows; ++row)
      for (int64_t tap = 0; tap < count; ++tap)
        if (sees[static_cast<size_t>(tap)][static_cast<size_t>(row)]) readers[row * a.stride + tap * a.dilation].emplace_back(row, tap);
    for (const auto& [offset, pairs] : readers) {
      const Coord at = tap_position(body, a, body.axis(line_axis()), body.constant(0));
      const Expr x = input(taps, body.add(at, body.constant(offset)), t.edge == LineTile::kUnknown, lanes);
      for (const auto& [row, tap] : pairs) multiply(acc[static_cast<size_t>(row)], x, w[static_cast<size_t>(tap)], lanes);
    }
    body.leave();
  }

  Expr weight(const std::vector<Expr>& taps, int lanes) {
    Coords c(f_.spatial + 2);
    for (size_t d = 0; d < f_.spatial; ++d) c[d] = body.opaque(taps[d], 0, k.symbols().sub(taps_[d].taps, 1));
    c[f_.spatial + 1] = body.axis(channel_axis());
    return k.let("w", k.splat(k.convert(body.emit(f_.w, c), f_.acc), lanes));
  }

  // The input at the outer taps and at `position` of the last axis.
  Expr input(const std::vector<Expr>& taps, const Coord& position, bool masked, int lanes) {
    Coords c(f_.spatial + 2);
    c[0] = body.axis(0);
    for (size_t d = 0; d + 1 < f_.spatial; ++d)
      c[d + 1] =
          tap_position(body, taps_[d], body.axis(static_cast<uint32_t>(1 + d)), body.opaque(taps[d], 0, k.symbols().sub(taps_[d].taps, 1)));
    c[f_.spatial] = position;
    c[f_.spatial + 1] = body.axis(channel_axis());
    Expr inside;
    if (masked) inside = k.let("inside", inside_input(k, taps_.back(), body.scalar(position)));
    const Expr x = k.splat(k.convert(body.emit(f_.x, c, inside), f_.acc), lanes);
    if (!masked || !g_.value(f_.x).def.valid()) return k.let("x", x);
    return k.let("x", k.select(k.splat(inside, lanes), x, k.constant(f_.acc, 0, lanes)));
  }

  void multiply(VarId acc, Expr x, Expr w, int lanes) {
    k.set(acc, is_float(f_.acc) ? k.fma(x, k.splat(w, lanes), k.var(acc)) : k.add(k.mul(x, w), k.var(acc)));
  }

  void result(Expr value) {
    const DType type = g_.type(f_.result).dtype;
    body.enter();
    Coords c;
    for (uint32_t a = 0; a < axes_.size(); ++a) c.push_back(body.axis(a));
    if (f_.bias.valid()) {
      Coords b;
      b.push_back(body.axis(channel_axis()));
      value = k.add(value, k.convert(body.emit(f_.bias, b), f_.acc));
    }
    value = k.let("c", body.round_value(k.convert(value, compute_dtype(type)), type));
    body.bind(f_.result, [value](const Coords&, Expr) { return value; });
    epilogue_.place(c);
    epilogue_.store();
    body.unbind(f_.result);
    body.leave();
  }

  uint32_t channel_axis() const { return static_cast<uint32_t>(axes_.size() - 1); }
  uint32_t line_axis() const { return static_cast<uint32_t>(axes_.size() - 2); }

  const Graph& g_;
  const ConvFacts& f_;
  int lanes_, tile_ = 6;
  Epilogue epilogue_;
  std::vector<TapAxis> taps_;
  std::vector<IterAxis> axes_;
};

}  // namespace

LoweredKernel lower_depthwise(const Graph& g, const Target& target, const ConvFacts& f, const LowerOptions& options) {
  int lanes = target.kind == TargetKind::kVm ? 64 : target.vector_bytes / std::max(4, dtype_bits(f.acc) / 8);
  const Dim channels = g.type(f.x).shape.back();
  if (channels.is_const())
    while (lanes > 1 && lanes > channels.constant()) lanes /= 2;
  for (;;) {
    Depthwise d(g, target, f, lanes);
    d.build();
    if (!d.body.vector_failed() || lanes == 1) return d.args.finish(options);
    lanes = 1;
  }
}

}  // namespace nnc

// Moves on CUDA whose neighbours in the source are not neighbours in the result (transposes and what is made of them): a block takes a tile
// of 32 by 32 elements through shared memory, so that it reads and writes along memory. The line of the tile is one element longer than a
// warp: no two lanes meet in a bank.

#include "codegen/cuda_move.h"

#include <functional>

namespace nnc {

namespace {

constexpr int64_t kTile = 32, kLine = kTile + 1;
constexpr int kThreads = 256, kRows = kThreads / static_cast<int>(kTile);

// The axis along which the group's one input runs, if that is not the last one of the iteration.
std::optional<size_t> source_axis(const Graph& g, const Target& t, const IterSpace& space) {
  if (g.inputs().size() != 1 || g.outputs().size() != 1 || space.extents.size() < 2) return std::nullopt;
  KernelBuilder k("probe");
  GroupBody body(k, g, t);
  std::vector<IterAxis> axes;
  std::function<void(size_t)> nest = [&](size_t i) {
    if (i == space.extents.size()) {
      body.set_axes(axes, 1);
      emit_outputs(body);
      return;
    }
    const Dim extent = body.dim(space.extents[i]);
    k.for_("i", k.index(0), k.dim(extent), 1, [&](Expr v) {
      axes.push_back(IterAxis{extent, v, false, 1});
      nest(i + 1);
    });
  };
  nest(0);
  const EdgeAccess* in = nullptr;
  for (const EdgeAccess& a : body.accesses()) {
    if (a.opaque) return std::nullopt;
    if (a.input >= 0x80000000u) continue;
    if (in) return std::nullopt;
    in = &a;
  }
  const size_t last = space.extents.size() - 1;
  if (!in || in->coeff[last].is_const(1) || in->coeff[last].is_const(0)) return std::nullopt;
  SymbolTable& s = const_cast<Graph&>(g).symbols();
  for (size_t a = 0; a < last; ++a)
    if (in->coeff[a].is_const(1) && s.typical(space.extents[a]) >= kTile / 2 && s.typical(space.extents[last]) >= kTile / 2) return a;
  return std::nullopt;
}

class TiledMove {
 public:
  TiledMove(const Graph& g, const Target& t, const IterSpace& space, size_t source)
      : k(group_name(g), kThreads), body(k, g, t), args(k, body), g_(g), source_(source) {
    args.all();
    for (const Dim& d : space.extents) axes_.push_back(IterAxis{body.dim(d), k.index(0), false, 1});
  }

  void build() {
    SymbolTable& s = k.symbols();
    const size_t last = axes_.size() - 1;
    const Dim across = s.ceildiv(axes_[last].extent, kTile);
    Dim others = 1;
    for (size_t a = 0; a < last; ++a)
      if (a != source_) others = s.mul(others, axes_[a].extent);
    k.grid(s.mul(s.ceildiv(axes_[source_].extent, kTile), across), others);
    Expr rest = k.task(1);
    for (size_t a = last; a-- > 0;) {
      if (a == source_) continue;
      axes_[a].base = k.let("i", k.floormod(rest, k.dim(axes_[a].extent)));
      rest = k.let("t", k.floordiv(rest, k.dim(axes_[a].extent)));
    }
    const Expr from = k.let("a0", k.mul(k.floordiv(k.task(0), k.dim(across)), k.index(kTile))),
               to = k.let("b0", k.mul(k.floormod(k.task(0), k.dim(across)), k.index(kTile)));
    const Expr x = k.let("tx", k.floormod(k.thread(), k.index(kTile))), y = k.let("ty", k.floordiv(k.thread(), k.index(kTile)));
    const ValueId in = g_.inputs()[0];
    const Type& type = g_.type(in);
    const DType stored = compute_dtype(type.dtype) == DType::kBool ? DType::kU8 : compute_dtype(type.dtype);
    tile_ = k.alloc("tile", stored, kTile * kLine, Space::kShared);
    for (int r = 0; r < kTile; r += kRows) {
      const Expr row = k.let("r", k.add(y, k.index(r)));
      at(k.add(from, x), k.add(to, row), [&] {
        body.bind(in, [&](const Coords& c, Expr) {
          const Expr v = body.load_flat(body.declare_input(0), type.dtype, body.flatten(c, type.shape));
          k.store(tile_, k.add(k.mul(row, k.index(kLine)), x), k.convert(v, stored));
          return v;
        });
        body.emit(g_.outputs()[0], output_coords());
      });
    }
    k.barrier();
    for (int r = 0; r < kTile; r += kRows) {
      const Expr row = k.let("r", k.add(y, k.index(r)));
      at(k.add(from, row), k.add(to, x), [&] {
        body.bind(in, [&](const Coords&, Expr) {
          const Expr v = k.load(tile_, k.add(k.mul(x, k.index(kLine)), row), 1);
          return compute_dtype(type.dtype) == DType::kBool ? k.convert(v, DType::kBool) : v;
        });
        const Coords c = output_coords();
        body.store_output(0, c, body.emit(g_.outputs()[0], c));
      });
    }
    body.unbind(in);
  }

  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;

 private:
  // One element of the tile, if it is inside.
  void at(Expr source, Expr last, const std::function<void()>& visit) {
    const Dim &a = axes_[source_].extent, &b = axes_.back().extent;
    SymbolTable& s = k.symbols();
    axes_[source_].base = k.let("a", source);
    axes_.back().base = k.let("b", last);
    Expr inside;
    if (s.divisible(a, kTile) != Ternary::kYes) inside = k.lt(axes_[source_].base, k.dim(a));
    if (s.divisible(b, kTile) != Ternary::kYes) {
      const Expr in = k.lt(axes_.back().base, k.dim(b));
      inside = inside.valid() ? k.logical_and(inside, in) : in;
    }
    auto one = [&] {
      body.set_axes(axes_, 1);
      body.enter();
      visit();
      body.leave();
    };
    if (inside.valid())
      k.if_(inside, one);
    else
      one();
  }
  Coords output_coords() {
    Coord flat;
    Dim stride = 1;
    for (size_t i = axes_.size(); i-- > 0;) {
      flat = body.add(flat, body.scale(body.axis(static_cast<uint32_t>(i)), stride));
      stride = k.symbols().mul(stride, axes_[i].extent);
    }
    return Coords::of_flat(body, flat, g_.type(g_.outputs()[0]).shape);
  }

  const Graph& g_;
  const size_t source_;
  std::vector<IterAxis> axes_;
  BufId tile_;
};

}  // namespace

std::optional<LoweredKernel> lower_move_cuda(const Graph& g, const Target& target, const IterSpace& space, const LowerOptions& options) {
  const std::optional<size_t> source = source_axis(g, target, space);
  if (!source) return std::nullopt;
  TiledMove m(g, target, space, *source);
  m.build();
  return m.args.finish(options);
}

}  // namespace nnc

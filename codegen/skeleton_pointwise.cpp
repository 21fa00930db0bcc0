// Pointwise: every output element is computed on its own. CPU: a task is a chunk of a flat range, or some rows; vectors along the last
// axis, four in flight where there is arithmetic to hide, one masked tail. CUDA: a thread holds 16 bytes of the widest element,
// neighbouring threads neighbouring vectors.

#include <algorithm>

#include "codegen/cuda_move.h"
#include "codegen/iter_space.h"
#include "codegen/skeletons.h"
#include "ir/support/mutant.h"

namespace nnc {

namespace {

constexpr int64_t kChunk = 8192;  // elements of a task

struct Pointwise {
  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;
  std::vector<IterAxis> axes;
  Pointwise(const Graph& g, const Target& t, int threads) : k(group_name(g), threads), body(k, g, t), args(k, body) { args.all(); }

  void emit_at(Expr position, int lanes, Expr mask) {
    body.enter();
    std::vector<IterAxis> now = axes;
    if (!now.empty()) {
      now.back().base = position;
      now.back().lane = lanes > 1;
      now.back().align = lanes;
    }
    body.set_axes(std::move(now), lanes);
    emit_outputs(body, mask);
    body.leave();
  }

  // Elements [from, from + count) of the last axis; count is an index expression and a dim that bounds it.
  void inner(Expr from, Expr count, bool whole_vectors, int lanes, int unroll) {
    if (lanes == 1) {
      k.for_("j", k.index(0), count, 1, [&](Expr j) { emit_at(k.add(from, j), 1, {}); });
      return;
    }
    const int64_t wide = int64_t(lanes) * unroll;
    const Expr main = k.let("main", k.floordiv(count, k.index(wide)));
    k.for_("v", k.index(0), main, 1, [&](Expr v) {
      for (int u = 0; u < unroll; ++u) emit_at(k.add(from, k.add(k.mul(v, k.index(wide)), k.index(int64_t(u) * lanes))), lanes, {});
    });
    const Expr done = k.let("done", k.mul(main, k.index(wide)));
    Expr left = k.let("left", k.sub(count, done));
    Expr at = k.let("at", k.add(from, done));
    if (unroll > 1) {
      const Expr vectors = k.let("vectors", k.floordiv(left, k.index(lanes)));
      k.for_("v", k.index(0), vectors, 1, [&](Expr v) { emit_at(k.add(at, k.mul(v, k.index(lanes))), lanes, {}); });
      const Expr more = k.mul(vectors, k.index(lanes));
      at = k.let("at", k.add(at, more));
      left = k.let("left", k.sub(left, more));
    }
    if (whole_vectors || mutant("tail_not_written")) return;
    k.if_(k.lt(k.index(0), left), [&] { emit_at(at, lanes, k.lt(k.iota(lanes), k.splat(left, lanes))); });
  }
};

// Axes 0 .. n-1 from one task number (row-major), by division where there is more than one.
void unpack_task(KernelBuilder& k, Expr task, std::vector<IterAxis>& axes, size_t begin, size_t end) {
  Expr rest = task;
  for (size_t i = end; i-- > begin;) {
    if (i == begin) {
      axes[i].base = rest;
    } else {
      axes[i].base = k.let("i", k.floormod(rest, k.dim(axes[i].extent)));
      rest = k.let("t", k.floordiv(rest, k.dim(axes[i].extent)));
    }
  }
}

Dim product(SymbolTable& s, const std::vector<IterAxis>& axes, size_t begin, size_t end) {
  Dim p = 1;
  for (size_t i = begin; i < end; ++i) p = s.mul(p, axes[i].extent);
  return p;
}

int arithmetic_unroll(const Graph& g) {
  int elem = 0;
  for (NodeId n : g.order()) elem += g.node(n).def().lowering == Lowering::kElem;
  return elem >= 2 && elem <= 12 && g.inputs().size() <= 4 ? 4 : 1;
}

void build_cpu(Pointwise& p, const IterSpace& space, int lanes) {
  KernelBuilder& k = p.k;
  SymbolTable& s = k.symbols();
  for (const Dim& d : space.extents) p.axes.push_back(IterAxis{p.body.dim(d), k.index(0), false, 1});
  const size_t n = p.axes.size();
  if (n == 0) {
    p.emit_at(k.index(0), 1, {});
    return;
  }
  const Dim inner = p.axes.back().extent;
  const int unroll = lanes > 1 ? arithmetic_unroll(p.body.graph()) : 1;
  if (n == 1 || s.typical(inner) >= kChunk) {
    const size_t outer = n - 1;
    const bool exact = s.divisible(inner, kChunk) == Ternary::kYes;
    k.grid(s.ceildiv(inner, kChunk), outer ? p.axes[outer - 1].extent : Dim(1), outer > 1 ? product(s, p.axes, 0, outer - 1) : Dim(1));
    if (outer) p.axes[outer - 1].base = k.task(1);
    if (outer > 1) unpack_task(k, k.task(2), p.axes, 0, outer - 1);
    const Expr from = k.let("from", k.mul(k.task(0), k.index(kChunk)));
    const Expr count = exact ? k.index(kChunk) : k.let("count", k.min(k.index(kChunk), k.sub(k.dim(inner), from)));
    p.inner(from, count, s.divisible(inner, lanes) == Ternary::kYes, lanes, unroll);
    return;
  }
  const int64_t rows = std::max<int64_t>(1, kChunk / std::max<int64_t>(1, s.typical(inner)));
  const Dim row_axis = p.axes[n - 2].extent;
  k.grid(s.ceildiv(row_axis, rows), n > 2 ? p.axes[n - 3].extent : Dim(1), n > 3 ? product(s, p.axes, 0, n - 3) : Dim(1));
  if (n > 2) p.axes[n - 3].base = k.task(1);
  if (n > 3) unpack_task(k, k.task(2), p.axes, 0, n - 3);
  const Expr first = k.let("row0", k.mul(k.task(0), k.index(rows)));
  const Expr count = k.let("rows", k.min(k.index(rows), k.sub(k.dim(row_axis), first)));
  k.for_("r", k.index(0), count, 1, [&](Expr r) {
    p.axes[n - 2].base = k.let("row", k.add(first, r));
    p.inner(k.index(0), k.dim(inner), s.divisible(inner, lanes) == Ternary::kYes, lanes, unroll);
  });
}

// One thread handles `lanes` neighbouring elements of the last axis; blocks of `threads` threads along it, or along rows when the last axis
// is short.
void build_cuda(Pointwise& p, const IterSpace& space, int lanes, int threads) {
  KernelBuilder& k = p.k;
  SymbolTable& s = k.symbols();
  for (const Dim& d : space.extents) p.axes.push_back(IterAxis{p.body.dim(d), k.index(0), false, 1});
  const size_t n = p.axes.size();
  if (n == 0) {
    k.if_(k.eq(k.thread(), k.index(0)), [&] { p.emit_at(k.index(0), 1, {}); });
    return;
  }
  // Vectors of the last axis are numbered over all axes: v = ((i0 * e1 + i1) * ..) * vectors + j.
  const Dim inner = p.axes.back().extent;
  const Dim vectors = s.ceildiv(inner, lanes);
  const Dim total = s.mul(product(s, p.axes, 0, n - 1), vectors);
  k.grid(s.ceildiv(total, threads));
  const Expr id = k.let("id", k.add(k.mul(k.task(0), k.index(threads)), k.thread()));
  k.if_(k.lt(id, k.dim(total)), [&] {
    Expr j = id;
    if (n > 1) {
      j = k.let("j", k.floormod(id, k.dim(vectors)));
      unpack_task(k, k.let("outer", k.floordiv(id, k.dim(vectors))), p.axes, 0, n - 1);
    }
    const Expr at = k.let("at", k.mul(j, k.index(lanes)));
    if (lanes == 1) {
      p.emit_at(at, 1, {});
    } else if (s.divisible(inner, lanes) == Ternary::kYes) {
      p.emit_at(at, lanes, {});
    } else {
      const Expr left = k.let("left", k.sub(k.dim(inner), at));
      k.if_(
          k.le(k.index(lanes), left), [&] { p.emit_at(at, lanes, {}); },
          [&] { k.for_("e", k.index(0), left, 1, [&](Expr e) { p.emit_at(k.add(at, e), 1, {}); }); });
    }
  });
}

}  // namespace

Result<LoweredGroup> lower_pointwise(const Graph& g, const Target& target, const LowerOptions& options) {
  const IterSpace space = find_iter_space(g, target, g.type(g.outputs()[0]).shape, [](GroupBody& b) { emit_outputs(b); });
  int lanes = target.lanes(widest_element(g));
  if (!space.extents.empty() && space.extents.back().is_const())
    while (lanes > 1 && lanes > space.extents.back().constant()) lanes /= 2;
  LoweredGroup out;
  if (target.is_cuda()) {
    if (std::optional<LoweredKernel> move = lower_move_cuda(g, target, space, options)) {
      out.skeleton = "move";
      out.kernels.push_back(std::move(*move));
      return out;
    }
  }
  out.skeleton = "pointwise";
  for (;;) {
    Pointwise p(g, target, target.is_cuda() ? 256 : 1);
    if (target.is_cuda())
      build_cuda(p, space, lanes, 256);
    else
      build_cpu(p, space, lanes);
    if (p.body.vector_failed() && lanes > 1) {
      lanes = 1;
      continue;
    }
    out.in_place = in_place_pairs(p.body);
    for (const auto& [input, output] : out.in_place)
      p.k.kernel().in_place.push_back({input, static_cast<uint32_t>(g.inputs().size()) + output});
    out.kernels.push_back(p.args.finish(options));
    return out;
  }
}

}  // namespace nnc

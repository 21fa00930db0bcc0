// Folds on CUDA. Rows: a block a row, or for short rows a warp each; a thread walks vectors a block apart, states meet by shuffles (always
// lower lane with higher, then one broadcast, so that every thread has the same bits), then warps meet in shared memory in their order.
// Columns: a thread a vector of neighbouring columns.

#include <algorithm>

#include "codegen/fold.h"
#include "ir/support/mutant.h"

namespace nnc {

namespace {

constexpr int kWarp = 32;
constexpr int kColumnThreads = 128;

class CudaFold : public FoldCommon {
 public:
  // `rows`: rows of a block; each is walked by threads / rows threads.
  CudaFold(const Graph& g, const Target& t, const FoldFacts& f, int lanes, int threads, int rows)
      : FoldCommon(g, t, f, lanes, threads), threads_(threads), rows_(rows) {}
  bool is_row() const { return row_; }
  Dim length() { return product(kept_.size(), axes_.size()); }
  Dim inner() { return axes_.empty() ? Dim(1) : axes_.back().extent; }
  Dim inner_kept() { return kept_.empty() ? Dim(1) : axes_[kept_.size() - 1].extent; }
  void build() {
    if (row_)
      build_rows();
    else
      build_columns();
  }

 private:
  int walkers() const { return threads_ / rows_; }
  // A kept position from its number.
  std::vector<Expr> unpack_kept(Expr number, size_t count) {
    std::vector<Expr> bases(axes_.size(), k.index(0));
    Expr rest = number;
    for (size_t a = count; a-- > 0;) {
      if (a == 0) {
        bases[a] = rest;
      } else {
        bases[a] = k.let("i", k.floormod(rest, k.dim(axes_[a].extent)));
        rest = k.let("t", k.floordiv(rest, k.dim(axes_[a].extent)));
      }
    }
    return bases;
  }

  void walk(const std::vector<Expr>& row, const std::function<void()>& visit) {
    const size_t last = axes_.size() - 1;
    std::vector<Expr> bases = row;
    std::function<void(size_t)> nest = [&](size_t a) {
      if (a < last) {
        k.for_("r", k.index(0), k.dim(axes_[a].extent), 1, [&](Expr v) {
          bases[a] = v;
          nest(a + 1);
        });
        return;
      }
      k.for_("v", walker_, k.dim(k.symbols().floordiv(axes_[last].extent, lanes_)), walkers(), [&](Expr v) {
        bases[last] = k.mul(v, k.index(lanes_));
        at(bases, lanes_, last);
        body.enter();
        visit();
        body.leave();
      });
    };
    nest(kept_.size());
  }

  Expr from_lane(WarpOp op, Expr v, int by) {
    if (k.type(v).kind != KType::kMask) return k.let("w", k.warp(op, v, k.index(by)));
    return k.convert(k.let("w", k.warp(op, k.convert(v, DType::kU8), k.index(by))), DType::kBool);
  }
  // How a state lies in shared memory.
  static DType stored(const KType& t) { return t.kind == KType::kMask ? DType::kU8 : t.kind == KType::kIndex ? DType::kI64 : t.elem; }
  Expr restored(Expr v, const KType& t) {
    return t.kind == KType::kMask ? k.convert(v, DType::kBool) : t.kind == KType::kIndex ? k.to_index(v) : v;
  }

  std::vector<Expr> across_threads(NodeId n, std::vector<Expr> state) {
    for (int by = kWarp / 2; by >= (mutant("warp_leaves_its_neighbour") ? 2 : 1); by /= 2) {
      std::vector<Expr> other;
      for (Expr e : state) other.push_back(from_lane(WarpOp::kShflDown, e, by));
      state = combine(n, state, other, 1);
    }
    const int warps = walkers() / kWarp;
    if (warps <= 1) {
      for (Expr& e : state) e = from_lane(WarpOp::kShflIdx, e, 0);
      return state;
    }
    std::vector<BufId> shared;
    for (Expr e : state) shared.push_back(k.alloc("part", stored(k.type(e)), warps, Space::kShared));
    k.if_(k.eq(k.lane(), k.index(0)), [&] {
      for (size_t s = 0; s < state.size(); ++s)
        k.store(shared[s], k.floordiv(k.thread(), k.index(kWarp)), k.convert(state[s], stored(k.type(state[s]))));
    });
    k.barrier();
    std::vector<Expr> all;
    for (int w = 0; w < warps; ++w) {
      std::vector<Expr> part;
      for (size_t s = 0; s < state.size(); ++s) part.push_back(restored(k.load(shared[s], k.index(w), 1), k.type(state[s])));
      all = w == 0 ? part : combine(n, all, part, 1);
    }
    return all;
  }

  void fold_row(NodeId n, const std::vector<Expr>& row) {
    const std::vector<VarId> states = init(n, lanes_);
    walk(row, [&] { step(n, states, body.emit(g_.node(n).operands[0], full_coords()), reduced_index(row, lanes_), {}, lanes_); });
    std::vector<Expr> state;
    for (VarId v : states) state.push_back(k.var(v));
    if (lanes_ > 1) state = across_lanes(n, state, lanes_);
    finish_fold(n, across_threads(n, state), 1);
  }

  // Rows beyond the last are walked as the last one and not stored: all lanes take part in every shuffle.
  void build_rows() {
    const Dim count = product(0, kept_.size());
    k.grid(k.symbols().ceildiv(count, rows_));
    walker_ = rows_ == 1 ? k.thread() : k.let("walker", k.floormod(k.thread(), k.index(walkers())));
    Expr number = k.task(0), exists;
    if (rows_ > 1) {
      number = k.let("row", k.add(k.mul(k.task(0), k.index(rows_)), k.floordiv(k.thread(), k.index(walkers()))));
      if (k.symbols().divisible(count, rows_) != Ternary::kYes) {
        exists = k.let("exists", k.lt(number, k.dim(count)));
        number = k.let("row", k.min(number, k.sub(k.dim(count), k.index(1))));
      }
    }
    const std::vector<Expr> bases = unpack_kept(number, kept_.size());
    body.enter();
    for (NodeId n : f_.folds) fold_row(n, bases);
    auto store = [&] {
      std::vector<uint32_t> wide, narrow;
      for (uint32_t o = 0; o < g_.outputs().size(); ++o) (full(g_.outputs()[o]) && !reduced_.empty() ? wide : narrow).push_back(o);
      if (!wide.empty()) walk(bases, [&] { store_outputs(wide); });
      if (narrow.empty()) return;
      k.if_(k.eq(walker_, k.index(0)), [&] {
        at(bases, 1, axes_.size());
        body.enter();
        store_outputs(narrow);
        body.leave();
      });
    };
    if (exists.valid())
      k.if_(exists, store);
    else
      store();
    body.leave();
    unbind();
  }
  void store_outputs(const std::vector<uint32_t>& outputs) {
    std::vector<Expr> values;
    std::vector<Coords> coords;
    for (uint32_t o : outputs) {
      coords.push_back(output_coords(g_.outputs()[o]));
      values.push_back(body.emit(g_.outputs()[o], coords.back()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) body.store_output(outputs[i], coords[i], values[i]);
  }

  void build_columns() {
    if (kept_.empty()) {
      k.if_(k.eq(k.add(k.mul(k.task(0), k.index(threads_)), k.thread()), k.index(0)),
            [&] { column_block(std::vector<Expr>(axes_.size(), k.index(0)), 1, {}); });
      return;
    }
    const size_t last = kept_.size() - 1;
    const Dim vectors = k.symbols().floordiv(inner_kept(), lanes_), outer = product(0, last);
    const Dim total = k.symbols().mul(outer, vectors);
    k.grid(k.symbols().ceildiv(total, threads_));
    const Expr id = k.let("id", k.add(k.mul(k.task(0), k.index(threads_)), k.thread()));
    auto one = [&] {
      std::vector<Expr> bases = unpack_kept(outer.is_const(1) ? k.index(0) : k.let("outer", k.floordiv(id, k.dim(vectors))), last);
      bases[last] = k.let("at", k.mul(outer.is_const(1) ? id : k.floormod(id, k.dim(vectors)), k.index(lanes_)));
      column_block(bases, lanes_, {});
    };
    if (k.symbols().divisible(total, threads_) == Ternary::kYes)
      one();
    else
      k.if_(k.lt(id, k.dim(total)), one);
  }

  const int threads_, rows_;
  Expr walker_;  // number of this thread among those of its row
};

struct FoldShape {
  int lanes, threads = kColumnThreads, rows = 1;
};

// Threads by the typical length of a row, vectors where every row begins at one.
FoldShape choose(const Graph& g, const Target& t, const FoldFacts& f, int most_lanes) {
  CudaFold probe(g, t, f, 1, 1, 1);
  SymbolTable& s = probe.k.symbols();
  FoldShape x{most_lanes};
  const Dim run = probe.is_row() ? probe.inner() : probe.inner_kept();
  while (x.lanes > 1 && s.divisible(run, x.lanes) != Ternary::kYes) x.lanes /= 2;
  if (!probe.is_row()) return x;
  const int64_t steps = std::max<int64_t>(1, s.typical(probe.inner()) / x.lanes);
  if (steps <= 2 * kWarp) {
    x.rows = x.threads / kWarp;
    return x;
  }
  x.threads = static_cast<int>(std::clamp<int64_t>((steps + kWarp - 1) / kWarp * kWarp, 64, 256));
  return x;
}

}  // namespace

Result<LoweredGroup> lower_fold_cuda(const Graph& g, const Target& target, const FoldFacts& facts, const LowerOptions& options) {
  LoweredGroup out;
  bool any_reduced = false;
  for (bool r : facts.reduced) any_reduced = any_reduced || r;
  out.skeleton = any_reduced ? "fold" : "pointwise";
  int lanes = target.lanes(widest_element(g));
  if (g.node(facts.folds[0]).kind == OpKind::kArgReduce) lanes = target.lanes(8);
  for (;;) {
    const FoldShape x = choose(g, target, facts, lanes);
    CudaFold b(g, target, facts, x.lanes, x.threads, x.rows);
    b.build();
    if (b.body.vector_failed() && lanes > 1) {
      lanes = 1;
      continue;
    }
    out.kernels.push_back(b.finish(options));
    return out;
  }
}

}  // namespace nnc

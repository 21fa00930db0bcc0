// Row and column folds: softmax, norms, reductions and the elementwise work around them. All folds of a group reduce the same axes of one
// shape. Rows: vectors along the reduced axis, four accumulators, a fixed tree at the end; one pass per fold, then one for the outputs; a
// value that is costly and needed again is kept in the output's row meanwhile. Columns: vectors along the last kept axis, the reduced axes
// as loops.

#include <algorithm>
#include <set>

#include "codegen/fold.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

class FoldBuilder : public FoldCommon {
 public:
  using FoldCommon::FoldCommon;
  void build() {
    if (row_)
      build_rows();
    else
      build_columns();
  }

 private:
  // ---- rows
  // Walks a row: `visit(lanes, mask, accumulator)` for each vector of the last reduced axis.
  void walk_row(const std::vector<Expr>& row, int unroll, const std::function<void(int lanes, Expr mask, int which)>& visit) {
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
      const Dim extent = axes_[last].extent;
      auto visit_at = [&](Expr base, int lanes, Expr mask, int which) {
        bases[last] = base;
        at(bases, lanes, last);
        body.enter();
        visit(lanes, mask, which);
        body.leave();
      };
      if (lanes_ == 1) {
        k.for_("j", k.index(0), k.dim(extent), 1, [&](Expr j) { visit_at(j, 1, {}, 0); });
        return;
      }
      const int64_t wide = int64_t(lanes_) * unroll;
      const Dim blocks = sym().floordiv(extent, wide);
      if (!blocks.is_const(0))
        k.for_("v", k.index(0), k.dim(blocks), 1, [&](Expr v) {
          for (int u = 0; u < unroll; ++u) visit_at(k.add(k.mul(v, k.index(wide)), k.index(int64_t(u) * lanes_)), lanes_, {}, u);
        });
      const Dim done = sym().mul(blocks, wide);
      if (sym().divisible(extent, wide) == Ternary::kYes) return;
      const Dim vectors = sym().floordiv(sym().sub(extent, done), lanes_);
      if (unroll > 1 && !vectors.is_const(0))
        k.for_("v", k.index(0), k.dim(vectors), 1, [&](Expr v) { visit_at(k.add(k.dim(done), k.mul(v, k.index(lanes_))), lanes_, {}, 0); });
      if (sym().divisible(extent, lanes_) == Ternary::kYes) return;
      const Dim tail = sym().add(done, sym().mul(vectors, lanes_));
      const Expr left = k.let("left", k.dim(sym().sub(extent, tail)));
      k.if_(k.lt(k.index(0), left), [&] { visit_at(k.dim(tail), lanes_, k.lt(k.iota(lanes_), k.splat(left, lanes_)), 0); });
    };
    nest(kept_.size());
  }

  void rows_fold(NodeId n, const std::vector<Expr>& row, int unroll) {
    const ValueId operand = g_.node(n).operands[0];
    const bool stash = operand == stash_;
    std::vector<std::vector<VarId>> states;
    for (int u = 0; u < (lanes_ == 1 ? 1 : unroll); ++u) states.push_back(init(n, lanes_));
    walk_row(row, unroll, [&](int lanes, Expr mask, int which) {
      const Coords c = full_coords();
      const Expr v = body.emit(operand, c, mask);
      if (stash) body.store_output(stash_output_, output_coords(g_.outputs()[stash_output_]), v, mask);
      step(n, states[static_cast<size_t>(which)], v, reduced_index(row, lanes), mask, lanes);
    });
    std::vector<Expr> state;
    for (VarId v : states[0]) state.push_back(k.var(v));
    for (size_t half = states.size(); half > 1; half = (half + 1) / 2)
      for (size_t u = 0; u + (half + 1) / 2 < half; ++u) {
        std::vector<Expr> a, b;
        for (size_t s = 0; s < states[0].size(); ++s) {
          a.push_back(k.var(states[u][s]));
          b.push_back(k.var(states[u + (half + 1) / 2][s]));
        }
        const std::vector<Expr> joined = combine(n, a, b, lanes_);
        for (size_t s = 0; s < joined.size(); ++s) k.set(states[u][s], joined[s]);
      }
    if (lanes_ > 1) state = across_lanes(n, state, lanes_);
    finish_fold(n, state, 1);
    if (stash) {
      // Later passes read the kept value.
      stashed_ = true;
      const uint32_t o = stash_output_;
      body.bind(operand, [this, o](const Coords&, Expr mask) {
        const Type& t = g_.type(g_.outputs()[o]);
        return body.load_flat(body.declare_output(o), t.dtype, body.flatten(output_coords(g_.outputs()[o]), t.shape), mask);
      });
    }
  }

  // A fold's operand that is costly (transcendental) and used again, when an f32 output of full shape can keep it.
  void choose_stash() {
    static const std::set<OpKind> costly = {OpKind::kExp,  OpKind::kLog,  OpKind::kTanh, OpKind::kErf, OpKind::kSigmoid,
                                            OpKind::kGelu, OpKind::kSilu, OpKind::kPow,  OpKind::kSin, OpKind::kCos};
    for (uint32_t o = 0; o < g_.outputs().size(); ++o) {
      if (!full(g_.outputs()[o]) || g_.type(g_.outputs()[o]).dtype != DType::kF32) continue;
      for (NodeId n : f_.folds) {
        const ValueId v = g_.node(n).operands[0];
        const Node* def = g_.value(v).def.valid() ? &g_.node(g_.value(v).def) : nullptr;
        if (!def || !costly.count(def->kind) || g_.value(v).uses.size() < 2 || g_.type(v).dtype != DType::kF32) continue;
        stash_ = v;
        stash_output_ = o;
        return;
      }
    }
  }

  void build_rows() {
    choose_stash();
    if (stash_.valid()) k.kernel().buffers[body.declare_output(stash_output_)].access = Access::kReadWrite;
    const Dim rows = product(0, kept_.size());
    const Dim length = product(kept_.size(), axes_.size());
    const int64_t per_task = std::clamp<int64_t>(8192 / std::max<int64_t>(1, sym().typical(length)), 1, 64);
    k.grid(sym().ceildiv(rows, per_task));
    const int unroll = sym().typical(axes_.back().extent) >= 4 * lanes_ ? 4 : 1;
    const Expr first = k.let("row0", k.mul(k.task(0), k.index(per_task)));
    k.for_("r", k.index(0), k.let("rows", k.min(k.index(per_task), k.sub(k.dim(rows), first))), 1, [&](Expr r) {
      std::vector<Expr> bases(axes_.size(), k.index(0));
      Expr rest = k.let("row", k.add(first, r));
      for (size_t a = kept_.size(); a-- > 0;) {
        if (a == 0) {
          bases[a] = rest;
        } else {
          bases[a] = k.let("i", k.floormod(rest, k.dim(axes_[a].extent)));
          rest = k.let("t", k.floordiv(rest, k.dim(axes_[a].extent)));
        }
      }
      body.enter();
      for (NodeId n : f_.folds) rows_fold(n, bases, unroll);
      emit_row_outputs(bases, unroll);
      body.leave();
      unbind();
    });
  }

  void emit_row_outputs(const std::vector<Expr>& bases, int unroll) {
    std::vector<uint32_t> wide, narrow;
    for (uint32_t o = 0; o < g_.outputs().size(); ++o) (full(g_.outputs()[o]) ? wide : narrow).push_back(o);
    if (!wide.empty())
      walk_row(bases, unroll, [&](int, Expr mask, int) {
        std::vector<Expr> values;
        std::vector<Coords> coords;
        for (uint32_t o : wide) {
          coords.push_back(output_coords(g_.outputs()[o]));
          values.push_back(body.emit(g_.outputs()[o], value_coords(g_.outputs()[o], coords.back()), mask));
        }
        for (size_t i = 0; i < wide.size(); ++i) body.store_output(wide[i], coords[i], values[i], mask);
      });
    at(bases, 1, axes_.size());
    body.enter();
    for (uint32_t o : narrow) {
      const Coords c = output_coords(g_.outputs()[o]);
      body.store_output(o, c, body.emit(g_.outputs()[o], c));
    }
    body.leave();
  }
  Coords value_coords(ValueId, const Coords& c) { return c; }

  void build_columns() {
    if (kept_.empty()) {
      column_block(std::vector<Expr>(axes_.size(), k.index(0)), 1, {});
      return;
    }
    const size_t last = kept_.size() - 1;
    const Dim inner = axes_[last].extent;
    const int64_t chunk = 4 * lanes_;
    k.grid(sym().ceildiv(inner, chunk), product(0, last));
    std::vector<Expr> bases(axes_.size(), k.index(0));
    Expr rest = k.task(1);
    for (size_t a = last; a-- > 0;) {
      if (a == 0) {
        bases[a] = rest;
      } else {
        bases[a] = k.let("i", k.floormod(rest, k.dim(axes_[a].extent)));
        rest = k.let("t", k.floordiv(rest, k.dim(axes_[a].extent)));
      }
    }
    const Expr from = k.let("from", k.mul(k.task(0), k.index(chunk)));
    const Expr count = k.let("count", k.min(k.index(chunk), k.sub(k.dim(inner), from)));
    k.for_("v", k.index(0), k.floordiv(count, k.index(lanes_)), 1, [&](Expr v) {
      bases[last] = k.add(from, k.mul(v, k.index(lanes_)));
      column_block(bases, lanes_, {});
    });
    if (lanes_ == 1 || sym().divisible(inner, lanes_) == Ternary::kYes) return;
    const Expr whole = k.let("whole", k.mul(k.floordiv(count, k.index(lanes_)), k.index(lanes_)));
    const Expr left = k.let("left", k.sub(count, whole));
    k.if_(k.lt(k.index(0), left), [&] {
      bases[last] = k.add(from, whole);
      column_block(bases, lanes_, k.lt(k.iota(lanes_), k.splat(left, lanes_)));
    });
  }

  ValueId stash_;
  uint32_t stash_output_ = 0;
  bool stashed_ = false;
};

}  // namespace

Result<LoweredGroup> lower_fold(const Graph& g, const Target& target, const LowerOptions& options) {
  NNC_ASSIGN(const FoldFacts facts, fold_facts(g));
  LoweredGroup out;
  bool any_reduced = false;
  for (bool r : facts.reduced) any_reduced = any_reduced || r;
  int lanes = target.lanes(widest_element(g));
  for (const Node* fold : {&g.node(facts.folds[0])})
    if (fold->kind == OpKind::kArgReduce) lanes = target.lanes(8);
  if (target.is_cuda()) return lower_fold_cuda(g, target, facts, options);
  for (;;) {
    FoldBuilder b(g, target, facts, lanes);
    b.build();
    if (b.body.vector_failed() && lanes > 1) {
      lanes = 1;
      continue;
    }
    out.skeleton = any_reduced ? "fold" : "pointwise";
    out.kernels.push_back(b.finish(options));
    return out;
  }
}

}  // namespace nnc

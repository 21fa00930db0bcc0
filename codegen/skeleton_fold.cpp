// Row and column folds: softmax, norms, reductions and the elementwise work around them. All folds of a group reduce the same axes of one shape. Rows: vectors along the reduced axis, four accumulators, a fixed tree at
// the end; one pass per fold, then one for the outputs; a value that is costly and needed again is kept in the output's row meanwhile. Columns: vectors along the last kept axis, the
// reduced axes as loops.

#include <algorithm>
#include <set>

#include "codegen/iter_space.h"
#include "codegen/skeletons.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

std::vector<int64_t> fold_axes(const Node& n) {
  if (n.kind == OpKind::kArgReduce) return {n.i("axis")};
  return n.ints("axes");
}

// What the group's folds have in common.
struct FoldFacts {
  Shape shape;                  // of the folds' operands
  std::vector<bool> reduced;    // per axis of `shape`
  std::vector<NodeId> folds;    // in order
};

Result<FoldFacts> fold_facts(const Graph& g) {
  FoldFacts f;
  for (NodeId n : g.order()) {
    const Node& node = g.node(n);
    if (node.def().lowering != Lowering::kFold) continue;
    const Shape& s = g.type(node.operands[0]).shape;
    std::vector<bool> reduced(s.size(), false);
    for (int64_t a : fold_axes(node)) reduced[static_cast<size_t>(a)] = true;
    for (size_t i = 0; i < s.size(); ++i)
      if (s[i].is_const(1)) reduced[i] = false;
    if (f.folds.empty()) {
      f.shape = s;
      f.reduced = reduced;
    } else if (f.shape != s || f.reduced != reduced) {
      return Error(Code::kInternal, "a group holds folds of different shapes or axes");
    }
    f.folds.push_back(n);
  }
  return f;
}

class FoldBuilder {
 public:
  FoldBuilder(const Graph& g, const Target& t, const FoldFacts& f, int lanes)
      : g_(g), f_(f), lanes_(lanes), k(group_name(g)), body(k, g, t), args(k, body) {
    args.all();
    for (size_t i = 0; i < f.shape.size(); ++i)
      if (!f.shape[i].is_const(1)) (f.reduced[i] ? reduced_ : kept_).push_back(i);
    row_ = !reduced_.empty() && (kept_.empty() || reduced_.back() > kept_.back());
    for (size_t i : kept_) add_axis(i);
    for (size_t i : reduced_) add_axis(i);
  }

  void build() {
    if (row_)
      build_rows();
    else
      build_columns();
  }
  LoweredKernel finish(const LowerOptions& o) { return args.finish(o); }
  bool stashed() const { return stashed_; }

  const Graph& g_;
  const FoldFacts& f_;
  int lanes_;
  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;

 private:
  void add_axis(size_t i) { axes_.push_back(IterAxis{body.dim(f_.shape[i]), k.index(0), false, 1}); }
  SymbolTable& sym() { return k.symbols(); }
  Dim product(size_t begin, size_t end) {
    Dim p = 1;
    for (size_t a = begin; a < end; ++a) p = sym().mul(p, axes_[a].extent);
    return p;
  }

  // Coordinates of the folds' operand from the iteration axes.
  Coords full_coords() {
    Coords c(f_.shape.size());
    uint32_t a = 0;
    for (size_t i : kept_) c[i] = body.axis(a++);
    for (size_t i : reduced_) c[i] = body.axis(a++);
    return c;
  }
  bool full(ValueId v) const {
    // Outputs are S-shaped or reduced-shaped; with nothing else to tell them apart, by element count.
    Dim count = 1, whole = 1;
    SymbolTable& s = const_cast<Graph&>(g_).symbols();
    for (const Dim& d : g_.type(v).shape) count = s.mul(count, d);
    for (const Dim& d : f_.shape) whole = s.mul(whole, d);
    return count == whole;
  }
  Coords output_coords(ValueId v) {
    const Coords all = full_coords();
    if (full(v)) {
      if (g_.type(v).shape == f_.shape) return all;
      return body.reshaped(all, f_.shape, g_.type(v).shape);
    }
    Coord flat;
    Dim stride = 1;
    for (size_t a = kept_.size(); a-- > 0;) {
      flat = body.add(flat, body.scale(body.axis(static_cast<uint32_t>(a)), stride));
      stride = sym().mul(stride, axes_[a].extent);
    }
    return Coords::of_flat(body, flat, g_.type(v).shape);
  }

  void at(const std::vector<Expr>& bases, int lanes, size_t lane_axis) {
    for (size_t a = 0; a < axes_.size(); ++a) {
      axes_[a].base = bases[a];
      axes_[a].lane = lanes > 1 && a == lane_axis;
      axes_[a].align = lanes > 1 && a == lane_axis ? lanes : 1;
    }
    body.set_axes(axes_, lanes);
  }

  BodyContext context(NodeId n, BodyMode mode, int lanes) {
    BodyContext c{.s = body, .graph = g_, .node = g_.node(n)};
    c.mode = mode;
    c.lanes = lanes;
    return c;
  }

  // ---- states
  std::vector<VarId> init(NodeId n, int lanes) {
    BodyContext c = context(n, BodyMode::kFoldInit, lanes);
    g_.node(n).def().body(c);
    std::vector<VarId> vars;
    for (Expr e : c.state) vars.push_back(k.mut("s", k.splat(e, lanes)));
    return vars;
  }
  void step(NodeId n, const std::vector<VarId>& state, Expr value, Expr index, Expr mask, int lanes) {
    BodyContext c = context(n, BodyMode::kFoldStep, lanes);
    for (VarId v : state) c.state.push_back(k.var(v));
    c.args = {k.splat(value, lanes)};
    c.index = index;
    k.note(std::string(g_.node(n).def().name), g_.node(n).loc.v);
    g_.node(n).def().body(c);
    std::vector<Expr> next;
    for (size_t s = 0; s < state.size(); ++s) next.push_back(k.let("n", mask.valid() ? k.select(mask, k.splat(c.state[s], lanes), k.var(state[s])) : k.splat(c.state[s], lanes)));
    for (size_t s = 0; s < state.size(); ++s) k.set(state[s], next[s]);
  }
  std::vector<Expr> combine(NodeId n, const std::vector<Expr>& a, const std::vector<Expr>& b, int lanes) {
    BodyContext c = context(n, BodyMode::kFoldCombine, lanes);
    c.state = a;
    c.other = b;
    g_.node(n).def().body(c);
    for (Expr& e : c.state) e = k.let("c", e);
    return c.state;
  }
  std::vector<Expr> across_lanes(NodeId n, std::vector<Expr> state, int lanes) {
    for (int w = lanes / 2; w >= 1; w /= 2) {
      std::vector<uint8_t> low, high;
      for (int i = 0; i < w; ++i) {
        low.push_back(static_cast<uint8_t>(i));
        high.push_back(static_cast<uint8_t>(i + w));
      }
      std::vector<Expr> a, b;
      for (Expr e : state) {
        a.push_back(w == 1 ? k.extract(e, 0) : k.shuffle(e, e, low));
        b.push_back(w == 1 ? k.extract(e, 1) : k.shuffle(e, e, high));
      }
      state = combine(n, a, b, w);
    }
    return state;
  }
  // The fold's result, known from now on under its value.
  void finish_fold(NodeId n, const std::vector<Expr>& state, int lanes) {
    BodyContext c = context(n, BodyMode::kFoldFinish, lanes);
    c.state = state;
    c.count = k.dim(product(kept_.size(), axes_.size()));
    g_.node(n).def().body(c);
    const ValueId v = g_.node(n).results[0];
    const Expr e = k.let("fold", body.round_value(c.result, g_.type(v).dtype));
    body.bind(v, [e](const Coords&, Expr) { return e; });
  }

  // ---- rows
  Expr reduced_index(const std::vector<Expr>& bases, int lanes) {
    Coord flat;
    Dim stride = 1;
    for (size_t a = axes_.size(); a-- > kept_.size();) {
      flat = body.add(flat, body.scale(body.axis(static_cast<uint32_t>(a)), stride));
      stride = sym().mul(stride, axes_[a].extent);
    }
    (void)bases;
    (void)lanes;
    return body.vector(flat);
  }

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
    static const std::set<OpKind> costly = {OpKind::kExp, OpKind::kLog, OpKind::kTanh, OpKind::kErf, OpKind::kSigmoid, OpKind::kGelu, OpKind::kSilu, OpKind::kPow, OpKind::kSin, OpKind::kCos};
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

  void unbind() {
    for (NodeId n : f_.folds) {
      body.unbind(g_.node(n).results[0]);
      body.unbind(g_.node(n).operands[0]);
    }
  }

  // ---- columns: lanes along the last kept axis (or none), the reduced axes as loops.
  void loop_reduced(std::vector<Expr>& bases, size_t a, const std::function<void()>& inside) {
    if (a == axes_.size()) {
      inside();
      return;
    }
    k.for_("r", k.index(0), k.dim(axes_[a].extent), 1, [&](Expr v) {
      bases[a] = v;
      loop_reduced(bases, a + 1, inside);
    });
  }

  void column_block(std::vector<Expr> bases, int lanes, Expr mask) {
    const size_t lane_axis = kept_.empty() ? axes_.size() : kept_.size() - 1;
    body.enter();
    for (NodeId n : f_.folds) {
      const std::vector<VarId> state = init(n, lanes);
      loop_reduced(bases, kept_.size(), [&] {
        at(bases, lanes, lane_axis);
        body.enter();
        step(n, state, body.emit(g_.node(n).operands[0], full_coords(), mask), reduced_index(bases, lanes), {}, lanes);
        body.leave();
      });
      std::vector<Expr> done;
      for (VarId v : state) done.push_back(k.var(v));
      finish_fold(n, done, lanes);
    }
    bool any_full = false;
    for (ValueId v : g_.outputs()) any_full = any_full || (full(v) && !reduced_.empty());
    if (any_full)
      loop_reduced(bases, kept_.size(), [&] {
        at(bases, lanes, lane_axis);
        body.enter();
        for (uint32_t o = 0; o < g_.outputs().size(); ++o) {
          if (!full(g_.outputs()[o])) continue;
          const Coords c = output_coords(g_.outputs()[o]);
          body.store_output(o, c, body.emit(g_.outputs()[o], c, mask), mask);
        }
        body.leave();
      });
    at(bases, lanes, lane_axis);
    body.enter();
    for (uint32_t o = 0; o < g_.outputs().size(); ++o) {
      if (full(g_.outputs()[o]) && !reduced_.empty()) continue;
      const Coords c = output_coords(g_.outputs()[o]);
      body.store_output(o, c, body.emit(g_.outputs()[o], c, mask), mask);
    }
    body.leave();
    body.leave();
    unbind();
  }

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

  std::vector<size_t> kept_, reduced_;
  bool row_ = false;
  std::vector<IterAxis> axes_;
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

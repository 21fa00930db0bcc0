#pragma once
// What row and column folds have in common on every target: the axes of a group's folds, coordinates over them, and the states of a fold
// from first element to result. Internal to the skeletons.

#include <functional>
#include <vector>

#include "codegen/iter_space.h"
#include "codegen/skeletons.h"

namespace nnc {

// What the group's folds have in common.
struct FoldFacts {
  Shape shape;                // of the folds' operands
  std::vector<bool> reduced;  // per axis of `shape`
  std::vector<NodeId> folds;  // in order
};

Result<FoldFacts> fold_facts(const Graph& g);

// Elements that one accumulator takes in a row: the error of a long sum then grows with the part's length and the number of parts instead
// of with their product.
inline constexpr int64_t kFoldPart = 32;

class FoldCommon {
 public:
  FoldCommon(const Graph& g, const Target& t, const FoldFacts& f, int lanes, int threads = 1)
      : g_(g), f_(f), lanes_(lanes), k(group_name(g), threads), body(k, g, t), args(k, body) {
    args.all();
    for (size_t i = 0; i < f.shape.size(); ++i)
      if (!f.shape[i].is_const(1)) (f.reduced[i] ? reduced_ : kept_).push_back(i);
    row_ = !reduced_.empty() && (kept_.empty() || reduced_.back() > kept_.back());
    for (size_t i : kept_) add_axis(i);
    for (size_t i : reduced_) add_axis(i);
  }

  const Graph& g_;
  const FoldFacts& f_;
  int lanes_;
  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;
  LoweredKernel finish(const LowerOptions& o) { return args.finish(o); }

 protected:
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
    for (size_t s = 0; s < state.size(); ++s)
      next.push_back(k.let("n", mask.valid() ? k.select(mask, k.splat(c.state[s], lanes), k.var(state[s])) : k.splat(c.state[s], lanes)));
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

  // The fold of reduced axes [a, end) into `state`. Long sums are made of parts (see kFoldPart): those of the inner axes, and runs of a
  // long axis.
  void fold_axes_from(std::vector<Expr>& bases, size_t a, const std::vector<VarId>& state, NodeId n, int lanes,
                      const std::function<void(const std::vector<VarId>&)>& one) {
    if (a == axes_.size()) return one(state);
    const Dim extent = axes_[a].extent;
    const auto part = [&](const std::vector<VarId>& into, const std::function<void(const std::vector<VarId>&)>& fill) {
      const std::vector<VarId> own = init(n, lanes);
      fill(own);
      std::vector<Expr> before, more;
      for (const VarId v : into) before.push_back(k.var(v));
      for (const VarId v : own) more.push_back(k.var(v));
      const std::vector<Expr> joined = combine(n, before, more, lanes);
      for (size_t s = 0; s < into.size(); ++s) k.set(into[s], joined[s]);
    };
    const bool nested = sym().typical(product(a + 1, axes_.size())) >= kFoldPart / 4;
    const auto along = [&](Expr begin, Expr end, const std::vector<VarId>& into) {
      k.for_("r", begin, end, 1, [&](Expr v) {
        bases[a] = v;
        if (nested)
          part(into, [&](const std::vector<VarId>& own) { fold_axes_from(bases, a + 1, own, n, lanes, one); });
        else
          fold_axes_from(bases, a + 1, into, n, lanes, one);
      });
    };
    if (sym().at_most(extent, kFoldPart) == Ternary::kYes) return along(k.index(0), k.dim(extent), state);
    k.for_("q", k.index(0), k.dim(extent), kFoldPart, [&](Expr q) {
      const Expr end = k.let("qe", k.min(k.add(q, k.index(kFoldPart)), k.dim(extent)));
      part(state, [&](const std::vector<VarId>& own) { along(q, end, own); });
    });
  }

  void column_block(std::vector<Expr> bases, int lanes, Expr mask) {
    const size_t lane_axis = kept_.empty() ? axes_.size() : kept_.size() - 1;
    body.enter();
    for (NodeId n : f_.folds) {
      const std::vector<VarId> state = init(n, lanes);
      fold_axes_from(bases, kept_.size(), state, n, lanes, [&](const std::vector<VarId>& into) {
        at(bases, lanes, lane_axis);
        body.enter();
        step(n, into, body.emit(g_.node(n).operands[0], full_coords(), mask), reduced_index(bases, lanes), {}, lanes);
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

  std::vector<size_t> kept_, reduced_;  // axes of the folds' operand longer than 1
  bool row_ = false;                    // the last axis is reduced
  std::vector<IterAxis> axes_;          // kept ones, then reduced ones
};

Result<LoweredGroup> lower_fold_cuda(const Graph& g, const Target& target, const FoldFacts& facts, const LowerOptions& options);

}  // namespace nnc

// Heroes and what follows them: elementwise nodes that read the product at its own coordinate, views that are bijections and keep vectors
// whole.

#include <algorithm>
#include <map>

#include "ir/support/mutant.h"
#include "passes/fuse/fusion.h"
#include "passes/layout.h"

namespace nnc {

namespace {

constexpr int64_t kVector = 16;  // columns of a panel: what one store of the skeleton may hold

UnitClass hero_class(const Node& n) {
  switch (n.kind) {
    case OpKind::kMatMul: return UnitClass::kContraction;
    case OpKind::kAttention: return UnitClass::kAttention;
    case OpKind::kConv:
    case OpKind::kConvTranspose:
    case OpKind::kConvInputGrad:
    case OpKind::kConvFilterGrad: return UnitClass::kConvolution;
    default: return UnitClass::kWhole;
  }
}

// A view behind a product: every element keeps a place of its own, and stores stay vectors.
bool stores_in_order(Fusion& f, NodeId view) {
  const Node& n = f.node(view);
  const Shape &from = f.shape(n.operands[0]), &to = f.shape(n.results[0]);
  if (n.kind == OpKind::kTranspose) return keeps_last_axis(from, n.ints("perm"));
  if (n.kind != OpKind::kReshape) return false;
  const auto groups = axis_groups(f.s, from, to);
  if (!groups) return false;
  const auto real = [](const Shape& shape, size_t begin, size_t end) {
    return std::count_if(shape.begin() + static_cast<std::ptrdiff_t>(begin), shape.begin() + static_cast<std::ptrdiff_t>(end),
                         [](const Dim& d) { return !d.is_const(1); });
  };
  for (size_t k = groups->size(); k-- > 0;) {
    const AxisGroup& last = (*groups)[k];
    const auto a = real(from, last.from, last.from_end), b = real(to, last.to, last.to_end);
    if (a == 0 && b == 0) continue;
    if (b <= 1) return true;
    // The last axis falls apart: into rows of whole vectors only.
    const Dim inner = to[last.to_end - 1];
    return a == 1 && inner.is_const() && inner.constant() % kVector == 0;
  }
  return true;
}

class Grower {
 public:
  Grower(Fusion& f, NodeId hero) : f_(f), unit_(f.unit(hero)) {
    place_[f.node(hero).results[0]] = 0;
    chain_.push_back(f.node(hero).results[0]);
  }

  void run() {
    for (bool more = true; more;) {
      more = false;
      for (size_t k = 0; k < chain_.size(); ++k) {
        const std::vector<Use> uses = f_.g.value(chain_[k]).uses;
        for (const Use& use : uses) {
          if (use.node.valid() && f_.free(use.node) && !f_.copied(use.node) && take(chain_[k], use.node)) more = true;
        }
      }
    }
  }

 private:
  // Elementwise: all that comes from the product is read at the same coordinate, and has the result's extents.
  std::optional<int> elementwise_place(ValueId v, const Node& n) const {
    const int at = place_.at(v);
    for (ValueId o : n.operands) {
      const auto it = o.valid() ? place_.find(o) : place_.end();
      if (it == place_.end()) continue;
      if ((it->second != at && !mutant("epilogue_reads_elsewhere")) || f_.shape(o) != f_.shape(n.results[0])) return std::nullopt;
    }
    return at;
  }

  bool take(ValueId v, NodeId id) {
    const Node& n = f_.node(id);
    if (n.results.size() != 1) return false;
    int place = next_place_;
    if (f_.lowering(id) == Lowering::kElem) {
      const std::optional<int> at = elementwise_place(v, n);
      if (!at || only_for_folds(v, id)) return false;
      place = *at;
    } else if (n.kind == OpKind::kReshape || n.kind == OpKind::kTranspose) {
      if ((!single_use(f_.g, v) && !mutant("epilogue_reads_elsewhere")) || !stores_in_order(f_, id)) return false;
      if (n.kind == OpKind::kReshape && !leads_on(id)) return false;
    } else {
      return false;
    }
    const size_t other = f_.unit(id);
    constexpr size_t kMostOutputs = 4;
    if (!f_.may_join(unit_, other) || f_.outputs(unit_).size() > kMostOutputs) return false;
    f_.join(unit_, other);
    unit_ = f_.unit(id);
    place_[n.results[0]] = place;
    if (place == next_place_) ++next_place_;
    chain_.push_back(n.results[0]);
    return true;
  }

  // v is given out in any case, and what is made of it goes into folds alone: they make it themselves instead of loading it too.
  bool only_for_folds(ValueId v, NodeId id) const {
    if (single_use(f_.g, v)) return false;
    bool leaves = false;
    const std::vector<NodeId> readers = f_.readers(f_.node(id).results[0], &leaves);
    return !leaves && !is_costly(f_.node(id)) &&
           std::all_of(readers.begin(), readers.end(), [&](NodeId r) { return f_.lowering(r) == Lowering::kFold; });
  }

  // A reshape is free outside; inside it is worth something only where more follows.
  bool leads_on(NodeId reshape) const {
    for (const Use& use : f_.g.value(f_.node(reshape).results[0]).uses) {
      if (!use.node.valid() || !f_.free(use.node)) return false;
      const OpKind k = f_.node(use.node).kind;
      if (f_.lowering(use.node) != Lowering::kElem && k != OpKind::kTranspose && k != OpKind::kReshape) return false;
    }
    return true;
  }

  Fusion& f_;
  size_t unit_;
  std::map<ValueId, int> place_;  // coordinates that a value of the chain lies at: 0 the product's, one more behind each view
  std::vector<ValueId> chain_;
  int next_place_ = 1;
};

}  // namespace

void fuse_epilogues(Fusion& f) {
  for (NodeId n : f.order) {
    if (f.lowering(n) == Lowering::kHero) f.seed(n, hero_class(f.node(n)));
  }
  for (NodeId n : f.order) {
    if (f.lowering(n) == Lowering::kHero && hero_class(f.node(n)) != UnitClass::kWhole) Grower(f, n).run();
  }
}

namespace {

// Work on an operand of a product. The right one is packed first, each element once; of the left one only what widens a narrow type (its
// elements are made again for every block of columns).
class Prologue {
 public:
  Prologue(Fusion& f, NodeId hero) : f_(f), hero_(hero) {}

  void run() {
    const Node& n = f_.node(hero_);
    if (n.s("b_format").empty()) take(n.operands[1], 6, false);
    if (!f_.inside(n.operands[0], f_.unit(hero_))) take(n.operands[0], 4, true);
  }

 private:
  ValueId behind_copies(ValueId v) const {
    for (NodeId def = f_.g.value(v).def; def.valid() && f_.copied(def) && is_view(f_.node(def).kind); def = f_.g.value(v).def)
      v = f_.node(def).operands[0];
    return v;
  }

  void take(ValueId operand, int budget, bool narrow_only) {
    const ValueId v = behind_copies(operand);
    const NodeId def = f_.g.value(v).def;
    if (!def.valid() || !f_.free(def) || f_.lowering(def) != Lowering::kElem || f_.copied(def)) return;
    std::vector<NodeId> chain;
    if (!collect(def, budget, narrow_only, chain)) return;
    for (NodeId n : chain) {
      if (!f_.may_join(f_.unit(hero_), f_.unit(n))) return;
      f_.join(f_.unit(hero_), f_.unit(n));
    }
  }

  // The elementwise tree above `id`, each node read by the tree alone; from the root upwards.
  bool collect(NodeId id, int budget, bool narrow_only, std::vector<NodeId>& chain) {
    const Node& n = f_.node(id);
    bool leaves = false;
    const std::vector<NodeId> readers = f_.readers(n.results[0], &leaves);
    if (leaves || readers.size() != 1) return false;
    if (static_cast<int>(chain.size()) >= budget || (narrow_only && is_costly(n))) return false;
    chain.push_back(id);
    const double width = dtype_bits(f_.g.type(f_.node(hero_).operands[0]).dtype);
    for (ValueId o : n.operands) {
      if (!o.valid()) continue;
      const ValueId source = behind_copies(o);
      const NodeId def = f_.g.value(source).def;
      const bool whole = f_.count(source) == f_.count(n.results[0]) && !f_.shape(source).empty();
      if (whole && def.valid() && f_.free(def) && !f_.copied(def) && f_.lowering(def) == Lowering::kElem) {
        std::vector<NodeId> more = chain;
        if (collect(def, budget, narrow_only, more)) {
          chain = std::move(more);
          continue;
        }
      }
      if (narrow_only && whole && dtype_bits(f_.g.type(source).dtype) >= width) return false;
    }
    return true;
  }

  Fusion& f_;
  NodeId hero_;
};

}  // namespace

void fuse_prologues(Fusion& f) {
  for (NodeId n : f.order) {
    if (f.node(n).kind == OpKind::kMatMul) Prologue(f, n).run();
  }
}

}  // namespace nnc

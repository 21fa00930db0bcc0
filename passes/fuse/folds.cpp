// Fold groups: folds of one shape over the same axes, and the elementwise work over that shape or over what the folds leave. Softmax and
// the norms come together here.

#include <algorithm>
#include <set>

#include "passes/fuse/cost.h"
#include "passes/fuse/fusion.h"

namespace nnc {

namespace {

class FoldGroup {
 public:
  FoldGroup(Fusion& f, NodeId seed) : f_(f), seed_(seed) {
    const Node& n = f.node(seed);
    whole_ = f.shape(n.operands[0]);
    reduced_ = reduced_axes(n);
    for (size_t k = 0; k < whole_.size(); ++k) {
      kept_shape_.push_back(reduced_[k] ? Dim(1) : whole_[k]);
      if (!reduced_[k]) kept_count_ = f.s.mul(kept_count_, whole_[k]);
    }
    f.seed(seed, UnitClass::kFold);
    narrow_.insert(n.results[0]);
    folds_ = 1;
  }

  void run() {
    // What the folds need first, other folds of the same row with it: a reader that joined early could stand between two of them.
    for (bool more = true; more;) {
      more = each(&FoldGroup::take_sources);
      if (!more) more = each(&FoldGroup::take_readers);
    }
  }

 private:
  size_t unit() const { return f_.unit(seed_); }

  bool each(bool (FoldGroup::*step)(NodeId)) {
    const std::vector<NodeId> nodes = f_.at(unit()).nodes;
    bool taken = false;
    for (NodeId n : nodes) taken = (this->*step)(n) || taken;
    return taken;
  }

  std::vector<bool> reduced_axes(const Node& n) const {
    const Shape& shape = f_.shape(n.operands[0]);
    std::vector<bool> reduced(shape.size(), false);
    if (n.kind == OpKind::kArgReduce)
      reduced[static_cast<size_t>(n.i("axis"))] = true;
    else
      for (int64_t a : n.ints("axes")) reduced[static_cast<size_t>(a)] = true;
    for (size_t k = 0; k < shape.size(); ++k) {
      if (shape[k].is_const(1)) reduced[k] = false;
    }
    return reduced;
  }
  bool same_fold(const Node& n) const { return f_.shape(n.operands[0]) == whole_ && reduced_axes(n) == reduced_; }

  bool is_narrow_shape(const Shape& shape) { return f_.s.mul(shape) == kept_count_; }
  // `shape`, aligned at the last axis, has the kept extents where they stand in the whole shape and 1 where it is folded.
  bool aligned(const Shape& shape) const {
    if (shape.size() > kept_shape_.size()) return false;
    const size_t skip = kept_shape_.size() - shape.size();
    for (size_t k = 0; k < skip; ++k) {
      if (!kept_shape_[k].is_const(1)) return false;
    }
    return std::equal(shape.begin(), shape.end(), kept_shape_.begin() + static_cast<std::ptrdiff_t>(skip));
  }

  // Behind reshapes that the reader makes again: a folded value under another shape is still the row's own.
  ValueId behind_reshapes(ValueId v) const {
    for (NodeId def = f_.g.value(v).def; def.valid() && f_.copied(def) && f_.node(def).kind == OpKind::kReshape; def = f_.g.value(v).def)
      v = f_.node(def).operands[0];
    return v;
  }
  bool narrow(ValueId v) const { return narrow_.count(behind_reshapes(v)) > 0; }
  bool ours(ValueId v) const {
    return f_.inside(narrow(v) ? behind_reshapes(v) : v, f_.unit(seed_)) ||
           (f_.inside(behind_reshapes(v), f_.unit(seed_)) && behind_reshapes(v) != v);
  }

  // Made of the group's values by views that the reader makes again: it would ask for other rows' folds.
  bool elsewhere(ValueId v) const {
    const NodeId def = f_.g.value(v).def;
    if (!def.valid() || !f_.copied(def) || ours(v)) return false;
    const std::vector<ValueId>& operands = f_.node(def).operands;
    return std::any_of(operands.begin(), operands.end(), [&](ValueId o) { return o.valid() && (ours(o) || elsewhere(o)); });
  }

  // Elementwise over the whole shape: the group's narrow values must stand at their own place.
  bool is_wide(const Node& n) const {
    if (f_.shape(n.results[0]) != whole_) return false;
    return std::all_of(n.operands.begin(), n.operands.end(), [&](ValueId o) {
      if (!o.valid() || !ours(o)) return !o.valid() || !elsewhere(o);
      return narrow(o) ? aligned(f_.shape(o)) : f_.shape(o) == whole_ && behind_reshapes(o) == o;
    });
  }
  // Elementwise over what the folds leave: the group's values have the result's very shape.
  bool is_narrow(const Node& n) {
    if (!is_narrow_shape(f_.shape(n.results[0])) || f_.shape(n.results[0]) == whole_) return false;
    return std::all_of(n.operands.begin(), n.operands.end(), [&](ValueId o) {
      if (!o.valid() || !ours(o)) return !o.valid() || !elsewhere(o);
      return narrow(o) && f_.shape(o) == f_.shape(n.results[0]);
    });
  }

  // Whether members that read v already, which was none of the group's until now, read it at their own place.
  bool stands_where_read(ValueId v, bool narrow) const {
    const auto uses = f_.g.value(v).uses;
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      if (!use.node.valid()) return true;
      if (f_.copied(use.node)) {
        const ValueId seen = f_.node(use.node).results[0];
        if (narrow && f_.node(use.node).kind == OpKind::kReshape) return stands_where_read(seen, true);
        const std::vector<NodeId> readers = f_.readers(seen);
        return std::none_of(readers.begin(), readers.end(), [&](NodeId r) { return f_.unit(r) == unit(); });
      }
      if (f_.unit(use.node) != unit()) return true;
      if (!narrow) return f_.shape(v) == whole_;
      if (f_.lowering(use.node) == Lowering::kFold) return false;
      const ValueId result = f_.node(use.node).results[0];
      return narrow_.count(result) > 0 ? f_.shape(v) == f_.shape(result) : aligned(f_.shape(v));
    });
  }

  bool join(NodeId id, bool narrow) { return stands_where_read(f_.node(id).results[0], narrow) && join_anywhere(id, narrow); }
  bool join_anywhere(NodeId id, bool narrow) {
    if (!f_.may_join(unit(), f_.unit(id))) return false;
    f_.join(unit(), f_.unit(id));
    if (narrow) narrow_.insert(f_.node(id).results[0]);
    return true;
  }

  bool take_readers(NodeId n) {
    bool taken = false;
    const ValueId v = f_.node(n).results[0];
    for (NodeId reader_id : f_.readers(v)) {
      if (!f_.free(reader_id) || f_.copied(reader_id)) continue;
      const Node& reader = f_.node(reader_id);
      if (reader.results.size() != 1) continue;
      if (f_.lowering(reader_id) == Lowering::kFold) {
        // Of a fold's own result another fold is a second level, and another group.
        if (narrow_.count(v) == 0 && ours(reader.operands[0]) && behind_reshapes(reader.operands[0]) == reader.operands[0] &&
            same_fold(reader))
          taken = join_fold(reader_id) || taken;
      } else if (f_.lowering(reader_id) == Lowering::kElem) {
        if (is_wide(reader))
          taken = join(reader_id, false) || taken;
        else if (is_narrow(reader))
          taken = join(reader_id, true) || taken;
      }
    }
    return taken;
  }

  bool join_fold(NodeId id) {
    if (!join(id, true)) return false;
    ++folds_;
    return true;
  }

  bool take_sources(NodeId n) {
    bool taken = false;
    const std::vector<ValueId> operands = f_.node(n).operands;
    for (ValueId o : operands) {
      if (!o.valid() || ours(o)) continue;
      const bool wide = f_.shape(o) == whole_;
      if (wide) taken = take_sibling_folds(o) || taken;
      const NodeId def = f_.g.value(o).def;
      if (!def.valid() || !f_.free(def) || f_.copied(def) || ours(o)) continue;
      if (f_.lowering(def) == Lowering::kElem ? !(wide ? is_wide(f_.node(def)) : apart(def)) : !is_row_gather(def)) continue;
      if (worth_repeating(def)) taken = (wide && !is_row_gather(def) ? join(def, false) : join_anywhere(def, false)) || taken;
    }
    return taken;
  }

  // Reads nothing of the group and is read by it alone.
  bool apart(NodeId id) const {
    const Node& n = f_.node(id);
    return f_.only_in(n.results[0], unit()) &&
           std::none_of(n.operands.begin(), n.operands.end(), [&](ValueId o) { return o.valid() && (ours(o) || elsewhere(o)); });
  }
  // Whole rows by index: what is read at each place of a row lies together.
  bool is_row_gather(NodeId id) const {
    const Node& n = f_.node(id);
    if (n.kind != OpKind::kGather || !apart(id)) return false;
    const auto rank = static_cast<int64_t>(f_.shape(n.operands[0]).size());
    return (n.i("axis") < 0 ? n.i("axis") + rank : n.i("axis")) < rank - 1 && !reduced_.empty() && reduced_.back();
  }

  // Other folds of the same operand, or of something cheap that is made of it for them alone.
  bool take_sibling_folds(ValueId operand) {
    bool taken = false;
    const std::vector<Use> uses = f_.g.value(operand).uses;
    for (const Use& use : uses) {
      if (!use.node.valid() || !f_.free(use.node) || f_.copied(use.node)) continue;
      const Node& n = f_.node(use.node);
      if (f_.lowering(use.node) == Lowering::kFold) {
        if (same_fold(n)) taken = join_fold(use.node) || taken;
        continue;
      }
      if (f_.lowering(use.node) != Lowering::kElem || is_costly(n) || !is_wide(n) || !single_use(f_.g, n.results[0])) continue;
      const NodeId fold = f_.g.value(n.results[0]).uses[0].node;
      if (!fold.valid() || !f_.free(fold) || f_.lowering(fold) != Lowering::kFold || !same_fold(f_.node(fold))) continue;
      if (!f_.may_join(unit(), f_.unit(fold)) || !join(use.node, false)) continue;
      taken = join_fold(fold) || taken;
    }
    return taken;
  }

  // Each fold walks its row once, and so do the outputs: what comes before the folds is made once per walk.
  bool worth_repeating(NodeId def) {
    const ValueId v = f_.node(def).results[0];
    bool leaves = false;
    const std::vector<NodeId> readers = f_.readers(v, &leaves);
    const bool inside = !leaves && std::all_of(readers.begin(), readers.end(), [&](NodeId r) { return f_.unit(r) == unit(); });
    if (is_costly(f_.node(def)) && !(inside && folds_ == 1 && readers.size() == 1)) return false;
    MergeFacts facts;
    facts.bytes_saved = f_.bytes(v) * (inside ? 2 : 1);
    double whole = 1;
    for (const Dim& d : whole_) whole *= static_cast<double>(std::max<int64_t>(1, f_.s.typical(d)));
    facts.evaluations = whole * (folds_ + 1) - f_.typical_count(v);
    facts.launch_saved = f_.at(f_.unit(def)).nodes.size() == 1;
    facts.cost_per_element = is_costly(f_.node(def)) ? 20 : 1;
    return merge_gain(facts) > 0;
  }

  Fusion& f_;
  NodeId seed_;
  Shape whole_, kept_shape_;
  std::vector<bool> reduced_;
  Dim kept_count_ = 1;
  std::set<ValueId> narrow_;
  int folds_ = 0;
};

}  // namespace

void fuse_folds(Fusion& f) {
  for (NodeId n : f.order) {
    if (f.lowering(n) == Lowering::kFold && f.free(n) && !f.copied(n)) FoldGroup(f, n).run();
  }
}

}  // namespace nnc

// Everything else: elementwise nodes, movement and windows. All outputs of a pointwise group have as many elements; what has fewer is made
// again for each element that reads it.

#include <algorithm>

#include "passes/fuse/cost.h"
#include "passes/fuse/fusion.h"

namespace nnc {

namespace {

class Pointwise {
 public:
  explicit Pointwise(Fusion& f) : f_(f) {}

  void run() {
    for (NodeId n : f_.order) {
      if (f_.free(n) && !f_.copied(n) && f_.node(n).kind != OpKind::kReshape) f_.seed(n, UnitClass::kPointwise);
    }
    for (bool more = true; more;) {
      more = false;
      for (NodeId n : f_.order) {
        if (is_ours(n)) more = take_sources(n) || more;
      }
    }
  }

 private:
  bool is_ours(NodeId n) const { return !f_.copied(n) && f_.at(f_.unit(n)).cls == UnitClass::kPointwise; }

  // Definitions of n's operands, behind the views that n makes again.
  bool take_sources(NodeId n) {
    bool taken = false;
    const std::vector<ValueId> operands = f_.node(n).operands;
    for (ValueId o : operands) {
      const NodeId def = o.valid() ? source(o) : NodeId();
      if (!def.valid() || !is_ours(def) || f_.unit(def) == f_.unit(n) || !fits(def, n)) continue;
      if (!f_.may_join(f_.unit(n), f_.unit(def))) continue;
      f_.join(f_.unit(n), f_.unit(def));
      taken = true;
    }
    return taken;
  }

  NodeId source(ValueId v) const {
    NodeId def = f_.g.value(v).def;
    while (def.valid() && f_.copied(def) && is_view(f_.node(def).kind)) def = f_.g.value(f_.node(def).operands[0]).def;
    return def;
  }

  bool is_plain_view(NodeId n) const { return is_view(f_.node(n).kind); }

  // Whether `def` (and its unit) may be computed where `reader` reads it.
  bool fits(NodeId def, NodeId reader) {
    const size_t from = f_.unit(def), to = f_.unit(reader);
    const ValueId v = f_.node(def).results[0];
    const std::vector<ValueId> outs = f_.outputs(to);
    if (outs.empty()) return false;
    const Dim n = f_.count(outs[0]);
    // Outputs that stay outputs must have the group's element count.
    bool only_here = true;
    for (ValueId o : f_.outputs(from)) {
      if (reader_outside(o, to)) {
        only_here = only_here && o != v;
        if (f_.count(o) != n) return false;
      }
    }
    if (f_.lowering(reader) == Lowering::kPoint) return false;  // each window would make its elements again
    // More than one window op, or one behind movement: its loop would run at coordinates of its own.
    const bool windows = has_windows(from);
    if (windows && (has_windows(to) || f_.lowering(reader) != Lowering::kElem || f_.count(v) != n)) return false;
    return gains(def, reader, n, only_here, windows);
  }

  bool reader_outside(ValueId v, size_t u) const {
    bool leaves = false;
    const std::vector<NodeId> readers = f_.readers(v, &leaves);
    return leaves ||
           std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return f_.unit(r) != u && f_.unit(r) != f_.unit_of_value(v); });
  }
  bool has_windows(size_t u) const {
    return std::any_of(f_.at(u).nodes.begin(), f_.at(u).nodes.end(), [&](NodeId n) { return f_.lowering(n) == Lowering::kPoint; });
  }

  bool gains(NodeId def, NodeId reader, const Dim& n, bool only_here, bool windows) {
    const ValueId v = f_.node(def).results[0];
    double cost = 0;
    for (NodeId k : f_.at(f_.unit(def)).nodes)
      cost += is_costly(f_.node(k)) ? 20 : is_plain_view(k) ? 0.5 : f_.lowering(k) == Lowering::kMap ? 3 : 1;
    double elements = 1;
    for (ValueId o : f_.outputs(f_.unit(reader))) elements = std::max(elements, f_.typical_count(o));
    const double own = f_.typical_count(v);
    MergeFacts facts;
    facts.bytes_saved = f_.bytes(v) * (only_here ? 2 : 1);
    facts.evaluations = f_.count(v) == n ? 0 : std::max(0.0, elements - own);
    facts.cost_per_element = cost;
    // A view that breaks vectors makes all of the group scalar.
    const bool scalar = breaks_vectors(f_.unit(reader)) != breaks_vectors(f_.unit(def));
    if (scalar) {
      for (NodeId k : f_.at(f_.unit(reader)).nodes) cost += is_costly(f_.node(k)) ? 20 : 1;
      facts.evaluations += elements;
      facts.cost_per_element = cost * 4;
    }
    // Parts of a concatenation are all computed at every element, and chosen from.
    if (f_.node(reader).kind == OpKind::kConcat && !is_plain_view(def)) facts.evaluations += elements - own;
    (void)windows;
    return merge_gain(facts) > 0;
  }

  bool breaks_vectors(size_t u) const {
    return std::any_of(f_.at(u).nodes.begin(), f_.at(u).nodes.end(), [&](NodeId n) { return is_plain_view(n) && !reads_in_order(f_, n); });
  }

  Fusion& f_;
};

}  // namespace

void fuse_pointwise(Fusion& f) { Pointwise(f).run(); }

}  // namespace nnc

// Views that their readers apply themselves: index arithmetic instead of a kernel, where no reader loses by it. A view that somebody cannot
// take along becomes a node like others; a reshape never needs a kernel.

#include <algorithm>

#include "passes/fuse/fusion.h"
#include "passes/layout.h"

namespace nnc {

namespace {

size_t real_axes(const Shape& shape, size_t begin, size_t end) {
  return static_cast<size_t>(std::count_if(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                                           shape.begin() + static_cast<std::ptrdiff_t>(end), [](const Dim& d) { return !d.is_const(1); }));
}

class Chooser {
 public:
  explicit Chooser(Fusion& f) : f_(f) {}

  // Readers first, so that a chain of views is decided from its end.
  void run() {
    for (size_t k = f_.order.size(); k-- > 0;) {
      const NodeId id = f_.order[k];
      if (!is_view(f_.node(id).kind) || !f_.free(id)) continue;
      if (absorbed(id)) f_.copy(id);
    }
    f_.connect();
  }

 private:
  bool absorbed(NodeId view) {
    const ValueId v = f_.node(view).results[0];
    const std::vector<Use> uses = f_.g.value(v).uses;
    if (uses.empty()) return false;
    bool all = true, any = false;
    for (const Use& use : uses) {
      const bool takes = use.node.valid() && reader_takes(view, use);
      all = all && takes;
      any = any || takes;
    }
    // A reshape is for those who can take it; for others, and where it changes what lies in memory, it stays outside.
    return f_.node(view).kind == OpKind::kReshape ? any : all;
  }

  bool reader_takes(NodeId view, const Use& use) {
    const NodeId reader = use.node;
    if (f_.node(view).kind == OpKind::kReshape) return f_.copied(reader) || f_.computes(reader);
    if (f_.copied(reader)) return copied_reader_takes(view, reader);
    if (!f_.computes(reader)) return false;
    switch (f_.at(f_.unit(reader)).cls) {
      case UnitClass::kContraction: return f_.lowering(reader) == Lowering::kHero || reads_in_order(f_, view);
      case UnitClass::kConvolution:
        if (f_.lowering(reader) == Lowering::kHero) return window_takes(view, use);
        return reads_in_order(f_, view);
      case UnitClass::kAttention: return reads_in_order(f_, view);
      case UnitClass::kWhole: return f_.lowering(reader) != Lowering::kHero && reads_in_order(f_, view);
      default: break;
    }
    if (f_.lowering(reader) == Lowering::kPoint) return f_.node(view).kind != OpKind::kTranspose || reads_in_order(f_, view);
    // A scalar loop is dear where there is much to compute.
    return reads_in_order(f_, view) || f_.lowering(reader) == Lowering::kMap;
  }

  // A picture's few channels, brought together for a convolution: its window reads them where they are. With more channels neighbours in
  // memory would be read far apart in time.
  bool window_takes(NodeId view, const Use& use) {
    constexpr int64_t kFewChannels = 4;
    const Node& conv = f_.node(use.node);
    if (!f_.scalar_windows || conv.kind != OpKind::kConv || conv.i("group") != 1 || use.index != 0) return false;
    const Dim& channels = f_.shape(conv.operands[0]).back();
    return f_.node(view).kind == OpKind::kTranspose && channels.is_const() && channels.constant() <= kFewChannels;
  }

  // The reader is a view that others apply: both together must suit each of them.
  bool copied_reader_takes(NodeId view, NodeId reader) {
    for (NodeId r : f_.readers(f_.node(reader).results[0])) {
      const UnitClass cls = f_.at(f_.unit(r)).cls;
      const bool hero = f_.lowering(r) == Lowering::kHero, attention = cls == UnitClass::kAttention;
      const bool contraction = cls == UnitClass::kContraction || attention;
      if (hero && !contraction) return false;
      if (!contraction && f_.lowering(r) != Lowering::kFold && f_.lowering(r) != Lowering::kElem) continue;
      if (f_.node(reader).kind == OpKind::kReshape && !splits_only(reader, hero)) return false;
      if ((!hero || attention) && !reads_in_order(f_, view)) return false;
    }
    return true;
  }

  // No axis of the result holds several of the operand: coordinates need no division. `inner_only`: the last two axes alone are asked about
  // (a product's rows and columns).
  bool splits_only(NodeId reshape, bool inner_only) {
    const Node& n = f_.node(reshape);
    const Shape from = f_.shape(n.operands[0]), to = f_.shape(n.results[0]);
    const auto groups = axis_groups(f_.s, from, to);
    if (!groups) return false;
    for (const AxisGroup& group : *groups) {
      if (inner_only && group.to_end + 2 <= to.size()) continue;
      if (real_axes(from, group.from, group.from_end) > 1) return false;
    }
    return true;
  }

  Fusion& f_;
};

}  // namespace

void choose_copies(Fusion& f) { Chooser(f).run(); }

}  // namespace nnc

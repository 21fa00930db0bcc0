// Fusion: heroes with what follows them, then what their readers make again, then folds, then everything elementwise. Decided in a side
// table (fuse/fusion.h), made real once by outlining.

#include "passes/fuse/fusion.h"
#include "passes/rules.h"

namespace nnc {

namespace {

Result<int64_t> fuse(Graph& g, bool scalar_windows) {
  std::vector<GroupPlan> plans;
  {
    Fusion f(g);
    f.scalar_windows = scalar_windows;
    fuse_epilogues(f);
    choose_copies(f);
    fuse_prologues(f);
    fuse_folds(f);
    fuse_pointwise(f);
    plans = f.plans();
  }
  if (!plans.empty()) {
    NNC_TRY(outline_groups(g, plans));
    Rewriter(g).remove_dead();
  }
  NNC_TRY(outline_rest(g));
  return static_cast<int64_t>(plans.size());
}

bool inside_group(const Module& m, const Graph* g) {
  bool inside = false;
  const auto walk = [&](auto& self, const Graph& at) -> void {
    for (NodeId n = at.first(); n.valid(); n = at.node(n).next) {
      for (RegionId r : at.node(n).regions) {
        if (at.node(n).kind == OpKind::kGroup)
          inside = inside || &at.region(r) == g;
        else
          self(self, at.region(r));
      }
    }
  };
  for (const auto& e : m.entries) walk(walk, *e->graph);
  return inside;
}

}  // namespace

Result<int64_t> run_fuse(Module& m, PassContext& c) {
  int64_t changes = 0;
  for (Graph* g : all_graphs(m)) {
    if (inside_group(m, g)) continue;
    NNC_ASSIGN(const int64_t n, fuse(*g, c.target == nullptr || c.target->cpu));
    changes += n;
  }
  return changes;
}

}  // namespace nnc

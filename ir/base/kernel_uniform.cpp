// Invariant 4: statements that all threads of their scope must reach stand under control that is the same for them. How far a value may
// differ between threads is propagated to a fixed point over muts.

#include <algorithm>

#include "ir/base/kernel_rules.h"

namespace nnc {
namespace {

enum Spread : uint8_t { kBlockWide = 0, kWarpWide = 1, kVaries = 2 };

class Uniformity {
 public:
  Uniformity(const Kernel& k, std::vector<KernelProblem>& problems) : k_(k), problems_(problems), of_(k.vars.size(), kBlockWide) {}

  void run() {
    if (k_.threads == 1) return;
    do {
      changed_ = false;
      block(k_.body, kBlockWide, false);
    } while (changed_);
    block(k_.body, kBlockWide, true);
  }

 private:
  int spread(ExprId e) const {
    const ExprNode& n = k_.exprs[e];
    if (n.op == ExprOp::kThread || n.op == ExprOp::kLane) return kVaries;
    if (n.op == ExprOp::kVar) return of_[n.var.index()];
    // thread / 32 is one number per warp.
    if ((n.op == ExprOp::kFloorDiv || n.op == ExprOp::kDiv) && k_.exprs[n.a].op == ExprOp::kThread && k_.exprs[n.b].op == ExprOp::kConst &&
        k_.exprs[n.b].bits % 32 == 0 && k_.exprs[n.b].bits != 0)
      return k_.exprs[n.b].bits >= static_cast<uint64_t>(k_.threads) ? kBlockWide : kWarpWide;
    if (n.op == ExprOp::kShr && k_.exprs[n.a].op == ExprOp::kThread && k_.exprs[n.b].op == ExprOp::kConst && k_.exprs[n.b].bits >= 5 &&
        k_.exprs[n.b].bits < 64)
      return kWarpWide;
    int s = kBlockWide;
    for_operands(n, [&](ExprId o) { s = std::max(s, spread(o)); });
    return s;
  }
  void raise(VarId v, int s) {
    if (of_[v.index()] >= s) return;
    of_[v.index()] = static_cast<uint8_t>(s);
    changed_ = true;
  }
  static bool is_vote(const Stmt& s) { return s.kind == StmtKind::kWarp && static_cast<WarpOp>(s.op) > WarpOp::kShflIdx; }

  // The most divergent control that a statement may stand under; nothing: any.
  std::optional<int> needs(const Stmt& s) const {
    switch (s.kind) {
      case StmtKind::kBarrier: return static_cast<Scope>(s.op) == Scope::kBlock ? kBlockWide : kWarpWide;
      case StmtKind::kWarp: return kWarpWide;
      case StmtKind::kCopy: return static_cast<CopyOp>(s.op) == CopyOp::kWait ? std::optional<int>(kWarpWide) : std::nullopt;
      case StmtKind::kFrag: {
        const auto op = static_cast<FragOp>(s.op);
        return op == FragOp::kMma || op == FragOp::kLoad || op == FragOp::kStore ? std::optional<int>(kWarpWide) : std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  int result(const Stmt& s, int control) const {
    if (is_vote(s)) return kWarpWide;
    if (s.kind == StmtKind::kWarp || s.kind == StmtKind::kAtomic || s.kind == StmtKind::kFrag) return kVaries;
    // A name that lives inside divergent control is read only there; a mut may be read outside.
    int value = s.kind == StmtKind::kSet ? control : kBlockWide;
    for_exprs(s, [&](ExprId e) { value = std::max(value, spread(e)); });
    return value;
  }

  void block(const Block& b, int control, bool report) {
    for (StmtId id : b) {
      const Stmt& s = k_.stmts[id];
      if (const auto limit = needs(s); report && limit && control > *limit)
        problems_.push_back({4, "a statement that all threads of its scope must reach stands under control that differs between them", id});
      int inner = control;
      if (s.kind == StmtKind::kIf || s.kind == StmtKind::kWhile) inner = std::max(inner, spread(s.value));
      if (s.kind == StmtKind::kFor) inner = std::max({inner, spread(s.index), spread(s.index2)});
      if (s.var && k_.vars[s.var].type.kind != KType::kFrag) raise(s.var, result(s, control));
      block(s.body, inner, report);
      block(s.orelse, inner, report);
    }
  }

  const Kernel& k_;
  std::vector<KernelProblem>& problems_;
  std::vector<uint8_t> of_;
  bool changed_ = false;
};

}  // namespace

void verify_uniformity(const Kernel& k, std::vector<KernelProblem>& problems) { Uniformity(k, problems).run(); }

}  // namespace nnc

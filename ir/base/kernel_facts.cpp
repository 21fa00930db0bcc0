// Facts of a kernel, counted from its tree: what the cost model and the goldens read.

#include <algorithm>
#include <unordered_map>

#include "ir/base/kernel_bounds.h"
#include "ir/base/kernel_rules.h"

namespace nnc {
namespace {

int64_t times(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}
int64_t plus(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}

class Counter {
 public:
  explicit Counter(Kernel& k) : k_(k) {}

  void run() {
    KernelFacts& f = k_.facts;
    f = {};
    int64_t tasks = 1;
    for (const Dim& g : k_.grid) tasks = times(tasks, std::max<int64_t>(k_.symbols.typical(g), 0));
    last_use_.assign(k_.vars.size(), 0);
    born_.assign(k_.vars.size(), 0);
    block(k_.body, times(tasks, k_.threads), false);
    for (size_t i = k_.param_count; i < k_.buffers.size(); ++i) {
      const KBuffer& b = k_.buffers[BufId(i)];
      if (b.space == Space::kShared) f.shared_bytes = plus(f.shared_bytes, times(b.extent.constant(), dtype_bits(b.elem) / 8));
    }
    f.live_registers = live();
  }

 private:
  // Value at typical sizes; loop variables at zero.
  int64_t typical(ExprId e) const {
    const ExprNode& n = k_.exprs[e];
    const auto a = [&] { return typical(n.a); };
    const auto b = [&] { return typical(n.b); };
    switch (n.op) {
      case ExprOp::kConst: return n.type.kind == KType::kIndex ? int64_t(n.bits) : 0;
      case ExprOp::kDim: return k_.symbols.typical(Dim(SymbolId(static_cast<uint32_t>(n.bits))));
      case ExprOp::kVar: {
        const auto it = lets_.find(n.var);
        return it == lets_.end() ? 0 : it->second;
      }
      case ExprOp::kAdd: return plus(a(), b());
      case ExprOp::kSub: return plus(a(), -std::min(b(), INT64_MAX));
      case ExprOp::kMul: return times(a(), b());
      case ExprOp::kFloorDiv:
      case ExprOp::kDiv: return b() > 0 ? a() / b() : 0;
      case ExprOp::kFloorMod:
      case ExprOp::kRem: return b() > 0 ? a() % b() : 0;
      case ExprOp::kMin: return std::min(a(), b());
      case ExprOp::kMax: return std::max(a(), b());
      default: return 0;
    }
  }

  void count_ops(ExprId e, int64_t times_run) {
    const ExprNode& n = k_.exprs[e];
    if (n.op == ExprOp::kVar) last_use_[n.var.index()] = now_;
    const bool fp = n.type.floating() || (n.a && k_.exprs[n.a].type.floating());
    const bool arithmetic =
        (n.op >= ExprOp::kNeg && n.op <= ExprOp::kFma) || (n.op >= ExprOp::kExp && n.op <= ExprOp::kPow) || n.op >= ExprOp::kReduceAdd;
    if (fp && arithmetic) {
      const int lanes = n.op >= ExprOp::kReduceAdd ? k_.exprs[n.a].type.lanes - 1 : n.type.lanes;
      k_.facts.flops = plus(k_.facts.flops, times(times_run, n.op == ExprOp::kFma ? 2 * lanes : lanes));
    }
    for_operands(n, [&](ExprId o) { count_ops(o, times_run); });
  }

  void traffic(int64_t& sum, BufId b, int64_t elements, int64_t times_run) {
    const KBuffer& buffer = k_.buffers[b];
    if (buffer.space == Space::kShared || buffer.space == Space::kLocal) return;
    sum = plus(sum, times(times_run, elements * dtype_bits(buffer.elem) / 8));
  }

  void block(const Block& b, int64_t times_run, bool in_loop) {
    for (StmtId id : b) {
      const Stmt& s = k_.stmts[id];
      ++now_;
      for_exprs(s, [&](ExprId e) { count_ops(e, times_run); });
      for (VarId v : {s.f0, s.f1, s.var})
        if (v) last_use_[v.index()] = now_;
      if (defines_var(s)) born_[s.var.index()] = now_;
      memory(s, times_run);
      if (s.kind == StmtKind::kLet && k_.exprs[s.value].type == KType::index()) lets_[s.var] = typical(s.value);
      int64_t rounds = 1;
      if (s.kind == StmtKind::kFor) rounds = std::max<int64_t>(0, (typical(s.index2) - typical(s.index) + s.n - 1) / s.n);
      const int start = now_;
      block(s.body, times(times_run, rounds), in_loop || s.kind == StmtKind::kFor);
      block(s.orelse, times_run, in_loop);
      if (s.kind == StmtKind::kFor || s.kind == StmtKind::kWhile) loops_.push_back({start, now_});
    }
  }

  void memory(const Stmt& s, int64_t times_run) {
    KernelFacts& f = k_.facts;
    if (s.kind == StmtKind::kLoad) traffic(f.bytes_read, s.buf, k_.vars[s.var].type.lanes, times_run);
    if (s.kind == StmtKind::kStore) traffic(f.bytes_written, s.buf, k_.exprs[s.value].type.lanes, times_run);
    if (s.kind == StmtKind::kAtomic) traffic(f.bytes_written, s.buf, 1, times_run);
    if (s.kind == StmtKind::kCopy && static_cast<CopyOp>(s.op) == CopyOp::kAsync) f.bytes_read = plus(f.bytes_read, times(times_run, s.n));
    if (s.kind != StmtKind::kFrag) return;
    const auto per_lane = [&](VarId v) { return int64_t(k_.vars[v].type.frag.m) * k_.vars[v].type.frag.k / 32; };
    if (static_cast<FragOp>(s.op) == FragOp::kLoad) traffic(f.bytes_read, s.buf, per_lane(s.var), times_run);
    if (static_cast<FragOp>(s.op) == FragOp::kStore) traffic(f.bytes_written, s.buf, per_lane(s.f0), times_run);
    if (static_cast<FragOp>(s.op) == FragOp::kMma) {
      const FragShape& t = k_.vars[s.f0].type.frag;
      f.flops = plus(f.flops, times(times_run, 2 * int64_t(t.m) * t.n * t.k / 32));
    }
  }

  // Registers of 64 bytes (one for any scalar float); index and mask lanes are not counted.
  int live() const {
    std::vector<int> change(static_cast<size_t>(now_) + 2);
    for (size_t v = 0; v < k_.vars.size(); ++v) {
      const KType& t = k_.vars[VarId(v)].type;
      if (born_[v] == 0 || t.kind == KType::kIndex || t.kind == KType::kMask || t.kind == KType::kNone) continue;
      int end = last_use_[v];
      for (const auto& [from, to] : loops_)  // used in a loop that it was born before: lives as long as the loop
        if (born_[v] <= from && end > from && end <= to) end = to;
      const int size = t.kind == KType::kFrag ? 1 : std::max(1, t.lanes * dtype_bits(t.elem) / 512);
      change[static_cast<size_t>(born_[v])] += size;
      change[static_cast<size_t>(end) + 1] -= size;
    }
    int now = 0, most = 0;
    for (int c : change) most = std::max(most, now += c);
    return most;
  }

  Kernel& k_;
  int now_ = 0;
  std::vector<int> last_use_, born_;
  std::vector<std::pair<int, int>> loops_;
  std::unordered_map<VarId, int64_t> lets_;
};

}  // namespace

void count_facts(Kernel& k, int unproved) {
  Counter(k).run();
  k.facts.unproved_accesses = unproved;
}
void count_facts(Kernel& k) { count_facts(k, prove_accesses(k).unproved); }

}  // namespace nnc

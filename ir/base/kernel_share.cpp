// Names for what is computed more than once, and for what a loop computes again each round. Expressions are pure, so a name may stand
// wherever its variables are known; it never leaves the branch of an `if` that alone needs it. Expressions over a `mut` keep their place:
// they are shared within one statement only.

#include <algorithm>
#include <unordered_map>

#include "ir/base/kernel_exprs.h"

namespace nnc {
namespace {

constexpr uint32_t kNowhere = ~uint32_t(0);

// `e` over other operands, each by `f`; itself where they are the same.
template <class F> ExprId with_operands(const Kernel& k, ExprPool& pool, ExprId e, F&& f) {
  const ExprId a = k.exprs[e].a, b = k.exprs[e].b, c = k.exprs[e].c;
  const ExprId new_a = a ? f(a) : a, new_b = b ? f(b) : b, new_c = c ? f(c) : c;
  if (new_a == a && new_b == b && new_c == c) return e;
  ExprNode n = k.exprs[e];
  n.a = new_a, n.b = new_b, n.c = new_c;
  return pool.intern(std::move(n));
}

// A statement of a block; a name put there stands before it.
struct Spot {
  uint32_t block = kNowhere, at = 0;
};
struct BlockInfo {
  Spot owner;  // the statement whose block this is
  StmtKind kind = StmtKind::kBlock;
  int depth = 0;
};

// Sums of indices, which never wrap, in the order in which their terms become known: what is known outside a loop is added outside of it.
// Constants come last, where an address takes them for nothing.
class SumOrder {
 public:
  SumOrder(Kernel& k, ExprPool& pool) : k_(k), pool_(pool) {}

  void run() {
    depth_.assign(k_.vars.size(), 0);
    block(k_.body, 0);
  }

 private:
  static constexpr int kMoves = 1 << 20, kConstant = kMoves + 1;  // after every depth

  void block(const Block& b, int depth) {
    for (StmtId id : b) {
      Stmt& s = k_.stmts[id];
      for_exprs(s, [&](ExprId& e) { e = rewrite(e); });
      const bool loops = s.kind == StmtKind::kFor || s.kind == StmtKind::kWhile;
      if (s.kind == StmtKind::kFor)
        depth_[s.var.index()] = depth + 1;
      else if (defines_var(s))
        depth_[s.var.index()] = k_.vars[s.var].is_mut ? kMoves : depth;
      block(s.body, depth + loops);
      block(s.orelse, depth);
    }
  }

  // The passes make expressions, so tables over them grow.
  template <class T> T place(std::vector<T>& table, ExprId e, T none) {
    if (e.index() >= table.size()) table.resize(k_.exprs.size(), none);
    return table[e.index()];
  }

  int depth_of(ExprId e) {
    const ExprNode& n = k_.exprs[e];
    if (n.op == ExprOp::kConst) return kConstant;
    if (n.op == ExprOp::kVar) return depth_[n.var.index()];
    if (const int known = place(depths_, e, -1); known >= 0) return known;
    int d = 0;
    for_operands(n, [&](ExprId o) {
      const int own = depth_of(o);
      if (own != kConstant) d = std::max(d, own);
    });
    return depths_[e.index()] = d;
  }

  // The terms of a sum. (x + 3) * 4 is x * 4 + 12, so that neighbours differ in a constant alone.
  void terms(ExprId e, std::vector<ExprId>& out) {
    const ExprOp op = k_.exprs[e].op;
    const ExprId a = k_.exprs[e].a, b = k_.exprs[e].b;
    if (op == ExprOp::kAdd) {
      terms(a, out);
      terms(b, out);
      return;
    }
    if (op != ExprOp::kMul || k_.exprs[b].op != ExprOp::kConst) return out.push_back(e);
    std::vector<ExprId> inner;
    terms(a, inner);
    if (inner.size() < 2 || std::ranges::none_of(inner, [&](ExprId t) { return k_.exprs[t].op == ExprOp::kConst; }))
      return out.push_back(e);
    for (ExprId t : inner) out.push_back(pool_.make(ExprOp::kMul, t, b));
  }

  ExprId rewrite(ExprId e) {
    if (const ExprId known = place(done_, e, {})) return known;
    std::vector<ExprId> all;
    if (const ExprNode& n = k_.exprs[e]; n.type.kind == KType::kIndex && (n.op == ExprOp::kAdd || n.op == ExprOp::kMul)) terms(e, all);
    const ExprId result = all.size() > 1 ? sum(all) : with_operands(k_, pool_, e, [&](ExprId o) { return rewrite(o); });
    return done_[e.index()] = result;
  }

  ExprId sum(const std::vector<ExprId>& all) {
    std::vector<std::pair<int, ExprId>> sorted;
    for (ExprId t : all) {
      const ExprId r = rewrite(t);
      sorted.emplace_back(depth_of(r), r);
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    ExprId total = sorted[0].second;
    for (size_t i = 1; i < sorted.size(); ++i) total = pool_.make(ExprOp::kAdd, total, sorted[i].second);
    return total;
  }

  Kernel& k_;
  ExprPool& pool_;
  std::vector<int> depth_;   // by variable: loops around its definition
  std::vector<int> depths_;  // by expression; negative: not known yet
  std::vector<ExprId> done_;
};

class Sharer {
 public:
  Sharer(Kernel& k, ExprPool& pool) : k_(k), pool_(pool) {}

  void run() {
    var_block_.assign(k_.vars.size(), 0);
    known_ = k_.exprs.size();
    spots_.assign(known_, {});
    counts_.assign(known_, 0);
    hints_.assign(known_, {});
    classify();
    survey(k_.body, {}, StmtKind::kBlock);
    decide();
    mapped_.assign(known_, {});
    uint32_t next = 0;
    k_.body = rebuild(k_.body, next);
  }

 private:
  // ---- facts per expression: does it read a mut, and the deepest block whose variables it needs
  void classify() {
    has_mut_.assign(known_, 0);
    for (size_t i = 0; i < known_; ++i) {
      const ExprNode& n = k_.exprs[ExprId(i)];
      if (n.op == ExprOp::kVar && k_.vars[n.var].is_mut) has_mut_[i] = 1;
      for_operands(n, [&](ExprId o) { has_mut_[i] |= has_mut_[o.index()]; });
    }
  }
  uint32_t deeper(uint32_t a, uint32_t b) const { return blocks_[a].depth >= blocks_[b].depth ? a : b; }
  uint32_t needs(ExprId e) {
    if (needs_.empty()) needs_.assign(known_, kNowhere);
    uint32_t& r = needs_[e.index()];
    if (r != kNowhere) return r;
    const ExprNode& n = k_.exprs[e];
    uint32_t deepest = n.op == ExprOp::kVar ? var_block_[n.var.index()] : 0;
    for_operands(n, [&](ExprId o) { deepest = deeper(deepest, needs(o)); });
    return needs_[e.index()] = deepest;
  }

  // ---- where roots are used. Blocks are numbered in the order of this walk, which `rebuild` repeats.
  void survey(const Block& b, Spot owner, StmtKind kind) {
    const auto id = static_cast<uint32_t>(blocks_.size());
    blocks_.push_back({owner, kind, owner.block == kNowhere ? 0 : blocks_[owner.block].depth + 1});
    for (uint32_t i = 0; i < b.size(); ++i) {
      const Stmt& s = k_.stmts[b[i]];
      for_exprs(s, [&](ExprId e) { use(e, {id, i}); });
      if (s.var && s.kind != StmtKind::kFor && defines_var(s)) var_block_[s.var.index()] = id;
      if (s.kind == StmtKind::kLet && !hints_[s.value.index()]) hints_[s.value.index()] = s.var;
      if (s.kind == StmtKind::kFor) var_block_[s.var.index()] = static_cast<uint32_t>(blocks_.size());
      if (has_blocks(s)) {
        survey(s.body, {id, i}, s.kind);
        survey(s.orelse, {id, i}, s.kind);
      }
    }
  }
  static bool has_blocks(const Stmt& s) {
    return s.kind == StmtKind::kFor || s.kind == StmtKind::kWhile || s.kind == StmtKind::kIf || s.kind == StmtKind::kBlock;
  }
  void use(ExprId e, Spot at) {
    Spot& s = spots_[e.index()];
    s = s.block == kNowhere ? at : meet(s, at);
    ++counts_[e.index()];
  }
  Spot meet(Spot a, Spot b) const {
    while (a.block != b.block) {
      if (blocks_[a.block].depth >= blocks_[b.block].depth)
        a = blocks_[a.block].owner;
      else
        b = blocks_[b.block].owner;
    }
    return {a.block, std::min(a.at, b.at)};
  }

  // ---- decisions, users before what they use: operands have smaller numbers
  void decide() {
    named_.assign(known_, {});
    for (size_t i = known_; i-- > 0;) {
      const ExprId e(i);
      const ExprNode& n = k_.exprs[e];
      if (counts_[i] == 0 || !n.a) {
        if (counts_[i] != 0 && n.op == ExprOp::kIota) decide_name(e);
        continue;
      }
      if (!has_mut_[i]) decide_name(e);
      const int times = named_[i] ? 1 : std::min(counts_[i], 2);
      for_operands(n, [&](ExprId o) {
        for (int t = 0; t < times; ++t) use(o, spots_[i]);
      });
    }
  }
  void decide_name(ExprId e) {
    Spot spot = spots_[e.index()];
    bool left_loop = false;
    const uint32_t floor = needs(e);
    for (Spot up = spot; up.block != floor && blocks_[up.block].kind != StmtKind::kIf && blocks_[up.block].owner.block != kNowhere;) {
      const StmtKind kind = blocks_[up.block].kind;
      up = blocks_[up.block].owner;
      if (kind == StmtKind::kBlock) continue;  // a plain block costs nothing: no reason to move
      left_loop = true;
      spot = up;
    }
    if (counts_[e.index()] < 2 && !left_loop) return;
    if (spot.block == spots_[e.index()].block && counts_[e.index()] == 1) return;
    spots_[e.index()] = spot;
    named_[e.index()] = k_.vars.push({hints_[e.index()] ? k_.vars[hints_[e.index()]].name : "t", k_.exprs[e].type, false});
    places_[key(spot)].push_back(e);
  }
  static uint64_t key(Spot s) { return uint64_t(s.block) << 32 | s.at; }

  // ---- the new tree
  ExprId map(ExprId e, bool top) {
    if (!top && e.index() < known_ && named_[e.index()]) return var_expr(named_[e.index()]);
    if (!top && e.index() < known_ && mapped_[e.index()]) return mapped_[e.index()];
    if (!k_.exprs[e].a) return e;
    const ExprId made = with_operands(k_, pool_, e, [&](ExprId o) { return map(o, false); });
    if (!top && e.index() < known_) mapped_[e.index()] = made;
    return made;
  }
  ExprId var_expr(VarId v) {
    ExprNode n;
    n.op = ExprOp::kVar;
    n.type = k_.vars[v].type;
    n.var = v;
    return pool_.intern(std::move(n));
  }
  StmtId let(VarId v, ExprId value) {
    Stmt s;
    s.kind = StmtKind::kLet;
    s.var = v;
    s.value = value;
    return k_.stmts.push(std::move(s));
  }

  Block rebuild(const Block& b, uint32_t& next) {
    const uint32_t id = next++;
    Block out;
    for (uint32_t i = 0; i < b.size(); ++i) {
      if (const auto it = places_.find(key({id, i})); it != places_.end()) {
        std::vector<ExprId> here = it->second;
        std::sort(here.begin(), here.end());
        for (ExprId e : here) out.push_back(let(named_[e.index()], map(e, true)));
      }
      const StmtId stmt = b[i];
      for_exprs(k_.stmts[stmt], [&](ExprId& e) { e = map(e, false); });
      // The condition of a while is evaluated each round: names over muts cannot stand before it.
      if (k_.stmts[stmt].kind != StmtKind::kWhile) share_inside(stmt, out);
      if (has_blocks(k_.stmts[stmt])) {
        Block body = std::move(k_.stmts[stmt].body), orelse = std::move(k_.stmts[stmt].orelse);
        body = rebuild(body, next);
        orelse = rebuild(orelse, next);
        k_.stmts[stmt].body = std::move(body);
        k_.stmts[stmt].orelse = std::move(orelse);
      }
      out.push_back(stmt);
    }
    return out;
  }

  // What one statement computes more than once (over muts: the rest has its names already).
  void share_inside(StmtId stmt, Block& out) {
    inside_.resize(k_.exprs.size());
    std::vector<ExprId> order;
    bool any = false;
    const auto visit = [&](auto&& self, ExprId e) -> void {
      if (!k_.exprs[e].a) return;
      if (inside_[e.index()].times++ > 0) {
        any = true;
        return;
      }
      for_operands(k_.exprs[e], [&](ExprId o) { self(self, o); });
      order.push_back(e);
    };
    for_exprs(k_.stmts[stmt], [&](ExprId e) { visit(visit, e); });
    if (any) share_repeated(stmt, order, out);
    for (ExprId e : order) inside_[e.index()] = {};
  }
  void share_repeated(StmtId stmt, const std::vector<ExprId>& order, Block& out) {
    const auto shared = [&](ExprId e) {
      const ExprId made = inside_[e.index()].made;
      return made ? made : e;
    };
    for (ExprId e : order) {
      ExprNode n = k_.exprs[e];
      for (ExprId* o : {&n.a, &n.b, &n.c})
        if (o->valid()) *o = shared(*o);
      ExprId made = pool_.intern(std::move(n));
      if (inside_[e.index()].times > 1) {
        const VarId v = k_.vars.push({"t", k_.exprs[made].type, false});
        out.push_back(let(v, made));
        made = var_expr(v);
      }
      inside_[e.index()].made = made;
    }
    for_exprs(k_.stmts[stmt], [&](ExprId& e) { e = shared(e); });
  }

  Kernel& k_;
  ExprPool& pool_;
  size_t known_ = 0;  // expressions before this pass
  std::vector<uint8_t> has_mut_;
  std::vector<uint32_t> var_block_, needs_;
  std::vector<BlockInfo> blocks_;
  std::vector<Spot> spots_;
  std::vector<int> counts_;
  std::vector<VarId> hints_, named_;
  std::vector<ExprId> mapped_;
  struct Inside {
    int times = 0;
    ExprId made;
  };
  std::vector<Inside> inside_;  // one statement, by expression
  std::unordered_map<uint64_t, std::vector<ExprId>> places_;
};

}  // namespace

void hoist_and_share(Kernel& k, ExprPool& pool) {
  SumOrder(k, pool).run();
  Sharer(k, pool).run();
  simplify_kernel(k, pool);
}
void hoist_and_share(Kernel& k) {
  ExprPool pool(k);
  hoist_and_share(k, pool);
}

}  // namespace nnc

// Simplification and compaction. Both keep every bit of every result.

#include "ir/base/kernel_exprs.h"

namespace nnc {

Result<std::vector<int64_t>> complete_dims(const Kernel& k, std::span<const int64_t> dims) {
  if (dims.size() != k.symbols.size()) return Error(Code::kInternal, "kernel launched with another number of dims than it has symbols");
  std::vector<int64_t> values(dims.begin(), dims.end());
  std::vector<uint8_t> known(values.size());
  for (size_t i = 0; i < known.size(); ++i) known[i] = k.symbols[SymbolId(i)].kind != SymKind::kDerived;
  NNC_TRY(k.symbols.derive(values, known));
  return values;
}

namespace {

class Simplifier {
 public:
  Simplifier(Kernel& k, ExprPool& pool) : k_(k), pool_(pool), copies_(k.vars.size()) {}

  void run() {
    k_.body = block(std::move(k_.body));
    while (drop_dead()) {}
  }

 private:
  // ---- forward: folding, copies, constant control
  ExprId rewrite(ExprId e) {
    if (e.index() < memo_.size() && memo_[e.index()].valid()) return memo_[e.index()];
    ExprId result = e;
    if (k_.exprs[e].op == ExprOp::kVar) {
      const ExprId copy = copies_[k_.exprs[e].var.index()];
      if (copy) result = copy;
    } else if (const ExprId a = k_.exprs[e].a, b = k_.exprs[e].b, c = k_.exprs[e].c; a) {
      const ExprId new_a = rewrite(a), new_b = b ? rewrite(b) : b, new_c = c ? rewrite(c) : c;
      if (new_a != a || new_b != b || new_c != c || !pool_.settled(e)) {
        ExprNode n = k_.exprs[e];
        n.a = new_a, n.b = new_b, n.c = new_c;
        result = pool_.make(std::move(n));
      }
    }
    if (e.index() >= memo_.size()) memo_.resize(k_.exprs.size());
    memo_[e.index()] = result;
    return result;
  }
  // The expression is known where the variable is, and stays what it is.
  bool is_copy(ExprId e) const {
    const ExprNode& n = k_.exprs[e];
    return n.op == ExprOp::kConst || (n.op == ExprOp::kVar && !k_.vars[n.var].is_mut) || (n.op >= ExprOp::kTask0 && n.op <= ExprOp::kDim);
  }
  std::optional<bool> constant_mask(ExprId e) const {
    const ExprNode& n = k_.exprs[e];
    return n.op == ExprOp::kConst ? std::optional(n.bits != 0) : std::nullopt;
  }

  Block block(Block in) {
    Block out;
    for (StmtId id : in) statement(id, out);
    return out;
  }
  void append(Block& out, Block more) { out.insert(out.end(), more.begin(), more.end()); }

  void statement(StmtId id, Block& out) {
    for_exprs(k_.stmts[id], [&](ExprId& e) { e = rewrite(e); });
    Stmt& s = k_.stmts[id];
    switch (s.kind) {
      case StmtKind::kLet:
        if (is_copy(s.value)) {
          copies_[s.var.index()] = s.value;
          return;
        }
        break;
      case StmtKind::kIf: {
        if (const auto taken = constant_mask(s.value)) return append(out, block(*taken ? std::move(s.body) : std::move(s.orelse)));
        Block then = block(std::move(k_.stmts[id].body)), otherwise = block(std::move(k_.stmts[id].orelse));
        if (then.empty() && otherwise.empty()) return;
        k_.stmts[id].body = std::move(then);
        k_.stmts[id].orelse = std::move(otherwise);
        break;
      }
      case StmtKind::kFor: {
        const auto begin = pool_.as_index(s.index), end = pool_.as_index(s.index2);
        if (begin && end && *begin >= *end) return;
        if (begin && end && uint64_t(*end) - uint64_t(*begin) <= uint64_t(s.n)) {
          copies_[s.var.index()] = s.index;
          return append(out, block(std::move(s.body)));
        }
        Block body = block(std::move(s.body));
        if (body.empty()) return;
        k_.stmts[id].body = std::move(body);
        break;
      }
      case StmtKind::kWhile:
        if (constant_mask(s.value) == false) return;
        [[fallthrough]];
      case StmtKind::kBlock: {
        Block body = block(std::move(s.body));
        if (body.empty() && k_.stmts[id].kind == StmtKind::kBlock) return;
        k_.stmts[id].body = std::move(body);
        break;
      }
      case StmtKind::kStore:
        if (s.mask && constant_mask(s.mask) == true) s.mask = {};
        if (s.mask && constant_mask(s.mask) == false) return;
        break;
      case StmtKind::kLoad:
        if (s.mask && constant_mask(s.mask) == true) s.mask = s.other = {};
        break;
      default: break;
    }
    out.push_back(id);
  }

  // ---- backward: what nobody reads
  void count(ExprId e) {
    const ExprNode& n = k_.exprs[e];
    if (seen_[e.index()]) return;
    seen_[e.index()] = 1;
    if (n.op == ExprOp::kVar) reads_[n.var.index()] = 1;
    for_operands(n, [&](ExprId o) { count(o); });
  }
  void count(const Block& b) {
    for (StmtId id : b) {
      const Stmt& s = k_.stmts[id];
      for_exprs(s, [&](ExprId e) { count(e); });
      for (VarId f : {s.f0, s.f1})
        if (f) reads_[f.index()] = 1;
      if (s.kind == StmtKind::kFrag && s.var) reads_[s.var.index()] = 1;
      count(s.body);
      count(s.orelse);
    }
  }
  bool is_dead(const Stmt& s) const {
    const bool unread = s.var && !reads_[s.var.index()];
    return unread && (s.kind == StmtKind::kLet || s.kind == StmtKind::kMut || s.kind == StmtKind::kSet || s.kind == StmtKind::kLoad);
  }
  bool sweep(Block& b) {
    bool changed = false;
    Block kept;
    for (StmtId id : b) {
      Stmt& s = k_.stmts[id];
      if (is_dead(s)) {
        changed = true;
        continue;
      }
      changed |= sweep(s.body) | sweep(s.orelse);
      const bool empties =
          (s.kind == StmtKind::kFor || s.kind == StmtKind::kIf || s.kind == StmtKind::kBlock) && s.body.empty() && s.orelse.empty();
      if (empties)
        changed = true;
      else
        kept.push_back(id);
    }
    b = std::move(kept);
    return changed;
  }
  bool drop_dead() {
    reads_.assign(k_.vars.size(), 0);
    seen_.assign(k_.exprs.size(), 0);
    count(k_.body);
    return sweep(k_.body);
  }

  Kernel& k_;
  ExprPool& pool_;
  std::vector<ExprId> memo_;    // by expression
  std::vector<ExprId> copies_;  // by variable: what it is a copy of
  std::vector<uint8_t> reads_, seen_;
};

class Compactor {
 public:
  explicit Compactor(Kernel& k) : from_(k), pool_(to_) {
    to_.name = std::move(k.name);
    to_.symbols = k.symbols;
    to_.param_count = k.param_count;
    to_.grid = k.grid;
    to_.threads = k.threads;
    to_.index64 = k.index64;
    to_.fast = k.fast;
    to_.in_place = k.in_place;
    to_.facts = k.facts;
  }

  Kernel run() {
    vars_.assign(from_.vars.size(), {});
    buffers_.assign(from_.buffers.size(), {});
    exprs_.assign(from_.exprs.size(), {});
    for (uint32_t i = 0; i < from_.param_count; ++i) buffer(BufId(i));
    to_.body = block(from_.body);
    return std::move(to_);
  }

 private:
  VarId var(VarId v) {
    VarId& to = vars_[v.index()];
    if (!to) to = to_.vars.push(from_.vars[v]);
    return to;
  }
  BufId buffer(BufId b) {
    BufId& to = buffers_[b.index()];
    if (!to) to = to_.buffers.push(from_.buffers[b]);
    return to;
  }
  ExprId expr(ExprId e) {
    if (exprs_[e.index()]) return exprs_[e.index()];
    ExprNode n = from_.exprs[e];
    if (n.a) n.a = expr(n.a);
    if (n.b) n.b = expr(n.b);
    if (n.c) n.c = expr(n.c);
    if (n.var) n.var = var(n.var);
    return exprs_[e.index()] = pool_.intern(std::move(n));
  }
  Block block(const Block& b) {
    Block out;
    for (StmtId id : b) {
      const StmtId to = to_.stmts.push({});
      Stmt s = from_.stmts[id];
      for_exprs(s, [&](ExprId& e) { e = expr(e); });
      for (VarId* v : {&s.f0, &s.f1, &s.var})
        if (*v) *v = var(*v);
      if (s.buf) s.buf = buffer(s.buf);
      if (s.buf2) s.buf2 = buffer(s.buf2);
      if (s.kind == StmtKind::kCheck) {
        to_.sites.push_back(from_.sites[s.site]);
        s.site = static_cast<uint32_t>(to_.sites.size() - 1);
      }
      if (s.kind == StmtKind::kNote) {
        to_.notes.push_back(from_.notes[s.loc]);
        s.loc = static_cast<uint32_t>(to_.notes.size() - 1);
      }
      s.body = block(s.body);
      s.orelse = block(s.orelse);
      to_.stmts[to] = std::move(s);
      out.push_back(to);
    }
    return out;
  }

  Kernel& from_;
  Kernel to_;
  ExprPool pool_;
  std::vector<VarId> vars_;
  std::vector<BufId> buffers_;
  std::vector<ExprId> exprs_;
};

}  // namespace

void simplify_kernel(Kernel& k, ExprPool& pool) { Simplifier(k, pool).run(); }
void simplify_kernel(Kernel& k) {
  ExprPool pool(k);
  simplify_kernel(k, pool);
}
void compact_kernel(Kernel& k) { k = Compactor(k).run(); }

}  // namespace nnc

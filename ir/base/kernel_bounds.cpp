#include "ir/base/kernel_bounds.h"

#include <algorithm>

#include "ir/base/frag_layout.h"
#include "ir/base/kernel_prover.h"
#include "ir/base/kernel_rules.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

// What holds where a condition is true, and where it is false.
struct Conditions {
  std::vector<Dim> yes, no;
};

class BoundsProof {
 public:
  explicit BoundsProof(const Kernel& k) : k_(k) {}

  BoundsReport run() {
    for (const Dim& g : k_.grid)
      if (g.is_const() && g.constant() <= 0) return {};  // no task ever runs
    for (size_t i = 0; i < k_.symbols.size(); ++i) symbol(SymbolId(i));
    first_ = k_.symbols.size();
    for (size_t i = 0; i < 3; ++i) {
      const Dim last = minus(k_.grid[i], 1);
      tasks_[i] = range(Dim(0), last);
      p_.assume(last);
    }
    thread_ = range(Dim(0), Dim(k_.threads - 1));
    lane_ = range(Dim(0), Dim(std::min(k_.threads, 32) - 1));
    values_.assign(k_.vars.size(), std::nullopt);
    masks_.assign(k_.vars.size(), {});
    block(k_.body);
    std::ranges::stable_sort(open_, {}, &Open::place);
    for (Open& o : open_) report_.open.push_back(std::move(o.report));
    return std::move(report_);
  }

 private:
  // ---- atoms
  Dim atom(Atom a) { return Dim(p_.add(std::move(a))); }
  Dim range(std::optional<Dim> lo, std::optional<Dim> hi) {
    Atom a;
    a.lo = std::move(lo);
    a.hi = std::move(hi);
    return atom(std::move(a));
  }
  Dim opaque() { return range(std::nullopt, std::nullopt); }
  Dim minus(const Dim& a, const Dim& b) { return or_opaque(DimPoly::sub(a, b)); }
  Dim or_opaque(std::optional<Dim> d) { return d ? std::move(*d) : opaque(); }

  void symbol(SymbolId id) {
    const Symbol& s = k_.symbols[id];
    Atom a;
    a.lo = Dim(s.lo);
    a.hi = Dim(s.hi);
    a.divisor = s.divisor;
    const Dim self(id);
    if (s.op == SymOp::kFloorDiv || s.op == SymOp::kMin || s.op == SymOp::kMax) { a.facts = definition(s.op, self, s.a, s.b); }
    p_.add(std::move(a));
  }
  // Inequalities that define `self`.
  std::vector<Dim> definition(SymOp op, const Dim& self, const Dim& a, const Dim& b) {
    std::vector<Dim> out;
    const auto add = [&](std::optional<Dim> d) {
      if (d) out.push_back(std::move(*d));
    };
    if (op == SymOp::kFloorDiv) {
      const auto product = DimPoly::mul(self, b);
      if (!product) return out;
      add(DimPoly::sub(a, *product));  // b q <= a
      const auto next = DimPoly::add(*product, minus(b, 1));
      if (next) add(DimPoly::sub(*next, a));  // a <= b q + b - 1
    } else {
      const bool is_min = op == SymOp::kMin;
      for (const Dim* side : {&a, &b}) add(is_min ? DimPoly::sub(*side, self) : DimPoly::sub(self, *side));
    }
    return out;
  }

  // The number of a lane of a value of n lanes.
  Dim lane_number(int n) {
    if (n == 1) return 0;
    auto [it, fresh] = lane_atoms_.try_emplace(n);
    if (fresh) it->second = range(Dim(0), Dim(n - 1));
    return it->second;
  }

  Dim quotient(const Dim& a, const Dim& b) {
    if (!p_.plainly_at_least_zero(minus(b, 1))) return opaque();
    if (const auto q = DimPoly::div_exact(a, b)) return *q;
    if (within(a, b)) return 0;
    // The multiples of b leave.
    Dim whole = 0, rest = a;
    if (const auto parts = DimPoly::divide(a, b); parts && parts->first != Dim(0)) {
      whole = parts->first;
      rest = parts->second;
      if (within(rest, b)) return whole;
    }
    for (const auto& [x, y, q] : quotients_)
      if (x == rest && y == b) {
        tighten(q, rest, b);
        return or_opaque(DimPoly::add(whole, q));
      }
    for (size_t i = 0; i < k_.symbols.size(); ++i)
      if (const Symbol& s = k_.symbols[SymbolId(i)]; s.op == SymOp::kFloorDiv && s.a == rest && s.b == b)
        return or_opaque(DimPoly::add(whole, Dim(SymbolId(i))));
    Atom atom_q;
    if (p_.plainly_at_least_zero(rest)) atom_q.lo = Dim(0);  // kept for other places, where other facts hold
    atom_q.hi = quotient_bound(rest, b);
    const AtomId id = p_.add(std::move(atom_q));
    p_.edit(id).facts = definition(SymOp::kFloorDiv, Dim(id), rest, b);
    quotients_.push_back({rest, b, Dim(id)});
    tighten(Dim(id), rest, b);
    return or_opaque(DimPoly::add(whole, Dim(id)));
  }
  // Where conditions bound `a` closer than its range does, the quotient is bounded by whole numbers, which their sum with its definition
  // would not show.
  void tighten(const Dim& q, const Dim& a, const Dim& b) {
    const auto top = p_.upper(a, first_);
    if (!b.is_const() || b.constant() < 2 || !top || !top->is_const() || top->constant() < b.constant()) return;
    int64_t below = -1, reached = top->constant();
    while (reached - below > 1) {
      const int64_t middle = below + (reached - below) / 2;
      (p_.at_least_zero(minus(Dim(middle), a)) ? reached : below) = middle;
    }
    if (reached / b.constant() < top->constant() / b.constant()) p_.assume(minus(Dim(reached / b.constant()), q));
  }
  // 0 <= a < b
  bool within(const Dim& a, const Dim& b) { return p_.at_least_zero(a) && p_.at_least_zero(minus(minus(b, 1), a)); }
  // floor(a / b) from above, over symbols.
  std::optional<Dim> quotient_bound(const Dim& a, const Dim& b) {
    const auto top = p_.upper(a, first_);
    if (!top) return std::nullopt;
    const auto parts = DimPoly::divide(*top, b);
    if (!parts) return std::nullopt;
    const Dim& rest = parts->second;
    if (p_.plainly_at_least_zero(minus(minus(b, 1), rest))) {
      // rest < b, so floor(rest / b) <= 0; below zero it is <= -1.
      return p_.plainly_at_least_zero(minus(Dim(-1), rest)) ? minus(parts->first, 1) : parts->first;
    }
    return std::nullopt;
  }
  Dim remainder(const Dim& a, const Dim& b) {
    if (!p_.plainly_at_least_zero(minus(b, 1))) return opaque();
    const Dim q = quotient(a, b);
    const auto product = DimPoly::mul(q, b);
    if (q.is_const() && product) return or_opaque(DimPoly::sub(a, *product));
    for (const auto& [x, y, r] : remainders_)
      if (x == a && y == b) return r;
    Atom r;
    r.lo = Dim(0);
    r.hi = minus(b, 1);
    const AtomId id = p_.add(std::move(r));
    if (product)
      if (const auto rest = DimPoly::sub(a, *product)) {
        const Dim difference = minus(*rest, Dim(id));  // a - b q - r = 0
        p_.edit(id).facts = {difference, minus(Dim(0), difference)};
      }
    remainders_.push_back({a, b, Dim(id)});
    return Dim(id);
  }
  Dim extreme(Atom::Kind kind, const Dim& a, const Dim& b) {
    if (kind != Atom::kEither) {
      const bool is_min = kind == Atom::kMin;
      if (p_.at_least_zero(minus(b, a))) return is_min ? a : b;
      if (p_.at_least_zero(minus(a, b))) return is_min ? b : a;
    }
    Atom m;
    m.kind = kind;
    m.a = a;
    m.b = b;
    const AtomId id = p_.add(std::move(m));
    if (kind != Atom::kEither) p_.edit(id).facts = definition(kind == Atom::kMin ? SymOp::kMin : SymOp::kMax, Dim(id), a, b);
    return Dim(id);
  }
  Dim of_type(const KType& t) {
    if (t.kind != KType::kElem || !is_int(t.elem) || dtype_bits(t.elem) > 32) return opaque();
    return range(Dim(int_min(t.elem)), Dim(static_cast<int64_t>(int_max(t.elem))));
  }

  // A number that an index is made of: clamped constants are followed, all else has the bounds of its type.
  Dim element(const ExprNode& n) {
    const bool is_signed = n.type.kind == KType::kElem && is_signed_int(n.type.elem);
    if (is_signed && n.op == ExprOp::kConst) {
      const int unused = 64 - dtype_bits(n.type.elem);
      return int64_t(n.bits << unused) >> unused;
    }
    if (is_signed && (n.op == ExprOp::kMin || n.op == ExprOp::kMax))
      return extreme(n.op == ExprOp::kMin ? Atom::kMin : Atom::kMax, value(n.a), value(n.b));
    return of_type(n.type);
  }

  // ---- expressions: an index value, by lane
  Dim value(ExprId e) {
    const ExprNode& n = k_.exprs[e];
    const auto a = [&] { return value(n.a); };
    const auto b = [&] { return value(n.b); };
    if (n.type.kind != KType::kIndex) return element(n);
    switch (n.op) {
      case ExprOp::kConst: return int64_t(n.bits);
      case ExprOp::kVar: return variable(n.var);
      case ExprOp::kTask0:
      case ExprOp::kTask1:
      case ExprOp::kTask2: return tasks_[size_t(n.op) - size_t(ExprOp::kTask0)];
      case ExprOp::kThread: return thread_;
      case ExprOp::kLane: return lane_;
      case ExprOp::kDim: return Dim(SymbolId(static_cast<uint32_t>(n.bits)));
      case ExprOp::kIota: return lane_number(n.type.lanes);
      case ExprOp::kSplat: return a();
      case ExprOp::kNeg: return or_opaque(DimPoly::sub(Dim(0), a()));
      case ExprOp::kAdd: return or_opaque(DimPoly::add(a(), b()));
      case ExprOp::kSub: return or_opaque(DimPoly::sub(a(), b()));
      case ExprOp::kMul: return or_opaque(DimPoly::mul(a(), b()));
      case ExprOp::kFloorDiv: return quotient(a(), b());
      case ExprOp::kFloorMod: return remainder(a(), b());
      case ExprOp::kDiv:
      case ExprOp::kRem: {
        const Dim x = a();
        if (!p_.at_least_zero(x)) return opaque();
        return n.op == ExprOp::kDiv ? quotient(x, b()) : remainder(x, b());
      }
      case ExprOp::kShl:
      case ExprOp::kShr: {
        const Dim by = b();
        if (!by.is_const() || by.constant() < 0 || by.constant() > 40) return opaque();
        const Dim power(int64_t(1) << by.constant());
        return n.op == ExprOp::kShl ? or_opaque(DimPoly::mul(a(), power)) : quotient(a(), power);
      }
      case ExprOp::kAnd: {
        const Dim mask = b();
        if (!mask.is_const() || mask.constant() < 0) return opaque();
        const int64_t m = mask.constant();
        return (m & (m + 1)) == 0 ? remainder(a(), m + 1) : range(Dim(0), mask);
      }
      case ExprOp::kMin: return extreme(Atom::kMin, a(), b());
      case ExprOp::kMax: return extreme(Atom::kMax, a(), b());
      case ExprOp::kSelect: return extreme(Atom::kEither, value(n.b), value(n.c));
      case ExprOp::kAbs: return range(Dim(0), std::nullopt);
      case ExprOp::kCastZext:
      case ExprOp::kCastSext: return a();
      case ExprOp::kExtract: {
        bool ok = true;
        const Dim lane = lane_number(k_.exprs[n.a].type.lanes), all = a();
        const Dim one = lane.is_const() ? all : Prover::substitute_or(all, *lane.as_symbol(), Dim(int64_t(n.bits)), &ok);
        return ok ? one : opaque();
      }
      default: return opaque();
    }
  }
  Dim variable(VarId v) {
    auto& known = values_[v.index()];
    if (!known) known = opaque();
    return *known;
  }

  void append(std::vector<Dim>& to, const std::vector<Dim>& from) { to.insert(to.end(), from.begin(), from.end()); }

  Conditions conditions(ExprId e) {
    const ExprNode& n = k_.exprs[e];
    Conditions out;
    const auto compare = [&](std::optional<Dim> yes, std::optional<Dim> no) {
      if (yes) out.yes.push_back(std::move(*yes));
      if (no) out.no.push_back(std::move(*no));
    };
    const bool on_index = n.a && k_.exprs[n.a].type.kind == KType::kIndex;
    switch (n.op) {
      case ExprOp::kVar: return masks_[n.var.index()];
      case ExprOp::kSplat: return conditions(n.a);
      case ExprOp::kNot: {
        Conditions c = conditions(n.a);
        return {std::move(c.no), std::move(c.yes)};
      }
      case ExprOp::kAnd:
      case ExprOp::kOr: {
        const Conditions a = conditions(n.a), b = conditions(n.b);
        if (n.op == ExprOp::kAnd)
          append(out.yes, a.yes), append(out.yes, b.yes);
        else
          append(out.no, a.no), append(out.no, b.no);
        return out;
      }
      case ExprOp::kLt:
      case ExprOp::kLe:
      case ExprOp::kEq: {
        if (!on_index) return out;
        const auto up = DimPoly::sub(value(n.b), value(n.a));  // b - a
        if (!up) return out;
        const auto down = DimPoly::sub(Dim(0), *up);
        if (n.op == ExprOp::kLt)
          compare(DimPoly::sub(*up, 1), down);
        else if (n.op == ExprOp::kLe)
          compare(up, down ? DimPoly::sub(*down, 1) : std::nullopt);
        else
          compare(up, std::nullopt), compare(down, std::nullopt);
        return out;
      }
      default: return out;
    }
  }

  // ---- statements
  void forget_sets(const Block& b) {
    for (StmtId id : b) {
      const Stmt& s = k_.stmts[id];
      if (s.kind == StmtKind::kSet) {
        values_[s.var.index()] = std::nullopt;
        masks_[s.var.index()] = {};
      }
      forget_sets(s.body);
      forget_sets(s.orelse);
    }
  }
  void assume(const std::vector<Dim>& facts) {
    for (const Dim& f : facts) p_.assume(f);
  }

  // What holds after an access of a block holds at its end too, so all accesses of a block are proved together.
  void block(const Block& b) {
    const size_t first = waiting_.size();
    for (StmtId id : b) statement(id);
    settle(first);
  }

  void define(const Stmt& s) {
    const KType& t = k_.vars[s.var].type;
    if (t.kind == KType::kIndex) values_[s.var.index()] = value(s.value);
    if (t.kind == KType::kMask) masks_[s.var.index()] = conditions(s.value);
  }

  void statement(StmtId id) {
    const Stmt& s = k_.stmts[id];
    switch (s.kind) {
      case StmtKind::kLet:
      case StmtKind::kMut:
      case StmtKind::kSet: define(s); return;
      case StmtKind::kFor: loop(s); return;
      case StmtKind::kWhile: {
        forget_sets(s.body);
        const size_t mark = p_.mark();
        assume(conditions(s.value).yes);
        block(s.body);
        p_.drop(mark);
        forget_sets(s.body);
        return;
      }
      case StmtKind::kIf: {
        const Conditions c = conditions(s.value);
        const size_t mark = p_.mark();
        assume(c.yes);
        block(s.body);
        p_.drop(mark);
        forget_sets(s.body);
        assume(c.no);
        block(s.orelse);
        p_.drop(mark);
        forget_sets(s.orelse);
        return;
      }
      case StmtKind::kBlock: block(s.body); return;
      case StmtKind::kCheck: {
        const Dim bound = value(s.index2);
        Atom a;
        a.lo = Dim(0);
        a.hi = minus(bound, 1);
        if (!p_.at_least_zero(minus(bound, 1))) a.hi_needs = minus(bound, 1);
        values_[s.var.index()] = atom(std::move(a));
        return;
      }
      default: access(id); return;
    }
  }

  void loop(const Stmt& s) {
    const Dim begin = value(s.index), end = value(s.index2);
    Dim last = minus(end, 1);
    if (const auto length = DimPoly::sub(end, begin)) {
      if (length->is_const() && length->constant() <= 0) return;  // no round ever runs
      if (length->is_const() && length->constant() > 0)
        last = or_opaque(DimPoly::add(begin, (length->constant() - 1) / s.n * s.n));
      else if (p_.divisor(*length) % s.n == 0)
        last = minus(end, s.n);
    }
    values_[s.var.index()] = range(begin, last);
    forget_sets(s.body);
    const size_t mark = p_.mark();
    if (const auto length = DimPoly::sub(end, begin)) p_.assume(minus(*length, 1));
    block(s.body);
    p_.drop(mark);
    forget_sets(s.body);
  }

  void access(StmtId id) {
    const Stmt& s = k_.stmts[id];
    switch (s.kind) {
      case StmtKind::kLoad: plain_access(id, s.buf, s.index, k_.vars[s.var].type.lanes, s.mask); return;
      case StmtKind::kStore: plain_access(id, s.buf, s.index, k_.exprs[s.value].type.lanes, s.mask); return;
      case StmtKind::kAtomic: plain_access(id, s.buf, s.index, 1, {}); return;
      case StmtKind::kCopy: {
        if (static_cast<CopyOp>(s.op) != CopyOp::kAsync) return;
        const int64_t n = s.n * 8 / std::max(8, dtype_bits(k_.buffers[s.buf].elem));
        prove(id, s.buf, value(s.index), range(Dim(0), Dim(n - 1)), false);
        const size_t mark = p_.mark();
        if (s.mask) assume(conditions(s.mask).yes);
        prove(id, s.buf2, value(s.index2), range(Dim(0), Dim(n - 1)), s.mask.valid());
        p_.drop(mark);
        return;
      }
      case StmtKind::kFrag: {
        const auto op = static_cast<FragOp>(s.op);
        if (op != FragOp::kLoad && op != FragOp::kStore) return;
        const FragShape& f = k_.vars[op == FragOp::kLoad ? s.var : s.f0].type.frag;
        const int rows = s.n ? frag_cols(f) : frag_rows(f), cols = s.n ? frag_rows(f) : frag_cols(f);
        const Dim row = range(Dim(0), Dim(rows - 1)), col = range(Dim(0), Dim(cols - 1));
        const auto down = DimPoly::mul(row, value(s.index2));
        prove(id, s.buf, value(s.index), or_opaque(down ? DimPoly::add(*down, col) : std::nullopt), false);
        return;
      }
      default: return;
    }
  }
  void plain_access(StmtId id, BufId b, ExprId index, int lanes, ExprId mask) {
    const size_t mark = p_.mark();
    if (mask) assume(conditions(mask).yes);
    const bool scattered = k_.exprs[index].type.lanes > 1;
    prove(id, b, value(index), scattered ? Dim(0) : lane_number(lanes), mask.valid());
    p_.drop(mark);
  }
  struct Access {
    StmtId stmt;
    BufId buffer;
    Dim base, offset;
    bool masked;
    int place;                     // in the order of the text
    std::optional<Dim> low, high;  // to be shown: at least zero
  };

  void prove(StmtId id, BufId b, const Dim& base, const Dim& offset, bool masked) {
    Access a{id, b, base, offset, masked, report_.accesses++, DimPoly::add(base, offset), {}};
    if (a.low) a.high = DimPoly::sub(minus(k_.buffers[b].extent, 1), *a.low);
    if (!masked) return waiting_.push_back(std::move(a));
    judge(a, a.low && p_.at_least_zero(*a.low), a.high && p_.at_least_zero(*a.high));
  }

  void settle(size_t first) {
    std::vector<const Dim*> goals;
    for (size_t i = first; i < waiting_.size(); ++i)
      for (const std::optional<Dim>* goal : {&waiting_[i].low, &waiting_[i].high}) goals.push_back(*goal ? &**goal : nullptr);
    const std::vector<bool> shown = p_.all_at_least_zero(goals);
    for (size_t i = first; i < waiting_.size(); ++i) judge(waiting_[i], shown[2 * (i - first)], shown[2 * (i - first) + 1]);
    waiting_.resize(first);
  }

  void judge(const Access& a, bool low, bool high) {
    if (low && high) return;
    ++report_.unproved;
    const Dim& extent = k_.buffers[a.buffer].extent;
    AccessReport r;
    r.stmt = a.stmt;
    r.buffer = a.buffer;
    r.masked = a.masked;
    const auto lane = a.offset.as_symbol();
    const Dim reach = lane && p_[*lane].hi ? *p_[*lane].hi : a.offset;
    r.outside = !a.masked && a.base.is_const() && extent.is_const() && reach.is_const() &&
                (a.base.constant() < 0 || a.base.constant() > extent.constant() - 1 - reach.constant());
    r.text = cat("access to $", k_.buffers[a.buffer].name, " is not proved ",
                 low    ? "to end before its extent"
                 : high ? "not to start before it"
                        : "to lie inside");
    open_.push_back({a.place, std::move(r)});
  }

  const Kernel& k_;
  Prover p_;
  size_t first_ = 0;
  Dim tasks_[3], thread_, lane_;
  std::map<int, Dim> lane_atoms_;
  struct Named {
    Dim a, b, result;
  };
  std::vector<Named> quotients_, remainders_;
  std::vector<std::optional<Dim>> values_;
  std::vector<Conditions> masks_;
  std::vector<Access> waiting_;  // of the blocks at hand
  struct Open {
    int place;
    AccessReport report;
  };
  std::vector<Open> open_;
  BoundsReport report_;
};

}  // namespace

BoundsReport prove_accesses(const Kernel& k) { return BoundsProof(k).run(); }

}  // namespace nnc

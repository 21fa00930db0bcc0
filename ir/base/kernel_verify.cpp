// The verifier of kernel IR. Invariant 1 (a load is a statement) holds by construction of the tree, and the reader refuses text that says
// otherwise.

#include <algorithm>

#include "ir/base/frag_layout.h"
#include "ir/base/kernel_bounds.h"
#include "ir/base/kernel_rules.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

using Problems = std::vector<KernelProblem>;

// ---- 0, 2, 5, 6, 7: shapes of statements, scopes, types

class Scoping {
 public:
  Scoping(const Kernel& k, Problems& problems) : k_(k), problems_(problems) {}

  void run() {
    vars_.assign(k_.vars.size(), 0);
    ever_ = vars_;
    buffers_.assign(k_.buffers.size(), 0);
    header();
    for (const ExprNode& n : k_.exprs)
      if (TypeProblem p = check_expr(k_, n)) problem(p.invariant, std::move(p.text), {});
    if (problems_.empty()) block(k_.body, true);
  }

 private:
  void problem(int invariant, std::string message, StmtId at) { problems_.push_back({invariant, std::move(message), at}); }

  void header() {
    if (k_.param_count > k_.buffers.size()) return problem(0, "more parameters than buffers", {});
    if (k_.threads < 1 || k_.threads > 1024) problem(0, "threads must be 1 to 1024", {});
    for (uint32_t i = 0; i < k_.buffers.size(); ++i) {
      const KBuffer& b = k_.buffers[BufId(i)];
      const bool is_param = i < k_.param_count;
      buffers_[i] = is_param;
      if (!buffer_elem_ok(b.elem)) problem(0, cat("buffer '", b.name, "' has an element type that kernels do not hold"), {});
      if (b.align < 1 || (b.align & (b.align - 1)) != 0) problem(0, cat("buffer '", b.name, "' needs a power of two as alignment"), {});
      const bool outside = b.space == Space::kGlobal || b.space == Space::kConstant;
      if (outside != is_param) problem(0, cat("buffer '", b.name, "': parameters are global or constant, allocations shared or local"), {});
      if (!is_param && (!b.extent.is_const() || b.extent.constant() < 0 || b.extent.constant() > (1 << 26)))
        problem(0, cat("allocation '", b.name, "' needs a constant extent"), {});
      if (b.space == Space::kConstant && b.access != Access::kRead) problem(0, cat("constant buffer '", b.name, "' is written"), {});
      if (is_param && !k_.index64 && k_.symbols.range(b.extent).hi > INT32_MAX)
        problem(3, cat("buffer '", b.name, "' may be larger than an i32 index reaches"), {});
    }
    for (const InPlacePair& p : k_.in_place) {
      if (p.input >= k_.param_count || p.output >= k_.param_count || p.input == p.output)
        problem(0, "in-place pair outside the parameters", {});
      else if (k_.buffers[BufId(p.output)].access == Access::kRead || k_.buffers[BufId(p.input)].access != Access::kRead)
        problem(0, "an in-place pair is a read input and a written output", {});
    }
  }

  void uses(ExprId e, StmtId at) {
    if (!k_.exprs.contains(e)) return problem(0, "expression outside the kernel", at);
    const ExprNode& n = k_.exprs[e];
    if (n.op == ExprOp::kVar && !vars_[n.var.index()]) problem(2, cat("%", k_.vars[n.var].name, " is used outside its scope"), at);
    for_operands(n, [&](ExprId o) { uses(o, at); });
  }
  bool has_frag(VarId v, StmtId at) {
    if (!v || !k_.vars.contains(v)) return problem(0, "fragment missing", at), false;
    if (!vars_[v.index()]) return problem(2, cat("fragment %", k_.vars[v].name, " is used outside its scope"), at), false;
    if (k_.vars[v].type.kind != KType::kFrag) return problem(0, cat("%", k_.vars[v].name, " is no fragment"), at), false;
    return true;
  }

  void block(const Block& b, bool straight) {
    std::vector<VarId> mine;
    std::vector<BufId> my_buffers;
    for (StmtId id : b) {
      if (!k_.stmts.contains(id)) return problem(0, "statement outside the kernel", id);
      const Stmt& s = k_.stmts[id];
      for_exprs(s, [&](ExprId e) { uses(e, id); });
      for (BufId buf : {s.buf, s.buf2}) {
        if (!buf || s.kind == StmtKind::kAlloc) continue;
        if (!k_.buffers.contains(buf)) return problem(0, "buffer outside the kernel", id);
        if (!buffers_[buf.index()]) problem(2, cat("buffer '", k_.buffers[buf].name, "' is used outside its scope"), id);
      }
      if (s.var && !k_.vars.contains(s.var)) return problem(0, "variable outside the kernel", id);
      if (!problems_.empty() && problems_.back().invariant == 0 && problems_.back().stmt == id) return;
      statement(s, id, straight);
      if (defines_var(s)) {
        if (ever_[s.var.index()]) problem(2, cat("%", k_.vars[s.var].name, " is defined twice"), id);
        ever_[s.var.index()] = vars_[s.var.index()] = 1;
        mine.push_back(s.var);
      }
      if (s.kind == StmtKind::kAlloc && s.buf) {
        buffers_[s.buf.index()] = 1;
        my_buffers.push_back(s.buf);
      }
      const bool plain = s.kind == StmtKind::kBlock;
      block(s.body, straight && plain);
      block(s.orelse, false);
      if (s.kind == StmtKind::kFor) vars_[s.var.index()] = 0;
    }
    // A name dies with its block and never comes back.
    for (VarId v : mine) vars_[v.index()] = 0;
    for (BufId v : my_buffers) buffers_[v.index()] = 0;
  }

  const KType& type(ExprId e) const { return k_.exprs[e].type; }
  bool index1(ExprId e, StmtId at) {
    if (e && type(e) == KType::index()) return true;
    problem(0, "an index of one lane expected", at);
    return false;
  }

  void access(const Stmt& s, StmtId at, const KType& t, bool writes) {
    if (!s.buf || !s.index) return problem(0, "memory access without buffer or index", at);
    const KBuffer& b = k_.buffers[s.buf];
    if (!t.is_elem(value_dtype(b.elem)))
      problem(5, cat("buffer '", b.name, "' of ", dtype_name(b.elem), " is accessed as ", type_text(t), ": convert explicitly"), at);
    const KType& i = type(s.index);
    if (i.kind != KType::kIndex || (i.lanes != 1 && i.lanes != t.lanes))
      problem(0, cat("index of type ", type_text(i), " for ", int(t.lanes), " lanes"), at);
    if (s.mask && type(s.mask) != KType::mask(t.lanes))
      problem(0, cat("mask of type ", type_text(type(s.mask)), " for ", int(t.lanes), " lanes"), at);
    if (s.other && !s.mask) problem(6, "a value for masked-off lanes without a mask", at);
    if (s.other && type(s.other) != t) problem(5, "the value for masked-off lanes has another type", at);
    if (writes && b.access == Access::kRead) problem(0, cat("buffer '", b.name, "' is written but declared as read"), at);
    if (!writes && b.access == Access::kWrite) problem(0, cat("buffer '", b.name, "' is read but declared as written"), at);
  }

  void statement(const Stmt& s, StmtId at, bool straight) {
    switch (s.kind) {
      case StmtKind::kLet:
      case StmtKind::kMut:
      case StmtKind::kSet: {
        if (!s.var || !s.value) return problem(0, "definition without variable or value", at);
        const Variable& v = k_.vars[s.var];
        if (v.type != type(s.value)) problem(5, cat("%", v.name, " of ", type_text(v.type), " is given ", type_text(type(s.value))), at);
        if (s.kind == StmtKind::kSet && !v.is_mut) problem(2, cat("%", v.name, " is no mut"), at);
        if (s.kind == StmtKind::kSet && !vars_[s.var.index()]) problem(2, cat("%", v.name, " is set outside its scope"), at);
        if (s.kind == StmtKind::kLet && v.is_mut) problem(2, cat("%", v.name, " is a mut without an initial value"), at);
        return;
      }
      case StmtKind::kFor:
        if (!s.var || k_.vars[s.var].type != KType::index() || k_.vars[s.var].is_mut || s.n < 1) return problem(0, "malformed loop", at);
        index1(s.index, at);
        index1(s.index2, at);
        return;
      case StmtKind::kWhile:
      case StmtKind::kIf:
        if (!s.value || type(s.value) != KType::mask()) problem(0, "a condition is a mask of one lane", at);
        return;
      case StmtKind::kLoad:
        if (!s.var) return problem(0, "load without a variable", at);
        return access(s, at, k_.vars[s.var].type, false);
      case StmtKind::kStore:
        if (!s.value) return problem(0, "store without a value", at);
        return access(s, at, type(s.value), true);
      case StmtKind::kAtomic: return atomic(s, at);
      case StmtKind::kAlloc: return allocation(s, at, straight);
      case StmtKind::kPrefetch:
        if (!s.buf) return problem(0, "prefetch without buffer", at);
        index1(s.index, at);
        return;
      case StmtKind::kCheck:
        if (!s.var || !s.index || type(s.index).kind != KType::kIndex || k_.vars[s.var].type != type(s.index))
          return problem(0, "a check takes an index and gives one", at);
        index1(s.index2, at);
        if (s.site >= k_.sites.size()) problem(0, "check site outside the kernel's list", at);
        return;
      case StmtKind::kBarrier: return;
      case StmtKind::kWarp: return warp(s, at);
      case StmtKind::kCopy: return copy(s, at);
      case StmtKind::kFrag: return frag(s, at);
      case StmtKind::kNote:
        if (s.loc >= k_.notes.size()) problem(0, "note outside the kernel's list", at);
        return;
      case StmtKind::kBlock: return;
    }
    problem(0, "no such statement", at);
  }

  void atomic(const Stmt& s, StmtId at) {
    if (!s.value) return problem(0, "atomic without a value", at);
    const KType& t = type(s.value);
    access(s, at, t, true);
    if (t.lanes != 1 || t.kind != KType::kElem || !computes_in(t.elem)) return problem(0, cat("no atomics on ", type_text(t)), at);
    const bool cas = static_cast<AtomicOp>(s.op) == AtomicOp::kCas;
    if (cas != s.other.valid() || (cas && type(s.other) != t)) problem(0, "a cas, and only it, takes a second value of the same type", at);
    if (s.var && k_.vars[s.var].type != t) problem(5, "atomic result of another type", at);
    if (s.buf && k_.buffers[s.buf].access == Access::kWrite) problem(0, "an atomic also reads", at);
    if (is_float(t.elem) && !k_.fast) problem(7, "atomics on floats depend on the order of threads: fast league only", at);
    if (is_float(t.elem) && static_cast<AtomicOp>(s.op) == AtomicOp::kOr) problem(0, "or of floats", at);
  }

  void allocation(const Stmt& s, StmtId at, bool straight) {
    if (!s.buf || !k_.buffers.contains(s.buf) || s.buf.index() < k_.param_count)
      return problem(0, "allocation without a buffer of its own", at);
    const KBuffer& b = k_.buffers[s.buf];
    if (buffers_[s.buf.index()]) problem(2, cat("buffer '", b.name, "' is allocated twice"), at);
    if (b.space == Space::kShared && !straight) problem(4, cat("shared buffer '", b.name, "' is allocated under control flow"), at);
    if (b.space == Space::kLocal && k_.threads > 1)
      problem(8, cat("local array '", b.name, "' in a kernel of many threads: use names or shared memory"), at);
  }

  void warp(const Stmt& s, StmtId at) {
    if (!s.var || !s.value) return problem(0, "warp operation without operand or result", at);
    const auto op = static_cast<WarpOp>(s.op);
    const bool vote = op > WarpOp::kShflIdx;
    const KType want = op == WarpOp::kBallot ? KType::of(DType::kU32) : type(s.value);
    if (s.op > static_cast<uint8_t>(WarpOp::kAll) || k_.vars[s.var].type != want)
      problem(0, "warp operation with the wrong result type", at);
    if (vote && type(s.value) != KType::mask()) problem(0, "a vote is over a mask of one lane", at);
    if (vote == s.other.valid()) return problem(0, "a shuffle takes a lane number, a vote takes none", at);
    if (!vote) index1(s.other, at);
  }

  void copy(const Stmt& s, StmtId at) {
    if (static_cast<CopyOp>(s.op) != CopyOp::kAsync) return;
    if (!s.buf || !s.buf2 || !s.index || !s.index2) return problem(0, "asynchronous copy without its operands", at);
    index1(s.index, at);
    index1(s.index2, at);
    const KBuffer &to = k_.buffers[s.buf], &from = k_.buffers[s.buf2];
    if (to.space != Space::kShared || from.space == Space::kShared || from.space == Space::kLocal)
      problem(0, "an asynchronous copy goes from global to shared memory", at);
    if (to.elem != from.elem) problem(5, "asynchronous copy between element types", at);
    if (from.access == Access::kWrite) problem(0, cat("buffer '", from.name, "' is read but declared as written"), at);
    if ((s.n != 4 && s.n != 8 && s.n != 16) || s.n * 8 % std::max(1, dtype_bits(to.elem)) != 0)
      problem(0, "an asynchronous copy moves 4, 8 or 16 bytes of whole elements", at);
    if (s.mask && type(s.mask) != KType::mask()) problem(0, "the mask of a copy has one lane", at);
  }

  void frag(const Stmt& s, StmtId at) {
    if (k_.threads % 32 != 0) problem(0, "fragments belong to whole warps", at);
    switch (static_cast<FragOp>(s.op)) {
      case FragOp::kZero:
      case FragOp::kLoad: {
        if (!s.var || k_.vars[s.var].type.kind != KType::kFrag) return problem(0, "fragment statement without a fragment", at);
        const KType& t = k_.vars[s.var].type;
        if (!frag_shape_ok(t.frag, t.elem)) problem(0, cat("no fragment ", type_text(t)), at);
        if (static_cast<FragOp>(s.op) == FragOp::kLoad) frag_access(s, t, at, false);
        return;
      }
      case FragOp::kStore:
        if (!has_frag(s.f0, at)) return;
        if (s.n) problem(0, "fragments are stored by rows", at);
        return frag_access(s, k_.vars[s.f0].type, at, true);
      case FragOp::kMma: {
        if (!has_frag(s.var, at) || !has_frag(s.f0, at) || !has_frag(s.f1, at)) return;
        const KType &c = k_.vars[s.var].type, &a = k_.vars[s.f0].type, &b = k_.vars[s.f1].type;
        const bool ok = c.frag.role == FragShape::kC && a.frag.role == FragShape::kA && b.frag.role == FragShape::kB && a.elem == b.elem &&
                        a.frag.k == b.frag.k && c.frag.k == a.frag.k;
        if (!ok) problem(0, cat("no mma of ", type_text(c), ", ", type_text(a), ", ", type_text(b)), at);
        return;
      }
      case FragOp::kGet:
      case FragOp::kSet: {
        if (!has_frag(s.f0, at)) return;
        const KType& t = k_.vars[s.f0].type;
        if (s.n < 0 || s.n >= frag_elements(t.frag)) problem(0, "element outside the fragment", at);
        const bool get = static_cast<FragOp>(s.op) == FragOp::kGet;
        if (get ? !s.var || k_.vars[s.var].type != KType::of(t.elem) : !s.value || type(s.value) != KType::of(t.elem))
          problem(5, "fragment element of another type", at);
        return;
      }
    }
    problem(0, "no such fragment statement", at);
  }
  void frag_access(const Stmt& s, const KType& t, StmtId at, bool writes) {
    if (!s.buf || !s.index || !s.index2) return problem(0, "fragment access without its operands", at);
    index1(s.index, at);
    index1(s.index2, at);
    const KBuffer& b = k_.buffers[s.buf];
    if (b.elem != t.elem) problem(5, cat("buffer '", b.name, "' of ", dtype_name(b.elem), " is accessed as ", type_text(t)), at);
    if (b.access == (writes ? Access::kRead : Access::kWrite)) problem(0, cat("buffer '", b.name, "' is not declared for this access"), at);
  }

  const Kernel& k_;
  Problems& problems_;
  std::vector<uint8_t> vars_, buffers_, ever_;  // in scope; ever_: defined somewhere
};

// ---- 3, 6, 8: accesses

// A condition over indices: what a guard of an access looks like. Choices by values are none.
bool compares_indices(const Kernel& k, const std::vector<ExprId>& let_of, ExprId e) {
  const ExprNode& n = k.exprs[e];
  switch (n.op) {
    case ExprOp::kVar: return let_of[n.var.index()].valid() && compares_indices(k, let_of, let_of[n.var.index()]);
    case ExprOp::kSplat:
    case ExprOp::kNot: return compares_indices(k, let_of, n.a);
    case ExprOp::kAnd:
    case ExprOp::kOr: return compares_indices(k, let_of, n.a) || compares_indices(k, let_of, n.b);
    case ExprOp::kLt:
    case ExprOp::kLe:
    case ExprOp::kEq: return k.exprs[n.a].type.kind == KType::kIndex;
    default: return false;
  }
}

void accesses(const Kernel& k, const BoundsReport& bounds, Problems& problems) {
  std::vector<uint8_t> varying(k.buffers.size(), 0), used(k.buffers.size(), 0);
  for (const Stmt& s : k.stmts) {
    if (s.kind != StmtKind::kLoad && s.kind != StmtKind::kStore && s.kind != StmtKind::kAtomic) continue;
    used[s.buf.index()] = 1;
    if (k.exprs[s.index].op != ExprOp::kConst) varying[s.buf.index()] = 1;
  }
  for (size_t b = k.param_count; b < k.buffers.size(); ++b)
    if (k.buffers[BufId(b)].space == Space::kLocal && used[b] && !varying[b])
      problems.push_back(
          {8, cat("local array '", k.buffers[BufId(b)].name, "' is only accessed at constants: register tiles are separate names"), {}});

  std::vector<ExprId> let_of(k.vars.size());
  for (const Stmt& s : k.stmts)
    if (s.kind == StmtKind::kLet) let_of[s.var.index()] = s.value;
  for (const AccessReport& a : bounds.open) {
    if (a.outside) problems.push_back({3, cat(a.text, ": it certainly is not"), a.stmt});
    const Stmt& s = k.stmts[a.stmt];
    if (s.kind != StmtKind::kLoad || a.masked || a.outside) continue;
    for (const ExprNode& n : k.exprs) {
      if (n.op != ExprOp::kSelect) continue;
      const auto is_it = [&](ExprId e) { return k.exprs[e].op == ExprOp::kVar && k.exprs[e].var == s.var; };
      if ((is_it(n.b) || is_it(n.c)) && compares_indices(k, let_of, n.a)) {
        problems.push_back({6, cat(a.text, ", and a select chooses afterwards: it does not guard the load, a mask does"), a.stmt});
        break;
      }
    }
  }
}

}  // namespace

std::vector<KernelProblem> verify_kernel(const Kernel& k, int* unproved) {
  Problems problems;
  Scoping(k, problems).run();
  if (!problems.empty()) return problems;
  verify_uniformity(k, problems);
  const BoundsReport bounds = prove_accesses(k);
  *unproved = bounds.unproved;
  accesses(k, bounds, problems);
  return problems;
}

std::vector<KernelProblem> verify_kernel(const Kernel& k) {
  int unproved = 0;
  return verify_kernel(k, &unproved);
}

Status verify_kernel_or_error(const Kernel& k) {
  const Problems problems = verify_kernel(k);
  if (problems.empty()) return {};
  Error e(Code::kInvalidIr, cat("kernel @", k.name, " breaks invariant ", problems[0].invariant, ": ", problems[0].message));
  for (size_t i = 1; i < problems.size() && i < 16; ++i)
    e = std::move(e).with(cat("invariant ", problems[i].invariant, ": ", problems[i].message));
  return e;
}

}  // namespace nnc

#include "ir/base/kernel_builder.h"
#include "ir/base/kernel_exprs.h"
#include "ir/base/kernel_rules.h"
#include "ir/support/text.h"

namespace nnc {

StmtId KernelBuilder::emit(Stmt s) {
  const StmtId id = k_.stmts.push(std::move(s));
  open_.back().push_back(id);
  return id;
}
VarId KernelBuilder::new_var(std::string name, KType type, bool is_mut) { return k_.vars.push({std::move(name), type, is_mut}); }

Block KernelBuilder::run_block(const Body& body) {
  open_.emplace_back();
  open_numbers_.push_back(++blocks_);
  if (body) body();
  Block done = std::move(open_.back());
  open_.pop_back();
  open_numbers_.pop_back();
  return done;
}

Expr KernelBuilder::let(std::string name, Expr e) {
  if (node(e).op == ExprOp::kConst || node(e).op == ExprOp::kVar) return e;
  Stmt s;
  s.kind = StmtKind::kLet;
  s.var = new_var(std::move(name), type(e));
  s.value = e.id;
  const VarId v = s.var;
  emit(std::move(s));
  return var(v);
}
VarId KernelBuilder::mut(std::string name, Expr init) {
  Stmt s;
  s.kind = StmtKind::kMut;
  s.var = new_var(std::move(name), type(init), true);
  s.value = init.id;
  const VarId v = s.var;
  emit(std::move(s));
  return v;
}
void KernelBuilder::set(VarId v, Expr e) {
  NNC_CHECK(k_.vars[v].is_mut && k_.vars[v].type == type(e), "set of a mut with its own type");
  Stmt s;
  s.kind = StmtKind::kSet;
  s.var = v;
  s.value = e.id;
  emit(std::move(s));
}

void KernelBuilder::for_(std::string name, Expr begin, Expr end, int64_t step, const std::function<void(Expr)>& body, bool unroll) {
  NNC_CHECK(step > 0, "a loop counts upwards");
  Stmt s;
  s.kind = StmtKind::kFor;
  s.var = new_var(std::move(name), KType::index());
  s.index = begin.id;
  s.index2 = end.id;
  s.n = step;
  s.unroll = unroll;
  const Expr i = var(s.var);
  s.body = run_block([&] { body(i); });
  emit(std::move(s));
}
void KernelBuilder::while_(const std::function<Expr()>& condition_of_muts, const Body& body) {
  const size_t before = open_.back().size();
  Stmt s;
  s.kind = StmtKind::kWhile;
  s.value = condition_of_muts().id;
  NNC_CHECK(open_.back().size() == before, "the condition of a while is evaluated again each time: it makes no statements");
  s.body = run_block(body);
  emit(std::move(s));
}
void KernelBuilder::if_(Expr condition, const Body& then, const Body& otherwise) {
  Stmt s;
  s.kind = StmtKind::kIf;
  s.value = condition.id;
  s.body = run_block(then);
  s.orelse = run_block(otherwise);
  emit(std::move(s));
}
void KernelBuilder::block(const Body& body) {
  Stmt s;
  s.kind = StmtKind::kBlock;
  s.body = run_block(body);
  emit(std::move(s));
}

Expr KernelBuilder::load(BufId b, Expr index, int n, const LoadOptions& o, std::string name) {
  Stmt s;
  s.kind = StmtKind::kLoad;
  s.var = new_var(std::move(name), KType::of(value_dtype(k_.buffers[b].elem), n));
  s.buf = b;
  s.index = index.id;
  if (o.mask.valid()) s.mask = widen(o.mask, n).id;
  if (o.other.valid()) s.other = widen(o.other, n).id;
  s.nt = o.nt;
  const VarId v = s.var;
  emit(std::move(s));
  return var(v);
}
void KernelBuilder::store(BufId b, Expr index, Expr value, const StoreOptions& o) {
  if (lanes(index) > lanes(value)) value = widen(value, lanes(index));
  Stmt s;
  s.kind = StmtKind::kStore;
  s.buf = b;
  s.index = index.id;
  s.value = value.id;
  if (o.mask.valid()) s.mask = widen(o.mask, lanes(value)).id;
  s.nt = o.nt;
  emit(std::move(s));
}
Expr KernelBuilder::atomic(AtomicOp op, BufId b, Expr index, Expr value, Expr compare) {
  // For cas, `value` is what is stored where `compare` is found.
  Stmt s;
  s.kind = StmtKind::kAtomic;
  s.op = static_cast<uint8_t>(op);
  s.buf = b;
  s.index = index.id;
  s.value = op == AtomicOp::kCas ? compare.id : value.id;
  if (op == AtomicOp::kCas) s.other = value.id;
  s.var = new_var("old", type(value));
  const VarId v = s.var;
  emit(std::move(s));
  return var(v);
}
BufId KernelBuilder::alloc(std::string name, DType elem, int64_t count, Space space, int align) {
  Stmt s;
  s.kind = StmtKind::kAlloc;
  s.buf = k_.buffers.push({std::move(name), elem, Dim(count), align, Access::kReadWrite, space});
  const BufId b = s.buf;
  emit(std::move(s));
  return b;
}
void KernelBuilder::prefetch(BufId b, Expr index) {
  Stmt s;
  s.kind = StmtKind::kPrefetch;
  s.buf = b;
  s.index = index.id;
  emit(std::move(s));
}
Expr KernelBuilder::check(Expr index, Expr bound, std::string what) {
  Stmt s;
  s.kind = StmtKind::kCheck;
  s.var = new_var("checked", type(index));
  s.index = index.id;
  s.index2 = bound.id;
  s.site = static_cast<uint32_t>(k_.sites.size());
  k_.sites.push_back({std::move(what), loc_});
  const VarId v = s.var;
  emit(std::move(s));
  return var(v);
}

void KernelBuilder::barrier(Scope scope) {
  Stmt s;
  s.kind = StmtKind::kBarrier;
  s.op = static_cast<uint8_t>(scope);
  emit(std::move(s));
}
Expr KernelBuilder::warp(WarpOp op, Expr a, Expr b) {
  Stmt s;
  s.kind = StmtKind::kWarp;
  s.op = static_cast<uint8_t>(op);
  s.value = a.id;
  if (op <= WarpOp::kShflIdx) s.other = b.id;
  s.var = new_var("w", op == WarpOp::kBallot ? KType::of(DType::kU32) : type(a));
  const VarId v = s.var;
  emit(std::move(s));
  return var(v);
}
void KernelBuilder::copy_async(BufId shared, Expr at, BufId global, Expr from, int bytes, Expr mask) {
  Stmt s;
  s.kind = StmtKind::kCopy;
  s.op = static_cast<uint8_t>(CopyOp::kAsync);
  s.buf = shared;
  s.buf2 = global;
  s.index = at.id;
  s.index2 = from.id;
  s.n = bytes;
  s.mask = mask.id;
  emit(std::move(s));
}
void KernelBuilder::copy_commit() {
  Stmt s;
  s.kind = StmtKind::kCopy;
  s.op = static_cast<uint8_t>(CopyOp::kCommit);
  emit(std::move(s));
}
void KernelBuilder::copy_wait(int pending) {
  Stmt s;
  s.kind = StmtKind::kCopy;
  s.op = static_cast<uint8_t>(CopyOp::kWait);
  s.n = pending;
  emit(std::move(s));
}

namespace {
Stmt frag_stmt(FragOp op) {
  Stmt s;
  s.kind = StmtKind::kFrag;
  s.op = static_cast<uint8_t>(op);
  return s;
}
KType frag_type(DType elem, FragShape shape) {
  KType t;
  t.kind = KType::kFrag;
  t.elem = elem;
  t.frag = shape;
  return t;
}
}  // namespace

VarId KernelBuilder::frag_zero(std::string name, DType elem, FragShape shape) {
  Stmt s = frag_stmt(FragOp::kZero);
  const VarId v = s.var = new_var(std::move(name), frag_type(elem, shape), true);
  emit(std::move(s));
  return v;
}
VarId KernelBuilder::frag_load(std::string name, DType elem, FragShape shape, BufId b, Expr index, Expr ld, bool transposed) {
  Stmt s = frag_stmt(FragOp::kLoad);
  const VarId v = s.var = new_var(std::move(name), frag_type(elem, shape), true);
  s.buf = b;
  s.index = index.id;
  s.index2 = ld.id;
  s.n = transposed;
  emit(std::move(s));
  return v;
}
void KernelBuilder::frag_mma(VarId acc, VarId a, VarId b) {
  Stmt s = frag_stmt(FragOp::kMma);
  s.var = acc;
  s.f0 = a;
  s.f1 = b;
  emit(std::move(s));
}
void KernelBuilder::frag_store(VarId f, BufId b, Expr index, Expr ld) {
  Stmt s = frag_stmt(FragOp::kStore);
  s.f0 = f;
  s.buf = b;
  s.index = index.id;
  s.index2 = ld.id;
  emit(std::move(s));
}
Expr KernelBuilder::frag_get(VarId f, int element) {
  Stmt s = frag_stmt(FragOp::kGet);
  const VarId v = s.var = new_var("g", KType::of(k_.vars[f].type.elem));
  s.f0 = f;
  s.n = element;
  emit(std::move(s));
  return var(v);
}
void KernelBuilder::frag_set(VarId f, int element, Expr value) {
  Stmt s = frag_stmt(FragOp::kSet);
  s.f0 = f;
  s.n = element;
  s.value = value.id;
  emit(std::move(s));
}

void KernelBuilder::note(std::string text, uint32_t loc) {
  Stmt s;
  s.kind = StmtKind::kNote;
  s.loc = static_cast<uint32_t>(k_.notes.size());
  k_.notes.push_back({std::move(text), loc});
  loc_ = loc;
  emit(std::move(s));
}

Kernel KernelBuilder::raw() {
  NNC_CHECK(open_.size() == 1, "a block is still open");
  k_.body = std::move(open_.back());
  open_.clear();
  return std::move(k_);
}

Kernel KernelBuilder::finish(League league) {
  Kernel k = raw();
  k.fast = league == League::kFast;
  finish_kernel(k);
  return k;
}

void finish_kernel(Kernel& k) {
  {
    ExprPool pool(k);
    simplify_kernel(k, pool);
    hoist_and_share(k, pool);  // before, so that one value's exp is spelled out once
    legalise_math(k, k.fast ? League::kFast : League::kStrict, pool);
    hoist_and_share(k, pool);
  }
  compact_kernel(k);
  std::string problems;
  int unproved = 0;
  for (const KernelProblem& p : verify_kernel(k, &unproved)) append(problems, "\n  invariant ", p.invariant, ": ", p.message);
  NNC_CHECK(problems.empty(), cat("kernel ", k.name, " does not verify:", problems, "\n", print_kernel(k)).c_str());
  count_facts(k, unproved);
}

}  // namespace nnc

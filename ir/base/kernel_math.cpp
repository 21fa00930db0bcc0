#include "ir/base/kernel_math.h"

#include <unordered_map>

namespace nnc {
namespace math {

VarId Writer::new_var(const char* name, ExprId e, bool is_mut) { return k_.vars.push({name, pool_[e].type, is_mut}); }
StmtId Writer::push(Stmt s) {
  const StmtId id = k_.stmts.push(std::move(s));
  out_->push_back(id);
  return id;
}
V Writer::read(VarId v) {
  ExprNode n;
  n.op = ExprOp::kVar;
  n.type = k_.vars[v].type;
  n.var = v;
  return {pool_.intern(std::move(n))};
}
V Writer::let(const char* name, V e) {
  const ExprOp op = pool_[e.id].op;
  if (op == ExprOp::kConst || op == ExprOp::kVar) return e;
  Stmt s;
  s.kind = StmtKind::kLet;
  s.var = new_var(name, e.id, false);
  s.value = e.id;
  const VarId v = s.var;
  push(std::move(s));
  return read(v);
}
V Writer::cast(ExprOp how, V a, DType to) {
  ExprNode n;
  n.op = how;
  n.a = a.id;
  n.type = KType::of(to, pool_[a.id].type.lanes);
  return {pool_.make(std::move(n))};
}
V Writer::clamp(V x, double lo, double hi) { return op(ExprOp::kMin, op(ExprOp::kMax, x, constant_like(x, lo)), constant_like(x, hi)); }
V Writer::horner(V x, DType t, std::initializer_list<double> c) {
  const double* p = c.end();
  V sum = value(t, *--p);
  while (p != c.begin()) sum = fma(sum, x, value(t, *--p));
  return sum;
}

V Writer::rarely(V mask, V fast, const std::function<V()>& slow) {
  Stmt init;
  init.kind = StmtKind::kMut;
  const VarId result = init.var = new_var("m", fast.id, true);
  init.value = fast.id;
  push(std::move(init));
  Stmt branch;
  branch.kind = StmtKind::kIf;
  branch.value = lanes_ == 1 ? mask.id : op(ExprOp::kReduceOr, mask).id;
  Block body;
  Block* outer = out_;
  out_ = &body;
  const V made = slow();
  Stmt set;
  set.kind = StmtKind::kSet;
  set.var = result;
  set.value = select(mask, made, fast).id;
  push(std::move(set));
  out_ = outer;
  branch.body = std::move(body);
  push(std::move(branch));
  return let("m", read(result));
}

const Format& format_of(DType t) {
  static const Format single{DType::kF32, DType::kI32, 23, 127, 12582912.0}, twice{DType::kF64, DType::kI64, 52, 1023, 6755399441055744.0};
  return t == DType::kF64 ? twice : single;
}
V whole_constant(Writer& w, const Format& f, int64_t v) { return w.bits(f.whole, f.wide() ? uint64_t(v) : uint64_t(uint32_t(v))); }
V shift_left(Writer& w, const Format& f, V whole, int by) { return w.op(ExprOp::kShl, whole, whole_constant(w, f, by)); }

namespace {

class Legaliser {
 public:
  Legaliser(Kernel& k, ExprPool& pool) : k_(k), pool_(pool) {}

  void run() {
    const size_t before = k_.exprs.size();
    has_math_.assign(before, 0);
    bool any = false;
    for (size_t i = 0; i < before; ++i) {
      const ExprNode& n = k_.exprs[ExprId(i)];
      if (is_math(n.op)) has_math_[i] = 1;
      for_operands(n, [&](ExprId o) { has_math_[i] |= has_math_[o.index()]; });
      any |= has_math_[i] != 0;
    }
    if (any) k_.body = block(k_.body);
  }

 private:
  static bool is_math(ExprOp op) { return op >= ExprOp::kExp && op <= ExprOp::kPow; }
  bool has_math(ExprId e) const { return e.index() < has_math_.size() && has_math_[e.index()]; }

  Block block(const Block& b) {
    Block out;
    for (StmtId id : b) {
      done_.clear();
      Stmt s = k_.stmts[id];
      NNC_CHECK(s.kind != StmtKind::kWhile || !has_math(s.value), "math in the condition of a while: compute it into a mut");
      for_exprs(s, [&](ExprId& e) { e = rewrite(e, out); });
      s.body = block(s.body);
      s.orelse = block(s.orelse);
      k_.stmts[id] = std::move(s);
      out.push_back(id);
    }
    return out;
  }

  ExprId rewrite(ExprId e, Block& out) {
    if (!has_math(e)) return e;
    if (const auto it = done_.find(e); it != done_.end()) return it->second;
    ExprNode n = k_.exprs[e];
    n.a = rewrite(n.a, out);
    if (n.b) n.b = rewrite(n.b, out);
    if (n.c) n.c = rewrite(n.c, out);
    const ExprId result = is_math(n.op) ? expand(n, out) : pool_.make(std::move(n));
    done_[e] = result;
    return result;
  }

  ExprId expand(const ExprNode& n, Block& out) {
    Writer w(k_, pool_, out, n.type.lanes);
    const V x = w.let("x", {n.a});
    V r;
    switch (n.op) {
      case ExprOp::kExp: r = exp(w, x); break;
      case ExprOp::kExp2: r = exp2(w, x); break;
      case ExprOp::kLog: r = log(w, x); break;
      case ExprOp::kLog2: r = log2(w, x); break;
      case ExprOp::kSin: r = sin_or_cos(w, x, false); break;
      case ExprOp::kCos: r = sin_or_cos(w, x, true); break;
      case ExprOp::kTanh: r = tanh(w, x); break;
      case ExprOp::kErf: r = erf(w, x); break;
      default: r = pow(w, x, w.let("y", {n.b})); break;
    }
    return w.let(expr_op_name(n.op).data(), r).id;
  }

  Kernel& k_;
  ExprPool& pool_;
  std::vector<uint8_t> has_math_;
  std::unordered_map<ExprId, ExprId> done_;  // within one statement: a mut may change after it
};

}  // namespace
}  // namespace math

void legalise_math(Kernel& k, League, ExprPool& pool) { math::Legaliser(k, pool).run(); }
void legalise_math(Kernel& k, League league) {
  ExprPool pool(k);
  legalise_math(k, league, pool);
}

}  // namespace nnc

#include "ir/base/kernel_rules.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

// Types and scopes (invariants 0, 2, 5).
class Scoping {
 public:
  Scoping(const Kernel& k, std::vector<KernelProblem>& problems) : k_(k), problems_(problems) {}

  void run() {
    defined_.assign(k_.vars.size(), 0);
    for (const ExprNode& n : k_.exprs)
      if (TypeProblem p = check_expr(k_, n)) problem(p.invariant, std::move(p.text), {});
    if (problems_.empty()) block(k_.body);
  }

 private:
  void problem(int invariant, std::string message, StmtId at) { problems_.push_back({invariant, std::move(message), at}); }

  void uses(ExprId e, StmtId at) {
    if (!k_.exprs.contains(e)) return problem(0, "expression outside the kernel", at);
    const ExprNode& n = k_.exprs[e];
    if (n.op == ExprOp::kVar && !defined_[n.var.index()]) problem(2, cat("%", k_.vars[n.var].name, " is used outside its scope"), at);
    for_operands(n, [&](ExprId o) { uses(o, at); });
  }

  void block(const Block& b) {
    std::vector<VarId> mine;
    for (StmtId id : b) {
      const Stmt& s = k_.stmts[id];
      for_exprs(s, [&](ExprId e) { uses(e, id); });
      if (defines_var(s)) {
        if (defined_[s.var.index()]) problem(2, "variable defined twice", id);
        defined_[s.var.index()] = 1;
        mine.push_back(s.var);
      } else if (s.var.valid() && !defined_[s.var.index()]) {
        problem(2, "set outside the scope of its variable", id);
      }
      block(s.body);
      if (s.kind == StmtKind::kFor) defined_[s.var.index()] = 0;
      block(s.orelse);
    }
    for (VarId v : mine) defined_[v.index()] = 0;
  }

  const Kernel& k_;
  std::vector<KernelProblem>& problems_;
  std::vector<uint8_t> defined_;
};

}  // namespace

std::vector<KernelProblem> verify_kernel(const Kernel& k) {
  std::vector<KernelProblem> problems;
  Scoping(k, problems).run();
  return problems;
}

Status verify_kernel_or_error(const Kernel& k) {
  const std::vector<KernelProblem> problems = verify_kernel(k);
  if (problems.empty()) return {};
  Error e(Code::kInvalidIr, cat("kernel @", k.name, " breaks invariant ", problems[0].invariant, ": ", problems[0].message));
  for (size_t i = 1; i < problems.size() && i < 16; ++i) e = std::move(e).with(cat("invariant ", problems[i].invariant, ": ", problems[i].message));
  return e;
}

}  // namespace nnc

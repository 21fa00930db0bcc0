#pragma once
// The expressions of one kernel under hash-consing, and the exact folding rules: what the builder, the parser and the passes make
// expressions with. Nothing here changes a bit of any result: index and integer algebra, constants, selects of constants; no algebra on
// floats but the evaluation of constants.

#include <vector>

#include "ir/base/kernel_rules.h"

namespace nnc {

class ExprPool {
 public:
  explicit ExprPool(Kernel& k);  // takes in what the kernel already has
  // As it is; equal nodes get one id.
  ExprId intern(ExprNode n);
  // Folded. The node's type must be right unless its operation gives it (result_type).
  ExprId make(ExprNode n);
  ExprId make(ExprOp op, ExprId a, ExprId b = {}, ExprId c = {});  // type from the rule
  // `make` of the same node gives `e` again: nothing is left to fold.
  bool settled(ExprId e) const { return e.index() < settled_.size() && settled_[e.index()]; }
  ExprId constant(KType t, uint64_t bits);
  ExprId index(int64_t v) { return constant(KType::index(), static_cast<uint64_t>(v)); }
  const ExprNode& operator[](ExprId e) const { return k_.exprs[e]; }
  std::optional<int64_t> as_index(ExprId e) const;  // constant of index type, splat or not

 private:
  ExprId fold(const ExprNode& n);  // invalid: stays
  ExprId fold_constants(const ExprNode& n);
  ExprId fold_whole(const ExprNode& n);
  ExprId fold_mask(const ExprNode& n);
  ExprId fold_lanes(const ExprNode& n);
  bool is_const(ExprId e) const { return e.valid() && k_.exprs[e].op == ExprOp::kConst; }
  void insert(uint64_t hash, ExprId id);
  Kernel& k_;
  // Open addressing; a power of two of slots, at most half of them used.
  struct Slot {
    uint64_t hash = 0;
    ExprId id;
  };
  std::vector<Slot> slots_;
  size_t used_ = 0;
  std::vector<uint8_t> settled_;  // by expression
};

// Passes in a row share the pool of their kernel, which holds all its expressions.
void simplify_kernel(Kernel& k, ExprPool& pool);
void hoist_and_share(Kernel& k, ExprPool& pool);
void legalise_math(Kernel& k, League league, ExprPool& pool);

}  // namespace nnc

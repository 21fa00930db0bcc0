#pragma once
// KernelBuilder: how skeletons and op bodies make kernels. Expressions are hash-consed and folded as they are made (exact rules only);
// statements are appended to the block that is open. An `Expr` is a small handle; arithmetic splats scalars to the other operand's lanes by
// itself, nothing else converts.

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "ir/base/kernel.h"
#include "ir/base/kernel_exprs.h"

namespace nnc {

class KernelBuilder;
struct Expr {
  ExprId id;
  bool valid() const { return id.valid(); }
};

struct LoadOptions {
  Expr mask;   // invalid: unmasked
  Expr other;  // value of masked-off lanes; invalid: zero
  bool nt = false;
};
struct StoreOptions {
  Expr mask;
  bool nt = false;
};

class KernelBuilder {
 public:
  KernelBuilder(std::string name, int threads = 1);
  KernelBuilder(const KernelBuilder&) = delete;
  KernelBuilder& operator=(const KernelBuilder&) = delete;

  // ---- parameters, symbols, grid
  // The kernel-local dim for a dim of the graph: every distinct symbol of `outer` becomes one kernel symbol with the same bounds, divisor
  // and typical size; quotients, remainders, minima and maxima are derived again from theirs. `launch_dims()` lists, per kernel symbol, the
  // outer dim that the launch evaluates. Kernel symbols derived later (symbols().floordiv ...) are computed from the others by who runs the
  // kernel (complete_dims); `dim` spells them out, so that kernel text never reads one.
  Dim import_dim(const SymbolTable& outer, const Dim& d);
  const std::vector<Dim>& launch_dims() const { return launch_dims_; }
  BufId param(std::string name, DType elem, Dim extent, Access access, int align = 64);  // extent in kernel symbols
  void grid(Dim x, Dim y = 1, Dim z = 1);
  void set_index64(bool v) { k_.index64 = v; }
  SymbolTable& symbols() { return k_.symbols; }
  Kernel& kernel() { return k_; }
  // The kernel as built, without passes and verification: for tests of these.
  Kernel raw();

  // ---- leaves
  Expr index(int64_t v);   // index x1
  Expr dim(const Dim& d);  // a kernel dim as index arithmetic
  Expr task(int axis);
  Expr thread();
  Expr lane();
  Expr constant(DType t, double v, int lanes = 1);  // rounded to t
  Expr constant_bits(KType t, uint64_t bits);
  Expr mask_const(bool v, int lanes = 1);
  Expr var(VarId v);
  const KType& type(Expr e) const { return k_.exprs[e.id].type; }
  int lanes(Expr e) const { return type(e).lanes; }
  const ExprNode& node(Expr e) const { return k_.exprs[e.id]; }
  std::optional<int64_t> as_const_index(Expr e) const;

  // ---- expressions
  Expr unary(ExprOp op, Expr a);
  Expr binary(ExprOp op, Expr a, Expr b);
  Expr add(Expr a, Expr b) { return binary(ExprOp::kAdd, a, b); }
  Expr sub(Expr a, Expr b) { return binary(ExprOp::kSub, a, b); }
  Expr mul(Expr a, Expr b) { return binary(ExprOp::kMul, a, b); }
  Expr div(Expr a, Expr b) { return binary(ExprOp::kDiv, a, b); }
  Expr floordiv(Expr a, Expr b) { return binary(ExprOp::kFloorDiv, a, b); }
  Expr floormod(Expr a, Expr b) { return binary(ExprOp::kFloorMod, a, b); }
  Expr min(Expr a, Expr b) { return binary(ExprOp::kMin, a, b); }
  Expr max(Expr a, Expr b) { return binary(ExprOp::kMax, a, b); }
  Expr lt(Expr a, Expr b) { return binary(ExprOp::kLt, a, b); }
  Expr le(Expr a, Expr b) { return binary(ExprOp::kLe, a, b); }
  Expr eq(Expr a, Expr b) { return binary(ExprOp::kEq, a, b); }
  Expr logical_and(Expr a, Expr b) { return binary(ExprOp::kAnd, a, b); }
  Expr logical_or(Expr a, Expr b) { return binary(ExprOp::kOr, a, b); }
  Expr logical_not(Expr a) { return unary(ExprOp::kNot, a); }
  Expr fma(Expr a, Expr b, Expr c);
  Expr select(Expr mask, Expr a, Expr b);
  Expr cast(ExprOp how, Expr a, KType to);  // to.lanes must equal a's
  // Value conversion between compute types with nnc's one rule (float->int sat, int->float even, int->int trunc/ext, to/from mask): picks
  // the cast kind. A mask from loaded bool storage is convert(v, kBool), its storage is convert(m, kU8).
  Expr convert(Expr a, DType to);  // to == kBool gives a mask
  Expr to_index(Expr a);           // an integer as an index
  Expr math(ExprOp op, Expr a, Expr b = {});
  Expr splat(Expr a, int lanes);  // no node if already that wide
  Expr iota(int lanes);
  Expr extract(Expr a, int lane);
  Expr shuffle(Expr a, Expr b, std::vector<uint8_t> pattern);
  Expr hreduce(ExprOp op, Expr a);

  // ---- statements
  Expr let(std::string name, Expr e);  // no statement for constants and variables
  VarId mut(std::string name, Expr init);
  void set(VarId v, Expr e);
  using Body = std::function<void()>;
  void for_(std::string name, Expr begin, Expr end, int64_t step, const std::function<void(Expr)>& body, bool unroll = false);
  void while_(const std::function<Expr()>& condition_of_muts, const Body& body);
  void if_(Expr condition, const Body& then, const Body& otherwise = {});
  void block(const Body& body);
  // The innermost block that is open; what is made in a block can be used while that is open.
  uint32_t open_block() const { return open_numbers_.back(); }
  bool is_open(uint32_t block) const { return std::find(open_numbers_.begin(), open_numbers_.end(), block) != open_numbers_.end(); }
  // The index is one lane (consecutive elements) or as wide as the access (gather, scatter).
  Expr load(BufId b, Expr index, int lanes, const LoadOptions& o = {}, std::string name = "v");
  void store(BufId b, Expr index, Expr value, const StoreOptions& o = {});
  Expr atomic(AtomicOp op, BufId b, Expr index, Expr value, Expr compare = {});
  BufId alloc(std::string name, DType elem, int64_t count, Space space, int align = 16);
  void prefetch(BufId b, Expr index);
  Expr check(Expr index, Expr bound, std::string what);  // clamped index
  void barrier(Scope s = Scope::kBlock);
  Expr warp(WarpOp op, Expr a, Expr b);
  void copy_async(BufId shared, Expr at, BufId global, Expr from, int bytes, Expr mask = {});
  void copy_commit();
  void copy_wait(int pending);
  VarId frag_zero(std::string name, DType elem, FragShape shape);
  // Element (row, col) is at index + row * ld + col; with `transposed` at index + col * ld + row.
  VarId frag_load(std::string name, DType elem, FragShape shape, BufId b, Expr index, Expr ld, bool transposed = false);
  void frag_mma(VarId acc, VarId a, VarId b);
  void frag_store(VarId f, BufId b, Expr index, Expr ld);
  Expr frag_get(VarId f, int element);
  void frag_set(VarId f, int element, Expr value);
  void note(std::string text, uint32_t loc);

  // Verifies (our bug if it does not), counts facts, gives the kernel away. Math is legalised, subexpressions shared.
  Kernel finish(League league = League::kStrict);

 private:
  Dim import_symbol(const SymbolTable& outer, SymbolId from);
  Expr made(ExprNode n);
  Expr leaf(ExprOp op, uint64_t bits = 0);
  StmtId emit(Stmt s);
  VarId new_var(std::string name, KType type, bool is_mut = false);
  Block run_block(const Body& body);
  Expr widen(Expr e, int lanes);
  Kernel k_;
  ExprPool pool_;
  std::vector<Block> open_;
  uint32_t loc_ = 0;                  // of the last note
  std::map<SymbolId, Dim> imported_;  // outer symbol -> kernel dim
  std::vector<Dim> launch_dims_;
  std::vector<uint32_t> open_numbers_{0};  // of the blocks in open_
  uint32_t blocks_ = 0;
};

}  // namespace nnc

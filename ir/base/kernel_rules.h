#pragma once
// What every file of the kernel IR must agree on: spellings, operand counts, type rules and the meaning of one scalar operation. Internal
// to ir/base and the emitters.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/base/kernel.h"

namespace nnc {

struct ExprOpInfo {
  std::string_view name;
  int operands;
};
const ExprOpInfo& expr_op_info(ExprOp op);
std::optional<ExprOp> parse_expr_op(std::string_view name);

std::string_view atomic_name(AtomicOp op);
std::string_view warp_name(WarpOp op);
std::string_view space_name(Space s);
std::string_view access_name(Access a);

// "f32x16", "mask", "indexx4"; fragments: "f16 m16n8k16 a".
std::string type_text(const KType& t);
std::optional<KType> parse_type(std::string_view text);  // without fragments

// The type of a value loaded from a buffer of that element type: bool is u8 0/1.
DType value_dtype(DType storage);
bool buffer_elem_ok(DType t);
// Element types that arithmetic is defined for: f32, f64, integers. The 16- and 8-bit floats are only stored, selected, moved and cast.
bool computes_in(DType t);
inline bool lanes_ok(int n) { return n >= 1 && n <= 64 && (n & (n - 1)) == 0; }
int type_bits(const KType& t);  // of one lane; mask 8, index 64

struct TypeProblem {
  int invariant = 0;  // 0: malformed; 5: a conversion that is not in the tree
  std::string text;   // empty: none
  explicit operator bool() const { return !text.empty(); }
};
// Checks node `n` of `k` against the rule of its operation, its operands' types and its own type.
TypeProblem check_expr(const Kernel& k, const ExprNode& n);
// The type that the rule gives, where it does not need to be written (everything but leaves with a type, casts, splat, iota).
KType result_type(ExprOp op, const KType& a, const KType& b);

// One lane of operation `op` on element bits: the scalar meaning of the IR. `to` is the result's type, `from` the first operand's. Nothing:
// not a scalar operation.
std::optional<uint64_t> eval_scalar(ExprOp op, const KType& to, const KType& from, uint64_t a, uint64_t b, uint64_t c);
// Bits of `v` rounded to `t`, and back.
uint64_t bits_of_value(DType t, double v);
double value_of_bits(DType t, uint64_t bits);

// Ids an expression or a statement uses, in order.
template <class F> void for_operands(const ExprNode& n, F&& f) {
  if (n.a) f(n.a);
  if (n.b) f(n.b);
  if (n.c) f(n.c);
}
template <class F> void for_exprs(Stmt& s, F&& f) {
  for (ExprId* e : {&s.index, &s.index2, &s.value, &s.mask, &s.other})
    if (e->valid()) f(*e);
}
template <class F> void for_exprs(const Stmt& s, F&& f) {
  for (ExprId e : {s.index, s.index2, s.value, s.mask, s.other})
    if (e.valid()) f(e);
}
// verify_kernel and count_facts over one bounds proof: the former gives the number of accesses that it left open, the latter takes it.
std::vector<KernelProblem> verify_kernel(const Kernel& k, int* unproved);
void count_facts(Kernel& k, int unproved);

// Invariant 4, part of verify_kernel (kernel_uniform.cpp). The kernel is well formed.
void verify_uniformity(const Kernel& k, std::vector<KernelProblem>& problems);

// The statement gives its variable a first value (as opposed to `set`).
bool defines_var(const Stmt& s);

}  // namespace nnc

#include "ir/base/kernel_exprs.h"

#include <algorithm>
#include <bit>

#include "ir/support/hash.h"

namespace nnc {
namespace {

uint64_t hash_node(const ExprNode& n) {
  const uint64_t head =
      uint64_t(n.op) | uint64_t(n.type.kind) << 8 | uint64_t(n.type.elem) << 16 | uint64_t(n.type.lanes) << 24 | uint64_t(n.c.v) << 32;
  uint64_t h = mix64((head ^ n.bits * kGolden) + mix64((uint64_t(n.a.v) | uint64_t(n.b.v) << 32) ^ uint64_t(n.var.v) * kGolden));
  for (uint8_t p : n.pattern) h = hash_combine(h, p);
  return h;
}

bool commutes(ExprOp op) {
  return op == ExprOp::kAdd || op == ExprOp::kMul || op == ExprOp::kMin || op == ExprOp::kMax || op == ExprOp::kAnd || op == ExprOp::kOr ||
         op == ExprOp::kXor || op == ExprOp::kEq;
}
bool is_whole(const KType& t) { return t.kind == KType::kIndex || (t.kind == KType::kElem && is_int(t.elem)); }
bool is_scalar_op(ExprOp op) { return op >= ExprOp::kNeg && op <= ExprOp::kCastMask; }
bool is_nan_bits(const KType& t, uint64_t bits) { return t.floating() && value_of_bits(t.elem, bits) != value_of_bits(t.elem, bits); }

}  // namespace

ExprPool::ExprPool(Kernel& k) : k_(k) {
  slots_.resize(std::bit_ceil(std::max<size_t>(64, k.exprs.size() * 4)));
  for (size_t i = 0; i < k.exprs.size(); ++i) insert(hash_node(k.exprs[ExprId(i)]), ExprId(i));
}

void ExprPool::insert(uint64_t hash, ExprId id) {
  if (used_ * 2 >= slots_.size()) {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(std::max<size_t>(64, old.size() * 2), {});
    used_ = 0;
    for (const Slot& s : old)
      if (s.id) insert(s.hash, s.id);
  }
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].id) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {hash, id};
  ++used_;
}

ExprId ExprPool::intern(ExprNode n) {
  const uint64_t h = hash_node(n);
  if (!slots_.empty())
    for (size_t at = h & (slots_.size() - 1); slots_[at].id; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].hash == h && k_.exprs[slots_[at].id] == n) return slots_[at].id;
  const ExprId id = k_.exprs.push(std::move(n));
  insert(h, id);
  return id;
}

ExprId ExprPool::constant(KType t, uint64_t bits) {
  ExprNode n;
  n.op = ExprOp::kConst;
  n.type = t;
  n.bits = bits;
  return intern(std::move(n));
}

std::optional<int64_t> ExprPool::as_index(ExprId e) const {
  const ExprNode& n = k_.exprs[e];
  if (n.op != ExprOp::kConst || n.type.kind != KType::kIndex) return std::nullopt;
  return int64_t(n.bits);
}

ExprId ExprPool::make(ExprOp op, ExprId a, ExprId b, ExprId c) {
  ExprNode n;
  n.op = op;
  n.a = a;
  n.b = b;
  n.c = c;
  n.type = result_type(op, k_.exprs[a].type, b ? k_.exprs[b].type : KType());
  return make(std::move(n));
}

ExprId ExprPool::make(ExprNode n) {
  // Constants to the right, so that one rule serves both orders. Not for floats: which NaN survives depends on the order.
  if (n.b && commutes(n.op) && is_const(n.a) && !is_const(n.b) && !k_.exprs[n.a].type.floating()) std::swap(n.a, n.b);
  const ExprId folded = fold(n);
  if (folded.valid()) return folded;
  const ExprId id = intern(std::move(n));
  if (id.index() >= settled_.size()) settled_.resize(k_.exprs.size());
  settled_[id.index()] = 1;
  return id;
}

ExprId ExprPool::fold(const ExprNode& n) {
  if (!n.a) return {};
  if (const ExprId e = fold_constants(n)) return e;
  if (const ExprId e = fold_lanes(n)) return e;
  if (n.op == ExprOp::kSelect && n.b == n.c) return n.b;
  if (n.op == ExprOp::kSelect && is_const(n.a)) return k_.exprs[n.a].bits ? n.b : n.c;
  if ((n.op == ExprOp::kNeg || n.op == ExprOp::kNot) && k_.exprs[n.a].op == n.op) return k_.exprs[n.a].a;
  if ((n.op == ExprOp::kMin || n.op == ExprOp::kMax) && n.a == n.b) return n.a;
  if ((n.op == ExprOp::kCastSext || n.op == ExprOp::kCastTrunc || n.op == ExprOp::kCastBits) && k_.exprs[n.a].type == n.type) return n.a;
  if (k_.exprs[n.a].type.kind == KType::kMask) return fold_mask(n);
  if (is_whole(k_.exprs[n.a].type)) return fold_whole(n);
  return {};
}

ExprId ExprPool::fold_constants(const ExprNode& n) {
  if (!is_scalar_op(n.op)) return {};
  uint64_t bits[3] = {};
  int i = 0;
  KType from;
  for (ExprId e : {n.a, n.b, n.c}) {
    if (!e) break;
    if (!is_const(e)) return {};
    if (i == 0) from = k_.exprs[e].type;
    bits[i++] = k_.exprs[e].bits;
  }
  const auto r = eval_scalar(n.op, n.type, from, bits[0], bits[1], bits[2]);
  // A NaN's payload is the target's business.
  if (!r || is_nan_bits(n.type, *r)) return {};
  return constant(n.type, *r);
}

ExprId ExprPool::fold_lanes(const ExprNode& n) {
  const ExprNode& a = k_.exprs[n.a];
  switch (n.op) {
    case ExprOp::kSplat:
      if (n.type.lanes == 1) return n.a;
      return a.op == ExprOp::kConst ? constant(n.type, a.bits) : ExprId();
    case ExprOp::kExtract:
      if (a.type.lanes == 1) return n.a;
      if (a.op == ExprOp::kConst) return constant(n.type, a.bits);
      if (a.op == ExprOp::kSplat) return a.a;
      return a.op == ExprOp::kIota ? index(int64_t(n.bits)) : ExprId();
    default: return {};
  }
}

ExprId ExprPool::fold_mask(const ExprNode& n) {
  if (!n.b || !is_const(n.b)) return n.a == n.b && (n.op == ExprOp::kAnd || n.op == ExprOp::kOr) ? n.a : ExprId();
  const bool v = k_.exprs[n.b].bits != 0;
  switch (n.op) {
    case ExprOp::kAnd: return v ? n.a : n.b;
    case ExprOp::kOr: return v ? n.b : n.a;
    case ExprOp::kXor: return v ? ExprId() : n.a;
    default: return {};
  }
}

ExprId ExprPool::fold_whole(const ExprNode& n) {
  const KType t = k_.exprs[n.a].type;
  if (n.a == n.b) {
    switch (n.op) {
      case ExprOp::kSub:
      case ExprOp::kXor: return constant(t, 0);
      case ExprOp::kLt: return constant(n.type, 0);
      case ExprOp::kLe:
      case ExprOp::kEq: return constant(n.type, 1);
      case ExprOp::kAnd:
      case ExprOp::kOr: return n.a;
      default: break;
    }
  }
  if (!n.b) return {};
  const bool is_index = t.kind == KType::kIndex;
  if (is_const(n.a) && k_.exprs[n.a].bits == 0 && (n.op == ExprOp::kFloorDiv || n.op == ExprOp::kFloorMod)) return n.a;
  if (!is_const(n.b)) return {};
  const uint64_t v = k_.exprs[n.b].bits;
  const ExprNode inner = k_.exprs[n.a];
  const bool inner_const = inner.b && is_const(inner.b);
  const uint64_t iv = inner_const ? k_.exprs[inner.b].bits : 0;
  const uint64_t cut = type_bits(t) >= 64 ? ~uint64_t(0) : (uint64_t(1) << type_bits(t)) - 1;
  switch (n.op) {
    case ExprOp::kAdd:
      if (v == 0) return n.a;
      return inner.op == ExprOp::kAdd && inner_const ? make(ExprOp::kAdd, inner.a, constant(t, (v + iv) & cut)) : ExprId();
    case ExprOp::kSub: return v == 0 ? n.a : make(ExprOp::kAdd, n.a, constant(t, (0 - v) & cut));
    case ExprOp::kMul:
      if (v == 0) return n.b;
      if (v == 1) return n.a;
      return inner.op == ExprOp::kMul && inner_const ? make(ExprOp::kMul, inner.a, constant(t, (v * iv) & cut)) : ExprId();
    case ExprOp::kDiv:
    case ExprOp::kFloorDiv:
      if (v == 1) return n.a;
      // An index never wraps.
      if (is_index && n.op == ExprOp::kFloorDiv && int64_t(v) > 0 && inner.op == ExprOp::kMul && inner_const &&
          int64_t(iv) % int64_t(v) == 0)
        return make(ExprOp::kMul, inner.a, index(int64_t(iv) / int64_t(v)));
      return {};
    case ExprOp::kRem:
    case ExprOp::kFloorMod:
      if (v == 1) return constant(t, 0);
      if (is_index && int64_t(v) > 0 && inner.op == ExprOp::kMul && inner_const && int64_t(iv) % int64_t(v) == 0) return constant(t, 0);
      return {};
    case ExprOp::kAnd: return v == 0 ? n.b : v == cut ? n.a : ExprId();
    case ExprOp::kOr:
    case ExprOp::kXor:
    case ExprOp::kShl:
    case ExprOp::kShr: return v == 0 ? n.a : ExprId();
    default: return {};
  }
}

}  // namespace nnc

#include "ir/base/kernel_builder.h"

#include "ir/support/mutant.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

bool is_whole(const KType& t) { return t.kind == KType::kIndex || (t.kind == KType::kElem && is_int(t.elem)); }
bool is_half(const KType& t) { return t.is_elem(DType::kF16) || t.is_elem(DType::kBF16); }

}  // namespace

KernelBuilder::KernelBuilder(std::string name, int threads) : pool_(k_) {
  k_.name = std::move(name);
  k_.threads = threads;
  open_.emplace_back();
}

// ---- parameters, symbols, grid

Dim KernelBuilder::import_dim(const SymbolTable& outer, const Dim& d) {
  for (const Term& t : d.terms()) {
    for (uint32_t s : t.mono.s) {
      if (s == 0 || imported_.contains(SymbolId(s - 1))) continue;
      const SymbolId from(s - 1);
      const Dim local = import_symbol(outer, from);
      imported_[from] = local;
    }
  }
  return k_.symbols.substitute(d, imported_);
}

// Quotients and the like keep their definition, which proofs of bounds need; what the kernel could not spell is a value of the launch.
Dim KernelBuilder::import_symbol(const SymbolTable& outer, SymbolId from) {
  const Symbol& o = outer[from];
  if (o.kind == SymKind::kDerived && (o.op == SymOp::kFloorDiv || o.op == SymOp::kMod || o.op == SymOp::kMin || o.op == SymOp::kMax)) {
    const Dim a = import_dim(outer, o.a), b = import_dim(outer, o.b);
    switch (o.op) {
      case SymOp::kFloorDiv: return k_.symbols.floordiv(a, b);
      case SymOp::kMod: return k_.symbols.mod(a, b);
      case SymOp::kMin: return k_.symbols.min(a, b);
      default: return k_.symbols.max(a, b);
    }
  }
  const SymbolId id = k_.symbols.input(cat("d", k_.symbols.size()), o.lo, o.hi, o.divisor, outer.typical(Dim(from)));
  launch_dims_.resize(id.index() + 1);
  launch_dims_[id.index()] = Dim(from);
  return Dim(id);
}

BufId KernelBuilder::param(std::string name, DType elem, Dim extent, Access access, int align) {
  NNC_CHECK(k_.param_count == k_.buffers.size(), "parameters come before allocations");
  ++k_.param_count;
  return k_.buffers.push({std::move(name), elem, std::move(extent), align, access, Space::kGlobal});
}

void KernelBuilder::grid(Dim x, Dim y, Dim z) { k_.grid = {std::move(x), std::move(y), std::move(z)}; }

// ---- leaves

Expr KernelBuilder::made(ExprNode n) {
  const TypeProblem p = check_expr(k_, n);
  NNC_CHECK(!p, cat("kernel ", k_.name, ": ", p.text).c_str());
  return {pool_.make(std::move(n))};
}
Expr KernelBuilder::leaf(ExprOp op, uint64_t bits) {
  ExprNode n;
  n.op = op;
  n.type = KType::index();
  n.bits = bits;
  return made(std::move(n));
}
Expr KernelBuilder::index(int64_t v) { return {pool_.index(v)}; }
Expr KernelBuilder::task(int axis) {
  NNC_CHECK(axis >= 0 && axis < 3, "a grid has three axes");
  return k_.grid[static_cast<size_t>(axis)].is_const(1) ? index(0) : leaf(static_cast<ExprOp>(static_cast<int>(ExprOp::kTask0) + axis));
}
Expr KernelBuilder::thread() { return k_.threads == 1 ? index(0) : leaf(ExprOp::kThread); }
Expr KernelBuilder::lane() { return k_.threads == 1 ? index(0) : leaf(ExprOp::kLane); }

Expr KernelBuilder::dim(const Dim& d) {
  Expr sum = index(d.constant());
  for (const Term& t : d.terms()) {
    Expr product;
    for (uint32_t s : t.mono.s) {
      if (s == 0) continue;
      const SymbolId id(s - 1);
      Expr factor;
      if (const Symbol symbol = k_.symbols[id]; symbol.kind == SymKind::kDerived) {
        const Expr a = dim(symbol.a), b = dim(symbol.b);
        switch (symbol.op) {
          case SymOp::kFloorDiv: factor = floordiv(a, b); break;
          case SymOp::kMod: factor = floormod(a, b); break;
          case SymOp::kMin: factor = min(a, b); break;
          case SymOp::kMax: factor = max(a, b); break;
          case SymOp::kOpaqueMul: factor = mul(a, b); break;
          case SymOp::kOpaqueAdd: factor = add(a, b); break;
          case SymOp::kBroadcast: factor = select(eq(a, index(1)), b, a); break;
          case SymOp::kRound: {
            NNC_CHECK(symbol.mode != 2, "round to even is computed by the launch: import the dim");
            const Expr scaled = mul(a, index(symbol.num));
            factor = floordiv(symbol.mode == 0 ? scaled : add(scaled, index(symbol.den - 1)), index(symbol.den));
            break;
          }
          case SymOp::kNone: break;
        }
      } else {
        factor = leaf(ExprOp::kDim, id.v);
      }
      product = product.valid() ? mul(product, factor) : factor;
    }
    const Expr scaled = mul(product, index(t.coeff));
    sum = add(scaled, sum);
  }
  return sum;
}

Expr KernelBuilder::constant(DType t, double v, int lanes) {
  if (t == DType::kBool) return mask_const(v != 0, lanes);
  return {pool_.constant(KType::of(t, lanes), bits_of_value(t, v))};
}
Expr KernelBuilder::constant_bits(KType t, uint64_t bits) {
  ExprNode n;
  n.type = t;
  n.bits = bits;
  return made(std::move(n));
}
Expr KernelBuilder::mask_const(bool v, int lanes) { return {pool_.constant(KType::mask(lanes), v)}; }
Expr KernelBuilder::var(VarId v) {
  ExprNode n;
  n.op = ExprOp::kVar;
  n.type = k_.vars[v].type;
  n.var = v;
  return made(std::move(n));
}
std::optional<int64_t> KernelBuilder::as_const_index(Expr e) const { return pool_.as_index(e.id); }

// ---- expressions

Expr KernelBuilder::widen(Expr e, int n) { return lanes(e) == n ? e : splat(e, n); }

Expr KernelBuilder::unary(ExprOp op, Expr a) {
  ExprNode n;
  n.op = op;
  n.a = a.id;
  n.type = result_type(op, type(a), {});
  return made(std::move(n));
}
Expr KernelBuilder::binary(ExprOp op, Expr a, Expr b) {
  const int n = std::max(lanes(a), lanes(b));
  a = widen(a, n);
  b = widen(b, n);
  ExprNode node;
  node.op = op;
  node.a = a.id;
  node.b = b.id;
  node.type = result_type(op, type(a), type(b));
  return made(std::move(node));
}
Expr KernelBuilder::fma(Expr a, Expr b, Expr c) {
  const int n = std::max({lanes(a), lanes(b), lanes(c)});
  ExprNode node;
  node.op = ExprOp::kFma;
  node.a = widen(a, n).id;
  node.b = widen(b, n).id;
  node.c = widen(c, n).id;
  node.type = k_.exprs[node.a].type;
  return made(std::move(node));
}
Expr KernelBuilder::select(Expr mask, Expr a, Expr b) {
  const int n = std::max({lanes(mask), lanes(a), lanes(b)});
  ExprNode node;
  node.op = ExprOp::kSelect;
  node.a = widen(mask, n).id;
  node.b = widen(a, n).id;
  node.c = widen(b, n).id;
  node.type = k_.exprs[node.b].type;
  return made(std::move(node));
}
Expr KernelBuilder::cast(ExprOp how, Expr a, KType to) {
  ExprNode n;
  n.op = how;
  n.a = a.id;
  n.type = to;
  return made(std::move(n));
}

Expr KernelBuilder::convert(Expr a, DType to) {
  const KType from = type(a);
  const KType want = to == DType::kBool ? KType::mask(from.lanes) : KType::of(to, from.lanes);
  if (from == want) return a;
  if (from.kind == KType::kMask) {
    if (to == DType::kU8) return cast(ExprOp::kCastMask, a, want);
    return select(a, constant(to, 1, from.lanes), constant(to, 0, from.lanes));
  }
  if (is_half(from) && to != DType::kF32) return convert(convert(a, DType::kF32), to);
  if (to == DType::kBool) {
    if (is_whole(from)) return cast(ExprOp::kCastMask, a, want);
    return logical_not(eq(a, constant(from.elem, 0, from.lanes)));
  }
  if (is_whole(from)) {
    if (is_half(want)) return convert(convert(a, type_bits(from) <= 16 ? DType::kF32 : DType::kF64), to);
    if (is_float(to)) return cast(ExprOp::kCastEven, a, want);
    const int have = type_bits(from), need = type_bits(want);
    if (from.kind == KType::kIndex) return cast(is_signed_int(to) && need == have ? ExprOp::kCastSext : ExprOp::kCastTrunc, a, want);
    if (have == need) return cast(ExprOp::kCastBits, a, want);
    return cast(have > need ? ExprOp::kCastTrunc : is_signed_int(from.elem) ? ExprOp::kCastSext : ExprOp::kCastZext, a, want);
  }
  if (mutant("cast_wraps") && is_int(to) && type_bits(want) < 64) return convert(convert(a, DType::kI64), to);
  return cast(is_int(to) ? ExprOp::kCastSat : ExprOp::kCastEven, a, want);
}

Expr KernelBuilder::to_index(Expr a) {
  const KType from = type(a);
  if (from.kind == KType::kIndex) return a;
  const ExprOp how = is_signed_int(from.elem) ? ExprOp::kCastSext : from.elem == DType::kU64 ? ExprOp::kCastTrunc : ExprOp::kCastZext;
  return cast(how, a, KType::index(from.lanes));
}

Expr KernelBuilder::math(ExprOp op, Expr a, Expr b) { return b.valid() ? binary(op, a, b) : unary(op, a); }

Expr KernelBuilder::splat(Expr a, int n) {
  if (lanes(a) == n) return a;
  ExprNode node;
  node.op = ExprOp::kSplat;
  node.a = a.id;
  node.type = type(a).with_lanes(n);
  return made(std::move(node));
}
Expr KernelBuilder::iota(int n) {
  if (n == 1) return index(0);
  ExprNode node;
  node.op = ExprOp::kIota;
  node.type = KType::index(n);
  return made(std::move(node));
}
Expr KernelBuilder::extract(Expr a, int lane) {
  ExprNode node;
  node.op = ExprOp::kExtract;
  node.a = a.id;
  node.bits = static_cast<uint64_t>(lane);
  node.type = type(a).with_lanes(1);
  return made(std::move(node));
}
Expr KernelBuilder::shuffle(Expr a, Expr b, std::vector<uint8_t> pattern) {
  ExprNode node;
  node.op = ExprOp::kShuffle;
  node.a = a.id;
  node.b = b.id;
  node.type = type(a).with_lanes(static_cast<int>(pattern.size()));
  node.pattern = std::move(pattern);
  return made(std::move(node));
}
Expr KernelBuilder::hreduce(ExprOp op, Expr a) { return lanes(a) == 1 ? a : unary(op, a); }

}  // namespace nnc

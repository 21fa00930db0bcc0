#include <map>

#include "ir/base/kernel_rules.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

constexpr ExprOpInfo kInfo[] = {
    {"const", 0},      {"var", 0},        {"task0", 0},      {"task1", 0},      {"task2", 0},      {"thread", 0},    {"lane", 0},
    {"dim", 0},        {"neg", 1},        {"abs", 1},        {"not", 1},        {"sqrt", 1},       {"floor", 1},     {"ceil", 1},
    {"round_even", 1}, {"trunc", 1},      {"isnan", 1},      {"add", 2},        {"sub", 2},        {"mul", 2},       {"div", 2},
    {"rem", 2},        {"floordiv", 2},   {"floormod", 2},   {"min", 2},        {"max", 2},        {"and", 2},       {"or", 2},
    {"xor", 2},        {"shl", 2},        {"shr", 2},        {"lt", 2},         {"le", 2},         {"eq", 2},        {"fma", 3},
    {"select", 3},     {"cast.trunc", 1}, {"cast.sat", 1},   {"cast.even", 1},  {"cast.zext", 1},  {"cast.sext", 1}, {"cast.bits", 1},
    {"cast.mask", 1},  {"exp", 1},        {"exp2", 1},       {"log", 1},        {"log2", 1},       {"sin", 1},       {"cos", 1},
    {"tanh", 1},       {"erf", 1},        {"pow", 2},        {"splat", 1},      {"iota", 0},       {"extract", 1},   {"shuffle", 2},
    {"reduce.add", 1}, {"reduce.mul", 1}, {"reduce.min", 1}, {"reduce.max", 1}, {"reduce.and", 1}, {"reduce.or", 1},
};
static_assert(std::size(kInfo) == static_cast<size_t>(ExprOp::kCount), "every operation has a spelling");

bool is_arith(const KType& t) { return t.kind == KType::kIndex || (t.kind == KType::kElem && computes_in(t.elem)); }
bool is_fp(const KType& t) { return t.is_elem(DType::kF32) || t.is_elem(DType::kF64); }
bool is_whole(const KType& t) { return t.kind == KType::kIndex || (t.kind == KType::kElem && is_int(t.elem)); }
bool is_signed(const KType& t) { return t.kind == KType::kIndex || (t.kind == KType::kElem && is_signed_int(t.elem)); }

enum class Rule : uint8_t { kLeaf, kSame, kCompare, kFma, kSelect, kCast, kIsNan, kSplat, kIota, kExtract, kShuffle, kReduce };
// What the first operand may be.
enum Domain : uint8_t { kAny = 0, kArith = 1, kFp = 2, kWhole = 4, kMaskToo = 8, kSignedOrFp = 16 };

struct OpRule {
  Rule rule;
  int domain;
};
OpRule rule_of(ExprOp op) {
  switch (op) {
    case ExprOp::kConst:
    case ExprOp::kVar:
    case ExprOp::kTask0:
    case ExprOp::kTask1:
    case ExprOp::kTask2:
    case ExprOp::kThread:
    case ExprOp::kLane:
    case ExprOp::kDim:
    case ExprOp::kCount: return {Rule::kLeaf, kAny};
    case ExprOp::kNeg: return {Rule::kSame, kArith};
    case ExprOp::kAbs: return {Rule::kSame, kSignedOrFp};
    case ExprOp::kNot: return {Rule::kSame, kWhole | kMaskToo};
    case ExprOp::kSqrt:
    case ExprOp::kFloor:
    case ExprOp::kCeil:
    case ExprOp::kRoundEven:
    case ExprOp::kTrunc: return {Rule::kSame, kFp};
    case ExprOp::kIsNan: return {Rule::kIsNan, kFp};
    case ExprOp::kAdd:
    case ExprOp::kSub:
    case ExprOp::kMul:
    case ExprOp::kDiv:
    case ExprOp::kRem:
    case ExprOp::kMin:
    case ExprOp::kMax: return {Rule::kSame, kArith};
    case ExprOp::kFloorDiv:
    case ExprOp::kFloorMod:
    case ExprOp::kShl:
    case ExprOp::kShr: return {Rule::kSame, kWhole};
    case ExprOp::kAnd:
    case ExprOp::kOr:
    case ExprOp::kXor: return {Rule::kSame, kWhole | kMaskToo};
    case ExprOp::kLt:
    case ExprOp::kLe: return {Rule::kCompare, kArith};
    case ExprOp::kEq: return {Rule::kCompare, kArith | kMaskToo};
    case ExprOp::kFma: return {Rule::kFma, kFp};
    case ExprOp::kSelect: return {Rule::kSelect, kAny};
    case ExprOp::kCastTrunc:
    case ExprOp::kCastSat:
    case ExprOp::kCastEven:
    case ExprOp::kCastZext:
    case ExprOp::kCastSext:
    case ExprOp::kCastBits:
    case ExprOp::kCastMask: return {Rule::kCast, kAny};
    case ExprOp::kExp:
    case ExprOp::kExp2:
    case ExprOp::kLog:
    case ExprOp::kLog2:
    case ExprOp::kSin:
    case ExprOp::kCos:
    case ExprOp::kTanh:
    case ExprOp::kErf:
    case ExprOp::kPow: return {Rule::kSame, kFp};
    case ExprOp::kSplat: return {Rule::kSplat, kAny};
    case ExprOp::kIota: return {Rule::kIota, kAny};
    case ExprOp::kExtract: return {Rule::kExtract, kAny};
    case ExprOp::kShuffle: return {Rule::kShuffle, kAny};
    case ExprOp::kReduceAdd:
    case ExprOp::kReduceMul:
    case ExprOp::kReduceMin:
    case ExprOp::kReduceMax: return {Rule::kReduce, kArith};
    case ExprOp::kReduceAnd:
    case ExprOp::kReduceOr: return {Rule::kReduce, kWhole | kMaskToo};
  }
  return {Rule::kLeaf, kAny};
}

bool in_domain(const KType& t, int domain) {
  if (domain == kAny) return t.kind == KType::kElem || t.kind == KType::kMask || t.kind == KType::kIndex;
  return ((domain & kArith) && is_arith(t)) || ((domain & kFp) && is_fp(t)) || ((domain & kWhole) && is_whole(t)) ||
         ((domain & kMaskToo) && t.kind == KType::kMask) || ((domain & kSignedOrFp) && (is_signed(t) || is_fp(t)));
}

// Integer width for casts; an index takes part with any width.
bool cast_ok(ExprOp op, const KType& from, const KType& to) {
  if (from.lanes != to.lanes) return false;
  const bool both_whole = is_whole(from) && is_whole(to);
  const bool with_index = from.kind == KType::kIndex || to.kind == KType::kIndex;
  const int fw = type_bits(from), tw = type_bits(to);
  switch (op) {
    case ExprOp::kCastTrunc: return both_whole && (tw <= fw || with_index);
    case ExprOp::kCastSext: return both_whole && is_signed(from) && tw >= fw;
    case ExprOp::kCastZext: return both_whole && !is_signed(from) && tw > fw;
    case ExprOp::kCastSat: return is_fp(from) && to.kind == KType::kElem && is_int(to.elem);
    case ExprOp::kCastEven: {
      const auto stored = [](const KType& t) { return t.is_elem(DType::kF16) || t.is_elem(DType::kBF16); };
      if (is_whole(from)) return is_fp(to);
      return stored(from) ? to.is_elem(DType::kF32) : is_fp(from) && (is_fp(to) || stored(to));
    }
    case ExprOp::kCastBits: return from.kind == KType::kElem && to.kind == KType::kElem && fw == tw;
    case ExprOp::kCastMask: return (from.kind == KType::kMask && to.is_elem(DType::kU8)) || (to.kind == KType::kMask && is_whole(from));
    default: return false;
  }
}

std::string mismatch(ExprOp op, const KType& a, const KType& b) {
  return cat(expr_op_name(op), " of ", type_text(a), " and ", type_text(b), ": operands must have one type; convert explicitly");
}

TypeProblem check_const(const ExprNode& n) {
  if (n.type.kind == KType::kNone || n.type.kind == KType::kFrag) return {0, "constant without a value type"};
  if (n.type.kind == KType::kElem && (!buffer_elem_ok(n.type.elem) || n.type.elem == DType::kBool))
    return {0, "constant of a type that kernels do not hold"};
  const int bits = n.type.kind == KType::kMask ? 1 : type_bits(n.type);
  if (bits < 64 && (n.bits >> bits) != 0) return {0, "constant has more bits than its type"};
  return {};
}

TypeProblem check_leaf(const Kernel& k, const ExprNode& n) {
  if (n.op == ExprOp::kConst) return check_const(n);
  if (n.op == ExprOp::kVar) {
    if (!k.vars.contains(n.var)) return {0, "variable outside the kernel's table"};
    if (k.vars[n.var].type != n.type) return {0, "variable read with another type than it has"};
    return {};
  }
  if (n.type != KType::index()) return {0, cat(expr_op_name(n.op), " is an index")};
  if (n.op == ExprOp::kDim && n.bits >= k.symbols.size()) return {0, "dim outside the kernel's symbols"};
  if (n.op == ExprOp::kCount) return {0, "no such operation"};
  return {};
}

TypeProblem check_shuffle(const ExprNode& n, const KType& a, const KType& b) {
  if (a.with_lanes(1) != b.with_lanes(1)) return {5, mismatch(n.op, a, b)};
  if (!lanes_ok(static_cast<int>(n.pattern.size()))) return {0, "shuffle pattern must have a power of two of lanes up to 64"};
  for (uint8_t p : n.pattern)
    if (p >= a.lanes + b.lanes) return {0, "shuffle pattern outside its operands' lanes"};
  if (n.type != a.with_lanes(static_cast<int>(n.pattern.size()))) return {0, "shuffle has the wrong type"};
  return {};
}

}  // namespace

std::string_view expr_op_name(ExprOp op) { return op < ExprOp::kCount ? kInfo[static_cast<size_t>(op)].name : "?"; }
const ExprOpInfo& expr_op_info(ExprOp op) {
  NNC_CHECK(op < ExprOp::kCount, "no such operation");
  return kInfo[static_cast<size_t>(op)];
}
std::optional<ExprOp> parse_expr_op(std::string_view name) {
  static const std::map<std::string_view, ExprOp> table = [] {
    std::map<std::string_view, ExprOp> m;
    for (size_t i = 0; i < std::size(kInfo); ++i) m[kInfo[i].name] = static_cast<ExprOp>(i);
    return m;
  }();
  const auto it = table.find(name);
  return it == table.end() ? std::nullopt : std::optional(it->second);
}

std::string_view atomic_name(AtomicOp op) {
  constexpr std::string_view names[] = {"add", "min", "max", "or", "cas"};
  return names[static_cast<size_t>(op)];
}
std::string_view warp_name(WarpOp op) {
  constexpr std::string_view names[] = {"shfl_xor", "shfl_up", "shfl_down", "shfl_idx", "ballot", "any", "all"};
  return names[static_cast<size_t>(op)];
}
std::string_view space_name(Space s) {
  constexpr std::string_view names[] = {"global", "constant", "shared", "local"};
  return names[static_cast<size_t>(s)];
}
std::string_view access_name(Access a) {
  constexpr std::string_view names[] = {"r", "w", "rw"};
  return names[static_cast<size_t>(a)];
}

DType value_dtype(DType storage) { return storage == DType::kBool ? DType::kU8 : storage; }
bool computes_in(DType t) { return t == DType::kF32 || t == DType::kF64 || (is_int(t) && dtype_bits(t) >= 8); }
bool buffer_elem_ok(DType t) {
  return t == DType::kBool || computes_in(t) || t == DType::kF16 || t == DType::kBF16 || (is_float(t) && dtype_bits(t) == 8);
}
int type_bits(const KType& t) {
  switch (t.kind) {
    case KType::kElem: return dtype_bits(t.elem);
    case KType::kMask: return 8;
    case KType::kIndex: return 64;
    default: return 0;
  }
}

std::string type_text(const KType& t) {
  const auto base = [&]() -> std::string {
    switch (t.kind) {
      case KType::kElem: return std::string(dtype_name(t.elem));
      case KType::kMask: return "mask";
      case KType::kIndex: return "index";
      case KType::kFrag: {
        constexpr std::string_view roles[] = {"none", "a", "b", "c"};
        return cat(dtype_name(t.elem), " m", int(t.frag.m), "n", int(t.frag.n), "k", int(t.frag.k), " ", roles[t.frag.role & 3]);
      }
      case KType::kNone: break;
    }
    return "none";
  }();
  return t.lanes == 1 ? base : cat(base, "x", int(t.lanes));
}

std::optional<KType> parse_type(std::string_view text) {
  // No type name holds an 'x' but "index", which ends in one.
  std::string_view base = text;
  int64_t lanes = 1;
  const size_t x = text.starts_with("index") ? (text.size() > 5 ? 5 : std::string_view::npos) : text.find('x');
  if (x != std::string_view::npos) {
    if (text[x] != 'x' || !parse_int(text.substr(x + 1), &lanes) || !lanes_ok(static_cast<int>(std::min<int64_t>(lanes, 65))) || lanes == 1)
      return std::nullopt;
    base = text.substr(0, x);
  }
  const int n = static_cast<int>(lanes);
  if (base == "index") return KType::index(n);
  if (base == "mask") return KType::mask(n);
  const DType d = parse_dtype(base);
  if (d == DType::kInvalid || dtype_name(d) != base) return std::nullopt;
  return KType::of(d, n);
}

KType result_type(ExprOp op, const KType& a, const KType& b) {
  switch (rule_of(op).rule) {
    case Rule::kCompare:
    case Rule::kIsNan: return KType::mask(a.lanes);
    case Rule::kSelect: return b;
    case Rule::kExtract:
    case Rule::kReduce: return a.with_lanes(1);
    default: return a;
  }
}

TypeProblem check_expr(const Kernel& k, const ExprNode& n) {
  if (n.op >= ExprOp::kCount) return {0, "no such operation"};
  const int count = int(n.a.valid()) + int(n.b.valid()) + int(n.c.valid());
  if (count != expr_op_info(n.op).operands || (n.b.valid() && !n.a.valid()) || (n.c.valid() && !n.b.valid()))
    return {0, cat(expr_op_name(n.op), " takes ", expr_op_info(n.op).operands, " operands")};
  for (ExprId e : {n.a, n.b, n.c})
    if (e.valid() && !k.exprs.contains(e)) return {0, "operand outside the kernel's expressions"};
  if (!lanes_ok(n.type.lanes)) return {0, "lanes must be a power of two up to 64"};
  static const KType none;
  const KType& a = n.a ? k.exprs[n.a].type : none;
  const KType& b = n.b ? k.exprs[n.b].type : none;
  const KType& c = n.c ? k.exprs[n.c].type : none;
  const OpRule r = rule_of(n.op);
  if (r.rule == Rule::kLeaf) return check_leaf(k, n);
  if (n.a && !in_domain(a, r.domain)) {
    const bool implicit = a.kind == KType::kElem && is_float(a.elem) && !computes_in(a.elem);
    return {implicit ? 5 : 0, cat(expr_op_name(n.op), " is not defined for ", type_text(a), implicit ? ": convert to f32 first" : "")};
  }
  const auto typed = [&](const KType& want) -> TypeProblem {
    if (n.type == want) return {};
    return {5, cat(expr_op_name(n.op), " gives ", type_text(want), ", not ", type_text(n.type))};
  };
  switch (r.rule) {
    case Rule::kSame:
    case Rule::kCompare:
      if (n.b && a != b) return {5, mismatch(n.op, a, b)};
      return typed(result_type(n.op, a, b));
    case Rule::kIsNan:
    case Rule::kReduce: return typed(result_type(n.op, a, b));
    case Rule::kFma:
      if (a != b || a != c) return {5, mismatch(n.op, a, a != b ? b : c)};
      return typed(a);
    case Rule::kSelect:
      if (a != KType::mask(b.lanes)) return {0, cat("select needs a mask of ", int(b.lanes), " lanes, not ", type_text(a))};
      if (b != c) return {5, mismatch(n.op, b, c)};
      return typed(b);
    case Rule::kCast:
      if (!cast_ok(n.op, a, n.type)) return {0, cat(expr_op_name(n.op), " does not lead from ", type_text(a), " to ", type_text(n.type))};
      return {};
    case Rule::kSplat:
      if (a.lanes != 1 || n.type.lanes == 1) return {0, "splat takes one lane to several"};
      return typed(a.with_lanes(n.type.lanes));
    case Rule::kIota: return n.type.kind == KType::kIndex ? TypeProblem{} : TypeProblem{0, "iota gives index lanes"};
    case Rule::kExtract:
      if (n.bits >= a.lanes) return {0, "extract outside the lanes"};
      return typed(a.with_lanes(1));
    case Rule::kShuffle: return check_shuffle(n, a, b);
    case Rule::kLeaf: break;
  }
  return {};
}

bool defines_var(const Stmt& s) {
  return s.var.valid() && s.kind != StmtKind::kSet &&
         !(s.kind == StmtKind::kFrag && static_cast<FragOp>(s.op) != FragOp::kZero && static_cast<FragOp>(s.op) != FragOp::kLoad &&
           static_cast<FragOp>(s.op) != FragOp::kGet);
}

}  // namespace nnc

#include "codegen/emit.h"

#include <algorithm>

#include "ir/support/text.h"

namespace nnc {

void SourceWriter::line(std::string_view text) {
  text_.append(static_cast<size_t>(depth_) * 2, ' ');
  text_ += text;
  text_ += '\n';
}
void SourceWriter::open(std::string_view head) {
  line(cat(head, head.empty() ? "{" : " {"));
  ++depth_;
}
void SourceWriter::middle(std::string_view text) {
  --depth_;
  line(text);
  ++depth_;
}
void SourceWriter::close(std::string_view tail) {
  --depth_;
  line(tail);
}

std::string UnitEmitter::var_name(const Kernel& k, VarId v) { return cat(k.vars[v].name, "_", v.v); }
std::string UnitEmitter::buffer_name(const Kernel& k, BufId b) {
  return b.v < k.param_count ? k.buffers[b].name : cat(k.buffers[b].name, "_", b.v);
}

std::string dim_text(const Dim& d) {
  std::string s;
  for (const Term& t : d.terms()) {
    if (!s.empty()) s += " + ";
    s += cat("idx(", t.coeff, ")");
    for (uint32_t sym : t.mono.s)
      if (sym) s += cat(" * d", sym - 1);
  }
  if (s.empty() || d.constant() != 0) s += cat(s.empty() ? "" : " + ", "idx(", d.constant(), ")");
  return s;
}

std::string UnitEmitter::type(const KType& t) {
  types_.insert(t);
  return d_.type_name(t);
}

std::string UnitEmitter::call(const Kernel&, HelperKey key, const std::vector<std::string>& args) {
  std::string text = key.name + "(";
  for (size_t i = 0; i < args.size(); ++i) text += (i ? ", " : "") + args[i];
  types_.insert(key.type);
  if (key.from.kind != KType::kNone) types_.insert(key.from);
  helpers_.insert(std::move(key));
  return text + ")";
}

namespace {
std::string_view infix(ExprOp op) {
  switch (op) {
    case ExprOp::kAdd: return "+";
    case ExprOp::kSub: return "-";
    case ExprOp::kMul: return "*";
    case ExprOp::kAnd: return "&";
    case ExprOp::kOr: return "|";
    case ExprOp::kXor: return "^";
    case ExprOp::kLt: return "<";
    case ExprOp::kLe: return "<=";
    case ExprOp::kEq: return "==";
    default: return {};
  }
}
}  // namespace

namespace {
bool reads_mut(const Kernel& k, ExprId id) {
  const ExprNode& e = k.exprs[id];
  if (e.op == ExprOp::kVar) return k.vars[e.var].is_mut;
  return (e.a && reads_mut(k, e.a)) || (e.b && reads_mut(k, e.b)) || (e.c && reads_mut(k, e.c));
}
}  // namespace

// A vector of indices as a sum of lane numbers and scalars.
bool UnitEmitter::lane_sum(const Kernel& k, ExprId id, LaneSum* out) {
  const ExprNode& e = k.exprs[id];
  switch (e.op) {
    case ExprOp::kIota: ++out->iotas; return true;
    case ExprOp::kSplat: out->scalars.push_back(expr(k, e.a)); return true;
    case ExprOp::kConst: out->scalars.push_back(cat("idx(", static_cast<int64_t>(e.bits), ")")); return true;
    case ExprOp::kAdd: return lane_sum(k, e.a, out) && lane_sum(k, e.b, out);
    case ExprOp::kVar: {
      const auto it = lane_names_.find(e.var);
      return it != lane_names_.end() && lane_sum(k, it->second, out);
    }
    default: return false;
  }
}

// lane + x < y is lane < y - x: vectors of 64-bit indices are dear on processors, a number is not.
std::optional<std::string> UnitEmitter::lane_compare(const Kernel& k, const ExprNode& e) {
  LaneSum a, b;
  if ((e.op != ExprOp::kLt && e.op != ExprOp::kLe) || !lane_sum(k, e.a, &a) || !lane_sum(k, e.b, &b)) return std::nullopt;
  if (a.iotas + b.iotas != 1) return std::nullopt;
  const bool below = a.iotas == 1, equal = e.op == ExprOp::kLe;
  const LaneSum &lanes = below ? a : b, &other = below ? b : a;
  std::string n = join(other.scalars, " + ");
  for (const std::string& s : lanes.scalars) append(n, " - ", s);
  if (below == equal) append(n, " + idx(1)");
  HelperKey key;
  key.name = cat(below ? "lanes_below_" : "lanes_from_", type(e.type));
  key.type = e.type;
  key.what = HelperKey::kLanes;
  key.sub = below ? 0 : 1;
  return call(k, key, {n});
}

std::string UnitEmitter::expr(const Kernel& k, ExprId id) {
  const ExprNode& e = k.exprs[id];
  const std::string t = type(e.type);
  auto helper = [&](std::string name, KType from = {}) {
    HelperKey key;
    key.name = std::move(name);
    key.op = e.op;
    key.type = e.type;
    key.from = from;
    key.pattern = e.pattern;
    return key;
  };
  switch (e.op) {
    case ExprOp::kConst:
      if (e.type.lanes > 1) {
        ExprNode one = e;
        one.type.lanes = 1;
        types_.insert(one.type);
        HelperKey splat = helper(cat("splat_", t), one.type);
        splat.op = ExprOp::kSplat;
        return call(k, splat,
                    {e.type.kind == KType::kMask ? (e.bits ? "true" : "false")
                                                 : call(k,
                                                        [&] {
                                                          HelperKey c = helper(cat("bits_", d_.type_name(one.type)));
                                                          c.type = one.type;
                                                          return c;
                                                        }(),
                                                        {cat("0x", hex(e.bits, 1), "ull")})});
      }
      if (e.type.kind == KType::kMask) return e.bits ? "true" : "false";
      if (e.type.kind == KType::kIndex) return cat("idx(", static_cast<int64_t>(e.bits), ")");
      return call(k, helper(cat("bits_", t)), {cat("0x", hex(e.bits, 1), "ull")});
    case ExprOp::kVar: return var_name(k, e.var);
    case ExprOp::kTask0: return "task0";
    case ExprOp::kTask1: return "task1";
    case ExprOp::kTask2: return "task2";
    case ExprOp::kThread: return d_.thread_name();
    case ExprOp::kLane: return cat("(", d_.thread_name(), " & 31)");
    case ExprOp::kDim: return cat("d", e.bits);
    case ExprOp::kSplat: return call(k, helper(cat("splat_", t), k.exprs[e.a].type), {expr(k, e.a)});
    case ExprOp::kIota: return call(k, helper(cat("iota_", t)), {});
    case ExprOp::kExtract: return call(k, helper(cat("extract_", type(k.exprs[e.a].type)), k.exprs[e.a].type), {expr(k, e.a), cat(e.bits)});
    case ExprOp::kShuffle: {
      std::string name = cat("shuffle_", type(k.exprs[e.a].type));
      for (uint8_t p : e.pattern) name += cat("_", int(p));
      const ExprId b = e.b.valid() ? e.b : e.a;
      return call(k, helper(name, k.exprs[e.a].type), {expr(k, e.a), expr(k, b)});
    }
    default: break;
  }
  const KType from = k.exprs[e.a].type;
  if (d_.counts_lanes() && from.kind == KType::kIndex && from.lanes > 1)
    if (auto text = lane_compare(k, e)) return *text;
  if (auto op = infix(e.op); !op.empty() && d_.operators_on(from)) {
    const bool compare = e.op == ExprOp::kLt || e.op == ExprOp::kLe || e.op == ExprOp::kEq;
    if (!compare || from.lanes == 1) return cat("(", expr(k, e.a), " ", op, " ", expr(k, e.b), ")");
  }
  std::vector<std::string> args{expr(k, e.a)};
  if (e.b.valid()) args.push_back(expr(k, e.b));
  if (e.c.valid()) args.push_back(expr(k, e.c));
  const bool from_names = e.op == ExprOp::kLt || e.op == ExprOp::kLe || e.op == ExprOp::kEq || e.op == ExprOp::kIsNan ||
                          (e.op >= ExprOp::kReduceAdd && e.op <= ExprOp::kReduceOr);
  const bool is_cast = e.op >= ExprOp::kCastTrunc && e.op <= ExprOp::kCastMask;
  std::string name = cat(expr_op_name(e.op), "_", from_names ? type(from) : t);
  if (is_cast) name = cat(expr_op_name(e.op), "_", t, "_from_", type(from));
  std::replace(name.begin(), name.end(), '.', '_');
  return call(k, helper(name, from), args);
}

void UnitEmitter::statements(SourceWriter& w, const Kernel& k, const Block& b) {
  for (StmtId s : b) statement(w, k, k.stmts[s]);
}

void UnitEmitter::statement(SourceWriter& w, const Kernel& k, const Stmt& s) {
  switch (s.kind) {
    case StmtKind::kLet:
      if (k.vars[s.var].type.kind == KType::kIndex && k.vars[s.var].type.lanes > 1 && !reads_mut(k, s.value)) lane_names_[s.var] = s.value;
      w.line(cat("const ", type(k.vars[s.var].type), " ", var_name(k, s.var), " = ", expr(k, s.value), ";"));
      break;
    case StmtKind::kMut: w.line(cat(type(k.vars[s.var].type), " ", var_name(k, s.var), " = ", expr(k, s.value), ";")); break;
    case StmtKind::kSet: w.line(cat(var_name(k, s.var), " = ", expr(k, s.value), ";")); break;
    case StmtKind::kFor: {
      const std::string v = var_name(k, s.var);
      if (s.unroll && !d_.unroll().empty()) w.line(d_.unroll());
      w.open(cat("for (idx ", v, " = ", expr(k, s.index), ", ", v, "_end = ", expr(k, s.index2), "; ", v, " < ", v, "_end; ", v,
                 " += ", s.n, ")"));
      statements(w, k, s.body);
      w.close();
      break;
    }
    case StmtKind::kWhile:
      w.open(cat("while (", expr(k, s.value), ")"));
      statements(w, k, s.body);
      w.close();
      break;
    case StmtKind::kIf:
      w.open(cat("if (", expr(k, s.value), ")"));
      statements(w, k, s.body);
      if (!s.orelse.empty()) {
        w.middle("} else {");
        statements(w, k, s.orelse);
        w.close();
      } else {
        w.close();
      }
      break;
    case StmtKind::kBlock:
      w.open("");
      statements(w, k, s.body);
      w.close();
      break;
    case StmtKind::kNote:
      if (options_.notes) w.line(cat("// ", k.notes[s.loc].text));
      break;
    case StmtKind::kAlloc: w.line(d_.alloc(k, k.buffers[s.buf], buffer_name(k, s.buf))); break;
    case StmtKind::kLoad:
    case StmtKind::kStore:
    case StmtKind::kAtomic:
    case StmtKind::kPrefetch:
    case StmtKind::kCheck: memory(w, k, s); break;
    default: threads(w, k, s); break;
  }
}

void UnitEmitter::memory(SourceWriter& w, const Kernel& k, const Stmt& s) {
  HelperKey h;
  if (s.kind == StmtKind::kCheck) {
    h.what = HelperKey::kCheck;
    h.name = "check_index";
    h.type = KType::index();
    w.line(cat("const idx ", var_name(k, s.var), " = ", call(k, h, {expr(k, s.index), expr(k, s.index2), cat(s.site), "failure"}), ";"));
    return;
  }
  const std::string at = cat(buffer_name(k, s.buf), ", ", expr(k, s.index));
  h.sub = s.nt ? 1 : 0;
  auto parts = [&](HelperKey& key) -> std::string {
    if (s.mask.valid() || k.exprs[s.index].type.lanes > 1) return {};
    const int lanes = d_.access_lanes(k, s, key.type);
    if (lanes == key.type.lanes) return {};
    key.pattern = {static_cast<uint8_t>(lanes)};
    return cat("_by", lanes);
  };
  if (s.kind == StmtKind::kLoad) {
    h.type = k.vars[s.var].type;
    h.what = s.mask.valid() ? HelperKey::kLoadMasked : HelperKey::kLoad;
    h.name = cat(s.mask.valid() ? "load_masked_" : "load_", type(h.type), s.nt ? "_nt" : "", parts(h));
    std::vector<std::string> args{at};
    if (s.mask.valid()) {
      args.push_back(expr(k, s.mask));
      if (s.other.valid()) {
        args.push_back(expr(k, s.other));
      } else {
        args.push_back(cat(type(h.type), "{}"));
      }
    }
    w.line(cat("const ", type(h.type), " ", var_name(k, s.var), " = ", call(k, h, args), ";"));
  } else if (s.kind == StmtKind::kStore) {
    h.type = k.exprs[s.value].type;
    h.what = s.mask.valid() ? HelperKey::kStoreMasked : HelperKey::kStore;
    h.name = cat(s.mask.valid() ? "store_masked_" : "store_", type(h.type), s.nt ? "_nt" : "", parts(h));
    std::vector<std::string> args{at, expr(k, s.value)};
    if (s.mask.valid()) args.push_back(expr(k, s.mask));
    w.line(call(k, h, args) + ";");
  } else if (s.kind == StmtKind::kPrefetch) {
    w.line(d_.prefetch(buffer_name(k, s.buf), expr(k, s.index)));
  } else {
    static constexpr const char* kNames[] = {"add", "min", "max", "or", "cas"};
    h.type = k.exprs[s.value].type;
    h.what = HelperKey::kAtomic;
    h.sub = s.op;
    h.name = cat("atomic_", kNames[s.op], "_", type(h.type));
    std::vector<std::string> args{at, expr(k, s.value)};
    if (s.other.valid()) args.push_back(expr(k, s.other));
    const std::string text = call(k, h, args);
    w.line(s.var.valid() ? cat("const ", type(h.type), " ", var_name(k, s.var), " = ", text, ";") : text + ";");
  }
}

void UnitEmitter::threads(SourceWriter& w, const Kernel& k, const Stmt& s) {
  HelperKey h;
  h.sub = s.op;
  if (s.kind == StmtKind::kBarrier) {
    w.line(d_.barrier(static_cast<Scope>(s.op)));
  } else if (s.kind == StmtKind::kWarp) {
    static constexpr const char* kNames[] = {"shfl_xor", "shfl_up", "shfl_down", "shfl_idx", "ballot", "any", "all"};
    h.what = HelperKey::kWarp;
    h.type = k.exprs[s.value].type;
    h.name = cat("warp_", kNames[s.op], "_", type(h.type));
    std::vector<std::string> args{expr(k, s.value)};
    if (s.other.valid()) args.push_back(expr(k, s.other));
    w.line(cat("const ", type(k.vars[s.var].type), " ", var_name(k, s.var), " = ", call(k, h, args), ";"));
  } else if (s.kind == StmtKind::kCopy) {
    h.what = HelperKey::kCopy;
    if (static_cast<CopyOp>(s.op) == CopyOp::kAsync) {
      h.name = cat("copy_async_", s.n);
      std::vector<std::string> args{buffer_name(k, s.buf), expr(k, s.index), buffer_name(k, s.buf2), expr(k, s.index2),
                                    s.mask.valid() ? expr(k, s.mask) : "true"};
      h.type = KType::index();
      h.type.lanes = 1;
      h.pattern = {static_cast<uint8_t>(s.n)};
      w.line(call(k, h, args) + ";");
    } else {
      const bool commit = static_cast<CopyOp>(s.op) == CopyOp::kCommit;
      h.name = commit ? "copy_commit" : cat("copy_wait_", s.n);
      h.type = KType::index();
      h.pattern = {static_cast<uint8_t>(s.n)};
      w.line(call(k, h, {}) + ";");
    }
  } else {
    static constexpr const char* kNames[] = {"zero", "load", "mma", "store", "get", "set"};
    const FragOp op = static_cast<FragOp>(s.op);
    const VarId f = op == FragOp::kStore || op == FragOp::kGet || op == FragOp::kSet ? s.f0 : s.var;
    h.what = HelperKey::kFragment;
    h.type = k.vars[f].type;
    h.name = cat("frag_", kNames[s.op], s.n && op == FragOp::kLoad ? "_transposed_" : "_", type(h.type));
    h.pattern = {static_cast<uint8_t>(op == FragOp::kLoad ? s.n : 0)};
    const std::string name = var_name(k, s.var.valid() ? s.var : f);
    switch (op) {
      case FragOp::kZero: w.line(cat(type(h.type), " ", name, " = ", call(k, h, {}), ";")); break;
      case FragOp::kLoad:
        w.line(
            cat(type(h.type), " ", name, " = ", call(k, h, {cat(buffer_name(k, s.buf), ", ", expr(k, s.index)), expr(k, s.index2)}), ";"));
        break;
      case FragOp::kMma: {
        const KType a = k.vars[s.f0].type, b = k.vars[s.f1].type;
        h.from = a;
        h.other = b;
        h.name = cat("frag_mma_", type(h.type), "_", type(a), "_", type(b));
        w.line(cat(call(k, h, {name, var_name(k, s.f0), var_name(k, s.f1)}), ";"));
        break;
      }
      case FragOp::kStore:
        w.line(cat(call(k, h, {cat(buffer_name(k, s.buf), ", ", expr(k, s.index)), expr(k, s.index2), var_name(k, s.f0)}), ";"));
        break;
      case FragOp::kGet:
        w.line(cat("const ", type(k.vars[s.var].type), " ", name, " = ", call(k, h, {var_name(k, s.f0), cat(s.n)}), ";"));
        break;
      case FragOp::kSet: w.line(cat(call(k, h, {name, cat(s.n), expr(k, s.value)}), ";")); break;
    }
  }
}

void UnitEmitter::add(const Kernel& k, const std::string& symbol) {
  SourceWriter w;
  lane_names_.clear();
  index64_ = index64_ || k.index64;
  d_.open_kernel(w, k, symbol);
  for (uint32_t b = 0; b < k.param_count; ++b) types_.insert(KType::of(k.buffers[BufId(b)].elem));
  statements(w, k, k.body);
  d_.close_kernel(w, k);
  bodies_.push_back(w.take());
}

std::string UnitEmitter::finish() {
  SourceWriter helpers;
  for (const HelperKey& h : helpers_) d_.define(helpers, h);
  SourceWriter w;
  d_.prelude(w, types_, index64_);
  w.raw(helpers.take());
  for (const std::string& b : bodies_) {
    w.blank();
    w.raw(b);
  }
  return w.take();
}

}  // namespace nnc

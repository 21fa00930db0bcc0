// Printer of kernel IR. Variables and buffers are numbered by their definitions in order of the text, so that the text does not depend on
// what was made and dropped before.

#include <cmath>

#include "ir/base/kernel_rules.h"
#include "ir/support/hash.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

// With names, notes and locations, or without: what a kernel does.
enum class Detail : uint8_t { kAll, kMeaning };

std::string clean_name(std::string_view name) {
  std::string out;
  for (char c : name) out += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ? c : '_';
  return out.empty() ? "v" : out;
}

class Printer {
 public:
  Printer(const Kernel& k, Detail detail) : k_(k), detail_(detail) {}

  std::string kernel() {
    append(out_, "kernel @", detail_ == Detail::kAll ? clean_name(k_.name) : "k", "\n");
    for (size_t i = 0; i < k_.symbols.size(); ++i) symbol(SymbolId(i));
    for (uint32_t i = 0; i < k_.param_count; ++i) param(BufId(i));
    append(out_, "grid ", k_.symbols.str(k_.grid), " threads ", k_.threads, " index ", k_.index64 ? "i64" : "i32", k_.fast ? " fast" : "",
           "\n");
    for (const InPlacePair& p : k_.in_place) append(out_, "inplace ", p.input, " -> ", p.output, "\n");
    for (size_t i = 0; i < k_.sites.size(); ++i) {
      append(out_, "site ", i);
      if (detail_ == Detail::kAll) append(out_, " ", quote(k_.sites[i].what), " loc ", k_.sites[i].loc);
      out_ += '\n';
    }
    out_ += "{\n";
    block(k_.body, 1);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void symbol(SymbolId id) {
    const Symbol& s = k_.symbols[id];
    append(out_, "symbol s", id.v, " = ");
    const std::string a = k_.symbols.str(s.a), b = k_.symbols.str(s.b);
    switch (s.op) {
      case SymOp::kNone: out_ += "input"; break;
      case SymOp::kFloorDiv: append(out_, "floordiv(", a, ", ", b, ")"); break;
      case SymOp::kMod: append(out_, "mod(", a, ", ", b, ")"); break;
      case SymOp::kMin: append(out_, "min(", a, ", ", b, ")"); break;
      case SymOp::kMax: append(out_, "max(", a, ", ", b, ")"); break;
      case SymOp::kBroadcast: append(out_, "broadcast(", a, ", ", b, ")"); break;
      case SymOp::kRound: append(out_, "round(", a, ", ", s.num, ", ", s.den, ", ", s.mode, ")"); break;
      case SymOp::kOpaqueMul: append(out_, "mul(", a, ", ", b, ")"); break;
      case SymOp::kOpaqueAdd: append(out_, "add(", a, ", ", b, ")"); break;
    }
    append(out_, " lo ", s.lo, " hi ", s.hi, " div ", s.divisor, " typical ", s.typical, "\n");
  }

  void param(BufId id) {
    const KBuffer& b = k_.buffers[id];
    number_buffer(id);
    append(out_, "param ", buf(id), " : ", dtype_name(b.elem), "[", k_.symbols.str(b.extent), "] align ", b.align, " ",
           access_name(b.access), " ", space_name(b.space), "\n");
  }

  void number_buffer(BufId id) {
    if (id.index() >= buffer_number_.size()) buffer_number_.resize(id.index() + 1, Id<BufTag>::kNone);
    buffer_number_[id.index()] = next_buffer_++;
  }
  void number_var(VarId id) {
    if (id.index() >= var_number_.size()) var_number_.resize(id.index() + 1, VarId::kNone);
    if (var_number_[id.index()] == VarId::kNone) var_number_[id.index()] = next_var_++;
  }
  std::string number_of(const std::vector<uint32_t>& table, uint32_t id) const {
    // Not defined before: the verifier says so; the arena's id tells which.
    return id < table.size() && table[id] != VarId::kNone ? cat(table[id]) : cat("undefined", id);
  }
  std::string name_of(std::string_view name) const { return detail_ == Detail::kAll ? clean_name(name) : "v"; }
  std::string var(VarId v) const {
    return cat("%", k_.vars.contains(v) ? name_of(k_.vars[v].name) : "v", ".", number_of(var_number_, v.v));
  }
  std::string buf(BufId b) const {
    return cat("$", k_.buffers.contains(b) ? name_of(k_.buffers[b].name) : "b", ".", number_of(buffer_number_, b.v));
  }

  void constant(const ExprNode& n) {
    const KType& t = n.type;
    if (t.kind == KType::kIndex) {
      if (t.lanes == 1)
        append(out_, int64_t(n.bits));
      else
        append(out_, type_text(t), "(", int64_t(n.bits), ")");
      return;
    }
    append(out_, type_text(t), "(");
    if (t.kind == KType::kMask)
      append(out_, n.bits != 0);
    else if (is_int(t.elem))
      integer(t.elem, n.bits);
    else
      real(t.elem, n.bits);
    out_ += ')';
  }
  void integer(DType t, uint64_t bits) {
    if (is_signed_int(t))
      append(out_, wrap_int(t, int64_t(bits)));
    else
      append(out_, bits);
  }
  void real(DType t, uint64_t bits) {
    const double v = dtype_bits(t) > 8 ? value_of_bits(t, bits) : std::nan("");
    if (v != v)
      append(out_, "0x", hex(bits, dtype_bits(t) / 4));
    else if (t == DType::kF32)
      append(out_, float(v));
    else
      append(out_, v);
  }

  void expr(ExprId e) {
    if (!k_.exprs.contains(e)) {
      out_ += "?";
      return;
    }
    const ExprNode& n = k_.exprs[e];
    switch (n.op) {
      case ExprOp::kConst: constant(n); return;
      case ExprOp::kVar: out_ += var(n.var); return;
      case ExprOp::kDim: append(out_, "s", n.bits); return;
      case ExprOp::kTask0:
      case ExprOp::kTask1:
      case ExprOp::kTask2:
      case ExprOp::kThread:
      case ExprOp::kLane: out_ += expr_op_name(n.op); return;
      default: break;
    }
    append(out_, expr_op_name(n.op), "(");
    bool first = true;
    for_operands(n, [&](ExprId operand) {
      if (!first) out_ += ", ";
      first = false;
      expr(operand);
    });
    if (n.op >= ExprOp::kCastTrunc && n.op <= ExprOp::kCastMask) append(out_, ", ", type_text(n.type));
    if (n.op == ExprOp::kSplat) append(out_, ", ", int(n.type.lanes));
    if (n.op == ExprOp::kIota) append(out_, int(n.type.lanes));
    if (n.op == ExprOp::kExtract) append(out_, ", ", n.bits);
    if (n.op == ExprOp::kShuffle) append(out_, ", [", join(n.pattern, ", ", [](uint8_t p) { return int(p); }), "]");
    out_ += ')';
  }

  void access(BufId b, ExprId index) {
    append(out_, buf(b), "[");
    expr(index);
    out_ += ']';
  }
  void option(std::string_view word, ExprId e) {
    if (!e.valid()) return;
    append(out_, " ", word, " ");
    expr(e);
  }
  // "%v.3 = ", after which the variable has its number.
  void define(const Stmt& s) {
    if (!s.var.valid()) return;
    number_var(s.var);
    append(out_, var(s.var), " = ");
  }

  void block(const Block& b, int depth) {
    for (StmtId id : b) {
      const Stmt& s = k_.stmts[id];
      if (s.kind == StmtKind::kNote && detail_ == Detail::kMeaning) continue;
      out_.append(static_cast<size_t>(depth) * 2, ' ');
      statement(s, depth);
      out_ += '\n';
    }
  }
  void body(const Block& b, int depth) {
    out_ += "{\n";
    block(b, depth + 1);
    out_.append(static_cast<size_t>(depth) * 2, ' ');
    out_ += '}';
  }

  // A definition's own expressions are printed before its variable gets a number.
  void named(std::string_view word, const Stmt& s) {
    const size_t at = out_.size();
    append(out_, " = ");
    expr(s.value);
    if (s.kind != StmtKind::kSet) number_var(s.var);
    out_.insert(at, cat(word, " ", var(s.var)));
  }

  void statement(const Stmt& s, int depth) {
    switch (s.kind) {
      case StmtKind::kLet: named("let", s); return;
      case StmtKind::kMut: named("mut", s); return;
      case StmtKind::kSet: named("set", s); return;
      case StmtKind::kFor: loop(s, depth); return;
      case StmtKind::kWhile:
        out_ += "while ";
        expr(s.value);
        out_ += ' ';
        body(s.body, depth);
        return;
      case StmtKind::kIf:
        out_ += "if ";
        expr(s.value);
        out_ += ' ';
        body(s.body, depth);
        if (s.orelse.empty()) return;
        out_ += " else ";
        body(s.orelse, depth);
        return;
      case StmtKind::kBlock: body(s.body, depth); return;
      case StmtKind::kAlloc: {
        const KBuffer& b = k_.buffers[s.buf];
        number_buffer(s.buf);
        append(out_, "alloc ", buf(s.buf), " : ", dtype_name(b.elem), "[", k_.symbols.str(b.extent), "] ", space_name(b.space), " align ",
               b.align);
        return;
      }
      case StmtKind::kNote:
        append(out_, "note ", quote(s.loc < k_.notes.size() ? k_.notes[s.loc].text : ""), " loc ",
               s.loc < k_.notes.size() ? k_.notes[s.loc].loc : 0);
        return;
      case StmtKind::kFrag: frag(s); return;
      default: effect(s); return;
    }
  }

  void loop(const Stmt& s, int depth) {
    const size_t at = out_.size();
    append(out_, " = ");
    expr(s.index);
    out_ += " to ";
    expr(s.index2);
    number_var(s.var);
    out_.insert(at, cat("for ", var(s.var)));
    append(out_, " step ", s.n, s.unroll ? " unroll " : " ");
    body(s.body, depth);
  }

  void effect(const Stmt& s) {
    const size_t at = out_.size();
    switch (s.kind) {
      case StmtKind::kLoad:
        out_ += "load ";
        access(s.buf, s.index);
        append(out_, " ", k_.vars.contains(s.var) ? type_text(k_.vars[s.var].type) : "?");
        option("mask", s.mask);
        option("else", s.other);
        if (s.nt) out_ += " nt";
        break;
      case StmtKind::kStore:
        out_ += "store ";
        access(s.buf, s.index);
        option("=", s.value);
        option("mask", s.mask);
        if (s.nt) out_ += " nt";
        break;
      case StmtKind::kAtomic:
        append(out_, "atomic.", atomic_name(static_cast<AtomicOp>(s.op)), " ");
        access(s.buf, s.index);
        option("=", s.value);
        option("new", s.other);
        break;
      case StmtKind::kPrefetch:
        out_ += "prefetch ";
        access(s.buf, s.index);
        break;
      case StmtKind::kCheck:
        out_ += "check ";
        expr(s.index);
        option("<", s.index2);
        append(out_, " at ", s.site);
        break;
      case StmtKind::kBarrier: append(out_, "barrier ", static_cast<Scope>(s.op) == Scope::kBlock ? "block" : "warp"); break;
      case StmtKind::kWarp:
        append(out_, "warp.", warp_name(static_cast<WarpOp>(s.op)), " ");
        expr(s.value);
        option("by", s.other);
        break;
      case StmtKind::kCopy: copy(s); break;
      default: break;
    }
    if (!s.var.valid()) return;
    std::string rest = out_.substr(at);
    out_.resize(at);
    define(s);
    out_ += rest;
  }

  void copy(const Stmt& s) {
    switch (static_cast<CopyOp>(s.op)) {
      case CopyOp::kAsync:
        out_ += "copy.async ";
        access(s.buf, s.index);
        out_ += " <- ";
        access(s.buf2, s.index2);
        append(out_, " bytes ", s.n);
        option("mask", s.mask);
        return;
      case CopyOp::kCommit: out_ += "copy.commit"; return;
      case CopyOp::kWait: append(out_, "copy.wait ", s.n); return;
    }
  }

  void frag(const Stmt& s) {
    const auto type = [&] { return type_text(k_.vars[s.var].type); };
    switch (static_cast<FragOp>(s.op)) {
      case FragOp::kZero:
        define(s);
        append(out_, "frag.zero ", type());
        return;
      case FragOp::kLoad: {
        const size_t at = out_.size();
        append(out_, "frag.load ");
        access(s.buf, s.index);
        option("ld", s.index2);
        append(out_, " ", type(), s.n ? " transposed" : "");
        std::string rest = out_.substr(at);
        out_.resize(at);
        define(s);
        out_ += rest;
        return;
      }
      case FragOp::kMma: append(out_, "frag.mma ", var(s.var), " += ", var(s.f0), " ", var(s.f1)); return;
      case FragOp::kStore:
        out_ += "frag.store ";
        access(s.buf, s.index);
        option("ld", s.index2);
        append(out_, " = ", var(s.f0));
        return;
      case FragOp::kGet:
        define(s);
        append(out_, "frag.get ", var(s.f0), "[", s.n, "]");
        return;
      case FragOp::kSet:
        append(out_, "frag.set ", var(s.f0), "[", s.n, "]");
        option("=", s.value);
        return;
    }
  }

  const Kernel& k_;
  Detail detail_;
  std::string out_;
  std::vector<uint32_t> var_number_, buffer_number_;
  uint32_t next_var_ = 0, next_buffer_ = 0;
};

}  // namespace

std::string print_kernel(const Kernel& k) { return Printer(k, Detail::kAll).kernel(); }

std::string kernel_hash(const Kernel& k) { return sha256(Printer(k, Detail::kMeaning).kernel()).hex(); }

}  // namespace nnc

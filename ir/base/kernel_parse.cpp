// Reader of kernel text. It takes what the printer writes (blanks are free), checks names, types and numbering, and never folds: what is
// read prints the same. Everything else is the verifier's.

#include "ir/base/frag_layout.h"
#include "ir/base/kernel_reader.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

class Parser : ExprReader {
 public:
  using ExprReader::ExprReader;

  Result<Kernel> run() {
    kernel();
    if (!failed_) {
      blanks();
      if (at_ < text_.size()) fail("the end of the text expected");
    }
    if (failed_) return std::move(error_);
    return std::move(k_);
  }

 private:
  // ---- header
  void kernel() {
    expect("kernel");
    expect("@");
    k_.name = std::string(word());
    if (k_.name.empty() || k_.name.find('.') != std::string::npos) fail("the kernel's name expected");
    while (accept("symbol")) symbol();
    while (accept("param")) param();
    expect("grid");
    expect("[");
    for (size_t i = 0; i < 3; ++i) {
      k_.grid[i] = dim(",]");
      expect(i < 2 ? "," : "]");
    }
    expect("threads");
    k_.threads = static_cast<int>(integer(1, 1024));
    expect("index");
    if (accept("i32"))
      k_.index64 = false;
    else
      expect("i64");
    k_.fast = accept("fast");
    while (accept("inplace")) {
      InPlacePair p{};
      p.input = static_cast<uint32_t>(integer(0, UINT32_MAX));
      expect("->");
      p.output = static_cast<uint32_t>(integer(0, UINT32_MAX));
      k_.in_place.push_back(p);
    }
    while (accept("site")) {
      if (integer(0, UINT32_MAX) != int64_t(k_.sites.size())) fail(cat("site ", k_.sites.size(), " expected"));
      CheckSite s;
      s.what = text_in_quotes();
      expect("loc");
      s.loc = static_cast<uint32_t>(integer(0, UINT32_MAX));
      k_.sites.push_back(std::move(s));
    }
    expect("{");
    k_.body = block();
  }

  void symbol() {
    Symbol s;
    if (word() != cat("s", k_.symbols.size())) return fail(cat("symbol s", k_.symbols.size(), " expected"));
    expect("=");
    const std::string_view op = word();
    constexpr std::pair<std::string_view, SymOp> ops[] = {
        {"floordiv", SymOp::kFloorDiv},   {"mod", SymOp::kMod},     {"min", SymOp::kMin},       {"max", SymOp::kMax},
        {"broadcast", SymOp::kBroadcast}, {"round", SymOp::kRound}, {"mul", SymOp::kOpaqueMul}, {"add", SymOp::kOpaqueAdd}};
    for (const auto& [name, value] : ops)
      if (op == name) s.op = value;
    if (s.op != SymOp::kNone) {
      s.kind = SymKind::kDerived;
      expect("(");
      s.a = dim(",)");
      expect(",");
      if (s.op == SymOp::kRound) {
        s.num = integer();
        expect(",");
        s.den = integer(1);
        expect(",");
        s.mode = integer(0, 2);
      } else {
        s.b = dim(",)");
      }
      expect(")");
    } else if (op != "input") {
      return fail("'input' or the operation of a derived symbol expected");
    }
    expect("lo");
    s.lo = integer();
    expect("hi");
    s.hi = integer(s.lo);
    expect("div");
    s.divisor = integer(1);
    expect("typical");
    s.typical = integer();
    if (!failed_) k_.symbols.add_raw(std::move(s));
  }

  DType elem() {
    const std::string_view name = word();
    const DType t = parse_dtype(name);
    if (t == DType::kInvalid || dtype_name(t) != name || !buffer_elem_ok(t))
      fail(cat("an element type that kernels hold expected, not '", name, "'"));
    return t;
  }
  // "$name.N" of a new buffer.
  std::string new_buffer() {
    expect("$");
    return std::string(definition(k_.buffers.size()));
  }
  std::string_view definition(size_t number) {
    const std::string_view w = word();
    const size_t dot = w.rfind('.');
    if (!failed_ && (dot == std::string_view::npos || w.find('.') != dot || dot == 0 || w.substr(dot + 1) != cat(number)))
      fail(cat("a name with number ", number, " expected"));
    return failed_ ? std::string_view() : w.substr(0, dot);
  }
  void param() {
    KBuffer b;
    b.name = new_buffer();
    expect(":");
    b.elem = elem();
    expect("[");
    b.extent = dim("]");
    expect("]");
    expect("align");
    b.align = static_cast<int>(integer(1, 4096));
    b.access = accept("rw") ? Access::kReadWrite : accept("r") ? Access::kRead : Access::kWrite;
    if (b.access == Access::kWrite) expect("w");
    b.space = accept("constant") ? Space::kConstant : Space::kGlobal;
    if (b.space == Space::kGlobal) expect("global");
    k_.buffers.push(std::move(b));
    ++k_.param_count;
  }

  // ---- statements
  Block block() {
    Block b;
    if (++depth_ > kMaxTextDepth) fail("blocks nested too deeply");
    while (!failed_ && !accept("}")) {
      blanks();
      if (at_ >= text_.size()) {
        fail("'}' expected");
        break;
      }
      const StmtId id = k_.stmts.push({});
      Stmt s = statement();
      k_.stmts[id] = std::move(s);
      b.push_back(id);
    }
    --depth_;
    return b;
  }

  VarId new_var(std::string_view name, KType t, bool is_mut = false) { return k_.vars.push({std::string(name), t, is_mut}); }
  // "%name.N" of a variable that is about to be defined.
  std::string define() {
    expect("%");
    return std::string(definition(k_.vars.size()));
  }

  Stmt statement() {
    Stmt s;
    if (accept("let")) return named(StmtKind::kLet);
    if (accept("mut")) return named(StmtKind::kMut);
    if (accept("set")) {
      s.kind = StmtKind::kSet;
      s.var = var_ref();
      expect("=");
      s.value = expr();
      if (!failed_ && k_.vars[s.var].type != k_.exprs[s.value].type) fail("set to a value of another type");
      return s;
    }
    if (accept("for")) return loop();
    if (accept("while")) {
      s.kind = StmtKind::kWhile;
      s.value = expr();
      expect("{");
      s.body = block();
      return s;
    }
    if (accept("if")) {
      s.kind = StmtKind::kIf;
      s.value = expr();
      expect("{");
      s.body = block();
      if (accept("else")) {
        expect("{");
        s.orelse = block();
      }
      return s;
    }
    if (accept("{")) {
      s.body = block();
      return s;
    }
    if (accept("alloc")) return allocation();
    if (accept("note")) {
      s.kind = StmtKind::kNote;
      s.loc = static_cast<uint32_t>(k_.notes.size());
      Note n;
      n.text = text_in_quotes();
      expect("loc");
      n.loc = static_cast<uint32_t>(integer(0, UINT32_MAX));
      k_.notes.push_back(std::move(n));
      return s;
    }
    blanks();
    if (at_ < text_.size() && text_[at_] == '%') return result_of_effect();
    return effect(nullptr);
  }

  Stmt named(StmtKind kind) {
    Stmt s;
    s.kind = kind;
    const std::string name = define();
    expect("=");
    s.value = expr();
    if (!failed_) s.var = new_var(name, k_.exprs[s.value].type, kind == StmtKind::kMut);
    return s;
  }

  Stmt loop() {
    Stmt s;
    s.kind = StmtKind::kFor;
    const std::string name = define();
    expect("=");
    s.index = expr();
    expect("to");
    s.index2 = expr();
    expect("step");
    s.n = integer(1);
    s.unroll = accept("unroll");
    s.var = new_var(name, KType::index());
    expect("{");
    s.body = block();
    return s;
  }

  Stmt allocation() {
    Stmt s;
    s.kind = StmtKind::kAlloc;
    KBuffer b;
    b.name = new_buffer();
    expect(":");
    b.elem = elem();
    expect("[");
    b.extent = dim("]");
    expect("]");
    b.space = accept("shared") ? Space::kShared : Space::kLocal;
    if (b.space == Space::kLocal) expect("local");
    expect("align");
    b.align = static_cast<int>(integer(1, 4096));
    b.access = Access::kReadWrite;
    s.buf = k_.buffers.push(std::move(b));
    return s;
  }

  Stmt result_of_effect() {
    const std::string name = define();
    expect("=");
    return effect(&name);
  }

  void access(BufId& b, ExprId& index) {
    b = buf_ref();
    expect("[");
    index = expr();
    expect("]");
  }
  void option(std::string_view word, ExprId& e) {
    if (accept(word)) e = expr();
  }
  void result(Stmt& s, const std::string* name, KType t, bool is_mut = false) {
    if (failed_) return;
    if (name == nullptr) return fail("this statement gives a value: '%name.N =' expected before it");
    s.var = new_var(*name, t, is_mut);
  }

  Stmt effect(const std::string* name) {
    Stmt s;
    const size_t start = at_;
    const std::string_view w = word();
    bool gives_value = true;
    if (w == "load") {
      s.kind = StmtKind::kLoad;
      access(s.buf, s.index);
      const KType t = type();
      option("mask", s.mask);
      option("else", s.other);
      s.nt = accept("nt");
      result(s, name, t);
    } else if (w == "check") {
      s.kind = StmtKind::kCheck;
      s.index = expr();
      expect("<");
      s.index2 = expr();
      expect("at");
      s.site = static_cast<uint32_t>(integer(0, UINT32_MAX));
      result(s, name, k_.exprs[s.index].type);
    } else if (w.starts_with("warp.")) {
      warp(s, w.substr(5), name);
    } else if (w.starts_with("atomic.")) {
      atomic(s, w.substr(7), name);
    } else if (w == "frag.zero" || w == "frag.load" || w == "frag.get") {
      frag_value(s, w, name);
    } else {
      gives_value = false;
      at_ = start;
    }
    if (gives_value || failed_) return s;
    if (name != nullptr) fail("a statement that gives a value expected");
    return plain_effect();
  }

  void warp(Stmt& s, std::string_view op, const std::string* name) {
    s.kind = StmtKind::kWarp;
    int found = -1;
    for (int i = 0; i <= static_cast<int>(WarpOp::kAll); ++i)
      if (op == warp_name(static_cast<WarpOp>(i))) found = i;
    if (found < 0) return fail("no such warp operation");
    s.op = static_cast<uint8_t>(found);
    s.value = expr();
    option("by", s.other);
    result(s, name, static_cast<WarpOp>(found) == WarpOp::kBallot ? KType::of(DType::kU32) : k_.exprs[s.value].type);
  }
  void atomic(Stmt& s, std::string_view op, const std::string* name) {
    s.kind = StmtKind::kAtomic;
    int found = -1;
    for (int i = 0; i <= static_cast<int>(AtomicOp::kCas); ++i)
      if (op == atomic_name(static_cast<AtomicOp>(i))) found = i;
    if (found < 0) return fail("no such atomic");
    s.op = static_cast<uint8_t>(found);
    access(s.buf, s.index);
    expect("=");
    s.value = expr();
    option("new", s.other);
    if (name != nullptr) result(s, name, k_.exprs[s.value].type);
  }
  KType frag_type() {
    KType t;
    t.kind = KType::kFrag;
    t.elem = elem();
    const std::string_view shape = word();
    constexpr std::pair<std::string_view, int> shapes[] = {{"m16n8k8", 8}, {"m16n8k16", 16}, {"m16n8k32", 32}};
    for (const auto& [text, k] : shapes)
      if (shape == text) t.frag = {16, 8, static_cast<uint8_t>(k), FragShape::kNone};
    t.frag.role = accept("a") ? FragShape::kA : accept("b") ? FragShape::kB : FragShape::kC;
    if (t.frag.role == FragShape::kC) expect("c");
    if (!failed_ && !frag_shape_ok(t.frag, t.elem)) fail("no such fragment");
    return t;
  }
  void frag_value(Stmt& s, std::string_view w, const std::string* name) {
    s.kind = StmtKind::kFrag;
    if (w == "frag.zero") {
      s.op = static_cast<uint8_t>(FragOp::kZero);
      return result(s, name, frag_type(), true);
    }
    if (w == "frag.load") {
      s.op = static_cast<uint8_t>(FragOp::kLoad);
      access(s.buf, s.index);
      expect("ld");
      s.index2 = expr();
      const KType t = frag_type();
      s.n = accept("transposed");
      return result(s, name, t, true);
    }
    s.op = static_cast<uint8_t>(FragOp::kGet);
    frag_element(s);
    if (!failed_) result(s, name, KType::of(k_.vars[s.f0].type.elem));
  }
  void frag_element(Stmt& s) {
    s.f0 = var_ref();
    expect("[");
    s.n = integer(0, 63);
    expect("]");
    if (!failed_ && k_.vars[s.f0].type.kind != KType::kFrag) fail("a fragment expected");
  }

  Stmt plain_effect() {
    Stmt s;
    if (accept("store")) {
      s.kind = StmtKind::kStore;
      access(s.buf, s.index);
      expect("=");
      s.value = expr();
      option("mask", s.mask);
      s.nt = accept("nt");
    } else if (accept("prefetch")) {
      s.kind = StmtKind::kPrefetch;
      access(s.buf, s.index);
    } else if (accept("barrier")) {
      s.kind = StmtKind::kBarrier;
      const bool is_block = accept("block");
      s.op = static_cast<uint8_t>(is_block ? Scope::kBlock : Scope::kWarp);
      if (!is_block) expect("warp");
    } else if (accept("copy.async")) {
      s.kind = StmtKind::kCopy;
      s.op = static_cast<uint8_t>(CopyOp::kAsync);
      access(s.buf, s.index);
      expect("<-");
      access(s.buf2, s.index2);
      expect("bytes");
      s.n = integer(4, 16);
      option("mask", s.mask);
    } else if (accept("copy.commit")) {
      s.kind = StmtKind::kCopy;
      s.op = static_cast<uint8_t>(CopyOp::kCommit);
    } else if (accept("copy.wait")) {
      s.kind = StmtKind::kCopy;
      s.op = static_cast<uint8_t>(CopyOp::kWait);
      s.n = integer(0, 63);
    } else if (accept("frag.mma")) {
      s.kind = StmtKind::kFrag;
      s.op = static_cast<uint8_t>(FragOp::kMma);
      s.var = var_ref();
      expect("+=");
      s.f0 = var_ref();
      s.f1 = var_ref();
    } else if (accept("frag.store")) {
      s.kind = StmtKind::kFrag;
      s.op = static_cast<uint8_t>(FragOp::kStore);
      access(s.buf, s.index);
      expect("ld");
      s.index2 = expr();
      expect("=");
      s.f0 = var_ref();
    } else if (accept("frag.set")) {
      s.kind = StmtKind::kFrag;
      s.op = static_cast<uint8_t>(FragOp::kSet);
      frag_element(s);
      expect("=");
      s.value = expr();
    } else {
      fail("a statement expected");
    }
    return s;
  }
};

}  // namespace

Result<Kernel> parse_kernel(std::string_view text) { return Parser(text).run(); }

}  // namespace nnc

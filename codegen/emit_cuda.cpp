// The CUDA dialect: the subset of CUDA C++ that NVRTC and, under the emulating header, the host compiler take. Kernels read like CUDA; what
// differs between the two (pointer or checked accessor, barrier or switch of fibres) has one name here and two meanings in the headers of
// codegen/cuda and codegen/emu. Vectors are aligned structs, one helper per operation and type calls the header's scalar operation per
// lane.

#include <functional>

#include "codegen/cuda/device_header.h"
#include "codegen/emit.h"
#include "ir/base/frag_layout.h"
#include "ir/base/kernel_rules.h"
#include "ir/support/mutant.h"

namespace nnc {

namespace {

std::string scalar_name(DType t) { return t == DType::kBool ? "u8" : std::string(dtype_name(t)); }

std::string cuda_type(const KType& t) {
  switch (t.kind) {
    case KType::kElem: return t.lanes == 1 ? scalar_name(t.elem) : cat(scalar_name(t.elem), "x", int(t.lanes));
    case KType::kMask: return t.lanes == 1 ? "bool" : cat("mx", int(t.lanes));
    case KType::kIndex: return t.lanes == 1 ? "idx" : cat("idxx", int(t.lanes));
    case KType::kFrag:
      return cat("frag_",
                 t.frag.role == FragShape::kA   ? "a"
                 : t.frag.role == FragShape::kB ? "b"
                                                : "c",
                 int(t.frag.k), "_", scalar_name(t.elem));
    default: return "void";
  }
}
std::string lane_type(const KType& t) { return cuda_type(t.kind == KType::kFrag ? KType::of(t.elem) : t.with_lanes(1)); }

std::string list(int n, const std::function<std::string(int)>& f) {
  std::string s;
  for (int i = 0; i < n; ++i) s += (i ? ", " : "") + f(i);
  return s;
}

int element_bytes(DType t) { return t == DType::kBool ? 1 : dtype_bits(t) / 8; }

// Where a kernel's shared arrays lie: bytes for a device, shadow words for the emulator.
struct SharedPlan {
  struct Place {
    int64_t offset = 0, shadow = 0;
    int number = 0;
  };
  std::map<BufId, Place> places;
  int64_t bytes = 0, shadow = 0;
};
SharedPlan plan_shared(const Kernel& k) {
  SharedPlan p;
  for (uint32_t b = k.param_count; b < k.buffers.size(); ++b) {
    const KBuffer& buf = k.buffers[BufId(b)];
    if (buf.space != Space::kShared) continue;
    const int64_t size = element_bytes(buf.elem), n = buf.extent.constant();
    p.bytes = (p.bytes + buf.align - 1) / buf.align * buf.align;
    p.places[BufId(b)] = {p.bytes, p.shadow, static_cast<int>(p.places.size())};
    p.bytes += n * size;
    p.shadow += size > 4 ? n * (size / 4) : n;
  }
  return p;
}
constexpr int64_t kStaticShared = 48 << 10;  // more is asked for at the launch

bool threads_meet(const Kernel& k) {
  for (const Stmt& s : k.stmts)
    if (s.kind == StmtKind::kBarrier || s.kind == StmtKind::kWarp || s.kind == StmtKind::kCopy || s.kind == StmtKind::kFrag) return true;
  return false;
}

class CudaDialect : public Dialect {
 public:
  CudaDialect(const Target& t, const CudaEmitOptions& o) : t_(t), o_(o) {}
  std::string type_name(const KType& t) const override { return cuda_type(t); }
  // Signed integers wrap and small ones come back to their type, which C's operators do not do; an index never overflows.
  bool operators_on(const KType& t) const override {
    if (t.kind == KType::kIndex) return true;
    if (t.kind == KType::kMask) return t.lanes == 1;
    return t.kind == KType::kElem &&
           (t.elem == DType::kF32 || t.elem == DType::kF64 || (t.lanes == 1 && (t.elem == DType::kU32 || t.elem == DType::kU64)));
  }
  std::string thread_name() const override { return "NNC_THREAD"; }
  std::string barrier(Scope s) const override { return s == Scope::kWarp ? "NNC_WARP_BARRIER();" : "NNC_BARRIER();"; }
  std::string prefetch(const std::string& buffer, const std::string& index) const override {
    return cat("nnc_prefetch(", buffer, ", ", index, ");");
  }
  int access_lanes(const Kernel& k, const Stmt& s, const KType& t) const override {
    const int bytes = element_bytes(t.elem), whole = std::max(1, std::min<int>(t.lanes, 16 / bytes));
    const int64_t proved = known_divisor(k, s.index);
    return proved >= whole ? t.lanes : static_cast<int>(proved);
  }
  std::string unroll() const override { return "NNC_UNROLL"; }
  std::string alloc(const Kernel& k, const KBuffer& b, const std::string& name) const override;
  void prelude(SourceWriter& w, const std::set<KType>& types, bool index64) const override;
  void define(SourceWriter& w, const HelperKey& h) const override;
  void open_kernel(SourceWriter& w, const Kernel& k, const std::string& symbol) const override;
  void close_kernel(SourceWriter& w, const Kernel& k) const override;

 private:
  int64_t known_divisor(const Kernel& k, ExprId e) const;
  void define_memory(SourceWriter& w, const HelperKey& h) const;
  void define_fragment(SourceWriter& w, const HelperKey& h) const;
  void entry(SourceWriter& w, const Kernel& k) const;
  const Target& t_;
  const CudaEmitOptions& o_;
  mutable std::string symbol_;  // of the kernel that is open
  mutable SharedPlan shared_;
  mutable std::map<VarId, StmtId> defined_;  // by its statement, for variables that have one value
};

// The largest power of two, up to 16, that is proved to divide an index.
int64_t CudaDialect::known_divisor(const Kernel& k, ExprId id) const {
  constexpr int64_t kMost = 16;
  auto power = [&](int64_t v) { return v == 0 ? kMost : std::min(int64_t(kMost), v & -v); };
  const ExprNode& e = k.exprs[id];
  auto of = [&](ExprId x) { return known_divisor(k, x); };
  switch (e.op) {
    case ExprOp::kConst: return power(static_cast<int64_t>(e.bits));
    case ExprOp::kDim: return power(k.symbols[SymbolId(static_cast<uint32_t>(e.bits))].divisor);
    case ExprOp::kMul: return std::min(kMost, of(e.a) * of(e.b));
    case ExprOp::kAdd:
    case ExprOp::kSub:
    case ExprOp::kMin:
    case ExprOp::kMax:
    case ExprOp::kFloorMod: return std::min(of(e.a), of(e.b));
    case ExprOp::kSelect: return std::min(of(e.b), of(e.c));
    case ExprOp::kVar: {
      const auto it = defined_.find(e.var);
      if (it == defined_.end()) return 1;
      const Stmt& s = k.stmts[it->second];
      return s.kind == StmtKind::kFor ? std::min(of(s.index), power(s.n)) : of(s.value);
    }
    default: return 1;
  }
}

std::string CudaDialect::alloc(const Kernel& k, const KBuffer& b, const std::string& name) const {
  const std::string e = scalar_name(b.elem), n = cat(b.extent.constant());
  if (b.space != Space::kShared) return cat("NNC_LOCAL(", e, ", ", name, ", ", n, ", ", b.align, ");");
  BufId id;
  for (const auto& [candidate, place] : shared_.places)
    if (&k.buffers[candidate] == &b) id = candidate;
  const SharedPlan::Place& p = shared_.places.at(id);
  return cat(shared_.bytes > kStaticShared ? "NNC_SHARED_DYNAMIC(" : "NNC_SHARED(", e, ", ", name, ", ", n, ", ", b.align, ", ", p.offset,
             ", ", p.shadow, ", ", p.number, ");");
}

void CudaDialect::prelude(SourceWriter& w, const std::set<KType>& types, bool index64) const {
  w.line(cat("// nnc kernels for ", t_.name));
  if (o_.header) w.raw(o_.emulate ? emu_device_header(index64) : cuda_device_header(index64));
  std::set<std::string> lines;
  for (const KType& t : types) {
    if (t.kind == KType::kFrag)
      lines.insert(cat("typedef frag<", scalar_name(t.elem), ", ", frag_elements(t.frag), "> ", cuda_type(t), ";"));
    else if (t.lanes > 1)
      lines.insert(t.kind == KType::kMask ? cat("NNC_MASK(", int(t.lanes), ")")
                                          : cat("NNC_VECTOR(", lane_type(t), ", ", int(t.lanes), ")"));
  }
  for (const std::string& l : lines) w.line(l);
}

// One lane of an operation in the header's words; a, b, c are the lane's operands.
std::string lane_text(const HelperKey& h, const std::string& a, const std::string& b, const std::string& c) {
  const KType& in = h.from;
  const bool floating = in.floating();
  const std::string t = lane_type(h.type), e = h.type.kind == KType::kElem ? scalar_name(h.type.elem) : "";
  auto of = [&](const char* whole, const char* fp) { return cat(floating ? fp : whole, "(", a, ", ", b, ")"); };
  auto infix = [&](const char* op) { return cat(t, "(", a, " ", op, " ", b, ")"); };
  switch (h.op) {
    case ExprOp::kNeg: return floating ? cat("-", a) : cat("neg_i(", a, ")");
    case ExprOp::kAbs: return cat(floating ? "abs_f(" : "abs_i(", a, ")");
    case ExprOp::kNot: return in.kind == KType::kMask ? cat("!", a) : cat(t, "(~", a, ")");
    case ExprOp::kSqrt: return cat("sqrt_f(", a, ")");
    case ExprOp::kFloor: return cat("floor_f(", a, ")");
    case ExprOp::kCeil: return cat("ceil_f(", a, ")");
    case ExprOp::kRoundEven: return cat("round_even_f(", a, ")");
    case ExprOp::kTrunc: return cat("trunc_f(", a, ")");
    case ExprOp::kIsNan: return cat(a, " != ", a);
    case ExprOp::kAdd:
    case ExprOp::kReduceAdd: return floating ? cat(a, " + ", b) : cat("add_i(", a, ", ", b, ")");
    case ExprOp::kSub: return floating ? cat(a, " - ", b) : cat("sub_i(", a, ", ", b, ")");
    case ExprOp::kMul:
    case ExprOp::kReduceMul: return floating ? cat(a, " * ", b) : cat("mul_i(", a, ", ", b, ")");
    case ExprOp::kDiv: return of("div_i", "div_f");
    case ExprOp::kRem: return of("rem_i", "rem_f");
    case ExprOp::kFloorDiv: return of("floordiv_i", "");
    case ExprOp::kFloorMod: return of("floormod_i", "");
    case ExprOp::kMin:
    case ExprOp::kReduceMin: return of("min_i", "min_f");
    case ExprOp::kMax:
    case ExprOp::kReduceMax:
      if (floating && mutant("cuda_max_loses_nan")) return cat(a, " > ", b, " ? ", a, " : ", b);
      return of("max_i", "max_f");
    case ExprOp::kAnd:
    case ExprOp::kReduceAnd: return infix("&");
    case ExprOp::kOr:
    case ExprOp::kReduceOr: return infix("|");
    case ExprOp::kXor: return infix("^");
    case ExprOp::kShl: return of("shl_i", "");
    case ExprOp::kShr: return of("shr_i", "");
    case ExprOp::kLt: return cat(a, " < ", b);
    case ExprOp::kLe: return cat(a, " <= ", b);
    case ExprOp::kEq: return cat(a, " == ", b);
    case ExprOp::kFma: return cat("fma_f(", a, ", ", b, ", ", c, ")");
    case ExprOp::kSelect: return cat(a, " ? ", b, " : ", c);
    case ExprOp::kCastTrunc:
    case ExprOp::kCastZext:
    case ExprOp::kCastSext: return cat(t, "(", a, ")");
    case ExprOp::kCastSat: return cat("cast_sat<", t, ">(", a, ")");
    case ExprOp::kCastBits: return cat("bits_cast<", t, ">(", a, ")");
    case ExprOp::kCastMask: return h.type.kind == KType::kMask ? cat(a, " != 0") : cat(t, "(", a, ")");
    case ExprOp::kCastEven:
      if (h.type.elem == DType::kF16 || h.type.elem == DType::kBF16) return cat(e, "_from_", scalar_name(in.elem), "(", a, ")");
      if (in.is_elem(DType::kF16) || in.is_elem(DType::kBF16)) return cat("f32_from_", scalar_name(in.elem), "(", a, ")");
      return cat(t, "(", a, ")");
    default: NNC_CHECK(false, "no CUDA spelling: math must be legalised before emission");
  }
}

// The fixed tree: halves are combined lane by lane until one is left.
std::string parenthesised(std::string s) { return "(" + std::move(s) + ")"; }
std::string reduce_tree(const HelperKey& h, int width, int i) {
  if (width == h.from.lanes) return cat("a[", i, "]");
  return parenthesised(lane_text(h, reduce_tree(h, 2 * width, i), reduce_tree(h, 2 * width, i + width), ""));
}

void CudaDialect::define(SourceWriter& w, const HelperKey& h) const {
  if (h.what == HelperKey::kFragment) return define_fragment(w, h);
  if (h.what != HelperKey::kOp) return define_memory(w, h);
  const std::string t = cuda_type(h.type), in = cuda_type(h.from);
  const int n = h.type.lanes;
  auto function = [&](const std::string& params, const std::string& body) {
    w.line(cat("NNC_FN ", t, " ", h.name, "(", params, ") { return ", body, "; }"));
  };
  switch (h.op) {
    case ExprOp::kConst:
      if (h.type.is_elem(DType::kF32)) return function("u64 b", "bits_cast<f32>((u32)b)");
      if (h.type.is_elem(DType::kF64)) return function("u64 b", "bits_cast<f64>(b)");
      return function("u64 b", cat("(", t, ")b"));
    case ExprOp::kSplat: return function(lane_type(h.type) + " a", cat(t, "{", list(n, [](int) { return "a"; }), "}"));
    case ExprOp::kIota: return function("", cat(t, "{", list(n, [](int i) { return std::to_string(i); }), "}"));
    case ExprOp::kExtract: return function(in + " a, int i", "a[i]");
    case ExprOp::kShuffle: {
      const int m = h.from.lanes;
      auto lane = [&](int i) -> std::string {
        const int p = h.pattern[static_cast<size_t>(i)];
        const char* operand = p < m ? "a" : "b";
        return m == 1 ? operand : cat(operand, "[", p < m ? p : p - m, "]");
      };
      return function(cat(in, " a, ", in, " b"), n == 1 ? lane(0) : cat(t, "{", list(n, lane), "}"));
    }
    default: break;
  }
  if (h.op >= ExprOp::kReduceAdd && h.op <= ExprOp::kReduceOr) return function(in + " a", reduce_tree(h, 1, 0));
  const int operands = expr_op_info(h.op).operands;
  const std::string second = h.op == ExprOp::kSelect ? t : in;
  const std::string params = cat(in, " a", operands > 1 ? cat(", ", second, " b") : "", operands > 2 ? cat(", ", second, " c") : "");
  if (n == 1) return function(params, lane_text(h, "a", "b", "c"));
  if (h.op == ExprOp::kFma) return function(params, "fma_v(a, b, c)");
  function(params, cat(t, "{", list(n, [&](int i) { return lane_text(h, cat("a[", i, "]"), cat("b[", i, "]"), cat("c[", i, "]")); }), "}"));
}

void CudaDialect::define_memory(SourceWriter& w, const HelperKey& h) const {
  const std::string t = cuda_type(h.type), nt = h.pattern.empty() ? h.sub ? "_nt" : "" : "_by";
  const std::string vector = h.pattern.empty() || h.what == HelperKey::kCopy ? t : cat(t, ", ", int(h.pattern[0]));
  const std::string m = cuda_type(KType::mask(h.type.lanes));
  auto function = [&](const std::string& result, const std::string& params, const std::string& body) {
    w.line(cat("template <class P, class I> NNC_FN ", result, " ", h.name, "(P p, I i", params, ") { ", body, " }"));
  };
  static constexpr const char* kAtomics[] = {"add", "min", "max", "or", "cas"};
  static constexpr const char* kWarps[] = {"shfl_xor", "shfl_up", "shfl_down", "shfl_idx", "ballot", "any", "all"};
  switch (h.what) {
    case HelperKey::kLoad: return function(t, "", cat("return nnc_load", nt, "<", vector, ">(p, i);"));
    case HelperKey::kStore: return function("void", cat(", ", t, " v"), cat("nnc_store", nt, "<", vector, ">(p, i, v);"));
    case HelperKey::kLoadMasked:
      return function(t, cat(", ", m, " m, ", t, " other"), cat("return nnc_load_masked<", t, ">(p, i, m, other);"));
    case HelperKey::kStoreMasked: return function("void", cat(", ", t, " v, ", m, " m"), cat("nnc_store_masked<", t, ">(p, i, v, m);"));
    case HelperKey::kAtomic: {
      const bool cas = static_cast<AtomicOp>(h.sub) == AtomicOp::kCas;
      return function(t, cas ? cat(", ", t, " old, ", t, " now") : cat(", ", t, " v"),
                      cat("return nnc_atomic_", kAtomics[h.sub], cas ? "(p, i, old, now);" : "(p, i, v);"));
    }
    case HelperKey::kWarp: {
      const bool vote = static_cast<WarpOp>(h.sub) >= WarpOp::kBallot;
      const std::string result = static_cast<WarpOp>(h.sub) == WarpOp::kBallot ? "u32" : t;
      w.line(cat("NNC_FN ", result, " ", h.name, "(", t, " v", vote ? "" : ", idx by", " NNC_LINE) { return nnc_", kWarps[h.sub],
                 vote ? "(v);" : "(v, by);", " }"));
      return;
    }
    case HelperKey::kCopy:
      if (h.name == "copy_commit")
        w.line("NNC_FN void copy_commit() { nnc_copy_commit(); }");
      else if (h.name.rfind("copy_wait", 0) == 0)
        w.line(cat("NNC_FN void ", h.name, "() { nnc_copy_wait<", int(h.pattern[0]), ">(); }"));
      else
        w.line(cat("template <class S, class G> NNC_FN void ", h.name, "(S s, idx si, G g, idx gi, bool m) { nnc_copy_async<",
                   int(h.pattern[0]), ">(s, si, g, gi, m); }"));
      return;
    default: return;  // check_index is the header's own
  }
}

// Element i of a lane stands at fixed distances from the lane's first, so one expression over `group` and `quad` serves all lanes; runs of
// neighbours in memory are one access.
void CudaDialect::define_fragment(SourceWriter& w, const HelperKey& h) const {
  const std::string t = cuda_type(h.type), e = lane_type(h.type);
  const FragShape& shape = h.type.frag;
  const int n = frag_elements(shape), run = frag_run(shape);
  const bool transposed = !h.pattern.empty() && h.pattern[0];
  auto at = [&](int i) {
    const FragPlace p = frag_place(shape, 0, i);
    const int quad_step = shape.role == FragShape::kC ? 2 : run;
    std::string row = shape.role == FragShape::kB ? cat("(quad * ", quad_step, " + ", p.row, ")") : cat("(group + ", p.row, ")");
    std::string col = shape.role == FragShape::kB ? cat("(group + ", p.col, ")") : cat("(quad * ", quad_step, " + ", p.col, ")");
    if (transposed) std::swap(row, col);
    return cat("i + ", row, " * ld + ", col);
  };
  switch (static_cast<FragOp>(h.sub)) {
    case FragOp::kZero: w.line(cat("NNC_FN ", t, " ", h.name, "() { return ", t, "{}; }")); return;
    case FragOp::kGet: w.line(cat("NNC_FN ", e, " ", h.name, "(const ", t, "& f, int i) { return f.e[i]; }")); return;
    case FragOp::kSet: w.line(cat("NNC_FN void ", h.name, "(", t, "& f, int i, ", e, " v) { f.e[i] = v; }")); return;
    case FragOp::kMma:
      w.line(cat("NNC_FN void ", h.name, "(", t, "& c, const ", cuda_type(h.from), "& a, const ", cuda_type(h.other),
                 "& b NNC_LINE) { nnc_mma_", lane_type(h.from), "_", lane_type(h.other), "(c, a, b NNC_AT); }"));
      return;
    default: break;
  }
  const bool load = static_cast<FragOp>(h.sub) == FragOp::kLoad;
  w.open(
      cat("template <class P> NNC_FN ", load ? t : "void", " ", h.name, "(P p, idx i, idx ld", load ? "" : cat(", const ", t, "& f"), ")"));
  w.line("const idx group = (NNC_THREAD & 31) >> 2, quad = NNC_THREAD & 3;");
  if (!load) {
    for (int x = 0; x < n; ++x) w.line(cat("nnc_store<", e, ">(p, ", at(x), ", f.e[", x, "]);"));
  } else {
    w.line(cat(t, " f;"));
    // The run lies along k: along a row of A, along a column of B.
    const bool together = run > 1 && shape.role != FragShape::kC && (shape.role == FragShape::kB) == transposed;
    if (together) w.line(cat("typedef frag_run<", e, ", ", run, "> run;"));
    for (int x = 0; x < n; x += together ? run : 1) {
      if (!together)
        w.line(cat("f.e[", x, "] = nnc_load<", e, ">(p, ", at(x), ");"));
      else
        w.line(cat("{ const run r = nnc_load<run>(p, ", at(x), "); ",
                   join(std::vector<int>{0, 1, 2, 3}, "",
                        [&](int y) { return y < run ? cat("f.e[", x + y, "] = r.e[", y, "]; ") : std::string(); }),
                   "}"));
    }
    w.line("return f;");
  }
  w.close();
}

void CudaDialect::open_kernel(SourceWriter& w, const Kernel& k, const std::string& symbol) const {
  symbol_ = symbol;
  shared_ = plan_shared(k);
  defined_.clear();
  for (uint32_t s = 0; s < k.stmts.size(); ++s)
    if (const Stmt& x = k.stmts[StmtId(s)]; x.kind == StmtKind::kLet || x.kind == StmtKind::kFor) defined_[x.var] = StmtId(s);
  std::set<uint32_t> aliased;
  for (const InPlacePair& p : k.in_place) aliased.insert(p.input);
  if (shared_.bytes > kStaticShared && !o_.emulate) w.line("extern __shared__ __align__(16) unsigned char nnc_shared[];");
  std::vector<std::string> params;
  for (uint32_t b = 0; b < k.param_count; ++b) {
    const KBuffer& buf = k.buffers[BufId(b)];
    const char* how = buf.access != Access::kRead ? "NNC_WRITE(" : aliased.count(b) ? "NNC_ALIASED(" : "NNC_READ(";
    params.push_back(cat(how, scalar_name(buf.elem), ") ", buf.name));
  }
  for (size_t s = 0; s < k.symbols.size(); ++s) params.push_back(cat("const i64 dim", s));
  params.push_back("failure_t* failure");
  w.open(cat("NNC_KERNEL(", k.threads, ", ", symbol, ")(", join(params, ", "), ")"));
  for (size_t s = 0; s < k.symbols.size(); ++s) w.line(cat("const idx d", s, " = (idx)dim", s, "; (void)d", s, ";"));
  w.line("(void)failure;");
  if (k.grid[1].is_const(1) && k.grid[2].is_const(1)) {
    w.line("const idx task0 = NNC_TASK; (void)task0;");
    return;
  }
  w.line(cat("const idx grid0 = ", dim_text(k.grid[0]), ", grid1 = ", dim_text(k.grid[1]), ";"));
  w.line("const idx task0 = NNC_TASK % grid0, task1 = NNC_TASK / grid0 % grid1, task2 = NNC_TASK / grid0 / grid1;");
  w.line("(void)task0; (void)task1; (void)task2;");
}

void CudaDialect::close_kernel(SourceWriter& w, const Kernel& k) const {
  w.close();
  if (o_.emulate) entry(w, k);
}

void CudaDialect::entry(SourceWriter& w, const Kernel& k) const {
  const std::string visible = "extern \"C\" __attribute__((visibility(\"default\"))) ";
  w.open(cat(visible, "void ", symbol_, "(nnc_block* b, u32 first, u32 step, u32 count)"));
  w.line("nnc_b = b;");
  std::vector<std::string> args;
  for (size_t s = 0; s < k.symbols.size(); ++s) w.line(cat("const idx d", s, " = (idx)b->dims[", s, "]; (void)d", s, ";"));
  for (uint32_t b = 0; b < k.param_count; ++b) {
    w.line(cat("const nnc_ref p", b, " = nnc_param(", b, ", ", dim_text(k.buffers[BufId(b)].extent), ");"));
    args.push_back(cat("p", b));
  }
  for (size_t s = 0; s < k.symbols.size(); ++s) args.push_back(cat("b->dims[", s, "]"));
  args.push_back("b->failure");
  w.line("NNC_THREADS(b, first, step, count)");
  w.line(cat("  run_", symbol_, "(", join(args, ", "), ");"));
  w.close();
  std::string elem, written, names;
  for (uint32_t b = 0; b < k.param_count; ++b) {
    const KBuffer& buf = k.buffers[BufId(b)];
    elem += cat(b ? ", " : "", element_bytes(buf.elem));
    written += cat(b ? ", " : "", buf.access != Access::kRead ? 1 : 0);
    names += buf.name + "\\0";
  }
  for (const auto& [id, place] : shared_.places) names += UnitEmitter::buffer_name(k, id) + "\\0";
  w.line(cat(visible, "const nnc_kernel_info ", symbol_, "_info = {kAbiVersion, ", k.threads, ", ", threads_meet(k) ? 1 : 0, ", ",
             k.param_count, ", ", k.symbols.size(), ", ", shared_.bytes, ", ", shared_.shadow, ", ", t_.sm, ", {", elem, "}, {", written,
             "}, \"", names, "\"};"));
}

}  // namespace

std::string emit_cuda_unit(const std::vector<std::pair<const Kernel*, std::string>>& kernels, const Target& target,
                           const CudaEmitOptions& options) {
  const CudaDialect dialect(target, options);
  UnitEmitter unit(dialect);
  for (const auto& [kernel, symbol] : kernels) unit.add(*kernel, symbol);
  return unit.finish();
}

}  // namespace nnc

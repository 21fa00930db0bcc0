// The CPU dialect: C++ with GCC vector extensions and, where those cannot say it, builtins of the target's instruction set. No headers.
// Masks of vectors are int vectors of 0 and -1.

#include <array>

#include "codegen/emit.h"
#include "ir/support/mutant.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

std::string scalar_name(DType t) { return std::string(dtype_name(t)); }
bool storage_only(DType t) { return t == DType::kF16 || t == DType::kBF16; }

std::string cpu_type(const KType& t) {
  switch (t.kind) {
    case KType::kElem: return t.lanes == 1 ? scalar_name(t.elem) : cat(scalar_name(t.elem), "x", int(t.lanes));
    case KType::kMask: return t.lanes == 1 ? "bool" : cat("mx", int(t.lanes));
    case KType::kIndex: return t.lanes == 1 ? "idx" : cat("idxx", int(t.lanes));
    default: return "void";
  }
}

std::string list(int n, const std::function<std::string(int)>& f) {
  std::string s;
  for (int i = 0; i < n; ++i) s += (i ? ", " : "") + f(i);
  return s;
}

class CpuDialect : public Dialect {
 public:
  explicit CpuDialect(const Target& t) : t_(t), wide_(t.vector_bytes >= 64) {}
  std::string type_name(const KType& t) const override { return cpu_type(t); }
  bool operators_on(const KType& t) const override { return !(t.kind == KType::kElem && storage_only(t.elem)) && !small_int(t); }
  bool counts_lanes() const override { return true; }
  std::string barrier(Scope) const override { return ";"; }
  // Four rounds at a time: what a round costs beside its arithmetic is 5 % of a product.
  std::string unroll() const override { return "_Pragma(\"GCC unroll 4\")"; }
  std::string alloc(const Kernel&, const KBuffer& b, const std::string& name) const override {
    return cat("alignas(", b.align, ") ", scalar_name(b.elem), " ", name, "[", dim_text(b.extent), "];");
  }
  void prelude(SourceWriter& w, const std::set<KType>& types, bool index64) const override;
  void define(SourceWriter& w, const HelperKey& h) const override;
  void open_kernel(SourceWriter& w, const Kernel& k, const std::string& symbol) const override;
  void close_kernel(SourceWriter& w, const Kernel&) const override {
    w.close();
    w.close();
  }

 private:
  // C promotes these to int; their arithmetic goes through helpers that come back to the type.
  static bool small_int(const KType& t) { return t.lanes == 1 && t.kind == KType::kElem && is_int(t.elem) && dtype_bits(t.elem) < 32; }
  void function(SourceWriter& w, const std::string& result, const HelperKey& h, const std::string& params,
                const std::vector<std::string>& body) const;
  std::vector<std::string> body_of(const HelperKey& h, std::string& params, std::string& result) const;
  std::vector<std::string> cast_body(const HelperKey& h) const;
  std::vector<std::string> reduce_body(const HelperKey& h) const;
  std::vector<std::string> round_body(const HelperKey& h, int mode, const char* scalar) const;
  void define_memory(SourceWriter& w, const HelperKey& h) const;
  const Target& t_;
  bool wide_;  // AVX-512
};

void CpuDialect::prelude(SourceWriter& w, const std::set<KType>& types, bool index64) const {
  w.line(cat("// nnc kernels for ", t_.name));
  w.line("typedef signed char i8; typedef short i16; typedef int i32; typedef long long i64;");
  w.line("typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef unsigned long long u64;");
  w.line("typedef float f32; typedef double f64; typedef u16 f16; typedef u16 bf16;");
  w.line(index64 ? "typedef i64 idx;" : "typedef i32 idx;");
  w.line("struct failure_t { bool set; u32 site; i64 index, bound; };");
  w.line("#define HELPER static inline __attribute__((always_inline))");
  std::set<int> lanes;
  for (const KType& t : types)
    if (t.lanes > 1) lanes.insert(t.lanes);
  for (int n : lanes) {
    for (const char* e : {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "idx"}) {
      w.line(cat("typedef ", e, " ", e, "x", n, " __attribute__((vector_size(", n, " * sizeof(", e, "))));"));
      w.line(cat("typedef ", e, "x", n, " ", e, "x", n, "_u __attribute__((aligned(sizeof(", e, ")), may_alias));"));
    }
    w.line(cat("typedef i32x", n, " mx", n, ";"));
  }
  // What was an integer has no -0: compilers that know of no traps would make a rounding in floats of the way there and back.
  w.line("template <class T> HELPER T as_integer(T a) { asm(\"\" : \"+r\"(a)); return a; }");
  // NaN wins, -0 < +0. Vectors and scalars alike.
  w.line(
      "template <class T> HELPER T bits_and(T a, T b) { return __builtin_bit_cast(T, __builtin_bit_cast(__typeof__(a < b), a) & "
      "__builtin_bit_cast(__typeof__(a < b), b)); }");
  w.line(
      "template <class T> HELPER T bits_or(T a, T b) { return __builtin_bit_cast(T, __builtin_bit_cast(__typeof__(a < b), a) | "
      "__builtin_bit_cast(__typeof__(a < b), b)); }");
  w.line("template <class T> HELPER T max_v(T a, T b) { T r = a > b ? a : b; r = a == b ? bits_and(a, b) : r; return a != a ? a : r; }");
  w.line("template <class T> HELPER T min_v(T a, T b) { T r = a < b ? a : b; r = a == b ? bits_or(a, b) : r; return a != a ? a : r; }");
  w.line(
      "template <class T, class B> HELPER T max_s(T a, T b) { if (a != a) return a; if (a == b) return __builtin_bit_cast(T, "
      "__builtin_bit_cast(B, a) & __builtin_bit_cast(B, b)); return a > b ? a : b; }");
  w.line(
      "template <class T, class B> HELPER T min_s(T a, T b) { if (a != a) return a; if (a == b) return __builtin_bit_cast(T, "
      "__builtin_bit_cast(B, a) | __builtin_bit_cast(B, b)); return a < b ? a : b; }");
  w.line(
      "template <class T> HELPER T div_i(T a, T b) { if (b == 0) return 0; if (T(-1) < T(0) && b == T(-1)) return T(0 - a); return T(a / "
      "b); }");
  w.line("template <class T> HELPER T rem_i(T a, T b) { if (b == 0 || (T(-1) < T(0) && b == T(-1))) return 0; return T(a % b); }");
  // f64 to a 16-bit float in one rounding: first to f32, inexact results made odd, so that the second rounding decides as the first would
  // have.
  w.line(
      "HELPER f32 f32_to_odd(f64 a) { f32 r = (f32)a; u32 b = __builtin_bit_cast(u32, r); if (a != a || (f64)r == a) return r; "
      "if (__builtin_fabs((f64)r) > __builtin_fabs(a)) b -= 1; return __builtin_bit_cast(f32, b | 1); }");
  w.line(
      "HELPER u16 bf16_of(f32 a) { u32 b = __builtin_bit_cast(u32, a); return (u16)(a != a ? (b >> 16) | 0x40 : (b + 0x7fff + ((b >> 16) & "
      "1)) >> 16); }");
  // The exact remainder with the dividend's sign, bit by bit: without libm there is no fmod. M: bits of the stored mantissa.
  w.open("template <class F, class U, int M> static F rem_f(F fa, F fb)");
  w.line("const U top = U(1) << M, sign = U(1) << (sizeof(U) * 8 - 1), inf = U(~sign) >> M << M;");
  w.line("const U a = __builtin_bit_cast(U, fa), b = __builtin_bit_cast(U, fb) & ~sign, s = a & sign; U x = a & ~sign;");
  w.line("if (fa != fa) return fa; if (fb != fb) return fb; if (b == 0 || x >= inf) return (fa - fa) / (fa - fa); if (x < b) return fa;");
  w.line("int ex = int(x >> M), eb = int(b >> M); U mx = x & (top - 1), mb = b & (top - 1);");
  w.line("if (ex) mx |= top; else ex = 1; if (eb) mb |= top; else eb = 1;");
  w.line("for (; ex > eb; --ex) { if (mx >= mb) mx -= mb; mx <<= 1; }");
  w.line("if (mx >= mb) mx -= mb; if (mx == 0) return __builtin_bit_cast(F, s);");
  w.line("while (mx < top && ex > 1) { mx <<= 1; --ex; }");
  w.line("x = mx < top ? mx : (U(ex) << M) | (mx & (top - 1)); return __builtin_bit_cast(F, U(s | x));");
  w.close();
  w.line(
      "template <class T> HELPER T floordiv_i(T a, T b) { T q = div_i(a, b); return b != 0 && T(q * b) != a && ((a < 0) != (b < 0)) ? T(q "
      "- 1) : q; }");
  w.line("template <class T> HELPER T floormod_i(T a, T b) { T r = rem_i(a, b); return r != 0 && ((r < 0) != (b < 0)) ? T(r + b) : r; }");
}

void CpuDialect::function(SourceWriter& w, const std::string& result, const HelperKey& h, const std::string& params,
                          const std::vector<std::string>& body) const {
  if (body.size() == 1) {
    w.line(cat("HELPER ", result, " ", h.name, "(", params, ") { ", body[0], " }"));
    return;
  }
  w.open(cat("HELPER ", result, " ", h.name, "(", params, ")"));
  for (const std::string& l : body) w.line(l);
  w.close();
}

namespace {
// f(a[i], b[i]) lane by lane.
std::vector<std::string> per_lane(const std::string& t, int n, const std::string& each) {
  return {t + " r;", cat("for (int i = 0; i < ", n, "; ++i) r[i] = ", each, ";"), "return r;"};
}
std::string one(std::string text) { return text; }
}  // namespace

std::vector<std::string> CpuDialect::round_body(const HelperKey& h, int mode, const char* scalar) const {
  const bool f32 = h.type.elem == DType::kF32;
  const int bytes = h.type.lanes * (f32 ? 4 : 8);
  if (h.type.lanes == 1) return {cat("return ", scalar, f32 ? "f" : "", "(a);")};
  if (wide_ && bytes == 64)
    return {cat("return __builtin_ia32_rndscalep", f32 ? "s" : "d", "_mask(a, ", mode, ", a, ", f32 ? "(u16)-1" : "(u8)-1", ", 4);")};
  if (bytes == 32) return {cat("return __builtin_ia32_roundp", f32 ? "s" : "d", "256(a, ", mode, ");")};
  return per_lane(cpu_type(h.type), h.type.lanes, cat(scalar, f32 ? "f" : "", "(a[i])"));
}

std::vector<std::string> CpuDialect::reduce_body(const HelperKey& h) const {
  const int n = h.from.lanes;
  std::vector<std::string> body{"auto v" + std::to_string(n) + " = a;"};
  const bool mask = h.from.kind == KType::kMask;
  auto combine = [&](const std::string& a, const std::string& b, bool scalar) -> std::string {
    const bool floating = h.from.floating();
    const std::string bits = h.from.elem == DType::kF64 ? "i64" : "i32";
    switch (h.op) {
      case ExprOp::kReduceAdd: return cat(a, " + ", b);
      case ExprOp::kReduceMul: return cat(a, " * ", b);
      case ExprOp::kReduceMin:
        return floating
                   ? (scalar ? cat("min_s<", scalar_name(h.from.elem), ", ", bits, ">(", a, ", ", b, ")") : cat("min_v(", a, ", ", b, ")"))
                   : cat("(", a, " < ", b, " ? ", a, " : ", b, ")");
      case ExprOp::kReduceMax:
        return floating
                   ? (scalar ? cat("max_s<", scalar_name(h.from.elem), ", ", bits, ">(", a, ", ", b, ")") : cat("max_v(", a, ", ", b, ")"))
                   : cat("(", a, " > ", b, " ? ", a, " : ", b, ")");
      case ExprOp::kReduceAnd: return cat(a, " & ", b);
      default: return cat(a, " | ", b);
    }
  };
  for (int m = n; m > 2; m /= 2) {
    const std::string v = cat("v", m);
    body.push_back(
        cat("auto l", m, " = __builtin_shufflevector(", v, ", ", v, ", ", list(m / 2, [](int i) { return std::to_string(i); }), ");"));
    body.push_back(cat("auto h", m, " = __builtin_shufflevector(", v, ", ", v, ", ",
                       list(m / 2, [&](int i) { return std::to_string(i + m / 2); }), ");"));
    body.push_back(cat("auto v", m / 2, " = ", combine(cat("l", m), cat("h", m), false), ";"));
  }
  body.push_back(cat("return ", mask ? "(" : cat("(", cpu_type(h.type), ")("), combine("v2[0]", "v2[1]", true), mask ? ") != 0;" : ");"));
  return body;
}

std::vector<std::string> CpuDialect::cast_body(const HelperKey& h) const {
  const KType to = h.type, from = h.from;
  const int n = to.lanes;
  const std::string t = cpu_type(to);
  if (h.op == ExprOp::kCastMask) {
    if (to.kind == KType::kMask) return {n == 1 ? one("return a != 0;") : cat("return __builtin_convertvector(a != 0, ", t, ");")};
    return {n == 1 ? cat("return (", t, ")a;") : cat("return __builtin_convertvector(a & 1, ", t, ");")};
  }
  if (h.op == ExprOp::kCastBits) return {cat("return __builtin_bit_cast(", t, ", a);")};
  if (h.op == ExprOp::kCastSat) {
    const bool u = is_unsigned_int(to.elem) && to.kind == KType::kElem;
    const int bits = to.kind == KType::kIndex ? 64 : dtype_bits(to.elem);
    const std::string x = n == 1 ? "a" : "a[i]", f = from.elem == DType::kF64 ? "f64" : "f32";
    const std::string s = to.kind == KType::kIndex ? "i64" : scalar_name(to.elem);
    const std::string top = cat("(", f, ")", u ? (bits == 64 ? "0x1p64" : cat("0x1p", bits)) : cat("0x1p", bits - 1));
    const std::string max =
        u ? cat("(", s, ")~0ull") : cat("(", s, ")", bits == 64 ? "0x7fffffffffffffffll" : cat((int64_t(1) << (bits - 1)) - 1));
    const std::string min = u ? "0" : cat("(", s, ")(-", max, " - 1)");
    const std::string low = u ? cat(x, " <= 0") : cat(x, " <= -", top);
    const std::string each = cat("(", x, " != ", x, " ? (", s, ")0 : ", low, " ? (", s, ")", min, " : ", x, " >= ", top, " ? ", max,
                                 " : as_integer((", s, ")", x, "))");
    if (n == 1) return {cat("return (", t, ")", each, ";")};
    if (to.elem == DType::kI32 && from.elem == DType::kF32)
      return {cat(t, " r = __builtin_convertvector(a, ", t, ");"), cat("r = a >= 0x1p31f ? ", t, "{} + 0x7fffffff : r;"),
              cat("return a != a ? ", t, "{} : r;")};
    return per_lane(t, n, each);
  }
  if (h.op == ExprOp::kCastEven && to.kind == KType::kElem && storage_only(to.elem)) {
    const std::string u = n == 1 ? "u32" : cat("u32x", n);
    if (from.elem == DType::kF64) {
      const std::string odd = n == 1 ? "f32_to_odd(a)" : "f32_to_odd(a[i])";
      const bool brain = to.elem == DType::kBF16;
      const std::string each = brain ? cat("bf16_of(", odd, ")") : cat("(u16)__builtin_ia32_vcvtps2ph(v4f{", odd, ", 0, 0, 0}, 0)[0]");
      auto body = n == 1 ? std::vector<std::string>{cat("return ", each, ";")} : per_lane(t, n, each);
      if (!brain) body.insert(body.begin(), "typedef float v4f __attribute__((vector_size(16)));");
      return body;
    }
    if (to.elem == DType::kBF16) {
      const std::string half = n == 1 ? "u16" : cat("u16x", n);
      const std::string narrow = n == 1 ? "(u16)(r)" : cat("__builtin_convertvector(r, ", half, ")");
      return {cat(u, " b = __builtin_bit_cast(", u, ", a);"), cat(u, " r = (b + 0x7fff + ((b >> 16) & 1)) >> 16;"),
              "r = a != a ? (b >> 16) | 0x40 : r;", cat("return (", t, ")", narrow, ";")};
    }
    if (n == 16 && wide_)
      return {"typedef short v16hi __attribute__((vector_size(32)));",
              cat("return (", t, ")__builtin_ia32_vcvtps2ph512_mask(a, 0, v16hi{}, (u16)-1);")};
    if (n == 8) return {cat("return (", t, ")__builtin_ia32_vcvtps2ph256(a, 0);")};
    const std::string v4 = "typedef float v4sf __attribute__((vector_size(16)));";
    if (n == 1) return {v4, "return (u16)__builtin_ia32_vcvtps2ph(v4sf{a, 0, 0, 0}, 0)[0];"};
    auto body = per_lane(t, n, "(u16)__builtin_ia32_vcvtps2ph(v4sf{a[i], 0, 0, 0}, 0)[0]");
    body.insert(body.begin(), v4);
    return body;
  }
  if (h.op == ExprOp::kCastEven && from.kind == KType::kElem && storage_only(from.elem)) {
    if (from.elem == DType::kBF16) {
      const std::string wide = n == 1 ? "((u32)a << 16)" : cat("(__builtin_convertvector(a, u32x", n, ") << 16)");
      return {cat("return __builtin_bit_cast(", t, ", ", wide, ");")};
    }
    const std::string hi8 = "typedef short v8hi __attribute__((vector_size(16)));";
    if (n == 16 && wide_)
      return {"typedef short v16hi __attribute__((vector_size(32)));",
              cat("return __builtin_ia32_vcvtph2ps512_mask((v16hi)a, ", t, "{}, (u16)-1, 4);")};
    if (n == 8) return {hi8, "return __builtin_ia32_vcvtph2ps256((v8hi)a);"};
    if (n == 1) return {hi8, "return __builtin_ia32_vcvtph2ps(v8hi{(short)a})[0];"};
    auto body = per_lane(t, n, "__builtin_ia32_vcvtph2ps(v8hi{(short)a[i]})[0]");
    body.insert(body.begin(), hi8);
    return body;
  }
  return {n == 1 ? cat("return (", t, ")a;") : cat("return __builtin_convertvector(a, ", t, ");")};
}

std::vector<std::string> CpuDialect::body_of(const HelperKey& h, std::string& params, std::string& result) const {
  const std::string t = cpu_type(h.type);
  const std::string in = h.from.kind != KType::kNone ? cpu_type(h.from) : t;
  const int n = h.type.lanes;
  const bool floating = h.type.floating();
  const bool f32 = h.type.elem == DType::kF32;
  const std::string bits = f32 ? "i32" : "i64";
  result = t;
  params = in + " a";
  auto two = [&](const std::string& type) { params = cat(type, " a, ", type, " b"); };
  // Scalar forms of small integers come back to their type; vectors have their own arithmetic.
  auto arithmetic = [&](const std::string& op) -> std::vector<std::string> {
    two(in);
    return {cat("return (", t, ")(a ", op, " b);")};
  };
  switch (h.op) {
    case ExprOp::kConst:
      params = "u64 b";
      return {h.type.kind == KType::kElem && h.type.elem == DType::kF32   ? one("return __builtin_bit_cast(f32, (u32)b);")
              : h.type.kind == KType::kElem && h.type.elem == DType::kF64 ? one("return __builtin_bit_cast(f64, b);")
                                                                          : cat("return (", t, ")b;")};
    case ExprOp::kSplat:
      params = in + " a";
      return {cat("return ", t, "{", list(n, [&](int) { return h.type.kind == KType::kMask ? one("-(i32)a") : one("a"); }), "};")};
    case ExprOp::kIota: params = ""; return {cat("return ", t, "{", list(n, [](int i) { return std::to_string(i); }), "};")};
    case ExprOp::kExtract: params = in + " a, int i"; return {cat("return ", h.type.kind == KType::kMask ? "a[i] != 0;" : "a[i];")};
    case ExprOp::kShuffle: {
      params = cat(in, " a, ", in, " b");
      if (h.from.lanes == 1)
        return {cat("return ", t, "{", list(n, [&](int i) { return one(h.pattern[static_cast<size_t>(i)] ? "b" : "a"); }), "};")};
      if (n == 1) return {cat("return __builtin_shufflevector(a, b, ", int(h.pattern[0]), ", ", int(h.pattern[0]), ")[0];")};
      return {cat("return __builtin_shufflevector(a, b, ",
                  list(n, [&](int i) { return std::to_string(int(h.pattern[static_cast<size_t>(i)])); }), ");")};
    }
    case ExprOp::kNeg: return {floating || n > 1 ? one("return -a;") : cat("return (", t, ")(0 - a);")};
    case ExprOp::kAbs:
      if (!floating) return {is_unsigned_int(h.type.elem) ? one("return a;") : cat("return a < 0 ? (", t, ")(0 - a) : a;")};
      if (n == 1) return {cat("return __builtin_fabs", f32 ? "f" : "", "(a);")};
      return {cat("return __builtin_bit_cast(", t, ", __builtin_bit_cast(", bits, "x", n, ", a) & ",
                  f32 ? "0x7fffffff" : "0x7fffffffffffffffll", ");")};
    case ExprOp::kNot: return {h.type.kind == KType::kMask && n == 1 ? one("return !a;") : cat("return (", t, ")(~a);")};
    case ExprOp::kSqrt:
      if (n == 1) return {cat("return __builtin_sqrt", f32 ? "f" : "", "(a);")};
      if (wide_ && n * (f32 ? 4 : 8) == 64)
        return {cat("return __builtin_ia32_sqrtp", f32 ? "s" : "d", "512_mask(a, a, ", f32 ? "(u16)-1" : "(u8)-1", ", 4);")};
      if (n * (f32 ? 4 : 8) == 32) return {cat("return __builtin_ia32_sqrtp", f32 ? "s" : "d", "256(a);")};
      return per_lane(t, n, cat("__builtin_sqrt", f32 ? "f" : "", "(a[i])"));
    case ExprOp::kFloor: return round_body(h, 9, "__builtin_floor");
    case ExprOp::kCeil: return round_body(h, 10, "__builtin_ceil");
    case ExprOp::kTrunc: return round_body(h, 11, "__builtin_trunc");
    case ExprOp::kRoundEven: return round_body(h, 8, "__builtin_rint");
    case ExprOp::kIsNan: return {n == 1 ? one("return a != a;") : cat("return __builtin_convertvector(a != a, ", t, ");")};
    case ExprOp::kAdd: return arithmetic("+");
    case ExprOp::kSub: return arithmetic("-");
    case ExprOp::kMul: return arithmetic("*");
    case ExprOp::kAnd: return arithmetic("&");
    case ExprOp::kOr: return arithmetic("|");
    case ExprOp::kXor: return arithmetic("^");
    case ExprOp::kDiv:
    case ExprOp::kRem:
    case ExprOp::kFloorDiv:
    case ExprOp::kFloorMod: {
      two(in);
      if (floating && h.op == ExprOp::kRem) {
        const std::string f = h.type.elem == DType::kF32 ? "rem_f<f32, u32, 23>" : "rem_f<f64, u64, 52>";
        return n == 1 ? std::vector<std::string>{cat("return ", f, "(a, b);")} : per_lane(t, n, cat(f, "(a[i], b[i])"));
      }
      if (floating) return {one(mutant("vectors_divide_the_other_way") && n > 1 ? "return b / a;" : "return a / b;")};
      const char* f = h.op == ExprOp::kDiv        ? "div_i"
                      : h.op == ExprOp::kRem      ? "rem_i"
                      : h.op == ExprOp::kFloorDiv ? "floordiv_i"
                                                  : "floormod_i";
      if (n == 1) return {cat("return ", f, "(a, b);")};
      const std::string s = h.type.kind == KType::kIndex ? "idx" : scalar_name(h.type.elem);
      return per_lane(t, n, cat(f, "((", s, ")a[i], (", s, ")b[i])"));
    }
    case ExprOp::kMin:
    case ExprOp::kMax: {
      two(in);
      const std::string m = h.op == ExprOp::kMin ? "min" : "max";
      if (!floating) return {cat("return a ", h.op == ExprOp::kMin ? "<" : ">", " b ? a : b;")};
      return {n == 1 ? cat("return ", m, "_s<", t, ", ", bits, ">(a, b);") : cat("return ", m, "_v(a, b);")};
    }
    case ExprOp::kShl:
    case ExprOp::kShr: {
      two(in);
      const int width = h.type.kind == KType::kIndex ? 64 : dtype_bits(h.type.elem);
      return {cat("return (", t, ")(a ", h.op == ExprOp::kShl ? "<<" : ">>", " (b & ", width - 1, "));")};
    }
    case ExprOp::kLt:
    case ExprOp::kLe:
    case ExprOp::kEq: {
      two(in);
      const char* op = h.op == ExprOp::kLt ? "<" : h.op == ExprOp::kLe ? "<=" : "==";
      return {n == 1 ? cat("return a ", op, " b;") : cat("return __builtin_convertvector(a ", op, " b, ", t, ");")};
    }
    case ExprOp::kFma: {
      params = cat(t, " a, ", t, " b, ", t, " c");
      const int bytes = n * (f32 ? 4 : 8);
      if (!floating) return {cat("return (", t, ")(a * b + c);")};
      if (n == 1) return {cat("return __builtin_fma", f32 ? "f" : "", "(a, b, c);")};
      if (wide_ && bytes == 64)
        return {cat("return __builtin_ia32_vfmaddp", f32 ? "s" : "d", "512_mask(a, b, c, ", f32 ? "(u16)-1" : "(u8)-1", ", 4);")};
      if (bytes == 32) return {cat("return __builtin_ia32_vfmaddp", f32 ? "s" : "d", "256(a, b, c);")};
      if (bytes == 16) return {cat("return __builtin_ia32_vfmaddp", f32 ? "s" : "d", "(a, b, c);")};
      return per_lane(t, n, cat("__builtin_fma", f32 ? "f" : "", "(a[i], b[i], c[i])"));
    }
    case ExprOp::kSelect: {
      params = cat(n == 1 ? "bool" : cat("mx", n), " m, ", t, " a, ", t, " b");
      if (n == 1 || h.type.kind == KType::kMask) return {n == 1 ? one("return m ? a : b;") : one("return m ? a : b;")};
      return {cat("return __builtin_convertvector(m, __typeof__(a < b)) ? a : b;")};
    }
    default: break;
  }
  if (h.op >= ExprOp::kCastTrunc && h.op <= ExprOp::kCastMask) return cast_body(h);
  if (h.op >= ExprOp::kReduceAdd && h.op <= ExprOp::kReduceOr) return reduce_body(h);
  NNC_CHECK(false, "no CPU spelling: math must be legalised before emission");
}

void CpuDialect::define(SourceWriter& w, const HelperKey& h) const {
  if (h.what == HelperKey::kLanes) {
    const int n = h.type.lanes;
    function(w, cpu_type(h.type), h, "idx n",
             {cat("const i32 k = n < 0 ? 0 : n > ", n, " ? ", n, " : (i32)n;"),
              cat("return i32x", n, "{", list(n, [](int i) { return std::to_string(i); }), "} ", h.sub ? ">=" : "<", " k;")});
    return;
  }
  if (h.what != HelperKey::kOp) {
    define_memory(w, h);
    return;
  }
  std::string params, result;
  const std::vector<std::string> body = body_of(h, params, result);
  function(w, result, h, params, body);
}

void CpuDialect::define_memory(SourceWriter& w, const HelperKey& h) const {
  const std::string t = cpu_type(h.type);
  const std::string e = h.type.kind == KType::kElem ? scalar_name(h.type.elem) : "idx";
  const int n = h.type.lanes;
  const int bytes = h.type.kind == KType::kElem ? n * dtype_bits(h.type.elem) / 8 : 0;
  const std::string m = n == 1 ? "bool" : cat("mx", n);
  const bool f32 = h.type.is_elem(DType::kF32);
  switch (h.what) {
    case HelperKey::kLoad:
      function(w, t, h, cat("const ", e, "* p, idx i"), {n == 1 ? one("return p[i];") : cat("return *(const ", t, "_u*)(p + i);")});
      break;
    case HelperKey::kStore:
      if (h.sub && wide_ && bytes == 64 && f32)
        function(
            w, "void", h, cat(e, "* p, idx i, ", t, " v"),
            {one("if (((u64)(p + i) & 63) == 0) __builtin_ia32_movntps512((f32*)(p + i), v);"), cat("else *(", t, "_u*)(p + i) = v;")});
      else
        function(w, "void", h, cat(e, "* p, idx i, ", t, " v"), {n == 1 ? one("p[i] = v;") : cat("*(", t, "_u*)(p + i) = v;")});
      break;
    case HelperKey::kLoadMasked:
      if (n == 1)
        function(w, t, h, cat("const ", e, "* p, idx i, bool m, ", t, " other"), {one("return m ? p[i] : other;")});
      else if (f32 && wide_ && bytes == 64)
        function(w, t, h, cat("const ", e, "* p, idx i, ", m, " m, ", t, " other"),
                 {one("return __builtin_ia32_loadups512_mask(p + i, other, __builtin_ia32_cvtd2mask512(m));")});
      else if (f32 && bytes == 32)
        function(w, t, h, cat("const ", e, "* p, idx i, ", m, " m, ", t, " other"),
                 {one("typedef int v8si __attribute__((vector_size(32)));"),
                  cat("return m ? __builtin_ia32_maskloadps256((const ", t, "*)(p + i), (v8si)m) : other;")});
      else
        function(w, t, h, cat("const ", e, "* p, idx i, ", m, " m, ", t, " other"),
                 {t + " r = other;", cat("for (int l = 0; l < ", n, "; ++l) if (m[l]) r[l] = p[i + l];"), one("return r;")});
      break;
    case HelperKey::kStoreMasked:
      if (n == 1)
        function(w, "void", h, cat(e, "* p, idx i, ", t, " v, bool m"), {one("if (m) p[i] = v;")});
      else if (f32 && wide_ && bytes == 64)
        function(w, "void", h, cat(e, "* p, idx i, ", t, " v, ", m, " m"),
                 {one("__builtin_ia32_storeups512_mask(p + i, v, __builtin_ia32_cvtd2mask512(m));")});
      else if (f32 && bytes == 32)
        function(w, "void", h, cat(e, "* p, idx i, ", t, " v, ", m, " m"),
                 {one("typedef int v8si __attribute__((vector_size(32)));"),
                  cat("__builtin_ia32_maskstoreps256((", t, "*)(p + i), (v8si)m, v);")});
      else
        function(w, "void", h, cat(e, "* p, idx i, ", t, " v, ", m, " m"),
                 {cat("for (int l = 0; l < ", n, "; ++l) if (m[l]) p[i + l] = v[l];"), one("(void)0;")});
      break;
    case HelperKey::kCheck:
      function(
          w, "idx", h, "idx i, idx n, u32 site, failure_t* f",
          {one("if ((u64)(i64)i < (u64)(i64)n) return i;"),
           one("if (!f->set) { f->set = true; f->site = site; f->index = i; f->bound = n; }"), one("return i < 0 || n <= 0 ? 0 : n - 1;")});
      break;
    case HelperKey::kAtomic: {
      static constexpr std::array<const char*, 5> kOps = {"a + v", "a < v ? a : v", "a > v ? a : v", "a | v", "a == c ? v : a"};
      const bool cas = static_cast<AtomicOp>(h.sub) == AtomicOp::kCas;
      function(w, t, h, cat(e, "* p, idx i, ", cas ? cat(t, " c, ", t, " v") : cat(t, " v")),
               {cat(t, " a = __atomic_load_n(p + i, __ATOMIC_RELAXED);"),
                cat("while (!__atomic_compare_exchange_n(p + i, &a, (", t, ")(", kOps[h.sub],
                    "), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}"),
                one("return a;")});
      break;
    }
    default: NNC_CHECK(false, "a CPU kernel has one thread a task: no warps, fragments or async copies");
  }
}

void CpuDialect::open_kernel(SourceWriter& w, const Kernel& k, const std::string& symbol) const {
  w.open(cat("extern \"C\" void ", symbol, "(void* const* buffers, const i64* dims, i64 begin, i64 end, failure_t* failure)"));
  for (uint32_t b = 0; b < k.param_count; ++b) {
    const KBuffer& buf = k.buffers[BufId(b)];
    const std::string e = cat(buf.access == Access::kRead ? "const " : "", scalar_name(buf.elem));
    w.line(cat(e, "* const ", buf.name, " = (", e, "*)buffers[", b, "];"));
  }
  for (size_t s = 0; s < k.symbols.size(); ++s) w.line(cat("const idx d", s, " = (idx)dims[", s, "];"));
  if (k.symbols.size() == 0) w.line("(void)dims;");
  w.line("(void)failure;");
  const bool three = !k.grid[1].is_const(1) || !k.grid[2].is_const(1);
  if (three) {
    w.line(cat("const idx grid0 = ", dim_text(k.grid[0]), ";"));
    w.line(cat("const idx grid1 = ", dim_text(k.grid[1]), ";"));
  }
  w.open("for (i64 task = begin; task < end; ++task)");
  if (three) {
    w.line("const idx task0 = (idx)(task % grid0), task1 = (idx)(task / grid0 % grid1), task2 = (idx)(task / grid0 / grid1);");
    w.line("(void)task0; (void)task1; (void)task2;");
  } else {
    w.line("const idx task0 = (idx)task;");
    w.line("(void)task0;");
  }
}

}  // namespace

std::string emit_cpu_unit(const std::vector<std::pair<const Kernel*, std::string>>& kernels, const Target& target) {
  const CpuDialect dialect(target);
  UnitEmitter unit(dialect);
  for (const auto& [kernel, symbol] : kernels) unit.add(*kernel, symbol);
  return unit.finish();
}

}  // namespace nnc

#pragma once
// Kernel IR: what a skeleton builds and an emitter spells. A Kernel is a grid of tasks (a CUDA block, or one call range of a pool thread),
// each of `threads` threads, running ordered statements over pure, hash-consed expressions. Expressions read no memory: a load is a
// statement. All indexing is flat, in elements. The tree fixes the order of every floating-point operation, so that every target computes
// the same bits. Semantics and the eight invariants: KERNEL IR section of ir/base/README.md.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/base/dim.h"
#include "ir/base/dtype.h"
#include "ir/support/ids.h"
#include "ir/support/result.h"

namespace nnc {

struct ExprTag;
using ExprId = Id<ExprTag>;
struct VarTag;
using VarId = Id<VarTag>;  // a let, mut, loop variable, load result or fragment
struct BufTag;
using BufId = Id<BufTag>;  // parameters first, then shared and local allocations
struct StmtTag;
using StmtId = Id<StmtTag>;

struct FragShape {
  uint8_t m = 0, n = 0, k = 0;
  enum Role : uint8_t { kNone, kA, kB, kC } role = kNone;
  auto operator<=>(const FragShape&) const = default;
};
struct KType {
  enum Kind : uint8_t { kNone, kElem, kMask, kIndex, kFrag };
  Kind kind = kNone;
  DType elem = DType::kInvalid;  // kElem, kFrag
  uint8_t lanes = 1;             // power of two to 64; frags: 1
  FragShape frag;
  static KType of(DType t, int lanes = 1) { return {kElem, t, static_cast<uint8_t>(lanes), {}}; }
  static KType mask(int lanes = 1) { return {kMask, DType::kInvalid, static_cast<uint8_t>(lanes), {}}; }
  static KType index(int lanes = 1) { return {kIndex, DType::kInvalid, static_cast<uint8_t>(lanes), {}}; }
  KType with_lanes(int n) const {
    KType t = *this;
    t.lanes = static_cast<uint8_t>(n);
    return t;
  }
  bool is_elem(DType t) const { return kind == kElem && elem == t; }
  bool floating() const { return kind == kElem && is_float(elem); }
  auto operator<=>(const KType&) const = default;
};

// Scalar primitives, each over any lanes. One enumerator, one spelling in text, one row per target.
enum class ExprOp : uint8_t {
  // leaves
  kConst,  // bits (of the element type; index: i64), splat over the lanes
  kVar,
  kTask0,
  kTask1,
  kTask2,
  kThread,
  kLane,  // index x1; lane = thread mod 32
  kDim,   // bits = index of the kernel's symbol; index x1
  // unary
  kNeg,
  kAbs,
  kNot,
  kSqrt,
  kFloor,
  kCeil,
  kRoundEven,
  kTrunc,
  kIsNan,
  // binary; comparisons give masks
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,
  kFloorDiv,
  kFloorMod,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kShl,
  kShr,
  kLt,
  kLe,
  kEq,
  kFma,     // a * b + c, one rounding
  kSelect,  // a: mask, b, c
  // casts, by how they treat what does not fit
  kCastTrunc,  // integer narrowing (modulo), float -> float never
  kCastSat,    // float -> integer: truncate toward zero, saturate, NaN -> 0
  kCastEven,   // float <-> float, integer -> float: round to nearest even
  kCastZext,
  kCastSext,
  kCastBits,  // reinterpret, same width
  kCastMask,  // mask <-> u8 0/1 (bool storage) and integer != 0 -> mask
  // math, legalised before emission
  kExp,
  kExp2,
  kLog,
  kLog2,
  kSin,
  kCos,
  kTanh,
  kErf,
  kPow,
  // lanes
  kSplat,
  kIota,     // kIota: index x lanes 0, 1, 2, ...
  kExtract,  // bits = lane
  kShuffle,  // pattern: a's and b's lanes concatenated
  kReduceAdd,
  kReduceMul,
  kReduceMin,
  kReduceMax,
  kReduceAnd,
  kReduceOr,  // fixed tree: halves are combined lane by lane, (i, i + n/2), until one is left
  kCount
};

struct ExprNode {
  ExprOp op = ExprOp::kConst;
  KType type;
  ExprId a, b, c;
  uint64_t bits = 0;
  std::vector<uint8_t> pattern;
  VarId var;
  bool operator==(const ExprNode&) const = default;
};

enum class StmtKind : uint8_t {
  kLet,
  kMut,
  kSet,
  kFor,
  kWhile,
  kIf,
  kBlock,
  kLoad,
  kStore,
  kAtomic,
  kAlloc,
  kPrefetch,
  kCheck,
  kBarrier,
  kWarp,
  kCopy,
  kFrag,
  kNote
};
enum class AtomicOp : uint8_t { kAdd, kMin, kMax, kOr, kCas };
enum class WarpOp : uint8_t { kShflXor, kShflUp, kShflDown, kShflIdx, kBallot, kAny, kAll };
enum class Scope : uint8_t { kBlock, kWarp };
enum class CopyOp : uint8_t { kAsync, kCommit, kWait };
enum class FragOp : uint8_t { kZero, kLoad, kMma, kStore, kGet, kSet };

using Block = std::vector<StmtId>;

// One statement; which fields mean something depends on `kind`, as the comments say.
struct Stmt {
  StmtKind kind = StmtKind::kBlock;
  uint8_t op = 0;      // AtomicOp, WarpOp, Scope, CopyOp, FragOp
  VarId var;           // defined (let, mut, for, load, check, warp, frag, atomic result) or set
  BufId buf, buf2;     // memory; kCopy: buf = shared destination, buf2 = global source
  ExprId index;        // flat element index; kFor: begin; kCheck: the index
  ExprId index2;       // kFor: end; kCheck: bound; kCopy: source index; frag load/store: leading dimension
  ExprId value;        // let, mut, set, store, atomic; kIf, kWhile: condition; kWarp: operand
  ExprId mask, other;  // load, store, copy; kWarp: second operand; kAtomic cas: `other` is the new value
  int64_t n = 0;  // kFor: step; kCopy: bytes per copy or wait count; frag get/set: element; frag load/store: 1 if transposed; load: lanes
                  // are in var's type
  VarId f0, f1;   // kFrag mma: operands a, b (var is the accumulator); store, get, set: f0 is the fragment
  bool unroll = false;  // kFor
  bool nt = false;      // streaming access
  uint32_t site = 0;    // kCheck
  uint32_t loc = 0;     // kNote: index into Kernel::notes
  Block body, orelse;
};

enum class Space : uint8_t { kGlobal, kConstant, kShared, kLocal };
enum class Access : uint8_t { kRead, kWrite, kReadWrite };

struct KBuffer {
  std::string name;              // a, b, out0, ... chosen by the builder
  DType elem = DType::kInvalid;  // storage type; bool is stored as u8 0/1; sub-byte types as u8
  Dim extent;                    // elements, over the kernel's symbols
  int align = 64;                // bytes of the base address
  Access access = Access::kRead;
  Space space = Space::kGlobal;
};
struct Variable {
  std::string name;  // hint; text prints %name.id
  KType type;
  bool is_mut = false;
};
// For each output buffer, the input buffer (by parameter number) it may share memory with: every element is read before it is written at
// the same coordinate, by the same task.
struct InPlacePair {
  uint32_t input, output;
  bool operator==(const InPlacePair&) const = default;
};
struct CheckSite {
  std::string what;  // "gather index", for the message; the model's node comes from the note's location
  uint32_t loc = 0;
};
struct Note {
  std::string text;  // op name and ids, ASCII identifiers only
  uint32_t loc = 0;  // the program's location number
};
// Counted from the tree, never written by hand; not part of the text.
struct KernelFacts {
  int64_t bytes_read = 0, bytes_written = 0, flops = 0;  // at typical sizes, whole grid
  int live_registers = 0;                                // bound over program points, in vector registers
  int64_t shared_bytes = 0;
  int unproved_accesses = 0;
};

struct Kernel {
  std::string name;          // readable prefix; the content hash is appended by the emitter
  SymbolTable symbols;       // kernel-local: d0, d1, ... with bounds and divisors; kDim k is symbol k
  uint32_t param_count = 0;  // buffers[0 .. param_count) are parameters
  IdVec<BufId, KBuffer> buffers;
  IdVec<VarId, Variable> vars;
  IdVec<ExprId, ExprNode> exprs;
  IdVec<StmtId, Stmt> stmts;
  std::array<Dim, 3> grid{Dim(1), Dim(1), Dim(1)};
  int threads = 1;
  bool index64 = true;
  bool fast = false;  // fast league: float atomics are allowed
  Block body;
  std::vector<InPlacePair> in_place;
  std::vector<CheckSite> sites;
  std::vector<Note> notes;
  KernelFacts facts;
};

std::string_view expr_op_name(ExprOp op);

// Values of all symbols of `k`: those given, derived ones computed.
Result<std::vector<int64_t>> complete_dims(const Kernel& k, std::span<const int64_t> dims);

// ---- text (kernel_text.cpp): one statement a line, calls prefix `add(%a, %b)`; grammar in docs/ir-text.md
std::string print_kernel(const Kernel& k);
Result<Kernel> parse_kernel(std::string_view text);
// Hash of the printed text without name, notes and locations: equal for kernels that do the same.
std::string kernel_hash(const Kernel& k);

// ---- verifier (kernel_verify.cpp): the eight invariants; all problems at once
struct KernelProblem {
  int invariant = 0;  // 1..8; 0: malformed (types, arity, ids)
  std::string message;
  StmtId stmt;
};
std::vector<KernelProblem> verify_kernel(const Kernel& k);
Status verify_kernel_or_error(const Kernel& k);

// ---- generic passes over the tree (kernel_passes.cpp); nothing else rearranges kernels
enum class League : uint8_t { kStrict, kFast };
void legalise_math(Kernel& k, League league);  // math -> primitives (kernel_math.cpp)
void simplify_kernel(Kernel& k);               // exact algebra, dead lets, constant ifs, loops of zero or one trip
void hoist_and_share(Kernel& k);               // loop-invariant lets move out; repeated subexpressions get names
void compact_kernel(Kernel& k);  // drops what nothing uses; numbers variables and buffers in order of their definition, as the text does
void count_facts(Kernel& k);
// All of them in their order, as a builder's kernel needs them; what does not verify then is a bug of who built it. `fast` says the league.
void finish_kernel(Kernel& k);

}  // namespace nnc

#pragma once
// The plan program: what the runtime executes. Per target an artifact holds one Program: kernels, and for each entry (and profile) a list
// of segments with buffers and steps, structured like the graph's regions. Live ranges and size expressions are fixed at compile time;
// offsets are assigned by one packer (plan_pack.h), at compile time for constant sizes, at bind time otherwise, and proved by the same
// independent checker each time. Plans have a text form (grammar in docs/ir-text.md) which artifacts store.
//
// Steps are numbered depth first over the whole entry (`first`, `last` of a buffer are such numbers), branches and loop bodies included:
// the two branches of an `if` have disjoint numbers and so may share memory; a loop body's temporaries live inside the loop's interval; a
// value that crosses iterations lives over the whole loop.
//
// A segment is what is bound at once: all symbols that its steps and buffers speak of have their values when it begins, and a `bind` ends
// it. A region (branch or loop body) that binds symbols of its own is a list of `segment` steps; each is bound anew whenever it is reached
// and has memory of its own, which is given up when it is reached again. What such a region hands on, and whose size is known only inside,
// is a *room*: a buffer with memory of its own that `room` steps size.

#include <cstdint>
#include <string>
#include <vector>

#include "ir/base/dim.h"
#include "ir/base/dtype.h"
#include "ir/base/kernel.h"

namespace nnc {

// What a step reads or writes.
struct PlanOperand {
  enum Space : uint8_t {
    kNone,      // absent optional operand
    kBuffer,    // index into PlanEntry::buffers
    kArg,       // the caller's input (or the state bound to that argument)
    kResult,    // the caller's output
    kConstant,  // index into Program::constants
    kState,     // a state's memory, by state number
  };
  Space space = kNone;
  uint32_t index = 0;
  auto operator<=>(const PlanOperand&) const = default;
};

struct PlanBuffer {
  Dim bytes;  // size; bounded symbols enter with their upper bound
  int align = 64;
  uint32_t first = 0, last = 0;  // step numbers, inclusive
  int32_t alias_of = -1;         // shares that buffer's memory (in place, views); the step that writes it states the pair, or it is a view
  uint32_t segment = 0;          // where its size is known and its memory is assigned; kRoom: memory of its own
  static constexpr uint32_t kRoom = UINT32_MAX;
  bool is_room() const { return segment == kRoom; }
  DType dtype = DType::kInvalid;
  Shape shape;
  std::vector<uint32_t> locs;  // source nodes of the value
};

enum class StepKind : uint8_t {
  kLaunch,       // kernel over its grid; operands are the kernel's parameters in order
  kLibrary,      // vendor call: fn names it
  kCopy,         // operand 0 -> operand 1, whole
  kFill,         // operand 0 with zero bytes
  kHost,         // function of ir/base/host: fn, attributes in `ints`, operands: inputs then outputs
  kBind,         // binds `symbols` to the elements of integer operand 0, or to `dims` where there is no operand; ends a segment
  kAssertDims,   // dims[0] rel dims[1]
  kAssertValue,  // operand 0 equals constant operand 1
  kIf,           // flag operand 0; body, orelse
  kLoop,
  kSwitch,   // alternatives: the first whose predicate holds at bind time; the last is always true
  kFail,     // message: an error if reached
  kSegment,  // `segment`: body is bound and run
  kRoom,     // operand 0, a room, gets dims[0] bytes and loses what it held
  kAppend,   // operand 0, of dims[0] bytes, goes behind what was appended to room 1; dims[1..]: its extents, the same each time
};
enum class Rel : uint8_t { kEq, kNe, kLe, kLt };

struct Predicate {  // conjunction of a rel b
  struct Clause {
    Dim a;
    Rel rel = Rel::kEq;
    Dim b;
  };
  std::vector<Clause> clauses;  // empty: always true
};

struct Step;
struct Alternative {
  Predicate when;
  std::vector<Step> steps;
};
// A carried value of a loop: `init` is copied (or aliased) into `current` before the loop; the body reads `current` and writes `next`; in
// place when they are the same operand, else the runtime swaps the two after each iteration. The result is what `current` names after the
// loop. Both are buffers of the loop's segment, or both are rooms: then steps before the loop fill `current`, which `init` names too.
struct Carry {
  PlanOperand init, current, next;
};
// An output stacked per iteration: the body writes `element`, the runtime places it at [i] of `stacked` (`bytes` each).
struct ScanOut {
  PlanOperand element, stacked;
  Dim bytes;
};

struct Step {
  StepKind kind = StepKind::kLaunch;
  uint32_t number = 0;
  std::vector<PlanOperand> operands;
  uint32_t kernel = 0;            // kLaunch: index into Program::kernels
  std::vector<Dim> dims;          // kLaunch: values of the kernel's symbols; kAssertDims: a, b
  std::vector<SymbolId> symbols;  // kBind; kHost: data symbols that the function counts; kLoop: those that its body binds again at its end
  uint32_t segment = 0;           // kSegment: its number; those of the entry come first
  std::string fn;                 // kLibrary, kHost
  std::vector<int64_t> ints;      // kHost attributes
  Rel rel = Rel::kEq;
  std::string message;         // assertions, kFail
  std::vector<uint32_t> locs;  // source nodes
  // regions
  std::vector<Step> body, orelse;
  std::vector<Alternative> alternatives;
  // kLoop: operands are {trip or none, initial condition or none, iteration counter (i64) buffer, condition buffer written by the body or
  // none}
  std::vector<Carry> carries;
  std::vector<ScanOut> scans;
  int64_t max_trips = int64_t(1) << 31;
  SymbolId trip_symbol;  // bound to the number of iterations done, if valid
};

struct Segment {
  std::vector<Step> steps;  // symbols bound by earlier segments are known when its buffers are placed
};

struct PlanArg {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;
  int32_t state = -1;
};

struct PlanEntry {
  std::string name, profile;
  std::vector<PlanArg> args, results;
  std::vector<PlanBuffer> buffers;
  std::vector<Segment> segments;
};

struct PlanKernel {
  std::string name;  // symbol in native code: readable prefix + hash
  std::string text;  // kernel IR; what `cpu:vm` runs and native code is rebuilt from
  std::vector<InPlacePair> in_place;
};

struct SourceRef {  // a node of the model, for messages
  std::string node, op, scope;
};
struct PlanState {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;
  int32_t initial = -1;  // constant; -1: zeros
};
// A constant as the program wants it, dense and row-major: the stored constant `hash`, or what `unpack` makes of it.
struct PlanConstant {
  std::string hash;  // hex
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  std::string unpack;  // "": as stored; else the conversion done while uploading (plan_unpack.h)
};

struct Program {
  std::string target;                 // "cpu:x86-64-v4", "cpu:vm", "cuda:sm_90", "cuda-emu:sm_80"
  std::vector<std::string> features;  // what the machine must have, by name ("avx512f", ...)
  SymbolTable symbols;
  std::vector<PlanKernel> kernels;
  std::vector<PlanConstant> constants;
  std::vector<PlanState> states;
  std::vector<SourceRef> sources;
  std::vector<PlanEntry> entries;
};

std::string print_program(const Program& p, bool with_kernels = false);
Result<Program> parse_program(std::string_view text);  // kernels' texts come separately

// Segments of an entry, nested ones included.
uint32_t segment_count(const PlanEntry& e);

// Semantic verification (plan_verify.cpp): ids in range, operands where the kernel has parameters, dtypes, every symbol bound before use,
// step numbers in order, live ranges cover uses, aliases stated, states written at most once and after all checks, grid and extents
// consistent with the kernels' parameters.
Status verify_program(const Program& p);

}  // namespace nnc

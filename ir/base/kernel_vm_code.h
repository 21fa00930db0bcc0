#pragma once
// The interpreter's own code: instructions over registers in a frame, and the state that they run on. Internal to kernel_vm*.cpp.
//
// A register is a slot in its thread's frame: 8 bytes for one lane, whole 64-byte blocks otherwise, so that lane operations run on full
// vectors and may compute rubbish in the padding. A mask lane is a byte, 0 or 1.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/base/kernel_vm.h"

namespace nnc::vm {

struct Inst;
struct Thread;
// Returns the next instruction, or null when the thread stops (Thread::stop says why).
using Handler = const Inst* (*)(const Inst*, Thread&);

struct Inst {
  Handler fn = nullptr;
  uint32_t dst = 0, a = 0, b = 0, c = 0;  // frame offsets
  uint16_t lanes = 1;
  uint16_t blocks = 1;  // 64-byte blocks of the widest operand
  uint32_t aux = 0;     // buffer, jump target, pattern, statement
  int64_t imm = 0;
};

// What the lane operations are compiled for: f16, bf16 and f8 move as u16 and u8, an index is i64.
enum class Lane : uint8_t { kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kF32, kF64, kMask, kF16, kBF16, kCount };
Lane lane_of(const KType& t);
int lane_bytes(Lane t);

enum class BlockMove : uint8_t { kLoad, kLoadSum, kStore, kStoreSum, kMove };

// Handlers of expression operations for one instruction set level; all levels give the same bits. Null: no such operation.
struct LaneOps {
  Handler (*op)(ExprOp op, Lane from);  // unary, binary, fma, select, reductions, splat, extract, shuffle (by size), iota
  Handler (*cast)(ExprOp op, Lane from, Lane to);
  Handler (*fma_scalar)(Lane t);     // a is one lane, the same for all; null: not on this level
  Handler (*fma_one)(Lane t);        // a single lane; null: not on this level
  Handler (*block)(BlockMove what);  // registers of whole blocks; null: not on this level
};
const LaneOps& lane_ops_v1();  // lane by lane: what single lanes use on every level
const LaneOps& lane_ops_v3();
const LaneOps& lane_ops_v4();
// The best level that the processor has, at most `limit` (1, 3, 4).
const LaneOps& lane_ops(int limit = 4);

struct Memory {
  std::byte* data = nullptr;
  int64_t count = 0;           // elements
  uint8_t* written = nullptr;  // per element, for shared and local memory: 1 after a store
};

struct Failure {
  std::string message;
};

enum class Stop : uint8_t { kDone, kSync, kError };

struct PendingCopy {
  uint32_t shared, global;
  int64_t at, from, bytes, group;
  bool masked_off;
};

struct Program;
struct Thread {
  std::byte* regs = nullptr;
  const Inst* code = nullptr;
  Memory* memory = nullptr;  // by buffer
  const Program* program = nullptr;
  CheckFailure* failure = nullptr;
  Failure* error = nullptr;
  int64_t fuel = 0;  // loop rounds left
  const Inst* pc = nullptr;
  Stop stop = Stop::kDone;
  int index = 0;
  int64_t copy_group = 0;
  std::vector<PendingCopy> copies;

  template <class T> T* reg(uint32_t offset) const { return reinterpret_cast<T*>(regs + offset); }
};

struct BufferInfo {
  std::string name;
  int elem_bytes = 1;
  int align = 1;
  Space space = Space::kGlobal;
  int64_t count = 0;  // of allocations
};
struct Constant {
  uint32_t offset;
  std::vector<std::byte> bytes;
};

struct Program {
  Kernel kernel;  // for names, grid and symbols
  std::vector<Inst> code;
  std::vector<BufferInfo> buffers;
  std::vector<Constant> constants;
  std::vector<std::vector<uint8_t>> patterns;
  uint32_t special_offset = 0;  // task0, task1, task2, thread, lane, then the dims: 8 bytes each
  uint32_t frame_bytes = 0;
  int64_t fuel = 0;
};

// ---- memory and control handlers (kernel_vm_memory.cpp, kernel_vm_control.cpp)
enum class Access : uint8_t { kPlain, kSum, kMasked, kScattered };  // kSum: the index is the sum of two registers
Handler load_handler(int elem_bytes, int lanes, Access form);
Handler store_handler(int elem_bytes, int lanes, Access form);
Handler atomic_handler(AtomicOp op, Lane t);
const Inst* do_check(const Inst*, Thread&);
const Inst* do_copy_async(const Inst*, Thread&);
const Inst* do_copy_commit(const Inst*, Thread&);
const Inst* do_copy_wait(const Inst*, Thread&);
const Inst* do_alloc(const Inst*, Thread&);
const Inst* do_frag_load(const Inst*, Thread&);
const Inst* do_frag_store(const Inst*, Thread&);
const Inst* do_move(const Inst*, Thread&);   // blocks * 64 bytes
const Inst* do_move8(const Inst*, Thread&);  // 8 bytes
const Inst* do_clear(const Inst*, Thread&);
const Inst* do_frag_get(const Inst*, Thread&);
const Inst* do_frag_set(const Inst*, Thread&);
const Inst* do_for_begin(const Inst*, Thread&);
const Inst* do_for_next(const Inst*, Thread&);
const Inst* do_jump(const Inst*, Thread&);
const Inst* do_while_next(const Inst*, Thread&);
const Inst* do_branch_false(const Inst*, Thread&);
const Inst* do_end(const Inst*, Thread&);
const Inst* do_sync(const Inst*, Thread&);  // barrier, warp operation, mma: all threads meet here

// Stops the thread with an error about memory `buffer`.
const Inst* out_of_bounds(const Inst* i, Thread& t, uint32_t buffer, int64_t index, int64_t count, const char* what);
const Inst* fail(const Inst* i, Thread& t, std::string message);
const Inst* unwritten(const Inst* i, Thread& t, uint32_t buffer, int64_t index);
bool all_written(const Memory& m, int64_t index, int64_t count);

Status run_tasks(const Program& p, std::span<const VmBuffer> params, std::span<const int64_t> dims, int64_t begin, int64_t end,
                 CheckFailure* failure);
Result<std::unique_ptr<Program>> translate(const Kernel& k, const LaneOps& ops);

}  // namespace nnc::vm

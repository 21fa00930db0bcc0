#pragma once
// A bound segment: the steps of one segment of an entry for given values of the exact symbols, resolved to a flat array of instructions
// over one array of pointers. Built once per combination of values, then run with nothing but pointer updates and the values of bounded
// symbols. Internal to the runtime.

#include <array>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ir/base/host/host.h"
#include "ir/base/plan_pack.h"
#include "runtime/executable.h"

namespace nnc {

// Where memory begins that may move between runs: the arena block of each segment, then the arguments, then the results. Rooms move within
// a run: see RoomUse.
struct BaseTable {
  std::vector<void*> at;
  std::vector<int64_t> bytes;      // room
  uint32_t args = 0, results = 0;  // first of each kind
};

// Where a buffer of the entry lies, once its segment is bound.
struct BufferPlace {
  uint32_t root = 0;     // the buffer whose memory it is
  uint32_t segment = 0;  // of the root
  int64_t offset = 0, bytes = 0;
};

// A room as a segment uses it. Pointers into rooms follow every step that may move them.
struct RoomUse {
  uint32_t room = 0;  // by order among the entry's rooms
  int64_t bytes = 0;  // that the slots reach
  bool made_here = false, ready = false;
  std::vector<uint32_t> slots;
};

struct CarryCode {
  bool rooms = false;                        // then `current` and `next` are rooms, whose memory is exchanged
  uint32_t init = 0, current = 0, next = 0;  // slots
  int64_t bytes = 0;
  std::vector<uint32_t> current_uses, next_uses;  // slots of the body that name either; exchanged after each iteration
};
struct ScanCode {
  uint32_t element = 0, stacked = 0;  // slots
  int64_t bytes = 0, room = 0;
};
struct LoopCode {
  std::vector<CarryCode> carries;
  std::vector<ScanCode> scans;
  std::vector<void*> home;  // where each carry's two buffers are outside of the loop
};
struct HostCode {
  const HostFunction* fn = nullptr;
  std::vector<HostOperand> inputs;
  HostOperand result;
  std::vector<std::vector<int64_t>> shapes;      // per operand, evaluated
  std::vector<std::vector<int64_t>> capacities;  // as laid out in memory
  std::vector<Bytes> dense;                      // inputs that are not dense in memory, packed
  std::vector<int64_t> dims, row, counts;
};

struct Instr {
  StepKind kind = StepKind::kLaunch;
  const Step* step = nullptr;
  const DeviceKernel* kernel = nullptr;
  uint32_t slots = 0, slot_count = 0;
  uint32_t dims = 0, dim_count = 0;
  std::array<int64_t, 3> grid{1, 1, 1};
  int64_t tasks = 0;
  int64_t bytes = 0;
  uint32_t aux = 0;                                         // index into loops, hosts; kRoom, kAppend: the room
  uint32_t orelse = 0;                                      // kIf: [here + 1, orelse) and [orelse, end); kLoop: [here + 1, end)
  uint32_t end = 0;                                         // the instruction after this one and what it contains
  std::vector<std::pair<uint32_t, uint32_t>> alternatives;  // kSwitch: ranges of instructions
};

struct BoundSegment {
  std::vector<int64_t> key;
  uint64_t last_use = 0;
  // memory of this segment's own buffers
  std::vector<std::pair<uint32_t, BufferPlace>> places;  // by buffer
  int64_t arena_bytes = 0, lower_bound = 0;
  // code
  std::vector<Instr> code;
  std::vector<void*> slots;
  std::vector<int64_t> slot_bytes;
  std::vector<uint32_t> slot_root;  // root buffer, or kNoRoot
  std::vector<int64_t> dims;
  std::vector<uint8_t> known;  // scratch for deriving a kernel's symbols
  std::vector<LoopCode> loops;
  std::vector<HostCode> hosts;
  std::vector<uint32_t> dynamic;  // instructions whose dims depend on bounded symbols
  struct Move {
    uint32_t base = 0;
    void* last = nullptr;
    std::vector<std::pair<uint32_t, int64_t>> slots;  // slot, offset
  };
  std::vector<Move> moves;  // slots that follow a base
  std::vector<RoomUse> rooms;
  static constexpr uint32_t kNoRoot = UINT32_MAX;
};

struct BindContext {
  const Executable& executable;
  const PlanEntry& entry;
  std::span<const int64_t> values;  // by symbol
  std::span<const uint8_t> known;
  std::span<void* const> states;  // memory of each
  std::span<const int64_t> state_bytes;
  std::vector<BufferPlace>& places;  // of the whole entry; those of the segment are filled in
  const BaseTable& bases;            // bytes of arguments and results are read
  std::span<const uint32_t> rooms;   // by buffer: its order among the rooms
  const std::vector<Step>& steps;    // of the segment
};

// Packs, checks the packing, resolves.
Result<std::unique_ptr<BoundSegment>> bind_segment(const BindContext& c, uint32_t segment);
// Points the slots at where the bases are now.
void apply_bases(BoundSegment& b, const BaseTable& bases);
// Evaluates again what depends on bounded symbols.
Status refresh_bounded(BoundSegment& b, const Executable& e, const PlanEntry& entry, std::span<const int64_t> values,
                       std::span<const uint8_t> known);

DType dtype_of(const Program& p, const PlanEntry& e, const PlanOperand& o);
// The source node of a step, for messages.
Place place_of(const Program& p, const std::vector<uint32_t>& locs);

}  // namespace nnc

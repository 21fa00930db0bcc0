#pragma once
// What a session keeps per variant of an entry. Internal to session*.cpp.

#include "ir/base/plan_verify.h"
#include "runtime/session.h"

namespace nnc {

struct Session::EntryState {
  uint32_t index = 0;
  const PlanEntry* entry = nullptr;
  // Values of all symbols, for the run in progress.
  std::vector<int64_t> values;
  std::vector<uint8_t> known;
  std::vector<int32_t> giver;  // by symbol: argument that gave its value, -1
  // The symbols that inputs of these extents give, to bind equal inputs at once.
  std::vector<int64_t> seen_dims, input_dims;
  std::vector<int64_t> input_values;
  std::vector<uint8_t> input_known;
  bool seen = false;
  std::vector<uint32_t> inputs, outputs;  // numbers of the arguments and results that are no states
  std::vector<std::vector<int64_t>> arg_capacity, result_capacity;
  std::vector<Bytes> arg_stage, result_stage;  // for what is not laid out as the caller has it
  std::vector<std::vector<int64_t>> result_dims;
  std::vector<uint8_t> placed;  // by result
  std::vector<uint8_t> bounded_arg, bounded_result;
  BaseTable bases;
  std::vector<BufferPlace> places;
  std::vector<std::vector<std::unique_ptr<BoundSegment>>> bound;  // by segment
  std::vector<BoundSegment*> active;
  std::vector<int64_t> key;
  EntryFacts facts;
  std::vector<uint32_t> room_of;      // by buffer: its order among the rooms
  std::vector<int64_t> bound_values;  // of a step that binds several symbols at once
};

// Where the outputs of a run go.
class Session::Outputs {
 public:
  virtual ~Outputs() = default;
  virtual Status count(size_t outputs) = 0;
  // Room for output `i` of these extents; `bytes` dense.
  virtual Result<void*> place(size_t i, DType dtype, std::span<const int64_t> dims, int64_t bytes) = 0;
};

}  // namespace nnc

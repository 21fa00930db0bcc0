#pragma once
// A session runs an executable: it owns the states, one arena for all entries, and what was bound for the extents seen so far. One thread
// at a time may use it; any number of sessions share an executable. After the first run with given extents, a run through caller's buffers
// allocates nothing.

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/base/tensor.h"
#include "runtime/binding.h"
#include "runtime/executable.h"

namespace nnc {

struct SessionOptions {
  size_t bindings = 32;           // kept per segment; the one that was not used for the longest time goes first
  int64_t max_bytes = INT64_MAX;  // of the arena, of the states, and of each output
  int64_t deadline_ms = 0;        // of one run; looked at between steps, and within interpreted ones. 0: none
};

// An input where the caller has it: dense and row-major.
struct InputView {
  DType dtype = DType::kInvalid;
  std::span<const int64_t> dims;
  const void* data = nullptr;
  int64_t bytes = 0;
};
// Room for an output; the run fills in what it became. Must not overlap an input.
struct OutputView {
  void* data = nullptr;
  int64_t room = 0;
  DType dtype = DType::kInvalid;
  int rank = 0;
  std::array<int64_t, 32> dims{};
  int64_t bytes = 0;
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Executable> executable, const SessionOptions& options = {});
  ~Session();

  // Inputs and outputs in the entry's order, without those that are states.
  Result<std::vector<Tensor>> run(std::string_view entry, std::span<const Tensor> inputs);
  Status run(std::string_view entry, std::span<const InputView> inputs, std::span<OutputView> outputs);

  Result<Tensor> state(std::string_view name) const;
  Status set_state(std::string_view name, const Tensor& value);
  Status reset_states();  // to their initial values

  const Executable& executable() const { return *executable_; }
  // From any thread: the run in progress, or else the next one, ends with an error before its next loop iteration or segment.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  struct Stats {
    int64_t allocations = 0;  // of device memory and of bindings, since creation
    int64_t bindings = 0;     // made so far
    int64_t arena_bytes = 0;  // held
    int64_t state_bytes = 0;
    int64_t waits = 0;  // decisions of If and Loop on data that a device made
  };
  const Stats& stats() const { return stats_; }

  // What steps took since `time_steps(true)`, by place in the program; steps that hold others are not among them. Costs two looks at the
  // clock for each step.
  struct StepTime {
    const Step* step = nullptr;
    int64_t calls = 0, nanoseconds = 0;
  };
  void time_steps(bool on) {
    timing_ = on;
    step_times_.clear();
  }
  std::vector<StepTime> step_times() const;
  // Arena bytes and their lower bound of the segments bound last for the entry's variant that ran last.
  struct Memory {
    int64_t peak = 0, lower_bound = 0;
  };
  Memory memory(std::string_view entry) const;

 private:
  struct EntryState;
  class Outputs;
  class TensorOutputs;
  class ViewOutputs;
  Session(std::shared_ptr<const Executable> executable, const SessionOptions& options);
  Status make_states();
  Result<EntryState*> entry_state(uint32_t entry);
  Result<EntryState*> choose_variant(std::string_view entry, std::span<const InputView> inputs);
  Status bind_inputs(EntryState& s, std::span<const InputView> inputs);
  Status bind_arg(EntryState& s, size_t arg, DType dtype, std::span<const int64_t> dims);
  Status check_symbols(EntryState& s);
  Status check_guards(EntryState& s);
  Status check_values(const EntryState& s, std::span<const InputView> inputs) const;
  Status stage_inputs(EntryState& s, std::span<const InputView> inputs);
  Status place_results(EntryState& s, Outputs& outputs);
  Status deliver_results(EntryState& s, Outputs& outputs);
  Result<BoundSegment*> activate(EntryState& s, uint32_t segment);
  Status enter(EntryState& s, const std::vector<uint8_t>& known);
  Status ensure_block(uint32_t segment, int64_t bytes, bool grows);
  Status size_room(uint32_t room, int64_t bytes, int64_t kept, bool grows);
  Status follow_rooms(BoundSegment& b);
  Status append(BoundSegment& b, const Instr& in);
  Status run_segment(EntryState& s, BoundSegment& b, const Instr& in);
  Status run_entry(EntryState& s, std::span<const InputView> inputs, Outputs& outputs);

  Status execute(EntryState& s, BoundSegment& b, uint32_t begin, uint32_t end);
  void took(const Step& step, int64_t since);
  Status launch(const EntryState& s, BoundSegment& b, const Instr& in);
  Status interrupted();
  Status run_host(EntryState& s, BoundSegment& b, const Instr& in);
  Status run_loop(EntryState& s, BoundSegment& b, const Instr& in, uint32_t at);
  Status loop_rounds(EntryState& s, BoundSegment& b, const Instr& in, uint32_t at);
  Status bind_symbols(EntryState& s, BoundSegment& b, const Instr& in);
  Status bind_symbol(EntryState& s, SymbolId id, int64_t value);
  Status assert_dims(const EntryState& s, const Step& step) const;
  Status assert_value(const BoundSegment& b, const Instr& in) const;
  Status check_failed(const EntryState& s, const BoundSegment& b, const Instr& in) const;
  std::string culprit(std::string_view what, const EntryState& s, const BoundSegment& b, const Instr& in) const;
  Error at_step(Error e, const Step& step) const;

  std::shared_ptr<const Executable> executable_;
  const Program& program_;
  Device& device_;
  SessionOptions options_;
  struct StateMemory {
    DeviceBuffer buffer;
    std::vector<int64_t> dims;      // as the value is now
    std::vector<int64_t> capacity;  // as memory is laid out
  };
  std::vector<StateMemory> states_;
  std::vector<void*> state_data_;
  std::vector<int64_t> state_bytes_;
  std::vector<DeviceBuffer> blocks_;  // of the arena, by segment; shared by all entries
  struct Room {
    DeviceBuffer memory;
    int64_t used = 0;              // appended so far
    std::vector<int64_t> extents;  // of what was appended first
  };
  std::vector<Room> rooms_;  // shared by all entries
  std::vector<std::unique_ptr<EntryState>> entries_;
  CheckFailure failure_;
  std::atomic<bool> cancelled_{false};
  uint64_t clock_ = 0;
  int64_t deadline_ns_ = 0;
  Stats stats_;
  bool timing_ = false;
  std::map<const Step*, StepTime> step_times_;
};

}  // namespace nnc

#pragma once
// One launch on the emulator: the block that generated code sees, its threads, and where they meet. Internal to codegen/emu_device.

#include <string>
#include <vector>

#include "codegen/emu_device/emu_abi.h"
#include "codegen/emu_device/emulator.h"
#include "codegen/emu_device/fibre.h"

namespace nnc {

class EmuKernel {
 public:
  EmuKernelShape shape;
  const emu::nnc_kernel_info* info = nullptr;
  void (*entry)(emu::nnc_block*, uint32_t first, uint32_t step, uint32_t count) = nullptr;
  std::vector<std::string> names;  // of parameters, then of shared arrays
};

namespace emu {

inline constexpr uint32_t kWarpSize = 32;

// An asynchronous copy on its way. It lands when its thread waits for it, which is as late as it may.
struct PendingCopy {
  nnc_ref to, from;
  i64 to_index = 0, from_index = 0;
  u32 bytes = 0;
  u32 group = 0;
  bool off = false;
};

struct EmuThread {
  enum State : uint8_t { kReady, kWaiting, kDone } state = kReady;
  u32 kind = 0, line = 0;  // where it waits
  nnc_slot slot{};
  std::vector<PendingCopy> copies;
  u32 group = 0;
};

// A permutation of [0, n): i -> (a * i + b) mod n.
class Shuffled {
 public:
  Shuffled(u64 n, u64 seed);
  u64 operator[](u64 i) const { return static_cast<u64>((static_cast<unsigned __int128>(a_) * i + b_) % n_); }
  u64 first() const { return b_; }
  u64 step() const { return a_; }

 private:
  u64 n_, a_ = 1, b_ = 0;
};

// Kept between launches: stacks and shadow memory. Records in shadow memory carry block numbers that only grow, so it is not cleared in
// between.
struct EmuPool {
  FibrePool fibres;
  std::vector<EmuThread> threads;
  std::vector<nnc_word> global, shared;
  std::vector<u8> shared_memory;
  u64 next_block = 1;
  void forget();  // block numbers start again
};

class Launcher : public nnc_block {
 public:
  Launcher(EmuPool& pool, const EmuKernel& kernel, const EmuOptions& options, int64_t tasks);
  Status prepare(std::span<const EmuBuffer> buffers, std::span<const int64_t> dims, CheckFailure* first_failure);
  void run();
  std::vector<EmuReport> reports;

  // ---- called by generated code
  void fault(u32 kind, const nnc_ref* buffer, i64 index, u64 other);
  void meet(u32 kind, u32 line);
  void start_copy(const nnc_ref& to, i64 to_index, const nnc_ref& from, i64 from_index, u32 bytes, bool on);
  void land_copies(u32 pending);
  EmuThread& current() { return pool_.threads[thread]; }

 private:
  void shadow_globals(std::span<const EmuBuffer> buffers);
  void run_plain_block(u64 order);
  void run_fibre_block(u64 order);
  bool run_warp(u32 warp, u64 order);  // to the block's next barrier or the end; false: the launch is given up
  void resume(u32 t);
  void exchange(u32 warp, u32 kind);
  void land(const PendingCopy& c);
  // One report for each kind of fault and buffer: the first.
  void add_report(EmuFault fault, std::string text, u32 buffer = ~u32(0));
  std::string thread_text(u64 record) const;
  std::string buffer_text(const nnc_ref& r) const;
  static void thread_main(void* self);

  EmuPool& pool_;
  const EmuKernel& kernel_;
  const EmuOptions& options_;
  int64_t tasks_;
  Shuffled blocks_;
  std::vector<nnc_ref> refs_;
  std::vector<i64> dims_;
  u64 epoch_ = 0;                // block barriers passed
  std::vector<u64> warp_epoch_;  // warp barriers passed since
  bool given_up_ = false;
  std::vector<std::pair<EmuFault, u32>> reported_;
};

// What a matrix instruction computes for the 32 slots of a warp.
void warp_mma(nnc_slot* const* lanes, u32 types);

}  // namespace emu
}  // namespace nnc

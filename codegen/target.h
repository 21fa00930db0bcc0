#pragma once
// Targets: their names and the constant machine profile behind each name. Schedules follow this table and nothing else, so that equal input
// gives equal bytes on every machine.

#include <string>
#include <string_view>
#include <vector>

#include "ir/base/cpu_features.h"
#include "ir/support/result.h"

namespace nnc {

enum class TargetKind : uint8_t { kCpu, kVm, kCuda, kCudaEmu };

struct Target {
  std::string name;  // "cpu:x86-64-v4", "cpu:vm", "cuda:sm_90", "cuda-emu:sm_80"
  TargetKind kind = TargetKind::kCpu;
  // cpu
  int vector_bytes = 32;              // widest register: 32 (v3), 64 (v4); vm: its lane budget
  int vector_registers = 16;          // 16 (AVX2), 32 (AVX-512)
  std::vector<std::string> features;  // what the machine must have: "avx2", "fma", "avx512f", ...
  std::string march;                  // compiler flag value: "x86-64-v3"
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20;
  // cuda
  int sm = 0;  // 80, 90
  int max_threads = 1024;
  int64_t shared_bytes = 48 << 10;
  int multiprocessors = 108;
  bool is_cpu() const { return kind == TargetKind::kCpu || kind == TargetKind::kVm; }
  bool is_cuda() const { return kind == TargetKind::kCuda || kind == TargetKind::kCudaEmu; }
  // Lanes for elements of `bytes` each.
  int lanes(int bytes) const {
    return is_cuda() ? (bytes >= 16 ? 1 : 16 / bytes) : (kind == TargetKind::kVm ? 64 : vector_bytes / (bytes < 4 ? 4 : bytes));
  }
};

// "cpu" alone is x86-64-v3 and this machine's own level, hence a list; "cuda:sm_80,sm_90" inherits the kind. Unknown names: Code::kUsage
// with the nearest.
Result<std::vector<Target>> parse_targets(std::string_view spec);
Result<Target> parse_target(std::string_view name);

}  // namespace nnc

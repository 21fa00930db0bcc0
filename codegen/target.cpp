#include "codegen/target.h"

#include <algorithm>

#include "ir/support/text.h"

namespace nnc {

namespace {

const std::vector<std::string>& level_features(int level) {
  static const std::vector<std::string> v3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt"};
  static const std::vector<std::string> v4 = [] {
    std::vector<std::string> f = v3;
    for (const char* n : {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) f.push_back(n);
    return f;
  }();
  return level >= 4 ? v4 : v3;
}

Target cpu_target(int level) {
  Target t;
  t.name = cat("cpu:x86-64-v", level);
  t.kind = TargetKind::kCpu;
  t.vector_bytes = level >= 4 ? 64 : 32;
  t.vector_registers = level >= 4 ? 32 : 16;
  t.march = cat("x86-64-v", level);
  t.features = level_features(level);
  return t;
}

Target vm_target() {
  Target t;
  t.name = "cpu:vm";
  t.kind = TargetKind::kVm;
  t.vector_bytes = 256;
  t.vector_registers = 1024;
  return t;
}

Target cuda_target(TargetKind kind, int sm) {
  Target t;
  t.name = cat(kind == TargetKind::kCuda ? "cuda" : "cuda-emu", ":sm_", sm);
  t.kind = kind;
  t.sm = sm;
  t.vector_bytes = 16;
  t.vector_registers = 255;
  t.features = {cat("sm_", sm)};
  t.shared_bytes = 48 << 10;
  t.multiprocessors = sm >= 90 ? 132 : 108;
  return t;
}

bool machine_has(const std::vector<std::string>& wanted) {
  const std::vector<std::string> have = machine_features();
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const std::string& f) { return std::find(have.begin(), have.end(), f) != have.end(); });
}

Result<Target> by_parts(std::string_view kind, std::string_view variant, std::string_view whole) {
  static const std::vector<std::string> known = {"cpu",        "cpu:x86-64-v3", "cpu:x86-64-v4",  "cpu:vm",
                                                 "cuda:sm_80", "cuda:sm_90",    "cuda-emu:sm_80", "cuda-emu:sm_90"};
  Error unknown(Code::kUsage, cat("unknown target \"", whole, "\""));
  if (const std::string close = nearest(whole, known); !close.empty()) unknown.context.push_back(cat("did you mean \"", close, "\"?"));
  unknown.context.push_back(cat("targets: ", join(known, ", ")));
  if (kind == "cpu") {
    if (variant == "vm") return vm_target();
    if (variant == "x86-64-v3") return cpu_target(3);
    if (variant == "x86-64-v4") return cpu_target(4);
    return unknown;
  }
  if (kind == "cuda" || kind == "cuda-emu") {
    int64_t sm = 0;
    if (variant.substr(0, 3) != "sm_" || !parse_int(variant.substr(3), &sm)) return unknown;
    static constexpr int kKnown[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
    if (std::find(std::begin(kKnown), std::end(kKnown), sm) == std::end(kKnown)) return unknown;
    return cuda_target(kind == "cuda" ? TargetKind::kCuda : TargetKind::kCudaEmu, static_cast<int>(sm));
  }
  return unknown;
}

}  // namespace

Result<Target> parse_target(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) {
    NNC_ASSIGN(std::vector<Target> all, parse_targets(name));
    return all.back();
  }
  return by_parts(name.substr(0, colon), name.substr(colon + 1), name);
}

Result<std::vector<Target>> parse_targets(std::string_view spec) {
  std::vector<Target> out;
  std::string_view kind;
  auto push = [&](Target t) {
    if (std::none_of(out.begin(), out.end(), [&](const Target& o) { return o.name == t.name; })) out.push_back(std::move(t));
  };
  for (std::string_view item : split(spec, ',')) {
    item = trim(item);
    if (item == "cpu") {
      push(cpu_target(3));
      if (machine_has(level_features(4))) push(cpu_target(4));
      kind = "cpu";
      continue;
    }
    const size_t colon = item.find(':');
    std::string_view variant = item;
    if (colon != std::string_view::npos) {
      kind = item.substr(0, colon);
      variant = item.substr(colon + 1);
    }
    NNC_ASSIGN(Target t, by_parts(kind, variant, item));
    push(std::move(t));
  }
  return out;
}

}  // namespace nnc

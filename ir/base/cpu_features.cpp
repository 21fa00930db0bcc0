#include "ir/base/cpu_features.h"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace nnc {

#if defined(__x86_64__)
namespace {

uint64_t saved_by_system() {
  uint32_t eax = 0, edx = 0;
  __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return (uint64_t(edx) << 32) | eax;
}

}  // namespace

std::vector<std::string> machine_features() {
  std::vector<std::string> out;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return out;
  const bool osxsave = (c >> 27) & 1;
  const uint64_t saved = osxsave ? saved_by_system() : 0;
  const bool ymm = (saved & 6) == 6, zmm = ymm && (saved & 0xe0) == 0xe0;
  auto add = [&](bool has, const char* name) {
    if (has) out.push_back(name);
  };
  add((c >> 23) & 1, "popcnt");
  add((c >> 22) & 1, "movbe");
  add(ymm && ((c >> 28) & 1), "avx");
  add(ymm && ((c >> 12) & 1), "fma");
  add(ymm && ((c >> 29) & 1), "f16c");
  uint32_t a8 = 0, b8 = 0, c8 = 0, d8 = 0;
  if (__get_cpuid(0x80000001, &a8, &b8, &c8, &d8)) add((c8 >> 5) & 1, "lzcnt");
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    add((b >> 3) & 1, "bmi1");
    add((b >> 8) & 1, "bmi2");
    add(ymm && ((b >> 5) & 1), "avx2");
    add(zmm && ((b >> 16) & 1), "avx512f");
    add(zmm && ((b >> 17) & 1), "avx512dq");
    add(zmm && ((b >> 28) & 1), "avx512cd");
    add(zmm && ((b >> 30) & 1), "avx512bw");
    add(zmm && ((b >> 31) & 1), "avx512vl");
    add(zmm && ((c >> 11) & 1), "avx512vnni");
    const bool tiles = (saved & 0x60000) == 0x60000;
    add(tiles && ((d >> 24) & 1), "amx_tile");
    add(tiles && ((d >> 22) & 1), "amx_bf16");
    uint32_t a1 = 0, b1 = 0, c1 = 0, d1 = 0;
    if (__get_cpuid_count(7, 1, &a1, &b1, &c1, &d1)) add(zmm && ((a1 >> 5) & 1), "avx512bf16");
  }
  std::sort(out.begin(), out.end());
  return out;
}

#else
std::vector<std::string> machine_features() { return {}; }
#endif

std::vector<std::string> missing_features(std::span<const std::string> wanted, std::span<const std::string> have) {
  std::vector<std::string> missing;
  for (const std::string& f : wanted)
    if (!std::binary_search(have.begin(), have.end(), f)) missing.push_back(f);
  return missing;
}

}  // namespace nnc

#pragma once
// What this machine's processor can do and the system saves, by name: "avx2", "fma", "avx512f", ... What programs for the cpu ask for.

#include <span>
#include <string>
#include <vector>

namespace nnc {

// Sorted.
std::vector<std::string> machine_features();
// Those of `wanted` that `have` (sorted) lacks.
std::vector<std::string> missing_features(std::span<const std::string> wanted, std::span<const std::string> have);

}  // namespace nnc

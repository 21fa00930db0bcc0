#pragma once
// Artifacts of several targets, and what they hold.

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "runtime/artifact.h"

namespace nnc::test {

// Simplifies a copy of `m` and compiles it for each target. Fails the test on an error.
std::vector<CompiledProgram> compile_all(const Module& m, const std::vector<std::string>& targets);
// The same into a file; on the list of trusted ones, or taken off it.
void compile_artifact(const Module& m, const std::vector<std::string>& targets, const std::string& path, bool trusted);

// What an artifact's bytes are. `code`: native code. `tables`: plans, kernel IR (what `cpu:vm` runs and native code is made of again), the
// graph, hashes.
struct ArtifactSizes {
  int64_t file = 0, weights = 0, code = 0, tables = 0;
  int64_t padding() const { return file - weights - code - tables; }
};
ArtifactSizes sizes_of(const Artifact& a);
// Constants that one program takes unpacked and another as stored.
int64_t shared_packed(const Artifact& a);

}  // namespace nnc::test

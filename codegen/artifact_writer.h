#pragma once
// Writer of `.nnb` files: several programs over shared constants, each constant once. Equal input gives equal bytes.

#include <string>
#include <utility>
#include <vector>

#include "codegen/compile.h"
#include "ir/support/bytes.h"
#include "ir/support/hash.h"

namespace nnc {

struct ArtifactContents {
  std::span<const CompiledProgram> programs;
  std::string graph;                                            // module text after simplification, or empty
  std::vector<std::pair<std::string, std::string>> properties;  // kept sorted by key
};

// In memory, for small artifacts and tests.
Result<Bytes> artifact_bytes(const ArtifactContents& contents);
// To a file, atomically; the digest is what a list of trusted artifacts takes.
Result<Digest> write_artifact(const std::string& path, const ArtifactContents& contents);

}  // namespace nnc

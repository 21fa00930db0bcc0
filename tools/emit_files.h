#pragma once
// `nnc compile --emit`: what the compiler made on the way, as files beside the artifact.

#include <span>
#include <string>

#include "codegen/compile.h"

namespace nnc::tool {

struct EmitKinds {
  bool ir = false;      // graph.nnir, and for each target its plan and the text of its kernels
  bool source = false;  // .cpp or .cu of each unit
  bool code = false;    // .so, .cubin or .ptx of each unit
};
// "ir,source,code"; kUsage for other words.
Result<EmitKinds> parse_emit(const std::string& list);
// Into `folder`, which is made; gives the number of files.
Result<int64_t> emit_files(const std::string& folder, const EmitKinds& kinds, const std::string& graph,
                           std::span<const CompiledProgram> programs);

}  // namespace nnc::tool

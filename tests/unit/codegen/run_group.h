#pragma once
// Runs a group as the kernels that it is lowered to, in the kernel IR interpreter: what generated code would compute, without a compiler.

#include <vector>

#include "codegen/lower.h"
#include "ir/eval.h"

namespace nnc {

// The outputs of the group for these inputs. Input symbols are bound from the inputs' extents. Memory that a kernel leaves unwritten shows
// as 0xAB bytes. The first failed check of an index is Code::kIndexOutOfRange.
Result<std::vector<Tensor>> run_group(const Graph& group, const Target& target, const std::vector<Tensor>& inputs);

}  // namespace nnc

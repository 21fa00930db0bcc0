#pragma once
// Constants that a program wants in another form than the file stores: one packed copy serves the programs that read panels, the others
// unpack it while uploading.

#include <span>
#include <string_view>

#include "ir/base/plan.h"
#include "ir/base/tensor.h"

namespace nnc {

// PlanConstant::unpack: stored as panels of 16 columns [.., N/16, K, 16], wanted dense with N as the last axis. The other axes are those of
// the batch and the rows, in their order, however they are split.
inline constexpr std::string_view kUnpackPanels = "panel16";

// Whether a stored constant of these extents becomes what `c` says. For a constant that is wanted as stored, whether it is that.
// kInvalidIr.
Status check_stored(const PlanConstant& c, DType dtype, std::span<const int64_t> dims);
// What `c` says, out of what is stored; shares its bytes where nothing is to be done. check_stored first.
Result<Tensor> unpack_stored(const PlanConstant& c, const Tensor& stored);

}  // namespace nnc

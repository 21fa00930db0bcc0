#pragma once
// The one packed format of matrices (op pack): panels of 16 columns in which `panel_depth` neighbouring rows of a column lie side by side.

#include <cstdint>

#include "ir/base/dtype.h"

namespace nnc {

inline constexpr int64_t kPanelWidth = 16;
// Rows interleaved in a panel of this dtype: 1, 2 (bf16) or 4 (i8, u8); 0 if the dtype is never packed.
int64_t panel_depth(DType t);

}  // namespace nnc

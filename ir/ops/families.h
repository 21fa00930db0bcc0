#pragma once
// The rows of each op family, one function per family of ir/ops.def; op_table.cpp finds rows through them. Nothing else calls these.

#include <span>

#include "ir/op.h"

namespace nnc {

#define NNC_OP(enumerator, spelling, family) std::span<const OpDef> ops_##family();
#include "ir/ops.def"
#undef NNC_OP

}  // namespace nnc

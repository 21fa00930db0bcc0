#pragma once
// Extents as memory is laid out for them: every bounded symbol at its upper bound. The numeric twin of the planner's symbolic `capacity`; a
// test compares the two.

#include <span>

#include "ir/base/dim.h"

namespace nnc {

// `values`: as for SymbolTable::eval; those of bounded symbols are not read.
Result<int64_t> eval_capacity(const SymbolTable& symbols, const Dim& d, std::span<const int64_t> values);
// Whether `d` depends on a bounded symbol, also through derived ones.
bool is_bounded(const SymbolTable& symbols, const Dim& d);

}  // namespace nnc

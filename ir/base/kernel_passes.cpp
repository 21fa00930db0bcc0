#include "ir/base/kernel_exprs.h"

namespace nnc {

void legalise_math(Kernel&, League) {}
void simplify_kernel(Kernel&) {}
void hoist_and_share(Kernel&) {}
void compact_kernel(Kernel&) {}
void count_facts(Kernel&) {}

Result<std::vector<int64_t>> complete_dims(const Kernel& k, std::span<const int64_t> dims) {
  if (dims.size() != k.symbols.size()) return Error(Code::kInternal, "kernel launched with another number of dims than it has symbols");
  std::vector<int64_t> values(dims.begin(), dims.end());
  std::vector<uint8_t> known(values.size());
  for (size_t i = 0; i < known.size(); ++i) known[i] = k.symbols[SymbolId(i)].kind != SymKind::kDerived;
  NNC_TRY(k.symbols.derive(values, known));
  return values;
}

}  // namespace nnc

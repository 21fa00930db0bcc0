#include "codegen/attention.h"

namespace nnc {

Result<LoweredGroup> lower_attention_cuda(const Graph&, const Target& target, const AttentionFacts&, const LowerOptions&) {
  return Error(Code::kInternal, "attention must be expanded for " + target.name + " before kernels are made");
}

}  // namespace nnc

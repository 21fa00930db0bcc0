// Attention: until a fused form exists for a target, the expand pass spells it as product, softmax, product; TargetFacts::fused_attention
// says so.

#include "codegen/skeletons.h"

namespace nnc {

Result<LoweredGroup> lower_attention(const Graph&, const Target& target, const LowerOptions&) {
  return Error(Code::kInternal, "attention must be expanded for " + target.name + " before kernels are made");
}

}  // namespace nnc

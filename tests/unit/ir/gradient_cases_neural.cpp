#include "tests/unit/ir/gradient_check.h"

namespace nnc {

std::vector<GradientCase> neural_gradient_cases() { return {}; }

}  // namespace nnc

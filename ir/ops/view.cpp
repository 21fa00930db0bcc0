#include <vector>

#include "ir/ops/families.h"

namespace nnc {

std::span<const OpDef> ops_view() {
  static const std::vector<OpDef> rows = {};
  return rows;
}

}  // namespace nnc

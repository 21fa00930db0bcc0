#include "frontend/onnx/context.h"

namespace nnc::onnx {

std::span<const OpRow> rows_quant() { return {}; }

}  // namespace nnc::onnx

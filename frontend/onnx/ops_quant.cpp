// QuantizeLinear and DequantizeLinear.

#include "frontend/onnx/context.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

// The axis of a vector of scales, or of blocks; one scale for all needs none.
Result<int64_t> parameter_axis(NodeContext& c, int64_t block) {
  const int64_t axis = c.version() >= 13 ? c.i("axis", 1) : 1;
  if (block == 0 && c.rank(1) == 0) return int64_t{0};
  if (block == 0 && c.rank(1) == 1 && c.shape(1)[0].is_const(1)) return int64_t{0};
  return c.axis(axis, c.rank(0));
}

// Scale and zero point of one element each may differ in rank.
Result<std::vector<ValueId>> operands(NodeContext& c) {
  std::vector<ValueId> out = {c.in(0), c.in(1), c.in(2)};
  if (c.has(2) && c.rank(1) != c.rank(2)) {
    for (size_t k = 1; k <= 2; ++k) { NNC_ASSIGN(out[k], as_scalar(c, out[k])); }
  }
  return out;
}

Result<int64_t> block_size(NodeContext& c) {
  const int64_t block = c.version() >= 21 ? c.i("block_size", 0) : 0;
  if (block < 0) return c.error(cat("attribute \"block_size\" = ", block, " must not be negative"));
  return block;
}

Status quantize(NodeContext& c) {
  NNC_ASSIGN(const int64_t block, block_size(c));
  NNC_ASSIGN(const int64_t axis, parameter_axis(c, block));
  DType to = c.has(2) ? c.dtype(2) : DType::kU8;
  if (c.version() >= 21 && c.i("output_dtype", 0) != 0) {
    NNC_ASSIGN(const DType said, c.dtype_attr("output_dtype", to));
    if (c.has(2) && said != to)
      return c.error(cat("attribute \"output_dtype\" is ", dtype_name(said), ", the zero point ", dtype_name(to)));
    to = said;
  }
  AttrList attrs = {{"axis", axis}, {"block", block}, {"to", to}};
  if (c.version() >= 19) attrs.push_back({"saturate", c.i("saturate", 1)});
  if (c.version() >= 23 && c.i("precision", 0) != 0) {
    NNC_ASSIGN(const DType precision, c.dtype_attr("precision", DType::kF32));
    attrs.push_back({"precision", precision});
  }
  NNC_ASSIGN(std::vector<ValueId> in, operands(c));
  return c.set(OpKind::kQuantize, std::move(in), std::move(attrs));
}

Status dequantize(NodeContext& c) {
  NNC_ASSIGN(const int64_t block, block_size(c));
  NNC_ASSIGN(const int64_t axis, parameter_axis(c, block));
  AttrList attrs = {{"axis", axis}, {"block", block}};
  if (c.version() >= 23 && c.i("output_dtype", 0) != 0) {
    NNC_ASSIGN(const DType to, c.dtype_attr("output_dtype", c.dtype(1)));
    attrs.push_back({"to", to});
  }
  NNC_ASSIGN(std::vector<ValueId> in, operands(c));
  return c.set(OpKind::kDequantize, std::move(in), std::move(attrs));
}

}  // namespace

std::span<const OpRow> rows_quant() {
  static const OpRow rows[] = {
      {.name = "QuantizeLinear", .since = 10, .min_inputs = 2, .max_inputs = 3, .import = quantize},
      {.name = "DequantizeLinear", .since = 10, .min_inputs = 2, .max_inputs = 3, .import = dequantize},
  };
  return rows;
}

}  // namespace nnc::onnx

// quantize and dequantize spelled out in elementwise ops, which fuse with whatever stands beside them.

#include "ir/builder.h"
#include "ir/ops/quant.h"

namespace nnc {
namespace {

// The scale or zero point (`p`) in a shape that broadcasts against x: [n, 1, 1] per axis; repeated over its blocks where blocked.
Result<ValueId> aligned(Builder& b, const Node& node, const Shape& x, ValueId p) {
  SymbolTable& symbols = b.symbols();
  const Shape given = b.shape(p);
  const int64_t block = node.i("block"), attr = node.i("axis");
  if (block == 0 && (given.empty() || given[0].is_const(1))) return b.reshape(p, {});
  const auto axis = static_cast<size_t>(attr < 0 ? attr + static_cast<int64_t>(x.size()) : attr);
  if (block == 0) {
    Shape column(x.size() - axis, Dim(1));
    column[0] = given[0];
    return b.reshape(p, std::move(column));
  }
  Shape split = given, repeated, merged = given;
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis) + 1, Dim(1));
  repeated = split;
  repeated[axis + 1] = Dim(block);
  merged[axis] = symbols.mul(given[axis], Dim(block));
  NNC_ASSIGN(ValueId v, b.reshape(p, std::move(split)));
  NNC_ASSIGN(v, b.broadcast_to(v, std::move(repeated)));
  NNC_ASSIGN(v, b.reshape(v, merged));
  if (merged[axis] == x[axis]) return v;
  return b.slice(v, {static_cast<int64_t>(axis)}, {Dim(0)}, {x[axis]}, {1});
}

bool is_zero(Builder& b, ValueId v) {
  const auto value = scalar_value(b.graph(), v);
  return value && *value == 0;
}

}  // namespace

Status expand_quantize(Builder& b, const Graph& graph, NodeId id, std::vector<ValueId>* results) {
  const Node node = graph.node(id);
  const ValueId x = node.operands[0], zero = node.operands.size() > 2 ? node.operands[2] : ValueId();
  const Shape shape = graph.type(x).shape;
  const DType to = node.dtype("to"), given = node.dtype("precision"),
              precision = given == DType::kInvalid ? b.dtype(node.operands[1]) : given;
  NNC_ASSIGN(const ValueId scale, aligned(b, node, shape, node.operands[1]));
  NNC_ASSIGN(const ValueId left, b.cast(x, precision));
  NNC_ASSIGN(const ValueId right, b.cast(scale, precision));
  NNC_ASSIGN(ValueId q, b.binary(OpKind::kDiv, left, right));
  if (is_int(to)) {
    NNC_ASSIGN(q, b.unary(OpKind::kRound, q));
    // Wide enough for the sum to be exact wherever it does not saturate.
    NNC_ASSIGN(q, b.cast(q, precision == DType::kF64 || dtype_bits(to) > 16 ? DType::kF64 : DType::kF32));
  }
  if (zero.valid() && !is_zero(b, zero)) {
    if (is_int(to)) {
      NNC_ASSIGN(const ValueId nan, b.unary(OpKind::kIsNan, q));
      NNC_ASSIGN(const ValueId none, b.scalar(b.dtype(q), 0));
      NNC_ASSIGN(q, b.op(OpKind::kWhere, {nan, none, q}));
    }
    NNC_ASSIGN(ValueId offset, aligned(b, node, shape, zero));
    NNC_ASSIGN(offset, b.cast(offset, b.dtype(q)));
    NNC_ASSIGN(q, b.binary(OpKind::kAdd, q, offset));
  }
  NNC_ASSIGN(const ValueId y, b.op(OpKind::kCast, {q}, {{"to", to}, {"saturate", node.i("saturate")}}));
  results->push_back(y);
  return {};
}

Status expand_dequantize(Builder& b, const Graph& graph, NodeId id, std::vector<ValueId>* results) {
  const Node node = graph.node(id);
  const ValueId x = node.operands[0], zero = node.operands.size() > 2 ? node.operands[2] : ValueId();
  const Shape shape = graph.type(x).shape;
  const DType from = graph.type(x).dtype, to = graph.type(node.results[0]).dtype;
  NNC_ASSIGN(ValueId scale, aligned(b, node, shape, node.operands[1]));
  // In a type in which the difference is exact and, for the narrow floats, the product too.
  const bool narrow_scale = dtype_bits(b.dtype(scale)) < 32;
  const bool wide = b.dtype(scale) == DType::kF64 || to == DType::kF64 || dtype_bits(from) > 16 || (dtype_bits(from) > 8 && narrow_scale);
  const DType computed = wide ? DType::kF64 : DType::kF32;
  NNC_ASSIGN(ValueId v, b.cast(x, computed));
  NNC_ASSIGN(scale, b.cast(scale, computed));
  if (zero.valid() && !is_zero(b, zero)) {
    NNC_ASSIGN(ValueId offset, aligned(b, node, shape, zero));
    NNC_ASSIGN(offset, b.cast(offset, computed));
    NNC_ASSIGN(v, b.binary(OpKind::kSub, v, offset));
  }
  NNC_ASSIGN(v, b.binary(OpKind::kMul, v, scale));
  NNC_ASSIGN(v, b.cast(v, to));
  results->push_back(v);
  return {};
}

}  // namespace nnc

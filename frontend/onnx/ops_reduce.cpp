// Reductions, softmax and the norms.

#include "frontend/onnx/context.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/support/mutant.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

// Axes are an attribute until opset 17 (ReduceSum: 12), then an input; none means all, or nothing with noop_with_empty_axes.
Status reduce_axes(NodeContext& c, std::vector<int64_t> axes) {
  const bool keepdims = c.flag("keepdims", true);
  if (axes.empty()) {
    const bool nothing = c.flag("noop_with_empty_axes", false);
    if (!nothing) axes = all_axes(c.rank(0));
  } else {
    c.ignore_attr("noop_with_empty_axes");
    NNC_ASSIGN(axes, c.sorted_axes(std::move(axes), c.rank(0)));
  }
  return c.set(c.b().reduce(c.row().text, c.in(0), std::move(axes), keepdims));
}

Status reduce_attribute(NodeContext& c) { return reduce_axes(c, c.ints("axes")); }

Status reduce_input(NodeContext& c) {
  std::vector<int64_t> axes;
  if (c.has(1)) { NNC_ASSIGN(axes, c.known_ints(1, "the axes")); }
  return reduce_axes(c, std::move(axes));
}

Status arg_reduce(NodeContext& c) {
  NNC_ASSIGN(const int64_t axis, c.axis(c.i("axis", 0), c.rank(0)));
  return c.set(OpKind::kArgReduce, {c.in(0)},
               {{"kind", std::string(c.row().text)},
                {"axis", axis},
                {"keepdims", c.i("keepdims", 1)},
                {"select_last", c.version() >= 12 ? c.i("select_last_index", 0) : 0}});
}

Status cumsum(NodeContext& c) {
  NNC_ASSIGN(const std::vector<int64_t> given, c.known_ints(1, "the axis"));
  if (given.size() != 1) return c.error("the axis must be one number");
  NNC_ASSIGN(const int64_t axis, c.axis(given[0], c.rank(0)));
  return c.set(OpKind::kCumSum, {c.in(0)}, {{"axis", axis}, {"exclusive", c.i("exclusive", 0)}, {"reverse", c.i("reverse", 0)}});
}

AttrList softmax_attrs(const NodeContext& c, int64_t axis) { return {{"axis", axis}, {"log", int64_t{c.row().text == "log"}}}; }

Status softmax(NodeContext& c) {
  NNC_ASSIGN(const int64_t axis, c.axis(c.i("axis", -1), c.rank(0)));
  return c.set(OpKind::kSoftmax, {c.in(0)}, softmax_attrs(c, axis));
}

// Before opset 13 the input is seen as a matrix whose rows end at `axis`.
Status softmax_flattened(NodeContext& c) {
  NNC_ASSIGN(const int64_t axis, c.axis(c.i("axis", 1), c.rank(0)));
  if (axis == c.rank(0) - 1 || mutant("old_softmax_read_as_new")) return c.set(OpKind::kSoftmax, {c.in(0)}, softmax_attrs(c, axis));
  const Shape s = c.shape(0);
  const Shape left(s.begin(), s.begin() + axis), right(s.begin() + axis, s.end());
  NNC_ASSIGN(ValueId v, c.b().reshape(c.in(0), {c.symbols().mul(left), c.symbols().mul(right)}));
  NNC_ASSIGN(v, c.b().op(OpKind::kSoftmax, {v}, softmax_attrs(c, 1)));
  return c.set(c.b().reshape(v, s));
}

// The computation is in f32 (f64 for f64) whatever stash_type says.
Status stash_type(NodeContext& c) {
  NNC_ASSIGN(const DType stash, c.dtype_attr("stash_type", DType::kF32));
  if (!is_float(stash)) return c.error("attribute \"stash_type\" must be a float type");
  return {};
}

Status layer_norm(NodeContext& c) {
  NNC_ASSIGN(const int64_t axis, c.axis(c.i("axis", -1), c.rank(0)));
  NNC_TRY(stash_type(c));
  const bool stats = c.wants(1) || c.wants(2);
  AttrList attrs = {{"axis", axis}, {"epsilon", c.f("epsilon", 1e-5)}, {"stats", int64_t{stats}}};
  NNC_ASSIGN(const std::vector<ValueId> r, c.b().ops(OpKind::kLayerNorm, {c.in(0), c.in(1), c.in(2)}, std::move(attrs)));
  c.out(0, r[0]);
  for (int k = 1; k <= 2 && stats; ++k) {
    if (!c.wants(k)) continue;
    NNC_ASSIGN(const DType stash, c.dtype_attr("stash_type", DType::kF32));
    NNC_ASSIGN(const ValueId v, c.b().cast(r[static_cast<size_t>(k)], stash));
    c.out(k, v);
  }
  return {};
}

Status rms_norm(NodeContext& c) {
  NNC_ASSIGN(const int64_t axis, c.axis(c.i("axis", -1), c.rank(0)));
  NNC_TRY(stash_type(c));
  ValueId scale = c.in(1);
  if (c.dtype(1) != c.dtype(0)) { NNC_ASSIGN(scale, c.b().cast(scale, c.dtype(0))); }
  return c.set(OpKind::kRmsNorm, {c.in(0), scale}, {{"axis", axis}, {"epsilon", c.f("epsilon", 1e-5)}});
}

// With the statistics of the batch: mean and (population) variance over all axes but the channels', and the moving averages.
Status batch_norm_training(NodeContext& c, const std::vector<ValueId>& given, double momentum) {
  Builder& b = c.b();
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < c.rank(0); ++k) {
    if (k != 1) axes.push_back(k);
  }
  NNC_ASSIGN(const ValueId mean, b.reduce("mean", c.in(0), axes, true));
  NNC_ASSIGN(const ValueId centred, b.binary(OpKind::kSub, c.in(0), mean));
  NNC_ASSIGN(ValueId squares, b.binary(OpKind::kMul, centred, centred));
  NNC_ASSIGN(const ValueId variance, b.reduce("mean", squares, axes, false));
  NNC_ASSIGN(const ValueId flat_mean, b.reshape(mean, b.shape(variance)));
  const ValueId current[] = {flat_mean, variance};
  NNC_TRY(c.set(OpKind::kBatchNorm, {c.in(0), given[0], given[1], flat_mean, variance},
                {{"axis", int64_t{1}}, {"epsilon", c.f("epsilon", 1e-5)}}));
  for (int k = 0; k < 2; ++k) {
    if (!c.wants(k + 1)) continue;
    const ValueId old = given[static_cast<size_t>(k) + 2];
    const DType t = b.dtype(old);
    NNC_ASSIGN(const ValueId keep, b.scalar(t, momentum));
    NNC_ASSIGN(const ValueId take, b.scalar(t, 1 - momentum));
    NNC_ASSIGN(const ValueId kept, b.binary(OpKind::kMul, old, keep));
    NNC_ASSIGN(const ValueId taken, b.binary(OpKind::kMul, current[k], take));
    NNC_ASSIGN(ValueId moved, b.binary(OpKind::kAdd, kept, taken));
    NNC_ASSIGN(moved, b.cast(moved, c.dtype(k + 3)));
    c.out(k + 1, moved);
  }
  return {};
}

Status batch_norm(NodeContext& c) {
  const double momentum = c.f("momentum", 0.9), epsilon = c.f("epsilon", 1e-5);
  if (c.version() < 9 && c.i("spatial", 1) != 1) return c.unsupported("BatchNormalization with spatial = 0 (one statistic per element)");
  const bool training = c.version() >= 14 && c.flag("training_mode", false);
  if (c.version() < 14 && c.outputs() > 1) return c.unsupported("BatchNormalization in training mode before opset 14");
  if (!training && c.outputs() > 1) return c.error("only training_mode = 1 gives running statistics");
  std::vector<ValueId> given;
  for (int k = 1; k <= 4; ++k) {  // each pair may have a type of its own since opset 15
    NNC_ASSIGN(const ValueId v, c.b().cast(c.in(k), c.dtype(0)));
    given.push_back(v);
  }
  if (training) return batch_norm_training(c, given, momentum);
  return c.set(OpKind::kBatchNorm, {c.in(0), given[0], given[1], given[2], given[3]}, {{"axis", int64_t{1}}, {"epsilon", epsilon}});
}

Status softmax_cross_entropy(NodeContext& c) {
  NNC_ASSIGN(const std::string reduction, c.choice("reduction", "mean", "none|sum|mean"));
  AttrList attrs = {{"reduction", reduction}};
  if (c.has_attr("ignore_index")) attrs.push_back({"ignore_index", c.i("ignore_index", 0)});
  NNC_ASSIGN(const std::vector<ValueId> r, c.b().ops(OpKind::kSoftmaxCrossEntropy, {c.in(0), c.in(1), c.in(2)}, std::move(attrs)));
  c.out(0, r[0]);
  c.out(1, r[1]);
  return {};
}

}  // namespace

std::span<const OpRow> rows_reduce() {
  static const OpRow rows[] = {
      {.name = "ReduceSum", .since = 1, .until = 12, .import = reduce_attribute, .text = "sum"},
      {.name = "ReduceSum", .since = 13, .max_inputs = 2, .import = reduce_input, .text = "sum"},
      {.name = "ReduceMean", .since = 1, .until = 17, .import = reduce_attribute, .text = "mean"},
      {.name = "ReduceMean", .since = 18, .max_inputs = 2, .import = reduce_input, .text = "mean"},
      {.name = "ReduceMax", .since = 1, .until = 17, .import = reduce_attribute, .text = "max"},
      {.name = "ReduceMax", .since = 18, .max_inputs = 2, .import = reduce_input, .text = "max"},
      {.name = "ReduceMin", .since = 1, .until = 17, .import = reduce_attribute, .text = "min"},
      {.name = "ReduceMin", .since = 18, .max_inputs = 2, .import = reduce_input, .text = "min"},
      {.name = "ReduceProd", .since = 1, .until = 17, .import = reduce_attribute, .text = "prod"},
      {.name = "ReduceProd", .since = 18, .max_inputs = 2, .import = reduce_input, .text = "prod"},
      {.name = "ReduceL1", .since = 1, .until = 17, .import = reduce_attribute, .text = "l1"},
      {.name = "ReduceL1", .since = 18, .max_inputs = 2, .import = reduce_input, .text = "l1"},
      {.name = "ReduceL2", .since = 1, .until = 17, .import = reduce_attribute, .text = "l2"},
      {.name = "ReduceL2", .since = 18, .max_inputs = 2, .import = reduce_input, .text = "l2"},
      {.name = "ReduceSumSquare", .since = 1, .until = 17, .import = reduce_attribute, .text = "sum_square"},
      {.name = "ReduceSumSquare", .since = 18, .max_inputs = 2, .import = reduce_input, .text = "sum_square"},
      {.name = "ReduceLogSum", .since = 1, .until = 17, .import = reduce_attribute, .text = "log_sum"},
      {.name = "ReduceLogSum", .since = 18, .max_inputs = 2, .import = reduce_input, .text = "log_sum"},
      {.name = "ReduceLogSumExp", .since = 1, .until = 17, .import = reduce_attribute, .text = "log_sum_exp"},
      {.name = "ReduceLogSumExp", .since = 18, .max_inputs = 2, .import = reduce_input, .text = "log_sum_exp"},
      {.name = "ArgMax", .since = 1, .import = arg_reduce, .text = "max"},
      {.name = "ArgMin", .since = 1, .import = arg_reduce, .text = "min"},
      {.name = "CumSum", .since = 11, .min_inputs = 2, .max_inputs = 2, .import = cumsum},
      {.name = "Softmax", .since = 1, .until = 12, .import = softmax_flattened},
      {.name = "Softmax", .since = 13, .import = softmax},
      {.name = "LogSoftmax", .since = 1, .until = 12, .import = softmax_flattened, .text = "log"},
      {.name = "LogSoftmax", .since = 13, .import = softmax, .text = "log"},
      {.name = "LayerNormalization", .since = 17, .min_inputs = 2, .max_inputs = 3, .max_outputs = 3, .import = layer_norm},
      {.name = "RMSNormalization", .since = 23, .min_inputs = 2, .max_inputs = 2, .import = rms_norm},
      {.name = "BatchNormalization", .since = 7, .min_inputs = 5, .max_inputs = 5, .max_outputs = 5, .import = batch_norm},
      {.name = "SoftmaxCrossEntropyLoss", .since = 12, .min_inputs = 2, .max_inputs = 3, .max_outputs = 2, .import = softmax_cross_entropy},
  };
  return rows;
}

}  // namespace nnc::onnx

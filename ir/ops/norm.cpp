#include "ir/ops/norm.h"

#include "ir/ops/attr_defs.h"
#include "ir/ops/families.h"
#include "ir/ops/shape_rules.h"

namespace nnc {

namespace {

Status infer_softmax(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  NNC_TRY(check_min_rank(c, 0, 1));
  int64_t axis = c.node().i("axis");
  NNC_TRY(check_axes(c, {&axis, 1}, c.rank(0)));
  c.result(c.dtype(0), c.shape(0));
  return {};
}

// Operand i, if present, must have x's dtype and broadcast to x.
Status check_affine_operand(InferContext& c, int i) {
  if (!c.has(i)) return {};
  NNC_TRY(check_same_dtype(c, 0, i));
  return check_broadcasts_to(c, i, c.shape(0));
}

Status infer_layer_norm(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  NNC_TRY(check_min_rank(c, 0, 1));
  int64_t axis = c.node().i("axis");
  NNC_TRY(check_axes(c, {&axis, 1}, c.rank(0)));
  NNC_TRY(check_affine_operand(c, 1));
  NNC_TRY(check_affine_operand(c, 2));
  c.result(c.dtype(0), c.shape(0));
  if (c.node().i("stats") == 0) return {};
  Shape stats = c.shape(0);
  for (size_t k = static_cast<size_t>(axis); k < stats.size(); ++k) stats[k] = 1;
  DType dtype = c.dtype(0) == DType::kF64 ? DType::kF64 : DType::kF32;
  c.result(dtype, stats);
  c.result(dtype, std::move(stats));
  return {};
}

Status infer_rms_norm(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  NNC_TRY(check_min_rank(c, 0, 1));
  int64_t axis = c.node().i("axis");
  NNC_TRY(check_axes(c, {&axis, 1}, c.rank(0)));
  NNC_TRY(check_affine_operand(c, 1));
  c.result(c.dtype(0), c.shape(0));
  return {};
}

Status infer_batch_norm(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  int64_t axis = c.node().i("axis");
  NNC_TRY(check_axes(c, {&axis, 1}, c.rank(0)));
  const Dim channels = c.shape(0)[static_cast<size_t>(axis)];
  for (int i = 1; i <= 4; ++i) {
    NNC_TRY(check_dtype(c, i, kClassFloat));
    NNC_TRY(check_rank(c, i, 1));
    NNC_TRY(check_equal(c, channels, c.shape(i)[0], "extent of operand " + std::to_string(i) + " against the channels of x"));
  }
  c.result(c.dtype(0), c.shape(0));
  return {};
}

Status infer_softmax_cross_entropy(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  NNC_TRY(check_min_rank(c, 0, 2));
  if (c.dtype(1) != DType::kI32 && c.dtype(1) != DType::kI64)
    return c.error("labels must be i32 or i64, got " + std::string(dtype_name(c.dtype(1))));
  NNC_TRY(check_rank(c, 1, c.rank(0) - 1));
  Shape samples = c.shape(0);
  samples.erase(samples.begin() + 1);
  for (size_t k = 0; k < samples.size(); ++k)
    NNC_TRY(check_equal(c, samples[k], c.shape(1)[k], "extent of the labels on axis " + std::to_string(k)));
  if (c.has(2)) {
    NNC_TRY(check_same_dtype(c, 0, 2));
    NNC_TRY(check_rank(c, 2, 1));
    NNC_TRY(check_equal(c, c.shape(0)[1], c.shape(2)[0], "number of class weights"));
  }
  c.result(c.dtype(0), c.node().s("reduction") == "none" ? samples : Shape{});
  c.result(c.dtype(0), c.shape(0));
  return {};
}

}  // namespace

std::span<const OpDef> ops_norm() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kSoftmax,
       .name = "softmax",
       .doc = "exp(x - m) / sum exp(x - m) along `axis`, m the largest element; with `log` its logarithm, x - m - log(sum exp(x - m)). "
              "Computed in f32 (f64 "
              "for f64) and rounded once. A NaN, +inf, or nothing but -inf along the axis makes all of it NaN.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = {attr_int("axis"), attr_flag("log")},
       .lowering = Lowering::kExpand,
       .infer = infer_softmax,
       .eval = eval_softmax,
       .expand = expand_softmax,
       .gradient = gradient_softmax,
       .tolerance = {2e-6, 1e-7}},
      {.kind = OpKind::kLayerNorm,
       .name = "layer_norm",
       .doc = "Operands x, scale?, bias?. y = (x - mean) * inv_std * scale + bias, where mean and variance (of all elements, not n - 1) "
              "are over the axes from "
              "`axis` to the last and inv_std = 1 / sqrt(variance + epsilon). Computed in f32 (f64 for f64) and rounded once. scale and "
              "bias broadcast to x. "
              "With `stats` the results are y, mean, inv_std, the latter two in f32 (f64 for f64) with extent 1 on the normalised axes.",
       .min_operands = 1,
       .max_operands = 3,
       .results = -1,
       .attrs = {attr_int("axis"), attr_float("epsilon", 1e-5), attr_flag("stats")},
       .lowering = Lowering::kExpand,
       .infer = infer_layer_norm,
       .eval = eval_layer_norm,
       .expand = expand_layer_norm,
       .gradient = gradient_layer_norm,
       .tolerance = {1e-5, 1e-6}},
      {.kind = OpKind::kRmsNorm,
       .name = "rms_norm",
       .doc = "Operands x, scale?. y = x / sqrt(mean(x^2) + epsilon) * scale, the mean over the axes from `axis` to the last. Computed in "
              "f32 (f64 for f64) "
              "and rounded once. scale broadcasts to x.",
       .min_operands = 1,
       .max_operands = 2,
       .attrs = {attr_int("axis"), attr_float("epsilon", 1e-5)},
       .lowering = Lowering::kExpand,
       .infer = infer_rms_norm,
       .eval = eval_rms_norm,
       .expand = expand_rms_norm,
       .gradient = gradient_rms_norm,
       .tolerance = {1e-5, 1e-6}},
      {.kind = OpKind::kBatchNorm,
       .name = "batch_norm",
       .doc = "Operands x, scale, bias, mean, variance, the latter four vectors along `axis`. y = (x - mean) * scale / sqrt(variance + "
              "epsilon) + bias: the form "
              "with given statistics. Batch statistics are spelled with reduce.",
       .min_operands = 5,
       .max_operands = 5,
       .attrs = {attr_int("axis", 1), attr_float("epsilon", 1e-5)},
       .lowering = Lowering::kExpand,
       .infer = infer_batch_norm,
       .eval = eval_batch_norm,
       .expand = expand_batch_norm,
       .gradient = gradient_batch_norm,
       .tolerance = {1e-5, 1e-6}},
      {.kind = OpKind::kSoftmaxCrossEntropy,
       .name = "softmax_cross_entropy",
       .doc = "Operands logits [N, C, ...], labels i32 or i64 [N, ...], weights? [C]; results loss, log_prob. log_prob is the log-softmax "
              "along axis 1. The loss of a "
              "sample is -weights[label] * log_prob[label], 0 where label = ignore_index (if that is given). `none` keeps one loss per "
              "sample, sum adds them, "
              "mean divides the sum by the sum of the weights of the samples not ignored (NaN if that is 0). A label outside [0, C) that "
              "is not ignore_index is an "
              "error that names sample and value.",
       .min_operands = 2,
       .max_operands = 3,
       .results = 2,
       .attrs = {attr_choice("reduction", "none|sum|mean", "mean"), attr_int("ignore_index")},
       .lowering = Lowering::kExpand,
       .infer = infer_softmax_cross_entropy,
       .eval = eval_softmax_cross_entropy,
       .expand = expand_softmax_cross_entropy,
       .gradient = gradient_softmax_cross_entropy,
       .tolerance = {1e-5, 1e-6}},
  };
  return rows;
}

}  // namespace nnc

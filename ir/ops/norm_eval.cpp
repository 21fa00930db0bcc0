#include <cmath>
#include <limits>

#include "ir/eval.h"
#include "ir/ops/eval_index.h"
#include "ir/ops/norm.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

// exp(x - m) / sum, or its logarithm, of `extent` elements that lie `step` apart.
void softmax_line(const double* x, double* y, int64_t extent, int64_t step, bool log) {
  double m = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t k = 0; k < extent; ++k)
    if (std::isnan(x[k * step]) || x[k * step] > m) m = x[k * step];  // a NaN stays: nothing compares above it
  for (int64_t k = 0; k < extent; ++k) sum += std::exp(x[k * step] - m);
  for (int64_t k = 0; k < extent; ++k) y[k * step] = log ? x[k * step] - m - std::log(sum) : std::exp(x[k * step] - m) / sum;
}

void softmax(const EvalTensor& x, int64_t axis, bool log, EvalTensor* y) {
  const AxisView v = axis_view(x.dims, axis);
  for (int64_t o = 0; o < v.outer; ++o)
    for (int64_t i = 0; i < v.inner; ++i)
      softmax_line(x.f.data() + o * v.extent * v.inner + i, y->f.data() + o * v.extent * v.inner + i, v.extent, v.inner, log);
}

// Offsets of operand k, broadcast to x, for every element of x; empty if the operand is absent.
Result<std::vector<int64_t>> affine_offsets(const EvalContext& c, int k) {
  if (!c.has(k)) return std::vector<int64_t>();
  return broadcast_offsets(c.in(k).dims, c.in(0).dims);
}

// Rows of the axes from `axis` on: number and length.
std::pair<int64_t, int64_t> rows_from(const EvalTensor& x, int64_t axis) {
  int64_t rows = 1, length = 1;
  for (int64_t k = 0; k < x.rank(); ++k) (k < axis ? rows : length) *= x.dims[static_cast<size_t>(k)];
  return {rows, length};
}

}  // namespace

Status eval_softmax(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  softmax(c.in(0), c.node.i("axis"), c.node.i("log") != 0, &y);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_layer_norm(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const bool stats = c.node.results.size() > 1;
  const auto [rows, length] = rows_from(x, c.node.i("axis"));
  std::vector<double> means, inv_stds;
  NNC_ASSIGN(const auto scale, affine_offsets(c, 1));
  NNC_ASSIGN(const auto bias, affine_offsets(c, 2));
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < length; ++k) sum += x.f[static_cast<size_t>(r * length + k)];
    const double mean = sum / static_cast<double>(length);
    for (int64_t k = 0; k < length; ++k) {
      const double d = x.f[static_cast<size_t>(r * length + k)] - mean;
      squares += d * d;
    }
    const double inv_std = 1 / std::sqrt(squares / static_cast<double>(length) + c.node.f("epsilon"));
    for (int64_t k = 0; k < length; ++k) {
      const auto at = static_cast<size_t>(r * length + k);
      double v = (x.f[at] - mean) * inv_std;
      if (!scale.empty()) v *= c.in(1).f[static_cast<size_t>(scale[at])];
      if (!bias.empty()) v += c.in(2).f[static_cast<size_t>(bias[at])];
      y.f[at] = v;
    }
    means.push_back(mean);
    inv_stds.push_back(inv_std);
  }
  c.results.push_back(std::move(y));
  if (!stats) return {};
  for (auto* values : {&means, &inv_stds}) {
    NNC_ASSIGN(EvalTensor s, c.make_result(static_cast<int>(c.results.size())));
    s.f = std::move(*values);
    c.results.push_back(std::move(s));
  }
  return {};
}

Status eval_rms_norm(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const auto [rows, length] = rows_from(x, c.node.i("axis"));
  NNC_ASSIGN(const auto scale, affine_offsets(c, 1));
  for (int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (int64_t k = 0; k < length; ++k) squares += x.f[static_cast<size_t>(r * length + k)] * x.f[static_cast<size_t>(r * length + k)];
    const double inv = 1 / std::sqrt(squares / static_cast<double>(length) + c.node.f("epsilon"));
    for (int64_t k = 0; k < length; ++k) {
      const auto at = static_cast<size_t>(r * length + k);
      y.f[at] = x.f[at] * inv * (scale.empty() ? 1 : c.in(1).f[static_cast<size_t>(scale[at])]);
    }
  }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_batch_norm(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const AxisView v = axis_view(x.dims, c.node.i("axis"));
  for (int i = 1; i <= 4; ++i)
    if (c.in(i).count() != v.extent)
      return Error(Code::kBadInput, cat("operand ", i, " has ", c.in(i).count(), " elements for ", v.extent, " channels"));
  size_t at = 0;
  for (int64_t o = 0; o < v.outer; ++o)
    for (size_t k = 0; k < static_cast<size_t>(v.extent); ++k)
      for (int64_t i = 0; i < v.inner; ++i, ++at)
        y.f[at] = (x.f[at] - c.in(3).f[k]) * c.in(1).f[k] / std::sqrt(c.in(4).f[k] + c.node.f("epsilon")) + c.in(2).f[k];
  c.results.push_back(std::move(y));
  return {};
}

Status eval_softmax_cross_entropy(EvalContext& c) {
  const EvalTensor &logits = c.in(0), &labels = c.in(1);
  NNC_ASSIGN(EvalTensor loss, c.make_result(0));
  NNC_ASSIGN(EvalTensor log_prob, c.make_result(1));
  softmax(logits, 1, true, &log_prob);
  const AxisView v = axis_view(logits.dims, 1);  // [N, C, rest]
  if (labels.count() != v.outer * v.inner)
    return Error(Code::kBadInput, cat(labels.count(), " labels for ", v.outer * v.inner, " samples"));
  const bool each = c.node.s("reduction") == "none", ignores = c.node.has_attr("ignore_index");
  double sum = 0, weight_sum = 0;
  for (int64_t s = 0; s < labels.count(); ++s) {
    const int64_t label = labels.i[static_cast<size_t>(s)];
    double weight = 0, sample = 0;
    if (!ignores || label != c.node.i("ignore_index")) {
      if (label < 0 || label >= v.extent)
        return Error(Code::kIndexOutOfRange,
                     cat("the label of sample ", s, " is ", label, "; there are ", v.extent, " classes (0 to ", v.extent - 1, ")"));
      weight = c.has(2) ? c.in(2).f[static_cast<size_t>(label)] : 1;
      sample = -weight * log_prob.f[static_cast<size_t>((s / v.inner * v.extent + label) * v.inner + s % v.inner)];
    }
    if (each) loss.f[static_cast<size_t>(s)] = sample;
    sum += sample;
    weight_sum += weight;
  }
  if (!each) loss.f[0] = c.node.s("reduction") == "mean" ? sum / weight_sum : sum;
  c.results.push_back(std::move(loss));
  c.results.push_back(std::move(log_prob));
  return {};
}

}  // namespace nnc

#include <cmath>
#include <limits>

#include "ir/ops/attention.h"
#include "ir/ops/eval_index.h"
#include "ir/ops/eval_matrix.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Which score is masked, and by how much.
struct Mask {
  const EvalTensor* tensor = nullptr;
  std::vector<int64_t> offsets;  // per score [b][h][s][t]
  const EvalTensor* lengths = nullptr;
  bool causal = false;
  int64_t causal_offset = 0;

  double apply(double score, size_t at, int64_t b, int64_t s, int64_t t) const {
    if (causal && t > s + causal_offset) return -kInf;
    if (lengths != nullptr && t >= lengths->i[static_cast<size_t>(b)]) return -kInf;
    if (tensor == nullptr) return score;
    const auto k = static_cast<size_t>(offsets[at]);
    if (tensor->dtype == DType::kBool) return tensor->i[k] != 0 ? score : -kInf;
    return score + tensor->f[k];
  }
};

Result<Mask> find_mask(EvalContext& c, const std::vector<int64_t>& scores) {
  Mask m;
  if (c.has(3)) {
    m.tensor = &c.in(3);
    NNC_ASSIGN(m.offsets, broadcast_offsets(c.in(3).dims, scores));
  }
  if (c.has(4)) {
    m.lengths = &c.in(4);
    if (c.in(4).count() != scores[0]) return Error(Code::kBadInput, cat(c.in(4).count(), " lengths for a batch of ", scores[0]));
  }
  m.causal = c.node.i("causal") != 0;
  if (!c.node.dims("causal_offset").empty()) { NNC_ASSIGN(m.causal_offset, c.dim(c.node.dims("causal_offset")[0])); }
  return m;
}

void softmax_row(double* row, int64_t n) {
  double m = -kInf, sum = 0;
  for (int64_t k = 0; k < n; ++k)
    if (std::isnan(row[k]) || row[k] > m) m = row[k];
  for (int64_t k = 0; k < n; ++k) sum += row[k] = std::exp(row[k] - m);
  for (int64_t k = 0; k < n; ++k) row[k] /= sum;
}

}  // namespace

Status eval_attention(EvalContext& c) {
  const EvalTensor &q = c.in(0), &k = c.in(1), &v = c.in(2);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const int64_t batch = q.dims[0], heads = q.dims[1], s_len = q.dims[2], width = q.dims[3], kv_heads = k.dims[1], t_len = k.dims[2],
                out = v.dims[3];
  if (k.dims[0] != batch || v.dims[0] != batch || v.dims[1] != kv_heads || v.dims[2] != t_len || k.dims[3] != width || kv_heads < 1 ||
      heads % kv_heads != 0)
    return Error(Code::kBadInput, "the extents of q, k and v do not fit");
  NNC_ASSIGN(const Mask mask, find_mask(c, {batch, heads, s_len, t_len}));
  const double scale = c.node.has_attr("scale") ? c.node.f("scale") : 1 / std::sqrt(static_cast<double>(width)),
               softcap = c.node.f("softcap");
  std::vector<double> scores(static_cast<size_t>(s_len * t_len));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t g = b * kv_heads + h / (heads / kv_heads), head = b * heads + h;
      std::fill(scores.begin(), scores.end(), 0);
      multiply_add<double>(s_len, t_len, width, {q.f.data() + head * s_len * width, width, 1}, {k.f.data() + g * t_len * width, 1, width},
                           scores.data(), t_len);
      for (int64_t s = 0; s < s_len; ++s) {
        for (int64_t t = 0; t < t_len; ++t) {
          double& score = scores[static_cast<size_t>(s * t_len + t)];
          score *= scale;
          if (softcap > 0) score = softcap * std::tanh(score / softcap);
          score = mask.apply(score, static_cast<size_t>((head * s_len + s) * t_len + t), b, s, t);
        }
        softmax_row(scores.data() + s * t_len, t_len);
      }
      multiply_add<double>(s_len, out, t_len, {scores.data(), t_len, 1}, {v.f.data() + g * t_len * out, out, 1},
                           y.f.data() + head * s_len * out, out);
    }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_rotary(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  EvalTensor y = x;
  const int64_t width = x.dims.back(), rotated = c.node.i("rotary_dim") == 0 ? width : c.node.i("rotary_dim"), half = rotated / 2;
  if (rotated % 2 != 0 || rotated > width) return Error(Code::kBadInput, cat("a width of ", width, " can't be rotated in pairs of ", half));
  const bool interleaved = c.node.i("interleaved") != 0;
  std::vector<int64_t> tables[2];
  bool per_element[2];
  for (int i = 0; i < 2; ++i) {
    std::vector<int64_t> dims = x.dims;
    per_element[i] = c.in(i + 1).dims.back() == rotated;
    dims.back() = per_element[i] ? rotated : half;
    NNC_ASSIGN(tables[i], broadcast_offsets(c.in(i + 1).dims, dims));
  }
  const int64_t rows = width == 0 ? 0 : x.count() / width;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t p = 0; p < half; ++p) {
      const int64_t pair[2] = {interleaved ? 2 * p : p, interleaved ? 2 * p + 1 : p + half};
      const auto factor = [&](int i, int64_t element) {
        const int64_t at = per_element[i] ? r * rotated + element : r * half + p;
        return c.in(i + 1).f[static_cast<size_t>(tables[i][static_cast<size_t>(at)])];
      };
      const double x0 = x.f[static_cast<size_t>(r * width + pair[0])], x1 = x.f[static_cast<size_t>(r * width + pair[1])];
      y.f[static_cast<size_t>(r * width + pair[0])] = x0 * factor(0, pair[0]) - x1 * factor(1, pair[0]);
      y.f[static_cast<size_t>(r * width + pair[1])] = x1 * factor(0, pair[1]) + x0 * factor(1, pair[1]);
    }
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc

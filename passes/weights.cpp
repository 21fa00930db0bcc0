#include "passes/weights.h"

namespace nnc {

std::vector<double> doubles_of(const Tensor& t) {
  std::vector<double> values(static_cast<size_t>(t.count()));
  for (size_t k = 0; k < values.size(); ++k) values[k] = t.f64(static_cast<int64_t>(k));
  return values;
}

Tensor vector_of(DType dtype, const std::vector<double>& values) {
  Tensor t(dtype, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) store_f64(dtype, t.data(), static_cast<int64_t>(k), values[k]);
  return t;
}

namespace {

// Weights as [outer, outputs, inner]; the outputs of a grouped conv_transpose lie on two axes: the group, then axis 1.
struct OutputAxes {
  int64_t groups = 1, outer = 1, outputs = 1, inner = 1;  // [groups, outer, outputs, inner]
};
OutputAxes output_axes(const Node& node, const std::vector<int64_t>& dims) {
  OutputAxes a;
  if (node.kind == OpKind::kMatMul) {
    const bool transposed = node.i("transpose_b") != 0;
    a.outputs = dims[transposed ? 0 : 1];
    (transposed ? a.inner : a.outer) = dims[transposed ? 1 : 0];
    return a;
  }
  const int64_t spatial = element_count(std::span(dims).subspan(2));
  if (node.kind == OpKind::kConv) {
    a.outputs = dims[0];
    a.inner = dims[1] * spatial;
    return a;
  }
  a.groups = node.i("group");
  a.outer = dims[0] / a.groups;
  a.outputs = dims[1];
  a.inner = spatial;
  return a;
}

}  // namespace

size_t linear_outputs(const Graph& g, const Node& node) {
  const Shape& y = g.type(node.results[0]).shape;
  const Dim& d = node.kind == OpKind::kMatMul ? y.back() : y[1];
  return static_cast<size_t>(d.constant());
}

bool linear_is_plain(const Graph& g, const Node& node) {
  const Type& w = g.type(node.operands[1]);
  if (node.has_attr("accumulate") || !is_float(w.dtype) || dtype_bits(w.dtype) < 16) return false;
  if (node.kind == OpKind::kMatMul) return node.s("b_format").empty() && w.rank() == 2 && g.type(node.results[0]).rank() >= 2;
  return node.s("w_format").empty() && node.s("layout") == "nchw";
}

Tensor scale_outputs(const Node& node, const Tensor& weights, const std::vector<double>& factors) {
  const OutputAxes a = output_axes(node, weights.dims());
  NNC_CHECK(static_cast<int64_t>(factors.size()) == a.groups * a.outputs, "one factor per output");
  Tensor t(weights.dtype(), weights.dims());
  int64_t at = 0;
  for (int64_t g = 0; g < a.groups; ++g) {
    for (int64_t o = 0; o < a.outer; ++o) {
      for (int64_t k = 0; k < a.outputs; ++k) {
        const double f = factors[static_cast<size_t>(g * a.outputs + k)];
        for (int64_t i = 0; i < a.inner; ++i, ++at) store_f64(t.dtype(), t.data(), at, weights.f64(at) * f);
      }
    }
  }
  return t;
}

}  // namespace nnc

#include "passes/weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/ops/panel.h"

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
  void* const to = t.data();
  const auto scale = [&](int64_t begin, double f) {
    const int64_t end = begin + a.inner;
    if (t.dtype() == DType::kF32) {
      const auto* from = static_cast<const float*>(weights.data());
      for (int64_t k = begin; k < end; ++k) static_cast<float*>(to)[k] = static_cast<float>(from[k] * f);
    } else {
      for (int64_t k = begin; k < end; ++k) store_f64(t.dtype(), to, k, weights.f64(k) * f);
    }
  };
  int64_t at = 0;
  for (int64_t g = 0; g < a.groups; ++g) {
    for (int64_t o = 0; o < a.outer; ++o) {
      for (int64_t k = 0; k < a.outputs; ++k, at += a.inner) scale(at, factors[static_cast<size_t>(g * a.outputs + k)]);
    }
  }
  return t;
}

namespace {

template <class F> void with_element(size_t bytes, F&& f) {
  switch (bytes) {
    case 1: f(uint8_t{}); return;
    case 2: f(uint16_t{}); return;
    case 4: f(uint32_t{}); return;
    default: f(uint64_t{}); return;
  }
}

size_t element_bytes(const Tensor& t) {
  NNC_CHECK(dtype_bits(t.dtype()) >= 8 && dtype_bits(t.dtype()) <= 64, "elements of 1 to 8 bytes");
  return static_cast<size_t>(dtype_bits(t.dtype())) / 8;
}

}  // namespace

Tensor transposed(const Tensor& t, const std::vector<int64_t>& perm) {
  const size_t rank = perm.size();
  std::vector<int64_t> strides(rank, 1), dims(rank), step(rank), to_step(rank, 1);
  for (size_t k = rank; k-- > 1;) strides[k - 1] = strides[k] * t.dims()[k];
  for (size_t k = 0; k < rank; ++k) {
    dims[k] = t.dims()[static_cast<size_t>(perm[k])];
    step[k] = strides[static_cast<size_t>(perm[k])];
  }
  for (size_t k = rank; k-- > 1;) to_step[k - 1] = to_step[k] * dims[k];
  Tensor out(t.dtype(), dims);
  if (out.count() == 0 || rank == 0) {
    if (rank == 0) std::memcpy(out.data(), t.data(), t.bytes());
    return out;
  }
  // Squares of the plane of the source's innermost axis and the result's, so that both sides use all of a cache line.
  constexpr int64_t kSquare = 32;
  const size_t last = rank - 1;
  const auto source_last = static_cast<size_t>(std::find(perm.begin(), perm.end(), static_cast<int64_t>(last)) - perm.begin());
  const int64_t rows = source_last == last ? 1 : dims[source_last], columns = dims[last];
  std::vector<size_t> outer;
  for (size_t k = 0; k < last; ++k)
    if (k != source_last) outer.push_back(k);
  with_element(element_bytes(t), [&](auto zero) {
    using T = decltype(zero);
    std::vector<int64_t> at(rank, 0);
    const T* from = static_cast<const T*>(t.data());
    T* to = static_cast<T*>(out.data());
    for (;;) {
      for (int64_t r0 = 0; r0 < rows; r0 += kSquare)
        for (int64_t c0 = 0; c0 < columns; c0 += kSquare)
          for (int64_t r = r0; r < std::min(rows, r0 + kSquare); ++r)
            for (int64_t c = c0; c < std::min(columns, c0 + kSquare); ++c) to[r * to_step[source_last] + c] = from[r + c * step[last]];
      size_t k = outer.size();
      for (; k > 0; --k) {
        const size_t axis = outer[k - 1];
        from += step[axis], to += to_step[axis];
        if (++at[axis] < dims[axis]) break;
        from -= step[axis] * dims[axis], to -= to_step[axis] * dims[axis];
        at[axis] = 0;
      }
      if (k == 0) return;
    }
  });
  return out;
}

namespace {
template <class T> bool any_subnormal(const Tensor& t) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kMagnitude = ~Bits{0} >> 1, kSmallest = std::bit_cast<Bits>(std::numeric_limits<T>::min());
  constexpr size_t kRun = 256;  // of a fixed length, which compilers make vectors of
  const auto is_one = [](T x) { return Bits{(std::bit_cast<Bits>(x) & kMagnitude) - 1 < kSmallest - 1}; };
  const std::span<const T> values = t.as<T>();
  size_t k = 0;
  for (; k + kRun <= values.size(); k += kRun) {
    Bits any = 0;
    for (size_t i = 0; i < kRun; ++i) any |= is_one(values[k + i]);
    if (any != 0) return true;
  }
  return std::any_of(values.begin() + static_cast<ptrdiff_t>(k), values.end(), [&](T x) { return is_one(x) != 0; });
}

template <class T> bool drop_subnormals(T* matrix, int64_t k, int64_t n, int64_t row, int64_t column) {
  constexpr T kSmallest = std::numeric_limits<T>::min(), kOutweighs = kSmallest / std::numeric_limits<T>::epsilon() * 2;
  bool any = false;
  for (int64_t c = 0; c < n; ++c) {
    T largest = 0;
    bool small = false;
    for (int64_t r = 0; r < k; ++r) {
      const T w = std::abs(matrix[r * row + c * column]);
      largest = std::max(largest, w);
      small = small || (w != 0 && w < kSmallest);
    }
    if (!small || largest < kOutweighs) continue;
    any = true;
    for (int64_t r = 0; r < k; ++r) {
      T& w = matrix[r * row + c * column];
      if (std::abs(w) < kSmallest) w = 0;
    }
  }
  return any;
}
}  // namespace

Tensor without_subnormals(const Tensor& t, bool transposed) {
  const size_t rank = t.dims().size();
  NNC_CHECK(rank >= 2, "matrices");
  int64_t k = t.dims()[rank - 2], n = t.dims()[rank - 1];
  if (transposed) std::swap(k, n);
  const int64_t row = transposed ? 1 : n, column = transposed ? k : 1, batch = t.count() / std::max<int64_t>(1, k * n);
  const auto each = [&](auto zero) {
    using T = decltype(zero);
    if (!any_subnormal<T>(t)) return t;
    Tensor out = t;
    T* data = static_cast<T*>(out.data());
    bool any = false;
    for (int64_t b = 0; b < batch; ++b) any |= drop_subnormals(data + b * k * n, k, n, row, column);
    return any ? out : t;
  };
  return t.dtype() == DType::kF32 ? each(0.0f) : t.dtype() == DType::kF64 ? each(0.0) : t;
}

Tensor packed_panels(const Tensor& t, bool transposed) {
  const size_t rank = t.dims().size();
  const int64_t depth = panel_depth(t.dtype());
  NNC_CHECK(rank >= 2 && depth > 0, "matrices of a dtype that is packed");
  int64_t k = t.dims()[rank - 2], n = t.dims()[rank - 1];
  if (transposed) std::swap(k, n);
  const int64_t row = transposed ? 1 : n, column = transposed ? k : 1;  // strides of the source
  const int64_t panels = (n + kPanelWidth - 1) / kPanelWidth, groups = (k + depth - 1) / depth;
  std::vector<int64_t> dims(t.dims().begin(), t.dims().end() - 2);
  const int64_t batch = element_count(dims);
  dims.insert(dims.end(), {panels, groups, kPanelWidth});
  if (depth > 1) dims.push_back(depth);
  Tensor out(t.dtype(), dims);
  with_element(element_bytes(t), [&](auto zero) {
    using T = decltype(zero);
    const T* from = static_cast<const T*>(t.data());
    T* to = static_cast<T*>(out.data());
    for (int64_t b = 0; b < batch; ++b, from += k * n) {
      for (int64_t p = 0; p < panels; ++p, to += groups * kPanelWidth * depth) {
        const int64_t width = std::min(kPanelWidth, n - p * kPanelWidth);
        for (int64_t r = 0; r < k; ++r) {
          const T* source = from + r * row + p * kPanelWidth * column;
          T* target = to + r / depth * kPanelWidth * depth + r % depth;
          if (column == 1 && depth == 1)
            std::copy_n(source, width, target);
          else
            for (int64_t c = 0; c < width; ++c) target[c * depth] = source[c * column];
        }
      }
    }
  });
  return out;
}

}  // namespace nnc

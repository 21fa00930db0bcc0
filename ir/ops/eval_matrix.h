#pragma once
// Matrix products on carriers for the reference evaluations: doubles, and integers that wrap in 64 bits. Each element adds up its products
// in index order.

#include <algorithm>
#include <type_traits>
#include <vector>

#include "ir/eval.h"

namespace nnc {

template <class T> const std::vector<T>& carrier(const EvalTensor& t) {
  if constexpr (std::is_same_v<T, double>)
    return t.f;
  else
    return t.i;
}
template <class T> std::vector<T>& carrier(EvalTensor& t) {
  if constexpr (std::is_same_v<T, double>)
    return t.f;
  else
    return t.i;
}

inline double add_product(double sum, double a, double b) { return sum + a * b; }
inline int64_t add_product(int64_t sum, int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Elements `row` and `col` steps apart.
template <class T> struct MatrixView {
  const T* data = nullptr;
  int64_t row = 0, col = 1;
  const T& at(int64_t i, int64_t j) const { return data[i * row + j * col]; }
};

// c[m][n] += a[m][k] * b[k][n], c dense with rows `ldc` apart. Four rows at a time over a strip of columns, which stays in the nearest
// cache.
template <class T> void multiply_add(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t ldc) {
  std::vector<T> dense;
  if (b.col != 1 && n > 1) {
    dense.resize(static_cast<size_t>(k * n));
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j) dense[static_cast<size_t>(p * n + j)] = b.at(p, j);
    b = {dense.data(), n, 1};
  }
  constexpr int64_t kStrip = 256, kRows = 4;
  for (int64_t j0 = 0; j0 < n; j0 += kStrip) {
    const int64_t width = std::min(kStrip, n - j0);
    for (int64_t i0 = 0; i0 < m; i0 += kRows) {
      const int64_t rows = std::min(kRows, m - i0);
      T* out[kRows];
      for (int64_t r = 0; r < kRows; ++r) out[r] = c + (i0 + std::min(r, rows - 1)) * ldc + j0;
      for (int64_t p = 0; p < k; ++p) {
        const T* bp = b.data + p * b.row + j0;
        if (rows == kRows) {
          const T a0 = a.at(i0, p), a1 = a.at(i0 + 1, p), a2 = a.at(i0 + 2, p), a3 = a.at(i0 + 3, p);
          T* __restrict c0 = out[0], * __restrict c1 = out[1], * __restrict c2 = out[2], * __restrict c3 = out[3];
          for (int64_t j = 0; j < width; ++j) {
            c0[j] = add_product(c0[j], a0, bp[j]);
            c1[j] = add_product(c1[j], a1, bp[j]);
            c2[j] = add_product(c2[j], a2, bp[j]);
            c3[j] = add_product(c3[j], a3, bp[j]);
          }
        } else {
          for (int64_t r = 0; r < rows; ++r) {
            const T ar = a.at(i0 + r, p);
            for (int64_t j = 0; j < width; ++j) out[r][j] = add_product(out[r][j], ar, bp[j]);
          }
        }
      }
    }
  }
}

// Ok if the last axes of `t` are panels of a k x n matrix.
Status check_panel_extents(const EvalTensor& t, int64_t k, int64_t n);
// The dense k x n matrix in panels of 16 columns with `depth` neighbouring rows side by side.
template <class T> std::vector<T> unpack_panels(const T* packed, int64_t k, int64_t n, int64_t depth) {
  std::vector<T> dense(static_cast<size_t>(k * n));
  const int64_t groups = (k + depth - 1) / depth;
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j)
      dense[static_cast<size_t>(p * n + j)] = packed[((j / 16 * groups + p / depth) * 16 + j % 16) * depth + p % depth];
  return dense;
}

}  // namespace nnc

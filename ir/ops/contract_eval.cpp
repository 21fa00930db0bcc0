#include "ir/ops/contract.h"
#include "ir/ops/eval_index.h"
#include "ir/ops/eval_matrix.h"
#include "ir/support/text.h"

namespace nnc {

Status check_panel_extents(const EvalTensor& t, int64_t k, int64_t n) {
  const int64_t depth = panel_depth(t.dtype);
  const size_t first = t.dims.size() - panel_rank(t.dtype);
  if (t.dims[first] == (n + kPanelWidth - 1) / kPanelWidth && t.dims[first + 1] == (k + depth - 1) / depth) return {};
  return Error(Code::kBadInput, cat("panels of ", t.dims[first + 1] * depth, " rows and ", t.dims[first] * kPanelWidth,
                                    " columns for a matrix of ", k, " x ", n));
}

namespace {

using Dims = std::vector<int64_t>;

// One operand: leading axes, rows x columns of each matrix, and the strides inside it.
struct Operand {
  Dims batch;
  int64_t rows = 1, cols = 1, row = 0, col = 1;
};

Operand dense_operand(const Dims& dims, bool transposed, bool right) {
  Operand o;
  if (dims.size() == 1) {
    (right ? o.rows : o.cols) = dims[0];
    o.row = right ? 1 : dims[0];
    return o;
  }
  o.batch.assign(dims.begin(), dims.end() - 2);
  o.rows = dims[dims.size() - 2];
  o.cols = o.row = dims[dims.size() - 1];
  if (transposed) {
    std::swap(o.rows, o.cols);
    std::swap(o.row, o.col);
  }
  return o;
}

// The panels of all matrices, made dense one after the other.
template <class T> std::vector<T> unpack_operand(const EvalTensor& b, int64_t k, int64_t n, Operand* o) {
  const auto tail = static_cast<std::ptrdiff_t>(panel_rank(b.dtype));
  *o = {Dims(b.dims.begin(), b.dims.end() - tail), k, n, n, 1};
  int64_t matrices = element_count(o->batch), panel = 1;
  for (auto d = b.dims.end() - tail; d != b.dims.end(); ++d) panel *= *d;
  std::vector<T> all;
  for (int64_t i = 0; i < matrices; ++i) {
    const auto dense = unpack_panels<T>(carrier<T>(b).data() + i * panel, k, n, panel_depth(b.dtype));
    all.insert(all.end(), dense.begin(), dense.end());
  }
  return all;
}

template <class T> Status matmul(EvalContext& c, EvalTensor* y) {
  const Operand a = dense_operand(c.in(0).dims, c.node.i("transpose_a") != 0, false);
  Operand b;
  std::vector<T> unpacked;
  const T* b_data = carrier<T>(c.in(1)).data();
  const bool packed = is_packed(c.node.s("b_format"));
  if (packed) {
    NNC_ASSIGN(const int64_t n, c.dim(c.node.dims("n")[0]));
    NNC_TRY(check_panel_extents(c.in(1), a.cols, n));
    unpacked = unpack_operand<T>(c.in(1), a.cols, n, &b);
    b_data = unpacked.data();
  } else {
    b = dense_operand(c.in(1).dims, c.node.i("transpose_b") != 0, true);
  }
  if (a.cols != b.rows) return Error(Code::kBadInput, cat("the inner extents differ: ", a.cols, " and ", b.rows));
  Dims batch = y->dims;
  batch.resize(batch.size() - (c.in(0).rank() > 1) - (packed || c.in(1).rank() > 1));
  NNC_ASSIGN(const auto a_at, broadcast_offsets(a.batch, batch));
  NNC_ASSIGN(const auto b_at, broadcast_offsets(b.batch, batch));
  for (size_t k = 0; k < a_at.size(); ++k) {
    multiply_add<T>(a.rows, b.cols, a.cols, {carrier<T>(c.in(0)).data() + a_at[k] * a.rows * a.cols, a.row, a.col},
                    {b_data + b_at[k] * b.rows * b.cols, b.row, b.col}, carrier<T>(*y).data() + static_cast<int64_t>(k) * a.rows * b.cols,
                    b.cols);
  }
  return {};
}

}  // namespace

Status eval_matmul(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  NNC_TRY(y.floating() ? matmul<double>(c, &y) : matmul<int64_t>(c, &y));
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc

#include <algorithm>

#include "ir/ops/eval_util.h"

namespace nnc {

Status eval_concat(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const int64_t attr = c.node.i("axis");
  const auto axis = static_cast<size_t>(attr < 0 ? attr + y.rank() : attr);
  const std::vector<int64_t> strides = row_major_strides(y.dims);
  int64_t base = 0;
  for (size_t k = 0; k < c.operands.size(); ++k) {
    const EvalTensor& x = c.in(static_cast<int>(k));
    for (size_t i = 0; i < y.dims.size(); ++i) {
      if (i != axis) NNC_TRY(require_extent(x.dims[i], y.dims[i], cat("axis ", i, " of operand ", k)));
    }
    const std::vector<int64_t> target = offset_table(x.dims, strides);
    for (size_t j = 0; j < target.size(); ++j) copy_element(x, static_cast<int64_t>(j), y, base + target[j]);
    base += x.dims[axis] * strides[axis];
  }
  c.results.push_back(std::move(y));
  return {};
}

namespace {

// Coordinate in [0, n) that pad mode `mode` reads for coordinate i outside of it; -1: the pad value.
int64_t padded_coordinate(std::string_view mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (mode == "edge") return i < 0 ? 0 : n - 1;
  const int64_t period = mode == "wrap" ? n : std::max<int64_t>(2 * (n - 1), 1);
  const int64_t r = ((i % period) + period) % period;
  if (mode == "wrap" || r < n) return r;
  return mode == "reflect" ? period - r : -1;
}

}  // namespace

Status eval_pad(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor& x = c.in(0);
  const std::string_view mode = c.node.s("mode");
  NNC_ASSIGN(const std::vector<int64_t> before, c.dims(c.node.dims("before")));
  NNC_ASSIGN(const std::vector<int64_t> after, c.dims(c.node.dims("after")));
  if (c.has(1)) {
    for (int64_t k = 0; k < y.count(); ++k) copy_element(c.in(1), 0, y, k);
  }
  // Per axis: which coordinate of x each coordinate of y reads, -1 for the pad value.
  std::vector<std::vector<int64_t>> table(x.dims.size());
  for (size_t a = 0; a < table.size(); ++a) {
    const int64_t crop = std::max<int64_t>(0, -before[a]), kept = x.dims[a] - crop - std::max<int64_t>(0, -after[a]);
    for (int64_t j = 0; j < y.dims[a]; ++j) {
      const int64_t i = j - std::max<int64_t>(0, before[a]);
      const bool inside = i >= 0 && i < kept;
      if (!inside && mode != "constant" && kept <= 0) {
        return Error(Code::kAssertDims, cat("pad mode ", mode, " has no element to repeat on axis ", a, " of extent ", x.dims[a]));
      }
      const int64_t from = inside ? i : mode == "constant" ? -1 : padded_coordinate(mode, i, kept);
      table[a].push_back(from < 0 ? -1 : from + crop);
    }
  }
  const std::vector<int64_t> strides = row_major_strides(x.dims);
  std::vector<int64_t> source;
  for_each_coordinate(y.dims, [&](std::span<const int64_t> at) {
    int64_t position = 0;
    for (size_t a = 0; a < at.size(); ++a) {
      const int64_t from = table[a][static_cast<size_t>(at[a])];
      position = from < 0 || position < 0 ? -1 : position + from * strides[a];
    }
    source.push_back(position);
  });
  take(x, source, y);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_tile(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor& x = c.in(0);
  const std::vector<int64_t> strides = row_major_strides(x.dims);
  std::vector<int64_t> source;
  for_each_coordinate(y.dims, [&](std::span<const int64_t> at) {
    int64_t position = 0;
    for (size_t a = 0; a < at.size(); ++a) position += at[a] % x.dims[a] * strides[a];
    source.push_back(position);
  });
  take(x, source, y);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_trilu(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor& x = c.in(0);
  const Shape& given = c.node.dims("k");
  NNC_ASSIGN(const int64_t diagonal, c.dim(given.empty() ? Dim(0) : given[0]));
  const bool upper = c.node.i("upper") != 0;
  const int64_t columns = x.dims.back(), rows = x.dims[x.dims.size() - 2];
  for (int64_t k = 0; k < x.count(); ++k) {
    const int64_t column = k % columns, row = k / columns % rows;
    if (upper ? column - row >= diagonal : column - row <= diagonal) copy_element(x, k, y, k);
  }
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc

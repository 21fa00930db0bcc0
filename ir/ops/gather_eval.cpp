#include "ir/ops/eval_util.h"

namespace nnc {
namespace {

int64_t axis_of(const Node& node, int rank) {
  const int64_t axis = node.i("axis");
  return axis < 0 ? axis + rank : axis;
}

// x[to] = x[to] combined with u[from].
void combine_element(std::string_view reduction, const EvalTensor& u, int64_t from, EvalTensor& x, int64_t to) {
  const auto a = static_cast<size_t>(to), b = static_cast<size_t>(from);
  if (reduction == "none") {
    copy_element(u, from, x, to);
  } else if (x.floating()) {
    double& v = x.f[a];
    v = reduction == "add" ? v + u.f[b] : reduction == "mul" ? v * u.f[b] : reduction == "max" ? nan_max(v, u.f[b]) : nan_min(v, u.f[b]);
  } else {
    int64_t& v = x.i[a];
    const auto p = static_cast<uint64_t>(v), q = static_cast<uint64_t>(u.i[b]);
    const bool less = x.dtype == DType::kU64 ? p < q : v < u.i[b];
    if (reduction == "add")
      v = wrap_int(x.dtype, static_cast<int64_t>(p + q));
    else if (reduction == "mul")
      v = wrap_int(x.dtype, static_cast<int64_t>(p * q));
    else
      v = (reduction == "max") == less ? u.i[b] : v;
  }
}

// Position in x of every element of the indices: at the element's coordinates, those of `axis` replaced by the index.
Result<std::vector<int64_t>> element_positions(const EvalTensor& x, const EvalTensor& idx, int64_t axis) {
  const std::vector<int64_t> strides = row_major_strides(x.dims);
  const auto a = static_cast<size_t>(axis);
  std::vector<int64_t> others = strides;
  others[a] = 0;
  for (size_t i = 0; i < idx.dims.size(); ++i) {
    if (i != a && idx.dims[i] > x.dims[i])
      return Error(Code::kAssertDims, cat("axis ", i, " of the indices has ", idx.dims[i], " elements, more than x's ", x.dims[i]));
  }
  std::vector<int64_t> positions = offset_table(idx.dims, others);
  for (size_t k = 0; k < positions.size(); ++k) {
    NNC_ASSIGN(const int64_t at, wrap_index(idx, static_cast<int64_t>(k), x.dims[a], axis));
    positions[k] += at * strides[a];
  }
  return positions;
}

// Position in x of the slice that each index tuple (last axis of the indices) names, `batch` leading axes being shared.
Result<std::vector<int64_t>> slice_positions(const EvalTensor& x, const EvalTensor& idx, int64_t batch) {
  const std::vector<int64_t> strides = row_major_strides(x.dims);
  std::vector<int64_t> shared(idx.dims.size() - 1, 0);
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    NNC_TRY(require_extent(idx.dims[i], x.dims[i], cat("batch axis ", i, " of the indices")));
    shared[i] = strides[i];
  }
  std::vector<int64_t> positions = offset_table(std::span(idx.dims).first(idx.dims.size() - 1), shared);
  const int64_t length = idx.dims.back();
  for (size_t k = 0; k < positions.size(); ++k) {
    for (int64_t j = 0; j < length; ++j) {
      const auto axis = static_cast<size_t>(batch + j);
      NNC_ASSIGN(const int64_t at, wrap_index(idx, static_cast<int64_t>(k) * length + j, x.dims[axis], batch + j));
      positions[k] += at * strides[axis];
    }
  }
  return positions;
}

}  // namespace

Status eval_gather(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor &x = c.in(0), &idx = c.in(1);
  const AxisView view = axis_view(x.dims, axis_of(c.node, x.rank()));
  std::vector<int64_t> source;
  for (int64_t outer = 0; outer < view.outer; ++outer) {
    for (int64_t k = 0; k < idx.count(); ++k) {
      NNC_ASSIGN(const int64_t at, wrap_index(idx, k, view.extent, axis_of(c.node, x.rank())));
      for (int64_t inner = 0; inner < view.inner; ++inner) source.push_back((outer * view.extent + at) * view.inner + inner);
    }
  }
  take(x, source, y);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_gather_elements(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  NNC_ASSIGN(const std::vector<int64_t> source, element_positions(c.in(0), c.in(1), axis_of(c.node, c.in(0).rank())));
  take(c.in(0), source, y);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_gather_nd(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor& idx = c.in(1);
  const int64_t batch = c.node.i("batch_dims");
  NNC_ASSIGN(const std::vector<int64_t> starts, slice_positions(c.in(0), idx, batch));
  const int64_t length = element_count(std::span(c.in(0).dims).subspan(static_cast<size_t>(batch + idx.dims.back())));
  std::vector<int64_t> source;
  for (const int64_t start : starts) {
    for (int64_t j = 0; j < length; ++j) source.push_back(start + j);
  }
  take(c.in(0), source, y);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_scatter_elements(EvalContext& c) {
  EvalTensor y = c.in(0);
  const EvalTensor &idx = c.in(1), &updates = c.in(2);
  for (size_t i = 0; i < idx.dims.size(); ++i) NNC_TRY(require_extent(updates.dims[i], idx.dims[i], cat("axis ", i, " of the updates")));
  NNC_ASSIGN(const std::vector<int64_t> target, element_positions(y, idx, axis_of(c.node, y.rank())));
  for (size_t k = 0; k < target.size(); ++k) combine_element(c.node.s("reduction"), updates, static_cast<int64_t>(k), y, target[k]);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_scatter_nd(EvalContext& c) {
  EvalTensor y = c.in(0);
  const EvalTensor &idx = c.in(1), &updates = c.in(2);
  const std::span<const int64_t> tail = std::span(y.dims).subspan(static_cast<size_t>(idx.dims.back()));
  std::vector<int64_t> expected(idx.dims.begin(), idx.dims.end() - 1);
  expected.insert(expected.end(), tail.begin(), tail.end());
  for (size_t i = 0; i < expected.size(); ++i) NNC_TRY(require_extent(updates.dims[i], expected[i], cat("axis ", i, " of the updates")));
  NNC_ASSIGN(const std::vector<int64_t> starts, slice_positions(y, idx, 0));
  const int64_t length = element_count(tail);
  for (size_t k = 0; k < starts.size(); ++k) {
    for (int64_t j = 0; j < length; ++j)
      combine_element(c.node.s("reduction"), updates, static_cast<int64_t>(k) * length + j, y, starts[k] + j);
  }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_one_hot(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor &idx = c.in(0), &values = c.in(1);
  NNC_TRY(require_extent(values.dims[0], 2, "the values (off, on)"));
  const AxisView view = axis_view(y.dims, axis_of(c.node, y.rank()));
  for (int64_t k = 0; k < y.count(); ++k) {
    const int64_t coordinate = k / view.inner % view.extent;
    const int64_t index = idx.i[static_cast<size_t>(k / view.inner / view.extent * view.inner + k % view.inner)];
    const bool negative = index < 0 && idx.dtype != DType::kU64;
    copy_element(values, (negative ? index + view.extent : index) == coordinate ? 1 : 0, y, k);
  }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_non_zero(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  std::vector<std::vector<int64_t>> found(x.dims.size());
  int64_t count = 0;
  size_t k = 0;
  for_each_coordinate(x.dims, [&](std::span<const int64_t> at) {
    const bool zero = x.floating() ? x.f[k] == 0 : x.i[k] == 0;
    ++k;
    if (zero) return;
    ++count;
    for (size_t a = 0; a < at.size(); ++a) found[a].push_back(at[a]);
  });
  NNC_TRY(c.interpreter.bind(c.node.symbols("count")[0], count));
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  y.i.clear();
  for (const auto& coordinates : found) y.i.insert(y.i.end(), coordinates.begin(), coordinates.end());
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc

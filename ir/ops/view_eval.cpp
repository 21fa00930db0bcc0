#include "ir/ops/eval_util.h"

namespace nnc {

Status eval_reshape(EvalContext& c) {
  NNC_ASSIGN(std::vector<int64_t> dims, c.dims(c.node.dims("shape")));
  NNC_ASSIGN(const int64_t count, checked_element_count(dims));
  NNC_TRY(require_extent(count, c.in(0).count(), "elements of the reshaped tensor"));
  EvalTensor y = c.in(0);
  y.dims = std::move(dims);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_transpose(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const auto own = row_major_strides(c.in(0).dims);
  std::vector<int64_t> strides;
  for (const int64_t p : c.node.ints("perm")) strides.push_back(own[static_cast<size_t>(p)]);
  take(c.in(0), offset_table(y.dims, strides), y);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_broadcast_to(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor& x = c.in(0);
  const size_t shift = y.dims.size() - x.dims.size();
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (x.dims[i] != 1) NNC_TRY(require_extent(x.dims[i], y.dims[i + shift], cat("axis ", i + shift, " of the broadcast")));
  }
  take(x, offset_table(y.dims, broadcast_strides(x.dims, y.dims)), y);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_slice(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor& x = c.in(0);
  std::vector<int64_t> strides = row_major_strides(x.dims);
  int64_t base = 0;
  const auto &axes = c.node.ints("axes"), &steps = c.node.ints("steps");
  NNC_ASSIGN(const std::vector<int64_t> starts, c.dims(c.node.dims("starts")));
  NNC_ASSIGN(const std::vector<int64_t> ends, c.dims(c.node.dims("ends")));
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<size_t>(axes[k] < 0 ? axes[k] + x.rank() : axes[k]);
    const int64_t n = x.dims[axis], lowest = steps[k] > 0 ? 0 : -1, highest = steps[k] > 0 ? n : n - 1;
    for (const int64_t p : {starts[k], ends[k]}) {
      if (p < lowest || p > highest)
        return Error(Code::kAssertDims, cat("slice position ", p, " lies outside [", lowest, ", ", highest, "] of axis ", axis));
    }
    if (y.dims[axis] == 0) continue;
    base += starts[k] * strides[axis];
    strides[axis] *= steps[k];
  }
  std::vector<int64_t> source = offset_table(y.dims, strides);
  for (int64_t& s : source) s += base;
  take(x, source, y);
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc

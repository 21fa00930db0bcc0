#include "ir/ops/eval_index.h"

#include "ir/support/text.h"

namespace nnc {

std::vector<int64_t> row_major_strides(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = 1;
  for (size_t k = dims.size(); k-- > 0; step *= dims[k]) strides[k] = step;
  return strides;
}

std::vector<int64_t> broadcast_strides(std::span<const int64_t> dims, std::span<const int64_t> out) {
  std::vector<int64_t> strides(out.size(), 0);
  const size_t missing = out.size() - dims.size();
  int64_t step = 1;
  for (size_t k = dims.size(); k-- > 0; step *= dims[k]) strides[missing + k] = dims[k] == 1 ? 0 : step;
  return strides;
}

std::vector<int64_t> offset_table(std::span<const int64_t> dims, std::span<const int64_t> strides) {
  std::vector<int64_t> offsets = {0};
  for (size_t k = 0; k < dims.size(); ++k) {  // every prefix of axes times the next one
    std::vector<int64_t> longer;
    longer.reserve(offsets.size() * static_cast<size_t>(dims[k]));
    for (int64_t base : offsets)
      for (int64_t i = 0; i < dims[k]; ++i) longer.push_back(base + i * strides[k]);
    offsets = std::move(longer);
  }
  return offsets;
}

Result<std::vector<int64_t>> broadcast_offsets(std::span<const int64_t> dims, std::span<const int64_t> out) {
  bool fits = dims.size() <= out.size();
  for (size_t k = 0; fits && k < dims.size(); ++k)
    fits = dims[dims.size() - 1 - k] == 1 || dims[dims.size() - 1 - k] == out[out.size() - 1 - k];
  if (!fits) {
    const auto text = [](std::span<const int64_t> d) { return cat("[", join(d, ", ", [](int64_t v) { return std::to_string(v); }), "]"); };
    return Error(Code::kBadInput, cat("extents ", text(dims), " do not broadcast to ", text(out)));
  }
  return offset_table(out, broadcast_strides(dims, out));
}

AxisView axis_view(std::span<const int64_t> dims, int64_t axis) {
  AxisView v;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (static_cast<int64_t>(k) < axis)
      v.outer *= dims[k];
    else if (static_cast<int64_t>(k) > axis)
      v.inner *= dims[k];
    else
      v.extent = dims[k];
  }
  return v;
}

}  // namespace nnc

#include "ir/base/plan_unpack.h"

#include <algorithm>
#include <cstring>

#include "ir/support/text.h"

namespace nnc {

namespace {

constexpr int64_t kWidth = 16;

std::string type_text(DType dtype, std::span<const int64_t> dims) {
  return cat(dtype_name(dtype), "[", join(dims, ", ", [](int64_t d) { return d; }), "]");
}

// One matrix: columns [first, first + width) of each row are neighbours in its panel.
void unpack_matrix(const uint8_t* panels, uint8_t* dense, int64_t rows, int64_t columns, size_t element) {
  for (int64_t first = 0; first < columns; first += kWidth) {
    const size_t width = static_cast<size_t>(std::min(kWidth, columns - first)) * element;
    for (int64_t r = 0; r < rows; ++r, panels += static_cast<size_t>(kWidth) * element)
      std::memcpy(dense + static_cast<size_t>(r * columns + first) * element, panels, width);
  }
}

}  // namespace

Status check_stored(const PlanConstant& c, DType dtype, std::span<const int64_t> dims) {
  auto wrong = [&] {
    return Error(Code::kInvalidIr,
                 cat("constant ", c.hash, " is wanted as ", type_text(c.dtype, c.dims),
                     c.unpack.empty() ? "" : cat(" unpacked by ", quote(c.unpack)), " and stored as ", type_text(dtype, dims)));
  };
  if (c.dtype != dtype) return wrong();
  if (c.unpack.empty()) return std::ranges::equal(c.dims, dims) ? Status() : wrong();
  if (c.unpack != kUnpackPanels || dims.size() < 3 || c.dims.empty() || dims.back() != kWidth || dtype_bits(dtype) % 8 != 0) return wrong();
  NNC_ASSIGN(const int64_t wanted, checked_element_count(c.dims));
  NNC_ASSIGN(const int64_t stored, checked_element_count(dims));
  const int64_t columns = c.dims.back();
  // Panels are full but the last; with none of them empty the rows agree where the products do.
  if (columns < 1 || dims[dims.size() - 3] != (columns + kWidth - 1) / kWidth) return wrong();
  const int64_t rows = stored / (dims[dims.size() - 3] * kWidth);
  return rows > 0 && wanted == rows * columns ? Status() : wrong();
}

Result<Tensor> unpack_stored(const PlanConstant& c, const Tensor& stored) {
  if (c.unpack.empty()) return stored;
  NNC_ASSIGN(Tensor dense, Tensor::create(c.dtype, c.dims));
  const std::vector<int64_t>& from = stored.dims();
  const size_t rank = from.size(), element = static_cast<size_t>(dtype_bits(c.dtype)) / 8;
  const int64_t rows = from[rank - 2], columns = c.dims.back(), matrices = element_count(std::span(from).first(rank - 3));
  const auto* panels = static_cast<const uint8_t*>(stored.data());
  auto* out = static_cast<uint8_t*>(dense.data());
  for (int64_t m = 0; m < matrices; ++m) {
    unpack_matrix(panels, out, rows, columns, element);
    panels += static_cast<size_t>(from[rank - 3] * rows * kWidth) * element;
    out += static_cast<size_t>(rows * columns) * element;
  }
  return dense;
}

}  // namespace nnc

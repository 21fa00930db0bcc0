#include "ir/ops/eval_util.h"
#include "ir/ops/panel.h"

namespace nnc {
namespace {

// For every element of the panels of one matrix [rows, columns], in their order: its position in the matrix, -1 for filling.
std::vector<int64_t> panel_positions(int64_t rows, int64_t columns, int64_t depth, bool transposed) {
  std::vector<int64_t> positions;
  for (int64_t panel = 0; panel * kPanelWidth < columns; ++panel) {
    for (int64_t group = 0; group * depth < rows; ++group) {
      for (int64_t lane = 0; lane < kPanelWidth; ++lane) {
        for (int64_t part = 0; part < depth; ++part) {
          const int64_t row = group * depth + part, column = panel * kPanelWidth + lane;
          const bool inside = row < rows && column < columns;
          positions.push_back(!inside ? -1 : transposed ? column * rows + row : row * columns + column);
        }
      }
    }
  }
  return positions;
}

}  // namespace

Status eval_pack(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor& x = c.in(0);
  const bool transposed = c.node.i("transposed") != 0;
  int64_t rows = x.dims[x.dims.size() - 2], columns = x.dims.back();
  if (transposed) std::swap(rows, columns);
  const std::vector<int64_t> panels = panel_positions(rows, columns, panel_depth(x.dtype), transposed);
  std::vector<int64_t> source;
  for (int64_t batch = 0, count = element_count(std::span(x.dims).first(x.dims.size() - 2)); batch < count; ++batch) {
    for (const int64_t p : panels) source.push_back(p < 0 ? -1 : batch * rows * columns + p);
  }
  take(x, source, y);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_unpack(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor& x = c.in(0);
  const int64_t depth = panel_depth(x.dtype);
  NNC_ASSIGN(const int64_t rows, c.dim(c.node.dims("k")[0]));
  NNC_ASSIGN(const int64_t columns, c.dim(c.node.dims("n")[0]));
  const std::vector<int64_t> panels = panel_positions(rows, columns, depth, c.node.i("transposed") != 0);
  const auto packed = static_cast<int64_t>(panels.size());
  const int64_t batches = element_count(std::span(y.dims).first(y.dims.size() - 2));
  NNC_TRY(require_extent(x.count(), batches * packed, "elements of the panels"));
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t k = 0; k < packed; ++k) {
      const int64_t p = panels[static_cast<size_t>(k)];
      if (p >= 0) copy_element(x, batch * packed + k, y, batch * rows * columns + p);
    }
  }
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc

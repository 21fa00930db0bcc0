#include "ir/ops/windows.h"

#include <algorithm>

#include "ir/ops/shape_rules.h"

namespace nnc {

ImageAxes image_axes(std::string_view layout, int rank) {
  size_t spatial = static_cast<size_t>(rank - 2);
  if (layout == "nhwc") return {spatial + 1, 1, spatial};
  return {1, 2, spatial};
}

Result<std::vector<WindowAxis>> window_axes(const InferContext& c, const std::vector<Dim>& kernel) {
  size_t n = kernel.size();
  NNC_ASSIGN(auto strides, spatial_ints(c, "strides", n, 1, 1));
  NNC_ASSIGN(auto dilations, spatial_ints(c, "dilations", n, 1, 1));
  NNC_ASSIGN(auto begin, spatial_ints(c, "pads_begin", n, 0, -kDimMax));
  NNC_ASSIGN(auto end, spatial_ints(c, "pads_end", n, 0, -kDimMax));
  std::vector<WindowAxis> axes;
  for (size_t k = 0; k < n; ++k) axes.push_back({kernel[k], strides[k], dilations[k], begin[k], end[k]});
  return axes;
}

Dim window_count(SymbolTable& symbols, const Dim& in, const WindowAxis& w, std::string_view auto_pad, bool ceil_mode) {
  if (auto_pad != "notset") return symbols.ceildiv(in, w.stride);
  Dim reach = symbols.add(symbols.mul(symbols.sub(w.kernel, 1), w.dilation), 1);  // extent of the dilated window
  Dim room = symbols.sub(symbols.add(in, w.pad_begin + w.pad_end), reach);
  if (!ceil_mode) return symbols.add(symbols.floordiv(room, w.stride), 1);
  Dim windows = symbols.add(symbols.ceildiv(room, w.stride), 1);
  // Windows that begin before the trailing padding; where the stride is no longer than that allows, all do.
  if (symbols.at_most(symbols.sub(w.pad_end + w.stride, reach), 0) == Ternary::kYes) return windows;
  return symbols.min(windows, symbols.ceildiv(symbols.add(in, w.pad_begin), w.stride));
}

Padding window_padding(SymbolTable& symbols, const Dim& in, const Dim& out, const WindowAxis& w, std::string_view auto_pad) {
  if (auto_pad == "notset") return {w.pad_begin, w.pad_end};
  const Dim reach = symbols.add(symbols.mul(symbols.sub(w.kernel, 1), w.dilation), 1);
  const Dim total = symbols.max(0, symbols.sub(symbols.add(symbols.mul(symbols.sub(out, 1), w.stride), reach), in));
  const Dim less = symbols.floordiv(total, 2), more = symbols.sub(total, less);
  return auto_pad == "same_upper" ? Padding{less, more} : Padding{more, less};
}

WindowRun window_run(const WindowAxis& w, std::string_view auto_pad, int64_t in, int64_t out, int64_t kernel) {
  WindowRun r{in, out, kernel, w.stride, w.dilation, w.pad_begin, w.pad_end};
  if (auto_pad == "notset") return r;
  int64_t total = std::max<int64_t>(0, (out - 1) * r.stride + (kernel - 1) * r.dilation + 1 - in);
  r.pad_begin = auto_pad == "same_upper" ? total / 2 : total - total / 2;
  r.pad_end = total - r.pad_begin;
  return r;
}

}  // namespace nnc

#pragma once
// Geometry of sliding windows: what convolutions and pools share. One spatial axis is described by a WindowAxis; padding by `auto_pad`
// depends on the input's extent, so it is resolved once extents are known.

#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace nnc {

// Axes of an image of rank n + 2: nchw-like (batch, channels, spatial...) or nhwc-like (batch, spatial..., channels).
struct ImageAxes {
  size_t channel, first, spatial;  // axis of the channels, first spatial axis, number of spatial axes
};
ImageAxes image_axes(std::string_view layout, int rank);

struct WindowAxis {
  Dim kernel = 1;
  int64_t stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
};
// Reads strides, dilations, pads_begin, pads_end of the node; kernel extents are given.
Result<std::vector<WindowAxis>> window_axes(const InferContext& c, const std::vector<Dim>& kernel);

// Number of windows along an axis. Padding `same_upper` and `same_lower`: ceil(in / stride). Else the windows that fit, or with ceil_mode
// also one that begins inside the image or its leading padding.
Dim window_count(SymbolTable& symbols, const Dim& in, const WindowAxis& w, std::string_view auto_pad, bool ceil_mode = false);

// Padding of an axis, `auto_pad` resolved for its extents.
struct Padding {
  Dim begin, end;
};
Padding window_padding(SymbolTable& symbols, const Dim& in, const Dim& out, const WindowAxis& w, std::string_view auto_pad);

// The same axis with numbers.
struct WindowRun {
  int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  int64_t position(int64_t window, int64_t k) const { return window * stride - pad_begin + k * dilation; }  // may lie outside [0, in)
};
// Padding of `auto_pad` filled in; `w.kernel` is replaced by `kernel`.
WindowRun window_run(const WindowAxis& w, std::string_view auto_pad, int64_t in, int64_t out, int64_t kernel);

}  // namespace nnc

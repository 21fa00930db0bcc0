#include "ir/ops/contract.h"
#include "ir/ops/conv.h"
#include "ir/ops/eval_index.h"
#include "ir/ops/eval_matrix.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

using Dims = std::vector<int64_t>;

// The numbers of one convolution: image [batch, group * in, image spatial] against windows [batch, group * out, window spatial], in the
// direction image -> windows.
struct Problem {
  int64_t batch = 0, group = 1, in = 0, out = 0;  // channels per group
  std::vector<WindowRun> axes;
  int64_t image = 1, windows = 1, kernel = 1;  // spatial elements
  bool channels_last = false;
};

// Strides of a tensor seen as [batch, channel, spatial...] whatever its layout.
struct ImageStrides {
  int64_t batch, channel;
  Dims spatial;
};

ImageStrides image_strides(const Dims& dims, std::string_view layout) {
  const ImageAxes axes = image_axes(layout, static_cast<int>(dims.size()));
  const Dims strides = row_major_strides(dims);
  const auto first = strides.begin() + static_cast<std::ptrdiff_t>(axes.first);
  return {strides[0], strides[axes.channel], Dims(first, first + static_cast<std::ptrdiff_t>(axes.spatial))};
}

// Where a dense weight keeps kernel element k from input i to output o of group g.
int64_t filter_index(const Problem& p, bool hwio, int64_t g, int64_t k, int64_t i, int64_t o) {
  const int64_t out = g * p.out + o;
  return hwio ? (k * p.in + i) * (p.group * p.out) + out : (out * p.in + i) * p.kernel + k;
}

// A weight's elements as [group][patch = (kernel..., in)][out], dense.
template <class T> std::vector<T> patch_matrix(const Problem& p, const EvalTensor& w, std::string_view format, bool transposed) {
  const int64_t patch = p.kernel * p.in;
  std::vector<T> m(static_cast<size_t>(p.group * patch * p.out));
  const T* from = carrier<T>(w).data();
  if (is_packed(format)) {
    const int64_t rows = transposed ? p.out : patch, cols = transposed ? patch : p.out;
    for (int64_t g = 0; g < p.group; ++g) {
      const auto dense = unpack_panels<T>(from + g * (w.count() / p.group), rows, cols, panel_depth(w.dtype));
      for (int64_t k = 0; k < patch; ++k)
        for (int64_t o = 0; o < p.out; ++o)
          m[static_cast<size_t>((g * patch + k) * p.out + o)] = dense[static_cast<size_t>(transposed ? o * patch + k : k * p.out + o)];
    }
    return m;
  }
  const bool hwio = format == "hwio";
  for (int64_t g = 0; g < p.group; ++g)
    for (int64_t k = 0; k < p.kernel; ++k)
      for (int64_t i = 0; i < p.in; ++i)
        for (int64_t o = 0; o < p.out; ++o)
          m[static_cast<size_t>(((g * p.kernel + k) * p.in + i) * p.out + o)] = from[filter_index(p, hwio, g, k, i, o)];
  return m;
}

// For each window (row) and kernel element (column) the spatial offset into the image, -1 outside.
std::vector<int64_t> patch_offsets(const Problem& p, const ImageStrides& image) {
  std::vector<int64_t> table(static_cast<size_t>(p.windows * p.kernel));
  Dims window_dims, kernel_dims;
  for (const WindowRun& a : p.axes) {
    window_dims.push_back(a.out);
    kernel_dims.push_back(a.kernel);
  }
  const Dims window_steps = row_major_strides(window_dims), kernel_steps = row_major_strides(kernel_dims);
  for (int64_t w = 0; w < p.windows; ++w)
    for (int64_t k = 0; k < p.kernel; ++k) {
      int64_t offset = 0;
      for (size_t a = 0; a < p.axes.size() && offset >= 0; ++a) {
        const int64_t at = p.axes[a].position(w / window_steps[a] % window_dims[a], k / kernel_steps[a] % kernel_dims[a]);
        offset = at < 0 || at >= p.axes[a].in ? -1 : offset + at * image.spatial[a];
      }
      table[static_cast<size_t>(w * p.kernel + k)] = offset;
    }
  return table;
}

// Rows of patches are made and multiplied in strips, so that memory stays small.
constexpr int64_t kStripWindows = 256;

template <class T> using PatchRows = std::vector<T>;

// The patches of windows [first, last) of one group: [window][kernel][in].
template <class T> void gather_patches(const Problem& p, const T* image, const ImageStrides& s, std::span<const int64_t> table,
                                       int64_t first, int64_t last, PatchRows<T>* rows) {
  rows->assign(static_cast<size_t>((last - first) * p.kernel * p.in), T{});
  for (int64_t e = first * p.kernel; e < last * p.kernel; ++e) {
    const int64_t offset = table[static_cast<size_t>(e)];
    if (offset < 0) continue;
    T* to = rows->data() + (e - first * p.kernel) * p.in;
    for (int64_t i = 0; i < p.in; ++i) to[i] = image[offset + i * s.channel];
  }
}

template <class T> void scatter_patches(const Problem& p, T* image, const ImageStrides& s, std::span<const int64_t> table, int64_t first,
                                        int64_t last, const PatchRows<T>& rows) {
  for (int64_t e = first * p.kernel; e < last * p.kernel; ++e) {
    const int64_t offset = table[static_cast<size_t>(e)];
    if (offset < 0) continue;
    const T* from = rows.data() + (e - first * p.kernel) * p.in;
    for (int64_t i = 0; i < p.in; ++i) image[offset + i * s.channel] = add_product(image[offset + i * s.channel], from[i], T(1));
  }
}

// Offsets of the windows in the windows' side, in row-major order.
std::vector<int64_t> window_offsets(const Problem& p, const ImageStrides& s) {
  Dims dims;
  for (const WindowRun& a : p.axes) dims.push_back(a.out);
  return offset_table(dims, s.spatial);
}

template <class T> void forward(const Problem& p, const EvalTensor& x, std::string_view layout, std::span<const T> matrix, EvalTensor* y) {
  const ImageStrides xs = image_strides(x.dims, layout), ys = image_strides(y->dims, layout);
  const auto table = patch_offsets(p, xs), windows = window_offsets(p, ys);
  const int64_t patch = p.kernel * p.in;
  PatchRows<T> rows;
  std::vector<T> products;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t g = 0; g < p.group; ++g)
      for (int64_t w0 = 0; w0 < p.windows; w0 += kStripWindows) {
        const int64_t count = std::min(kStripWindows, p.windows - w0);
        gather_patches(p, carrier<T>(x).data() + n * xs.batch + g * p.in * xs.channel, xs, table, w0, w0 + count, &rows);
        products.assign(static_cast<size_t>(count * p.out), T{});
        multiply_add<T>(count, p.out, patch, {rows.data(), patch, 1}, {matrix.data() + g * patch * p.out, p.out, 1}, products.data(),
                        p.out);
        T* to = carrier<T>(*y).data() + n * ys.batch + g * p.out * ys.channel;
        for (int64_t w = 0; w < count; ++w)
          for (int64_t o = 0; o < p.out; ++o)
            to[windows[static_cast<size_t>(w0 + w)] + o * ys.channel] = products[static_cast<size_t>(w * p.out + o)];
      }
}

// The windows of one strip as a dense matrix [window][out].
template <class T> std::vector<T> window_rows(const Problem& p, const T* from, const ImageStrides& s, std::span<const int64_t> windows,
                                              int64_t first, int64_t count) {
  std::vector<T> rows(static_cast<size_t>(count * p.out));
  for (int64_t w = 0; w < count; ++w)
    for (int64_t o = 0; o < p.out; ++o)
      rows[static_cast<size_t>(w * p.out + o)] = from[windows[static_cast<size_t>(first + w)] + o * s.channel];
  return rows;
}

// The adjoint in the image: every window adds its multiples of the kernel.
template <class T>
void backward(const Problem& p, const EvalTensor& dy, std::string_view layout, std::span<const T> matrix, EvalTensor* dx) {
  const ImageStrides xs = image_strides(dx->dims, layout), ys = image_strides(dy.dims, layout);
  const auto table = patch_offsets(p, xs), windows = window_offsets(p, ys);
  const int64_t patch = p.kernel * p.in;
  PatchRows<T> rows;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t g = 0; g < p.group; ++g)
      for (int64_t w0 = 0; w0 < p.windows; w0 += kStripWindows) {
        const int64_t count = std::min(kStripWindows, p.windows - w0);
        const auto from =
            window_rows(p, carrier<T>(dy).data() + n * ys.batch + g * p.out * ys.channel, ys, std::span<const int64_t>(windows), w0, count);
        rows.assign(static_cast<size_t>(count * patch), T{});
        multiply_add<T>(count, patch, p.out, {from.data(), p.out, 1}, {matrix.data() + g * patch * p.out, 1, p.out}, rows.data(), patch);
        scatter_patches(p, carrier<T>(*dx).data() + n * xs.batch + g * p.in * xs.channel, xs, table, w0, w0 + count, rows);
      }
}

// Extents of the kernel from the weight (or the attribute of a packed one), then the whole problem; an error where the operands' extents do
// not fit.
Result<Problem> problem(EvalContext& c, const Dims& image, const Dims& windows, const Dims& w) {
  const Node& node = c.node;
  const ImageAxes axes = image_axes(node.s("layout"), static_cast<int>(image.size()));
  const std::string_view format = node.s("w_format");
  Dims kernel;
  int64_t out = 0, in = 0;
  if (is_packed(format)) {
    kernel = node.ints("kernel");
    NNC_ASSIGN(const Dims channels, c.dims(node.dims("channels")));
    out = channels[0], in = channels[1];
  } else if (format == "hwio") {
    kernel.assign(w.begin(), w.end() - 2);
    out = w[axes.spatial + 1], in = w[axes.spatial];
  } else {
    kernel.assign(w.begin() + 2, w.end());
    out = w[0], in = w[1];
  }
  Problem p;
  p.batch = image[0];
  p.group = node.i("group");
  p.in = in;
  p.out = out / p.group;
  const auto at = [&](std::string_view name, size_t k, int64_t fallback) {
    return node.ints(name).empty() ? fallback : node.ints(name)[k];
  };
  const bool padded = node.kind != OpKind::kConvTranspose;
  for (size_t k = 0; k < axes.spatial; ++k) {
    const WindowAxis a{kernel[k], at("strides", k, 1), at("dilations", k, 1), at("pads_begin", k, 0), at("pads_end", k, 0)};
    p.axes.push_back(window_run(a, padded ? node.s("auto_pad") : "notset", image[axes.first + k], windows[axes.first + k], kernel[k]));
    p.image *= image[axes.first + k];
    p.windows *= windows[axes.first + k];
    p.kernel *= kernel[k];
  }
  if (out % p.group != 0 || image[axes.channel] != p.in * p.group || windows[axes.channel] != out || windows[0] != p.batch)
    return Error(Code::kBadInput, cat("channels do not fit: ", image[axes.channel], " of the image, ", windows[axes.channel],
                                      " of the windows, a weight from ", in, " to ", out, " in ", p.group, " groups"));
  if (is_packed(format)) NNC_TRY(check_panel_extents(c.in(1), padded ? p.kernel * p.in : p.out, padded ? p.out : p.kernel * p.in));
  return p;
}

template <class T> Status add_bias(const EvalContext& c, EvalTensor* y) {
  if (!c.has(2)) return {};
  const AxisView v = axis_view(y->dims, static_cast<int64_t>(image_axes(c.node.s("layout"), y->rank()).channel));
  if (c.in(2).count() != v.extent)
    return Error(Code::kBadInput, cat("bias has ", c.in(2).count(), " elements for ", v.extent, " channels"));
  size_t at = 0;
  for (int64_t o = 0; o < v.outer; ++o)
    for (size_t m = 0; m < static_cast<size_t>(v.extent); ++m)
      for (int64_t i = 0; i < v.inner; ++i, ++at) carrier<T>(*y)[at] = add_product(carrier<T>(*y)[at], carrier<T>(c.in(2))[m], T(1));
  return {};
}

template <class T> Status conv(EvalContext& c, EvalTensor* y) {
  NNC_ASSIGN(const Problem p, problem(c, c.in(0).dims, y->dims, c.in(1).dims));
  const auto matrix = patch_matrix<T>(p, c.in(1), c.node.s("w_format"), false);
  forward<T>(p, c.in(0), c.node.s("layout"), matrix, y);
  return add_bias<T>(c, y);
}

template <class T> Status conv_transpose(EvalContext& c, EvalTensor* y) {
  NNC_ASSIGN(const Problem p, problem(c, y->dims, c.in(0).dims, c.in(1).dims));
  const auto matrix = patch_matrix<T>(p, c.in(1), c.node.s("w_format"), true);
  backward<T>(p, c.in(0), c.node.s("layout"), matrix, y);
  return add_bias<T>(c, y);
}

}  // namespace

Status eval_conv(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  NNC_TRY(y.floating() ? conv<double>(c, &y) : conv<int64_t>(c, &y));
  c.results.push_back(std::move(y));
  return {};
}

Status eval_conv_transpose(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  NNC_TRY(y.floating() ? conv_transpose<double>(c, &y) : conv_transpose<int64_t>(c, &y));
  c.results.push_back(std::move(y));
  return {};
}

Status eval_conv_input_grad(EvalContext& c) {
  NNC_ASSIGN(EvalTensor dx, c.make_result(0));
  NNC_ASSIGN(const Problem p, problem(c, dx.dims, c.in(0).dims, c.in(1).dims));
  const auto matrix = patch_matrix<double>(p, c.in(1), c.node.s("w_format"), false);
  backward<double>(p, c.in(0), c.node.s("layout"), matrix, &dx);
  c.results.push_back(std::move(dx));
  return {};
}

Status eval_conv_filter_grad(EvalContext& c) {
  const EvalTensor &x = c.in(0), &dy = c.in(1);
  NNC_ASSIGN(EvalTensor dw, c.make_result(0));
  NNC_ASSIGN(const Problem p, problem(c, x.dims, dy.dims, dw.dims));
  const std::string_view layout = c.node.s("layout");
  const ImageStrides xs = image_strides(x.dims, layout), ys = image_strides(dy.dims, layout);
  const auto table = patch_offsets(p, xs), windows = window_offsets(p, ys);
  const int64_t patch = p.kernel * p.in;
  std::vector<double> sums(static_cast<size_t>(p.group * patch * p.out));  // [group][patch][out]
  PatchRows<double> rows;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t g = 0; g < p.group; ++g)
      for (int64_t w0 = 0; w0 < p.windows; w0 += kStripWindows) {
        const int64_t count = std::min(kStripWindows, p.windows - w0);
        gather_patches(p, x.f.data() + n * xs.batch + g * p.in * xs.channel, xs, table, w0, w0 + count, &rows);
        const auto from =
            window_rows(p, dy.f.data() + n * ys.batch + g * p.out * ys.channel, ys, std::span<const int64_t>(windows), w0, count);
        multiply_add<double>(patch, p.out, count, {rows.data(), 1, patch}, {from.data(), p.out, 1}, sums.data() + g * patch * p.out, p.out);
      }
  const bool hwio = c.node.s("w_format") == "hwio";
  for (int64_t g = 0; g < p.group; ++g)
    for (int64_t k = 0; k < p.kernel; ++k)
      for (int64_t i = 0; i < p.in; ++i)
        for (int64_t o = 0; o < p.out; ++o)
          dw.f[static_cast<size_t>(filter_index(p, hwio, g, k, i, o))] =
              sums[static_cast<size_t>(((g * p.kernel + k) * p.in + i) * p.out + o)];
  c.results.push_back(std::move(dw));
  return {};
}

}  // namespace nnc

#include <cmath>
#include <functional>
#include <limits>

#include "ir/eval.h"
#include "ir/ops/eval_index.h"
#include "ir/ops/eval_util.h"
#include "ir/ops/pool.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

using Dims = std::vector<int64_t>;

// One window of one channel: offsets into x of its elements that lie inside, in index order, and how many of its elements lie inside x or
// its padding.
struct Window {
  std::vector<int64_t> inside;
  int64_t padded = 0;
};

// The windows of one image of one channel: the same for all batches and channels but for a base offset.
struct Windows {
  std::vector<Window> each;
  Dims bases_in, bases_out;      // of x and y, per (batch, channel)
  std::vector<int64_t> offsets;  // of each window in y
};

// Elements of axis k of a window at `index`: position in x for those inside, and the count inside x or its padding.
std::pair<Dims, int64_t> axis_window(const WindowRun& a, int64_t index) {
  Dims inside;
  int64_t padded = 0;
  for (int64_t k = 0; k < a.kernel; ++k) {
    const int64_t at = a.position(index, k);
    if (at >= 0 && at < a.in) inside.push_back(at);
    padded += at < a.in + a.pad_end;
  }
  return {inside, padded};
}

Windows find_windows(const Node& node, const Dims& image, const Dims& out, std::string_view layout) {
  const ImageAxes axes = image_axes(layout, static_cast<int>(image.size()));
  const Dims in_steps = row_major_strides(image), out_steps = row_major_strides(out);
  const auto at = [&](std::string_view name, size_t k, int64_t fallback) {
    return node.ints(name).empty() ? fallback : node.ints(name)[k];
  };
  std::vector<WindowRun> runs;
  Dims counts, steps;
  for (size_t k = 0; k < axes.spatial; ++k) {
    const WindowAxis a{1, at("strides", k, 1), at("dilations", k, 1), at("pads_begin", k, 0), at("pads_end", k, 0)};
    runs.push_back(window_run(a, node.s("auto_pad"), image[axes.first + k], out[axes.first + k], node.ints("kernel")[k]));
    counts.push_back(out[axes.first + k]);
    steps.push_back(out_steps[axes.first + k]);
  }
  Windows w;
  w.offsets = offset_table(counts, steps);
  w.bases_in = offset_table(Dims{image[0], image[axes.channel]}, Dims{in_steps[0], in_steps[axes.channel]});
  w.bases_out = offset_table(Dims{out[0], out[axes.channel]}, Dims{out_steps[0], out_steps[axes.channel]});
  const Dims divide = row_major_strides(counts);
  for (int64_t i = 0; i < element_count(counts); ++i) {
    Window window{{0}, 1};
    for (size_t k = 0; k < runs.size(); ++k) {
      const auto [positions, padded] = axis_window(runs[k], i / divide[k] % counts[k]);
      Dims longer;
      for (int64_t base : window.inside)
        for (int64_t position : positions) longer.push_back(base + position * in_steps[axes.first + k]);
      window.inside = std::move(longer);
      window.padded *= padded;
    }
    w.each.push_back(std::move(window));
  }
  return w;
}

// f(base in x, window, offset in y) for every window of every channel.
void for_each_window(const Windows& w, const std::function<void(int64_t, const Window&, size_t)>& f) {
  for (size_t b = 0; b < w.bases_in.size(); ++b)
    for (size_t k = 0; k < w.each.size(); ++k) f(w.bases_in[b], w.each[k], static_cast<size_t>(w.bases_out[b] + w.offsets[k]));
}

// Offset of the largest element, the first among equals; the first NaN wins; -1 for none.
template <class T> int64_t find_largest(const std::vector<T>& x, int64_t base, const Window& w, bool is_unsigned) {
  int64_t best = -1;
  for (int64_t offset : w.inside) {
    const T v = x[static_cast<size_t>(base + offset)];
    if (best < 0) {
      best = base + offset;
      continue;
    }
    const T top = x[static_cast<size_t>(best)];
    bool above = v > top;
    if constexpr (std::is_same_v<T, double>)
      above = !std::isnan(top) && (above || std::isnan(v));
    else if (is_unsigned)
      above = static_cast<uint64_t>(v) > static_cast<uint64_t>(top);
    if (above) best = base + offset;
  }
  return best;
}

int64_t find_largest(const EvalTensor& x, int64_t base, const Window& w) {
  return x.floating() ? find_largest(x.f, base, w, false) : find_largest(x.i, base, w, x.dtype == DType::kU64);
}

double power_sum(const EvalTensor& x, int64_t base, const Window& w, double p) {
  double sum = 0;
  for (int64_t offset : w.inside) sum += std::pow(std::fabs(x.f[static_cast<size_t>(base + offset)]), p);
  return sum;
}

double divisor(const Node& node, const Window& w) {
  return static_cast<double>(node.i("count_include_pad") != 0 ? w.padded : static_cast<int64_t>(w.inside.size()));
}

void pool_max(const EvalTensor& x, const Windows& windows, EvalTensor* y) {
  for_each_window(windows, [&](int64_t base, const Window& w, size_t to) {
    if (x.floating()) {  // by the order of max, where -0 comes before +0
      double top = -std::numeric_limits<double>::infinity();
      for (const int64_t offset : w.inside) top = nan_max(top, x.f[static_cast<size_t>(base + offset)]);
      y->f[to] = top;
      return;
    }
    const int64_t at = find_largest(x, base, w);
    y->i[to] = at < 0 ? int_min(x.dtype) : x.i[static_cast<size_t>(at)];
  });
}

}  // namespace

Status eval_pool(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const Windows windows = find_windows(c.node, x.dims, y.dims, c.node.s("layout"));
  const double p = static_cast<double>(c.node.i("p"));
  if (c.node.s("kind") == "max") {
    pool_max(x, windows, &y);
  } else if (c.node.s("kind") == "avg") {
    for_each_window(windows, [&](int64_t base, const Window& w, size_t to) {
      double sum = 0;
      for (int64_t offset : w.inside) sum += x.f[static_cast<size_t>(base + offset)];
      y.f[to] = sum / divisor(c.node, w);
    });
  } else {
    for_each_window(windows, [&](int64_t base, const Window& w, size_t to) { y.f[to] = std::pow(power_sum(x, base, w, p), 1 / p); });
  }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_max_pool_indices(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const bool first_fastest = c.node.i("storage_order") != 0;
  const Dims strides = row_major_strides(x.dims);
  for_each_window(find_windows(c.node, x.dims, y.dims, "nchw"), [&](int64_t base, const Window& w, size_t to) {
    const int64_t at = find_largest(x, base, w);
    y.i[to] = at;
    if (!first_fastest || at < 0) return;
    int64_t index = base, step = 1;
    for (size_t k = 2; k < x.dims.size(); step *= x.dims[k], ++k) index += at / strides[k] % x.dims[k] * step;
    y.i[to] = index;
  });
  c.results.push_back(std::move(y));
  return {};
}

Status eval_pool_grad(EvalContext& c) {
  const EvalTensor& dy = c.in(0);
  NNC_ASSIGN(EvalTensor dx, c.make_result(0));
  if (c.has(1) && c.in(1).dims != dx.dims) return Error(Code::kBadInput, "x does not have the extents of the attribute shape");
  const Windows windows = find_windows(c.node, dx.dims, dy.dims, c.node.s("layout"));
  if (element_count(dy.dims) != static_cast<int64_t>(windows.bases_out.size() * windows.each.size()))
    return Error(Code::kBadInput, "dy does not have the pool's extents");
  const double p = static_cast<double>(c.node.i("p"));
  const std::string_view kind = c.node.s("kind");
  for_each_window(windows, [&](int64_t base, const Window& w, size_t from) {
    const double g = dy.f[from];
    if (kind == "max") {
      if (const int64_t at = find_largest(c.in(1), base, w); at >= 0) dx.f[static_cast<size_t>(at)] += g;
      return;
    }
    const double norm = kind == "lp" ? std::pow(power_sum(c.in(1), base, w, p), 1 / p) : 0;
    for (int64_t offset : w.inside) {
      const auto to = static_cast<size_t>(base + offset);
      if (kind == "avg") {
        dx.f[to] += g / divisor(c.node, w);
      } else if (const double v = c.in(1).f[to]; norm != 0 && v != 0) {
        dx.f[to] += g * std::copysign(std::pow(std::fabs(v) / norm, p - 1), v);
      }
    }
  });
  c.results.push_back(std::move(dx));
  return {};
}

}  // namespace nnc

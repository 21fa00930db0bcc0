#include <cmath>

#include "ir/eval.h"
#include "ir/ops/eval_index.h"
#include "ir/ops/resize.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

using Dims = std::vector<int64_t>;

// Source coordinate of one output element, split so that fractions of integers stay exact.
struct Coordinate {
  int64_t floor = 0;
  double fraction = 0;   // in [0, 1)
  bool outside = false;  // tf_crop_and_resize only
};

Coordinate ratio(int64_t num, int64_t den) {
  int64_t q = num / den;
  if (num % den < 0) --q;
  return {q, static_cast<double>(num - q * den) / static_cast<double>(den)};
}

Coordinate real(double x) {
  const double floor = std::floor(x);
  return {static_cast<int64_t>(floor), x - floor};
}

// One resized axis.
struct Axis {
  int64_t axis = 0, in = 0, out = 0;
  double scale = 1;
  bool given_scale = false;
  double roi_begin = 0, roi_end = 1;
};

Coordinate source(const Axis& a, std::string_view mode, int64_t i) {
  const int64_t in = a.in, out = a.out;
  const double x = static_cast<double>(i), last = static_cast<double>(in - 1);
  if (mode == "align_corners") return out == 1 ? Coordinate{} : ratio(i * (in - 1), out - 1);
  if (mode == "tf_crop_and_resize") {
    const double at = out == 1 ? 0.5 * (a.roi_begin + a.roi_end) * last
                               : a.roi_begin * last + x * (a.roi_end - a.roi_begin) * last / static_cast<double>(out - 1);
    Coordinate c = real(at);
    c.outside = at < 0 || at > last;
    return c;
  }
  if (mode == "asymmetric") return a.given_scale ? real(x / a.scale) : ratio(i * in, out);
  if (mode == "pytorch_half_pixel" && out == 1) return {};
  if (!a.given_scale) return ratio((2 * i + 1) * in - out, 2 * out);
  double offset = 0;
  if (mode == "half_pixel_symmetric") {
    const double center = static_cast<double>(in) / 2;
    offset = center * (1 - static_cast<double>(out) / (a.scale * static_cast<double>(in)));
  }
  return real(offset + (x + 0.5) / a.scale - 0.5);
}

// What one output element takes from the axis: input indices and their weights. `outside`: the extrapolation value instead.
struct Tap {
  int64_t index;
  double weight;
};
struct Taps {
  std::vector<Tap> taps;
  bool outside = false;
};

double cubic_kernel(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

int64_t nearest(const Coordinate& c, std::string_view mode) {
  if (mode == "floor") return c.floor;
  if (mode == "ceil") return c.floor + (c.fraction > 0);
  return c.floor + (mode == "round_prefer_floor" ? c.fraction > 0.5 : c.fraction >= 0.5);
}

void normalise(std::vector<Tap>* taps) {
  double sum = 0;
  for (const Tap& t : *taps) sum += t.weight;
  if (sum == 0) return;
  for (Tap& t : *taps) t.weight /= sum;
}

Taps find_taps(const Node& node, const Axis& a, int64_t i) {
  const Coordinate c = source(a, node.s("coordinate_mode"), i);
  Taps result;
  result.outside = c.outside;
  if (c.outside) return result;
  const auto clamp = [&](int64_t k) { return std::max<int64_t>(0, std::min(k, a.in - 1)); };
  if (node.s("mode") == "nearest") {
    result.taps = {{clamp(nearest(c, node.s("nearest_mode"))), 1}};
    return result;
  }
  const bool cubic = node.s("mode") == "cubic", antialias = node.i("antialias") != 0;
  const double stretch = antialias ? std::min(a.scale, 1.0) : 1;
  const int64_t begin = static_cast<int64_t>(std::floor((cubic ? -2 : -1) / stretch)) + 1;
  for (int64_t k = begin; k < 2 - begin; ++k) {
    const double distance = (static_cast<double>(k) - c.fraction) * stretch;
    const double weight = cubic ? cubic_kernel(distance, node.f("cubic_coeff_a")) : std::max(0.0, 1 - std::fabs(distance));
    const int64_t at = c.floor + k;
    const bool excluded = node.i("exclude_outside") != 0 && (at < 0 || at >= a.in);
    result.taps.push_back({clamp(at), excluded ? 0 : weight});
  }
  if (antialias || node.i("exclude_outside") != 0) normalise(&result.taps);
  return result;
}

Result<std::vector<Axis>> resized_axes(const Node& node, const Dims& in, const Dims& out) {
  std::vector<Axis> axes;
  const auto& ids = node.ints("axes");
  const auto &scales = node.floats("scales"), &roi = node.floats("roi");
  for (size_t k = 0; k < ids.size(); ++k) {
    Axis a{ids[k], in[static_cast<size_t>(ids[k])], out[static_cast<size_t>(ids[k])]};
    if (a.in == 0 && a.out > 0) return Error(Code::kBadInput, cat("axis ", a.axis, " has extent 0 and can't grow to ", a.out));
    a.given_scale = !scales.empty();
    a.scale = a.given_scale ? scales[k] : static_cast<double>(a.out) / static_cast<double>(a.in);
    if (roi.size() == 2 * ids.size()) a.roi_begin = roi[k], a.roi_end = roi[k + ids.size()];
    axes.push_back(a);
  }
  return axes;
}

std::vector<Taps> axis_taps(const Node& node, const Axis& a) {
  std::vector<Taps> all;
  for (int64_t i = 0; i < a.out; ++i) all.push_back(find_taps(node, a, i));
  return all;
}

// Along one axis of x (extents `dims`, changed to the output's), each output element from its taps.
template <class T, class F> std::vector<T> along_axis(const std::vector<T>& x, Dims* dims, const Axis& a, F combine) {
  const AxisView v = axis_view(*dims, a.axis);
  (*dims)[static_cast<size_t>(a.axis)] = a.out;
  std::vector<T> y(static_cast<size_t>(v.outer * a.out * v.inner));
  for (int64_t o = 0; o < v.outer; ++o)
    for (int64_t i = 0; i < a.out; ++i) combine(i, x.data() + o * a.in * v.inner, y.data() + (o * a.out + i) * v.inner, v.inner);
  return y;
}

void extrapolate(const std::vector<std::vector<Taps>>& taps, const std::vector<Axis>& axes, double value, EvalTensor* y) {
  for (size_t k = 0; k < axes.size(); ++k) {
    const AxisView v = axis_view(y->dims, axes[k].axis);
    for (int64_t e = 0; e < y->count(); ++e)
      if (taps[k][static_cast<size_t>(e / v.inner % v.extent)].outside) {
        if (y->floating())
          y->f[static_cast<size_t>(e)] = value;
        else
          y->i[static_cast<size_t>(e)] = wrap_int(y->dtype, static_cast<int64_t>(value));
      }
  }
}

template <class T>
std::vector<T> take_nearest(std::vector<T> x, Dims dims, const std::vector<Axis>& axes, const std::vector<std::vector<Taps>>& taps) {
  for (size_t k = 0; k < axes.size(); ++k)
    x = along_axis(x, &dims, axes[k], [&](int64_t i, const T* from, T* to, int64_t inner) {
      const Taps& t = taps[k][static_cast<size_t>(i)];
      if (!t.outside) std::copy_n(from + t.taps[0].index * inner, inner, to);
    });
  return x;
}

std::vector<double> interpolate(std::vector<double> x, Dims dims, const std::vector<Axis>& axes,
                                const std::vector<std::vector<Taps>>& taps) {
  for (size_t k = 0; k < axes.size(); ++k)
    x = along_axis(x, &dims, axes[k], [&](int64_t i, const double* from, double* to, int64_t inner) {
      for (const Tap& t : taps[k][static_cast<size_t>(i)].taps)
        for (int64_t j = 0; j < inner; ++j) to[j] += t.weight * from[t.index * inner + j];
    });
  return x;
}

void store_integers(const std::vector<double>& from, EvalTensor* y) {
  for (size_t k = 0; k < from.size(); ++k) {
    int64_t bits = 0;
    store_f64(y->dtype, &bits, 0, std::nearbyint(from[k]));
    y->i[k] = load_i64(y->dtype, &bits, 0);
  }
}

}  // namespace

Status eval_resize(EvalContext& c) {
  const EvalTensor& x = c.in(0);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  NNC_ASSIGN(const std::vector<Axis> axes, resized_axes(c.node, x.dims, y.dims));
  std::vector<std::vector<Taps>> taps;
  for (const Axis& a : axes) taps.push_back(axis_taps(c.node, a));
  if (c.node.s("mode") == "nearest") {
    if (x.floating())
      y.f = take_nearest(x.f, x.dims, axes, taps);
    else
      y.i = take_nearest(x.i, x.dims, axes, taps);
  } else if (x.floating()) {
    y.f = interpolate(x.f, x.dims, axes, taps);
  } else {
    std::vector<double> wide;
    for (int64_t k = 0; k < x.count(); ++k) wide.push_back(x.as_f64(k));
    store_integers(interpolate(std::move(wide), x.dims, axes, taps), &y);
  }
  extrapolate(taps, axes, c.node.f("extrapolation_value"), &y);
  c.results.push_back(std::move(y));
  return {};
}

Status eval_resize_grad(EvalContext& c) {
  NNC_ASSIGN(EvalTensor dx, c.make_result(0));
  NNC_ASSIGN(const std::vector<Axis> axes, resized_axes(c.node, dx.dims, c.in(0).dims));
  std::vector<std::vector<Taps>> taps;
  for (const Axis& a : axes) taps.push_back(axis_taps(c.node, a));
  EvalTensor g = c.in(0);
  extrapolate(taps, axes, 0, &g);  // those elements did not come from x
  for (size_t k = axes.size(); k-- > 0;) {
    const Axis& a = axes[k];
    const AxisView v = axis_view(g.dims, a.axis);
    std::vector<double> image(static_cast<size_t>(v.outer * a.in * v.inner));
    for (int64_t o = 0; o < v.outer; ++o)
      for (int64_t i = 0; i < a.out; ++i)
        for (const Tap& t : taps[k][static_cast<size_t>(i)].taps)
          for (int64_t j = 0; j < v.inner; ++j)
            image[static_cast<size_t>((o * a.in + t.index) * v.inner + j)] +=
                t.weight * g.f[static_cast<size_t>((o * a.out + i) * v.inner + j)];
    g.f = std::move(image);
    g.dims[static_cast<size_t>(a.axis)] = a.in;
  }
  dx.f = std::move(g.f);
  c.results.push_back(std::move(dx));
  return {};
}

}  // namespace nnc

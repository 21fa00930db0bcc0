// Transposed convolutions and gradients of convolutions as convolutions: no kernel takes them whole. All that is done to a weight folds
// where that is constant.

#include "ir/ops/contract.h"
#include "ir/ops/conv.h"
#include "ir/ops/spelling.h"

namespace nnc {

namespace {

using Ints = std::vector<int64_t>;

// What attributes and shapes say, the weight as a convolution from the image (per group `in` channels) to the windows (`out` channels).
struct Form {
  bool last = false, hwio = false;  // layout nhwc, w_format hwio
  size_t spatial = 0, first = 2, channel = 1;
  int64_t group = 1;
  Ints kernel, stride, dilation;
  std::vector<Padding> pads;
  Dim in, out_per_group;
  // Channels of all phases as (phase..., M), so that the last axis stays in place when they are spread; grouped outputs have their group
  // first.
  bool phases_first() const { return last && hwio && group == 1; }
};

Result<Form> form_of(Expansion& t, const Shape& image, const Shape& windows, const Shape& w) {
  const Node& n = t.node();
  Form f;
  const ImageAxes axes = image_axes(n.s("layout"), static_cast<int>(image.size()));
  f.last = n.s("layout") == "nhwc";
  f.spatial = axes.spatial, f.first = axes.first, f.channel = axes.channel;
  f.group = n.i("group");
  if (is_packed(n.s("w_format"))) return Error(Code::kUnsupportedOp, "a transposed convolution is expanded before its weight is packed");
  f.hwio = n.s("w_format") == "hwio";
  const auto at = [&](std::string_view name, size_t k, int64_t fallback) { return n.ints(name).empty() ? fallback : n.ints(name)[k]; };
  for (size_t k = 0; k < f.spatial; ++k) {
    const Dim& extent = w[f.hwio ? k : k + 2];
    if (!extent.is_const()) return Error(Code::kNeedDims, "the extents of the kernel must be numbers").with("try: --dim NAME=N for them");
    f.kernel.push_back(extent.constant());
    f.stride.push_back(at("strides", k, 1));
    f.dilation.push_back(at("dilations", k, 1));
    const WindowAxis axis{extent, f.stride[k], f.dilation[k], at("pads_begin", k, 0), at("pads_end", k, 0)};
    f.pads.push_back(window_padding(t.symbols(), image[f.first + k], windows[f.first + k], axis,
                                    n.kind == OpKind::kConvTranspose ? "notset" : n.s("auto_pad")));
  }
  f.in = w[f.hwio ? f.spatial : 1];
  f.out_per_group = t.symbols().floordiv(w[f.hwio ? f.spatial + 1 : 0], f.group);
  return f;
}

ValueId pad_by(Gradient& t, ValueId v, const Shape& before, const Shape& after) {
  bool nothing = !v.valid();
  if (!nothing) nothing = before == Shape(before.size(), 0) && after == Shape(after.size(), 0);
  return nothing ? v : t.op(OpKind::kPad, {v}, {{"before", before}, {"after", after}, {"mode", std::string("constant")}});
}

// The weight as [group, out / group, in, kernel...].
ValueId grouped_weight(Gradient& t, const Form& f, ValueId w) {
  if (!w.valid()) return w;
  Shape shape = t.shape(w);
  const auto s = static_cast<int64_t>(f.spatial);
  if (!f.hwio) {
    shape[0] = f.out_per_group;
    shape.insert(shape.begin(), Dim(f.group));
    return t.reshape(w, shape);
  }
  shape[f.spatial + 1] = f.group;
  shape.push_back(f.out_per_group);
  Ints perm = {s + 1, s + 2, s};
  for (int64_t k = 0; k < s; ++k) perm.push_back(k);
  return t.transpose(t.reshape(w, shape), perm);
}

// Zeros between the elements of a dilated kernel, so that what follows knows only kernels without gaps. Changes f.
ValueId fill_gaps(Gradient& t, Form& f, ValueId w) {
  for (size_t k = 0; k < f.spatial; ++k) {
    const int64_t d = f.dilation[k], n = f.kernel[k];
    f.dilation[k] = 1;
    if (d == 1 || n <= 1 || !w.valid()) continue;
    const size_t axis = 3 + k;
    Shape shape = t.shape(w), before(shape.size() + 1, 0), after = before;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, Dim(1));
    after[axis + 1] = d - 1;
    w = pad_by(t, t.reshape(w, shape), before, after);
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    shape[axis] = n * d;
    w = t.reshape(w, shape);
    f.kernel[k] = (n - 1) * d + 1;
    if (w.valid()) w = t.keep(t.builder().slice(w, {static_cast<int64_t>(axis)}, {0}, {f.kernel[k]}, {1}));
  }
  return w;
}

// The weight [group, C, M, kernel...] of the direction windows -> image as that of a convolution without stride, which makes all `stride`
// neighbouring elements of the image at once, as channels: output channels (group, M, phase...), taps = ceil(kernel / stride), in reverse.
ValueId phase_weight(Gradient& t, const Form& f, ValueId w, Ints* taps) {
  if (!w.valid()) return w;
  const auto s = static_cast<int64_t>(f.spatial);
  const Shape from = t.shape(w);
  Shape before(3 + f.spatial, 0), after = before, split(from.begin(), from.begin() + 3);
  Ints axes, steps;
  Shape starts, ends;
  int64_t phases = 1;
  for (size_t k = 0; k < f.spatial; ++k) {
    taps->push_back((f.kernel[k] + f.stride[k] - 1) / f.stride[k]);
    after[3 + k] = taps->back() * f.stride[k] - f.kernel[k];
    split.insert(split.end(), {Dim(taps->back()), Dim(f.stride[k])});
    phases *= f.stride[k];
    axes.push_back(3 + 2 * static_cast<int64_t>(k));
    starts.emplace_back(taps->back() - 1);
    ends.emplace_back(-1);
    steps.push_back(-1);
  }
  w = t.reshape(pad_by(t, w, before, after), split);
  if (w.valid()) w = t.keep(t.builder().slice(w, axes, starts, ends, steps));
  Ints perm, tap_axes, phase_axes;  // of [group, C, M, tap, phase, ...]
  for (int64_t k = 0; k < s; ++k) {
    tap_axes.push_back(3 + 2 * k);
    phase_axes.push_back(4 + 2 * k);
  }
  const auto put = [&](const Ints& more) { perm.insert(perm.end(), more.begin(), more.end()); };
  SymbolTable& sym = t.symbols();
  const Dim outputs = sym.mul(sym.mul(f.in, f.group), phases);
  Shape shape;
  if (f.hwio) {
    put(tap_axes);
    if (f.phases_first())
      put({1}), put(phase_axes), put({0, 2});
    else
      put({1, 0, 2}), put(phase_axes);
    shape.assign(taps->begin(), taps->end());
    shape.insert(shape.end(), {f.out_per_group, outputs});
  } else {
    put({0, 2}), put(phase_axes), put({1}), put(tap_axes);
    shape = {outputs, f.out_per_group};
    shape.insert(shape.end(), taps->begin(), taps->end());
  }
  return t.reshape(t.transpose(w, perm), shape);
}

// Channels (M, phase...) to their places between the elements: [.., q, ..] of channels to [.., q * stride + phase, ..].
ValueId interleave(Gradient& t, const Form& f, ValueId y) {
  if (!y.valid()) return y;
  const Shape from = t.shape(y);
  const Dim channels = t.symbols().mul(f.in, f.group);
  const auto s = static_cast<int64_t>(f.spatial);
  Shape split, joined;
  Ints perm;
  // [N, M, phase..., q...], [N, q..., M, phase...] or [N, q..., phase..., M]
  split.push_back(from[0]);
  if (!f.last) split.push_back(channels);
  if (f.last)
    split.insert(split.end(), from.begin() + 1, from.begin() + 1 + s);
  else
    split.insert(split.end(), f.stride.begin(), f.stride.end());
  if (f.last && !f.phases_first()) split.push_back(channels);
  if (f.last)
    split.insert(split.end(), f.stride.begin(), f.stride.end());
  else
    split.insert(split.end(), from.begin() + 2, from.end());
  if (f.phases_first()) split.push_back(channels);
  const int64_t first_phase = f.phases_first() ? 1 + s : 2 + s;
  perm.push_back(0);
  if (!f.last) perm.push_back(1);
  for (int64_t k = 0; k < s; ++k) perm.insert(perm.end(), {f.last ? 1 + k : 2 + s + k, f.last ? first_phase + k : 2 + k});
  if (f.last) perm.push_back(f.phases_first() ? 1 + 2 * s : 1 + s);
  joined = from;
  joined[f.channel] = channels;
  for (size_t k = 0; k < f.spatial; ++k) joined[f.first + k] = t.symbols().mul(from[f.first + k], f.stride[k]);
  return t.reshape(t.transpose(t.reshape(y, split), perm), joined);
}

AttrList conv_attrs(const Gradient& t, const Ints& strides, const Ints& dilations, const Ints& pads, int64_t group) {
  return {{"strides", strides},
          {"dilations", dilations},
          {"pads_begin", pads},
          {"pads_end", pads},
          {"group", group},
          {"layout", std::string(t.node().s("layout"))},
          {"w_format", std::string(t.node().s("w_format"))}};
}

// From windows to the image of extents `image`, without bias.
Result<ValueId> to_image(Expansion& t, ValueId windows, ValueId weight, const Shape& image) {
  NNC_ASSIGN(Form f, form_of(t, image, t.shape(windows), t.shape(weight)));
  const ValueId w = fill_gaps(t, f, grouped_weight(t, f, weight));
  Ints taps;
  const ValueId phased = phase_weight(t, f, w, &taps);
  Ints pads, ones(f.spatial, 1);
  for (const int64_t n : taps) pads.push_back(n - 1);
  const ValueId y = interleave(t, f, t.op(OpKind::kConv, {windows, phased}, conv_attrs(t, ones, ones, pads, f.group)));
  if (!y.valid()) return y;
  Shape before(image.size(), 0), after = before;
  for (size_t k = 0; k < f.spatial; ++k) {
    const Dim made = t.shape(y)[f.first + k];
    before[f.first + k] = t.symbols().sub(0, f.pads[k].begin);
    after[f.first + k] = t.symbols().sub(t.symbols().add(image[f.first + k], f.pads[k].begin), made);
  }
  return pad_by(t, y, before, after);
}

}  // namespace

Status expand_conv_transpose(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results) {
  Expansion t(b, g, id);
  const Shape image = t.shape(t.y());
  NNC_ASSIGN(ValueId y, to_image(t, t.x(0), t.x(1), image));
  if (t.has(2)) y = t.add(y, along(t, t.x(2), image_axes(t.node().s("layout"), static_cast<int>(image.size())).channel, image.size()));
  return t.finish({y}, results);
}

Status expand_conv_input_grad(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results) {
  Expansion t(b, g, id);
  NNC_ASSIGN(const ValueId y, to_image(t, t.x(0), t.x(1), Shape(t.node().dims("shape"))));
  return t.finish({y}, results);
}

// The image's channels as batch, the batch as channels to add over, the windows as the kernel: its elements lie `stride` apart, and step by
// `dilation`.
Status expand_conv_filter_grad(Builder& b, const Graph& g, NodeId id, std::vector<ValueId>* results) {
  Expansion t(b, g, id);
  const Shape image = t.shape(t.x(0)), windows = t.shape(t.x(1)), filter = t.node().dims("shape");
  NNC_ASSIGN(const Form f, form_of(t, image, windows, filter));
  const auto s = static_cast<int64_t>(f.spatial);
  Shape before(image.size(), 0), after = before;
  for (size_t k = 0; k < f.spatial; ++k) before[f.first + k] = f.pads[k].begin, after[f.first + k] = f.pads[k].end;
  const ValueId x = pad_by(t, t.x(0), before, after);
  if (!x.valid()) return t.finish({x}, results);
  // [N, (group, in), ...] to [in, (group, N), ...]
  const Shape padded = t.shape(x);
  Shape split = padded, swapped = padded;
  split[f.channel] = f.group;
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(f.channel) + 1, f.in);
  swapped[0] = f.in;
  swapped[f.channel] = t.symbols().mul(padded[0], f.group);
  const auto c = static_cast<int64_t>(f.channel);
  Ints perm = {c + 1};
  if (!f.last) perm.insert(perm.end(), {c, 0});
  for (int64_t k = 0; k < s; ++k) perm.push_back(f.last ? 1 + k : 3 + k);
  if (f.last) perm.insert(perm.end(), {c, 0});
  const ValueId lhs = t.reshape(t.transpose(t.reshape(x, split), perm), swapped);
  // The windows as a weight from N to M channels: [M, N, ...] or [..., N, M].
  Ints weight_perm;
  if (!f.hwio) weight_perm = {c, 0};
  for (int64_t k = 0; k < s; ++k) weight_perm.push_back(static_cast<int64_t>(f.first) + k);
  if (f.hwio) weight_perm.insert(weight_perm.end(), {0, c});
  const ValueId rhs = t.transpose(t.x(1), weight_perm);
  ValueId y = t.op(OpKind::kConv, {lhs, rhs}, conv_attrs(t, f.dilation, f.stride, Ints(f.spatial, 0), f.group));
  if (!y.valid()) return t.finish({y}, results);
  // [in, M, k...] or [in, k..., M]; rows of the image that no window reaches make elements beyond the kernel.
  Shape kept = t.shape(y);
  for (size_t k = 0; k < f.spatial; ++k) kept[f.first + k] = f.kernel[k];
  if (kept != t.shape(y)) y = t.keep(b.slice(y, axes_from(0, kept.size()), Shape(kept.size(), 0), kept, Ints(kept.size(), 1)));
  Ints back;
  if (!f.hwio) back = {c, 0};
  for (int64_t k = 0; k < s; ++k) back.push_back(static_cast<int64_t>(f.first) + k);
  if (f.hwio) back.insert(back.end(), {0, c});
  return t.finish({t.transpose(y, back)}, results);
}

}  // namespace nnc

// Products, convolutions, pools, resizing, LSTM.

#include <algorithm>
#include <cmath>

#include "frontend/onnx/context.h"
#include "frontend/onnx/import_model.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/shape_values.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

Status matmul(NodeContext& c) { return c.set(c.b().matmul(c.in(0), c.in(1))); }

// alpha * A' * B' + beta * C
Status gemm(NodeContext& c) {
  const double alpha = c.f("alpha", 1), beta = c.f("beta", 1);
  if (c.rank(0) != 2 || c.rank(1) != 2) return c.error(cat("A and B must be matrices, they are of rank ", c.rank(0), " and ", c.rank(1)));
  Builder& b = c.b();
  NNC_ASSIGN(ValueId product, b.op(OpKind::kMatMul, {c.in(0), c.in(1)}, {{"transpose_a", int64_t{c.flag("transA", false)}}, {"transpose_b", int64_t{c.flag("transB", false)}}}));
  const auto scaled = [&](ValueId v, double factor) -> Result<ValueId> {
    if (factor == 1) return v;
    NNC_ASSIGN(const ValueId f, b.scalar(b.dtype(v), factor));
    return b.binary(OpKind::kMul, v, f);
  };
  NNC_ASSIGN(product, scaled(product, alpha));
  if (!c.has(2) || beta == 0) return c.set(product);
  NNC_ASSIGN(const ValueId addend, scaled(c.in(2), beta));
  return c.set(b.binary(OpKind::kAdd, product, addend));
}

// Attributes that windows share. Pads come as all begins, then all ends.
struct Windows {
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  std::string auto_pad = "notset";
};
Result<Windows> windows(NodeContext& c, size_t spatial) {
  Windows w;
  NNC_ASSIGN(const std::string pad, c.choice("auto_pad", "NOTSET", "NOTSET|SAME_UPPER|SAME_LOWER|VALID"));
  const std::vector<int64_t> pads = c.ints("pads");
  w.strides = c.ints("strides");
  w.dilations = c.ints("dilations");
  for (const auto& [name, list] : {std::pair("strides", &w.strides), std::pair("dilations", &w.dilations)}) {
    if (!list->empty() && list->size() != spatial) return c.error(cat("attribute \"", name, "\" has ", list->size(), " numbers for ", spatial, " spatial axes"));
    if (std::ranges::any_of(*list, [](int64_t v) { return v < 1 || v > kDimMax; })) return c.error(cat("attribute \"", name, "\" must be positive"));
  }
  if (pad == "SAME_UPPER") w.auto_pad = "same_upper";
  if (pad == "SAME_LOWER") w.auto_pad = "same_lower";
  if (pad == "NOTSET" && !pads.empty()) {
    if (pads.size() != 2 * spatial) return c.error(cat("attribute \"pads\" has ", pads.size(), " numbers for ", spatial, " spatial axes; each needs two"));
    if (std::ranges::any_of(pads, [](int64_t v) { return v < -kDimMax || v > kDimMax; })) return c.error("a pad is larger than any axis can be");
    w.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
    w.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  }
  return w;
}
AttrList window_attrs(Windows w) {
  AttrList attrs = {{"auto_pad", std::move(w.auto_pad)}};
  if (!w.strides.empty()) attrs.push_back({"strides", std::move(w.strides)});
  if (!w.dilations.empty()) attrs.push_back({"dilations", std::move(w.dilations)});
  if (!w.pads_begin.empty()) attrs.push_back({"pads_begin", std::move(w.pads_begin)});
  if (!w.pads_end.empty()) attrs.push_back({"pads_end", std::move(w.pads_end)});
  return attrs;
}

// The weight's own extents are what counts; an attribute that disagrees is an error.
Status check_kernel_shape(NodeContext& c) {
  const std::vector<int64_t> kernel = c.ints("kernel_shape");
  if (kernel.empty()) return {};
  if (static_cast<int>(kernel.size()) != c.rank(1) - 2) return c.error(cat("attribute \"kernel_shape\" has ", kernel.size(), " numbers, the weight ", c.rank(1) - 2, " spatial axes"));
  for (size_t k = 0; k < kernel.size(); ++k) NNC_TRY(assert_equal(c, c.shape(1)[k + 2], kernel[k], cat("the weight's extent on spatial axis ", k)));
  return {};
}

Status check_image(NodeContext& c) {
  if (c.rank(0) < 3) return c.error(cat("the input must have batch, channels and at least one spatial axis, it is of rank ", c.rank(0)));
  return {};
}

Status conv(NodeContext& c) {
  NNC_TRY(check_image(c));
  if (c.rank(1) != c.rank(0)) return c.error(cat("the weight must be of the input's rank ", c.rank(0), ", it is of rank ", c.rank(1)));
  NNC_TRY(check_kernel_shape(c));
  NNC_ASSIGN(Windows w, windows(c, static_cast<size_t>(c.rank(0) - 2)));
  AttrList attrs = window_attrs(std::move(w));
  attrs.push_back({"group", c.i("group", 1)});
  return c.set(OpKind::kConv, {c.in(0), c.in(1), c.in(2)}, std::move(attrs));
}

// Pads that give the wanted output: what the plain transposed convolution has too much, split between begin and end. The odd element goes to the end with
// SAME_UPPER, else to the begin.
Status fit_output(NodeContext& c, Windows& w, const std::vector<int64_t>& output_padding, const std::vector<int64_t>& output_shape) {
  const size_t spatial = static_cast<size_t>(c.rank(0) - 2);
  const auto at = [](const std::vector<int64_t>& v, size_t k, int64_t fallback) { return v.empty() ? fallback : v[k]; };
  if (!output_shape.empty() && output_shape.size() != spatial) return c.error(cat("attribute \"output_shape\" has ", output_shape.size(), " numbers for ", spatial, " spatial axes"));
  const bool upper = w.auto_pad == "same_upper";
  w.pads_begin.assign(spatial, 0);
  w.pads_end.assign(spatial, 0);
  SymbolTable& t = c.symbols();
  for (size_t k = 0; k < spatial; ++k) {
    const int64_t stride = at(w.strides, k, 1), dilation = at(w.dilations, k, 1);
    const Dim in = c.shape(0)[k + 2];
    const Dim wanted = output_shape.empty() ? t.mul(in, stride) : Dim(output_shape[k]);
    const Dim reach = t.add(t.mul(t.sub(c.shape(1)[k + 2], 1), dilation), 1 + at(output_padding, k, 0));
    const Dim surplus = t.sub(t.add(t.mul(t.sub(in, 1), stride), reach), wanted);
    NNC_ASSIGN(const std::vector<int64_t> total, known_dims(c, {surplus}, "the padding that gives the wanted output"));
    const int64_t pad = total[0];
    const int64_t half = pad >> 1;  // rounds down, also where the output is larger than the plain one
    w.pads_begin[k] = upper ? half : pad - half;
    w.pads_end[k] = upper ? pad - half : half;
  }
  w.auto_pad = "notset";
  return {};
}

Status conv_transpose(NodeContext& c) {
  NNC_TRY(check_image(c));
  if (c.rank(1) != c.rank(0)) return c.error(cat("the weight must be of the input's rank ", c.rank(0), ", it is of rank ", c.rank(1)));
  NNC_TRY(check_kernel_shape(c));
  NNC_ASSIGN(Windows w, windows(c, static_cast<size_t>(c.rank(0) - 2)));
  std::vector<int64_t> output_padding = c.ints("output_padding");
  const std::vector<int64_t> output_shape = c.ints("output_shape");
  if (!output_padding.empty() && output_padding.size() != static_cast<size_t>(c.rank(0) - 2)) return c.error("attribute \"output_padding\" must have one number per spatial axis");
  if (std::ranges::any_of(output_padding, [](int64_t v) { return v < 0 || v > kDimMax; })) return c.error("attribute \"output_padding\" must not be negative");
  if (w.auto_pad != "notset" || !output_shape.empty()) NNC_TRY(fit_output(c, w, output_padding, output_shape));
  AttrList attrs = window_attrs(std::move(w));
  std::erase_if(attrs, [](const NamedAttr& a) { return a.name == "auto_pad"; });
  attrs.push_back({"group", c.i("group", 1)});
  if (!output_padding.empty()) attrs.push_back({"output_padding", std::move(output_padding)});
  return c.set(OpKind::kConvTranspose, {c.in(0), c.in(1), c.in(2)}, std::move(attrs));
}

Status pool(NodeContext& c) {
  NNC_TRY(check_image(c));
  const auto spatial = static_cast<size_t>(c.rank(0) - 2);
  const std::vector<int64_t> kernel = c.ints("kernel_shape");
  if (kernel.size() != spatial) return c.error(cat("attribute \"kernel_shape\" has ", kernel.size(), " numbers for ", spatial, " spatial axes"));
  NNC_ASSIGN(Windows w, windows(c, spatial));
  AttrList attrs = window_attrs(std::move(w));
  attrs.push_back({"kernel", kernel});
  attrs.push_back({"ceil_mode", int64_t{c.flag("ceil_mode", false)}});
  const bool is_max = c.row().text == "max";
  if (is_max && c.wants(1)) {
    AttrList index_attrs = attrs;
    index_attrs.push_back({"storage_order", c.i("storage_order", 0)});
    NNC_ASSIGN(const ValueId indices, c.b().op(OpKind::kMaxPoolIndices, {c.in(0)}, std::move(index_attrs)));
    c.out(1, indices);
  }
  c.ignore_attr("storage_order");
  attrs.push_back({"kind", std::string(c.row().text)});
  if (!is_max) attrs.push_back({"count_include_pad", int64_t{c.flag("count_include_pad", false)}});
  return c.set(OpKind::kPool, {c.in(0)}, std::move(attrs));
}

Status global_pool(NodeContext& c) {
  NNC_TRY(check_image(c));
  std::vector<int64_t> axes = all_axes(c.rank(0));
  axes.erase(axes.begin(), axes.begin() + 2);
  return c.set(c.b().reduce(c.row().text, c.in(0), std::move(axes), true));
}

// What Resize asks for, whatever the opset: extents per axis, and the factors where they are not simply out / in.
struct ResizeSpec {
  std::vector<int64_t> axes;
  Shape sizes;
  std::vector<double> scales;
  std::vector<double> roi;  // starts, then ends
};

Status sizes_from_scales(NodeContext& c, ResizeSpec& spec, const std::vector<double>& scales) {
  SymbolTable& t = c.symbols();
  bool exact = true;
  for (size_t k = 0; k < spec.axes.size(); ++k) {
    const Dim in = c.shape(0)[static_cast<size_t>(spec.axes[k])];
    const double s = scales[k];
    if (!(s > 0) || !std::isfinite(s)) return c.error(cat("a scale of ", s, "; scales must be positive"));
    const std::optional<Rational> r = exact_rational(s);
    if (in.is_const()) {
      const double out = static_cast<double>(in.constant()) * s;
      if (out > static_cast<double>(kDimMax)) return c.error("the resized axis is larger than any tensor can be");
      spec.sizes.emplace_back(static_cast<int64_t>(std::floor(out)));
      exact &= std::floor(out) == out;
    } else {
      if (!r || !r->dim.is_const()) return c.error(cat("the scale ", s, " is no fraction"));
      spec.sizes.push_back(t.round(in, r->dim.constant(), r->den, 0));
      exact &= r->den == 1;
    }
  }
  if (!exact) spec.scales = scales;
  return {};
}

// Sizes that keep the picture's proportions: one factor for all axes.
Status keep_aspect_ratio(NodeContext& c, ResizeSpec& spec, bool larger) {
  Shape in;
  for (const int64_t a : spec.axes) in.push_back(c.shape(0)[static_cast<size_t>(a)]);
  NNC_ASSIGN(const std::vector<int64_t> from, known_dims(c, in, "the resized extents (keep_aspect_ratio_policy)"));
  NNC_ASSIGN(const std::vector<int64_t> to, known_dims(c, spec.sizes, "the wanted extents (keep_aspect_ratio_policy)"));
  double factor = larger ? 0 : INFINITY;
  for (size_t k = 0; k < from.size(); ++k) {
    if (from[k] == 0) return c.error("an axis of extent 0 has no proportions to keep");
    const double f = static_cast<double>(to[k]) / static_cast<double>(from[k]);
    factor = larger ? std::max(factor, f) : std::min(factor, f);
  }
  for (size_t k = 0; k < from.size(); ++k) {
    const double out = std::floor(static_cast<double>(from[k]) * factor + 0.5);  // half rounds up
    if (!(out < static_cast<double>(kDimMax))) return c.error("the resized axis is larger than any tensor can be");
    spec.sizes[k] = Dim(static_cast<int64_t>(out));
  }
  spec.scales.assign(from.size(), factor);
  return {};
}

Result<std::vector<double>> known_numbers(NodeContext& c, int input, std::string_view what) {
  const auto t = c.importer().fold(c.graph(), c.in(input));
  if (!t) return c.importer().need_values(c.graph(), c.in(input), cat(what, " must be known when the model is compiled"));
  std::vector<double> out;
  for (int64_t k = 0; k < t->count(); ++k) out.push_back(t->f64(k));
  return out;
}

// Scales computed from extents, as target / in: each size follows exactly, and out / in is the scale.
bool sizes_from_fractions(NodeContext& c, ResizeSpec& spec, const ShapeValue& scales) {
  if (scales.elems.size() != spec.axes.size()) return false;
  SymbolTable& t = c.symbols();
  Shape sizes;
  for (size_t k = 0; k < spec.axes.size(); ++k) {
    const auto& r = scales.elems[k];
    if (!r || r->den < 1) return false;
    const auto size = t.div_exact(t.mul(t.mul(c.shape(0)[static_cast<size_t>(spec.axes[k])], r->dim), r->num), r->den);
    if (!size) return false;
    sizes.push_back(*size);
  }
  spec.sizes = std::move(sizes);
  return true;
}

Status scales_input(NodeContext& c, ResizeSpec& spec, int input) {
  const Dim count = c.rank(input) == 1 ? c.shape(input)[0] : Dim(-1);
  if (!is_float(c.dtype(input)) || !count.is_const(static_cast<int64_t>(spec.axes.size()))) {
    return c.error(cat("scales must be a vector with one number per resized axis (", spec.axes.size(), "), got ", type_pretty(c.symbols(), c.type(input))));
  }
  auto scales = known_numbers(c, input, "the scales");
  if (scales.ok()) return sizes_from_scales(c, spec, *scales);
  if (sizes_from_fractions(c, spec, c.graph().shape_value(c.in(input)))) return {};
  return std::move(scales).error();
}

// In ascending order of the axes; those that keep their extent drop out.
Result<ValueId> emit_resize(NodeContext& c, ValueId x, const ResizeSpec& spec, AttrList attrs, bool keep_all) {
  std::vector<size_t> order(spec.axes.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::ranges::sort(order, {}, [&](size_t k) { return spec.axes[k]; });
  ResizeSpec left;
  std::vector<double> ends;
  for (const size_t k : order) {
    const Dim in = c.shape(0)[static_cast<size_t>(spec.axes[k])];
    if (!keep_all && spec.sizes[k] == in && (spec.scales.empty() || spec.scales[k] == 1)) continue;
    left.axes.push_back(spec.axes[k]);
    left.sizes.push_back(spec.sizes[k]);
    if (!spec.scales.empty()) left.scales.push_back(spec.scales[k]);
    if (spec.roi.empty()) continue;
    left.roi.push_back(spec.roi[k]);
    ends.push_back(spec.roi[k + spec.axes.size()]);
  }
  if (left.axes.empty()) return x;
  left.roi.insert(left.roi.end(), ends.begin(), ends.end());
  attrs.push_back({"axes", std::move(left.axes)});
  attrs.push_back({"sizes", std::move(left.sizes)});
  if (!left.scales.empty()) attrs.push_back({"scales", std::move(left.scales)});
  if (!left.roi.empty()) attrs.push_back({"roi", std::move(left.roi)});
  return c.b().op(OpKind::kResize, {x}, std::move(attrs));
}

// Upsample, and Resize of opset 10: coordinates i / scale; the nearest element is the one below, on axes that shrink the one above.
Status resize_by_scales(NodeContext& c) {
  NNC_ASSIGN(const std::string mode, c.choice("mode", "nearest", "nearest|linear|bilinear"));
  ResizeSpec spec;
  spec.axes = all_axes(c.rank(0));
  if (c.row().max_inputs == 1) {
    const std::vector<float> given = c.floats("scales");
    if (given.size() != spec.axes.size()) return c.error(cat(given.size(), " scales for ", spec.axes.size(), " axes"));
    NNC_TRY(sizes_from_scales(c, spec, {given.begin(), given.end()}));
  } else {
    NNC_TRY(scales_input(c, spec, 1));
  }
  const auto attrs = [&](std::string_view nearest) {
    return AttrList{{"mode", std::string(mode == "nearest" ? "nearest" : "linear")}, {"coordinate_mode", std::string("asymmetric")}, {"nearest_mode", std::string(nearest)}};
  };
  if (mode != "nearest") return c.set(emit_resize(c, c.in(0), spec, attrs("floor"), false));
  ResizeSpec shrink, grow;
  for (size_t k = 0; k < spec.axes.size(); ++k) {
    const Dim in = c.shape(0)[static_cast<size_t>(spec.axes[k])];
    ResizeSpec& part = c.symbols().at_most(c.symbols().sub(spec.sizes[k], in), int64_t{-1}) == Ternary::kYes ? shrink : grow;
    part.axes.push_back(spec.axes[k]);
    part.sizes.push_back(spec.sizes[k]);
    if (!spec.scales.empty()) part.scales.push_back(spec.scales[k]);
  }
  NNC_ASSIGN(const ValueId shrunk, emit_resize(c, c.in(0), shrink, attrs("ceil"), false));
  return c.set(emit_resize(c, shrunk, grow, attrs("floor"), false));
}

Status resize(NodeContext& c) {
  NNC_ASSIGN(const std::string mode, c.choice("mode", "nearest", "nearest|linear|cubic"));
  NNC_ASSIGN(const std::string coordinates, c.choice("coordinate_transformation_mode", "half_pixel",
                                                     c.version() >= 19 ? "half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|tf_crop_and_resize"
                                                                       : "half_pixel|pytorch_half_pixel|align_corners|asymmetric|tf_crop_and_resize"));
  NNC_ASSIGN(const std::string nearest, c.choice("nearest_mode", "round_prefer_floor", "round_prefer_floor|round_prefer_ceil|floor|ceil"));
  std::string policy = "stretch";
  if (c.version() >= 18) {
    NNC_ASSIGN(policy, c.choice("keep_aspect_ratio_policy", "stretch", "stretch|not_larger|not_smaller"));
  }
  ResizeSpec spec;
  spec.axes = c.version() >= 18 && c.has_attr("axes") ? c.ints("axes") : all_axes(c.rank(0));
  NNC_TRY(c.sorted_axes(spec.axes, c.rank(0)));  // distinct and in range; scales and sizes come in the order given
  for (int64_t& a : spec.axes) a = a < 0 ? a + c.rank(0) : a;
  const auto given = [&](int k) { return c.has(k) && !(c.rank(k) == 1 && c.shape(k)[0].is_const(0)); };
  if (given(2) == given(3)) return c.error("exactly one of scales and sizes must be given");
  if (given(2)) {
    NNC_TRY(scales_input(c, spec, 2));
  } else {
    NNC_ASSIGN(spec.sizes, c.dims(3, 0, kDimMax));
    if (spec.sizes.size() != spec.axes.size()) return c.error(cat(spec.sizes.size(), " sizes for ", spec.axes.size(), " axes"));
    if (policy != "stretch") NNC_TRY(keep_aspect_ratio(c, spec, policy == "not_smaller"));
  }
  AttrList attrs = {{"mode", mode}, {"coordinate_mode", coordinates}, {"nearest_mode", nearest}, {"cubic_coeff_a", c.f("cubic_coeff_a", -0.75)},
                    {"exclude_outside", int64_t{c.flag("exclude_outside", false)}}, {"extrapolation_value", c.f("extrapolation_value", 0)}};
  if (c.version() >= 18) attrs.push_back({"antialias", int64_t{c.flag("antialias", false) && mode != "nearest"}});
  const bool crop = coordinates == "tf_crop_and_resize";
  if (crop) {
    if (!c.has(1)) return c.error("tf_crop_and_resize needs the input roi");
    NNC_ASSIGN(std::vector<double> roi, known_numbers(c, 1, "the region (roi)"));
    if (roi.size() != 2 * spec.axes.size()) return c.error(cat("roi has ", roi.size(), " numbers for ", spec.axes.size(), " axes; each needs two"));
    spec.roi = std::move(roi);
  }
  return c.set(emit_resize(c, c.in(0), spec, std::move(attrs), crop));
}

std::string lower_snake(std::string_view name) {
  std::string out;
  for (const char ch : name) {
    const bool upper = ch >= 'A' && ch <= 'Z';
    if (upper && !out.empty()) out += '_';
    out += upper ? static_cast<char>(ch - 'A' + 'a') : ch;
  }
  return out;
}

// Parameters of activations as the standard's defaults have them; alpha and beta lists hold entries only for activations that use them.
struct Activation {
  std::string_view name;
  bool alpha, beta;
  double alpha_default, beta_default;
};
constexpr Activation kActivations[] = {
    {"relu", false, false, 0, 0},          {"tanh", false, false, 0, 0},
    {"sigmoid", false, false, 0, 0},       {"affine", true, true, 1, 0},
    {"leaky_relu", true, false, 0.01, 0},  {"thresholded_relu", true, false, 1, 0},
    {"scaled_tanh", true, true, 1, 1},     {"hard_sigmoid", true, true, 0.2, 0.5},
    {"elu", true, false, 1, 0},            {"softsign", false, false, 0, 0},
    {"softplus", false, false, 0, 0},
};

Status lstm_activations(NodeContext& c, size_t count, AttrList* attrs) {
  const auto names = c.strings("activations");
  const std::vector<float> alphas = c.floats("activation_alpha"), betas = c.floats("activation_beta");
  if (names.empty()) return {};
  if (names.size() != count) return c.error(cat("attribute \"activations\" has ", names.size(), " names, expected ", count));
  std::vector<std::string> out;
  std::vector<double> alpha, beta;
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string_view given : names) {
    const std::string name = lower_snake(given);
    const auto* found = std::ranges::find(kActivations, name, &Activation::name);
    if (found == std::end(kActivations)) return c.unsupported(cat("LSTM with activation ", quote(given)));
    out.push_back(name);
    alpha.push_back(found->alpha && next_alpha < alphas.size() ? static_cast<double>(alphas[next_alpha++]) : found->alpha_default);
    beta.push_back(found->beta && next_beta < betas.size() ? static_cast<double>(betas[next_beta++]) : found->beta_default);
  }
  attrs->push_back({"activations", std::move(out)});
  attrs->push_back({"activation_alpha", std::move(alpha)});
  attrs->push_back({"activation_beta", std::move(beta)});
  return {};
}

Status lstm(NodeContext& c) {
  NNC_ASSIGN(const std::string direction, c.choice("direction", "forward", "forward|reverse|bidirectional"));
  if (c.rank(0) != 3 || c.rank(2) != 3) return c.error("X and R must be of rank 3");
  int64_t hidden = c.i("hidden_size", 0);
  if (hidden == 0 && c.shape(2)[2].is_const()) hidden = c.shape(2)[2].constant();
  AttrList attrs = {{"direction", direction}, {"hidden", hidden}, {"clip", c.f("clip", 0)}, {"input_forget", int64_t{c.flag("input_forget", false)}}};
  if (c.version() >= 14) attrs.push_back({"layout", std::string(c.i("layout", 0) == 1 ? "batch_first" : "sequence_first")});
  if (c.version() < 7) return c.unsupported("LSTM before opset 7");
  NNC_TRY(lstm_activations(c, direction == "bidirectional" ? 6 : 3, &attrs));
  std::vector<ValueId> operands;
  for (int k = 0; k < 8; ++k) operands.push_back(c.in(k));
  NNC_ASSIGN(const std::vector<ValueId> r, c.b().ops(OpKind::kLstm, std::move(operands), std::move(attrs)));
  for (int k = 0; k < 3; ++k) c.out(k, r[static_cast<size_t>(k)]);
  return {};
}

}  // namespace

std::span<const OpRow> rows_nn() {
  static const OpRow rows[] = {
      {.name = "MatMul", .since = 1, .min_inputs = 2, .max_inputs = 2, .import = matmul},
      {.name = "Gemm", .since = 7, .until = 10, .min_inputs = 3, .max_inputs = 3, .import = gemm},
      {.name = "Gemm", .since = 11, .min_inputs = 2, .max_inputs = 3, .import = gemm},
      {.name = "Conv", .since = 1, .min_inputs = 2, .max_inputs = 3, .import = conv},
      {.name = "ConvTranspose", .since = 1, .min_inputs = 2, .max_inputs = 3, .import = conv_transpose},
      {.name = "MaxPool", .since = 1, .max_outputs = 2, .import = pool, .text = "max"},
      {.name = "AveragePool", .since = 1, .import = pool, .text = "avg"},
      {.name = "GlobalAveragePool", .since = 1, .import = global_pool, .text = "mean"},
      {.name = "GlobalMaxPool", .since = 1, .import = global_pool, .text = "max"},
      {.name = "Upsample", .since = 7, .until = 8, .import = resize_by_scales},
      {.name = "Upsample", .since = 9, .until = 9, .min_inputs = 2, .max_inputs = 2, .import = resize_by_scales},
      {.name = "Resize", .since = 10, .until = 10, .min_inputs = 2, .max_inputs = 2, .import = resize_by_scales},
      {.name = "Resize", .since = 11, .min_inputs = 1, .max_inputs = 4, .import = resize},
      {.name = "LSTM", .since = 7, .min_inputs = 3, .max_inputs = 8, .max_outputs = 3, .import = lstm},
  };
  return rows;
}

}  // namespace nnc::onnx

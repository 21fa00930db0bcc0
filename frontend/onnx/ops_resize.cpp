// Resize and Upsample.

#include <algorithm>
#include <cmath>

#include "frontend/onnx/context.h"
#include "frontend/onnx/import_model.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/shape_values.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

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
    return c.error(cat("scales must be a vector with one number per resized axis (", spec.axes.size(), "), got ",
                       type_pretty(c.symbols(), c.type(input))));
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
    return AttrList{{"mode", std::string(mode == "nearest" ? "nearest" : "linear")},
                    {"coordinate_mode", std::string("asymmetric")},
                    {"nearest_mode", std::string(nearest)}};
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
  NNC_ASSIGN(const std::string coordinates,
             c.choice("coordinate_transformation_mode", "half_pixel",
                      c.version() >= 19 ? "half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|tf_crop_and_resize"
                                        : "half_pixel|pytorch_half_pixel|align_corners|asymmetric|tf_crop_and_resize"));
  NNC_ASSIGN(const std::string nearest, c.choice("nearest_mode", "round_prefer_floor", "round_prefer_floor|round_prefer_ceil|floor|ceil"));
  std::string policy = "stretch";
  if (c.version() >= 18) { NNC_ASSIGN(policy, c.choice("keep_aspect_ratio_policy", "stretch", "stretch|not_larger|not_smaller")); }
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
  AttrList attrs = {{"mode", mode},
                    {"coordinate_mode", coordinates},
                    {"nearest_mode", nearest},
                    {"cubic_coeff_a", c.f("cubic_coeff_a", -0.75)},
                    {"exclude_outside", int64_t{c.flag("exclude_outside", false)}},
                    {"extrapolation_value", c.f("extrapolation_value", 0)}};
  if (c.version() >= 18) attrs.push_back({"antialias", int64_t{c.flag("antialias", false) && mode != "nearest"}});
  const bool crop = coordinates == "tf_crop_and_resize";
  if (crop) {
    if (!c.has(1)) return c.error("tf_crop_and_resize needs the input roi");
    NNC_ASSIGN(std::vector<double> roi, known_numbers(c, 1, "the region (roi)"));
    if (roi.size() != 2 * spec.axes.size())
      return c.error(cat("roi has ", roi.size(), " numbers for ", spec.axes.size(), " axes; each needs two"));
    spec.roi = std::move(roi);
  }
  return c.set(emit_resize(c, c.in(0), spec, std::move(attrs), crop));
}

}  // namespace

std::span<const OpRow> rows_resize() {
  static const OpRow rows[] = {
      {.name = "Upsample", .since = 7, .until = 8, .import = resize_by_scales},
      {.name = "Upsample", .since = 9, .until = 9, .min_inputs = 2, .max_inputs = 2, .import = resize_by_scales},
      {.name = "Resize", .since = 10, .until = 10, .min_inputs = 2, .max_inputs = 2, .import = resize_by_scales},
      {.name = "Resize", .since = 11, .min_inputs = 1, .max_inputs = 4, .import = resize},
  };
  return rows;
}

}  // namespace nnc::onnx

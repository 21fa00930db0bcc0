#include "ir/ops/resize.h"

#include <cmath>

#include "ir/ops/attr_defs.h"
#include "ir/ops/families.h"
#include "ir/ops/shape_rules.h"

namespace nnc {

namespace {

Status check_resize_attrs(InferContext& c, int rank) {
  const Node& node = c.node();
  const auto& axes = node.ints("axes");
  NNC_TRY(check_axes(c, axes, rank));
  if (node.dims("sizes").size() != axes.size()) return c.error("sizes must have one extent per axis of `axes`");
  const auto& scales = node.floats("scales");
  if (!scales.empty() && scales.size() != axes.size()) return c.error("scales must be empty or have one factor per axis of `axes`");
  for (double s : scales)
    if (!(s > 0) || !std::isfinite(s)) return c.error("scales must be finite and above 0");
  bool crop = node.s("coordinate_mode") == "tf_crop_and_resize";
  if (crop && node.floats("roi").size() != 2 * axes.size())
    return c.error("tf_crop_and_resize needs roi: starts, then ends, one each per axis of `axes`");
  if (node.i("antialias") != 0 && node.s("mode") == "nearest") return c.error("nearest has no antialiasing");
  return {};
}

Shape resized(const Node& node, Shape shape) {
  const auto& axes = node.ints("axes");
  for (size_t k = 0; k < axes.size(); ++k) shape[static_cast<size_t>(axes[k])] = node.dims("sizes")[k];
  return shape;
}

// Nothing can be taken from an axis without elements.
Status check_not_empty(InferContext& c, const Shape& image, const Shape& out) {
  for (int64_t axis : c.node().ints("axes")) {
    auto k = static_cast<size_t>(axis);
    if (image[k].is_const(0) && out[k].is_const() && !out[k].is_const(0))
      return c.error("axis " + std::to_string(axis) + " has extent 0 and can't grow");
  }
  return {};
}

Status infer_resize(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, c.node().s("mode") == "nearest" ? kClassFloat | kClassInt | kClassBool : kClassFloat | kClassInt));
  NNC_TRY(check_resize_attrs(c, c.rank(0)));
  Shape out = resized(c.node(), c.shape(0));
  NNC_TRY(check_not_empty(c, c.shape(0), out));
  c.result(c.dtype(0), std::move(out));
  return {};
}

Status infer_resize_grad(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  const Shape& image = c.node().dims("shape");
  NNC_TRY(check_rank(c, 0, static_cast<int>(image.size())));
  NNC_TRY(check_resize_attrs(c, c.rank(0)));
  Shape out = resized(c.node(), image);
  for (size_t k = 0; k < out.size(); ++k) NNC_TRY(check_equal(c, out[k], c.shape(0)[k], "extent of dy on axis " + std::to_string(k)));
  c.result(c.dtype(0), image);
  return {};
}

std::vector<AttrDef> resize_attrs(std::vector<AttrDef> more) {
  std::vector<AttrDef> attrs = {
      attr_list("axes", AttrKind::kInts),
      attr_list("sizes", AttrKind::kDims),
      attr_list("scales", AttrKind::kFloats),
      attr_choice("mode", "nearest|linear|cubic", "nearest"),
      attr_choice("coordinate_mode", "half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|tf_crop_and_resize",
                  "half_pixel"),
      attr_choice("nearest_mode", "round_prefer_floor|round_prefer_ceil|floor|ceil", "round_prefer_floor"),
      attr_float("cubic_coeff_a", -0.75),
      attr_flag("exclude_outside"),
      attr_flag("antialias"),
      attr_float("extrapolation_value"),
      attr_list("roi", AttrKind::kFloats)};
  attrs.insert(attrs.end(), more.begin(), more.end());
  return attrs;
}

}  // namespace

std::span<const OpDef> ops_resize() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kResize,
       .name = "resize",
       .doc = "Samples x on a grid of other extents: `sizes` per axis of `axes` (ascending); other axes stay. scale = out / in, or "
              "`scales` where given. Source "
              "coordinate of output i: half_pixel (i + 0.5) / scale - 0.5; half_pixel_symmetric adds in / 2 * (1 - out / (scale * in)); "
              "pytorch_half_pixel as half_pixel, 0 if out is 1; align_corners i * (in - 1) / (out - 1), 0 if out is 1; asymmetric i / "
              "scale; tf_crop_and_resize start * (in - 1) "
              "+ i * (end - start) * (in - 1) / (out - 1), (start + end) / 2 * (in - 1) if out is 1, and extrapolation_value where that "
              "leaves [0, in - 1]; roi holds starts, "
              "then ends. Coordinates are exact where they are fractions of integers (no scales, no roi), else f64 as written. nearest "
              "rounds the coordinate by "
              "nearest_mode; linear and cubic (coefficient a) interpolate separably, in f32 (f64 for f64), rounding once; antialias widens "
              "their kernel by 1 / scale where "
              "that is above 1 and normalises the weights. Elements outside are those of the border, or with exclude_outside weigh 0 and "
              "the rest is normalised. "
              "Integer results are rounded to the nearest integer, ties to even, and saturate.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = resize_attrs({}),
       .lowering = Lowering::kPoint,
       .infer = infer_resize,
       .eval = eval_resize,
       .body = body_resize,
       .gradient = gradient_resize,
       .tolerance = {1e-5, 1e-6}},
      {.kind = OpKind::kResizeGrad,
       .name = "resize_grad",
       .doc = "Gradient of resize with respect to x, whose extents are the attribute shape; all other attributes are the resize's.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = resize_attrs({attr_required("shape", AttrKind::kDims)}),
       .lowering = Lowering::kPoint,
       .infer = infer_resize_grad,
       .eval = eval_resize_grad,
       .body = body_resize_grad,
       .gradient = gradient_resize_grad,
       .tolerance = {1e-5, 1e-6}},
  };
  return rows;
}

}  // namespace nnc

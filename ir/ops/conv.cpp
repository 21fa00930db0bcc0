#include "ir/ops/conv.h"

#include "ir/ops/attr_defs.h"
#include "ir/ops/contract.h"
#include "ir/ops/families.h"
#include "ir/ops/shape_rules.h"

namespace nnc {

namespace {

// K x N of the packed matrix of one group: a convolution multiplies patches (K = kernel * in), its transpose makes patches (N = kernel *
// in).
Result<FilterShape> packed_filter_shape(InferContext& c, size_t spatial) {
  NNC_ASSIGN(auto kernel, spatial_ints(c, "kernel", spatial, 0, 1));
  if (c.node().dims("channels").size() != 2) return c.error("a packed weight needs the attribute channels: [out, in / group]");
  FilterShape f{c.node().dims("channels")[0], c.node().dims("channels")[1], {kernel.begin(), kernel.end()}};
  SymbolTable& s = c.symbols();
  Dim patch = s.mul(s.mul(f.kernel), f.in), outs = s.floordiv(f.out, c.node().i("group"));
  NNC_TRY(check_rank(c, 1, static_cast<int>(1 + panel_rank(c.dtype(1)))));
  NNC_TRY(check_equal(c, c.node().i("group"), c.shape(1)[0], "groups of the packed weight"));
  bool transposed = c.node().kind == OpKind::kConvTranspose;
  NNC_TRY(check_panels(c, 1, transposed ? outs : patch, transposed ? patch : outs));
  return f;
}

}  // namespace

Result<FilterShape> filter_shape(InferContext& c, const Shape& w, std::string_view format, size_t spatial) {
  if (is_packed(format)) {
    if (c.node().kind == OpKind::kConvInputGrad || c.node().kind == OpKind::kConvFilterGrad)
      return c.error("gradients take no packed weight");
    return packed_filter_shape(c, spatial);
  }
  if (!format.empty() && format != "hwio") return c.error("unknown w_format \"" + std::string(format) + "\"");
  if (w.size() != spatial + 2)
    return c.error("the weight has rank " + std::to_string(w.size()) + ", must have rank " + std::to_string(spatial + 2));
  auto n = static_cast<std::ptrdiff_t>(spatial);
  if (format == "hwio") return FilterShape{w[spatial + 1], w[spatial], {w.begin(), w.begin() + n}};
  return FilterShape{w[0], w[1], {w.begin() + 2, w.end()}};
}

namespace {

// Image and windows must agree in batch, channels and number of windows with the weight. Checks what is known.
Status check_groups(InferContext& c, const FilterShape& f) {
  int64_t group = c.node().i("group");
  if (group < 1) return c.error("group = " + std::to_string(group) + ", must be at least 1");
  if (c.symbols().divisible(f.out, group) == Ternary::kNo)
    return c.error("the weight's " + c.symbols().pretty(f.out) + " outputs don't divide into " + std::to_string(group) + " groups");
  return {};
}

Status check_bias(InferContext& c, const Dim& channels) {
  if (!c.has(2)) return {};
  DType result = contraction_result(c.dtype(0));
  if (c.dtype(2) != result)
    return c.error("bias must be " + std::string(dtype_name(result)) + ", got " + std::string(dtype_name(c.dtype(2))));
  NNC_TRY(check_rank(c, 2, 1));
  return check_equal(c, channels, c.shape(2)[0], "extent of bias");
}

// The shape of the windows' side: batch, one extent per spatial axis, f.out channels.
Result<Shape> windows_shape(InferContext& c, const Shape& image, const FilterShape& f) {
  std::string_view auto_pad = c.node().s("auto_pad");
  ImageAxes axes = image_axes(c.node().s("layout"), static_cast<int>(image.size()));
  NNC_TRY(check_groups(c, f));
  NNC_TRY(check_equal(c, c.symbols().mul(f.in, c.node().i("group")), image[axes.channel], "channels of x against the weight and group"));
  NNC_ASSIGN(auto windows, window_axes(c, f.kernel));
  Shape out = image;
  out[axes.channel] = f.out;
  for (size_t k = 0; k < axes.spatial; ++k) {
    Dim& extent = out[axes.first + k];
    extent = window_count(c.symbols(), image[axes.first + k], windows[k], auto_pad);
    if (extent.is_const() && extent.constant() < 0)
      return c.error("the kernel (" + c.symbols().pretty(f.kernel[k]) + ") is larger than spatial axis " + std::to_string(k) +
                     " with its padding");
  }
  return out;
}

Status infer_conv(InferContext& c) {
  NNC_TRY(check_contraction_dtypes(c, 0, 1));
  NNC_TRY(check_min_rank(c, 0, 3));
  NNC_ASSIGN(FilterShape f, filter_shape(c, c.shape(1), c.node().s("w_format"), static_cast<size_t>(c.rank(0) - 2)));
  NNC_ASSIGN(Shape out, windows_shape(c, c.shape(0), f));
  NNC_TRY(check_bias(c, f.out));
  c.result(contraction_result(c.dtype(0)), std::move(out));
  return {};
}

Status infer_conv_transpose(InferContext& c) {
  NNC_TRY(check_contraction_dtypes(c, 0, 1));
  NNC_TRY(check_min_rank(c, 0, 3));
  ImageAxes axes = image_axes(c.node().s("layout"), c.rank(0));
  NNC_ASSIGN(FilterShape f, filter_shape(c, c.shape(1), c.node().s("w_format"), axes.spatial));
  NNC_TRY(check_groups(c, f));
  NNC_TRY(check_equal(c, f.out, c.shape(0)[axes.channel], "channels of x against the weight"));
  NNC_ASSIGN(auto windows, window_axes(c, f.kernel));
  NNC_ASSIGN(auto more, spatial_ints(c, "output_padding", axes.spatial, 0, 0));
  SymbolTable& s = c.symbols();
  Shape out = c.shape(0);
  out[axes.channel] = s.mul(f.in, c.node().i("group"));
  NNC_TRY(check_bias(c, out[axes.channel]));
  for (size_t k = 0; k < axes.spatial; ++k) {
    const WindowAxis& w = windows[k];
    Dim reach = s.mul(s.sub(w.kernel, 1), w.dilation);  // of the last window, beyond its first element
    Dim last = s.mul(s.sub(out[axes.first + k], 1), w.stride);
    out[axes.first + k] = s.add(s.add(last, reach), 1 + more[k] - w.pad_begin - w.pad_end);
  }
  c.result(contraction_result(c.dtype(0)), std::move(out));
  return {};
}

Status check_windows(InferContext& c, int i, const Shape& expected) {
  NNC_TRY(check_rank(c, i, static_cast<int>(expected.size())));
  for (size_t k = 0; k < expected.size(); ++k)
    NNC_TRY(check_equal(c, expected[k], c.shape(i)[k], "extent of dy on axis " + std::to_string(k)));
  return {};
}

Status infer_conv_input_grad(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  NNC_TRY(check_same_dtype(c, 0, 1));
  const Shape& image = c.node().dims("shape");
  if (image.size() < 3) return c.error("attribute shape must have at least 3 extents");
  NNC_ASSIGN(FilterShape f, filter_shape(c, c.shape(1), c.node().s("w_format"), image.size() - 2));
  NNC_ASSIGN(Shape windows, windows_shape(c, image, f));
  NNC_TRY(check_windows(c, 0, windows));
  c.result(c.dtype(0), image);
  return {};
}

Status infer_conv_filter_grad(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  NNC_TRY(check_same_dtype(c, 0, 1));
  NNC_TRY(check_min_rank(c, 0, 3));
  const Shape& filter = c.node().dims("shape");
  NNC_ASSIGN(FilterShape f, filter_shape(c, filter, c.node().s("w_format"), static_cast<size_t>(c.rank(0) - 2)));
  NNC_ASSIGN(Shape windows, windows_shape(c, c.shape(0), f));
  NNC_TRY(check_windows(c, 1, windows));
  c.result(c.dtype(0), filter);
  return {};
}

std::vector<AttrDef> conv_attrs(std::vector<AttrDef> more) {
  std::vector<AttrDef> attrs = {attr_list("strides", AttrKind::kInts),
                                attr_list("pads_begin", AttrKind::kInts),
                                attr_list("pads_end", AttrKind::kInts),
                                attr_list("dilations", AttrKind::kInts),
                                attr_int("group", 1),
                                attr_choice("layout", "nchw|nhwc", "nchw"),
                                attr_string("w_format")};
  attrs.insert(attrs.end(), more.begin(), more.end());
  return attrs;
}

AttrDef auto_pad() { return attr_choice("auto_pad", "notset|same_upper|same_lower", "notset"); }

}  // namespace

std::span<const OpDef> ops_conv() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kConv,
       .name = "conv",
       .doc = "Operands x, w, bias?. Cross-correlation over 1 or more spatial axes: y[n, m, o...] = bias[m] + sum over c, k... of x[n, g * "
              "C / group + c, "
              "o * stride - pad_begin + k * dilation] * w[m, c, k...], g the group of output m; outside x counts as 0 (whose product with "
              "a weight that is not finite may be left out). The output has "
              "floor((in + pads - (kernel - 1) * "
              "dilation - 1) / stride) + 1 windows, with auto_pad ceil(in / stride) and the padding that takes, its odd element at the end "
              "(same_upper) or the "
              "begin. Pads may be negative. layout nhwc: channels last in x and y. w_format hwio: w is [k..., C / group, M]; panel16: w is "
              "the result of pack on the "
              "matrices [group, (k..., c), M / group], with attributes kernel and channels = [M, C / group]. dtypes and "
              "accumulation as for matmul, bias has the result's dtype.",
       .min_operands = 2,
       .max_operands = 3,
       .attrs = conv_attrs({auto_pad(), attr_list("accumulate", AttrKind::kDType), attr_list("kernel", AttrKind::kInts),
                            attr_list("channels", AttrKind::kDims)}),
       .lowering = Lowering::kHero,
       .infer = infer_conv,
       .eval = eval_conv,
       .gradient = gradient_conv,
       .tolerance = {1e-5, 1e-6}},
      {.kind = OpKind::kConvTranspose,
       .name = "conv_transpose",
       .doc = "Operands x, w, bias?. The adjoint of conv in x, plus bias: each element of x adds its multiple of the kernel at o * stride "
              "- pad_begin + k * "
              "dilation. w is [C, M / group, k...] as a conv from M to C channels has it (hwio: [k..., M / group, C]; panel16: of the "
              "matrices [group, C / group, (k..., m)], "
              "channels = [C, M / group]). The output has (in - 1) * stride + (kernel - 1) * dilation + 1 + output_padding - pads elements "
              "per axis; pads may be negative. Places between the elements of x and outside of it count as 0, whose product with a weight "
              "that is not finite may be left out.",
       .min_operands = 2,
       .max_operands = 3,
       .attrs = conv_attrs({attr_list("output_padding", AttrKind::kInts), attr_list("accumulate", AttrKind::kDType),
                            attr_list("kernel", AttrKind::kInts), attr_list("channels", AttrKind::kDims)}),
       .lowering = Lowering::kExpand,
       .infer = infer_conv_transpose,
       .eval = eval_conv_transpose,
       .expand = expand_conv_transpose,
       .gradient = gradient_conv_transpose,
       .tolerance = {1e-5, 1e-6}},
      {.kind = OpKind::kConvInputGrad,
       .name = "conv_input_grad",
       .doc = "Operands dy, w. Gradient of conv with respect to x, whose extents are the attribute shape; all other attributes are the "
              "conv's. Places between the elements of dy count as 0, whose product with a weight that is not finite may be left out.",
       .min_operands = 2,
       .max_operands = 2,
       .attrs = conv_attrs({auto_pad(), attr_required("shape", AttrKind::kDims)}),
       .lowering = Lowering::kExpand,
       .infer = infer_conv_input_grad,
       .eval = eval_conv_input_grad,
       .expand = expand_conv_input_grad,
       .gradient = gradient_conv_input_grad,
       .tolerance = {1e-5, 1e-6}},
      {.kind = OpKind::kConvFilterGrad,
       .name = "conv_filter_grad",
       .doc = "Operands x, dy. Gradient of conv with respect to w, whose extents are the attribute shape; all other attributes are the "
              "conv's. Places outside x and between the elements of dy count as 0, whose product with what is not finite may be left out.",
       .min_operands = 2,
       .max_operands = 2,
       .attrs = conv_attrs({auto_pad(), attr_required("shape", AttrKind::kDims)}),
       .lowering = Lowering::kExpand,
       .infer = infer_conv_filter_grad,
       .eval = eval_conv_filter_grad,
       .expand = expand_conv_filter_grad,
       .gradient = gradient_conv_filter_grad,
       .tolerance = {1e-5, 1e-6}},
  };
  return rows;
}

}  // namespace nnc

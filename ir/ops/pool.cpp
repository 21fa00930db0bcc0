#include "ir/ops/pool.h"

#include "ir/ops/attr_defs.h"
#include "ir/ops/families.h"
#include "ir/ops/shape_rules.h"

namespace nnc {

namespace {

Result<Shape> pooled_shape(InferContext& c, const Shape& image, std::string_view layout) {
  if (image.size() < 3) return c.error("a pooled tensor has at least rank 3: batch, channels and spatial axes");
  ImageAxes axes = image_axes(layout, static_cast<int>(image.size()));
  NNC_ASSIGN(auto kernel, spatial_ints(c, "kernel", axes.spatial, 0, 1));
  NNC_ASSIGN(auto windows, window_axes(c, {kernel.begin(), kernel.end()}));
  Shape out = image;
  for (size_t k = 0; k < axes.spatial; ++k) {
    Dim& extent = out[axes.first + k];
    extent = window_count(c.symbols(), extent, windows[k], c.node().s("auto_pad"), c.node().i("ceil_mode") != 0);
    if (extent.is_const() && extent.constant() < 0)
      return c.error("the window (" + std::to_string(kernel[k]) + ") is larger than spatial axis " + std::to_string(k) +
                     " with its padding");
  }
  return out;
}

Status infer_pool(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, c.node().s("kind") == "max" ? kClassFloat | kClassInt : kClassFloat));
  if (c.node().i("p") < 1) return c.error("p = " + std::to_string(c.node().i("p")) + ", must be at least 1");
  NNC_ASSIGN(Shape out, pooled_shape(c, c.shape(0), c.node().s("layout")));
  c.result(c.dtype(0), std::move(out));
  return {};
}

Status infer_max_pool_indices(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat | kClassInt));
  NNC_ASSIGN(Shape out, pooled_shape(c, c.shape(0), "nchw"));
  c.result(DType::kI64, std::move(out));
  return {};
}

Status infer_pool_grad(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  const Shape& image = c.node().dims("shape");
  NNC_ASSIGN(Shape windows, pooled_shape(c, image, c.node().s("layout")));
  NNC_TRY(check_rank(c, 0, static_cast<int>(windows.size())));
  for (size_t k = 0; k < windows.size(); ++k)
    NNC_TRY(check_equal(c, windows[k], c.shape(0)[k], "extent of dy on axis " + std::to_string(k)));
  if (c.has(1)) {
    NNC_TRY(check_same_dtype(c, 0, 1));
    if (c.shape(1) != image) return c.error("x must have the extents of the attribute shape");
  } else if (c.node().s("kind") != "avg") {
    return c.error("the gradient of " + std::string(c.node().s("kind")) + " pooling needs x");
  }
  c.result(c.dtype(0), image);
  return {};
}

std::vector<AttrDef> window_attrs(std::vector<AttrDef> more) {
  std::vector<AttrDef> attrs = {attr_required("kernel", AttrKind::kInts),
                                attr_list("strides", AttrKind::kInts),
                                attr_list("pads_begin", AttrKind::kInts),
                                attr_list("pads_end", AttrKind::kInts),
                                attr_list("dilations", AttrKind::kInts),
                                attr_flag("ceil_mode"),
                                attr_choice("auto_pad", "notset|same_upper|same_lower", "notset")};
  attrs.insert(attrs.end(), more.begin(), more.end());
  return attrs;
}

std::vector<AttrDef> pool_attrs(std::vector<AttrDef> more) {
  std::vector<AttrDef> attrs = window_attrs(
      {attr_choice("kind", "max|avg|lp"), attr_flag("count_include_pad"), attr_int("p", 2), attr_choice("layout", "nchw|nhwc", "nchw")});
  attrs.insert(attrs.end(), more.begin(), more.end());
  return attrs;
}

}  // namespace

std::span<const OpDef> ops_pool() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kPool,
       .name = "pool",
       .doc = "Reduces sliding windows over the spatial axes of x (rank 3 and more). max: NaN wins; a window wholly in the padding gives "
              "the smallest value of the dtype "
              "(-inf). avg: the sum over the elements inside x divided by their number, with count_include_pad by the number of the "
              "window's elements inside x and its "
              "padding (pads_begin, pads_end; not beyond, as windows of ceil_mode may reach); 0 / 0 = NaN. lp: (sum |x|^p)^(1/p). The "
              "output has floor((in + "
              "pads - (kernel - 1) * dilation - 1) / stride) + 1 windows; with ceil_mode the division rounds up, without the windows that "
              "begin in the trailing "
              "padding; with auto_pad ceil(in / stride). layout nhwc: channels last.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = pool_attrs({}),
       .lowering = Lowering::kPoint,
       .infer = infer_pool,
       .eval = eval_pool,
       .body = body_pool,
       .gradient = gradient_pool,
       .tolerance = {1e-5, 1e-6}},
      {.kind = OpKind::kMaxPoolIndices,
       .name = "max_pool_indices",
       .doc = "Where max pooling found its results: for each window the row-major index (i64) into all of x, batch and channels first, of "
              "its largest element, the "
              "first among equals; the first NaN wins; -1 for a window wholly in the padding. With storage_order 1 the index counts the "
              "spatial axes "
              "first axis fastest. Attributes as for pool.",
       .min_operands = 1,
       .max_operands = 1,
       .attrs = window_attrs({attr_flag("storage_order")}),
       .lowering = Lowering::kPoint,
       .infer = infer_max_pool_indices,
       .eval = eval_max_pool_indices,
       .body = body_max_pool_indices,
       .no_gradient = "an index does not change smoothly"},
      {.kind = OpKind::kPoolGrad,
       .name = "pool_grad",
       .doc = "Operands dy, x?. Gradient of pool with respect to x, whose extents are the attribute shape. max: all to the element that "
              "max_pool_indices names. avg needs no "
              "x. lp: y^(1 - p) * |x|^(p - 1) * sign(x), 0 where y is 0. All other attributes are the pool's.",
       .min_operands = 1,
       .max_operands = 2,
       .attrs = pool_attrs({attr_required("shape", AttrKind::kDims)}),
       .lowering = Lowering::kPoint,
       .infer = infer_pool_grad,
       .eval = eval_pool_grad,
       .body = body_pool_grad,
       .gradient = gradient_pool_grad,
       .tolerance = {1e-5, 1e-6}},
  };
  return rows;
}

}  // namespace nnc

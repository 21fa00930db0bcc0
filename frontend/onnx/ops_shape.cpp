// Constants, Shape and Size, Reshape and its kin.

#include <algorithm>

#include "frontend/onnx/context.h"
#include "frontend/onnx/import_model.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/shape_values.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

Status constant(NodeContext& c) {
  if (c.node().attributes.size() != 1) return c.error(cat("a Constant has one attribute, this has ", c.node().attributes.size()));
  for (const std::string_view name : {"value", "sparse_value"}) {
    if (!c.has_attr(name)) continue;
    NNC_ASSIGN(const std::optional<ConstId> id, c.tensor(name));
    if (!id) return c.error(cat("attribute ", quote(name), " was not given"));
    return c.set(OpKind::kConstant, {}, {{"value", *id}});
  }
  const auto vector = [](size_t n) { return std::vector<int64_t>{static_cast<int64_t>(n)}; };
  if (c.has_attr("value_float")) return c.set(c.b().constant(Tensor::scalar_f32(static_cast<float>(c.f("value_float", 0)))));
  if (c.has_attr("value_int")) return c.set(c.b().constant(Tensor::scalar_i64(c.i("value_int", 0))));
  if (c.has_attr("value_floats")) {
    const std::vector<float> v = c.floats("value_floats");
    return c.set(c.b().constant(Tensor::of<float>(DType::kF32, vector(v.size()), v)));
  }
  if (c.has_attr("value_ints")) return c.set(c.b().constant(Tensor::vector_i64(c.ints("value_ints"))));
  if (c.has_attr("value_string")) {
    Tensor t(DType::kString, {});
    t.strings() = {c.s("value_string", "")};
    return c.set(c.b().constant(std::move(t)));
  }
  if (c.has_attr("value_strings")) {
    const auto v = c.strings("value_strings");
    Tensor t(DType::kString, vector(v.size()));
    t.strings().assign(v.begin(), v.end());
    return c.set(c.b().constant(std::move(t)));
  }
  return c.error("the Constant has no value");
}

Status constant_of_shape(NodeContext& c) {
  NNC_ASSIGN(const std::optional<ConstId> given, c.tensor("value"));
  Tensor value = Tensor::scalar_f32(0);
  if (given) {
    const Tensor& t = c.graph().module().constant(*given);
    if (t.count() != 1) return c.error(cat("attribute \"value\" must hold one element, not ", t.count()));
    value = t.reshaped({});
  }
  NNC_ASSIGN(Shape shape, c.dims(0));
  NNC_ASSIGN(const ValueId scalar, c.b().constant(std::move(value)));
  return c.set(c.b().broadcast_to(scalar, std::move(shape)));
}

Status shape(NodeContext& c) {
  const Shape& s = c.shape(0);
  const auto rank = static_cast<int64_t>(s.size());
  const auto place = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + rank : p, 0, rank); };
  const int64_t start = place(c.i("start", 0)), end = std::max(start, place(c.i("end", rank)));
  return c.set(c.b().dims_value(Shape(s.begin() + start, s.begin() + end)));
}

Status size(NodeContext& c) {
  const Dim total = c.symbols().mul(c.shape(0));
  return c.set(OpKind::kDimsValue, {}, {{"dims", Shape{total}}, {"rank0", int64_t{1}}});
}

Status reshape(NodeContext& c) {
  const bool allowzero = c.flag("allowzero", false);
  if (c.rank(1) != 1) return c.error(cat("the shape must be a vector, it is of rank ", c.rank(1)));
  if (const auto requested = c.graph().shape_value(c.in(1)).dims()) {
    NNC_ASSIGN(const std::optional<Shape> to, resolve_reshape(c.symbols(), c.shape(0), *requested, allowzero));
    if (to) return c.set(c.b().reshape(c.in(0), *to));
  }
  // Only the run can tell: a target that is computed, with what 0 and -1 mean in it.
  NNC_ASSIGN(const ValueId target,
             c.b().op(OpKind::kResolveReshape, {c.in(1)}, {{"input", c.shape(0)}, {"allowzero", int64_t{allowzero}}}));
  NNC_ASSIGN(Shape to, c.dims_of(target, 0, kDimMax));
  return c.set(c.b().reshape(c.in(0), std::move(to)));
}

Status flatten(NodeContext& c) {
  const int rank = c.rank(0);
  int64_t axis = c.i("axis", 1);
  if (axis < -rank || axis > rank) return c.error(cat("axis ", axis, " is outside [", -rank, ", ", rank, "]"));
  if (axis < 0) axis += rank;
  const Shape& s = c.shape(0);
  const Shape left(s.begin(), s.begin() + axis), right(s.begin() + axis, s.end());
  return c.set(c.b().reshape(c.in(0), {c.symbols().mul(left), c.symbols().mul(right)}));
}

// Axes from an attribute (opset < 13) or from input 1.
Result<std::optional<std::vector<int64_t>>> axes_of(NodeContext& c) {
  if (c.version() < 13) return c.has_attr("axes") ? std::optional(c.ints("axes")) : std::nullopt;
  if (!c.has(1)) return std::optional<std::vector<int64_t>>();
  NNC_ASSIGN(std::vector<int64_t> axes, c.known_ints(1, "the axes"));
  return std::optional(std::move(axes));
}

Status squeeze(NodeContext& c) {
  NNC_ASSIGN(const auto given, axes_of(c));
  const Shape s = c.shape(0);
  std::vector<int64_t> axes;
  if (given) {
    NNC_ASSIGN(axes, c.sorted_axes(*given, c.rank(0)));
    for (const int64_t a : axes) NNC_TRY(assert_equal(c, s[static_cast<size_t>(a)], 1, cat("the squeezed axis ", a)));
  } else {
    for (size_t k = 0; k < s.size(); ++k) {
      const Ternary one = c.symbols().equal(s[k], 1);
      if (one == Ternary::kUnknown) {
        return Error(Code::kNeedDims, cat("all axes of extent 1 are to be removed, and that of axis ", k, " is ", c.symbols().pretty(s[k]),
                                          ": the rank of the result depends on it"))
            .with(cat("try: --dim ", c.symbols().pretty(s[k]), "=SIZE, or a range that begins at 2"));
      }
      if (one == Ternary::kYes) axes.push_back(static_cast<int64_t>(k));
    }
  }
  Shape out;
  for (size_t k = 0; k < s.size(); ++k) {
    if (!std::ranges::binary_search(axes, static_cast<int64_t>(k))) out.push_back(s[k]);
  }
  return c.set(c.b().reshape(c.in(0), std::move(out)));
}

Status unsqueeze(NodeContext& c) {
  NNC_ASSIGN(const auto given, axes_of(c));
  if (!given) return c.error("the axes must be given");
  NNC_ASSIGN(const std::vector<int64_t> axes, c.sorted_axes(*given, c.rank(0) + static_cast<int>(given->size())));
  Shape out = c.shape(0);
  for (const int64_t a : axes) out.insert(out.begin() + a, Dim(1));
  return c.set(c.b().reshape(c.in(0), std::move(out)));
}

Status transpose(NodeContext& c) {
  std::vector<int64_t> perm = c.ints("perm");
  if (perm.empty() && !c.has_attr("perm")) {
    perm = all_axes(c.rank(0));
    std::ranges::reverse(perm);
  }
  for (int64_t& p : perm) { NNC_ASSIGN(p, c.axis(p, c.rank(0))); }
  if (static_cast<int>(perm.size()) != c.rank(0))
    return c.error(cat("attribute \"perm\" has ", perm.size(), " axes, the input ", c.rank(0)));
  return c.set(c.b().transpose(c.in(0), std::move(perm)));
}

}  // namespace

std::span<const OpRow> rows_shape() {
  static const OpRow rows[] = {
      {.name = "Constant", .since = 1, .min_inputs = 0, .max_inputs = 0, .import = constant},
      {.name = "ConstantOfShape", .since = 9, .import = constant_of_shape},
      {.name = "Shape", .since = 1, .import = shape},
      {.name = "Size", .since = 1, .import = size},
      {.name = "Reshape", .since = 5, .min_inputs = 2, .max_inputs = 2, .import = reshape},
      {.name = "Flatten", .since = 1, .import = flatten},
      {.name = "Squeeze", .since = 1, .until = 12, .import = squeeze},
      {.name = "Squeeze", .since = 13, .max_inputs = 2, .import = squeeze},
      {.name = "Unsqueeze", .since = 1, .until = 12, .import = unsqueeze},
      {.name = "Unsqueeze", .since = 13, .min_inputs = 2, .max_inputs = 2, .import = unsqueeze},
      {.name = "Transpose", .since = 1, .import = transpose},
  };
  return rows;
}

}  // namespace nnc::onnx

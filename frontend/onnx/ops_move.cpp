// Operators that move elements: Concat, Split, Slice, Expand, Tile, Pad, Range, Trilu, blocks of space and depth.

#include <algorithm>
#include <cmath>

#include "frontend/onnx/context.h"
#include "frontend/onnx/import_model.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/shape_values.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

Status concat(NodeContext& c) {
  if (!c.has_attr("axis") && c.version() >= 4) return c.error("attribute \"axis\" must be given");
  NNC_ASSIGN(const int64_t axis, c.axis(c.i("axis", 1), c.rank(0)));
  std::vector<ValueId> parts;
  for (int k = 0; k < c.inputs(); ++k) {
    if (!c.has(k)) return c.error(cat("input ", k, " must be given"));
    parts.push_back(c.in(k));
  }
  return c.set(c.b().concat(std::move(parts), axis));
}

// Sizes of equal parts: the last one is smaller where the extent is no multiple (opset 18), else that is an error.
Result<Shape> equal_parts(NodeContext& c, const Dim& extent, int64_t parts, bool smaller_last) {
  SymbolTable& t = c.symbols();
  if (!smaller_last) {
    if (t.divisible(extent, parts) == Ternary::kNo)
      return c.error(cat("an extent of ", t.pretty(extent), " can't be split into ", parts, " equal parts"));
    if (t.divisible(extent, parts) == Ternary::kUnknown)
      NNC_TRY(assert_equal(c, t.mod(extent, parts), 0, cat("the rest of ", t.pretty(extent), " by ", parts)));
    return Shape(static_cast<size_t>(parts), t.floordiv(extent, parts));
  }
  const Dim part = t.ceildiv(extent, parts);
  Shape sizes;
  Dim begin = 0;
  for (int64_t k = 0; k < parts; ++k) {
    const Dim full_end = t.mul(part, k + 1);
    const Dim end = t.at_most(full_end, extent) == Ternary::kYes ? full_end : t.min(full_end, extent);
    sizes.push_back(t.sub(end, begin));
    begin = end;
  }
  return sizes;
}

Status split(NodeContext& c) {
  NNC_ASSIGN(const int64_t axis, c.axis(c.i("axis", 0), c.rank(0)));
  const Dim extent = c.shape(0)[static_cast<size_t>(axis)];
  const auto parts = static_cast<int64_t>(c.outputs());
  Shape sizes;
  const int64_t wanted = c.i("num_outputs", parts);
  if (c.version() < 13 && c.has_attr("split")) {
    for (const int64_t n : c.ints("split")) sizes.emplace_back(n);
  } else if (c.version() >= 13 && c.has(1)) {
    NNC_ASSIGN(sizes, c.dims(1, 0, kDimMax));
  } else {
    if (wanted != parts) return c.error(cat("attribute \"num_outputs\" is ", wanted, ", the node has ", parts, " outputs"));
    NNC_ASSIGN(sizes, equal_parts(c, extent, parts, c.version() >= 18));
  }
  if (static_cast<int64_t>(sizes.size()) != parts) return c.error(cat(sizes.size(), " sizes for ", parts, " outputs"));
  Dim sum = 0;
  for (const Dim& d : sizes) {
    if (d.is_const() && d.constant() < 0) return c.error(cat("a part of size ", d.constant()));
    sum = c.symbols().add(sum, d);
  }
  NNC_TRY(assert_equal(c, sum, extent, "the sum of the parts"));
  Dim begin = 0;
  for (int k = 0; k < c.outputs(); ++k) {
    const Dim end = k + 1 == c.outputs() ? extent : c.symbols().add(begin, sizes[static_cast<size_t>(k)]);
    if (c.wants(k)) {
      NNC_ASSIGN(const ValueId part, c.b().slice(c.in(0), {axis}, {begin}, {end}, {1}));
      c.out(k, part);
    }
    begin = end;
  }
  return {};
}

Status slice_axes(NodeContext& c, const Shape& starts, const Shape& ends, std::vector<int64_t> axes, std::vector<int64_t> steps) {
  if (axes.empty()) axes = all_axes(static_cast<int>(starts.size()));
  if (steps.empty()) steps.assign(axes.size(), 1);
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size()) {
    return c.error(cat("starts, ends, axes and steps must be as many, they are ", starts.size(), ", ", ends.size(), ", ", axes.size(),
                       " and ", steps.size()));
  }
  struct Part {
    int64_t axis;
    SliceBounds bounds;
    int64_t step;
  };
  std::vector<Part> parts;
  for (size_t k = 0; k < axes.size(); ++k) {
    NNC_ASSIGN(const int64_t axis, c.axis(axes[k], c.rank(0)));
    if (steps[k] == 0) return c.error("a step of 0");
    const Dim& n = c.shape(0)[static_cast<size_t>(axis)];
    const SliceBounds bounds = clamp_slice(c.symbols(), n, starts[k], ends[k], steps[k]);
    if (steps[k] == 1 && bounds.start.is_const(0) && bounds.end == n) continue;
    parts.push_back({axis, bounds, steps[k]});
  }
  std::ranges::sort(parts, {}, &Part::axis);
  if (parts.empty()) {
    c.out(0, c.in(0));
    return {};
  }
  std::vector<int64_t> out_axes, out_steps;
  Shape out_starts, out_ends;
  for (const Part& p : parts) {
    if (!out_axes.empty() && out_axes.back() == p.axis) return c.error(cat("axis ", p.axis, " is named twice"));
    out_axes.push_back(p.axis);
    out_starts.push_back(p.bounds.start);
    out_ends.push_back(p.bounds.end);
    out_steps.push_back(std::clamp<int64_t>(p.step, -kDimMax, kDimMax));
  }
  return c.set(c.b().slice(c.in(0), std::move(out_axes), std::move(out_starts), std::move(out_ends), std::move(out_steps)));
}

Shape as_dims(const std::vector<int64_t>& v) { return {v.begin(), v.end()}; }

Status slice_attributes(NodeContext& c) {
  const std::vector<int64_t> starts = c.ints("starts"), ends = c.ints("ends"), axes = c.ints("axes");
  return slice_axes(c, as_dims(starts), as_dims(ends), axes, {});
}

Status slice_inputs(NodeContext& c) {
  std::vector<int64_t> axes, steps;
  if (c.has(3)) { NNC_ASSIGN(axes, c.known_ints(3, "the axes")); }
  if (c.has(4)) { NNC_ASSIGN(steps, c.known_ints(4, "the steps")); }
  NNC_ASSIGN(const Shape starts, c.dims(1));
  NNC_ASSIGN(const Shape ends, c.dims(2));
  if (c.has(3) && axes.empty()) {
    c.out(0, c.in(0));
    return {};
  }
  return slice_axes(c, starts, ends, std::move(axes), std::move(steps));
}

Status expand(NodeContext& c) {
  NNC_ASSIGN(const Shape requested, c.dims(1, 0, kDimMax));
  NNC_ASSIGN(Shape to, broadcast_shapes(c, c.shape(0), requested));
  return c.set(c.b().broadcast_to(c.in(0), std::move(to)));
}

Status tile(NodeContext& c) {
  NNC_ASSIGN(Shape repeats, c.dims(1, 0, kDimMax));
  if (static_cast<int>(repeats.size()) != c.rank(0)) return c.error(cat(repeats.size(), " repeats for ", c.rank(0), " axes"));
  return c.set(OpKind::kTile, {c.in(0)}, {{"repeats", std::move(repeats)}});
}

Status pad_with(NodeContext& c, const Shape& pads, const std::vector<int64_t>& axes, ValueId value) {
  NNC_ASSIGN(const std::string mode,
             c.choice("mode", "constant", c.version() >= 19 ? "constant|reflect|edge|wrap" : "constant|reflect|edge"));
  if (pads.size() != 2 * axes.size()) return c.error(cat(pads.size(), " pads for ", axes.size(), " axes; each needs two"));
  Shape before(c.shape(0).size(), Dim(0)), after = before;
  for (size_t k = 0; k < axes.size(); ++k) {
    NNC_ASSIGN(const int64_t axis, c.axis(axes[k], c.rank(0)));
    before[static_cast<size_t>(axis)] = pads[k];
    after[static_cast<size_t>(axis)] = pads[k + axes.size()];
  }
  const auto zero = [](const Dim& d) { return d.is_const(0); };
  if (std::ranges::all_of(before, zero) && std::ranges::all_of(after, zero)) {
    c.out(0, c.in(0));
    return {};
  }
  std::vector<ValueId> operands = {c.in(0)};
  if (value.valid() && mode == "constant") {
    NNC_ASSIGN(value, as_scalar(c, value));
    operands.push_back(value);
  }
  return c.set(OpKind::kPad, std::move(operands), {{"before", std::move(before)}, {"after", std::move(after)}, {"mode", mode}});
}

Status pad_attributes(NodeContext& c) {
  ValueId value;
  if (c.f("value", 0) != 0) { NNC_ASSIGN(value, c.b().scalar(c.dtype(0), c.f("value", 0))); }
  return pad_with(c, as_dims(c.ints("pads")), all_axes(c.rank(0)), value);
}

Status pad_inputs(NodeContext& c) {
  std::vector<int64_t> axes = all_axes(c.rank(0));
  if (c.has(3)) { NNC_ASSIGN(axes, c.known_ints(3, "the axes")); }
  NNC_ASSIGN(const Shape pads, c.dims(1, -kDimMax, kDimMax));
  return pad_with(c, pads, axes, c.in(2));
}

// ceil((limit - start) / delta), at least 0, as a dim.
Result<Dim> range_count(NodeContext& c) {
  SymbolTable& t = c.symbols();
  const ShapeValue start = c.graph().shape_value(c.in(0)), limit = c.graph().shape_value(c.in(1)), delta = c.graph().shape_value(c.in(2));
  if (is_int(c.dtype(0)) && start.dims() && limit.dims() && delta.dims() && delta.dims()->front().is_const()) {
    const Dim a = start.dims()->front(), b = limit.dims()->front();
    const int64_t step = delta.dims()->front().constant();
    if (step == 0) return c.error("a step of 0");
    if (step == INT64_MIN) return c.error("the step is too small");
    const Dim length = step > 0 ? t.sub(b, a) : t.sub(a, b);
    const Dim count = t.ceildiv(length, std::abs(step));
    return t.at_least(count, 0) == Ternary::kYes ? count : t.max(count, 0);
  }
  const auto s = c.importer().fold(c.graph(), c.in(0)), l = c.importer().fold(c.graph(), c.in(1)),
             d = c.importer().fold(c.graph(), c.in(2));
  if (s && l && d && s->count() == 1 && l->count() == 1 && d->count() == 1) {
    const double n = std::ceil((l->f64(0) - s->f64(0)) / d->f64(0));
    if (std::isnan(n) || n > static_cast<double>(kDimMax)) return c.error("the range has no end");
    return Dim(static_cast<int64_t>(std::max(n, 0.0)));
  }
  // Found while the program runs.
  Builder& b = c.b();
  NNC_ASSIGN(ValueId length, b.binary(OpKind::kSub, c.in(1), c.in(0)));
  NNC_ASSIGN(length, b.cast(length, DType::kF64));
  NNC_ASSIGN(const ValueId step, b.cast(c.in(2), DType::kF64));
  NNC_ASSIGN(ValueId count, b.binary(OpKind::kDiv, length, step));
  NNC_ASSIGN(count, b.unary(OpKind::kCeil, count));
  NNC_ASSIGN(const ValueId zero, b.scalar(DType::kF64, 0));
  NNC_ASSIGN(count, b.binary(OpKind::kMax, count, zero));
  NNC_ASSIGN(count, b.cast(count, DType::kI64));
  NNC_ASSIGN(const Shape dims, c.dims_of(count, 0, kDimMax));
  return dims.front();
}

Status range(NodeContext& c) {
  // The elements are start + i * delta, rounded once: what stash_type = 1 asks for.
  if (c.i("stash_type", 1) != 1) return c.unsupported("Range with stash_type other than 1 (float)");
  const std::string_view names[] = {"start", "limit", "delta"};
  std::vector<ValueId> v;
  for (int k = 0; k < 3; ++k) {
    if (c.rank(k) > 1) return c.error(cat(names[k], " must be a scalar"));
    NNC_ASSIGN(const ValueId scalar, as_scalar(c, c.in(k)));
    v.push_back(scalar);
  }
  NNC_ASSIGN(const Dim count, range_count(c));
  return c.set(OpKind::kRange, {v[0], v[2]}, {{"count", Shape{count}}});
}

// Blocks of the two last axes to channels and back: a reshape, a transpose, a reshape.
Status block_move(NodeContext& c, bool to_space) {
  const int64_t n = c.i("blocksize", 0);
  if (c.rank(0) != 4) return c.error(cat("the input must be of rank 4, it is of rank ", c.rank(0)));
  if (n < 1 || n > (1 << 20)) return c.error(cat("attribute \"blocksize\" = ", n, " must be at least 1"));
  SymbolTable& t = c.symbols();
  const Shape s = c.shape(0);
  const Dim block(n);
  if (!to_space) {
    NNC_TRY(assert_equal(c, t.mod(s[2], block), 0, "the rest of the height by the block size"));
    NNC_TRY(assert_equal(c, t.mod(s[3], block), 0, "the rest of the width by the block size"));
    const Dim h = t.floordiv(s[2], block), w = t.floordiv(s[3], block);
    NNC_ASSIGN(ValueId v, c.b().reshape(c.in(0), {s[0], s[1], h, block, w, block}));
    NNC_ASSIGN(v, c.b().transpose(v, {0, 3, 5, 1, 2, 4}));
    return c.set(c.b().reshape(v, {s[0], t.mul(s[1], n * n), h, w}));
  }
  NNC_ASSIGN(const std::string mode, c.choice("mode", "DCR", "DCR|CRD"));
  NNC_TRY(assert_equal(c, t.mod(s[1], n * n), 0, "the rest of the channels by the block's area"));
  const Dim d = t.floordiv(s[1], n * n);
  const Shape split = mode == "DCR" ? Shape{s[0], block, block, d, s[2], s[3]} : Shape{s[0], d, block, block, s[2], s[3]};
  NNC_ASSIGN(ValueId v, c.b().reshape(c.in(0), split));
  NNC_ASSIGN(v, c.b().transpose(v, mode == "DCR" ? std::vector<int64_t>{0, 3, 4, 1, 5, 2} : std::vector<int64_t>{0, 1, 4, 2, 5, 3}));
  return c.set(c.b().reshape(v, {s[0], d, t.mul(s[2], block), t.mul(s[3], block)}));
}
Status space_to_depth(NodeContext& c) { return block_move(c, false); }
Status depth_to_space(NodeContext& c) { return block_move(c, true); }

Status trilu(NodeContext& c) {
  const int64_t upper = c.flag("upper", true) ? 1 : 0;
  AttrList attrs = {{"upper", upper}};
  if (c.has(1)) {
    NNC_ASSIGN(Shape k, c.dims(1, -kDimMax, kDimMax));
    if (k.size() != 1) return c.error("k must be one number");
    if (k[0].is_const()) k[0] = Dim(std::clamp<int64_t>(k[0].constant(), -kDimMax, kDimMax));
    attrs.push_back({"k", std::move(k)});
  }
  return c.set(OpKind::kTrilu, {c.in(0)}, std::move(attrs));
}

}  // namespace

std::span<const OpRow> rows_move() {
  static const OpRow rows[] = {
      {.name = "Concat", .since = 1, .max_inputs = -1, .import = concat},
      {.name = "Split", .since = 2, .until = 12, .max_outputs = -1, .import = split},
      {.name = "Split", .since = 13, .max_inputs = 2, .max_outputs = -1, .import = split},
      {.name = "Slice", .since = 1, .until = 9, .import = slice_attributes},
      {.name = "Slice", .since = 10, .min_inputs = 3, .max_inputs = 5, .import = slice_inputs},
      {.name = "Expand", .since = 8, .min_inputs = 2, .max_inputs = 2, .import = expand},
      {.name = "Tile", .since = 6, .min_inputs = 2, .max_inputs = 2, .import = tile},
      {.name = "Pad", .since = 2, .until = 10, .import = pad_attributes},
      {.name = "Pad", .since = 11, .until = 17, .min_inputs = 2, .max_inputs = 3, .import = pad_inputs},
      {.name = "Pad", .since = 18, .min_inputs = 2, .max_inputs = 4, .import = pad_inputs},
      {.name = "Range", .since = 11, .min_inputs = 3, .max_inputs = 3, .import = range},
      {.name = "SpaceToDepth", .since = 1, .import = space_to_depth},
      {.name = "DepthToSpace", .since = 1, .import = depth_to_space},
      {.name = "Trilu", .since = 14, .max_inputs = 2, .import = trilu},
  };
  return rows;
}

}  // namespace nnc::onnx

// Makers of rows that move elements: sources, views, copies, gathers and scatters, panels.

#include <algorithm>

#include "tests/fuzz/generator_ops.h"

namespace nnc::test {

void make_source(Sketch& s, OpKind kind) {
  if (kind == OpKind::kConstant) {
    const DType t = s.any_dtype();
    s.add(*s.b().constant(s.random_tensor(t, s.random_shape(), Sketch::is_signed(t) ? -4 : 0, 5)), true);
    ++s.nodes;
    return;
  }
  if (kind == OpKind::kDimsValue) {
    const Shape& dims = s.shape(s.ranked(1));
    if (s.r.chance(30))
      s.apply(kind, {}, {{"dims", Shape{dims[0]}}, {"rank0", int64_t{1}}});
    else
      s.apply(kind, {}, {{"dims", dims}});
    return;
  }
  const DType t = s.r.pick({DType::kI64, DType::kI32, DType::kF32});
  const Dim count = s.r.chance(40) ? s.shape(s.ranked(1))[0] : Dim(s.extent());
  s.apply(kind, {*s.b().scalar(t, static_cast<double>(s.r.below(5))), *s.b().scalar(t, static_cast<double>(1 + s.r.below(3)))},
          {{"count", Shape{count}}});
}

namespace {

// Merges runs of axes, splits constants.
Shape regrouped(Sketch& s, const Shape& from) {
  Shape to;
  for (const Dim& d : from) {
    if (!to.empty() && s.r.chance(45)) {
      to.back() = s.symbols().mul(to.back(), d);
    } else if (d.is_const() && d.constant() > 1 && d.constant() % 2 == 0 && s.r.chance(40)) {
      to.push_back(2);
      to.push_back(d.constant() / 2);
    } else {
      to.push_back(d);
    }
    if (s.r.chance(10)) to.push_back(1);
  }
  return to;
}

void make_slice(Sketch& s) {
  const ValueId x = s.ranked(1);
  const Ints dims = s.dims_of(x);
  Ints axes, steps;
  Shape starts, ends;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (!s.r.chance(60) || !s.shape(x)[k].is_const()) continue;
    const int64_t e = dims[k], a = s.r.below(e + 1), z = a + s.r.below(e - a + 1);
    if (s.r.chance(20) && a > 0) {
      steps.push_back(-s.r.pick<int64_t>({1, 1, 2}));
      starts.push_back(std::max<int64_t>(0, z - 1));
      ends.push_back(a - 1);
    } else {
      steps.push_back(s.r.pick<int64_t>({1, 1, 1, 2, 3}));
      starts.push_back(a);
      ends.push_back(z);
    }
    axes.push_back(static_cast<int64_t>(k));
  }
  s.apply(OpKind::kSlice, {x}, {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}});
}

}  // namespace

void make_view(Sketch& s, OpKind kind) {
  switch (kind) {
    case OpKind::kTranspose: {
      const ValueId x = s.ranked(2);
      Ints perm;
      for (size_t k = 0; k < s.shape(x).size(); ++k)
        perm.insert(perm.begin() + s.r.below(static_cast<int64_t>(k) + 1), static_cast<int64_t>(k));
      s.apply(kind, {x}, {{"perm", perm}});
      return;
    }
    case OpKind::kReshape: {
      const ValueId x = s.ranked(1);
      s.apply(kind, {x}, {{"shape", regrouped(s, s.shape(x))}});
      return;
    }
    case OpKind::kSlice: return make_slice(s);
    default: {
      const ValueId x = s.any();
      Shape to = s.shape(x);
      for (Dim& d : to)
        if (d.is_const(1) && s.r.chance(70)) d = s.extent();
      if (s.r.chance(40) && s.count(x) < 600) to.insert(to.begin(), s.r.pick<int64_t>({1, 2, 3}));
      s.apply(kind, {x}, {{"shape", to}});
    }
  }
}

void make_concat(Sketch& s, OpKind kind) {
  const ValueId x = s.ranked(1);
  const int64_t a = s.axis(x);
  std::vector<ValueId> parts = {x};
  for (int64_t k = 1 + s.r.below(2); k > 0; --k) {
    Shape to = s.shape(x);
    if (s.r.chance(60)) to[static_cast<size_t>(a)] = s.extent();
    const ValueId part = s.r.chance(30) ? x : s.make_input(s.dtype(x), to, 0, 5, false);
    parts.insert(parts.begin() + s.r.below(static_cast<int64_t>(parts.size()) + 1), part);
  }
  s.apply(kind, parts, {{"axis", a}});
}

void make_pad(Sketch& s, OpKind kind) {
  const ValueId x = s.any();
  Shape before, after;
  const std::string mode =
      s.r.pick({std::string("constant"), std::string("constant"), std::string("edge"), std::string("reflect"), std::string("wrap")});
  for (const int64_t e : s.dims_of(x)) {
    const int64_t most = mode == "constant" ? 3 : mode == "reflect" ? std::max<int64_t>(0, std::min<int64_t>(3, e - 1)) : e > 0 ? 3 : 0;
    before.push_back(s.r.below(most + 1));
    after.push_back(mode == "constant" && s.r.chance(15) && e > 1 ? -1 : s.r.below(most + 1));
  }
  std::vector<ValueId> operands = {x};
  if (mode == "constant" && s.r.chance(50)) operands.push_back(s.make_input(s.dtype(x), Shape{}, 0, 3, false));
  s.apply(kind, operands, {{"before", before}, {"after", after}, {"mode", mode}});
}

void make_tile(Sketch& s, OpKind kind) {
  const ValueId x = s.any();
  Shape repeats;
  for (size_t k = 0; k < s.shape(x).size(); ++k) repeats.push_back(s.count(x) > 600 ? 1 : s.r.pick<int64_t>({1, 1, 2, 3, 0}));
  s.apply(kind, {x}, {{"repeats", repeats}});
}

void make_trilu(Sketch& s, OpKind kind) { s.apply(kind, {s.ranked(2)}, {{"upper", s.r.below(2)}, {"k", Shape{s.r.below(5) - 2}}}); }

void make_gather(Sketch& s, OpKind kind) {
  const ValueId x = s.ranked(1);
  const Ints dims = s.dims_of(x);
  const int64_t a = s.axis(x), e = dims[static_cast<size_t>(a)];
  const DType t = s.r.pick({DType::kI64, DType::kI32});
  const double lo = s.r.chance(30) ? -static_cast<double>(e) : 0, hi = static_cast<double>(e);
  if (kind == OpKind::kGather && e > 0) {
    s.apply(kind, {x, s.make_input(t, s.random_dims(static_cast<int>(s.r.below(3))), lo, hi)}, {{"axis", a}});
  } else if (kind == OpKind::kGatherElements && e > 0) {
    Shape to = s.shape(x);
    to[static_cast<size_t>(a)] = 1 + s.r.below(4);
    s.apply(kind, {x, s.make_input(t, to, lo, hi, false)}, {{"axis", a}});
  } else if (kind == OpKind::kGatherNd) {
    // Leading axes may be shared with the indices.
    const bool shares = dims.size() > 1 && s.r.chance(30) && s.shape(x)[0].is_const() && dims[0] > 0;
    const size_t first = shares ? 1 : 0;
    const int64_t length = 1 + s.r.below(static_cast<int64_t>(dims.size() - first));
    const auto from = dims.begin() + static_cast<std::ptrdiff_t>(first);
    const int64_t least = *std::min_element(from, from + length);
    if (least == 0) return;
    Ints index = s.random_dims(1);
    if (shares) index = {dims[0], 1 + s.r.below(4)};
    index.push_back(length);
    const double below = s.r.chance(30) ? -static_cast<double>(least) : 0;
    s.apply(kind, {x, s.make_input(DType::kI64, Shape(index.begin(), index.end()), below, static_cast<double>(least), false)},
            {{"batch_dims", static_cast<int64_t>(first)}});
  }
}

void make_scatter(Sketch& s, OpKind kind) {
  const ValueId x = s.ranked(1);
  const Ints dims = s.dims_of(x);
  const DType t = s.dtype(x);
  if (kind == OpKind::kScatterNd) {
    if (dims[0] == 0) return;
    const int64_t n = 1 + s.r.below(4);
    const bool pairs = dims.size() > 1 && dims[1] > 0 && s.r.chance(40);
    Shape u = {n};
    u.insert(u.end(), s.shape(x).begin() + (pairs ? 2 : 1), s.shape(x).end());
    const int64_t most = pairs ? std::min(dims[0], dims[1]) : dims[0];
    const std::string how = t == DType::kBool ? "none" : s.r.pick({std::string("none"), std::string("add"), std::string("max")});
    const double below = s.r.chance(30) ? -static_cast<double>(most) : 0;
    s.apply(
        kind,
        {x, s.make_input(DType::kI64, Shape{n, pairs ? 2 : 1}, below, static_cast<double>(most), false), s.make_input(t, u, 0, 5, false)},
        {{"reduction", how}}, how == "add" ? 0 : 1);
    return;
  }
  const int64_t a = s.axis(x), e = dims[static_cast<size_t>(a)];
  if (e == 0) return;
  Shape to = s.shape(x);
  to[static_cast<size_t>(a)] = 1 + s.r.below(4);
  const std::string how = s.r.pick({std::string("none"), std::string("add"), std::string("mul"), std::string("max"), std::string("min")});
  if (t == DType::kBool && how != "none") return;
  const double lo = s.r.chance(30) ? -static_cast<double>(e) : 0;
  const ValueId index = s.make_input(s.r.pick({DType::kI64, DType::kI32}), to, lo, static_cast<double>(e), false);
  s.apply(kind, {x, index, s.make_input(t, to, 0, 5, false)}, {{"axis", a}, {"reduction", how}},
          how == "none" || how == "max" || how == "min" ? 1 : 0);
}

void make_one_hot(Sketch& s, OpKind kind) {
  const int64_t depth = 1 + s.r.below(9);
  const DType t = s.r.pick({DType::kI64, DType::kI32}), v = s.r.pick({DType::kF32, DType::kI32, DType::kBool});
  const int64_t rank = s.r.below(3);
  s.apply(
      kind,
      {s.make_input(t, s.random_dims(static_cast<int>(rank)), -1, static_cast<double>(depth) + 1), s.make_input(v, Shape{2}, 0, 3, false)},
      {{"axis", s.r.chance(50) ? int64_t(-1) : s.r.below(rank + 1)}, {"depth", Shape{depth}}});
}

// A matrix into panels, and back.
void make_panels(Sketch& s, OpKind kind) {
  const DType t = s.r.pick({DType::kF16, DType::kF32, DType::kF64, DType::kBF16, DType::kI8, DType::kU8});
  Ints dims = {1 + s.r.below(20), 1 + s.r.below(40)};
  if (s.r.chance(30)) dims.insert(dims.begin(), 2);
  const int64_t transposed = s.r.below(2);
  Dim k = dims[dims.size() - 2], n = dims.back();
  if (transposed != 0) std::swap(k, n);
  const ValueId x = s.make_input(t, dims, Sketch::is_signed(t) ? -4 : 0, 5, true);
  const Shape shape = s.shape(x);
  k = shape[shape.size() - 2], n = shape.back();
  if (transposed != 0) std::swap(k, n);
  if (!s.apply(OpKind::kPack, {x}, {{"transposed", transposed}})) return;
  if (kind == OpKind::kUnpack || s.r.chance(50))
    s.apply(OpKind::kUnpack, {s.last()}, {{"transposed", transposed}, {"k", Shape{k}}, {"n", Shape{n}}});
}

}  // namespace nnc::test

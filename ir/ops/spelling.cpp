#include "ir/ops/spelling.h"

#include <algorithm>

namespace nnc {

DType compute_float(DType t) { return is_float(t) && dtype_bits(t) < 32 ? DType::kF32 : t; }

AttrList shared_attrs(const Node& node, OpKind to, AttrList more) {
  AttrList attrs;
  const auto named = [](std::string_view name) { return [name](const auto& a) { return a.name == name; }; };
  for (const AttrDef& def : node.def().attrs) {
    const auto& row = op_def(to).attrs;
    if (std::none_of(row.begin(), row.end(), named(def.name)) || !node.has_attr(def.name)) continue;
    if (std::none_of(more.begin(), more.end(), named(def.name))) attrs.push_back({def.name, node.attr(def.name)});
  }
  for (NamedAttr& a : more) attrs.push_back(std::move(a));
  return attrs;
}

ValueId reduced(Gradient& t, const char* kind, ValueId x, std::vector<int64_t> axes) {
  return x.valid() ? t.keep(t.builder().reduce(kind, x, std::move(axes), true)) : x;
}

ValueId element_count_of(Gradient& t, const Shape& dims, ValueId like) {
  const Dim count = t.symbols().mul(dims);
  if (count.is_const()) return t.num(like, static_cast<double>(count.constant()));
  return t.cast(t.op(OpKind::kDimsValue, {}, {{"dims", Shape{count}}, {"rank0", int64_t{1}}}), t.dtype(like));
}

ValueId broadcast(Gradient& t, ValueId x, const Shape& shape) { return x.valid() ? t.keep(t.builder().broadcast_to(x, shape)) : x; }

std::vector<int64_t> axes_from(int64_t first, size_t rank) {
  std::vector<int64_t> axes;
  for (auto k = first; k < static_cast<int64_t>(rank); ++k) axes.push_back(k);
  return axes;
}

ValueId along(Gradient& t, ValueId vector, size_t axis, size_t rank) {
  Shape shape(rank, 1);
  if (vector.valid()) shape[axis] = t.shape(vector)[0];
  return t.reshape(vector, std::move(shape));
}

}  // namespace nnc

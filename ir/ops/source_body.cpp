#include "ir/body.h"
#include "ir/ops/bodies.h"

namespace nnc {

void body_range(BodyContext& c) {
  KernelBuilder& k = c.k();
  const Expr i = c.s.vector(c.coords[0]), start = c.s.read(0, {}), delta = c.s.read(1, {});
  const DType dtype = c.result_type().dtype;
  if (is_int(dtype)) {
    c.result = k.add(start, k.mul(k.convert(i, dtype), delta));
    return;
  }
  // In f64, so that narrower types are rounded once.
  const Expr exact = k.add(k.convert(start, DType::kF64), k.mul(k.convert(i, DType::kF64), k.convert(delta, DType::kF64)));
  c.result = dtype == DType::kF64 ? exact : k.convert(k.convert(exact, dtype), DType::kF32);
}

void body_dims_value(BodyContext& c) {
  KernelBuilder& k = c.k();
  const Shape& dims = c.node.dims("dims");
  const auto value = [&](size_t n) { return k.convert(k.dim(c.s.dim(dims[n])), DType::kI64); };
  if (dims.empty()) {
    c.result = k.constant(DType::kI64, 0);
    return;
  }
  c.result = value(0);
  if (c.coords.size() == 0) return;
  const Expr at = c.s.vector(c.coords[0]);
  for (size_t n = 1; n < dims.size(); ++n)
    c.result = k.select(k.eq(at, k.splat(k.index(static_cast<int64_t>(n)), k.lanes(at))), value(n), c.result);
}

}  // namespace nnc

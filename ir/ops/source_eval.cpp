#include "ir/ops/eval_util.h"

namespace nnc {

Status eval_constant(EvalContext& c) {
  c.results.push_back(EvalTensor::from(c.interpreter.module().constant(c.node.constant("value"))));
  return {};
}

Status eval_range(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const EvalTensor &start = c.in(0), &delta = c.in(1);
  for (size_t k = 0; k < y.f.size(); ++k) y.f[k] = start.f[0] + static_cast<double>(k) * delta.f[0];
  for (size_t k = 0; k < y.i.size(); ++k) {
    y.i[k] = wrap_int(y.dtype, static_cast<int64_t>(static_cast<uint64_t>(start.i[0]) + k * static_cast<uint64_t>(delta.i[0])));
  }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_dims_value(EvalContext& c) {
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  NNC_ASSIGN(y.i, c.dims(c.node.dims("dims")));
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc

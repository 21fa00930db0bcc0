#include <algorithm>
#include <cmath>

#include "ir/ops/eval_util.h"

namespace nnc {
namespace {

// Which element of scale and zero point belongs to element k of x.
class Parameters {
 public:
  Parameters(const EvalContext& c) {
    const EvalTensor &x = c.in(0), &scale = c.in(1);
    const int64_t block = c.node.i("block");
    if (block == 0 && scale.count() == 1 && scale.rank() <= 1) return;
    const int64_t attr = c.node.i("axis");
    const auto axis = static_cast<size_t>(attr < 0 ? attr + x.rank() : attr);
    extent_ = x.dims[axis];
    inner_ = element_count(std::span(x.dims).subspan(axis + 1));
    block_ = std::max<int64_t>(block, 1);
    groups_ = block > 0 ? scale.dims[axis] : extent_;
    whole_ = block > 0;
  }
  size_t operator()(size_t k) const {
    if (extent_ == 0) return 0;
    const auto at = static_cast<int64_t>(k);
    const int64_t along = at / inner_ % extent_ / block_;
    if (!whole_) return static_cast<size_t>(along);
    return static_cast<size_t>((at / inner_ / extent_ * groups_ + along) * inner_ + at % inner_);
  }

 private:
  int64_t extent_ = 0, inner_ = 1, block_ = 1, groups_ = 1;
  bool whole_ = false;  // the scale has all axes of x
};

}  // namespace

Status eval_quantize(EvalContext& c) {
  const EvalTensor &x = c.in(0), &scale = c.in(1);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const DType given = c.node.dtype("precision"), precision = given == DType::kInvalid ? scale.dtype : given;
  const Overflow overflow = c.node.i("saturate") != 0 ? Overflow::kSaturate : Overflow::kInf;
  const Parameters parameter(c);
  for (size_t k = 0; k < static_cast<size_t>(x.count()); ++k) {
    const size_t p = parameter(k);
    const double q = round_to(precision, round_to(precision, x.as_f64(static_cast<int64_t>(k))) / round_to(precision, scale.f[p]));
    if (y.floating()) {
      const double zero = c.has(2) ? c.in(2).f[p] : 0;
      y.f[k] = narrow_float(y.dtype, zero == 0 ? q : q + zero, overflow);
      continue;
    }
    const double zero = c.has(2) ? c.in(2).as_f64(static_cast<int64_t>(p)) : 0;
    y.i[k] = saturate_to_int(y.dtype, (std::isnan(q) ? 0 : std::nearbyint(q)) + zero);
  }
  c.results.push_back(std::move(y));
  return {};
}

Status eval_dequantize(EvalContext& c) {
  const EvalTensor &x = c.in(0), &scale = c.in(1);
  NNC_ASSIGN(EvalTensor y, c.make_result(0));
  const Parameters parameter(c);
  for (size_t k = 0; k < y.f.size(); ++k) {
    const size_t p = parameter(k);
    const double zero = c.has(2) ? c.in(2).as_f64(static_cast<int64_t>(p)) : 0;
    const double v = x.as_f64(static_cast<int64_t>(k));
    y.f[k] = (zero == 0 ? v : v - zero) * scale.f[p];
  }
  c.results.push_back(std::move(y));
  return {};
}

}  // namespace nnc

#include "ir/eval.h"

#include <cmath>
#include <cstring>

#include "ir/support/text.h"

namespace nnc {

EvalTensor EvalTensor::make(DType dtype, std::vector<int64_t> dims) {
  EvalTensor t;
  t.dtype = dtype;
  t.dims = std::move(dims);
  const auto n = static_cast<size_t>(t.count());
  if (dtype == DType::kString) {
    t.s.resize(n);
  } else if (is_float(dtype)) {
    t.f.resize(n);
  } else if (is_complex(dtype)) {
    t.f.resize(2 * n);
  } else {
    t.i.resize(n);
  }
  return t;
}

namespace {

// A complex tensor is read as twice as many reals.
DType real_of(DType t) { return t == DType::kC64 ? DType::kF32 : DType::kF64; }

}  // namespace

EvalTensor EvalTensor::from(const Tensor& t) {
  EvalTensor out = make(t.dtype(), t.dims());
  if (out.dtype == DType::kString) {
    out.s = t.strings();
    return out;
  }
  const DType stored = is_complex(out.dtype) ? real_of(out.dtype) : out.dtype;
  for (size_t k = 0; k < out.f.size(); ++k) out.f[k] = load_f64(stored, t.data(), static_cast<int64_t>(k));
  for (size_t k = 0; k < out.i.size(); ++k) out.i[k] = load_i64(stored, t.data(), static_cast<int64_t>(k));
  return out;
}

Tensor EvalTensor::to_tensor() const {
  Tensor out(dtype, dims);
  if (dtype == DType::kString) {
    out.strings() = s;
    return out;
  }
  void* data = out.data();
  const DType stored = is_complex(dtype) ? real_of(dtype) : dtype;
  for (size_t k = 0; k < f.size(); ++k)
    store_f64(stored, data, static_cast<int64_t>(k), f[k], std::isinf(f[k]) ? Overflow::kInf : Overflow::kSaturate);
  for (size_t k = 0; k < i.size(); ++k) store_i64(stored, data, static_cast<int64_t>(k), i[k]);
  return out;
}

double EvalTensor::as_f64(int64_t k) const {
  const auto at = static_cast<size_t>(k);
  if (floating()) return f[at];
  NNC_CHECK(at < i.size(), "a number at that index");
  return dtype == DType::kU64 ? static_cast<double>(static_cast<uint64_t>(i[at])) : static_cast<double>(i[at]);
}

}  // namespace nnc

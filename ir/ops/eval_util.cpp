#include "ir/ops/eval_util.h"

#include <cmath>

namespace nnc {

void copy_element(const EvalTensor& in, int64_t from, EvalTensor& out, int64_t to) {
  const auto a = static_cast<size_t>(from), b = static_cast<size_t>(to);
  if (is_complex(in.dtype)) {
    out.f[2 * b] = in.f[2 * a];
    out.f[2 * b + 1] = in.f[2 * a + 1];
  } else if (in.floating()) {
    out.f[b] = in.f[a];
  } else if (in.dtype == DType::kString) {
    out.s[b] = in.s[a];
  } else {
    out.i[b] = in.i[a];
  }
}

void take(const EvalTensor& in, std::span<const int64_t> source, EvalTensor& out) {
  const auto all = [&](const auto& from, auto& to) {
    for (size_t j = 0; j < source.size(); ++j) {
      if (source[j] >= 0) to[j] = from[static_cast<size_t>(source[j])];
    }
  };
  if (is_complex(in.dtype)) {
    for (size_t j = 0; j < source.size(); ++j) {
      if (source[j] >= 0) copy_element(in, source[j], out, static_cast<int64_t>(j));
    }
  } else if (in.floating()) {
    all(in.f, out.f);
  } else if (in.dtype == DType::kString) {
    all(in.s, out.s);
  } else {
    all(in.i, out.i);
  }
}

Result<int64_t> wrap_index(const EvalTensor& indices, int64_t k, int64_t extent, int64_t axis) {
  const int64_t v = indices.i[static_cast<size_t>(k)];
  const bool huge = indices.dtype == DType::kU64 && v < 0;
  if (huge || v < -extent || v >= extent) {
    return Error(Code::kIndexOutOfRange, cat("index ", huge ? cat(static_cast<uint64_t>(v)) : cat(v), " (element ", k,
                                             " of the indices) is outside [", -extent, ", ", extent, ") of axis ", axis));
  }
  return v < 0 ? v + extent : v;
}

Status require_extent(int64_t got, int64_t expected, std::string_view what) {
  if (got == expected) return {};
  return Error(Code::kAssertDims, cat(what, ": extent ", got, " where ", expected, " is expected"));
}

double nan_min(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

double nan_max(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

int64_t saturate_to_int(DType t, double v) {
  if (std::isnan(v)) return 0;
  const double whole = std::trunc(v);
  if (whole <= static_cast<double>(int_min(t))) return int_min(t);
  if (whole >= static_cast<double>(int_max(t))) return static_cast<int64_t>(int_max(t));
  return t == DType::kU64 ? static_cast<int64_t>(static_cast<uint64_t>(whole)) : static_cast<int64_t>(whole);
}

double narrow_float(DType t, double v, Overflow overflow) {
  alignas(8) unsigned char bytes[8] = {};
  store_f64(t, bytes, 0, v, overflow);
  return load_f64(t, bytes, 0);
}

}  // namespace nnc

#include "ir/base/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/support/text.h"

namespace nnc {
namespace {

std::string type_text(const Tensor& t) {
  return cat(dtype_name(t.dtype()), "[", join(t.dims(), ",", [](int64_t d) { return d; }), "]");
}

// Where an element stands among all values of its float type, so that neighbours differ by one; both zeros are 0.
int64_t ordinal(DType t, const void* data, int64_t i) {
  const int bits = dtype_bits(t);
  uint64_t code = 0;
  if (bits < 8) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    code = bytes[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
  } else {
    std::memcpy(&code, static_cast<const char*>(data) + i * (bits / 8), size_t(bits) / 8);
  }
  if (t == DType::kF8E8M0) return int64_t(code);
  const uint64_t sign = 1ull << (bits - 1);
  return code & sign ? -int64_t(code & (sign - 1)) : int64_t(code);
}

bool same_special(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

class Comparer {
 public:
  Comparer(const Tensor& got, const Tensor& expected, CompareTolerance tolerance)
      : got_(got), expected_(expected), tolerance_(tolerance), dtype_(got.dtype()), is_exact_(dtype_ == DType::kBool) {}

  Comparison run() {
    out_.count = got_.count();
    for (int64_t i = 0; i < out_.count; ++i) {
      if (dtype_ == DType::kString)
        string(i);
      else if (is_complex(dtype_))
        complex(i);
      else
        number(i);
    }
    out_.pass = out_.over == 0;
    if (norm_got_ == 0 || norm_expected_ == 0)
      out_.cosine = norm_got_ == norm_expected_ ? 1 : 0;
    else
      out_.cosine = double(dot_ / std::sqrt(norm_got_ * norm_expected_));
    if (out_.worst >= 0) {
      out_.worst_got = element_text(got_, out_.worst);
      out_.worst_expected = element_text(expected_, out_.worst);
      out_.worst_index.assign(got_.dims().size(), 0);
      int64_t rest = out_.worst;
      for (size_t axis = got_.dims().size(); axis-- > 0;) {
        out_.worst_index[axis] = rest % got_.dims()[axis];
        rest /= got_.dims()[axis];
      }
    }
    return std::move(out_);
  }

 private:
  void string(int64_t i) {
    const bool same = got_.strings()[size_t(i)] == expected_.strings()[size_t(i)];
    if (same) return;
    ++out_.over;
    rank(i, 1);
  }

  void complex(int64_t i) {
    const DType part = dtype_ == DType::kC64 ? DType::kF32 : DType::kF64;
    double v[4];
    for (int k = 0; k < 2; ++k) {
      v[k] = load_f64(part, got_.data(), 2 * i + k);
      v[2 + k] = load_f64(part, expected_.data(), 2 * i + k);
    }
    if (!std::all_of(v, v + 4, [](double x) { return std::isfinite(x); }))
      return special(i, same_special(v[0], v[2]) && same_special(v[1], v[3]));
    uint64_t ulp = 0;
    for (int k = 0; k < 2; ++k) ulp = std::max(ulp, ulps(part, 2 * i + k));
    accumulate(v[0], v[2]);
    accumulate(v[1], v[3]);
    finite(i, std::hypot(v[0] - v[2], v[1] - v[3]), std::hypot(v[2], v[3]), ulp);
  }

  void number(int64_t i) {
    if (is_float(dtype_)) {
      const double a = got_.f64(i), b = expected_.f64(i);
      if (!std::isfinite(a) || !std::isfinite(b)) return special(i, same_special(a, b));
      accumulate(a, b);
      return finite(i, std::fabs(a - b), std::fabs(b), ulps(dtype_, i));
    }
    const int64_t a = got_.i64(i), b = expected_.i64(i);
    const bool is_less = dtype_ == DType::kU64 ? uint64_t(a) < uint64_t(b) : a < b;
    const uint64_t distance = is_less ? uint64_t(b) - uint64_t(a) : uint64_t(a) - uint64_t(b);
    accumulate(got_.f64(i), expected_.f64(i));
    finite(i, double(distance), std::fabs(expected_.f64(i)), distance);
  }

  uint64_t ulps(DType t, int64_t i) const {
    const int64_t a = ordinal(t, got_.data(), i), b = ordinal(t, expected_.data(), i);
    return a < b ? uint64_t(b) - uint64_t(a) : uint64_t(a) - uint64_t(b);
  }

  void accumulate(double a, double b) {
    dot_ += (long double)a * b;
    norm_got_ += (long double)a * a;
    norm_expected_ += (long double)b * b;
  }

  void special(int64_t i, bool same) {
    if (same) return;
    ++out_.special_differs;
    ++out_.over;
    rank(i, INFINITY);
  }

  void finite(int64_t i, double difference, double size, uint64_t ulp) {
    out_.max_abs = std::max(out_.max_abs, difference);
    if (size != 0) out_.max_rel = std::max(out_.max_rel, difference / size);
    out_.max_ulp = std::max(out_.max_ulp, ulp);
    const double allowed = is_exact_ ? 0 : tolerance_.atol + tolerance_.rtol * size;
    if (!(difference <= allowed)) {
      ++out_.over;
      rank(i, difference - allowed);
    } else if (out_.over == 0 && difference > largest_) {
      largest_ = difference;
      out_.worst = i;
    }
  }

  // `excess`: how far out of tolerance; the first of the farthest is kept, and any that fails is worse than all that pass.
  void rank(int64_t i, double excess) {
    if (excess <= excess_) return;
    excess_ = excess;
    out_.worst = i;
  }

  static std::string element_text(const Tensor& t, int64_t i) {
    const DType d = t.dtype();
    if (d == DType::kString) return quote(t.strings()[size_t(i)]);
    if (is_complex(d)) {
      const DType part = d == DType::kC64 ? DType::kF32 : DType::kF64;
      return cat("(", load_f64(part, t.data(), 2 * i), ", ", load_f64(part, t.data(), 2 * i + 1), ")");
    }
    if (d == DType::kF32) return cat(float(t.f64(i)));
    if (is_float(d)) return cat(t.f64(i));
    return d == DType::kU64 ? cat(uint64_t(t.i64(i))) : cat(t.i64(i));
  }

  const Tensor& got_;
  const Tensor& expected_;
  CompareTolerance tolerance_;
  DType dtype_;
  bool is_exact_;
  Comparison out_;
  double excess_ = 0, largest_ = -1;  // of the worst element
  long double dot_ = 0, norm_got_ = 0, norm_expected_ = 0;
};

}  // namespace

std::string Comparison::str() const {
  std::string out = cat(pass ? "PASS" : "FAIL", "  ", over, " of ", count, " elements over, max abs ", max_abs, ", max rel ", max_rel,
                        ", max ulp ", max_ulp, ", cosine ", cosine);
  if (special_differs > 0) append(out, ", NaN or infinity differs at ", special_differs);
  if (worst >= 0) {
    append(out, ", worst at [", join(worst_index, ",", [](int64_t i) { return i; }), "]: got ", worst_got, ", expected ", worst_expected);
  }
  return out;
}

Result<Comparison> compare(const Tensor& got, const Tensor& expected, CompareTolerance tolerance) {
  NNC_CHECK(got.valid() && expected.valid(), "two tensors to compare");
  if (got.dtype() != expected.dtype() || got.dims() != expected.dims())
    return Error(Code::kMismatch, cat("got ", type_text(got), ", expected ", type_text(expected)));
  return Comparer(got, expected, tolerance).run();
}

}  // namespace nnc

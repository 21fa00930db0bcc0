#pragma once
// Arithmetic on sizes that come from outside: extents, offsets, byte counts. A CheckedSize is a number in [0, 2^63) or "too large";
// once too large it stays so, so a whole computation needs one test at its end. Plain `*` on extents is banned by a test.
// Signed index arithmetic and dims with symbols are elsewhere (ir/base/dim.h).

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/support/result.h"

namespace nnc {

class CheckedSize {
 public:
  constexpr CheckedSize() = default;
  // A negative number is no size: it counts as too large.
  constexpr CheckedSize(int64_t value) : value_(value < 0 ? kBad : value) {}

  constexpr bool ok() const { return value_ != kBad; }
  // The number; `what` names it in the error ("bytes of the tensor").
  Result<int64_t> value(std::string_view what) const;
  constexpr int64_t value_or(int64_t other) const { return ok() ? value_ : other; }

  constexpr CheckedSize& operator+=(CheckedSize b) {
    int64_t sum = 0;
    value_ = !ok() || !b.ok() || __builtin_add_overflow(value_, b.value_, &sum) ? kBad : sum;
    return *this;
  }
  constexpr CheckedSize& operator*=(CheckedSize b) {
    int64_t product = 0;
    value_ = !ok() || !b.ok() || __builtin_mul_overflow(value_, b.value_, &product) ? kBad : product;
    return *this;
  }
  // Up to the next multiple of `alignment` (at least 1, any number).
  constexpr CheckedSize align_up(int64_t alignment) const {
    if (!ok() || alignment < 1) return CheckedSize(kBad);
    const int64_t rest = value_ % alignment;
    return rest == 0 ? *this : *this + CheckedSize(alignment - rest);
  }
  friend constexpr CheckedSize operator+(CheckedSize a, CheckedSize b) { return a += b; }
  friend constexpr CheckedSize operator*(CheckedSize a, CheckedSize b) { return a *= b; }
  // [offset, offset + length) lies inside [0, total).
  friend constexpr bool fits(CheckedSize offset, CheckedSize length, CheckedSize total) {
    const CheckedSize end = offset + length;
    return end.ok() && total.ok() && end.value_ <= total.value_;
  }

 private:
  static constexpr int64_t kBad = -1;
  int64_t value_ = 0;
};

constexpr bool fits(CheckedSize offset, CheckedSize length, CheckedSize total);

// Product of the extents. The product of the extents that are not zero must fit as well, so that the answer does not depend
// on their order and strides fit. Negative extents are errors.
Result<int64_t> extent_product(std::span<const int64_t> dims);
// Bytes of that many elements of `bits` bits stored densely, rounded up to a byte.
Result<int64_t> byte_size(std::span<const int64_t> dims, int bits);

}  // namespace nnc

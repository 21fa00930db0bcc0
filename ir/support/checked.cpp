#include "ir/support/checked.h"

#include "ir/support/text.h"

namespace nnc {

namespace {

std::string spell(std::span<const int64_t> dims) {
  return cat("[", join(dims, ", ", [](int64_t d) { return d; }), "]");
}

}  // namespace

Result<int64_t> CheckedSize::value(std::string_view what) const {
  if (!ok()) return Error(Code::kLimit, cat(what, ": negative or larger than 2^63 - 1"));
  return value_;
}

Result<int64_t> extent_product(std::span<const int64_t> dims) {
  CheckedSize product = 1;
  bool empty = false;
  for (const int64_t extent : dims) {
    if (extent < 0) return Error(Code::kLimit, cat("extents ", spell(dims), ": ", extent, " is negative"));
    if (extent == 0) {
      empty = true;
    } else {
      product *= extent;
    }
  }
  if (!product.ok()) return Error(Code::kLimit, cat("extents ", spell(dims), ": their product is larger than 2^63 - 1"));
  return empty ? int64_t{0} : product.value_or(0);
}

Result<int64_t> byte_size(std::span<const int64_t> dims, int bits) {
  NNC_CHECK(bits > 0, "an element has at least one bit");
  NNC_ASSIGN(const int64_t count, extent_product(dims));
  // count * bits / 8, rounded up, without the product in bits.
  const CheckedSize bytes = CheckedSize(count / 8) * bits + (count % 8 * bits + 7) / 8;
  if (!bytes.ok()) return Error(Code::kLimit, cat("extents ", spell(dims), " of ", bits, " bits: more than 2^63 - 1 bytes"));
  return bytes.value_or(0);
}

}  // namespace nnc

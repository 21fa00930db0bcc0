#include <array>
#include <cstring>

#include "ir/base/host/host.h"
#include "ir/support/checked.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

// Calls f(index) for each element that is not zero; NaN is not, -0 is.
template <class F> void for_non_zero(DType t, const void* data, int64_t count, F&& f) {
  const bool floating = is_float(t);
  for (int64_t i = 0; i < count; ++i)
    if (floating ? load_f64(t, data, i) != 0 : load_i64(t, data, i) != 0) f(i);
}

}  // namespace

// i64[rank, count] in row-major order of the elements.
Status host_non_zero(const HostCall& call) {
  const HostOperand& x = call.inputs[0];
  const size_t rank = x.dims.size();
  if (rank > 32) return Error(Code::kLimit, cat("non_zero of rank ", rank));
  NNC_ASSIGN(const int64_t elements, extent_product(x.dims));
  int64_t count = 0;
  for_non_zero(x.dtype, x.data, elements, [&](int64_t) { ++count; });
  const int64_t row = call.capacity[0] < 0 ? count : call.capacity[0];
  if (count > row) return Error(Code::kAssertDims, cat("non_zero found ", count, " elements, more than its bound of ", row));
  const CheckedSize room = CheckedSize(row) * CheckedSize(static_cast<int64_t>(rank)) * CheckedSize(8);
  NNC_ASSIGN(const int64_t bytes, room.value("bytes of the coordinates"));
  if (bytes > call.result.bytes)
    return Error(Code::kInternal, cat("non_zero needs ", bytes, " bytes for its result, the plan has ", call.result.bytes));
  int64_t* out = static_cast<int64_t*>(call.result.data);
  int64_t column = 0;
  for_non_zero(x.dtype, x.data, elements, [&](int64_t index) {
    for (size_t a = rank; a-- > 0;) {
      out[static_cast<int64_t>(a) * row + column] = index % x.dims[a];
      index /= x.dims[a];
    }
    ++column;
  });
  call.symbols[0] = count;
  return {};
}

}  // namespace nnc

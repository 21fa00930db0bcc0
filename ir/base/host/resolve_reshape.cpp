#include "ir/base/host/host.h"
#include "ir/support/checked.h"
#include "ir/support/text.h"

namespace nnc {

// The requested extents with 0 (copy the input's, unless `allowzero`) and -1 (what is left) replaced. Dims: the extents of the tensor to
// reshape.
Status host_resolve_reshape(const HostCall& call) {
  const HostOperand& wanted = call.inputs[0];
  const std::span<const int64_t> input = call.dims;
  const size_t rank = wanted.dims.empty() ? 1 : static_cast<size_t>(wanted.dims[0]);
  const int64_t* request = static_cast<const int64_t*>(wanted.data);
  int64_t* y = static_cast<int64_t*>(call.result.data);
  if (rank > 32 || static_cast<int64_t>(rank * 8) > call.result.bytes) return Error(Code::kLimit, cat("a shape of ", rank, " extents"));
  auto refuse = [&](std::string_view why) {
    auto text = [](const int64_t* v, size_t n) { return cat("[", join(std::span(v, n), ", ", [](int64_t d) { return d; }), "]"); };
    return Error(Code::kAssertDims,
                 cat("a tensor of shape ", text(input.data(), input.size()), " cannot become ", text(request, rank), ": ", why));
  };
  size_t open = rank;
  CheckedSize rest = 1;
  for (size_t k = 0; k < rank; ++k) {
    int64_t d = request[k];
    if (d == 0 && call.ints[0] == 0) {
      if (k >= input.size()) return refuse("0 copies an extent that the input does not have");
      d = input[k];
    } else if (d == -1) {
      if (open < rank) return refuse("-1 stands twice");
      open = k;
      continue;
    } else if (d < 0) {
      return refuse("an extent is negative");
    }
    y[k] = d;
    rest *= CheckedSize(d);
  }
  NNC_ASSIGN(const int64_t total, extent_product(input));
  if (!rest.ok()) return refuse("the number of elements differs");
  const int64_t known = rest.value_or(0);
  if (open < rank) {
    if (known == 0 ? total != 0 : total % known != 0) return refuse("the number of elements differs");
    y[open] = known == 0 ? 0 : total / known;
  } else if (known != total) {
    return refuse("the number of elements differs");
  }
  return {};
}

}  // namespace nnc

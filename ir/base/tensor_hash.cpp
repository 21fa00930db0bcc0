#include "ir/base/tensor_hash.h"

#include "ir/support/text.h"

namespace nnc {

// Everything is delimited, so that no two different tensors feed the same bytes.
Digest tensor_hash(const Tensor& t) {
  Sha256 hash;
  hash.update(cat(dtype_name(t.dtype()), "[", join(t.dims(), ",", [](int64_t d) { return d; }), "]\n"));
  if (t.dtype() == DType::kString) {
    for (const std::string& s : t.strings()) hash.update(cat(s.size(), ":", s));
  } else if (t.bytes() > 0) {
    hash.update(ByteView(static_cast<const uint8_t*>(t.data()), t.bytes()));
  }
  return hash.finish();
}

}  // namespace nnc

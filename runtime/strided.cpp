#include "runtime/strided.h"

#include <cstring>

namespace nnc {

namespace {

struct Copy {
  std::span<const int64_t> to_dims, from_dims, dims;
  size_t inner;  // axes from here on are copied as one run
  int64_t run;   // bytes

  void rows(char* to, const char* from, size_t axis, int64_t to_stride, int64_t from_stride) const {
    if (axis == inner) {
      std::memcpy(to, from, static_cast<size_t>(run));
      return;
    }
    to_stride /= to_dims[axis];
    from_stride /= from_dims[axis];
    for (int64_t i = 0; i < dims[axis]; ++i) rows(to + i * to_stride, from + i * from_stride, axis + 1, to_stride, from_stride);
  }
};

}  // namespace

void copy_extents(void* to, std::span<const int64_t> to_dims, const void* from, std::span<const int64_t> from_dims,
                  std::span<const int64_t> dims, int64_t element_bytes) {
  int64_t to_bytes = element_bytes, from_bytes = element_bytes;
  for (size_t a = 0; a < dims.size(); ++a) {
    if (dims[a] == 0) return;
    to_bytes *= to_dims[a];
    from_bytes *= from_dims[a];
  }
  Copy c{to_dims, from_dims, dims, dims.size(), element_bytes};
  while (c.inner > 0) {
    const size_t a = c.inner - 1;
    c.run *= dims[a];
    c.inner = a;
    if (to_dims[a] != dims[a] || from_dims[a] != dims[a]) break;
  }
  c.rows(static_cast<char*>(to), static_cast<const char*>(from), 0, to_bytes, from_bytes);
}

}  // namespace nnc

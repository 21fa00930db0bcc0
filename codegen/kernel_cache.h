#pragma once
// The kernel cache: one file per entry, content-addressed, written atomically, in a private folder of this user
// ($XDG_CACHE_HOME/nnc/kernels). A bad entry is a miss; a cache that cannot be used is no error. Correctness never depends on it.

#include <optional>
#include <string>

#include "ir/support/bytes.h"

namespace nnc {

class KernelCache {
 public:
  explicit KernelCache(bool enabled);
  std::optional<Bytes> find(const std::string& key) const;
  void store(const std::string& key, ByteView bytes) const;

 private:
  std::string folder_;  // empty: off
};

}  // namespace nnc

#include "codegen/kernel_cache.h"

#include <cstring>

#include "ir/support/file.h"
#include "ir/support/hash.h"
#include "ir/support/xdg.h"

namespace nnc {

KernelCache::KernelCache(bool enabled) {
  if (!enabled) return;
  auto base = user_dir(UserDir::kCache);
  if (!base.ok()) return;
  const std::string folder = *base + "/kernels";
  if (ensure_private_dir(folder).ok()) folder_ = folder;
}

// An entry is the digest of its payload, then the payload.
std::optional<Bytes> KernelCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  auto file = ReadFile::open_private(folder_ + "/" + key);
  if (!file.ok()) return std::nullopt;
  auto bytes = file->read_all(int64_t(256) << 20);
  if (!bytes.ok() || bytes->size() < 32) return std::nullopt;
  Bytes payload(bytes->begin() + 32, bytes->end());
  const Digest digest = sha256(payload);
  if (std::memcmp(digest.bytes.data(), bytes->data(), 32) != 0) {
    (void)remove_file(folder_ + "/" + key);
    return std::nullopt;
  }
  return payload;
}

void KernelCache::store(const std::string& key, ByteView bytes) const {
  if (folder_.empty()) return;
  const Digest digest = sha256(bytes);
  Bytes entry(digest.bytes.begin(), digest.bytes.end());
  entry.insert(entry.end(), bytes.begin(), bytes.end());
  (void)write_file_atomic(folder_ + "/" + key, entry, 0600, /*durable=*/false);
}

}  // namespace nnc

#pragma once
// The fixed part of a `.nnb` file, shared by its writer and its reader: a 64-byte header, then the FlatBuffer (schema/artifact.fbs), then
// sections. Gaps are zero.

#include <array>
#include <cstdint>
#include <cstring>

#include "ir/support/bytes.h"
#include "ir/support/hash.h"

namespace nnc {

struct ArtifactHeader {
  std::array<uint8_t, 8> magic{};
  uint16_t major = 0, minor = 0;  // a reader takes its own major and any older minor
  uint32_t header_bytes = 0;
  uint64_t table_bytes = 0;
  uint64_t file_bytes = 0;
  std::array<uint8_t, 32> digest{};  // SHA-256 of what is above and of the FlatBuffer, which holds the hashes of all sections
};
static_assert(sizeof(ArtifactHeader) == 64);

inline constexpr std::array<uint8_t, 8> kArtifactMagic = {0x89, 'N', 'N', 'B', '\r', '\n', 0x1a, '\n'};
inline constexpr uint16_t kArtifactMajor = 1, kArtifactMinor = 0;
inline constexpr int64_t kArtifactHeaderBytes = 64;
inline constexpr int64_t kSectionAlign = 64;
inline constexpr int64_t kWeightAlign = 4096;  // of constants that are at least that large
inline constexpr size_t kDigestedHeaderBytes = 32;

inline Digest artifact_digest(const ArtifactHeader& h, ByteView table) {
  Sha256 sha;
  sha.update(ByteView(reinterpret_cast<const uint8_t*>(&h), kDigestedHeaderBytes));
  sha.update(table);
  return sha.finish();
}

}  // namespace nnc

#pragma once
// Two hashes. SHA-256 names contents: constants, artifacts, cache entries; safe against chosen collisions. `hash64` is for tables in
// memory: fast, the same on every machine and in every build, but anyone can make collisions, so nothing may rely on its values
// being different, and nothing is persisted under it. std::hash is used for neither.

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "ir/support/bytes.h"

namespace nnc {

struct Digest {
  std::array<uint8_t, 32> bytes{};
  std::string hex() const;  // 64 lower-case digits
  auto operator<=>(const Digest&) const = default;
};
// Reads back what `hex` wrote; exactly 64 digits of either case.
bool parse_digest(std::string_view hex, Digest* out);

// FIPS 180-4. Feed any pieces, then take the digest once.
class Sha256 {
 public:
  void update(ByteView bytes);
  void update(std::string_view text) { update(bytes_of(text)); }
  Digest finish();
  // a.update(x) and b.update(y) in less time than one after the other: the processor overlaps them.
  static void update_both(Sha256& a, ByteView x, Sha256& b, ByteView y);

  // Off: the portable form also where the processor has SHA instructions. For tests.
  static void allow_instructions(bool allow);

 private:
  ByteView fill_tail(ByteView bytes);  // what is left of them for whole blocks

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> tail_{};
  uint64_t length_ = 0;  // bytes fed
};
Digest sha256(ByteView bytes);
inline Digest sha256(std::string_view text) { return sha256(bytes_of(text)); }

// h = seed ^ length * kGolden; for each 8 bytes, read little endian and the last zero-filled: h = mix64(h ^ word) + kGolden.
uint64_t hash64(ByteView bytes, uint64_t seed = 0);
inline uint64_t hash64(std::string_view text, uint64_t seed = 0) { return hash64(bytes_of(text), seed); }

inline constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
// A bijection in which every bit of x reaches every bit of the result: two rounds of shift, xor and odd multiply.
constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  return x ^ (x >> 32);
}
constexpr uint64_t hash_combine(uint64_t h, uint64_t value) { return mix64(h ^ value) + kGolden; }

}  // namespace nnc

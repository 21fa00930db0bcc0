#pragma once
// Philox 4x32-10, the counter-based generator of all randomness in nnc (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011). Every number is a pure function of key, stream and element index, so order, threads and devices change nothing. Not for
// cryptography.
//
// Element i of a stream owns 64 bits: words 2 * (i % 2) and 2 * (i % 2) + 1 (low word first) of the block whose counter is
// {low(i / 2), high(i / 2), low(stream), high(stream)} and whose key is {low(key), high(key)}.

#include <array>
#include <cstdint>

namespace nnc {

using PhiloxBlock = std::array<uint32_t, 4>;

constexpr PhiloxBlock philox4x32_10(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(0xd2511f53u) * counter[0], b = uint64_t(0xcd9e8d57u) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b), uint32_t(a >> 32) ^ counter[3] ^ key[1], uint32_t(a)};
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  return counter;
}

constexpr uint64_t philox_element(uint64_t key, uint64_t stream, uint64_t i) {
  const PhiloxBlock block = philox4x32_10({uint32_t(i / 2), uint32_t((i / 2) >> 32), uint32_t(stream), uint32_t(stream >> 32)},
                                          {uint32_t(key), uint32_t(key >> 32)});
  const size_t lane = 2 * (i % 2);
  return block[lane] | uint64_t(block[lane + 1]) << 32;
}

// Uniform in [0, 1) on a grid of 2^-53.
constexpr double philox_unit(uint64_t bits) { return double(bits >> 11) * 0x1p-53; }
// Uniform in [0, n), n > 0; n = 0 stands for 2^64. The bias is at most n / 2^64.
constexpr uint64_t philox_below(uint64_t bits, uint64_t n) {
  return n == 0 ? bits : uint64_t((static_cast<unsigned __int128>(bits) * n) >> 64);
}

}  // namespace nnc

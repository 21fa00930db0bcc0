#include "ir/support/hash.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "ir/support/result.h"

namespace nnc {

namespace {

alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

using State = std::array<uint32_t, 8>;

uint32_t big_endian(const uint8_t* p) { return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]}; }

void blocks_portable(State& state, const uint8_t* data, size_t count) {
  for (; count > 0; --count, data += 64) {
    uint32_t w[64];
    for (size_t i = 0; i < 16; ++i) w[i] = big_endian(data + 4 * i);
    for (size_t i = 16; i < 64; ++i) {
      const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const uint32_t sum[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; ++i) state[i] += sum[i];
  }
}

std::atomic<bool> instructions_allowed{true};

#if defined(__x86_64__)
bool has_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (1u << 19)) == 0 || (c & (1u << 9)) == 0) return false;  // SSE4.1, SSSE3
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29)) != 0;
}

// The instructions keep the state as the pairs {f,e,b,a} and {h,g,d,c} and do two rounds each. One message keeps the processor waiting for
// the results of the rounds before, so several are hashed in turn.
template <size_t kMessages> __attribute__((target("sha,sse4.1"))) void blocks_sha(const std::array<State*, kMessages>& states,
                                                                                  std::array<const uint8_t*, kMessages> data,
                                                                                  size_t count) {
  const auto load = [](const void* p) __attribute__((target("sha,sse4.1"))) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); };
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i abef[kMessages], cdgh[kMessages];
  for (size_t m = 0; m < kMessages; ++m) {
    const __m128i badc = _mm_shuffle_epi32(load(&(*states[m])[0]), 0xb1), hgfe = _mm_shuffle_epi32(load(&(*states[m])[4]), 0x1b);
    abef[m] = _mm_alignr_epi8(badc, hgfe, 8);
    cdgh[m] = _mm_blend_epi16(hgfe, badc, 0xf0);
  }
  for (; count > 0; --count) {
    __m128i abef_before[kMessages], cdgh_before[kMessages], w[kMessages][4];
#pragma GCC unroll 2
    for (size_t m = 0; m < kMessages; ++m) {
      abef_before[m] = abef[m], cdgh_before[m] = cdgh[m];
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) w[m][i] = _mm_shuffle_epi8(load(data[m] + 16 * i), swap);
      data[m] += 64;
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; ++i) {
#pragma GCC unroll 2
      for (size_t m = 0; m < kMessages; ++m) {
        const __m128i sum = _mm_add_epi32(w[m][i % 4], load(&kRound[4 * i]));
        cdgh[m] = _mm_sha256rnds2_epu32(cdgh[m], abef[m], sum);
        abef[m] = _mm_sha256rnds2_epu32(abef[m], cdgh[m], _mm_shuffle_epi32(sum, 0x0e));
        if (i < 12) {
          const __m128i middle = _mm_alignr_epi8(w[m][(i + 3) % 4], w[m][(i + 2) % 4], 4);
          const __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(w[m][i % 4], w[m][(i + 1) % 4]), middle);
          w[m][i % 4] = _mm_sha256msg2_epu32(next, w[m][(i + 3) % 4]);
        }
      }
    }
#pragma GCC unroll 2
    for (size_t m = 0; m < kMessages; ++m) {
      abef[m] = _mm_add_epi32(abef[m], abef_before[m]);
      cdgh[m] = _mm_add_epi32(cdgh[m], cdgh_before[m]);
    }
  }
  for (size_t m = 0; m < kMessages; ++m) {
    const __m128i feba = _mm_shuffle_epi32(abef[m], 0x1b), dchg = _mm_shuffle_epi32(cdgh[m], 0xb1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&(*states[m])[0]), _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&(*states[m])[4]), _mm_alignr_epi8(dchg, feba, 8));
  }
}
#endif

bool use_instructions() {
#if defined(__x86_64__)
  static const bool present = has_sha_instructions();
  return present && instructions_allowed.load(std::memory_order_relaxed);
#else
  return false;
#endif
}

void blocks(State& state, const uint8_t* data, size_t count) {
#if defined(__x86_64__)
  if (use_instructions()) return blocks_sha<1>({&state}, {data}, count);
#endif
  blocks_portable(state, data, count);
}

void blocks_of_two(State& a, const uint8_t* x, State& b, const uint8_t* y, size_t count) {
#if defined(__x86_64__)
  if (use_instructions()) return blocks_sha<2>({&a, &b}, {x, y}, count);
#endif
  blocks_portable(a, x, count);
  blocks_portable(b, y, count);
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Digest::hex() const {
  std::string out;
  for (const uint8_t byte : bytes) {
    out.push_back("0123456789abcdef"[byte >> 4]);
    out.push_back("0123456789abcdef"[byte & 15]);
  }
  return out;
}

bool parse_digest(std::string_view hex, Digest* out) {
  if (hex.size() != 64) return false;
  Digest digest;
  for (size_t i = 0; i < 32; ++i) {
    const int high = digit_value(hex[2 * i]), low = digit_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    digest.bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  *out = digest;
  return true;
}

void Sha256::allow_instructions(bool allow) { instructions_allowed.store(allow, std::memory_order_relaxed); }

ByteView Sha256::fill_tail(ByteView bytes) {
  const size_t held = length_ % 64;
  if (held == 0) return bytes;
  const size_t taken = std::min(bytes.size(), 64 - held);
  std::copy_n(bytes.begin(), taken, tail_.begin() + static_cast<ptrdiff_t>(held));
  length_ += taken;
  if (held + taken == 64) blocks(state_, tail_.data(), 1);
  return bytes.subspan(taken);
}

void Sha256::update(ByteView bytes) {
  bytes = fill_tail(bytes);
  if (bytes.empty()) return;
  length_ += bytes.size();
  const size_t whole = bytes.size() / 64;
  if (whole > 0) blocks(state_, bytes.data(), whole);
  bytes = bytes.subspan(whole * 64);
  std::copy(bytes.begin(), bytes.end(), tail_.begin());
}

void Sha256::update_both(Sha256& a, ByteView x, Sha256& b, ByteView y) {
  x = a.fill_tail(x);
  y = b.fill_tail(y);
  const size_t whole = std::min(x.size(), y.size()) / 64;
  if (whole > 0) blocks_of_two(a.state_, x.data(), b.state_, y.data(), whole);
  a.length_ += whole * 64;
  b.length_ += whole * 64;
  a.update(x.subspan(whole * 64));
  b.update(y.subspan(whole * 64));
}

Digest Sha256::finish() {
  const uint64_t bits = length_ * 8;
  size_t held = length_ % 64;
  tail_[held++] = 0x80;
  if (held > 56) {
    std::fill(tail_.begin() + static_cast<ptrdiff_t>(held), tail_.end(), uint8_t{0});
    blocks(state_, tail_.data(), 1);
    held = 0;
  }
  std::fill(tail_.begin() + static_cast<ptrdiff_t>(held), tail_.begin() + 56, uint8_t{0});
  for (size_t i = 0; i < 8; ++i) tail_[56 + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  blocks(state_, tail_.data(), 1);
  Digest digest;
  for (size_t i = 0; i < 32; ++i) digest.bytes[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  *this = Sha256();
  return digest;
}

Digest sha256(ByteView bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

uint64_t hash64(ByteView bytes, uint64_t seed) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t h = seed ^ (bytes.size() * kGolden);
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t taken = std::min<size_t>(bytes.size(), 8);
    std::memcpy(&word, bytes.data(), taken);
    h = hash_combine(h, word);
    bytes = bytes.subspan(taken);
  }
  return h;
}

}  // namespace nnc

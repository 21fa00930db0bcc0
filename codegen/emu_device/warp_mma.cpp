// The twin of the matrix instructions: tiles are put together from the lanes' elements by the one table of layouts, multiplied in the order
// that the kernel interpreter has, and spread again.

#include <cmath>
#include <cstring>

#include "codegen/emu_device/launcher.h"
#include "ir/base/frag_layout.h"

namespace nnc::emu {

namespace {

struct MmaType {
  uint8_t depth;
  DType a, b;
};
// By the number that the emulating header gives each instruction.
constexpr MmaType kTypes[] = {{16, DType::kF16, DType::kF16}, {16, DType::kBF16, DType::kBF16}, {8, DType::kF32, DType::kF32},
                              {32, DType::kI8, DType::kI8},   {32, DType::kU8, DType::kI8},     {32, DType::kI8, DType::kU8},
                              {32, DType::kU8, DType::kU8}};

template <class T> T element(const void* p, int i) {
  T v;
  std::memcpy(&v, static_cast<const std::byte*>(p) + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return v;
}
float real_element(DType t, const void* p, int i) {
  if (t == DType::kF16) return f16_to_f32(element<uint16_t>(p, i));
  if (t == DType::kBF16) return bf16_to_f32(element<uint16_t>(p, i));
  const uint32_t bits = tf32_bits(element<uint32_t>(p, i));
  float v;
  std::memcpy(&v, &bits, 4);
  return v;
}
int32_t whole_element(DType t, const void* p, int i) { return t == DType::kU8 ? element<uint8_t>(p, i) : element<int8_t>(p, i); }

template <class T, class Read>
void gather(nnc_slot* const* lanes, const FragShape& shape, const void* (*of)(const nnc_slot&), T* tile, Read&& read) {
  const int cols = frag_cols(shape);
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < frag_elements(shape); ++e) {
      const FragPlace p = frag_place(shape, lane, e);
      tile[p.row * cols + p.col] = read(of(*lanes[lane]), e);
    }
}
const void* slot_a(const nnc_slot& s) { return s.a; }
const void* slot_b(const nnc_slot& s) { return s.b; }
const void* slot_c(const nnc_slot& s) { return s.c; }

template <class T> void scatter(nnc_slot* const* lanes, const FragShape& shape, const T* tile) {
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < frag_elements(shape); ++e) {
      const FragPlace p = frag_place(shape, lane, e);
      std::memcpy(static_cast<std::byte*>(lanes[lane]->c) + e * 4, &tile[p.row * 8 + p.col], 4);
    }
}

}  // namespace

void warp_mma(nnc_slot* const* lanes, u32 types) {
  const MmaType& t = kTypes[types];
  const int depth = t.depth;
  const FragShape a_shape{16, 8, t.depth, FragShape::kA}, b_shape{16, 8, t.depth, FragShape::kB}, c_shape{16, 8, t.depth, FragShape::kC};
  if (t.depth == 32) {
    int32_t a[16 * 32], b[32 * 8], c[16 * 8];
    gather(lanes, a_shape, slot_a, a, [&](const void* p, int i) { return whole_element(t.a, p, i); });
    gather(lanes, b_shape, slot_b, b, [&](const void* p, int i) { return whole_element(t.b, p, i); });
    gather(lanes, c_shape, slot_c, c, element<int32_t>);
    for (int r = 0; r < 16; ++r)
      for (int n = 0; n < 8; ++n)
        for (int k = 0; k < depth; ++k)
          c[r * 8 + n] = static_cast<int32_t>(static_cast<uint32_t>(c[r * 8 + n]) + static_cast<uint32_t>(a[r * depth + k] * b[k * 8 + n]));
    scatter(lanes, c_shape, c);
    return;
  }
  float a[16 * 16], b[16 * 8], c[16 * 8];
  gather(lanes, a_shape, slot_a, a, [&](const void* p, int i) { return real_element(t.a, p, i); });
  gather(lanes, b_shape, slot_b, b, [&](const void* p, int i) { return real_element(t.b, p, i); });
  gather(lanes, c_shape, slot_c, c, element<float>);
  for (int r = 0; r < 16; ++r)
    for (int n = 0; n < 8; ++n)
      for (int k = 0; k < depth; ++k) c[r * 8 + n] = std::fma(a[r * depth + k], b[k * 8 + n], c[r * 8 + n]);
  scatter(lanes, c_shape, c);
}

}  // namespace nnc::emu

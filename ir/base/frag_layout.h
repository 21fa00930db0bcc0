#pragma once
// Which element of a matrix tile each lane of a warp holds: the fragment layouts of the PTX instructions mma.m16n8k16 (f16, bf16),
// mma.m16n8k32 (s8, u8) and mma.m16n8k8 (tf32). One table for the interpreter, the emulated device and the emitter's index arithmetic; and
// the one definition of what an mma computes there.

#include <cstdint>

#include "ir/base/kernel.h"

namespace nnc {

struct FragPlace {
  int row, col;
};

inline constexpr int frag_rows(const FragShape& s) { return s.role == FragShape::kB ? s.k : s.m; }
inline constexpr int frag_cols(const FragShape& s) { return s.role == FragShape::kA ? s.k : s.n; }
// Elements that one lane holds.
inline constexpr int frag_elements(const FragShape& s) { return frag_rows(s) * frag_cols(s) / 32; }

// The shapes and element types that exist. Accumulators (role C): f32, for k32 i32.
inline constexpr bool frag_shape_ok(const FragShape& s, DType elem) {
  if (s.m != 16 || s.n != 8 || s.role == FragShape::kNone) return false;
  if (s.role == FragShape::kC) return (s.k == 32 && elem == DType::kI32) || ((s.k == 16 || s.k == 8) && elem == DType::kF32);
  switch (s.k) {
    case 8: return elem == DType::kF32;
    case 16: return elem == DType::kF16 || elem == DType::kBF16;
    case 32: return elem == DType::kI8 || elem == DType::kU8;
    default: return false;
  }
}

// Along k, a lane holds runs of `run` neighbours; the second run is half a tile further.
inline constexpr int frag_run(const FragShape& s) { return s.k == 8 ? 1 : s.k == 16 ? 2 : 4; }

// Row and column in the tile of element `i` of lane `lane`.
inline constexpr FragPlace frag_place(const FragShape& s, int lane, int i) {
  const int group = lane / 4, quad = lane % 4, run = frag_run(s);
  if (s.role == FragShape::kC) return {group + 8 * (i / 2), quad * 2 + i % 2};
  const int along = quad * run + i % run;
  if (s.role == FragShape::kB) return {along + (i / run) * 4 * run, group};
  return {group + 8 * ((i / run) % 2), along + (i / (2 * run)) * 4 * run};
}

// The value of a tf32 operand: the hardware does not look at the lower 13 bits.
inline uint32_t tf32_bits(uint32_t f32_bits) { return f32_bits & ~uint32_t(0x1fff); }

}  // namespace nnc

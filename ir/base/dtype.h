#pragma once
// Element types, their storage and their exact conversion to and from the wide carriers (f64, i64, u64) that the reference
// interpreter computes in. Types below one byte are packed along the last axis, low bits first, and have no views.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nnc {

enum class DType : uint8_t {
  kInvalid = 0,
  kBool,
  kU2,
  kU4,
  kU8,
  kU16,
  kU32,
  kU64,
  kI2,
  kI4,
  kI8,
  kI16,
  kI32,
  kI64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kF8E4M3FN,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0,
  kF4E2M1,
  kString,
  kC64,
  kC128,
  kCount
};

// Spelling in IR text: bool u2 u4 u8 u16 u32 u64 i2 i4 i8 i16 i32 i64 f16 bf16 f32 f64 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz
// f8e8m0 f4e2m1 string c64 c128.
std::string_view dtype_name(DType t);
DType parse_dtype(std::string_view name);  // kInvalid if unknown; also accepts float, double, int64, float16, ... as ONNX writes them

int dtype_bits(DType t);  // 8 for bool; 2 or 4 for sub-byte types; 0 for string
bool is_float(DType t);   // f16 .. f4e2m1
bool is_signed_int(DType t);
bool is_unsigned_int(DType t);  // without bool
inline bool is_int(DType t) { return is_signed_int(t) || is_unsigned_int(t); }
inline bool is_complex(DType t) { return t == DType::kC64 || t == DType::kC128; }
// Bytes of `count` elements stored densely (sub-byte types rounded up to a byte; rows are not padded).
size_t dtype_bytes(DType t, int64_t count);
// Smallest and largest value of an integer type.
int64_t int_min(DType t);
uint64_t int_max(DType t);

// How a value leaves the range of a float8/float4 type: saturate to the largest finite value, or to inf/NaN as the format has it.
// f4e2m1 has neither: it always saturates, NaN too. f8e8m0 has no zero and no sign: 0 saturates to 2^-127, a negative value is NaN.
enum class Overflow : uint8_t { kSaturate, kInf };

// One element. Floats go through double exactly; stores round once, to nearest even (f8e8m0: ties up). `store_f64` to an integer type
// truncates toward zero and saturates, NaN becomes 0 (the one float -> int rule of nnc). Integer stores wrap modulo the width.
double load_f64(DType t, const void* data, int64_t index);   // any numeric type, bool as 0/1
int64_t load_i64(DType t, const void* data, int64_t index);  // integers and bool; u64 as its bits
void store_f64(DType t, void* data, int64_t index, double v, Overflow overflow = Overflow::kSaturate);
void store_i64(DType t, void* data, int64_t index, int64_t v);  // to a float type: one rounding
void store_u64(DType t, void* data, int64_t index, uint64_t v);
// `v` rounded to float type t, as a double (identity for f64).
double round_to(DType t, double v);
int64_t wrap_int(DType t, int64_t v);  // v modulo the width of integer type t, sign- or zero-extended; bool: v != 0

// A binary float format of at most 16 bits, as codes. Magnitudes between `max_finite` + 1 and the end of the range are inf or NaN.
struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  uint16_t max_finite;    // largest finite magnitude
  int16_t inf;            // magnitude, -1: the format has none
  int32_t nan;            // magnitude, or the whole code of the fnuz types; -1: the format has none
  bool is_unsigned_zero;  // fnuz: no -0, its code is the only NaN
  bool saturates;         // honours Overflow; the 16-bit types always go to infinity
  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
};
const FloatFormat& float_format(DType t);  // f16, bf16, f8 without e8m0, f4

uint16_t f32_to_f16(float v);
float f16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float v);
inline float bf16_to_f32(uint16_t bits) {
  uint32_t u = uint32_t(bits) << 16;
  float f;
  __builtin_memcpy(&f, &u, 4);
  return f;
}
// double -> 16-bit with one rounding (not through float).
uint16_t f64_to_f16(double v);
uint16_t f64_to_bf16(double v);

// How a scale between two powers of two becomes one; kNearest takes ties up.
enum class ScaleRound : uint8_t { kUp, kDown, kNearest };
uint8_t f64_to_f8e8m0(double v, ScaleRound round, Overflow overflow = Overflow::kSaturate);

}  // namespace nnc

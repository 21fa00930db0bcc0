#include "ir/base/dtype.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/support/result.h"

namespace nnc {
namespace {

enum class Class : uint8_t { kNone, kBool, kUnsigned, kSigned, kFloat, kComplex };

struct Row {
  std::string_view name;
  uint8_t bits;
  Class cls;
};

constexpr Row kRows[] = {
    {"invalid", 0, Class::kNone}, {"bool", 8, Class::kBool},        {"u2", 2, Class::kUnsigned},    {"u4", 4, Class::kUnsigned},
    {"u8", 8, Class::kUnsigned},  {"u16", 16, Class::kUnsigned},    {"u32", 32, Class::kUnsigned},  {"u64", 64, Class::kUnsigned},
    {"i2", 2, Class::kSigned},    {"i4", 4, Class::kSigned},        {"i8", 8, Class::kSigned},      {"i16", 16, Class::kSigned},
    {"i32", 32, Class::kSigned},  {"i64", 64, Class::kSigned},      {"f16", 16, Class::kFloat},     {"bf16", 16, Class::kFloat},
    {"f32", 32, Class::kFloat},   {"f64", 64, Class::kFloat},       {"f8e4m3fn", 8, Class::kFloat}, {"f8e4m3fnuz", 8, Class::kFloat},
    {"f8e5m2", 8, Class::kFloat}, {"f8e5m2fnuz", 8, Class::kFloat}, {"f8e8m0", 8, Class::kFloat},   {"f4e2m1", 4, Class::kFloat},
    {"string", 0, Class::kNone},  {"c64", 64, Class::kComplex},     {"c128", 128, Class::kComplex},
};
static_assert(std::size(kRows) == size_t(DType::kCount));

struct Alias {
  std::string_view name;
  DType type;
};

// Spellings of ONNX's TensorProto.DataType and of numpy.
constexpr Alias kAliases[] = {
    {"float", DType::kF32},
    {"double", DType::kF64},
    {"float16", DType::kF16},
    {"half", DType::kF16},
    {"bfloat16", DType::kBF16},
    {"float32", DType::kF32},
    {"float64", DType::kF64},
    {"int2", DType::kI2},
    {"int4", DType::kI4},
    {"int8", DType::kI8},
    {"int16", DType::kI16},
    {"int32", DType::kI32},
    {"int64", DType::kI64},
    {"uint2", DType::kU2},
    {"uint4", DType::kU4},
    {"uint8", DType::kU8},
    {"uint16", DType::kU16},
    {"uint32", DType::kU32},
    {"uint64", DType::kU64},
    {"float8e4m3fn", DType::kF8E4M3FN},
    {"float8e4m3fnuz", DType::kF8E4M3FNUZ},
    {"float8e5m2", DType::kF8E5M2},
    {"float8e5m2fnuz", DType::kF8E5M2FNUZ},
    {"float8e8m0", DType::kF8E8M0},
    {"float4e2m1", DType::kF4E2M1},
    {"complex64", DType::kC64},
    {"complex128", DType::kC128},
    {"str", DType::kString},
};

const Row& row(DType t) {
  NNC_CHECK(t < DType::kCount, "dtype out of range");
  return kRows[size_t(t)];
}

using Format = FloatFormat;
constexpr Format kHalf{5, 10, 15, 0x7bff, 0x7c00, 0x7e00, false, false};
constexpr Format kBrain{8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, false, false};
constexpr Format kE4M3FN{4, 3, 7, 0x7e, -1, 0x7f, false, true};
constexpr Format kE4M3FNUZ{4, 3, 8, 0x7f, -1, 0x80, true, true};
constexpr Format kE5M2{5, 2, 15, 0x7b, 0x7c, 0x7e, false, true};
constexpr Format kE5M2FNUZ{5, 2, 16, 0x7f, -1, 0x80, true, true};
constexpr Format kE2M1{2, 1, 1, 0x7, -1, -1, false, true};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double power_of_two(int e) { return std::bit_cast<double>(uint64_t(e + 1023) << 52); }

template <const Format& f> double decode(uint16_t code) {
  const unsigned sign_bit = 1u << (f.bits() - 1);
  const unsigned magnitude = code & (sign_bit - 1);
  const bool negative = code & sign_bit;
  if (f.is_unsigned_zero && code == f.nan) return kNaN;
  if (magnitude > f.max_finite) {
    if (f.inf >= 0 && magnitude == unsigned(f.inf))
      return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    uint64_t payload = f.mantissa_bits >= 7 ? uint64_t(magnitude & ((1u << f.mantissa_bits) - 1)) << (52 - f.mantissa_bits) : 0;
    return std::bit_cast<double>((uint64_t(negative) << 63) | 0x7ff8000000000000ull | payload);
  }
  const unsigned mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  const int exponent = int(magnitude >> f.mantissa_bits);
  const double v = exponent == 0 ? mantissa * power_of_two(1 - f.bias - f.mantissa_bits)
                                 : (mantissa + (1u << f.mantissa_bits)) * power_of_two(exponent - f.bias - f.mantissa_bits);
  return negative ? -v : v;
}

template <const Format& f> uint16_t overflow_code(bool negative, Overflow overflow) {
  const uint16_t sign = negative ? uint16_t(1u << (f.bits() - 1)) : uint16_t(0);
  if (f.saturates && (overflow == Overflow::kSaturate || f.nan < 0)) return sign | f.max_finite;
  if (f.inf >= 0) return sign | uint16_t(f.inf);
  return f.is_unsigned_zero ? uint16_t(f.nan) : uint16_t(sign | f.nan);
}

template <const Format& f> uint16_t encode(double v, Overflow overflow) {
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  const bool negative = bits >> 63;
  const uint16_t sign = negative ? uint16_t(1u << (f.bits() - 1)) : uint16_t(0);
  const int biased = int((bits >> 52) & 0x7ff);
  const uint64_t fraction = bits & ((1ull << 52) - 1);
  if (biased == 0x7ff) {
    if (fraction == 0) return overflow_code<f>(negative, overflow);
    if (f.nan < 0) return f.max_finite;
    if (f.is_unsigned_zero) return uint16_t(f.nan);
    const uint16_t payload = f.mantissa_bits >= 7 ? uint16_t(fraction >> (52 - f.mantissa_bits)) : uint16_t(0);
    return uint16_t(sign | f.nan | payload);
  }
  const int exponent = biased - 1023, smallest = 1 - f.bias;
  const int shift = 52 - f.mantissa_bits + (exponent < smallest ? smallest - exponent : 0);
  if (biased == 0 || shift > 53) return f.is_unsigned_zero ? uint16_t(0) : sign;
  const uint64_t significand = fraction | (1ull << 52);
  uint64_t quotient = significand >> shift;
  const uint64_t rest = significand & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  if (rest > half || (rest == half && (quotient & 1))) ++quotient;
  // A carry out of the mantissa steps into the next exponent, from subnormal to normal too.
  const uint64_t magnitude = quotient + (exponent < smallest ? 0 : uint64_t(exponent - smallest) << f.mantissa_bits);
  if (magnitude > f.max_finite) return overflow_code<f>(negative, overflow);
  if (magnitude == 0 && f.is_unsigned_zero) return 0;
  return uint16_t(sign | magnitude);
}

// f8e8m0 holds powers of two from 2^-127 to 2^127 and NaN: no sign and no zero.
double decode_e8m0(uint8_t code) { return code == 0xff ? kNaN : power_of_two(int(code) - 127); }

template <class T> T get(const void* data, int64_t index) {
  T v;
  std::memcpy(&v, static_cast<const char*>(data) + index * int64_t(sizeof(T)), sizeof(T));
  return v;
}
template <class T> void put(void* data, int64_t index, T v) {
  std::memcpy(static_cast<char*>(data) + index * int64_t(sizeof(T)), &v, sizeof(T));
}

template <int kBits> unsigned get_packed(const void* data, int64_t index) {
  const int64_t bit = index * kBits;
  return (static_cast<const uint8_t*>(data)[bit >> 3] >> (bit & 7)) & ((1u << kBits) - 1);
}
template <int kBits> void put_packed(void* data, int64_t index, unsigned v) {
  const int64_t bit = index * kBits;
  uint8_t& byte = static_cast<uint8_t*>(data)[bit >> 3];
  const unsigned mask = ((1u << kBits) - 1) << (bit & 7);
  byte = uint8_t((byte & ~mask) | ((v << (bit & 7)) & mask));
}

// The double whose rounding to any narrower format equals the rounding of the integer itself (round to odd past 2^53).
double sticky_double(bool negative, uint64_t magnitude) {
  const int width = int(std::bit_width(magnitude));
  if (width > 53) {
    const int drop = width - 53;
    const uint64_t lost = magnitude & ((1ull << drop) - 1);
    magnitude = (magnitude >> drop | (lost ? 1 : 0)) << drop;
  }
  const double v = double(magnitude);
  return negative ? -v : v;
}

int64_t saturate_to_int(DType t, double v) {
  if (std::isnan(v)) return 0;
  v = std::trunc(v);
  if (is_unsigned_int(t)) {
    if (v <= 0) return 0;
    if (v >= std::ldexp(1.0, dtype_bits(t))) return int64_t(int_max(t));
    return int64_t(uint64_t(v));
  }
  const double limit = std::ldexp(1.0, dtype_bits(t) - 1);
  if (v >= limit) return int64_t(int_max(t));
  if (v < -limit) return int_min(t);
  return int64_t(v);
}

}  // namespace

const FloatFormat& float_format(DType t) {
  switch (t) {
    case DType::kF16: return kHalf;
    case DType::kBF16: return kBrain;
    case DType::kF8E4M3FN: return kE4M3FN;
    case DType::kF8E4M3FNUZ: return kE4M3FNUZ;
    case DType::kF8E5M2: return kE5M2;
    case DType::kF8E5M2FNUZ: return kE5M2FNUZ;
    case DType::kF4E2M1: return kE2M1;
    default: NNC_CHECK(false, "the format of a type that is no narrow float");
  }
}

std::string_view dtype_name(DType t) { return row(t).name; }

DType parse_dtype(std::string_view name) {
  for (size_t i = 1; i < std::size(kRows); ++i)
    if (kRows[i].name == name) return DType(i);
  for (const Alias& alias : kAliases)
    if (alias.name == name) return alias.type;
  return DType::kInvalid;
}

int dtype_bits(DType t) { return row(t).bits; }
bool is_float(DType t) { return row(t).cls == Class::kFloat; }
bool is_signed_int(DType t) { return row(t).cls == Class::kSigned; }
bool is_unsigned_int(DType t) { return row(t).cls == Class::kUnsigned; }

size_t dtype_bytes(DType t, int64_t count) {
  const size_t bits = size_t(dtype_bits(t)), n = size_t(count);
  return bits >= 8 ? n * (bits / 8) : (n * bits + 7) / 8;
}

int64_t int_min(DType t) {
  NNC_CHECK(is_int(t), "int_min of a type that is no integer");
  return is_signed_int(t) ? int64_t(~0ull << (dtype_bits(t) - 1)) : 0;
}

uint64_t int_max(DType t) {
  NNC_CHECK(is_int(t), "int_max of a type that is no integer");
  return ~0ull >> (64 - dtype_bits(t) + (is_signed_int(t) ? 1 : 0));
}

double load_f64(DType t, const void* data, int64_t index) {
  switch (t) {
    case DType::kF32: return double(get<float>(data, index));
    case DType::kF64: return get<double>(data, index);
    case DType::kF16: return decode<kHalf>(get<uint16_t>(data, index));
    case DType::kBF16: return decode<kBrain>(get<uint16_t>(data, index));
    case DType::kF8E4M3FN: return decode<kE4M3FN>(get<uint8_t>(data, index));
    case DType::kF8E4M3FNUZ: return decode<kE4M3FNUZ>(get<uint8_t>(data, index));
    case DType::kF8E5M2: return decode<kE5M2>(get<uint8_t>(data, index));
    case DType::kF8E5M2FNUZ: return decode<kE5M2FNUZ>(get<uint8_t>(data, index));
    case DType::kF8E8M0: return decode_e8m0(get<uint8_t>(data, index));
    case DType::kF4E2M1: return decode<kE2M1>(uint16_t(get_packed<4>(data, index)));
    case DType::kU64: return double(get<uint64_t>(data, index));
    default: return double(load_i64(t, data, index));
  }
}

int64_t load_i64(DType t, const void* data, int64_t index) {
  switch (t) {
    case DType::kBool: return get<uint8_t>(data, index) != 0;
    case DType::kU2: return get_packed<2>(data, index);
    case DType::kU4: return get_packed<4>(data, index);
    case DType::kU8: return get<uint8_t>(data, index);
    case DType::kU16: return get<uint16_t>(data, index);
    case DType::kU32: return get<uint32_t>(data, index);
    case DType::kU64: return int64_t(get<uint64_t>(data, index));
    case DType::kI2: return wrap_int(t, get_packed<2>(data, index));
    case DType::kI4: return wrap_int(t, get_packed<4>(data, index));
    case DType::kI8: return get<int8_t>(data, index);
    case DType::kI16: return get<int16_t>(data, index);
    case DType::kI32: return get<int32_t>(data, index);
    case DType::kI64: return get<int64_t>(data, index);
    default: NNC_CHECK(false, "load_i64 of a type that is neither integer nor bool");
  }
}

void store_f64(DType t, void* data, int64_t index, double v, Overflow overflow) {
  switch (t) {
    case DType::kF32: return put(data, index, float(v));
    case DType::kF64: return put(data, index, v);
    case DType::kF16: return put(data, index, f64_to_f16(v));
    case DType::kBF16: return put(data, index, f64_to_bf16(v));
    case DType::kF8E4M3FN: return put(data, index, uint8_t(encode<kE4M3FN>(v, overflow)));
    case DType::kF8E4M3FNUZ: return put(data, index, uint8_t(encode<kE4M3FNUZ>(v, overflow)));
    case DType::kF8E5M2: return put(data, index, uint8_t(encode<kE5M2>(v, overflow)));
    case DType::kF8E5M2FNUZ: return put(data, index, uint8_t(encode<kE5M2FNUZ>(v, overflow)));
    case DType::kF8E8M0: return put(data, index, f64_to_f8e8m0(v, ScaleRound::kNearest, overflow));
    case DType::kF4E2M1: return put_packed<4>(data, index, encode<kE2M1>(v, overflow));
    case DType::kBool: return put(data, index, uint8_t(v != 0));
    default: NNC_CHECK(is_int(t), "store_f64 to a type that is not numeric"); return store_i64(t, data, index, saturate_to_int(t, v));
  }
}

void store_i64(DType t, void* data, int64_t index, int64_t v) {
  switch (t) {
    case DType::kBool: return put(data, index, uint8_t(v != 0));
    case DType::kU2:
    case DType::kI2: return put_packed<2>(data, index, unsigned(v) & 3);
    case DType::kU4:
    case DType::kI4: return put_packed<4>(data, index, unsigned(v) & 15);
    case DType::kU8:
    case DType::kI8: return put(data, index, uint8_t(v));
    case DType::kU16:
    case DType::kI16: return put(data, index, uint16_t(v));
    case DType::kU32:
    case DType::kI32: return put(data, index, uint32_t(v));
    case DType::kU64:
    case DType::kI64: return put(data, index, v);
    case DType::kF64: return put(data, index, double(v));
    default: return store_f64(t, data, index, sticky_double(v < 0, v < 0 ? 0 - uint64_t(v) : uint64_t(v)));
  }
}

void store_u64(DType t, void* data, int64_t index, uint64_t v) {
  if (t == DType::kF64) return put(data, index, double(v));
  if (is_float(t)) return store_f64(t, data, index, sticky_double(false, v));
  store_i64(t, data, index, int64_t(v));
}

double round_to(DType t, double v) {
  NNC_CHECK(is_float(t), "round_to a type that is no float");
  alignas(8) char bytes[8] = {};
  store_f64(t, bytes, 0, v);
  return load_f64(t, bytes, 0);
}

int64_t wrap_int(DType t, int64_t v) {
  if (t == DType::kBool) return v != 0;
  NNC_CHECK(is_int(t), "wrap_int to a type that is no integer");
  const int drop = 64 - dtype_bits(t);
  return is_signed_int(t) ? int64_t(uint64_t(v) << drop) >> drop : int64_t((uint64_t(v) << drop) >> drop);
}

uint16_t f32_to_f16(float v) { return encode<kHalf>(double(v), Overflow::kInf); }
float f16_to_f32(uint16_t bits) { return float(decode<kHalf>(bits)); }
uint16_t f64_to_f16(double v) { return encode<kHalf>(v, Overflow::kInf); }
uint16_t f64_to_bf16(double v) { return encode<kBrain>(v, Overflow::kInf); }

uint8_t f64_to_f8e8m0(double v, ScaleRound round, Overflow overflow) {
  const bool saturate = overflow == Overflow::kSaturate;
  if (std::isnan(v) || v < 0) return 0xff;
  if (std::isinf(v)) return saturate ? 0xfe : 0xff;
  const uint64_t bits = std::bit_cast<uint64_t>(v), fraction = bits & ((1ull << 52) - 1);
  int code = int((bits >> 52) & 0x7ff) - 1023 + 127;
  if (fraction != 0 && (round == ScaleRound::kUp || (round == ScaleRound::kNearest && fraction >= 1ull << 51))) ++code;
  if (code > 0xfe) return saturate ? 0xfe : 0xff;
  if (code < 0) return saturate ? 0 : 0xff;
  return uint8_t(code);
}

uint16_t f32_to_bf16(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  if ((bits & 0x7fffffff) > 0x7f800000) return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace nnc

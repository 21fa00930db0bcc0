#pragma once
// Arithmetic on shape values, and the rules by which shapes follow from what a model writes (slice bounds, reshape targets): shared by the
// rows' infer and value functions and by importers. All of it is exact or says that it does not know. No tensor is read here.

#include <optional>

#include "ir/base/dim.h"
#include "ir/types.h"

namespace nnc {

// Rationals are kept in one form, {dim, 1, den} with den > 0 and no common factor of den and all coefficients of dim, so equal means
// structurally equal. nullopt: a coefficient or denominator leaves 64 bits.
std::optional<Rational> make_rational(SymbolTable& symbols, const Dim& dim, int64_t num, int64_t den);
// Exactly `v` (finite, denominator below 2^40).
std::optional<Rational> exact_rational(double v);
std::optional<double> constant_value(const Rational& r);

// What may be known of the result of an op on two elements. Integers follow the ops' definitions (division truncates, by zero gives 0) and
// are given only where they are certain. On floats the exact quotient is kept only while a float computation of the model would give the
// same integer after rounding: a denominator of at most 4096, and no further arithmetic once it is no power of two.
enum class RationalOp : uint8_t { kAdd, kSub, kMul, kDiv, kFloorMod, kTruncMod, kMin, kMax };
std::optional<Rational> combine(SymbolTable& symbols, RationalOp op, const Rational& a, const Rational& b, bool integer);
enum class RoundTo : uint8_t { kFloor, kCeil, kNearestEven, kZero };
std::optional<Rational> round_rational(SymbolTable& symbols, const Rational& a, RoundTo mode);
Ternary rational_equal(SymbolTable& symbols, const Rational& a, const Rational& b);
Ternary rational_less(SymbolTable& symbols, const Rational& a, const Rational& b);  // a < b

// Number of elements that a shape value of this type has, or nullopt: rank > 1, unknown or more than kMaxShapeValue, or a dtype that
// carries none (only bool, i32, i64, f32, f64 do: narrower integers wrap).
std::optional<size_t> shape_value_count(const Type& t);
ShapeValue known_value(std::vector<std::optional<Rational>> elems);  // unknown when no element is known
ShapeValue known_value(std::span<const Dim> dims);

// Start and end of a slice over an axis of extent n as ONNX and numpy clamp them: for step > 0 into [0, n], for step < 0 start into [-1,
// n-1] and end into [-1, n-1]. Negative positions count from the end; a position whose sign is not provable gets min/max terms.
struct SliceBounds {
  Dim start, end;
};
SliceBounds clamp_slice(SymbolTable& symbols, const Dim& n, const Dim& start, const Dim& end, int64_t step);
// Extent of [start, end) by step, never below 0.
Dim slice_extent(SymbolTable& symbols, const Dim& start, const Dim& end, int64_t step);

// Target of a reshape with ONNX's meaning of 0 (copy the extent at this position, unless allowzero) and -1 (what is left). Error if
// impossible for every value of the symbols. Symbols in `requested` stand for extents: they are taken as neither 0 nor -1 unless their
// bounds allow negative values, which is nullopt: only the run can tell (op resolve_reshape).
Result<std::optional<Shape>> resolve_reshape(SymbolTable& symbols, const Shape& input, const Shape& requested, bool allowzero);

}  // namespace nnc

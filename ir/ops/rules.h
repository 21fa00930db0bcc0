#pragma once
// What the families' rows share: dtype checks, shape agreement, inference of the common kinds of op, value propagation elementwise, and the
// gradient that is zero. Nothing here knows a particular op.

#include "ir/op.h"
#include "ir/ops/attr_defs.h"
#include "ir/ops/shape_rules.h"
#include "ir/shape_values.h"

namespace nnc {

// Error unless operand i has the property; `expected` completes "operand 1 must be ...".
Status require_dtype(InferContext& c, int i, bool fits, std::string_view expected);
Status require_same_dtype(InferContext& c, int i, int j);
inline bool is_numeric(DType t) { return is_float(t) || is_int(t); }
inline bool is_logical(DType t) { return t == DType::kBool || is_int(t); }

// Two extents that must be equal: the simpler of both; error if provably different.
Result<Dim> same_extent(InferContext& c, const Dim& a, const Dim& b, std::string_view what);
// The dims attribute `name` as one extent.
const Dim& one_dim(const Node& node, std::string_view name);
bool is_permutation_of_axes(const std::vector<int64_t>& perm, int rank);

// Value of result 0, elementwise in the operands' values; nothing where no element is known. `result` is the dtype of the result.
void map_value(InferContext& c, DType result, std::optional<Rational> (*f)(InferContext&, const Rational&));
void zip_value(InferContext& c, DType result, std::optional<Rational> (*f)(InferContext&, const Rational&, const Rational&));
// Makes `elems` the value of result 0, as far as `dtype` holds them: integers that have wrapped and floats that were rounded are not known.
void store_value(InferContext& c, DType dtype, std::vector<std::optional<Rational>> elems);
// Element k of a value; one element serves all k.
std::optional<Rational> value_at(const ShapeValue& v, size_t k);
// The value of operand i as integers, if each is known.
std::optional<std::vector<Dim>> known_dims(InferContext& c, int i);

// The result is piecewise constant: no gradient flows, which is exact wherever one exists.
Status zero_gradient(struct GradContext& c);

}  // namespace nnc

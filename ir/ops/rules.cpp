#include "ir/ops/rules.h"

#include <algorithm>

#include "ir/graph.h"
#include "ir/support/text.h"

namespace nnc {

Status require_dtype(InferContext& c, int i, bool fits, std::string_view expected) {
  if (!c.type(i).is_tensor()) return c.error(cat("operand ", i, " must be a tensor"));
  if (!fits) return c.error(cat("operand ", i, " must be ", expected, ", not ", dtype_name(c.dtype(i))));
  return {};
}

Status require_same_dtype(InferContext& c, int i, int j) {
  NNC_TRY(require_dtype(c, j, true, {}));
  return check_same_dtype(c, i, j);
}

Result<Dim> same_extent(InferContext& c, const Dim& a, const Dim& b, std::string_view what) {
  if (c.symbols().equal(a, b) == Ternary::kNo)
    return c.error(cat(what, ": extents ", c.symbols().pretty(a), " and ", c.symbols().pretty(b), " differ"));
  return b.is_const() && !a.is_const() ? b : a;
}

const Dim& one_dim(const Node& node, std::string_view name) {
  static const Dim zero(0);
  const Shape& dims = node.dims(name);
  return dims.empty() ? zero : dims[0];
}

bool is_permutation_of_axes(const std::vector<int64_t>& perm, int rank) {
  if (perm.size() != static_cast<size_t>(rank)) return false;
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

std::optional<Rational> value_at(const ShapeValue& v, size_t k) {
  if (!v.known || v.elems.empty()) return std::nullopt;
  if (v.elems.size() == 1) return v.elems[0];
  return k < v.elems.size() ? v.elems[k] : std::nullopt;
}

std::optional<std::vector<Dim>> known_dims(InferContext& c, int i) { return c.value(i).known ? c.value(i).dims() : std::nullopt; }

namespace {

// Whether a float type of so many bits of precision holds the integer.
bool is_exact(DType dtype, int64_t v) {
  const int64_t whole = int64_t{1} << (dtype == DType::kF64 ? 53 : dtype == DType::kF32 ? 24 : 8);
  for (; v % 2 == 0 && v != 0;) v /= 2;
  return v >= -whole && v <= whole;
}

// i32 values beyond 31 bits have wrapped, whole floats beyond their precision were rounded; what is not constant is taken to fit.
std::optional<Rational> fitting(DType dtype, std::optional<Rational> r) {
  if (!r || !r->dim.is_const()) return r;
  const int64_t v = r->dim.constant();
  if (is_float(dtype)) return r->num == 1 && r->den == 1 && !is_exact(dtype, v) ? std::nullopt : r;
  return dtype == DType::kI32 && (v < INT32_MIN || v > INT32_MAX) ? std::nullopt : r;
}

}  // namespace

void store_value(InferContext& c, DType dtype, std::vector<std::optional<Rational>> elems) {
  for (auto& e : elems) e = fitting(dtype, std::move(e));
  ShapeValue v = known_value(std::move(elems));
  if (v.known) c.set_value(0, std::move(v));
}

void map_value(InferContext& c, DType result, std::optional<Rational> (*f)(InferContext&, const Rational&)) {
  const ShapeValue& x = c.value(0);
  const auto count = shape_value_count(Type::tensor(result, c.shape(0)));
  if (!x.known || !count) return;
  std::vector<std::optional<Rational>> elems(*count);
  for (size_t k = 0; k < *count; ++k) {
    if (const auto e = value_at(x, k)) elems[k] = f(c, *e);
  }
  store_value(c, result, std::move(elems));
}

void zip_value(InferContext& c, DType result, std::optional<Rational> (*f)(InferContext&, const Rational&, const Rational&)) {
  const ShapeValue &x = c.value(0), &y = c.value(1);
  const auto nx = shape_value_count(c.type(0)), ny = shape_value_count(c.type(1));
  if (!x.known || !y.known || !nx || !ny || !shape_value_count(Type::tensor(result, {}))) return;
  const size_t count = *nx == 1 ? *ny : *nx;
  std::vector<std::optional<Rational>> elems(count);
  for (size_t k = 0; k < count; ++k) {
    const auto a = value_at(x, k), b = value_at(y, k);
    if (a && b) elems[k] = f(c, *a, *b);
  }
  store_value(c, result, std::move(elems));
}

Status zero_gradient(GradContext&) { return {}; }

}  // namespace nnc

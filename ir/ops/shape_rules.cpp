#include "ir/ops/shape_rules.h"

namespace nnc {

namespace {

std::string operand(int i) { return "operand " + std::to_string(i); }

}  // namespace

Status check_dtype(const InferContext& c, int i, uint32_t classes) {
  const Type& t = c.type(i);
  if (!t.is_tensor()) return c.error(operand(i) + " must be a tensor");
  bool ok = (is_float(t.dtype) && (classes & kClassFloat)) || (is_int(t.dtype) && (classes & kClassInt)) ||
            (t.dtype == DType::kBool && (classes & kClassBool));
  if (ok) return {};
  std::string accepted;
  for (auto [bit, name] : {std::pair{kClassFloat, "float"}, {kClassInt, "integer"}, {kClassBool, "bool"}})
    if (classes & bit) accepted += std::string(accepted.empty() ? "" : " or ") + name;
  return c.error(operand(i) + " is " + std::string(dtype_name(t.dtype)) + ", must be " + accepted);
}

Status check_same_dtype(const InferContext& c, int i, int j) {
  if (c.dtype(i) == c.dtype(j)) return {};
  return c.error("operands " + std::to_string(i) + " and " + std::to_string(j) + " must have one dtype, got " +
                 std::string(dtype_name(c.dtype(i))) + " and " + std::string(dtype_name(c.dtype(j))));
}

Status check_rank(const InferContext& c, int i, int rank) {
  if (c.rank(i) == rank) return {};
  return c.error(operand(i) + " has rank " + std::to_string(c.rank(i)) + ", must have rank " + std::to_string(rank));
}

Status check_min_rank(const InferContext& c, int i, int rank) {
  if (c.rank(i) >= rank) return {};
  return c.error(operand(i) + " has rank " + std::to_string(c.rank(i)) + ", must have at least rank " + std::to_string(rank));
}

Status check_equal(InferContext& c, const Dim& a, const Dim& b, std::string_view what) {
  if (c.symbols().equal(a, b) != Ternary::kNo) return {};
  return c.error(std::string(what) + ": got " + c.symbols().pretty(b) + ", expected " + c.symbols().pretty(a));
}

Status check_broadcasts_to(InferContext& c, int i, const Shape& shape) {
  const Shape& from = c.shape(i);
  if (from.size() > shape.size()) return c.error(operand(i) + " has more axes than what it broadcasts to");
  for (size_t k = 0; k < from.size(); ++k) {
    const Dim& d = from[from.size() - 1 - k];
    if (!d.is_const(1))
      NNC_TRY(check_equal(c, shape[shape.size() - 1 - k], d, operand(i) + " does not broadcast on axis -" + std::to_string(k + 1)));
  }
  return {};
}

Status check_axes(const InferContext& c, std::span<const int64_t> axes, int rank) {
  for (size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] < 0 || axes[k] >= rank) return c.error("axis " + std::to_string(axes[k]) + " outside rank " + std::to_string(rank));
    if (k > 0 && axes[k] <= axes[k - 1]) return c.error("axes must be ascending and distinct");
  }
  return {};
}

Result<std::vector<int64_t>> spatial_ints(const InferContext& c, std::string_view attr, size_t count, int64_t fallback, int64_t at_least) {
  std::vector<int64_t> v = c.node().ints(attr);
  if (v.empty()) v.assign(count, fallback);
  if (v.size() != count)
    return c.error("attribute " + std::string(attr) + " has " + std::to_string(v.size()) + " entries for " + std::to_string(count) +
                   " spatial axes");
  for (int64_t x : v)
    if (x < at_least || x > kDimMax)
      return c.error("attribute " + std::string(attr) + " holds " + std::to_string(x) + ", must be at least " + std::to_string(at_least));
  return v;
}

}  // namespace nnc

#include <algorithm>

#include "ir/graph.h"
#include "ir/support/text.h"

namespace nnc {

SymbolTable& InferContext::symbols() { return graph_.symbols(); }

int InferContext::operand_count() const { return static_cast<int>(node_.operands.size()); }

bool InferContext::has(int i) const { return i < operand_count() && node_.operands[static_cast<size_t>(i)].valid(); }

const Type& InferContext::type(int i) const {
  NNC_CHECK(has(i), "operand is absent");
  return graph_.type(node_.operands[static_cast<size_t>(i)]);
}

const ShapeValue& InferContext::value(int i) const {
  static const ShapeValue unknown;
  return has(i) ? graph_.shape_value(node_.operands[static_cast<size_t>(i)]) : unknown;
}

void InferContext::set_value(int i, ShapeValue v) {
  if (v.elems.size() > kMaxShapeValue) return;
  if (values_->size() <= static_cast<size_t>(i)) values_->resize(static_cast<size_t>(i) + 1);
  (*values_)[static_cast<size_t>(i)] = std::move(v);
}

Result<Shape> InferContext::broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t k = 0; k < rank; ++k) {
    const Dim one = 1;
    const Dim& x = k + a.size() >= rank ? a[k + a.size() - rank] : one;
    const Dim& y = k + b.size() >= rank ? b[k + b.size() - rank] : one;
    const bool never =
        symbols().equal(x, y) == Ternary::kNo && symbols().equal(x, 1) == Ternary::kNo && symbols().equal(y, 1) == Ternary::kNo;
    if (never) {
      return error(cat("shapes ", symbols().str(std::span<const Dim>(a)), " and ", symbols().str(std::span<const Dim>(b)),
                       " do not broadcast: extents ", symbols().pretty(x), " and ", symbols().pretty(y), " meet at axis ", k,
                       " of the result; they must be equal or one of them 1"));
    }
    out[k] = symbols().broadcast(x, y);
  }
  return out;
}

Result<int64_t> InferContext::axis(int64_t a, int rank) const {
  if (a < -rank || a >= rank) return error(cat("axis ", a, " is outside [", -rank, ", ", rank, ")"));
  return a < 0 ? a + rank : a;
}

}  // namespace nnc

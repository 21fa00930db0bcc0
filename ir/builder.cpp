#include "ir/builder.h"

#include <numeric>

#include "ir/support/text.h"

namespace nnc {

Result<std::vector<ValueId>> Builder::ops(OpKind kind, std::vector<ValueId> operands, AttrList attrs, std::vector<RegionId> regions) {
  NNC_ASSIGN(const NodeId id, graph_.append(kind, std::move(operands), std::move(attrs), loc_, before_, std::move(regions)));
  return graph_.node(id).results;
}

Result<ValueId> Builder::op(OpKind kind, std::vector<ValueId> operands, AttrList attrs) {
  NNC_ASSIGN(const std::vector<ValueId> results, ops(kind, std::move(operands), std::move(attrs)));
  return results.empty() ? ValueId() : results[0];
}

Result<ValueId> Builder::constant(Tensor t) { return op(OpKind::kConstant, {}, {{"value", module().add_constant(std::move(t))}}); }

Result<ValueId> Builder::scalar(DType dtype, double value) {
  Tensor t(dtype, {});
  store_f64(dtype, t.data(), 0, value);
  return constant(std::move(t));
}

Result<ValueId> Builder::dims_value(Shape dims) { return op(OpKind::kDimsValue, {}, {{"dims", std::move(dims)}}); }

Result<ValueId> Builder::cast(ValueId x, DType to) {
  if (dtype(x) == to) return x;
  return op(OpKind::kCast, {x}, {{"to", to}});
}

Result<ValueId> Builder::reshape(ValueId x, Shape to) {
  if (shape(x) == to) return x;
  return op(OpKind::kReshape, {x}, {{"shape", std::move(to)}});
}

Result<ValueId> Builder::transpose(ValueId x, std::vector<int64_t> perm) {
  std::vector<int64_t> identity(perm.size());
  std::iota(identity.begin(), identity.end(), 0);
  if (perm == identity && perm.size() == shape(x).size()) return x;
  return op(OpKind::kTranspose, {x}, {{"perm", std::move(perm)}});
}

Result<ValueId> Builder::broadcast_to(ValueId x, Shape to) {
  if (shape(x) == to) return x;
  return op(OpKind::kBroadcastTo, {x}, {{"shape", std::move(to)}});
}

Result<ValueId> Builder::slice(ValueId x, std::vector<int64_t> axes, Shape starts, Shape ends, std::vector<int64_t> steps) {
  return op(OpKind::kSlice, {x},
            {{"axes", std::move(axes)}, {"starts", std::move(starts)}, {"ends", std::move(ends)}, {"steps", std::move(steps)}});
}

Result<ValueId> Builder::concat(std::vector<ValueId> xs, int64_t axis) {
  if (xs.size() == 1) return xs[0];
  return op(OpKind::kConcat, std::move(xs), {{"axis", axis}});
}

Result<ValueId> Builder::reduce(std::string_view kind, ValueId x, std::vector<int64_t> axes, bool keepdims) {
  return op(OpKind::kReduce, {x}, {{"kind", std::string(kind)}, {"axes", std::move(axes)}, {"keepdims", int64_t{keepdims}}});
}

Result<ValueId> Builder::matmul(ValueId a, ValueId b) { return op(OpKind::kMatMul, {a, b}); }

Result<ValueId> Builder::sum_to(ValueId x, const Shape& to) {
  const Shape from = shape(x);
  if (from == to) return x;
  NNC_CHECK(to.size() <= from.size(), "a broadcast does not lower the rank");
  const size_t lead = from.size() - to.size();
  std::vector<int64_t> axes;
  for (size_t k = 0; k < from.size(); ++k) {
    const bool added = k < lead;
    if (added || (to[k - lead].is_const(1) && !from[k].is_const(1))) axes.push_back(static_cast<int64_t>(k));
  }
  // An extent that is 1 or that of `from`, depending on the call, can't be decided here.
  for (size_t k = lead; k < from.size(); ++k) {
    if (!to[k - lead].is_const(1) && symbols().equal(from[k], to[k - lead]) != Ternary::kYes) {
      return Error(Code::kNoGradient, cat("the sum of ", type_pretty(symbols(), type(x)), " down to ", symbols().pretty(to[k - lead]),
                                          " at axis ", k - lead, " depends on whether that extent is 1"))
          .with("try: give the extent a lower bound of 2, or its value (--dim)");
    }
  }
  ValueId sum = x;
  if (!axes.empty()) { NNC_ASSIGN(sum, reduce("sum", x, std::move(axes), true)); }
  return reshape(sum, to);
}

Result<Shape> Builder::dims_of(ValueId v, int64_t lo, int64_t hi) {
  const Type t = type(v);
  if (!t.is_tensor() || !is_int(t.dtype) || t.rank() > 1) {
    return Error(Code::kInvalidModel, cat("dims are given by an integer tensor of rank 0 or 1, got ", type_pretty(symbols(), t)));
  }
  const ShapeValue known = graph_.shape_value(v);
  if (std::optional<std::vector<Dim>> dims = known.dims()) return *dims;
  const Dim extent = t.rank() == 0 ? Dim(1) : t.shape[0];
  if (!extent.is_const() || extent.constant() < 0 || extent.constant() > static_cast<int64_t>(kMaxShapeValue)) {
    return Error(Code::kInvalidModel,
                 cat("a vector of dims has a fixed number of elements, at most ", kMaxShapeValue, "; got ", type_pretty(symbols(), t)));
  }
  std::vector<SymbolId> minted;
  Shape dims;
  for (size_t k = 0; k < static_cast<size_t>(extent.constant()); ++k) {
    const SymbolId s = symbols().data("", lo, hi);
    minted.push_back(s);
    const bool exact = known.known && k < known.elems.size() && known.elems[k] && known.elems[k]->num == 1 && known.elems[k]->den == 1;
    dims.push_back(exact ? known.elems[k]->dim : Dim(s));
  }
  NNC_TRY(ops(OpKind::kBindDims, {v}, {{"symbols", std::move(minted)}}));
  return dims;
}

const Node* def_of(const Graph& g, ValueId v) {
  if (!v.valid() || !g.value(v).def.valid()) return nullptr;
  return &g.node(g.value(v).def);
}

bool is(const Graph& g, ValueId v, OpKind kind) {
  const Node* n = def_of(g, v);
  return n != nullptr && n->kind == kind;
}

const Tensor* const_value(const Graph& g, ValueId v) {
  if (!is(g, v, OpKind::kConstant)) return nullptr;
  return &g.module().constant(def_of(g, v)->constant("value"));
}

bool unpacks_constant(const Graph& g, const Node& n) {
  return n.kind == OpKind::kUnpack && n.i("transposed") == 0 && const_value(g, n.operands[0]) != nullptr;
}

bool single_use(const Graph& g, ValueId v) { return g.value(v).uses.size() == 1; }

std::optional<double> scalar_value(const Graph& g, ValueId v) {
  const Tensor* t = const_value(g, v);
  if (t == nullptr || t->count() == 0 || t->dtype() == DType::kString || is_complex(t->dtype())) return std::nullopt;
  const double first = t->f64(0);
  for (int64_t k = 1; k < t->count(); ++k) {
    if (t->f64(k) != first) return std::nullopt;
  }
  return first;
}

}  // namespace nnc

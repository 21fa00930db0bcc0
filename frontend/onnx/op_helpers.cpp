#include "frontend/onnx/op_helpers.h"

#include <algorithm>
#include <numeric>

#include "frontend/onnx/import_model.h"
#include "ir/support/text.h"

namespace nnc::onnx {

Result<ValueId> as_scalar(NodeContext& c, ValueId v) {
  const Shape& s = c.b().shape(v);
  if (s.empty()) return v;
  if (!std::ranges::all_of(s, [](const Dim& d) { return d.is_const(1); }))
    return c.error(cat("expected one element, got ", type_pretty(c.symbols(), c.b().type(v))));
  return c.b().reshape(v, {});
}

Result<bool> known_flag(NodeContext& c, int input, std::string_view what) {
  if (const auto t = c.importer().fold(c.graph(), c.in(input)); t && t->count() == 1) return t->i64(0) != 0;
  if (const ShapeValue v = c.graph().shape_value(c.in(input)); v.elems.size() == 1 && v.elems[0] && v.elems[0]->dim.is_const())
    return v.elems[0]->dim.constant() != 0;
  return c.importer().need_values(c.graph(), c.in(input), cat(what, " must be known when the model is compiled"));
}

Result<std::vector<int64_t>> known_dims(NodeContext& c, const Shape& dims, std::string_view what) {
  std::vector<int64_t> out;
  for (const Dim& d : dims) {
    if (!d.is_const()) {
      return Error(Code::kNeedDims, cat(what, " must be known when the model is compiled, it is ", c.symbols().pretty(d)))
          .with("try: --dim NAME=SIZE for the dims in it");
    }
    out.push_back(d.constant());
  }
  return out;
}

Result<Shape> broadcast_shapes(NodeContext& c, const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t k = 0; k < rank; ++k) {
    const Dim x = k + a.size() >= rank ? a[k + a.size() - rank] : Dim(1);
    const Dim y = k + b.size() >= rank ? b[k + b.size() - rank] : Dim(1);
    const auto no = [&](const Dim& p, const Dim& q) { return c.symbols().equal(p, q) == Ternary::kNo; };
    if (no(x, y) && no(x, 1) && no(y, 1)) {
      return c.error(cat("shapes ", c.symbols().str(a), " and ", c.symbols().str(b), " do not broadcast: ", c.symbols().pretty(x),
                         " meets ", c.symbols().pretty(y)));
    }
    out[k] = c.symbols().broadcast(x, y);
  }
  return out;
}

std::vector<int64_t> all_axes(int n) {
  std::vector<int64_t> axes(static_cast<size_t>(n));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Status assert_equal(NodeContext& c, const Dim& a, const Dim& b, std::string_view what) {
  switch (c.symbols().equal(a, b)) {
    case Ternary::kYes: return {};
    case Ternary::kNo: return c.error(cat(what, " must be ", c.symbols().pretty(b), ", is ", c.symbols().pretty(a)));
    case Ternary::kUnknown: break;
  }
  NNC_TRY(c.b().ops(
      OpKind::kAssertDims, {},
      {{"a", Shape{a}}, {"b", Shape{b}}, {"rel", std::string("eq")}, {"message", cat(what, " must be ", c.symbols().pretty(b))}}));
  return {};
}

}  // namespace nnc::onnx

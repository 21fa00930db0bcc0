#include "ir/ops/control.h"

#include <algorithm>
#include <set>

#include "ir/ops/attr_defs.h"
#include "ir/ops/families.h"
#include "ir/ops/shape_rules.h"

namespace nnc {

namespace {

// Hands out the symbols of an attribute in order.
class SymbolSource {
 public:
  SymbolSource(const InferContext& c, std::string_view attr) : c_(c), attr_(attr), symbols_(c.node().symbols(attr)) {}
  Result<Dim> next() {
    if (used_ == symbols_.size())
      return c_.error("attribute " + std::string(attr_) + " has too few symbols (" + std::to_string(used_) + ")");
    return Dim(symbols_[used_++]);
  }
  Status finish() const {
    if (used_ == symbols_.size()) return {};
    return c_.error("attribute " + std::string(attr_) + " has " + std::to_string(symbols_.size()) + " symbols, " + std::to_string(used_) +
                    " are needed");
  }

 private:
  const InferContext& c_;
  std::string_view attr_;
  const std::vector<SymbolId>& symbols_;
  size_t used_ = 0;
};

std::string at(size_t i) { return std::to_string(i); }

const Graph& region(InferContext& c, size_t i) { return c.graph().region(c.node().regions[i]); }

// Region inputs must have exactly the operands' types.
Status check_captures(InferContext& c, const Graph& body, size_t first_operand, size_t first_input) {
  size_t operands = std::max(first_operand, static_cast<size_t>(c.operand_count()));  // trailing absent operands are not stored
  if (body.inputs().size() - first_input != operands - first_operand)
    return c.error("the region has " + at(body.inputs().size()) + " inputs, must have " + at(first_input + operands - first_operand));
  for (size_t k = first_operand; k < operands; ++k)
    if (body.type(body.inputs()[first_input + k - first_operand]) != c.type(static_cast<int>(k)))
      return c.error("the region's input " + at(first_input + k - first_operand) + " is " +
                     type_pretty(c.symbols(), body.type(body.inputs()[first_input + k - first_operand])) + ", operand " + at(k) + " is " +
                     type_pretty(c.symbols(), c.type(static_cast<int>(k))));
  return {};
}

Status check_scalar(InferContext& c, const Type& t, DType dtype, const std::string& what) {
  if (t.is_tensor() && t.dtype == dtype && t.rank() == 0) return {};
  return c.error(what + " must be a scalar of " + std::string(dtype_name(dtype)) + ", is " + type_pretty(c.symbols(), t));
}

// The type of both branches, with a fresh symbol where their extents differ.
Result<Type> join(InferContext& c, const Type& a, const Type& b, SymbolSource& symbols, const std::string& what) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.has_shape != b.has_shape || a.rank() != b.rank())
    return c.error(what + " is " + type_pretty(c.symbols(), a) + " in one branch and " + type_pretty(c.symbols(), b) + " in the other");
  Type joined = a;
  for (size_t k = 0; k < a.shape.size(); ++k)
    if (a.shape[k] != b.shape[k]) { NNC_ASSIGN(joined.shape[k], symbols.next()); }
  return joined;
}

Status infer_if(InferContext& c) {
  if (c.node().regions.size() != 2) return c.error("needs the regions of both branches");
  const Graph &then_region = region(c, 0), &else_region = region(c, 1);
  NNC_TRY(check_scalar(c, c.type(0), DType::kBool, "the condition"));
  NNC_TRY(check_captures(c, then_region, 1, 0));
  NNC_TRY(check_captures(c, else_region, 1, 0));
  if (then_region.outputs().size() != else_region.outputs().size())
    return c.error("the branches have " + at(then_region.outputs().size()) + " and " + at(else_region.outputs().size()) + " results");
  SymbolSource symbols(c, "result_symbols");
  for (size_t k = 0; k < then_region.outputs().size(); ++k) {
    NNC_ASSIGN(Type t,
               join(c, then_region.type(then_region.outputs()[k]), else_region.type(else_region.outputs()[k]), symbols, "result " + at(k)));
    c.result(std::move(t));
  }
  return symbols.finish();
}

bool has_symbol(const std::vector<SymbolId>& symbols, SymbolId s) { return std::find(symbols.begin(), symbols.end(), s) != symbols.end(); }

// One carried value: what the operand, the region's input and the region's output say about its type. An axis either keeps its extent, or
// is a symbol of `carried_symbols` in the region.
Result<Type> carried_type(InferContext& c, const Type& initial, const Type& input, const Type& output, SymbolSource& results,
                          const std::string& what) {
  for (const Type* t : {&input, &output})
    if (t->kind != initial.kind || t->dtype != initial.dtype || t->has_shape != initial.has_shape || t->rank() != initial.rank())
      return c.error(what + " begins as " + type_pretty(c.symbols(), initial) + ", but the body has " + type_pretty(c.symbols(), *t));
  Type result = initial;
  const auto& changing = c.node().symbols("carried_symbols");
  for (size_t k = 0; k < initial.shape.size(); ++k) {
    std::optional<SymbolId> s = input.shape[k].as_symbol();
    if (s && has_symbol(changing, *s)) {
      NNC_ASSIGN(result.shape[k], results.next());
    } else if (input.shape[k] != initial.shape[k] || output.shape[k] != initial.shape[k]) {
      return c.error(what + " changes its extent on axis " + at(k) + " from " + c.symbols().pretty(initial.shape[k]) + " to " +
                     c.symbols().pretty(output.shape[k]) + " without a symbol for it");
    }
  }
  return result;
}

// Symbols that nodes of the body (or the loop itself) bind once per iteration; extents over them mean nothing outside.
void collect_bound(const Graph& g, std::set<SymbolId>* bound) {
  for (NodeId id : g.order()) {
    const Node& node = g.node(id);
    for (const AttrValue& a : node.attrs)
      if (const auto* symbols = std::get_if<std::vector<SymbolId>>(&a)) bound->insert(symbols->begin(), symbols->end());
    for (RegionId r : node.regions) collect_bound(g.region(r), bound);
  }
}

bool depends_on_any(const SymbolTable& table, const Dim& d, const std::set<SymbolId>& symbols) {
  return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return table.depends_on(d, s); });
}

Result<Dim> trip_extent(InferContext& c, const Graph& body) {
  const auto& given = c.node().symbols("trip");
  if (given.size() == 1) return Dim(given[0]);
  if (!given.empty()) return c.error("attribute trip is one symbol");
  auto value = c.has(0) ? c.value(0).dims() : std::nullopt;
  bool never_stops = !c.has(1) && body.outputs()[0] == body.inputs()[1];
  if (!value || value->size() != 1 || !never_stops)
    return c.error("stacked results need the attribute trip: the number of iterations is not known");
  Dim trip = (*value)[0];
  return c.symbols().at_least(trip, 0) == Ternary::kYes ? trip : c.symbols().max(trip, 0);
}

Status infer_loop(InferContext& c) {
  const Node& node = c.node();
  if (node.regions.size() != 1) return c.error("needs the region of its body");
  const Graph& body = region(c, 0);
  int64_t carried = node.i("carried"), scan = node.i("scan");
  if (carried < 0 || scan < 0 || carried + 2 > std::max(2, c.operand_count())) return c.error("carried or scan does not fit the operands");
  if (c.has(0)) NNC_TRY(check_scalar(c, c.type(0), DType::kI64, "the trip count"));
  if (c.has(1)) NNC_TRY(check_scalar(c, c.type(1), DType::kBool, "the condition"));
  auto n = static_cast<size_t>(carried);
  NNC_TRY(check_captures(c, body, 2 + n, 2 + n));
  if (body.outputs().size() != 1 + n + static_cast<size_t>(scan))
    return c.error("the body has " + at(body.outputs().size()) + " results, must have " + at(1 + n + static_cast<size_t>(scan)));
  NNC_TRY(check_scalar(c, body.type(body.inputs()[0]), DType::kI64, "the body's iteration number"));
  NNC_TRY(check_scalar(c, body.type(body.inputs()[1]), DType::kBool, "the body's condition"));
  NNC_TRY(check_scalar(c, body.type(body.outputs()[0]), DType::kBool, "the body's first result"));
  SymbolSource results(c, "result_symbols");
  for (size_t k = 0; k < n; ++k) {
    NNC_ASSIGN(Type t, carried_type(c, c.type(static_cast<int>(k + 2)), body.type(body.inputs()[k + 2]), body.type(body.outputs()[k + 1]),
                                    results, "carried value " + at(k)));
    c.result(std::move(t));
  }
  std::set<SymbolId> bound(node.symbols("carried_symbols").begin(), node.symbols("carried_symbols").end());
  collect_bound(body, &bound);
  for (size_t k = 0; k < static_cast<size_t>(scan); ++k) {
    Type t = body.type(body.outputs()[1 + n + k]);
    if (!t.is_tensor()) return c.error("only tensors can be stacked, result " + at(1 + n + k) + " is " + type_pretty(c.symbols(), t));
    for (Dim& d : t.shape)
      if (depends_on_any(c.symbols(), d, bound)) { NNC_ASSIGN(d, results.next()); }
    NNC_ASSIGN(Dim trip, trip_extent(c, body));
    t.shape.insert(t.shape.begin(), trip);
    c.result(std::move(t));
  }
  return results.finish();
}

Status infer_group(InferContext& c) {
  if (c.node().regions.size() != 1) return c.error("needs one region");
  const Graph& body = region(c, 0);
  NNC_TRY(check_captures(c, body, 0, 0));
  for (ValueId v : body.outputs()) c.result(body.type(v));
  return {};
}

Status infer_fail(InferContext& c) {
  const auto* dtypes = std::get_if<std::vector<std::string>>(&c.node().attr("dtypes"));
  const auto& ranks = c.node().ints("ranks");
  const Shape& dims = c.node().dims("dims");
  size_t count = dtypes ? dtypes->size() : 0, used = 0;
  if (ranks.size() != count) return c.error("dtypes and ranks must have one entry per result");
  for (size_t k = 0; k < count; ++k) {
    DType dtype = parse_dtype((*dtypes)[k]);
    auto rank = static_cast<size_t>(ranks[k]);
    if (dtype == DType::kInvalid) return c.error("unknown dtype \"" + (*dtypes)[k] + "\"");
    if (ranks[k] < 0 || rank > dims.size() - used) return c.error("dims has too few extents for the ranks");
    auto begin = dims.begin() + static_cast<std::ptrdiff_t>(used);
    c.result(dtype, Shape(begin, begin + ranks[k]));
    used += rank;
  }
  if (used != dims.size()) return c.error("dims has more extents than the ranks say");
  return {};
}

}  // namespace

size_t if_result_symbols(const Graph& then_region, const Graph& else_region) {
  size_t count = 0;
  for (size_t k = 0; k < std::min(then_region.outputs().size(), else_region.outputs().size()); ++k) {
    const Shape &a = then_region.type(then_region.outputs()[k]).shape, &b = else_region.type(else_region.outputs()[k]).shape;
    for (size_t axis = 0; axis < std::min(a.size(), b.size()); ++axis) count += a[axis] != b[axis];
  }
  return count;
}

LoopSymbols loop_symbols(std::span<const Type> initial, const Graph& body, size_t scan) {
  LoopSymbols count;
  std::set<SymbolId> bound;
  collect_bound(body, &bound);
  for (size_t k = 0; k < initial.size(); ++k) {
    const Shape &outer = initial[k].shape, &in = body.type(body.inputs()[k + 2]).shape, &out = body.type(body.outputs()[k + 1]).shape;
    for (size_t axis = 0; axis < outer.size() && axis < out.size(); ++axis) {
      if (in[axis] == outer[axis] && out[axis] == outer[axis]) continue;
      ++count.carried;
      if (std::optional<SymbolId> s = in[axis].as_symbol(); s && in[axis] != outer[axis]) bound.insert(*s);
    }
  }
  const SymbolTable& table = body.symbols();
  for (size_t k = 0; k < scan; ++k)
    for (const Dim& d : body.type(body.outputs()[body.outputs().size() - scan + k]).shape) count.scan += depends_on_any(table, d, bound);
  return count;
}

std::span<const OpDef> ops_control() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kIf,
       .name = "if",
       .doc = "Operands condition (bool scalar), captures...; regions then and else, whose inputs are the captures. Runs one of them; its "
              "outputs are the results. Where the "
              "branches' extents differ, the result has the next symbol of result_symbols, bound to what the branch gave.",
       .min_operands = 1,
       .max_operands = -1,
       .results = -1,
       .regions = 2,
       .attrs = {attr_list("result_symbols", AttrKind::kSymbols)},
       .traits = kPure | kVariadic,
       .lowering = Lowering::kControl,
       .infer = infer_if,
       .eval = eval_if,
       .no_gradient = "differentiated by the differentiate pass, which makes a region for the gradient"},
      {.kind = OpKind::kLoop,
       .name = "loop",
       .doc = "Operands trip? (i64 scalar), condition? (bool scalar), `carried` carried values, invariants...; the region's inputs are "
              "iteration number (i64), condition, carried "
              "values, invariants, its outputs condition, carried values, `scan` values to stack. Runs while fewer than trip iterations "
              "are done and the condition holds. "
              "Results: the final carried values; the stacked values, the number of iterations as first extent: the attribute trip (a "
              "symbol bound at the end), or the "
              "trip count itself where its value is known and no condition can end the loop before. A carried value whose extent changes "
              "has in the region a symbol of "
              "carried_symbols, bound at each iteration, and in the result the next of result_symbols; so has a stacked value whose "
              "extents depend on what the body binds, "
              "and these must be equal in all iterations.",
       .min_operands = 0,
       .max_operands = -1,
       .results = -1,
       .regions = 1,
       .attrs = {attr_int("carried"), attr_int("scan"), attr_list("trip", AttrKind::kSymbols),
                 attr_list("carried_symbols", AttrKind::kSymbols), attr_list("result_symbols", AttrKind::kSymbols)},
       .traits = kPure | kVariadic,
       .lowering = Lowering::kControl,
       .infer = infer_loop,
       .eval = eval_loop,
       .no_gradient = "differentiated by the differentiate pass, which makes a region for the gradient"},
      {.kind = OpKind::kGroup,
       .name = "group",
       .doc = "Runs its region on its operands: nodes that become one step. `hero` names the kind of kernel.",
       .min_operands = 0,
       .max_operands = -1,
       .results = -1,
       .regions = 1,
       .attrs = {attr_string("hero")},
       .traits = kPure | kVariadic,
       .lowering = Lowering::kControl,
       .infer = infer_group,
       .eval = eval_group,
       .no_gradient = "groups are made after differentiation"},
      {.kind = OpKind::kFail,
       .name = "fail",
       .doc = "Fails with `message` when it is executed. Stands for a branch that has no meaning for the dims at hand; its results have "
              "the given dtypes, ranks and "
              "(concatenated) dims and are never computed.",
       .min_operands = 0,
       .max_operands = 0,
       .results = -1,
       .attrs = {attr_string("message"), attr_list("dtypes", AttrKind::kStrings), attr_list("ranks", AttrKind::kInts),
                 attr_list("dims", AttrKind::kDims)},
       .traits = kEffect,
       .lowering = Lowering::kControl,
       .infer = infer_fail,
       .eval = eval_fail,
       .no_gradient = "never computes a value"},
  };
  return rows;
}

}  // namespace nnc

// Reverse mode. A region's gradient is a region of its own: it gets the operands of the forward one (and, for a loop, the carried values of
// each iteration, stacked), computes everything inside again and differentiates that.

#include "passes/differentiate.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/builder.h"
#include "ir/support/text.h"
#include "passes/inline_region.h"
#include "passes/rules.h"

namespace nnc {

namespace {

bool takes_gradient(const Type& t) { return t.is_tensor() && is_float(t.dtype); }

Result<ValueId> filled(Builder& b, const Type& t, double v) {
  NNC_ASSIGN(const ValueId one, b.scalar(t.dtype, v));
  return b.broadcast_to(one, t.shape);
}

// The gradients of one graph, appended at its end.
class Backward {
 public:
  Backward(Graph& g, std::span<const ValueId> wrt) : g_(g), b_(g), order_(g.order()) {
    for (ValueId v : wrt) depends_.insert(v);
    for (NodeId n : order_) {
      const Node& node = g.node(n);
      if (!std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId v) { return v.valid() && depends_.count(v) > 0; })) continue;
      for (ValueId r : node.results) {
        if (takes_gradient(g.type(r))) depends_.insert(r);
      }
    }
  }

  Status add(ValueId v, ValueId gradient) {
    if (!gradient.valid() || depends_.count(v) == 0) return {};
    if (g_.type(gradient) != g_.type(v)) {
      return Error(Code::kInternal,
                   cat("a gradient is ", type_str(g_.symbols(), g_.type(gradient)), ", its value ", type_str(g_.symbols(), g_.type(v))));
    }
    ValueId& sum = sums_[v];
    if (!sum.valid()) {
      sum = gradient;
      return {};
    }
    NNC_ASSIGN(sum, b_.binary(OpKind::kAdd, sum, gradient));
    return {};
  }

  Status run() {
    for (size_t k = order_.size(); k-- > 0;) {
      const Node node = g_.node(order_[k]);
      std::vector<ValueId> grads;
      for (ValueId r : node.results) grads.push_back(of(r));
      const bool reached = std::any_of(grads.begin(), grads.end(), [](ValueId v) { return v.valid(); });
      if (!reached || !wanted(node)) continue;
      b_.set_loc(node.loc);
      if (Status s = node_gradient(order_[k], node, grads); !s.ok()) return error_at(g_, node, std::move(s).error());
    }
    return {};
  }

  ValueId of(ValueId v) const {
    const auto it = sums_.find(v);
    return it == sums_.end() ? ValueId() : it->second;
  }
  Result<ValueId> of_or_zero(ValueId v) {
    if (const ValueId g = of(v); g.valid()) return g;
    const Type t = g_.type(v);
    return filled(b_, t, 0);
  }

 private:
  bool wanted(const Node& node) const {
    return std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId v) { return v.valid() && depends_.count(v) > 0; });
  }

  Status node_gradient(NodeId id, const Node& node, const std::vector<ValueId>& grads) {
    if (node.kind == OpKind::kIf) return if_gradient(node, grads);
    if (node.kind == OpKind::kLoop) return loop_gradient(node, grads);
    const OpDef& def = node.def();
    if (def.gradient == nullptr) return Error(Code::kNoGradient, cat("op ", def.name, " has no gradient: ", def.no_gradient));
    std::vector<ValueId> operand_grads(node.operands.size());
    GradContext c{b_, g_, id, grads, &operand_grads};
    NNC_TRY(def.gradient(c));
    for (size_t k = 0; k < operand_grads.size(); ++k) {
      if (node.operands[k].valid()) NNC_TRY(add(node.operands[k], operand_grads[k]));
    }
    return {};
  }

  // Captures that get a gradient, as numbers of operands.
  std::vector<size_t> differentiable(const Node& node, size_t first) const {
    std::vector<size_t> out;
    for (size_t k = first; k < node.operands.size(); ++k) {
      if (node.operands[k].valid() && depends_.count(node.operands[k]) > 0) out.push_back(k);
    }
    return out;
  }

  // if(c, captures, gradients of the results): each region computes its branch again and gives the gradients of the captures.
  Status if_gradient(const Node& node, const std::vector<ValueId>& grads) {
    if (!node.symbols("result_symbols").empty())
      return Error(Code::kNoGradient, "the gradient of an if whose branches have results of different extents is not known");
    const std::vector<size_t> wrt = differentiable(node, 1);
    std::vector<ValueId> operands = node.operands;
    std::vector<size_t> seeded;  // results with a gradient
    for (size_t r = 0; r < grads.size(); ++r) {
      if (!grads[r].valid()) continue;
      seeded.push_back(r);
      operands.push_back(grads[r]);
    }
    std::vector<RegionId> regions;
    for (RegionId from : node.regions) {
      const RegionId id = g_.add_region("grad");
      Graph& region = g_.region(id);
      const Graph& forward = g_.region(from);
      std::map<ValueId, ValueId> map;
      std::vector<ValueId> captures, seeds;
      for (ValueId v : forward.inputs()) captures.push_back(map[v] = region.add_input(forward.type(v)));
      for (size_t r : seeded) seeds.push_back(region.add_input(g_.type(grads[r])));
      NNC_TRY(copy_nodes(region, forward, map, {}));
      std::vector<ValueId> inner;
      for (size_t k : wrt) inner.push_back(captures[k - 1]);
      Backward back(region, inner);
      for (size_t k = 0; k < seeded.size(); ++k) NNC_TRY(back.add(map.at(forward.outputs()[seeded[k]]), seeds[k]));
      NNC_TRY(back.run());
      std::vector<ValueId> outputs;
      for (ValueId v : inner) {
        NNC_ASSIGN(const ValueId g, back.of_or_zero(v));
        outputs.push_back(g);
      }
      region.set_outputs(std::move(outputs));
      regions.push_back(id);
    }
    NNC_ASSIGN(const std::vector<ValueId> results, b_.ops(OpKind::kIf, std::move(operands), {}, std::move(regions)));
    for (size_t k = 0; k < wrt.size(); ++k) NNC_TRY(add(node.operands[wrt[k]], results[k]));
    return {};
  }

  Status loop_gradient(const Node& node, const std::vector<ValueId>& grads);
  Result<std::vector<ValueId>> stacked_carries(const Node& node);

  Graph& g_;
  Builder b_;
  std::vector<NodeId> order_;
  std::set<ValueId> depends_;
  std::map<ValueId, ValueId> sums_;
};

// A loop that runs exactly its trip count, with carried values that keep their extents.
Status check_loop(const Graph& g, const Node& node) {
  const Graph& body = g.region(node.regions[0]);
  if (!node.operands[0].valid())
    return Error(Code::kNoGradient, "a loop without a trip count has no gradient: its iterations are not known")
        .with("try: give it a trip count");
  const bool stops = (node.operands.size() > 1 && node.operands[1].valid()) || body.outputs()[0] != body.inputs()[1];
  if (stops) return Error(Code::kNoGradient, "a loop that its condition may end has no gradient: its iterations are not known");
  if (!node.symbols("carried_symbols").empty() || !node.symbols("result_symbols").empty()) {
    return Error(Code::kNoGradient, "the gradient of a loop whose values change their extents is not known");
  }
  return {};
}

// The carried values at the start of each iteration, [trips, ...]: the forward loop again, which also gives them out.
Result<std::vector<ValueId>> Backward::stacked_carries(const Node& node) {
  const size_t carried = static_cast<size_t>(node.i("carried"));
  const Graph& forward = g_.region(node.regions[0]);
  const RegionId id = g_.add_region("saved");
  Graph& region = g_.region(id);
  std::map<ValueId, ValueId> map;
  for (ValueId v : forward.inputs()) map[v] = region.add_input(forward.type(v));
  NNC_TRY(copy_nodes(region, forward, map, {}));
  std::vector<ValueId> outputs;
  for (size_t k = 0; k <= carried; ++k) outputs.push_back(map.at(forward.outputs()[k]));
  for (size_t k = 0; k < carried; ++k) outputs.push_back(map.at(forward.inputs()[2 + k]));
  region.set_outputs(std::move(outputs));
  AttrList attrs = {{"carried", static_cast<int64_t>(carried)}, {"scan", static_cast<int64_t>(carried)}};
  const ShapeValue& trip = g_.shape_value(node.operands[0]);
  if (!trip.dims()) {
    const SymbolId bound = g_.symbols().data("", 0, kDimMax);
    attrs.push_back({"trip", std::vector<SymbolId>{bound}});
  }
  NNC_ASSIGN(std::vector<ValueId> results, b_.ops(OpKind::kLoop, node.operands, std::move(attrs), {id}));
  results.erase(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carried));
  return results;
}

// loop(trips, _, gradients of the carried values, sums for the invariants; stacks, invariants): iteration i undoes iteration trips - 1 - i.
Status Backward::loop_gradient(const Node& node, const std::vector<ValueId>& grads) {
  NNC_TRY(check_loop(g_, node));
  const size_t carried = static_cast<size_t>(node.i("carried")), scans = static_cast<size_t>(node.i("scan"));
  const size_t first = 2 + carried;
  NNC_ASSIGN(const std::vector<ValueId> stacks, stacked_carries(node));
  const std::vector<size_t> invariants = differentiable(node, first);
  std::vector<size_t> floats;  // carried values that take a gradient
  for (size_t k = 0; k < carried; ++k) {
    if (takes_gradient(g_.type(node.operands[2 + k]))) floats.push_back(k);
  }
  std::vector<size_t> seeded;  // scans with a gradient
  for (size_t k = 0; k < scans; ++k) {
    if (grads[carried + k].valid()) seeded.push_back(k);
  }

  std::vector<ValueId> operands = {node.operands[0], ValueId()};
  for (size_t k : floats) {
    const Type t = g_.type(node.results[k]);
    ValueId g = grads[k];
    if (!g.valid()) { NNC_ASSIGN(g, filled(b_, t, 0)); }
    operands.push_back(g);
  }
  for (size_t k : invariants) {
    const Type t = g_.type(node.operands[k]);
    NNC_ASSIGN(const ValueId zero, filled(b_, t, 0));
    operands.push_back(zero);
  }
  const size_t carried_back = operands.size() - 2;
  operands.push_back(node.operands[0]);
  operands.insert(operands.end(), stacks.begin(), stacks.end());
  for (size_t k : seeded) operands.push_back(grads[carried + k]);
  const size_t first_invariant = operands.size();
  operands.insert(operands.end(), node.operands.begin() + static_cast<std::ptrdiff_t>(first), node.operands.end());

  const Graph& forward = g_.region(node.regions[0]);
  const RegionId id = g_.add_region("grad");
  Graph& region = g_.region(id);
  Builder b(region, node.loc);
  const ValueId i = region.add_input(Type::tensor(DType::kI64, {})), condition = region.add_input(Type::tensor(DType::kBool, {}));
  std::vector<ValueId> inputs = {i, condition};
  for (size_t k = 2; k < operands.size(); ++k) {
    // An absent operand has an input of the forward region's type, which nobody reads.
    inputs.push_back(
        region.add_input(operands[k].valid() ? g_.type(operands[k]) : forward.type(forward.inputs()[k - first_invariant + first])));
  }
  const ValueId trips = inputs[2 + carried_back];
  NNC_ASSIGN(const ValueId one, b.constant(Tensor::scalar_i64(1)));
  NNC_ASSIGN(ValueId at, b.binary(OpKind::kSub, trips, i));
  NNC_ASSIGN(at, b.binary(OpKind::kSub, at, one));
  const auto slice_of = [&](ValueId stack) { return b.op(OpKind::kGather, {stack, at}, {{"axis", int64_t{0}}}); };

  std::map<ValueId, ValueId> map = {{forward.inputs()[0], at}, {forward.inputs()[1], condition}};
  for (size_t k = 0; k < carried; ++k) { NNC_ASSIGN(map[forward.inputs()[2 + k]], slice_of(inputs[3 + carried_back + k])); }
  for (size_t k = first; k < forward.inputs().size(); ++k) map[forward.inputs()[k]] = inputs[first_invariant + k - first];
  std::vector<ValueId> scan_seeds;
  for (size_t k = 0; k < seeded.size(); ++k) {
    NNC_ASSIGN(const ValueId g, slice_of(inputs[3 + carried_back + carried + k]));
    scan_seeds.push_back(g);
  }
  NNC_TRY(copy_nodes(region, forward, map, {}));
  std::vector<ValueId> inner;
  for (size_t k : floats) inner.push_back(map.at(forward.inputs()[2 + k]));
  for (size_t k : invariants) inner.push_back(map.at(forward.inputs()[k]));
  Backward back(region, inner);
  for (size_t k = 0; k < floats.size(); ++k) NNC_TRY(back.add(map.at(forward.outputs()[1 + floats[k]]), inputs[2 + k]));
  for (size_t k = 0; k < seeded.size(); ++k) NNC_TRY(back.add(map.at(forward.outputs()[1 + carried + seeded[k]]), scan_seeds[k]));
  NNC_TRY(back.run());
  std::vector<ValueId> outputs = {condition};
  for (size_t k = 0; k < inner.size(); ++k) {
    NNC_ASSIGN(ValueId g, back.of_or_zero(inner[k]));
    if (k >= floats.size()) { NNC_ASSIGN(g, Builder(region, node.loc).binary(OpKind::kAdd, inputs[2 + k], g)); }
    outputs.push_back(g);
  }
  region.set_outputs(std::move(outputs));
  NNC_ASSIGN(const std::vector<ValueId> results,
             b_.ops(OpKind::kLoop, std::move(operands), {{"carried", static_cast<int64_t>(carried_back)}, {"scan", int64_t{0}}}, {id}));
  for (size_t k = 0; k < floats.size(); ++k) NNC_TRY(add(node.operands[2 + floats[k]], results[k]));
  for (size_t k = 0; k < invariants.size(); ++k) NNC_TRY(add(node.operands[invariants[k]], results[floats.size() + k]));
  return {};
}

}  // namespace

Result<std::vector<ValueId>> differentiate(Graph& g, ValueId loss, std::span<const ValueId> wrt) {
  const Type type = g.type(loss);
  const Dim count = g.symbols().mul(type.shape);
  if (!takes_gradient(type) || !count.is_const(1)) {
    return Error(Code::kUsage, cat("a gradient is that of one float number; the loss is ", type_pretty(g.symbols(), type)))
        .with("try: the mean or the sum of it");
  }
  for (ValueId v : wrt) {
    if (!takes_gradient(g.type(v)))
      return Error(Code::kUsage, cat("only floats have gradients, not ", type_pretty(g.symbols(), g.type(v))));
  }
  Backward back(g, wrt);
  Builder b(g, g.value(loss).def.valid() ? g.node(g.value(loss).def).loc : LocId());
  NNC_ASSIGN(const ValueId one, filled(b, type, 1));
  NNC_TRY(back.add(loss, one));
  NNC_TRY(back.run());
  std::vector<ValueId> grads;
  for (ValueId v : wrt) {
    NNC_ASSIGN(const ValueId gradient, back.of_or_zero(v));
    grads.push_back(gradient);
  }
  return grads;
}

Status differentiate_entry(Module&, Entry& entry, std::string_view loss, std::span<const std::string> args) {
  Graph& g = *entry.graph;
  const auto unknown = [&](std::string_view what, std::string_view name, const std::vector<ArgBinding>& all) {
    return Error(Code::kUnknownName, cat("entry ", quote(entry.name), " has no ", what, " ", quote(name),
                                         "; it has: ", join(all, ", ", [](const ArgBinding& b) { return b.name; })));
  };
  ValueId from;
  for (size_t k = 0; k < entry.results.size(); ++k) {
    if (entry.results[k].name == loss) from = g.outputs()[k];
  }
  if (!from.valid()) return unknown("result", loss, entry.results);
  std::vector<ValueId> wrt;
  for (const std::string& name : args) {
    const auto it = std::find_if(entry.args.begin(), entry.args.end(), [&](const ArgBinding& b) { return b.name == name; });
    if (it == entry.args.end()) return unknown("argument", name, entry.args);
    wrt.push_back(g.inputs()[static_cast<size_t>(it - entry.args.begin())]);
  }
  NNC_ASSIGN(const std::vector<ValueId> grads, differentiate(g, from, wrt));
  std::vector<ValueId> outputs = g.outputs();
  outputs.insert(outputs.end(), grads.begin(), grads.end());
  g.set_outputs(std::move(outputs));
  for (const std::string& name : args) entry.results.push_back({cat("grad.", name), {}});
  return {};
}

Result<int64_t> run_differentiate(Module& m, PassContext&) {
  int64_t changes = 0;
  for (const auto& e : m.entries) {
    const auto asked = m.metadata.find(cat(kDifferentiateKey, e->name));
    if (asked == m.metadata.end()) continue;
    const std::string request = asked->second;
    const size_t colon = request.find(':');
    if (colon == std::string::npos)
      return Error(Code::kInvalidIr, cat("metadata ", quote(asked->first), " must be LOSS: ARG, ARG, is ", quote(request)));
    std::vector<std::string> args;
    for (std::string_view name : split(std::string_view(request).substr(colon + 1), ',')) args.emplace_back(trim(name));
    NNC_TRY(differentiate_entry(m, *e, trim(std::string_view(request).substr(0, colon)), args));
    changes += static_cast<int64_t>(args.size());
  }
  // Entries of one name share a request, so the keys go last.
  for (auto it = m.metadata.begin(); it != m.metadata.end();)
    it = it->first.starts_with(kDifferentiateKey) ? m.metadata.erase(it) : std::next(it);
  return changes;
}

}  // namespace nnc

// Loop and Scan: a region whose carried extents are found by typing it until they stand.

#include <algorithm>
#include <functional>

#include "frontend/onnx/captures.h"
#include "frontend/onnx/import_model.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/ops/control.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

// What makes a loop of a body: how its region's inputs come from iteration number, condition, carried values and captures.
struct LoopPlan {
  const GraphProto* body = nullptr;
  ValueId trip, condition;          // invalid: none
  std::vector<ValueId> carried;     // initial values
  std::vector<ValueId> invariants;  // beside the captures
  size_t stacked = 0;
  // Binds the body's inputs; gets the region's arguments.
  std::function<Status(Builder&, Scope&, ValueId iteration, ValueId condition, std::span<const ValueId> carried,
                       std::span<const ValueId> invariants)>
      bind;
  bool body_gives_condition = true;  // its first output
};

struct LoopBody {
  RegionId region;
  std::vector<SymbolId> carried_symbols;
};

// One attempt to type the body. `types` are the carried values' types in the region.
Result<std::optional<RegionId>> loop_region(NodeContext& c, const LoopPlan& plan, const Captures& captures, const std::vector<Type>& types,
                                            const std::string& label) {
  Importer& importer = c.importer();
  const RegionId id = c.graph().add_region(label);
  Graph& region = c.graph().region(id);
  Scope inner = importer.subgraph_scope(c.scope(), *plan.body, &region, label);
  const ValueId iteration = region.add_input(Type::tensor(DType::kI64, {}), "iteration");
  const ValueId condition = region.add_input(Type::tensor(DType::kBool, {}), "condition");
  std::vector<ValueId> carried, invariants;
  for (const Type& t : types) carried.push_back(region.add_input(t));
  for (const ValueId v : plan.invariants) {
    invariants.push_back(region.add_input(c.graph().type(v), c.graph().value(v).name));
    if (const ShapeValue& known = c.graph().shape_value(v); known.known) region.set_shape_value(invariants.back(), known);
  }
  NNC_TRY(bind_captures(c, captures, inner));
  Builder b(region, c.b().loc());
  NNC_TRY(plan.bind(b, inner, iteration, condition, carried, invariants));
  importer.import_nodes(inner, plan.body->nodes, importer.analysis().facts(*plan.body));
  auto outputs = importer.graph_outputs(inner);
  if (!outputs) return std::optional<RegionId>();
  if (plan.body_gives_condition) {
    ValueId& again = outputs->front();
    const auto known = scalar_value(region, again);
    if (known && *known != 0) again = condition;  // always on: the condition that came in
    if (!region.type(again).shape.empty()) { NNC_ASSIGN(again, b.reshape(again, {})); }
  } else {
    outputs->insert(outputs->begin(), condition);
  }
  region.set_outputs(*outputs);
  return std::optional(id);
}

// Types the body until the carried extents stand: an axis that the body changes gets a symbol, and then once more.
Result<std::optional<LoopBody>> type_loop(NodeContext& c, const LoopPlan& plan, const Captures& captures) {
  std::vector<Type> initial, types;
  size_t axes = 0;
  for (const ValueId v : plan.carried) {
    initial.push_back(c.graph().type(v));
    axes += initial.back().shape.size();
  }
  types = initial;
  const std::string label = node_label(c.node(), 0);
  for (size_t attempt = 0; attempt <= axes; ++attempt) {
    std::optional<RegionId> region;
    Status failed;
    std::vector<Error> findings = c.importer().collect([&] {
      auto r = loop_region(c, plan, captures, types, label);
      if (r.ok())
        region = *r;
      else
        failed = std::move(r).error();
    });
    if (!failed.ok()) return std::move(failed).error();
    if (!region || !findings.empty()) {
      for (Error& e : findings) c.importer().add_finding(std::move(e));
      return std::optional<LoopBody>();
    }
    const Graph& body = c.graph().region(*region);
    bool stable = true;
    LoopBody done{*region, {}};
    for (size_t k = 0; k < types.size(); ++k) {
      const Type& out = body.type(body.outputs()[k + 1]);
      if (out.kind != types[k].kind || out.dtype != types[k].dtype || out.rank() != types[k].rank()) {
        return c.error(cat("carried value ", k, " begins as ", type_pretty(c.symbols(), types[k]), ", but the body gives ",
                           type_pretty(c.symbols(), out)));
      }
      for (size_t axis = 0; axis < out.shape.size(); ++axis) {
        Dim& in = types[k].shape[axis];
        if (in == initial[k].shape[axis] && out.shape[axis] != in) {
          in = Dim(c.symbols().data("", 0, kDimMax));
          stable = false;
        }
        if (in != initial[k].shape[axis]) done.carried_symbols.push_back(*in.as_symbol());
      }
    }
    if (stable) return std::optional(done);
  }
  return c.error("the extents of the carried values do not settle");
}

Result<std::vector<ValueId>> emit_loop(NodeContext& c, const LoopPlan& plan) {
  Captures captures;
  if (!collect_captures(c, *plan.body, &captures)) return std::vector<ValueId>();
  NNC_ASSIGN(const std::optional<LoopBody> body, type_loop(c, plan, captures));
  if (!body) return std::vector<ValueId>();
  const Graph& region = c.graph().region(body->region);
  std::vector<Type> initial;
  for (const ValueId v : plan.carried) initial.push_back(c.graph().type(v));
  const LoopSymbols needed = loop_symbols(initial, region, plan.stacked);
  std::vector<ValueId> operands = {plan.trip, plan.condition};
  for (const std::vector<ValueId>* list : {&plan.carried, &plan.invariants, static_cast<const std::vector<ValueId>*>(&captures.operands)})
    operands.insert(operands.end(), list->begin(), list->end());
  AttrList attrs = {{"carried", static_cast<int64_t>(plan.carried.size())},
                    {"scan", static_cast<int64_t>(plan.stacked)},
                    {"carried_symbols", body->carried_symbols},
                    {"result_symbols", mint(c, needed.carried + needed.scan)}};
  const bool endless = !plan.condition.valid() && region.outputs()[0] == region.inputs()[1];
  const bool known_trip = plan.trip.valid() && c.graph().shape_value(plan.trip).dims().has_value();
  if (plan.stacked > 0 && !(endless && known_trip)) attrs.push_back({"trip", mint(c, 1)});
  return c.b().ops(OpKind::kLoop, std::move(operands), std::move(attrs), {body->region});
}

Status loop(NodeContext& c) {
  LoopPlan plan;
  plan.body = c.subgraph("body");
  if (plan.body == nullptr) return c.finish();
  const size_t carried = static_cast<size_t>(std::max(c.inputs() - 2, 0));
  if (plan.body->inputs.size() != carried + 2)
    return c.error(cat("the body has ", plan.body->inputs.size(), " inputs, expected ", carried + 2));
  if (plan.body->outputs.size() < carried + 1)
    return c.error(cat("the body has ", plan.body->outputs.size(), " results, expected at least ", carried + 1));
  plan.stacked = plan.body->outputs.size() - carried - 1;
  if (c.has(0)) {
    NNC_ASSIGN(plan.trip, as_scalar(c, c.in(0)));
    const auto known = c.graph().shape_value(plan.trip).dims();
    if (known && known->front().is_const() && known->front().constant() >= kDimMax) plan.trip = {};  // as good as none
  }
  if (c.has(1)) {
    NNC_ASSIGN(plan.condition, as_scalar(c, c.in(1)));
    if (const auto start = decided(c, plan.condition); start && *start) plan.condition = {};
  }
  for (size_t k = 0; k < carried; ++k) {
    if (!c.has(static_cast<int>(k) + 2)) return c.error(cat("carried value ", k, " has no initial value"));
    plan.carried.push_back(c.in(static_cast<int>(k) + 2));
  }
  plan.bind = [&plan](Builder&, Scope& inner, ValueId iteration, ValueId condition, std::span<const ValueId> values,
                      std::span<const ValueId>) -> Status {
    const auto& inputs = plan.body->inputs;
    inner.names[inputs[0].name] = Binding::of(iteration);
    inner.names[inputs[1].name] = Binding::of(condition);
    for (size_t k = 0; k < values.size(); ++k) inner.names[inputs[k + 2].name] = Binding::of(values[k]);
    return {};
  };
  NNC_ASSIGN(const std::vector<ValueId> results, emit_loop(c, plan));
  for (size_t k = 0; k < results.size(); ++k) c.out(static_cast<int>(k), results[k]);
  return {};
}

// Axis and direction lists of Scan: empty means axis 0, forward.
Result<std::vector<int64_t>> scan_list(NodeContext& c, std::string_view name, size_t count) {
  std::vector<int64_t> v = c.ints(name);
  if (v.empty()) v.assign(count, 0);
  if (v.size() != count) return c.error(cat("attribute ", quote(name), " has ", v.size(), " numbers, expected ", count));
  return v;
}

// A Loop whose body reads element i of each scanned input.
Status scan(NodeContext& c) {
  LoopPlan plan;
  plan.body = c.subgraph("body");
  if (plan.body == nullptr) return c.finish();
  const auto scanned = c.i("num_scan_inputs", 0);
  if (scanned < 1 || scanned > c.inputs())
    return c.error(cat("attribute \"num_scan_inputs\" = ", scanned, " does not fit ", c.inputs(), " inputs"));
  const size_t count = static_cast<size_t>(scanned), carried = static_cast<size_t>(c.inputs()) - count;
  if (plan.body->inputs.size() != carried + count || plan.body->outputs.size() < carried)
    return c.error("the body's inputs or results do not fit the node's");
  plan.stacked = plan.body->outputs.size() - carried;
  plan.body_gives_condition = false;
  NNC_ASSIGN(std::vector<int64_t> in_axes, scan_list(c, "scan_input_axes", count));
  NNC_ASSIGN(const std::vector<int64_t> in_reverse, scan_list(c, "scan_input_directions", count));
  NNC_ASSIGN(std::vector<int64_t> out_axes, scan_list(c, "scan_output_axes", plan.stacked));
  NNC_ASSIGN(const std::vector<int64_t> out_reverse, scan_list(c, "scan_output_directions", plan.stacked));
  for (size_t k = 0; k < carried; ++k) plan.carried.push_back(c.in(static_cast<int>(k)));
  Dim length;
  for (size_t k = 0; k < count; ++k) {
    const int input = static_cast<int>(carried + k);
    NNC_ASSIGN(in_axes[k], c.axis(in_axes[k], c.rank(input)));
    const Dim extent = c.shape(input)[static_cast<size_t>(in_axes[k])];
    if (k == 0) length = extent;
    NNC_TRY(assert_equal(c, extent, length, cat("the length of scanned input ", k)));
    plan.invariants.push_back(c.in(input));
  }
  NNC_ASSIGN(plan.trip, c.b().op(OpKind::kDimsValue, {}, {{"dims", Shape{length}}, {"rank0", int64_t{1}}}));
  plan.bind = [&](Builder& b, Scope& inner, ValueId iteration, ValueId, std::span<const ValueId> values,
                  std::span<const ValueId> invariants) -> Status {
    for (size_t k = 0; k < values.size(); ++k) inner.names[plan.body->inputs[k].name] = Binding::of(values[k]);
    for (size_t k = 0; k < invariants.size(); ++k) {
      ValueId at = iteration;
      if (in_reverse[k] != 0) {
        NNC_ASSIGN(const ValueId last, b.op(OpKind::kDimsValue, {}, {{"dims", Shape{b.symbols().sub(length, 1)}}, {"rank0", int64_t{1}}}));
        NNC_ASSIGN(at, b.binary(OpKind::kSub, last, iteration));
      }
      NNC_ASSIGN(const ValueId element, b.op(OpKind::kGather, {invariants[k], at}, {{"axis", in_axes[k]}}));
      inner.names[plan.body->inputs[carried + k].name] = Binding::of(element);
    }
    return {};
  };
  NNC_ASSIGN(const std::vector<ValueId> results, emit_loop(c, plan));
  for (size_t k = 0; k < results.size(); ++k) {
    ValueId v = results[k];
    if (k >= carried) {
      const size_t s = k - carried;
      const int rank = c.b().type(v).rank();
      NNC_ASSIGN(const int64_t axis, c.axis(out_axes[s], rank));
      if (out_reverse[s] != 0) {
        const Dim n = c.b().shape(v)[0];
        NNC_ASSIGN(v, c.b().slice(v, {0}, {c.symbols().sub(n, 1)}, {Dim(-1)}, {-1}));
      }
      std::vector<int64_t> perm = all_axes(rank);
      perm.erase(perm.begin());
      perm.insert(perm.begin() + axis, 0);
      NNC_ASSIGN(v, c.b().transpose(v, std::move(perm)));
    }
    c.out(static_cast<int>(k), v);
  }
  return {};
}

}  // namespace

std::span<const OpRow> rows_loop() {
  static const OpRow rows[] = {
      {.name = "Loop", .since = 1, .min_inputs = 0, .max_inputs = -1, .max_outputs = -1, .import = loop},
      {.name = "Scan", .since = 9, .max_inputs = -1, .max_outputs = -1, .import = scan},
  };
  return rows;
}

}  // namespace nnc::onnx

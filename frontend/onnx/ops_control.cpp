// If, Loop, Scan. An `If` whose condition is known under the profile leaves only its branch, and a record of why; others become regions, closed over what
// they capture.

#include <algorithm>
#include <functional>
#include <set>

#include "frontend/onnx/context.h"
#include "frontend/onnx/import_model.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/ops/control.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

constexpr int64_t kClonedElements = 64;  // constants up to this size are repeated in a region instead of captured

// ---- captures

// What the regions of one node take from outside, in order of first use.
struct Captures {
  std::vector<std::pair<std::string_view, ValueId>> names;
  std::vector<ValueId> operands;  // distinct values that become region inputs
};

// False: a captured value has a finding of its own.
bool collect_captures(NodeContext& c, const GraphProto& graph, Captures* out) {
  for (const std::string_view name : c.importer().analysis().facts(graph).free_names) {
    if (std::ranges::any_of(out->names, [&](const auto& n) { return n.first == name; })) continue;
    const Binding b = c.importer().lookup(c.scope(), name);
    if (b.state == Binding::State::kFailed) return false;
    out->names.emplace_back(name, b.value);
    if (!b.value.valid()) continue;
    const Tensor* t = const_value(c.graph(), b.value);
    if (t != nullptr && t->count() <= kClonedElements) continue;
    if (std::ranges::find(out->operands, b.value) == out->operands.end()) out->operands.push_back(b.value);
  }
  return true;
}

// Adds the region's inputs for the captures and binds their names.
Status bind_captures(NodeContext& c, const Captures& captures, Scope& inner) {
  Graph& outer = c.graph();
  Graph& region = *inner.graph;
  std::map<ValueId, ValueId> inside;
  for (const ValueId v : captures.operands) {
    const ValueId arg = region.add_input(outer.type(v), outer.value(v).name);
    if (const ShapeValue& known = outer.shape_value(v); known.known) region.set_shape_value(arg, known);
    inside[v] = arg;
  }
  for (const auto& [name, v] : captures.names) {
    if (!v.valid()) {
      inner.names[name] = Binding();
    } else if (const auto found = inside.find(v); found != inside.end()) {
      inner.names[name] = Binding::of(found->second);
    } else {
      const Node& constant = *def_of(outer, v);
      NNC_ASSIGN(const ValueId copy, Builder(region, constant.loc).op(OpKind::kConstant, {}, {{"value", constant.constant("value")}}));
      inside[v] = copy;
      inner.names[name] = Binding::of(copy);
    }
  }
  return {};
}

// ---- If

std::optional<bool> decided(NodeContext& c, ValueId condition) {
  const ShapeValue& known = c.graph().shape_value(condition);
  if (known.known && known.elems.size() == 1 && known.elems[0] && known.elems[0]->dim.is_const()) return known.elems[0]->dim.constant() != 0;
  if (const auto t = c.importer().fold(c.graph(), condition); t && t->count() == 1) return t->i64(0) != 0;
  return std::nullopt;
}

// Comparisons of dims that made a condition what it is.
struct Comparison {
  Shape a, b;
  std::string rel;
};
void comparisons(const Graph& g, ValueId v, bool holds, int depth, std::vector<Comparison>* out) {
  const Node* n = def_of(g, v);
  if (n == nullptr || depth > 16) return;
  switch (n->kind) {
    case OpKind::kNot: return comparisons(g, n->operands[0], !holds, depth + 1, out);
    case OpKind::kReshape:
    case OpKind::kCast: return comparisons(g, n->operands[0], holds, depth + 1, out);
    case OpKind::kAnd:
    case OpKind::kOr:
      if ((n->kind == OpKind::kAnd) != holds) return;  // one side alone decided
      for (const ValueId o : n->operands) comparisons(g, o, holds, depth + 1, out);
      return;
    case OpKind::kEqual:
    case OpKind::kLess:
    case OpKind::kLessEqual: {
      auto a = g.shape_value(n->operands[0]).dims(), b = g.shape_value(n->operands[1]).dims();
      if (!a || !b || a->size() != 1 || b->size() != 1) return;
      if (a->front().is_const() && b->front().is_const()) return;
      if (n->kind == OpKind::kEqual) return out->push_back({*a, *b, holds ? "eq" : "ne"});
      const bool strict = n->kind == OpKind::kLess;
      if (holds) return out->push_back({*a, *b, strict ? "lt" : "le"});
      return out->push_back({*b, *a, strict ? "le" : "lt"});
    }
    default: return;
  }
}

bool reads_dims(const Graph& g, ValueId v) {
  std::set<ValueId> seen;
  std::vector<ValueId> todo = {v};
  while (!todo.empty()) {
    const ValueId next = todo.back();
    todo.pop_back();
    if (!next.valid() || !seen.insert(next).second) continue;
    const Node* n = def_of(g, next);
    if (n == nullptr) continue;
    if (n->kind == OpKind::kDimsValue) return true;
    todo.insert(todo.end(), n->operands.begin(), n->operands.end());
  }
  return false;
}

// The record of a decision: the dims that it holds for, with this node as place. What a profile's value of an input decides is asserted where the input is read.
Status record_decision(NodeContext& c, ValueId condition, bool taken) {
  std::vector<Comparison> found;
  comparisons(c.graph(), condition, taken, 0, &found);
  const std::string branch = taken ? "then" : "else";
  const auto emit = [&](Shape a, Shape b, std::string rel, std::string why) -> Status {
    NNC_TRY(c.b().ops(OpKind::kAssertDims, {}, {{"a", std::move(a)}, {"b", std::move(b)}, {"rel", std::move(rel)}, {"message", std::move(why)}}));
    return {};
  };
  for (const Comparison& k : found) {
    const std::string what = cat(c.symbols().pretty(k.a[0]), k.rel == "eq" ? " = " : k.rel == "ne" ? " != " : k.rel == "le" ? " <= " : " < ", c.symbols().pretty(k.b[0]));
    NNC_TRY(emit(k.a, k.b, k.rel, cat("the ", branch, " branch was chosen for ", what)));
  }
  const auto& fixed = c.importer().fixed_dims();
  if (!found.empty() || fixed.empty() || !reads_dims(c.graph(), condition)) return {};
  return emit({}, {}, "eq", cat("the ", branch, " branch was chosen for ", join(fixed, ", ")));
}

Status inline_branch(NodeContext& c, const GraphProto& graph, std::string_view label) {
  Importer& importer = c.importer();
  Scope inner = importer.subgraph_scope(c.scope(), graph, &c.graph(), label);
  inner.parent = &c.scope();
  importer.import_nodes(inner, graph.nodes, importer.analysis().facts(graph));
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    const Binding b = importer.lookup(inner, graph.outputs[k].name);
    if (b.state == Binding::State::kValue) c.out(static_cast<int>(k), b.value);
  }
  return {};
}

struct Branch {
  RegionId region;
  std::vector<Error> findings;
  bool ok = false;
};

Result<Branch> import_branch(NodeContext& c, const GraphProto& graph, const Captures& captures, std::string_view label) {
  Importer& importer = c.importer();
  Branch branch;
  branch.region = c.graph().add_region(std::string(label));
  Graph& region = c.graph().region(branch.region);
  Scope inner = importer.subgraph_scope(c.scope(), graph, &region, label);
  NNC_TRY(bind_captures(c, captures, inner));
  branch.findings = importer.collect([&] {
    importer.import_nodes(inner, graph.nodes, importer.analysis().facts(graph));
    if (const auto outputs = importer.graph_outputs(inner)) {
      region.set_outputs(*outputs);
      branch.ok = importer.findings().empty();
    }
  });
  return branch;
}

bool depends_on_data(const SymbolTable& t, const Dim& d) { return t.depends_on_kind(d, SymKind::kData); }

// A region that stands for a branch without meaning under this profile: it fails when it runs, with the results of the other branch's types.
Result<RegionId> failing_region(NodeContext& c, const Captures& captures, const Graph& other, const Error& why, std::string_view label) {
  const RegionId id = c.graph().add_region(std::string(label));
  Graph& region = c.graph().region(id);
  for (const ValueId v : captures.operands) region.add_input(c.graph().type(v), c.graph().value(v).name);
  std::vector<std::string> dtypes;
  std::vector<int64_t> ranks;
  Shape dims;
  for (const ValueId v : other.outputs()) {
    const Type& t = other.type(v);
    dtypes.emplace_back(dtype_name(t.dtype));
    ranks.push_back(t.rank());
    // Extents that the other branch finds out by itself have no meaning here.
    for (const Dim& d : t.shape) dims.push_back(depends_on_data(c.symbols(), d) ? Dim(0) : d);
  }
  const std::string message = cat("the branch taken has no meaning for these inputs: ", why.message, why.place.node.empty() ? "" : cat(" (node ", quote(why.place.node), ")"));
  NNC_ASSIGN(std::vector<ValueId> results, Builder(region, c.b().loc()).ops(OpKind::kFail, {}, {{"message", message}, {"dtypes", dtypes}, {"ranks", ranks}, {"dims", dims}}));
  region.set_outputs(std::move(results));
  return id;
}

std::vector<SymbolId> mint(NodeContext& c, size_t count) {
  std::vector<SymbolId> out;
  for (size_t k = 0; k < count; ++k) out.push_back(c.symbols().data("", 0, kDimMax));
  return out;
}

bool only_typing(const std::vector<Error>& findings) {
  return std::ranges::all_of(findings, [](const Error& e) { return e.code == Code::kInvalidModel; });
}

Status if_op(NodeContext& c) {
  const GraphProto* graphs[] = {c.subgraph("then_branch"), c.subgraph("else_branch")};
  if (graphs[0] == nullptr || graphs[1] == nullptr) return c.finish();
  constexpr std::string_view kNames[] = {"then", "else"};
  for (const GraphProto* g : graphs) {
    if (!g->inputs.empty()) return c.error("a branch has inputs; branches take what they need from outside");
    if (g->outputs.size() != static_cast<size_t>(c.outputs())) return c.error(cat("a branch has ", g->outputs.size(), " results, the node ", c.outputs()));
  }
  NNC_ASSIGN(const ValueId condition, as_scalar(c, c.in(0)));
  if (c.b().dtype(condition) != DType::kBool) return c.error("the condition must be bool");
  const std::string label = node_label(c.node(), 0);
  if (const auto taken = decided(c, condition)) {
    NNC_TRY(record_decision(c, condition, *taken));
    return inline_branch(c, *graphs[*taken ? 0 : 1], cat(label, "/", kNames[*taken ? 0 : 1]));
  }
  Captures captures;
  if (!collect_captures(c, *graphs[0], &captures) || !collect_captures(c, *graphs[1], &captures)) return {};
  Branch branches[2];
  for (size_t k = 0; k < 2; ++k) {
    NNC_ASSIGN(branches[k], import_branch(c, *graphs[k], captures, cat(label, "/", kNames[k])));
  }
  const bool typing = only_typing(branches[0].findings) && only_typing(branches[1].findings);
  if ((!branches[0].ok && !branches[1].ok) || (!typing && !(branches[0].ok && branches[1].ok))) {
    for (Branch& b : branches) {
      for (Error& e : b.findings) c.importer().add_finding(std::move(e));
    }
    return {};
  }
  for (size_t k = 0; k < 2; ++k) {
    if (branches[k].ok) continue;
    const Error why = branches[k].findings.empty() ? Error(Code::kInvalidModel, "it has no value") : branches[k].findings.front();
    NNC_ASSIGN(branches[k].region, failing_region(c, captures, c.graph().region(branches[1 - k].region), why, cat(label, "/", kNames[k])));
  }
  const Graph &then_graph = c.graph().region(branches[0].region), &else_graph = c.graph().region(branches[1].region);
  for (size_t k = 0; k < then_graph.outputs().size(); ++k) {
    const Type &a = then_graph.type(then_graph.outputs()[k]), &b = else_graph.type(else_graph.outputs()[k]);
    if (a.rank() != b.rank() && a.dtype == b.dtype) {
      return c.importer().need_values(c.graph(), condition,
                                      cat("output ", k, " is ", type_pretty(c.symbols(), a), " in one branch and ", type_pretty(c.symbols(), b), " in the other: which one must be known"));
    }
  }
  std::vector<ValueId> operands = {condition};
  operands.insert(operands.end(), captures.operands.begin(), captures.operands.end());
  AttrList attrs = {{"result_symbols", mint(c, if_result_symbols(then_graph, else_graph))}};
  NNC_ASSIGN(const std::vector<ValueId> results, c.b().ops(OpKind::kIf, std::move(operands), std::move(attrs), {branches[0].region, branches[1].region}));
  for (size_t k = 0; k < results.size(); ++k) c.out(static_cast<int>(k), results[k]);
  return {};
}

// ---- Loop and Scan

// What makes a loop of a body: how its region's inputs come from iteration number, condition, carried values and captures.
struct LoopPlan {
  const GraphProto* body = nullptr;
  ValueId trip, condition;                // invalid: none
  std::vector<ValueId> carried;           // initial values
  std::vector<ValueId> invariants;        // beside the captures
  size_t stacked = 0;
  // Binds the body's inputs; gets the region's arguments.
  std::function<Status(Builder&, Scope&, ValueId iteration, ValueId condition, std::span<const ValueId> carried, std::span<const ValueId> invariants)> bind;
  bool body_gives_condition = true;       // its first output
};

struct LoopBody {
  RegionId region;
  std::vector<SymbolId> carried_symbols;
};

// One attempt to type the body. `types` are the carried values' types in the region.
Result<std::optional<RegionId>> loop_region(NodeContext& c, const LoopPlan& plan, const Captures& captures, const std::vector<Type>& types, const std::string& label) {
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
    if (!region.type(again).shape.empty()) {
      NNC_ASSIGN(again, b.reshape(again, {}));
    }
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
      if (r.ok()) region = *r;
      else failed = std::move(r).error();
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
        return c.error(cat("carried value ", k, " begins as ", type_pretty(c.symbols(), types[k]), ", but the body gives ", type_pretty(c.symbols(), out)));
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
  for (const std::vector<ValueId>* list : {&plan.carried, &plan.invariants, static_cast<const std::vector<ValueId>*>(&captures.operands)}) operands.insert(operands.end(), list->begin(), list->end());
  AttrList attrs = {{"carried", static_cast<int64_t>(plan.carried.size())}, {"scan", static_cast<int64_t>(plan.stacked)}, {"carried_symbols", body->carried_symbols},
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
  if (plan.body->inputs.size() != carried + 2) return c.error(cat("the body has ", plan.body->inputs.size(), " inputs, expected ", carried + 2));
  if (plan.body->outputs.size() < carried + 1) return c.error(cat("the body has ", plan.body->outputs.size(), " results, expected at least ", carried + 1));
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
  plan.bind = [&plan](Builder&, Scope& inner, ValueId iteration, ValueId condition, std::span<const ValueId> values, std::span<const ValueId>) -> Status {
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
  if (scanned < 1 || scanned > c.inputs()) return c.error(cat("attribute \"num_scan_inputs\" = ", scanned, " does not fit ", c.inputs(), " inputs"));
  const size_t count = static_cast<size_t>(scanned), carried = static_cast<size_t>(c.inputs()) - count;
  if (plan.body->inputs.size() != carried + count || plan.body->outputs.size() < carried) return c.error("the body's inputs or results do not fit the node's");
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
  plan.bind = [&](Builder& b, Scope& inner, ValueId iteration, ValueId, std::span<const ValueId> values, std::span<const ValueId> invariants) -> Status {
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

std::span<const OpRow> rows_control() {
  static const OpRow rows[] = {
      {.name = "If", .since = 1, .max_outputs = -1, .import = if_op},
      {.name = "Loop", .since = 1, .min_inputs = 0, .max_inputs = -1, .max_outputs = -1, .import = loop},
      {.name = "Scan", .since = 9, .max_inputs = -1, .max_outputs = -1, .import = scan},
  };
  return rows;
}

}  // namespace nnc::onnx

// If. One whose condition is known under the profile leaves only its branch, and a record of why; others become regions, closed over what
// they capture.

#include <algorithm>
#include <set>

#include "frontend/onnx/captures.h"
#include "frontend/onnx/import_model.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/ops/control.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

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

// The record of a decision: the dims that it holds for, with this node as place. What a profile's value of an input decides is asserted
// where the input is read.
Status record_decision(NodeContext& c, ValueId condition, bool taken) {
  std::vector<Comparison> found;
  comparisons(c.graph(), condition, taken, 0, &found);
  const std::string branch = taken ? "then" : "else";
  const auto emit = [&](Shape a, Shape b, std::string rel, std::string why) -> Status {
    NNC_TRY(c.b().ops(OpKind::kAssertDims, {},
                      {{"a", std::move(a)}, {"b", std::move(b)}, {"rel", std::move(rel)}, {"message", std::move(why)}}));
    return {};
  };
  for (const Comparison& k : found) {
    const std::string what = cat(c.symbols().pretty(k.a[0]),
                                 k.rel == "eq"   ? " = "
                                 : k.rel == "ne" ? " != "
                                 : k.rel == "le" ? " <= "
                                                 : " < ",
                                 c.symbols().pretty(k.b[0]));
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

// A region that stands for a branch without meaning under this profile: it fails when it runs, with the results of the other branch's
// types.
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
  const std::string message = cat("the branch taken has no meaning for these inputs: ", why.message,
                                  why.place.node.empty() ? "" : cat(" (node ", quote(why.place.node), ")"));
  NNC_ASSIGN(
      std::vector<ValueId> results,
      Builder(region, c.b().loc()).ops(OpKind::kFail, {}, {{"message", message}, {"dtypes", dtypes}, {"ranks", ranks}, {"dims", dims}}));
  region.set_outputs(std::move(results));
  return id;
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
    if (g->outputs.size() != static_cast<size_t>(c.outputs()))
      return c.error(cat("a branch has ", g->outputs.size(), " results, the node ", c.outputs()));
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
  for (size_t k = 0; k < 2; ++k) { NNC_ASSIGN(branches[k], import_branch(c, *graphs[k], captures, cat(label, "/", kNames[k]))); }
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
                                      cat("output ", k, " is ", type_pretty(c.symbols(), a), " in one branch and ",
                                          type_pretty(c.symbols(), b), " in the other: which one must be known"));
    }
  }
  std::vector<ValueId> operands = {condition};
  operands.insert(operands.end(), captures.operands.begin(), captures.operands.end());
  AttrList attrs = {{"result_symbols", mint(c, if_result_symbols(then_graph, else_graph))}};
  NNC_ASSIGN(const std::vector<ValueId> results,
             c.b().ops(OpKind::kIf, std::move(operands), std::move(attrs), {branches[0].region, branches[1].region}));
  for (size_t k = 0; k < results.size(); ++k) c.out(static_cast<int>(k), results[k]);
  return {};
}

}  // namespace

std::span<const OpRow> rows_if() {
  static const OpRow rows[] = {
      {.name = "If", .since = 1, .max_outputs = -1, .import = if_op},
  };
  return rows;
}

}  // namespace nnc::onnx

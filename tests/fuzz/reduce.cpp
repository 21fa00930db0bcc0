#include "tests/fuzz/reduce.h"

#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "ir/eval.h"
#include "ir/rewriter.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "passes/rules.h"

namespace nnc::test {

namespace {

using Trace = std::map<ValueId, Tensor>;

// The graph of some nodes alone.
class Part {
 public:
  Part(const RandomGraph& from, const std::set<NodeId>& nodes, const Trace& trace)
      : from_(from), g_(*from.module->entries[0]->graph), nodes_(nodes), trace_(trace) {
    out_.module = std::make_unique<Module>();
    out_.module->symbols = from.module->symbols;
    out_.module->add_entry("main");
  }

  std::optional<RandomGraph> make() {
    for (const NodeId n : g_.order())
      if (wanted(n) && !copy(n)) return std::nullopt;
    to().set_outputs(outputs_);
    for (size_t k = 0; k < outputs_.size(); ++k) entry().results.push_back({cat("y", k), {}});
    return std::move(out_);
  }

 private:
  Entry& entry() { return *out_.module->entries[0]; }
  Graph& to() { return *entry().graph; }

  bool wanted(NodeId n) const {
    if (g_.node(n).kind != OpKind::kConstant) return nodes_.count(n) > 0;
    for (const Use& u : g_.value(g_.node(n).results[0]).uses)
      if (u.node.valid() && nodes_.count(u.node)) return true;
    return false;
  }

  ValueId value(ValueId v) {
    if (!v.valid() || at_.count(v)) return v.valid() ? at_[v] : v;
    at_[v] = to().add_input(g_.type(v));
    entry().args.push_back({cat("x", entry().args.size()), {}});
    out_.inputs.push_back(trace_.at(v));
    return at_[v];
  }

  bool copy(NodeId n) {
    const Node& node = g_.node(n);
    if (!node.regions.empty()) return false;
    std::vector<ValueId> operands;
    for (const ValueId v : node.operands) operands.push_back(value(v));
    AttrList attrs = attr_list_of(node);
    if (node.kind == OpKind::kConstant || node.kind == OpKind::kAssertValue)
      for (NamedAttr& a : attrs)
        if (a.name == "value") a.value = out_.module->add_constant(from_.module->constant(node.constant("value")));
    const auto id = to().append(node.kind, std::move(operands), std::move(attrs), {});
    if (!id.ok()) return false;
    for (size_t k = 0; k < node.results.size(); ++k) at_[node.results[k]] = to().node(*id).results[k];
    if (node.kind == OpKind::kConstant) return true;
    for (const ValueId v : node.results) {
      bool leaves = g_.value(v).uses.empty();
      for (const Use& u : g_.value(v).uses) leaves = leaves || !u.node.valid() || !nodes_.count(u.node);
      if (!leaves) continue;
      outputs_.push_back(at_[v]);
      out_.exact.push_back(from_.exact_values.count(v) > 0);
    }
    return true;
  }

  const RandomGraph& from_;
  const Graph& g_;
  const std::set<NodeId>& nodes_;
  const Trace& trace_;
  RandomGraph out_;
  std::map<ValueId, ValueId> at_;
  std::vector<ValueId> outputs_;
};

std::optional<Trace> trace_of(const RandomGraph& r) {
  const Graph& g = *r.module->entries[0]->graph;
  Trace trace;
  for (size_t k = 0; k < r.inputs.size(); ++k) trace[g.inputs()[k]] = r.inputs[k];
  EvalOptions options;
  options.trace = [&](NodeId n, std::span<const EvalTensor> results) {
    if (!g.is_live(n) || g.node(n).results.size() != results.size()) return;  // of a region
    for (size_t k = 0; k < results.size(); ++k) trace[g.node(n).results[k]] = results[k].to_tensor();
  };
  if (!Interpreter(*r.module, options).run_entry("main", r.inputs).ok()) return std::nullopt;
  return trace;
}

void print_part(const RandomGraph& part) {
  std::printf("%s  argument extents:", print_module(*part.module).c_str());
  for (const Tensor& t : part.inputs) std::printf(" [%s]", join(t.dims(), ",", [](int64_t d) { return d; }).c_str());
  std::printf("\n");
  for (const Tensor& t : part.inputs) {
    std::printf("  argument");
    for (int64_t k = 0; k < std::min<int64_t>(t.count(), 40); ++k)
      std::printf(" %s", (is_float(t.dtype()) ? cat(t.f64(k)) : cat(t.i64(k))).c_str());
    std::printf(t.count() > 40 ? " ...\n" : "\n");
  }
}

}  // namespace

void reduce_and_print(uint64_t seed, const std::function<std::string(RandomGraph)>& failure_of) {
  const RandomGraph r = random_graph(seed);
  const Graph& g = *r.module->entries[0]->graph;
  const auto trace = trace_of(r);
  std::set<NodeId> nodes;
  bool regions = false;  // a trace cannot tell a region's nodes from the graph's
  for (const NodeId n : g.order()) {
    if (g.node(n).kind != OpKind::kConstant) nodes.insert(n);
    regions = regions || !g.node(n).regions.empty();
  }
  const auto fails = [&](const std::set<NodeId>& some) {
    if (some.empty() || !trace || regions) return std::string();
    auto part = Part(r, some, *trace).make();
    return part ? failure_of(std::move(*part)) : std::string();
  };
  std::string why = fails(nodes);
  if (why.empty()) {
    std::printf("  the failure needs the whole graph:\n");
    print_part(r);
    return;
  }
  for (size_t size = (nodes.size() + 1) / 2; size >= 1; size /= 2)
    for (bool again = true; again && nodes.size() > 1;) {
      again = false;
      const std::vector<NodeId> all(nodes.begin(), nodes.end());
      for (size_t k = 0; k < all.size() && nodes.size() > 1; k += size) {
        std::set<NodeId> fewer = nodes;
        for (size_t j = k; j < std::min(all.size(), k + size); ++j) fewer.erase(all[j]);
        if (const std::string still = fails(fewer); !still.empty()) {
          nodes = fewer;
          why = still;
          again = true;
        }
      }
    }
  const auto part = Part(r, nodes, *trace).make();
  std::printf("  %s\n", why.c_str());
  print_part(*part);
}

}  // namespace nnc::test

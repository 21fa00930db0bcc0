#include "frontend/onnx/analysis.h"

#include <algorithm>
#include <queue>

#include "ir/support/text.h"

namespace nnc::onnx {

namespace {
constexpr size_t kMaxProblems = 1000;  // more say nothing new
}  // namespace

std::string node_label(const NodeProto& node, size_t index) {
  if (!node.name.empty()) return std::string(node.name);
  std::string_view out;
  for (const std::string_view name : node.outputs) {
    if (!name.empty()) {
      out = name;
      break;
    }
  }
  return cat(node.op_type, "->", out, "#", index);
}

Error NameAnalysis::problem(Code code, std::string message, const NodeProto& node, size_t index) const {
  Place place;
  place.node = node_label(node, index);
  place.op = std::string(node.op_type);
  place.offset = static_cast<int64_t>(node.offset);
  return Error(code, std::move(message), std::move(place));
}

const GraphFacts& NameAnalysis::facts(const GraphProto& graph) {
  if (const auto found = known_.find(&graph); found != known_.end()) return found->second;
  Body body{graph.nodes, {}, {}};
  for (const ValueInfoProto& v : graph.inputs) {
    if (!body.given.insert(v.name).second)
      add_problem(Error(Code::kInvalidModel, cat("two inputs of graph ", quote(graph.name), " are called ", quote(v.name))));
  }
  for (const TensorProto& t : graph.initializers) body.given.insert(t.name);
  for (const SparseTensorProto& t : graph.sparse_initializers) body.given.insert(t.values.name);
  for (const ValueInfoProto& v : graph.outputs) body.outputs.push_back(v.name);
  return known_[&graph] = analyse(body);
}

const GraphFacts& NameAnalysis::facts(const FunctionProto& function) {
  if (const auto found = known_.find(&function); found != known_.end()) return found->second;
  Body body{function.nodes, {function.inputs.begin(), function.inputs.end()}, function.outputs};
  GraphFacts facts = analyse(body);
  for (const std::string_view name : facts.free_names) {
    add_problem(Error(Code::kInvalidModel, cat("function ", quote(function.name), " uses ", quote(name), ", which nothing in it defines")));
  }
  return known_[&function] = std::move(facts);
}

std::string dim_name(const ValueInfoProto& info, size_t axis) {
  const std::string_view param = info.type.dims[axis].param;
  const bool usable =
      std::ranges::any_of(param, [](unsigned char ch) { return (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || ch >= 'a'; });
  return usable ? std::string(param) : cat(info.name, ".", axis);
}

void NameAnalysis::add_problem(Error e) {
  if (problems_->size() < kMaxProblems) problems_->push_back(std::move(e));
}

GraphFacts NameAnalysis::analyse(const Body& body) {
  const size_t count = body.nodes.size();
  std::map<std::string_view, size_t> definer;
  for (size_t k = 0; k < count; ++k) {
    for (const std::string_view name : body.nodes[k].outputs) {
      if (name.empty()) continue;
      if (body.given.contains(name) || !definer.emplace(name, k).second) {
        add_problem(problem(Code::kInvalidModel, cat("its output ", quote(name), " is defined twice"), body.nodes[k], k));
      }
    }
  }

  // What each node reads, its subgraphs' captures included.
  std::vector<std::vector<std::string_view>> reads(count);
  for (size_t k = 0; k < count; ++k) {
    const NodeProto& node = body.nodes[k];
    for (const std::string_view name : node.inputs) {
      if (!name.empty()) reads[k].push_back(name);
    }
    const auto add = [&](const GraphProto& g) {
      const auto& names = facts(g).free_names;
      reads[k].insert(reads[k].end(), names.begin(), names.end());
    };
    for (const AttributeProto& a : node.attributes) {
      if (a.g) add(*a.g);
      for (const GraphProto& g : a.graphs) add(g);
    }
  }

  GraphFacts result;
  std::set<std::string_view> seen_free;
  const auto note_free = [&](std::string_view name) {
    if (!body.given.contains(name) && !definer.contains(name) && seen_free.insert(name).second) result.free_names.push_back(name);
  };

  // Live nodes, backwards from the outputs.
  std::vector<uint8_t> live(count, 0);
  std::vector<size_t> work;
  const auto need = [&](std::string_view name) {
    const auto found = definer.find(name);
    if (found == definer.end() || live[found->second] != 0) return;
    live[found->second] = 1;
    work.push_back(found->second);
  };
  for (const std::string_view name : body.outputs) need(name);
  while (!work.empty()) {
    const size_t k = work.back();
    work.pop_back();
    for (const std::string_view name : reads[k]) need(name);
  }
  for (size_t k = 0; k < count; ++k) {
    for (const std::string_view name : reads[k]) note_free(name);
  }
  for (const std::string_view name : body.outputs) note_free(name);

  // Topological order that keeps the file's order where that is one.
  std::vector<uint32_t> waits(count, 0);
  std::vector<std::vector<uint32_t>> users(count);
  for (size_t k = 0; k < count; ++k) {
    if (live[k] == 0) continue;
    for (const std::string_view name : reads[k]) {
      const auto found = definer.find(name);
      if (found == definer.end()) continue;
      ++waits[k];
      users[found->second].push_back(static_cast<uint32_t>(k));
    }
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  size_t live_count = 0;
  for (size_t k = 0; k < count; ++k) {
    live_count += live[k];
    if (live[k] != 0 && waits[k] == 0) ready.push(static_cast<uint32_t>(k));
  }
  while (!ready.empty()) {
    const uint32_t k = ready.top();
    ready.pop();
    result.order.push_back(k);
    for (const uint32_t user : users[k]) {
      if (--waits[user] == 0) ready.push(user);
    }
  }
  if (result.order.size() != live_count) {
    for (size_t k = 0; k < count; ++k) {
      if (live[k] == 0 || waits[k] == 0) continue;
      add_problem(problem(Code::kInvalidModel, "the node needs its own result: the graph has a cycle", body.nodes[k], k));
      break;
    }
  }
  return result;
}

}  // namespace nnc::onnx

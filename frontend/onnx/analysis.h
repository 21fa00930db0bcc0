#pragma once
// Facts about a graph's names: order of evaluation, what is live, what a subgraph takes from outside. Found once per graph, whatever the
// profile, and without recursion into a subgraph that was seen before.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/onnx/model.h"

namespace nnc::onnx {

struct GraphFacts {
  std::vector<uint32_t> order;               // live nodes, topological
  std::vector<std::string_view> free_names;  // used here and defined outside, by first use
};

// A stable name for messages: the model's own, else "Conv->x12#7" (operator, first output, index in its graph).
std::string node_label(const NodeProto& node, size_t index);

// The model's name of an axis's dim, else INPUT.AXIS: exporters write "?" for a dim without a name, which no two dims share.
std::string dim_name(const ValueInfoProto& info, size_t axis);

class NameAnalysis {
 public:
  // Problems of structure: names defined twice, names that nothing defines, cycles. The first thousand are kept.
  explicit NameAnalysis(std::vector<Error>* problems) : problems_(problems) {}
  // The main graph or a subgraph. Facts of a subgraph are found with its owner's.
  const GraphFacts& facts(const GraphProto& graph);
  // A function's body is a graph whose inputs and outputs are plain names.
  const GraphFacts& facts(const FunctionProto& function);

 private:
  struct Body {
    const std::vector<NodeProto>& nodes;
    std::set<std::string_view> given;  // inputs and initializers
    std::vector<std::string_view> outputs;
  };
  GraphFacts analyse(const Body& body);
  void add_problem(Error e);
  Error problem(Code code, std::string message, const NodeProto& node, size_t index) const;

  std::vector<Error>* problems_;
  std::map<const void*, GraphFacts> known_;
};

}  // namespace nnc::onnx

#include "passes/inline_region.h"

#include "passes/rules.h"

namespace nnc {

RegionId copy_region(Graph& into, const Graph& from) {
  const RegionId id = into.add_region(from.name());
  into.region(id) = std::move(*from.clone(&into.module()));
  return id;
}

Status copy_nodes(Graph& into, const Graph& region, std::map<ValueId, ValueId>& map, NodeId before) {
  for (NodeId n : region.order()) {
    const Node& node = region.node(n);
    std::vector<ValueId> operands;
    for (ValueId v : node.operands) operands.push_back(v.valid() ? map.at(v) : v);
    std::vector<RegionId> regions;
    for (RegionId r : node.regions) regions.push_back(copy_region(into, region.region(r)));
    NNC_ASSIGN(const NodeId copy, into.append(node.kind, std::move(operands), attr_list_of(node), node.loc, before, std::move(regions)));
    for (size_t k = 0; k < node.results.size(); ++k) {
      const ValueId to = into.node(copy).results[k];
      map[node.results[k]] = to;
      into.set_value_name(to, region.value(node.results[k]).name);
      if (region.shape_value(node.results[k]).known) into.set_shape_value(to, region.shape_value(node.results[k]));
    }
  }
  return {};
}

Result<std::vector<ValueId>> inline_region(Graph& into, const Graph& region, std::span<const ValueId> args, NodeId before) {
  std::map<ValueId, ValueId> map;
  for (size_t k = 0; k < region.inputs().size(); ++k) map[region.inputs()[k]] = k < args.size() ? args[k] : ValueId();
  NNC_TRY(copy_nodes(into, region, map, before));
  std::vector<ValueId> outputs;
  for (ValueId v : region.outputs()) outputs.push_back(map.at(v));
  return outputs;
}

}  // namespace nnc

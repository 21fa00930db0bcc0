#include "tools/dump_picture.h"

#include <algorithm>
#include <map>

#include "ir/support/text.h"
#include "ir/text.h"
#include "tools/plan_facts.h"
#include "tools/table.h"

namespace nnc::tool {

namespace {

constexpr size_t kWidest = 44;  // letters of a line in a box

std::vector<std::string> source_list(const Module& m, LocId loc) {
  std::vector<std::string> names;
  for (const LocId leaf : m.loc_leaves(loc)) names.push_back(m.loc(leaf).node.empty() ? m.loc(leaf).op : m.loc(leaf).node);
  return names;
}

PictureNode::Kind kind_of(const std::string& skeleton) {
  if (skeleton.find("fold") != std::string::npos) return PictureNode::kFold;
  return skeleton == "pointwise" ? PictureNode::kPointwise : PictureNode::kProduct;
}

// A value whose box is drawn elsewhere: views are what they look at, constants nothing.
class GraphDrawer {
 public:
  GraphDrawer(const Module& m, const Target& target, const LowerOptions& lower, std::vector<GraphPicture>* out)
      : m_(m), target_(target), lower_(lower), out_(out) {}

  void draw(const Graph& g, const std::string& title) {
    GraphPicture p;
    p.title = title;
    std::map<ValueId, uint32_t> made;  // by which node
    for (const ValueId v : g.inputs()) {
      made[v] = static_cast<uint32_t>(p.nodes.size());
      p.nodes.push_back({PictureNode::kValue, input_name(g, p.nodes.size()), "", {type_of(g, v)}});
    }
    for (const NodeId id : g.order()) {
      const Node& n = g.node(id);
      if (n.def().lowering == Lowering::kSource) continue;
      if (n.def().lowering == Lowering::kMap && n.operands.size() == 1 && !n.results.empty() && is_view(g, n)) {
        if (const auto from = made.find(n.operands[0]); from != made.end()) made[n.results[0]] = from->second;
        continue;
      }
      add(g, n, made, &p);
      for (const RegionId r : n.regions)
        if (n.kind != OpKind::kGroup) draw(g.region(r), cat(title, " / ", g.region(r).name()));
    }
    for (size_t k = 0; k < g.outputs().size(); ++k) {
      const ValueId v = g.outputs()[k];
      const auto from = made.find(v);
      p.nodes.push_back({PictureNode::kValue, output_name(g, k), "", {type_of(g, v)}});
      if (from != made.end()) p.edges.push_back({from->second, static_cast<uint32_t>(p.nodes.size() - 1), type_of(g, v)});
    }
    out_->push_back(std::move(p));
  }

 private:
  static std::string type_of(const Graph& g, ValueId v) { return type_pretty(g.symbols(), g.type(v)); }
  // Reshapes cost nothing in a plan; transposes and slices outside of a group do not occur after fusion, and are boxes before it.
  static bool is_view(const Graph&, const Node& n) { return n.kind == OpKind::kReshape; }

  const Entry* entry_of(const Graph& g) const {
    const auto found = std::ranges::find(m_.entries, &g, [](const auto& e) { return e->graph.get(); });
    return found == m_.entries.end() ? nullptr : found->get();
  }
  std::string input_name(const Graph& g, size_t k) const {
    const Entry* e = entry_of(g);
    return e != nullptr && k < e->args.size() ? e->args[k].name : cat("input ", k);
  }
  std::string output_name(const Graph& g, size_t k) const {
    const Entry* e = entry_of(g);
    return e != nullptr && k < e->results.size() ? e->results[k].name : cat("output ", k);
  }

  void add(const Graph& g, const Node& n, std::map<ValueId, uint32_t>& made, GraphPicture* p) {
    PictureNode node;
    const std::vector<std::string> from = source_list(m_, n.loc);
    node.title = op_name(n.kind);
    node.hover = join(from, "\n");
    if (n.kind == OpKind::kGroup) describe_group(g.region(n.regions[0]), &node);
    for (const ValueId v : n.results) node.lines.push_back(type_of(g, v));
    if (!from.empty()) node.lines.push_back(cut_middle(from.back(), kWidest));
    const auto number = static_cast<uint32_t>(p->nodes.size());
    p->nodes.push_back(std::move(node));
    for (const ValueId v : n.operands)
      if (const auto source = v.valid() ? made.find(v) : made.end(); source != made.end())
        p->edges.push_back({source->second, number, type_of(g, v)});
    for (const ValueId v : n.results) made[v] = number;
  }

  void describe_group(const Graph& body, PictureNode* node) {
    const auto lowered = lower_group(body, target_, lower_);
    node->title = lowered.ok() ? cat(lowered->skeleton, lowered->kernels.size() > 1 ? cat(", ", lowered->kernels.size(), " kernels") : "")
                               : "no kernel";
    node->kind = lowered.ok() ? kind_of(lowered->skeleton) : PictureNode::kOther;
    std::vector<std::string> ops;
    for (const NodeId k : body.order())
      if (body.node(k).def().lowering != Lowering::kSource) ops.emplace_back(op_name(body.node(k).kind));
    node->lines.push_back(cut_middle(join(ops, " "), kWidest));
  }

  const Module& m_;
  const Target& target_;
  const LowerOptions& lower_;
  std::vector<GraphPicture>* out_;
};

}  // namespace

std::vector<GraphPicture> picture_graphs(const Module& module, const Target& target, const LowerOptions& lower) {
  std::vector<GraphPicture> out;
  for (const auto& e : module.entries)
    GraphDrawer(module, target, lower, &out).draw(*e->graph, e->profile.empty() ? e->name : cat(e->name, " profile ", e->profile));
  return out;
}

Result<std::vector<MemoryPicture>> picture_memory(const Program& program) {
  std::vector<MemoryPicture> out;
  for (const PlanEntry& e : program.entries) {
    for (uint32_t s = 0; s < segment_count(e); ++s) {
      NNC_ASSIGN(const PackedSegment packed, pack_segment(program, e, s));
      MemoryPicture p;
      p.title = cat(e.name, e.profile.empty() ? "" : cat(" profile ", e.profile), segment_count(e) > 1 ? cat(" segment ", s) : "");
      p.peak = packed.packing.peak;
      p.lower_bound = packed.packing.lower_bound;
      for (size_t k = 0; k < packed.buffers.size(); ++k) {
        const PlanBuffer& b = e.buffers[packed.buffers[k]];
        std::vector<std::string> from;
        for (const uint32_t loc : b.locs)
          from.push_back(program.sources[loc].node.empty() ? program.sources[loc].op : program.sources[loc].node);
        const std::string name = cat("b", packed.buffers[k], " ", human_bytes(static_cast<uint64_t>(packed.sized[k].bytes)));
        p.blocks.push_back({name, cat(name, ", steps ", b.first, " to ", b.last, "\n", join(from, "\n")), b.first, b.last,
                            packed.packing.offsets[k], packed.sized[k].bytes, b.alias_of >= 0});
        p.steps = std::max(p.steps, b.last + 1);
      }
      out.push_back(std::move(p));
    }
  }
  return out;
}

std::string common_prefix(const std::vector<std::string>& names) {
  if (names.size() < 2) return {};
  std::string_view shared = names[0];
  for (const std::string& n : names) {
    size_t k = 0;
    while (k < shared.size() && k < n.size() && shared[k] == n[k]) ++k;
    shared = shared.substr(0, k);
  }
  const size_t slash = shared.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(shared.substr(0, slash + 1));
}

}  // namespace nnc::tool

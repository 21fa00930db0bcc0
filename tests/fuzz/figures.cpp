#include "tests/fuzz/figures.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "ir/support/text.h"
#include "tests/fuzz/generator_ops.h"

namespace nnc::test {

GroupFacts look_at_groups(const Graph& g) {
  GroupFacts f;
  for (const NodeId n : g.order()) {
    for (const RegionId r : g.node(n).regions) {
      if (g.node(n).kind == OpKind::kGroup) break;
      const GroupFacts inner = look_at_groups(g.region(r));
      f.group_of_three = f.group_of_three || inner.group_of_three;
      f.hero_with_epilogue = f.hero_with_epilogue || inner.hero_with_epilogue;
      f.groups += inner.groups;
    }
    if (g.node(n).kind != OpKind::kGroup) continue;
    const Graph& body = g.region(g.node(n).regions[0]);
    size_t nodes = 0;
    for (const NodeId k : body.order()) {
      const Node& node = body.node(k);
      nodes += node.kind != OpKind::kConstant;
      if (node.def().lowering != Lowering::kHero) continue;
      for (const ValueId v : node.results)
        for (const Use& u : body.value(v).uses) f.hero_with_epilogue = f.hero_with_epilogue || u.node.valid();
    }
    ++f.groups;
    f.group_of_three = f.group_of_three || nodes >= 3;
  }
  return f;
}

void Figures::count(const Graph& g, bool top) {
  for (const NodeId n : g.order()) {
    ++rows_[std::string(g.node(n).def().name)];
    nodes_ += top;
    for (const RegionId r : g.node(n).regions) count(g.region(r), false);
  }
}

void Figures::add(const RandomGraph& r) {
  ++graphs_;
  symbolic_ += r.symbolic;
  const Graph& g = *r.module->entries[0]->graph;
  count(g, true);
  std::set<std::string> dtypes;
  std::set<int> ranks;
  bool empty = false, one = false;
  const auto see = [&](ValueId v) {
    const Type& t = g.type(v);
    if (!t.is_tensor()) return;
    dtypes.insert(std::string(dtype_name(t.dtype)));
    ranks.insert(t.rank());
    for (const Dim& d : t.shape) empty = empty || d.is_const(0), one = one || d.is_const(1);
  };
  for (const ValueId v : g.inputs()) see(v);
  for (const NodeId n : g.order())
    for (const ValueId v : g.node(n).results) see(v);
  for (const Tensor& t : r.inputs)
    for (const int64_t d : t.dims()) empty = empty || d == 0, one = one || d == 1;
  for (const std::string& d : dtypes) ++dtypes_[d];
  for (const int k : ranks) ++ranks_[k];
  empty_ += empty;
  ones_ += one;
}

void Figures::add(const GroupFacts& f, bool elsewhere) {
  elsewhere_ += elsewhere;
  ++looked_at_;
  grouped_ += f.group_of_three;
  heroes_ += f.hero_with_epilogue;
  rows_["group"] += f.groups;
}

void Figures::print() const {
  std::vector<std::pair<int64_t, std::string>> rows;
  for (const OpMaker& m : op_makers()) {
    const std::string name(op_name(m.kind));
    const auto it = rows_.find(name);
    rows.push_back({it == rows_.end() ? 0 : it->second, name});
  }
  std::sort(rows.begin(), rows.end());
  std::printf("rows (%zu, rarest first): %s\n", rows.size(),
              join(rows, " ", [](const auto& r) { return cat(r.second, " ", r.first); }).c_str());
  for (const OpWithoutMaker& w : ops_without_maker())
    std::printf("row without a maker: %s (%s), %lld seen\n", std::string(op_name(w.kind)).c_str(), std::string(w.reason).c_str(),
                static_cast<long long>(rows_.count(std::string(op_name(w.kind))) ? rows_.at(std::string(op_name(w.kind))) : 0));
  std::printf("graphs with dtype: %s\n", join(dtypes_, " ", [](const auto& d) { return cat(d.first, " ", d.second); }).c_str());
  std::printf("graphs with rank: %s; with an extent 0: %zu, 1: %zu\n",
              join(ranks_, " ", [](const auto& d) { return cat(d.first, ": ", d.second); }).c_str(), empty_, ones_);
  std::printf(
      "%zu graphs, %.1f nodes each; symbolic extents in %zu (answers of other extents compared in %zu); of %zu compiled a group of three "
      "nodes "
      "in %zu, a hero with epilogue in %zu; rarest row %s, %lld times\n",
      graphs_, graphs_ ? static_cast<double>(nodes_) / static_cast<double>(graphs_) : 0.0, symbolic_, elsewhere_, looked_at_, grouped_,
      heroes_, rows.empty() ? "" : rows[0].second.c_str(), static_cast<long long>(rows.empty() ? 0 : rows[0].first));
}

std::vector<std::string> Figures::shortfalls() const {
  std::vector<std::string> out;
  const auto share = [&](const char* what, size_t n, size_t of, size_t percent) {
    if (n * 100 < of * percent || of == 0) out.push_back(cat(what, " in ", n, " of ", of, ", ", percent, " % wanted"));
  };
  const auto least = static_cast<int64_t>(std::max<size_t>(1, graphs_ / 100));
  std::set<OpKind> covered;
  for (const OpMaker& m : op_makers()) covered.insert(m.kind);
  for (const OpWithoutMaker& w : ops_without_maker()) covered.insert(w.kind);
  for (const OpDef* def : all_ops()) {
    const auto it = rows_.find(std::string(def->name));
    const int64_t n = it == rows_.end() ? 0 : it->second;
    if (!covered.count(def->kind)) out.push_back(cat("row ", def->name, " has neither maker nor reason"));
    if (n < least) out.push_back(cat("row ", def->name, " ", n, " times, ", least, " wanted"));
  }
  for (const DType t : {DType::kBool, DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kU64,
                        DType::kF16, DType::kBF16, DType::kF32, DType::kF64})
    if (!dtypes_.count(std::string(dtype_name(t)))) out.push_back(cat("no graph with dtype ", dtype_name(t)));
  for (int rank = 0; rank <= 6; ++rank)
    if (!ranks_.count(rank)) out.push_back(cat("no graph with rank ", rank));
  if (empty_ == 0) out.push_back("no graph with an extent 0");
  if (ones_ == 0) out.push_back("no graph with an extent 1");
  share("symbolic extents", symbolic_, graphs_, 20);
  share("answers of other extents compared", elsewhere_, symbolic_, 50);
  share("a group of three nodes", grouped_, looked_at_, 50);
  share("a hero with epilogue", heroes_, looked_at_, 10);
  return out;
}

}  // namespace nnc::test

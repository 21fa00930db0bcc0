// Nodes that compute the same of the same operands are one. What has effects, regions or binds symbols stays.

#include <algorithm>
#include <cstring>
#include <map>

#include "ir/support/mutant.h"
#include "ir/support/text.h"
#include "passes/rules.h"

namespace nnc {

namespace {

template <class T> void add_bytes(std::string& key, const T& v) {
  static_assert(std::is_trivially_copyable_v<T>);
  key.append(reinterpret_cast<const char*>(&v), sizeof v);
}

void add_attr(std::string& key, const SymbolTable& symbols, const AttrValue& a) {
  add_bytes(key, static_cast<uint8_t>(a.index()));
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double> || std::is_same_v<T, DType>) {
          add_bytes(key, v);
        } else if constexpr (std::is_same_v<T, ConstId>) {
          add_bytes(key, v.v);
        } else if constexpr (std::is_same_v<T, std::string>) {
          append(key, v.size(), ":", v);
        } else if constexpr (std::is_same_v<T, Shape>) {
          append(key, symbols.str(v));
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          for (const std::string& s : v) append(key, s.size(), ":", s);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<double>>) {
          append(key, v.size(), ":");
          for (auto x : v) add_bytes(key, x);
        }
      },
      a);
}

bool mergeable(const Node& node) {
  if (!(node.def().traits & kPure) || !node.regions.empty() || node.results.empty()) return false;
  return std::none_of(node.attrs.begin(), node.attrs.end(),
                      [](const AttrValue& a) { return std::holds_alternative<std::vector<SymbolId>>(a); });
}

std::string key_of(const Graph& g, const Node& node) {
  std::string key;
  add_bytes(key, node.kind);
  std::vector<ValueId> operands = node.operands;
  if ((node.def().traits & kCommutative) && operands.size() == 2 && operands[1] < operands[0]) std::swap(operands[0], operands[1]);
  for (ValueId v : operands) add_bytes(key, v.v);
  for (size_t k = 0; k < node.attrs.size() && !mutant("cse_compares_operands_alone"); ++k) {
    // An attribute that spells its default is the default.
    add_attr(key, g.symbols(), node.attrs[k].index() != 0 ? node.attrs[k] : default_value(node.def().attrs[k]));
  }
  return key;
}

Result<int64_t> merge(Graph& g, PassContext& c) {
  Rewriter rw(g, c.rewrites_left);
  std::map<std::string, NodeId> seen;
  for (NodeId id : g.order()) {
    if (!rw.allowed()) break;
    const Node node = g.node(id);
    if (!mergeable(node)) continue;
    const auto [it, fresh] = seen.try_emplace(key_of(g, node), id);
    if (fresh) continue;
    const std::vector<ValueId> first = g.node(it->second).results;
    bool same = true;
    for (size_t k = 0; k < first.size(); ++k) same = same && g.type(first[k]) == g.type(node.results[k]);
    if (!same) continue;
    rw.at(id);
    NNC_TRY(rw.replace(id, first));
  }
  rw.remove_dead();
  return rw.count();
}

}  // namespace

Result<int64_t> run_cse(Module& m, PassContext& c) {
  int64_t changes = 0;
  for (Graph* g : all_graphs(m)) {
    NNC_ASSIGN(const int64_t n, merge(*g, c));
    changes += n;
  }
  return changes;
}

}  // namespace nnc

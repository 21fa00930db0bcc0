#pragma once
// How simplification passes are written: a rule is a named function that looks at one node, and either leaves it or builds its replacement.
// `apply_rules` runs a list of rules over every graph of a module, regions included, until none applies. Not for passes that decide over a
// whole graph (layout, fuse).

#include <optional>
#include <span>

#include "ir/rewriter.h"
#include "passes/passes.h"

namespace nnc {

// True: the node was replaced, or something inside its regions was. A rule asks for nothing beyond the node's neighbourhood and never
// compares names.
using Rule = Result<bool> (*)(Rewriter&, NodeId);
struct RuleEntry {
  OpKind root;  // kCount: any kind
  Rule rule;
};
Result<int64_t> apply_rules(Module& m, PassContext& c, std::span<const RuleEntry> rules);

// Every graph of the module, regions before the graph that holds them; the inside of groups too.
std::vector<Graph*> all_graphs(Module& m);

// Replaces the only result of `root` if the types agree; else nothing happens (what was appended dies unused).
Result<bool> replace_if_same(Rewriter& rw, NodeId root, ValueId replacement);

// The attributes that are present, by name.
AttrList attr_list_of(const Node& node);
// The same node with other operands or attributes, before `root` and with its location.
Result<std::vector<ValueId>> rebuild(Builder& b, const Node& node, std::vector<ValueId> operands, AttrList changes = {});

Dim element_count(Graph& g, ValueId v);
// The number that a constant holds in all its elements, also where it was broadcast, reshaped or cast between floats.
std::optional<double> uniform_value(const Graph& g, ValueId v);
// `x` is uniform_value and equals `v` rounded to x's dtype.
bool is_uniform(const Graph& g, ValueId x, double v);
// Operand `i` of a binary op whose other operand is `v`, if one is.
std::optional<ValueId> other_operand(const Node& node, ValueId v);

}  // namespace nnc

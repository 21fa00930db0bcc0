#pragma once
// The side table of fusion: which unit every node belongs to, what is made again by its readers, and whether two units may become one. The
// stages (fuse_*.cpp) decide; nothing in the graph changes before `plans` are outlined.

#include <set>
#include <vector>

#include "ir/builder.h"
#include "passes/passes.h"

namespace nnc {

enum class UnitClass : uint8_t {
  kNone,  // not grouped yet, or nothing that kernels compute
  kPointwise,
  kFold,
  kContraction,  // matmul
  kConvolution,
  kAttention,
  kWhole,  // recurrent, scan: takes nothing along
};

struct Unit {
  UnitClass cls = UnitClass::kNone;
  std::vector<NodeId> nodes;
};

class Fusion {
 public:
  explicit Fusion(Graph& g);

  Graph& g;
  SymbolTable& s;
  const std::vector<NodeId> order;  // program order
  // The target's convolutions read single elements of their input, in any order.
  bool scalar_windows = false;

  // ---- units
  size_t unit(NodeId n) const;
  size_t unit_of_value(ValueId v) const;  // of its definition; kNoUnit for inputs
  const Unit& at(size_t u) const { return units_[u]; }
  bool free(NodeId n) const { return units_[unit(n)].cls == UnitClass::kNone && computes(n); }
  void seed(NodeId n, UnitClass c) { units_[unit(n)].cls = c; }
  // Joining keeps the graph of units free of cycles: no path leaves the two and comes back.
  bool may_join(size_t a, size_t b) const;
  void join(size_t into, size_t other);
  bool inside(ValueId v, size_t u) const { return unit_of_value(v) == u; }

  // ---- what readers make again
  bool copied(NodeId n) const { return copied_.count(n) > 0; }
  void copy(NodeId n) { copied_.insert(n); }
  // Edges between units see through what is copied: to be called when `copied` has changed.
  void connect();

  // ---- facts
  bool computes(NodeId n) const;  // a kernel computes it (copies included)
  const Node& node(NodeId n) const { return g.node(n); }
  Lowering lowering(NodeId n) const { return g.node(n).def().lowering; }
  const Shape& shape(ValueId v) const { return g.type(v).shape; }
  Dim count(ValueId v);
  double typical_count(ValueId v);
  double bytes(ValueId v);
  // Nodes that read v, through copies; `outside`: also the graph's outputs or something that is no kernel.
  std::vector<NodeId> readers(ValueId v, bool* leaves = nullptr) const;
  // Every reader lies in u.
  bool only_in(ValueId v, size_t u) const;
  // The values of u that something outside reads.
  std::vector<ValueId> outputs(size_t u) const;
  // Distinct values that u reads from outside, copies looked through.
  std::vector<ValueId> inputs(size_t u) const;

  std::vector<GroupPlan> plans() const;

  static constexpr size_t kNoUnit = SIZE_MAX;

 private:
  bool stays_outside(NodeId copy, size_t u) const;
  void add_copies(NodeId n, size_t u, std::set<NodeId>& into) const;
  void add_inputs(NodeId n, size_t u, std::set<ValueId>& into) const;
  std::vector<Unit> units_;
  mutable std::vector<size_t> parent_;  // union-find over units; a unit's number is that of its first node
  IdMap<NodeId, uint32_t> position_;
  std::set<NodeId> copied_;
  std::vector<std::vector<uint32_t>> successors_;  // by position: nodes that must come later, copies looked through
};

// ---- what the stages ask about nodes
bool is_view(OpKind k);         // reshape, transpose, slice, broadcast_to, unpack
bool is_costly(const Node& n);  // transcendental: tens of instructions
bool keeps_last_axis(const Shape& from, const std::vector<int64_t>& perm);
// Neighbouring lanes of the result read neighbouring elements of the operand.
bool reads_in_order(const Fusion& f, NodeId view);

// The stages, in order.
void fuse_epilogues(Fusion& f);
void choose_copies(Fusion& f);
void fuse_prologues(Fusion& f);
void fuse_folds(Fusion& f);
void fuse_pointwise(Fusion& f);

}  // namespace nnc

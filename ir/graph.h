#pragma once
// Module and graph. A Module is one compilation unit: symbols, constants by content hash, states, locations and entries. A Graph owns
// arenas of nodes and values; ids are 32-bit and print as they parse (%12). Program order is part of the graph and topological. A node's
// payload is immutable: the only mutations are append (Builder) and redirect uses (Rewriter, ir/rewriter.h). Regions are graphs of their
// own, closed over nothing but their node's operands.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attr.h"
#include "ir/base/tensor.h"
#include "ir/op.h"
#include "ir/support/hash.h"
#include "ir/types.h"

namespace nnc {

class Module;
struct LocTag;
using LocId = Id<LocTag>;
struct RegionTag;
using RegionId = Id<RegionTag>;
struct StateTag;
using StateId = Id<StateTag>;

// Where something comes from: a node of the model, a line of a program, or several of these.
struct Loc {
  std::string node;   // "/encoder/layer.0/Add" or a stable label "Conv->x12"
  std::string op;     // the model's op type
  std::string scope;  // module path "encoder.layers.3.self_attn", where the exporter gave one
  std::string file;   // C++ traces: base name only
  int line = 0;
  std::vector<LocId> fused;  // sorted, unique; then all other fields are empty
  auto operator<=>(const Loc&) const = default;
};

struct Node {
  OpKind kind = OpKind::kCount;
  std::vector<ValueId> operands;  // an invalid id is an absent optional operand
  std::vector<ValueId> results;
  std::vector<AttrValue> attrs;  // in the row's order
  std::vector<RegionId> regions;
  LocId loc;
  NodeId prev, next;  // program order

  const OpDef& def() const { return op_def(kind); }
  // Typed access by name; the row's default where absent. Asking for a name or kind that the row lacks is our bug.
  const AttrValue& attr(std::string_view name) const;
  bool has_attr(std::string_view name) const;  // present, not defaulted
  int64_t i(std::string_view name) const;
  double f(std::string_view name) const;
  std::string_view s(std::string_view name) const;
  const std::vector<int64_t>& ints(std::string_view name) const;
  const std::vector<double>& floats(std::string_view name) const;
  const Shape& dims(std::string_view name) const;
  DType dtype(std::string_view name) const;
  ConstId constant(std::string_view name) const;
  const std::vector<SymbolId>& symbols(std::string_view name) const;
};

struct Use {
  NodeId node;     // invalid: a graph output
  uint32_t index;  // operand or output number
  auto operator<=>(const Use&) const = default;
};

struct Value {
  Type type;
  NodeId def;          // invalid: graph input
  uint32_t index = 0;  // result or input number
  std::string name;    // the model's name, for messages; not printed in IR text
  std::vector<Use> uses;
};

class Graph {
 public:
  Graph(Module* module, std::string name) : module_(module), name_(std::move(name)) {}
  Module& module() { return *module_; }
  const Module& module() const { return *module_; }
  SymbolTable& symbols();
  const SymbolTable& symbols() const;
  const std::string& name() const { return name_; }

  const Node& node(NodeId id) const { return nodes_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  const Type& type(ValueId id) const { return values_[id].type; }
  const Graph& region(RegionId id) const { return *regions_[id]; }
  Graph& region(RegionId id) { return *regions_[id]; }
  const ShapeValue& shape_value(ValueId id) const { return shape_values_.get(id); }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  NodeId first() const { return first_; }
  NodeId last() const { return last_; }
  size_t node_count() const { return live_nodes_; }  // in program order
  size_t value_capacity() const { return values_.size(); }
  size_t node_capacity() const { return nodes_.size(); }
  std::vector<NodeId> order() const;

  // Building. Operands must be of this graph; regions must have been made by `add_region`. Infers types and shape values. The node goes
  // before `before`, or to the end. Errors carry the op, operand types and location.
  ValueId add_input(Type type, std::string name = {});
  Result<NodeId> append(OpKind kind, std::vector<ValueId> operands, AttrList attrs, LocId loc, NodeId before = {},
                        std::vector<RegionId> regions = {});
  // The parser's form: attributes in row order, result types given (and checked by the verifier).
  NodeId append_raw(Node node, std::vector<Type> result_types);
  RegionId add_region(std::string name);
  void set_outputs(std::vector<ValueId> outputs);
  void set_shape_value(ValueId v, ShapeValue value) { shape_values_[v] = std::move(value); }
  void set_value_name(ValueId v, std::string name) { values_[v].name = std::move(name); }
  void set_type(ValueId v, Type type) { values_[v].type = std::move(type); }  // refinement only: Rewriter and importer
  void redirect(ValueId from, ValueId to);                                    // all uses; Rewriter only
  void redirect_use(Use use, ValueId to);
  void erase(NodeId id);  // unused, effect-free: DCE only; the id stays dead until compact()
  bool is_live(NodeId id) const;
  // Removes dead nodes and renumbers values and nodes in program order, so that text and hashes do not depend on history.
  void compact();
  std::unique_ptr<Graph> clone(Module* into) const;  // same ids; constants and locations are shared when `into` is the same module

 private:
  friend class Module;
  friend class Rewriter;
  friend struct GraphTestAccess;
  NodeId insert(Node node, std::vector<Type> result_types, NodeId before);
  void link(NodeId id, NodeId before);
  void remove_use(ValueId v, Use use);
  std::unique_ptr<Graph> copy(Module* into) const;  // ids of constants and locations kept as they are
  Module* module_;
  std::string name_;
  IdVec<NodeId, Node> nodes_;
  IdVec<ValueId, Value> values_;
  IdVec<RegionId, std::unique_ptr<Graph>> regions_;
  IdMap<ValueId, ShapeValue> shape_values_;
  std::vector<ValueId> inputs_, outputs_;
  NodeId first_, last_;
  size_t live_nodes_ = 0;
};

// A persistent tensor: parameter, optimizer moment, KV cache, RNG key.
struct State {
  std::string name;
  Type type;
  ConstId initial;  // invalid: zeros
};

// What an argument or result of an entry stands for.
struct ArgBinding {
  std::string name;  // the model's input or output name
  StateId state;     // valid: the argument is this state; a result with a state replaces it (donated)
};

struct Entry {
  std::string name;     // "main", "train_step"
  std::string profile;  // "" or the profile's name; entries of one name with several profiles are tried in order at bind time
  std::unique_ptr<Graph> graph;
  std::vector<ArgBinding> args, results;
};

class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  SymbolTable symbols;
  std::vector<std::unique_ptr<Entry>> entries;
  IdVec<StateId, State> states;
  std::map<std::string, std::string> metadata;  // producer, opset, licence: carried through, sorted

  // Equal tensors (dtype, dims, bytes) get one id.
  ConstId add_constant(Tensor t);
  const Tensor& constant(ConstId id) const { return constants_[id].tensor; }
  // Made when it is first asked for: weights that are packed are never named by theirs. For one thread at a time.
  const Digest& constant_hash(ConstId id) const;
  // Of all that entries and states name, at once: for who is about to ask for most of them.
  void hash_constants() const;
  size_t constant_count() const { return constants_.size(); }

  LocId add_loc(Loc loc);
  size_t loc_count() const { return locs_.size(); }
  LocId fuse_locs(std::span<const LocId> locs);
  const Loc& loc(LocId id) const;  // an empty Loc for an invalid id
  // "node "/a/Add" (Add)", or several, for messages.
  std::string loc_str(LocId id) const;
  // All leaf locations of a (possibly fused) location.
  std::vector<LocId> loc_leaves(LocId id) const;

  Entry& add_entry(std::string name, std::string profile = {});
  Entry* find_entry(std::string_view name, std::string_view profile = {});
  std::unique_ptr<Module> clone() const;
  // For inference alone: without what finds equal constants and locations when more are added.
  std::unique_ptr<Module> clone_for_inference() const;

 private:
  struct Constant {
    Tensor tensor;
    mutable std::optional<Digest> hash;
  };
  IdVec<ConstId, Constant> constants_;
  std::multimap<uint64_t, ConstId> constant_ids_;  // by a sample of their bytes
  IdVec<LocId, Loc> locs_;
  std::map<Loc, LocId> loc_ids_;
};

// `e` with the node's location, op and operand types, unless a place was set further in: then one line that says through which node it
// came.
Error error_at(const Graph& g, const Node& node, Error e);
// Result types and shape values of a node by its row; the node need not be in the graph yet.
Status infer_node(Graph& g, const Node& node, std::vector<Type>* types, std::vector<ShapeValue>* values);
// Content hash of a tensor: dtype, dims and bytes (strings: each with its length).
Digest tensor_hash(const Tensor& t);
// Attributes by name into the row's order; an unknown name, a wrong kind, a missing required one or a string outside the choices is an
// error.
Result<std::vector<AttrValue>> arrange_attrs(const OpDef& def, AttrList attrs);

}  // namespace nnc

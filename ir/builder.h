#pragma once
// Builder: appends nodes to a graph at an insertion point, with one location. The convenience functions are thin: each is one op row.

#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace nnc {

class Builder {
 public:
  explicit Builder(Graph& graph, LocId loc = {}, NodeId before = {}) : graph_(graph), loc_(loc), before_(before) {}
  Graph& graph() { return graph_; }
  Module& module() { return graph_.module(); }
  SymbolTable& symbols() { return graph_.symbols(); }
  void set_loc(LocId loc) { loc_ = loc; }
  LocId loc() const { return loc_; }
  void insert_before(NodeId id) { before_ = id; }
  const Type& type(ValueId v) const { return graph_.type(v); }
  const Shape& shape(ValueId v) const { return graph_.type(v).shape; }
  DType dtype(ValueId v) const { return graph_.type(v).dtype; }

  Result<ValueId> op(OpKind kind, std::vector<ValueId> operands, AttrList attrs = {});  // first result
  Result<std::vector<ValueId>> ops(OpKind kind, std::vector<ValueId> operands, AttrList attrs = {}, std::vector<RegionId> regions = {});
  Result<ValueId> constant(Tensor t);
  Result<ValueId> scalar(DType dtype, double value);  // rank 0
  Result<ValueId> dims_value(Shape dims);             // i64 vector of dims
  Result<ValueId> unary(OpKind kind, ValueId x) { return op(kind, {x}); }
  Result<ValueId> binary(OpKind kind, ValueId a, ValueId b) { return op(kind, {a, b}); }
  Result<ValueId> cast(ValueId x, DType to);                        // no node if already of that type
  Result<ValueId> reshape(ValueId x, Shape shape);                  // no node if the shape is the same
  Result<ValueId> transpose(ValueId x, std::vector<int64_t> perm);  // no node for the identity
  Result<ValueId> broadcast_to(ValueId x, Shape shape);
  Result<ValueId> slice(ValueId x, std::vector<int64_t> axes, Shape starts, Shape ends, std::vector<int64_t> steps);
  Result<ValueId> concat(std::vector<ValueId> xs, int64_t axis);
  Result<ValueId> reduce(std::string_view kind, ValueId x, std::vector<int64_t> axes, bool keepdims);
  Result<ValueId> matmul(ValueId a, ValueId b);
  // Sums `x` down to `shape` (the gradient of a broadcast).
  Result<ValueId> sum_to(ValueId x, const Shape& shape);
  // The dims that an integer vector holds at run time: its shape value where known, else fresh data symbols bound by one `bind_dims` node.
  // `lo`, `hi`: bounds of the minted symbols.
  Result<Shape> dims_of(ValueId v, int64_t lo = INT64_MIN, int64_t hi = INT64_MAX);

 private:
  Graph& graph_;
  LocId loc_;
  NodeId before_;
};

// Lookups that rewrites are made of.
const Node* def_of(const Graph& g, ValueId v);  // nullptr for inputs
bool is(const Graph& g, ValueId v, OpKind kind);
const Tensor* const_value(const Graph& g, ValueId v);  // the constant, or nullptr
// The dense form of a constant that is stored packed: no kernel computes it, loading does (prepack makes them, the planner takes them). A
// transposed form is not that: its readers take elements of the panels through the map.
bool unpacks_constant(const Graph& g, const Node& n);
bool single_use(const Graph& g, ValueId v);
std::optional<double> scalar_value(const Graph& g, ValueId v);  // a constant whose elements are all equal

}  // namespace nnc

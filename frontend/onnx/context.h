#pragma once
// What a row of the operator table sees of one node: inputs as IR values, attributes through typed getters, a builder that carries the
// node's location. A wrong attribute is remembered and reported when the row is done, so that rows read straight through.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/onnx/op_table.h"
#include "frontend/onnx/scope.h"
#include "ir/builder.h"

namespace nnc::onnx {

class Importer;

class NodeContext {
 public:
  NodeContext(Importer& importer, Scope& scope, const NodeProto& node, const OpRow& row, int64_t version, LocId loc,
              std::vector<ValueId> inputs);

  Importer& importer() { return importer_; }
  Scope& scope() { return scope_; }
  const NodeProto& node() const { return node_; }
  const OpRow& row() const { return row_; }
  int64_t version() const { return version_; }
  Builder& b() { return builder_; }
  Graph& graph() { return builder_.graph(); }
  SymbolTable& symbols() { return builder_.symbols(); }

  int inputs() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const { return i < inputs() && inputs_[static_cast<size_t>(i)].valid(); }
  ValueId in(int i) const { return has(i) ? inputs_[static_cast<size_t>(i)] : ValueId(); }
  const Type& type(int i) const { return builder_.type(in(i)); }
  const Shape& shape(int i) const { return type(i).shape; }
  DType dtype(int i) const { return type(i).dtype; }
  int rank(int i) const { return type(i).rank(); }
  int outputs() const { return static_cast<int>(node_.outputs.size()); }
  bool wants(int i) const { return i < outputs() && !node_.outputs[static_cast<size_t>(i)].empty(); }

  // Results.
  void out(int i, ValueId v);
  Status set(Result<ValueId> v);  // output 0
  Status set(OpKind kind, std::vector<ValueId> operands, AttrList attrs = {}) {
    return set(b().op(kind, std::move(operands), std::move(attrs)));
  }
  const std::vector<ValueId>& results() const { return results_; }

  // Attributes. A call's attributes replace a function's references to them.
  bool has_attr(std::string_view name) { return find(name) != nullptr; }
  int64_t i(std::string_view name, int64_t fallback);
  bool flag(std::string_view name, bool fallback) { return i(name, fallback ? 1 : 0) != 0; }
  double f(std::string_view name, double fallback);
  std::string s(std::string_view name, std::string_view fallback);
  std::vector<int64_t> ints(std::string_view name);  // empty where absent
  std::vector<float> floats(std::string_view name);
  std::vector<std::string_view> strings(std::string_view name);
  Result<std::optional<ConstId>> tensor(std::string_view name);  // of a tensor or sparse tensor
  const GraphProto* subgraph(std::string_view name);
  Result<DType> dtype_attr(std::string_view name, DType fallback);  // an integer of TensorProto.DataType
  // A fixed set of choices for a string.
  Result<std::string> choice(std::string_view name, std::string_view fallback, std::string_view choices);
  void ignore_attr(std::string_view name) { find(name); }  // known, without meaning here
  // The first wrong attribute, or one that the row never asked for.
  Status finish();

  // Parameters that ONNX passes as tensors. `known_ints`: they must be known at import.
  Result<std::vector<int64_t>> known_ints(int input, std::string_view what);
  // Dims that an integer input holds; data symbols within [lo, hi] where only the run can tell.
  Result<Shape> dims(int input, int64_t lo = INT64_MIN, int64_t hi = INT64_MAX) { return dims_of(in(input), lo, hi); }
  Result<Shape> dims_of(ValueId v, int64_t lo = INT64_MIN, int64_t hi = INT64_MAX);
  const Tensor* constant(int input) { return has(input) ? const_value(graph(), in(input)) : nullptr; }

  Result<int64_t> axis(int64_t a, int rank) const;
  Result<std::vector<int64_t>> sorted_axes(std::vector<int64_t> axes, int rank) const;  // non-negative, ascending, distinct
  Error error(std::string message) const { return Error(Code::kInvalidModel, std::move(message)); }
  Error unsupported(std::string message) const { return Error(Code::kUnsupportedOp, std::move(message)); }

 private:
  const AttributeProto* find(std::string_view name);
  const AttributeProto* find(std::string_view name, AttributeType type);
  void wrong(std::string message);

  Importer& importer_;
  Scope& scope_;
  const NodeProto& node_;
  const OpRow& row_;
  int64_t version_;
  Builder builder_;
  std::vector<ValueId> inputs_, results_;
  std::vector<uint8_t> asked_;  // by attribute
  std::optional<Error> wrong_;
};

}  // namespace nnc::onnx

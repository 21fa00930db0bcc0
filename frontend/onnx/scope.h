#pragma once
// Names of the model and what they stand for in the IR graph under construction. A scope is one ONNX graph or one call of a model function;
// scopes that fill the same IR graph are chained. A region of the IR sees nothing outside: what it captures was bound to its arguments
// before.

#include <map>
#include <string>
#include <string_view>

#include "frontend/onnx/model.h"
#include "ir/graph.h"

namespace nnc::onnx {

struct Binding {
  enum class State : uint8_t { kValue, kAbsent, kFailed };  // an optional input that was not given; the output of a node with a finding
  State state = State::kAbsent;
  ValueId value;
  static Binding of(ValueId v) { return {State::kValue, v}; }
  static Binding failed() { return {State::kFailed, {}}; }
};

struct Scope {
  Graph* graph = nullptr;
  Scope* parent = nullptr;            // of the same IR graph
  const GraphProto* proto = nullptr;  // null in functions
  std::map<std::string_view, Binding> names;
  std::map<std::string_view, const TensorProto*> initializers;  // not yet bound
  std::map<std::string_view, const SparseTensorProto*> sparse_initializers;
  const std::map<std::string_view, int64_t>* opsets = nullptr;
  const std::map<std::string_view, const AttributeProto*>* call_attributes = nullptr;  // of the call, in a function
  std::string path;                                                                    // put before labels: "outer_call/"
  int depth = 0;                                                                       // subgraphs and calls around
};

}  // namespace nnc::onnx

#pragma once
// The import in progress: module, budget, findings, and the walk over graphs. Rows of the operator table call back for subgraphs, folding
// and messages.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/onnx/analysis.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/scope.h"
#include "frontend/onnx/tensor.h"

namespace nnc::onnx {

class NodeContext;
struct OpRow;

class Importer {
 public:
  // `contents`: see TensorReader.
  Importer(const ModelProto& model, const ImportOptions& options, Budget& budget, std::string path, const FileContents* contents);
  // The module, or nothing where there are findings.
  std::unique_ptr<Module> run();
  std::vector<Error>& findings() { return *findings_; }

  Module& module() { return *module_; }
  Budget& budget() { return budget_; }
  TensorReader& tensors() { return tensors_; }
  NameAnalysis& analysis() { return analysis_; }
  const ImportProfile& profile() const { return *profile_; }

  // Nodes of a graph whose inputs are bound, into the scope's IR graph. Findings are collected, their outputs marked.
  void import_nodes(Scope& scope, const std::vector<NodeProto>& nodes, const GraphFacts& facts);
  // What a name stands for; makes constants of initializers. An unknown name is a finding of the analysis and gives "failed" here.
  Binding lookup(Scope& scope, std::string_view name);
  Result<ConstId> constant_of(const TensorProto& proto);
  Result<ConstId> constant_of(const SparseTensorProto& proto);
  // A scope for a subgraph, with its initializers.
  Scope subgraph_scope(const Scope& outer, const GraphProto& graph, Graph* into, std::string_view label);
  // Values of the subgraph's outputs in order; nothing if one failed.
  std::optional<std::vector<ValueId>> graph_outputs(Scope& scope);
  // Runs `f` with findings going to a list of its own, which is returned.
  template <class F> std::vector<Error> collect(F&& f) {
    std::vector<Error> own;
    std::vector<Error>* outer = std::exchange(findings_, &own);
    f();
    findings_ = outer;
    return own;
  }
  void add_finding(Error e);

  // The value of what depends on constants alone; small graphs only.
  std::optional<Tensor> fold(Graph& graph, ValueId v);
  // kNeedDims that names the inputs' dims and values on which `v` depends.
  Error need_values(const Graph& graph, ValueId v, std::string message) const;
  // Model inputs and dims that `v` is computed from: "sr", "input.1".
  std::vector<std::string> sources(const Graph& graph, ValueId v) const;
  // Dims that the profile fixed and the model leaves open, as "input.1 = 576", for messages of assertions.
  const std::vector<std::string>& fixed_dims() const { return fixed_dims_; }

 private:
  void import_entry(const ImportProfile& profile);
  std::vector<const ValueInfoProto*> entry_inputs() const;
  bool name_dims(const std::vector<const ValueInfoProto*>& inputs);
  Status note_dim(const std::string& name, const std::string& axis_name, std::optional<DimSpec> given);
  bool add_graph_inputs(Entry& entry, Scope& scope);
  Result<Type> input_type(const ValueInfoProto& info);
  void add_graph_outputs(Entry& entry, Scope& scope);
  void check_model();
  void carry_metadata();

  void import_node(Scope& scope, const NodeProto& node, size_t index);
  void import_call(Scope& scope, const NodeProto& node, const FunctionProto& function, LocId loc, const std::string& label);
  void bind_outputs(Scope& scope, const NodeProto& node, const std::vector<ValueId>& values);
  void fail_outputs(Scope& scope, const NodeProto& node);
  LocId location(const Scope& scope, const NodeProto& node, const std::string& label);
  const FunctionProto* find_function(const NodeProto& node) const;
  const OpRow* find_operator(const Scope& scope, const NodeProto& node, int64_t* version, Error* why) const;
  Error describe(Error e, Scope& scope, const NodeProto& node, const std::string& label);
  void assert_fixed_input(Scope& scope, std::string_view name, LocId loc);

  struct FixedInput {
    ValueId input;
    ConstId value;
    bool asserted = false;
  };

  const ModelProto& model_;
  const ImportOptions& options_;
  Budget& budget_;
  TensorReader tensors_;
  std::vector<Error> all_findings_;
  std::vector<Error>* findings_ = &all_findings_;
  NameAnalysis analysis_;
  std::unique_ptr<Module> module_;
  std::map<std::string_view, int64_t> opsets_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const FunctionProto*> functions_;
  std::map<const FunctionProto*, std::map<std::string_view, int64_t>> function_opsets_;
  std::map<const void*, ConstId> read_tensors_;  // by message

  // Of the entry in progress.
  const ImportProfile* profile_ = nullptr;
  struct OpenDim {
    std::optional<DimSpec> spec;
    std::string given_as;    // the name by which the user spoke of it
    std::optional<Dim> dim;  // once made
  };
  std::map<std::string, OpenDim> open_dims_;  // by the model's name of a dim, else INPUT.AXIS
  std::map<std::string_view, FixedInput> fixed_inputs_;
  std::vector<std::string> fixed_dims_;
  LocId current_loc_;  // of the node in progress
};

}  // namespace nnc::onnx

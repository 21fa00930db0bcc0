#pragma once
// The reference interpreter: every verified module, clarity over speed. Values are kept on carriers (f64, i64, u64, string): loads widen,
// stores round once to the value's dtype; in anchored mode floats are never rounded between ops, which gives the f64 oracle of accuracy.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/support/budget.h"

namespace nnc {

// A value on its carrier. Floats (all kinds) in `f`; complex as pairs in `f`; integers and bool in `i` (u64 as its bits); strings in `s`.
struct EvalTensor {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  std::vector<double> f;
  std::vector<int64_t> i;
  std::vector<std::string> s;

  static EvalTensor make(DType dtype, std::vector<int64_t> dims);  // zeros
  static EvalTensor from(const Tensor& t);
  Tensor to_tensor() const;  // rounds to dtype
  int64_t count() const { return element_count(dims); }
  int rank() const { return static_cast<int>(dims.size()); }
  bool floating() const { return is_float(dtype); }
  double as_f64(int64_t k) const;  // any numeric dtype
};

// What an op's eval sees.
struct EvalContext {
  const Graph& graph;
  const Node& node;
  std::span<const EvalTensor* const> operands;  // nullptr: absent
  std::vector<EvalTensor>& results;             // to be filled, one per result
  class Interpreter& interpreter;               // dims, regions, errors

  bool has(int k) const { return k < static_cast<int>(operands.size()) && operands[static_cast<size_t>(k)] != nullptr; }
  const EvalTensor& in(int k) const { return *operands[static_cast<size_t>(k)]; }
  // Result k with the evaluated extents of its inferred type.
  Result<EvalTensor> make_result(int k) const;
  Result<int64_t> dim(const Dim& d) const;
  Result<std::vector<int64_t>> dims(const Shape& s) const;
};

struct EvalOptions {
  bool anchored = false;  // keep floats in f64 between ops, casts between float types included; what rounds by meaning (quantize) does
  Limits limits;          // elements, bytes, loop trips
  // Called after each node of the entry's graph (not in regions) with its results, which it may change.
  std::function<void(NodeId, std::span<EvalTensor>)> trace;
};

class Interpreter {
 public:
  Interpreter(const Module& module, EvalOptions options = {});
  // Runs one entry graph. Binds input symbols from the inputs' extents; wrong dtype, rank or extent is Code::kBadInput naming the argument.
  Result<std::vector<EvalTensor>> run(const Graph& graph, std::vector<EvalTensor> inputs);
  // Chooses the profile of the entry that fits, runs it. Anchored, float results are f64, and float arguments may be.
  Result<std::vector<Tensor>> run_entry(std::string_view name, std::span<const Tensor> args);
  // One node on given operands; every symbol of its types must have a value. Constant folding calls it without a run.
  Result<std::vector<EvalTensor>> run_node(const Graph& graph, NodeId id, std::span<const EvalTensor* const> operands);
  // For control ops: runs a region with the symbol values of the moment.
  Result<std::vector<EvalTensor>> run_region(const Graph& region, std::vector<EvalTensor> args);
  Result<int64_t> dim(const Dim& d) const;
  Status bind(SymbolId s, int64_t value);  // data symbols: checks bounds, derives; a body that runs again binds its symbols again
  const EvalOptions& options() const { return options_; }
  const Module& module() const { return module_; }

 private:
  using Stored = std::shared_ptr<const EvalTensor>;
  std::vector<EvalTensor> carried(const Graph& graph, std::span<const Tensor> args) const;
  Status start(const Graph& graph, std::span<const EvalTensor> inputs);
  Status bind_inputs(const Graph& graph, std::span<const EvalTensor> inputs);
  Status bind_region_args(const Graph& region, std::span<const EvalTensor> args);
  Result<bool> bind_extent(const Dim& d, int64_t extent);
  Status derive();
  void forget_derived(SymbolId s);
  Status check_asserts(const Graph& graph, std::span<const EvalTensor> inputs);
  Result<std::vector<EvalTensor>> run_body(const Graph& graph, std::vector<EvalTensor> args, bool top);
  Status finish_result(const Type& type, EvalTensor& t) const;
  Stored constant(ConstId id);
  const Module& module_;
  EvalOptions options_;
  std::vector<int64_t> values_;  // by symbol index
  std::vector<uint8_t> known_;
  std::vector<uint8_t> wanted_;                      // used_symbols of the graph that runs
  std::map<SymbolId, const Graph*> region_symbols_;  // bound by the arguments of a region, again at each run of it
  std::map<ConstId, Stored> constants_;
};

}  // namespace nnc

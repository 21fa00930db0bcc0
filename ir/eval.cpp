#include "ir/eval.h"

#include <cmath>

#include "ir/support/text.h"
#include "ir/symbol_use.h"

namespace nnc {

Result<int64_t> EvalContext::dim(const Dim& d) const { return interpreter.dim(d); }

Result<std::vector<int64_t>> EvalContext::dims(const Shape& s) const {
  std::vector<int64_t> out;
  for (const Dim& d : s) {
    NNC_ASSIGN(const int64_t v, interpreter.dim(d));
    out.push_back(v);
  }
  return out;
}

Result<EvalTensor> EvalContext::make_result(int k) const {
  const Type& t = graph.type(node.results[static_cast<size_t>(k)]);
  NNC_ASSIGN(std::vector<int64_t> extents, dims(t.shape));
  NNC_ASSIGN(const int64_t count, checked_element_count(extents));
  const int64_t limit = interpreter.options().limits[Limit::kElements];
  if (count > limit)
    return Error(Code::kLimit, cat("a result of ", count, " elements is over the limit of ", limit)).with("try: --limit elements=N");
  return EvalTensor::make(t.dtype, std::move(extents));
}

Interpreter::Interpreter(const Module& module, EvalOptions options) : module_(module), options_(std::move(options)) {
  values_.assign(module_.symbols.size(), 0);
  known_.assign(module_.symbols.size(), 0);
}

// Values that are kept: on the carrier, but of the dtype.
Status Interpreter::finish_result(const Type& type, EvalTensor& t) const {
  if (!type.is_tensor()) return {};
  if (t.dtype != type.dtype || t.rank() != type.rank()) {
    return Error(Code::kInternal,
                 cat("eval gave ", dtype_name(t.dtype), " of rank ", t.rank(), " for ", type_pretty(module_.symbols, type)));
  }
  for (size_t k = 0; k < type.shape.size(); ++k) {
    NNC_ASSIGN(const int64_t extent, dim(type.shape[k]));
    if (extent != t.dims[k]) {
      return Error(Code::kInternal, cat("eval gave extent ", t.dims[k], " at axis ", k, " of ", type_pretty(module_.symbols, type),
                                        ", where it is ", extent));
    }
  }
  if (is_float(t.dtype)) {
    if (options_.anchored || t.dtype == DType::kF64) return {};
    if (t.dtype == DType::kF32) {
      for (double& v : t.f) v = static_cast<double>(static_cast<float>(v));
    } else {
      const bool keeps_infinity = t.dtype == DType::kF8E5M2;  // round_to saturates types of 8 bits
      for (double& v : t.f) v = keeps_infinity && std::isinf(v) ? v : round_to(t.dtype, v);
    }
  } else if (is_int(t.dtype) || t.dtype == DType::kBool) {
    if (t.dtype == DType::kI64 || t.dtype == DType::kU64) return {};
    for (int64_t& v : t.i) v = wrap_int(t.dtype, v);
  }
  return {};
}

Interpreter::Stored Interpreter::constant(ConstId id) {
  Stored& slot = constants_[id];
  if (slot == nullptr) slot = std::make_shared<EvalTensor>(EvalTensor::from(module_.constant(id)));
  return slot;
}

Result<std::vector<EvalTensor>> Interpreter::run_node(const Graph& graph, NodeId id, std::span<const EvalTensor* const> operands) {
  if (values_.size() < module_.symbols.size()) {  // inference may have added symbols since
    values_.resize(module_.symbols.size(), 0);
    known_.resize(module_.symbols.size(), 0);
  }
  const Node& node = graph.node(id);
  std::vector<EvalTensor> results;
  if (node.kind == OpKind::kConstant) {
    results.push_back(*constant(node.constant("value")));
    return results;
  }
  NNC_CHECK(node.def().eval != nullptr, "every row has an eval");
  EvalContext context{graph, node, operands, results, *this};
  if (Status s = node.def().eval(context); !s.ok()) return error_at(graph, node, std::move(s).error());
  NNC_CHECK(results.size() == node.results.size(), "eval gives every result");
  for (size_t k = 0; k < results.size(); ++k) {
    if (Status s = finish_result(graph.type(node.results[k]), results[k]); !s.ok()) return error_at(graph, node, std::move(s).error());
  }
  return results;
}

Result<std::vector<EvalTensor>> Interpreter::run_body(const Graph& graph, std::vector<EvalTensor> args, bool top) {
  std::vector<Stored> values(graph.value_capacity());
  std::vector<size_t> left(graph.value_capacity());  // uses to come
  const auto store = [&](ValueId v, Stored value) {
    left[v.index()] = graph.value(v).uses.size();
    if (left[v.index()] > 0) values[v.index()] = std::move(value);
  };
  for (size_t k = 0; k < args.size(); ++k) store(graph.inputs()[k], std::make_shared<EvalTensor>(std::move(args[k])));
  std::vector<const EvalTensor*> operands;
  for (NodeId id = graph.first(); id.valid(); id = graph.node(id).next) {
    const Node& node = graph.node(id);
    if (node.kind == OpKind::kConstant) {
      store(node.results[0], constant(node.constant("value")));
      continue;
    }
    operands.clear();
    for (ValueId v : node.operands) {
      operands.push_back(v.valid() ? values[v.index()].get() : nullptr);
      NNC_CHECK(!v.valid() || operands.back() != nullptr, "program order is topological");
    }
    NNC_ASSIGN(std::vector<EvalTensor> results, run_node(graph, id, operands));
    if (top && options_.trace) options_.trace(id, results);
    for (ValueId v : node.operands) {
      if (v.valid() && --left[v.index()] == 0) values[v.index()].reset();
    }
    for (size_t k = 0; k < results.size(); ++k) store(node.results[k], std::make_shared<EvalTensor>(std::move(results[k])));
  }
  std::vector<EvalTensor> outputs;
  for (ValueId v : graph.outputs()) outputs.push_back(*values[v.index()]);
  return outputs;
}

// Assumptions of the entry that depend on its inputs alone; they decide whether the profile fits.
Status Interpreter::check_asserts(const Graph& graph, std::span<const EvalTensor> inputs) {
  for (NodeId id = graph.first(); id.valid(); id = graph.node(id).next) {
    const Node& node = graph.node(id);
    if (node.kind == OpKind::kAssertValue && !graph.value(node.operands[0]).def.valid()) {
      const EvalTensor* const operand = &inputs[graph.value(node.operands[0]).index];
      NNC_TRY(run_node(graph, id, std::span(&operand, 1)));
      continue;
    }
    if (node.kind != OpKind::kAssertDims || !node.operands.empty()) continue;
    bool ready = true;
    for_each_attr_symbol(node, [&](SymbolId s) { ready = ready && known_[s.index()]; });
    if (ready) NNC_TRY(run_node(graph, id, {}));
  }
  return {};
}

// Forgets the last run and binds what the inputs decide.
Status Interpreter::start(const Graph& graph, std::span<const EvalTensor> inputs) {
  values_.assign(module_.symbols.size(), 0);
  known_.assign(module_.symbols.size(), 0);
  wanted_ = used_symbols(graph);
  region_symbols_.clear();
  NNC_TRY(derive());
  NNC_TRY(bind_inputs(graph, inputs));
  return check_asserts(graph, inputs);
}

Result<std::vector<EvalTensor>> Interpreter::run(const Graph& graph, std::vector<EvalTensor> inputs) {
  NNC_TRY(start(graph, inputs));
  return run_body(graph, std::move(inputs), true);
}

Result<std::vector<EvalTensor>> Interpreter::run_region(const Graph& region, std::vector<EvalTensor> args) {
  NNC_TRY(bind_region_args(region, args));
  return run_body(region, std::move(args), false);
}

// Arguments on carriers. Anchored, a float argument may be given as f64: what an earlier run gave.
std::vector<EvalTensor> Interpreter::carried(const Graph& graph, std::span<const Tensor> args) const {
  std::vector<EvalTensor> out;
  for (size_t k = 0; k < args.size(); ++k) {
    out.push_back(EvalTensor::from(args[k]));
    if (!options_.anchored || k >= graph.inputs().size() || args[k].dtype() != DType::kF64) continue;
    const DType wanted = graph.type(graph.inputs()[k]).dtype;
    if (is_float(wanted)) out.back().dtype = wanted;
  }
  return out;
}

Result<std::vector<Tensor>> Interpreter::run_entry(std::string_view name, std::span<const Tensor> args) {
  std::vector<std::string> reasons;
  std::optional<Error> first;
  for (const auto& entry : module_.entries) {
    if (entry->name != name) continue;
    const Graph& graph = *entry->graph;
    std::vector<EvalTensor> inputs = carried(graph, args);
    if (Status fits = start(graph, inputs); !fits.ok()) {
      reasons.push_back(cat("profile ", quote(entry->profile), ": ", fits.error().message));
      if (!first) first = std::move(fits).error();
      continue;
    }
    NNC_ASSIGN(std::vector<EvalTensor> outputs, run_body(graph, std::move(inputs), true));
    std::vector<Tensor> results;
    for (EvalTensor& t : outputs) {
      if (options_.anchored && t.floating()) t.dtype = DType::kF64;
      results.push_back(t.to_tensor());
    }
    return results;
  }
  if (!first) {
    std::vector<std::string> names;
    for (const auto& entry : module_.entries) names.push_back(entry->name);
    return Error(Code::kUnknownName, cat("the module has no entry ", quote(name), "; it has: ", join(names, ", ")));
  }
  if (reasons.size() == 1) return std::move(*first);
  Error e(Code::kBadInput, cat("no profile of entry ", quote(name), " fits these arguments"));
  for (std::string& r : reasons) e.context.push_back(std::move(r));
  return e;
}

}  // namespace nnc

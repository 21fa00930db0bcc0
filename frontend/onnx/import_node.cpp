// The walk over nodes: names, locations, operator lookup, calls of model functions, findings.

#include <algorithm>

#include "frontend/onnx/context.h"
#include "frontend/onnx/import_model.h"
#include "frontend/onnx/op_table.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

std::string_view without_default(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

// The last but one of "['', 'encoder', 'encoder.layer.0', 'matmul']": the module that holds the node.
std::string scope_of(const NodeProto& node) {
  for (const auto& [key, value] : node.metadata) {
    if (key != "pkg.torch.onnx.name_scopes") continue;
    std::string_view last, module;
    for (size_t p = 0; p < value.size();) {
      const size_t open = value.find_first_of("'\"", p);
      if (open == std::string_view::npos) break;
      const size_t close = value.find(value[open], open + 1);
      if (close == std::string_view::npos) break;
      module = last;
      last = value.substr(open + 1, close - open - 1);
      p = close + 1;
    }
    return std::string(module);
  }
  // The older exporter writes "/encoder/layer.0/MatMul".
  if (!node.name.starts_with('/')) return {};
  const size_t slash = node.name.rfind('/');
  std::string path(node.name.substr(1, slash > 0 ? slash - 1 : 0));
  std::ranges::replace(path, '/', '.');
  return path;
}

}  // namespace

LocId Importer::location(const Scope& scope, const NodeProto& node, const std::string& label) {
  Loc loc;
  loc.node = cat(scope.path, label);
  loc.op = std::string(node.op_type);
  loc.scope = scope_of(node);
  if (options_.keep_source_trace) {
    for (const auto& [key, value] : node.metadata) {
      // File "/path/net.py", line 21, in forward
      if (key != "pkg.torch.onnx.stack_trace") continue;
      const size_t start = value.rfind("File \""), end = value.find("\", line ", start == std::string_view::npos ? 0 : start);
      if (start == std::string_view::npos || end == std::string_view::npos) continue;
      const std::string_view path = value.substr(start + 6, end - start - 6);
      loc.file = std::string(path.substr(path.find_last_of("/\\") + 1));  // npos + 1 is 0
      int64_t line = 0;
      const std::string_view rest = value.substr(end + 8);
      if (parse_int(rest.substr(0, rest.find_first_not_of("0123456789")), &line) && line < (1 << 30)) loc.line = static_cast<int>(line);
    }
  }
  return module_->add_loc(std::move(loc));
}

Result<ConstId> Importer::constant_of(const TensorProto& proto) {
  if (const auto found = read_tensors_.find(&proto); found != read_tensors_.end()) return found->second;
  NNC_ASSIGN(Tensor t, tensors_.read(proto));
  return read_tensors_[&proto] = module_->add_constant(std::move(t));
}

Result<ConstId> Importer::constant_of(const SparseTensorProto& proto) {
  if (const auto found = read_tensors_.find(&proto); found != read_tensors_.end()) return found->second;
  NNC_ASSIGN(Tensor t, tensors_.read_sparse(proto));
  return read_tensors_[&proto] = module_->add_constant(std::move(t));
}

Binding Importer::lookup(Scope& scope, std::string_view name) {
  for (Scope* s = &scope; s != nullptr; s = s->parent) {
    if (const auto found = s->names.find(name); found != s->names.end()) return found->second;
    Result<ConstId> constant = ConstId();
    if (const auto dense = s->initializers.find(name); dense != s->initializers.end()) {
      constant = constant_of(*dense->second);
    } else if (const auto sparse = s->sparse_initializers.find(name); sparse != s->sparse_initializers.end()) {
      constant = constant_of(*sparse->second);
    } else if (const auto fixed = fixed_inputs_.find(name); s->proto == &*model_.graph && fixed != fixed_inputs_.end()) {
      constant = fixed->second.value;
      assert_fixed_input(*s, name, current_loc_);
    } else {
      continue;
    }
    if (!constant.ok()) {
      add_finding(std::move(constant).error());
      return s->names[name] = Binding::failed();
    }
    Loc loc;
    loc.node = std::string(name);
    loc.op = "initializer";
    Builder b(*s->graph, module_->add_loc(std::move(loc)));
    auto v = b.op(OpKind::kConstant, {}, {{"value", *constant}});
    if (!v.ok()) {
      add_finding(std::move(v).error());
      return s->names[name] = Binding::failed();
    }
    s->graph->set_value_name(*v, std::string(name));
    return s->names[name] = Binding::of(*v);
  }
  return Binding::failed();
}

void Importer::assert_fixed_input(Scope& scope, std::string_view name, LocId loc) {
  FixedInput& fixed = fixed_inputs_.find(name)->second;
  if (fixed.asserted) return;
  fixed.asserted = true;
  Builder b(*scope.graph, loc);
  const Tensor& t = module_->constant(fixed.value);
  std::string value = t.count() == 1 && t.dtype() != DType::kString ? (is_float(t.dtype()) ? cat(t.f64(0)) : cat(t.i64(0)))
                                                                    : std::string("the value given when it was compiled");
  const std::string message =
      cat("input ", quote(name), " must be ", value, profile_->name.empty() ? "" : cat(" in profile ", quote(profile_->name)));
  if (auto r = b.ops(OpKind::kAssertValue, {fixed.input}, {{"value", fixed.value}, {"message", message}}); !r.ok())
    add_finding(std::move(r).error());
}

Scope Importer::subgraph_scope(const Scope& outer, const GraphProto& graph, Graph* into, std::string_view label) {
  Scope s;
  s.graph = into;
  s.proto = &graph;
  s.opsets = outer.opsets;
  s.call_attributes = outer.call_attributes;
  s.path = cat(outer.path, label, "/");
  s.depth = outer.depth + 1;
  for (const TensorProto& t : graph.initializers) s.initializers[t.name] = &t;
  for (const SparseTensorProto& t : graph.sparse_initializers) s.sparse_initializers[t.values.name] = &t;
  return s;
}

std::optional<std::vector<ValueId>> Importer::graph_outputs(Scope& scope) {
  std::vector<ValueId> out;
  for (const ValueInfoProto& info : scope.proto->outputs) {
    const Binding b = lookup(scope, info.name);
    if (b.state != Binding::State::kValue) return std::nullopt;
    out.push_back(b.value);
  }
  return out;
}

void Importer::import_nodes(Scope& scope, const std::vector<NodeProto>& nodes, const GraphFacts& facts) {
  for (const uint32_t k : facts.order) import_node(scope, nodes[k], k);
}

const FunctionProto* Importer::find_function(const NodeProto& node) const {
  const auto found = functions_.find(std::tuple(without_default(node.domain), node.op_type, node.overload));
  return found == functions_.end() ? nullptr : found->second;
}

const OpRow* Importer::find_operator(const Scope& scope, const NodeProto& node, int64_t* version, Error* why) const {
  const std::string_view domain = without_default(node.domain);
  const auto imported = scope.opsets->find(domain);
  if (imported == scope.opsets->end()) {
    *why = Error(Code::kInvalidModel, cat("the model imports no version of operator set ", quote(domain.empty() ? "ai.onnx" : domain),
                                          ", which ", quote(node.op_type), " belongs to"));
    return nullptr;
  }
  *version = imported->second;
  if (domain.empty()) {
    if (*version > kNewestOpset) {
      *why = Error(Code::kUnsupportedOp, cat("opset ", *version, " is newer than ", kNewestOpset, ", the newest that is supported"));
      return nullptr;
    }
    if (const OpRow* row = find_row(node.op_type, *version)) return row;
  }
  *why = Error(Code::kUnsupportedOp,
               cat("operator not supported: ", domain, domain.empty() ? "" : "::", node.op_type, " (opset ", *version, ")"));
  if (domain.empty()) {
    if (const auto rows = rows_named(node.op_type); !rows.empty()) {
      why->context.push_back(cat("supported: ", join(rows, ", ", [](const OpRow* r) {
                                   return r->since == r->until ? cat("opset ", r->since) : cat("opsets ", r->since, " to ", r->until);
                                 })));
    }
  }
  return nullptr;
}

Error Importer::describe(Error e, Scope& scope, const NodeProto& node, const std::string& label) {
  e.place.node = cat(scope.path, label);
  e.place.op = std::string(node.op_type);
  e.place.offset = static_cast<int64_t>(node.offset);
  for (const std::string_view name : node.inputs) {
    if (name.empty()) continue;
    Binding b = Binding::failed();
    for (Scope* s = &scope; s != nullptr; s = s->parent) {
      if (const auto found = s->names.find(name); found != s->names.end()) {
        b = found->second;
        break;
      }
    }
    if (b.state == Binding::State::kValue)
      e.context.push_back(cat("in   ", quote(name), "  ", type_pretty(module_->symbols, scope.graph->type(b.value))));
  }
  return e;
}

void Importer::fail_outputs(Scope& scope, const NodeProto& node) {
  for (const std::string_view name : node.outputs) {
    if (!name.empty()) scope.names[name] = Binding::failed();
  }
}

void Importer::bind_outputs(Scope& scope, const NodeProto& node, const std::vector<ValueId>& values) {
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    scope.names[node.outputs[k]] = k < values.size() && values[k].valid() ? Binding::of(values[k]) : Binding::failed();
    if (k < values.size() && values[k].valid() && scope.graph->value(values[k]).name.empty())
      scope.graph->set_value_name(values[k], std::string(node.outputs[k]));
  }
}

void Importer::import_node(Scope& scope, const NodeProto& node, size_t index) {
  const std::string label = node_label(node, index);
  const auto fail = [&](Error e) {
    add_finding(describe(std::move(e), scope, node, label));
    fail_outputs(scope, node);
  };
  if (Status s = budget_.charge(Limit::kInlinedNodes, 1); !s.ok()) return fail(std::move(s).error());
  if (Status s = budget_.within(Limit::kNameBytes, static_cast<int64_t>(std::max(label.size(), scope.path.size()))); !s.ok())
    return fail(std::move(s).error());
  const LocId loc = location(scope, node, label);
  if (const FunctionProto* function = find_function(node)) return import_call(scope, node, *function, loc, label);

  int64_t version = 0;
  Error why;
  const OpRow* row = find_operator(scope, node, &version, &why);
  if (row == nullptr) return fail(std::move(why));

  current_loc_ = loc;
  std::vector<ValueId> inputs;
  for (const std::string_view name : node.inputs) {
    const Binding b = name.empty() ? Binding() : lookup(scope, name);
    if (b.state == Binding::State::kFailed) return fail_outputs(scope, node);
    inputs.push_back(b.value);
  }
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  const int given = static_cast<int>(inputs.size()), results = static_cast<int>(node.outputs.size());
  if (given < row->min_inputs || (row->max_inputs >= 0 && given > row->max_inputs)) {
    return fail(Error(Code::kInvalidModel, cat("the node has ", given, " inputs, ", node.op_type, " takes ", row->min_inputs,
                                               row->max_inputs == row->min_inputs ? ""
                                               : row->max_inputs < 0              ? " or more"
                                                                                  : cat(" to ", row->max_inputs))));
  }
  for (int k = 0; k < row->min_inputs; ++k) {
    if (!inputs[static_cast<size_t>(k)].valid()) return fail(Error(Code::kInvalidModel, cat("input ", k, " must be given")));
  }
  if (row->max_outputs >= 0 && results > row->max_outputs) {
    return fail(Error(Code::kInvalidModel, cat("the node has ", results, " outputs, ", node.op_type, " gives at most ", row->max_outputs)));
  }
  NodeContext c(*this, scope, node, *row, version, loc, std::move(inputs));
  Status s = row->import(c);
  if (s.ok()) s = c.finish();
  if (!s.ok()) return fail(std::move(s).error());
  bind_outputs(scope, node, c.results());
}

void Importer::import_call(Scope& scope, const NodeProto& node, const FunctionProto& function, LocId loc, const std::string& label) {
  const auto fail = [&](Error e) {
    add_finding(describe(std::move(e), scope, node, label));
    fail_outputs(scope, node);
  };
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return fail(Error(Code::kInvalidModel, cat("the call has ", node.inputs.size(), " inputs and ", node.outputs.size(),
                                               " outputs, the function has ", function.inputs.size(), " and ", function.outputs.size())));
  }
  Scope inner;
  inner.graph = scope.graph;
  inner.opsets = &function_opsets_[&function];
  inner.path = cat(scope.path, label, "/");
  inner.depth = scope.depth + 1;
  // A function that calls itself never ends: the depth says so.
  if (Status s = budget_.within(Limit::kSubgraphDepth, inner.depth); !s.ok()) {
    return fail(Error(Code::kLimit, cat("calls are nested ", inner.depth, " deep at function ", quote(function.name),
                                        ": it calls itself, or the limit is too low")));
  }
  current_loc_ = loc;
  for (size_t k = 0; k < function.inputs.size(); ++k) {
    const bool given = k < node.inputs.size() && !node.inputs[k].empty();
    const Binding b = given ? lookup(scope, node.inputs[k]) : Binding();
    if (b.state == Binding::State::kFailed) return fail_outputs(scope, node);
    inner.names[function.inputs[k]] = b;
  }
  std::map<std::string_view, const AttributeProto*> attributes;
  for (const AttributeProto& a : function.attribute_defaults) attributes[a.name] = &a;
  for (const AttributeProto& a : node.attributes) {
    const AttributeProto* value = &a;
    if (!a.ref_attr_name.empty()) {
      value = nullptr;
      if (scope.call_attributes != nullptr) {
        if (const auto found = scope.call_attributes->find(a.ref_attr_name); found != scope.call_attributes->end()) value = found->second;
      }
    }
    if (value != nullptr) attributes[a.name] = value;
  }
  inner.call_attributes = &attributes;
  const size_t before = findings_->size();
  import_nodes(inner, function.nodes, analysis_.facts(function));
  std::vector<ValueId> values;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const Binding b = lookup(inner, function.outputs[k]);
    if (b.state == Binding::State::kAbsent && !node.outputs[k].empty() && findings_->size() == before) {
      return fail(Error(Code::kInvalidModel, cat("output ", quote(function.outputs[k]), " of function ", quote(function.name),
                                                 " is an input that was not given")));
    }
    values.push_back(b.value);
  }
  bind_outputs(scope, node, values);
}

}  // namespace nnc::onnx

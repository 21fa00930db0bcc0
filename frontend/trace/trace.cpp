#include "frontend/trace/trace.h"

#include <algorithm>

#include "ir/support/text.h"

namespace nnc::trace {

namespace {

std::string base_name(std::string_view path) { return std::string(path.substr(path.find_last_of('/') + 1)); }

StateId find_state(const Module& m, std::string_view name) {
  for (size_t k = 0; k < m.states.size(); ++k)
    if (m.states[StateId(k)].name == name) return StateId(k);
  return {};
}

}  // namespace

DType Value::dtype() const { return valid() ? trace_->graph().type(id_).dtype : DType::kInvalid; }
Shape Value::shape() const { return valid() ? trace_->graph().type(id_).shape : Shape(); }

Trace::Trace(Module& module, std::string name) : module_(module) {
  const bool taken = module.find_entry(name) != nullptr;
  entry_ = &module.add_entry(name);
  if (taken) errors_.push_back(Error(Code::kUsage, cat("the module has an entry ", quote(name), " already")));
}

LocId Trace::loc(std::string_view what, Where where) {
  Loc l;
  l.op = what;
  l.scope = scope_;
  l.file = base_name(where.file);
  l.line = where.line;
  l.node = cat(l.file, ":", l.line);
  return module_.add_loc(std::move(l));
}

void Trace::fail(Error e, Where where) {
  Place place;
  place.file = base_name(where.file);
  place.line = where.line;
  if (e.place.file.empty()) {
    e.place.file = place.file;
    e.place.line = place.line;
  }
  errors_.push_back(std::move(e));
}

Value Trace::take(Result<ValueId> id, Where where) {
  if (id.ok()) return Value(this, *id);
  fail(std::move(id).error(), where);
  return Value(this, ValueId());
}

// An invalid value of this trace has been reported; one of no trace, or of another, has not.
bool Trace::usable(const Value& v, std::string_view what, Where where) {
  if (v.trace_ == this) return v.valid();
  fail(Error(Code::kUsage, cat(what, v.trace_ == nullptr ? " is a value that was never made" : " is a value of another trace")), where);
  return false;
}

Value Trace::input(std::string_view name, DType dtype, Shape shape, Where where) {
  for (const ArgBinding& a : entry_->args) {
    if (a.name != name) continue;
    fail(Error(Code::kUsage, cat("entry ", quote(entry_->name), " has an input ", quote(name), " already")), where);
    return Value(this, ValueId());
  }
  entry_->args.push_back({std::string(name), {}});
  return Value(this, graph().add_input(Type::tensor(dtype, std::move(shape)), std::string(name)));
}

Value Trace::state(std::string_view name, const Tensor& initial, Where where) {
  const Type type = Type::tensor(initial.dtype(), Shape(initial.dims().begin(), initial.dims().end()));
  StateId id = find_state(module_, name);
  if (!id.valid()) { id = module_.states.push({std::string(name), type, module_.add_constant(initial)}); }
  const State& s = module_.states[id];
  if (s.type != type) {
    fail(Error(Code::kUsage, cat("state ", quote(name), " is ", type_pretty(module_.symbols, s.type), ", here it would be ",
                                 type_pretty(module_.symbols, type))),
         where);
    return Value(this, ValueId());
  }
  for (size_t k = 0; k < entry_->args.size(); ++k)
    if (entry_->args[k].state == id) return Value(this, graph().inputs()[k]);
  entry_->args.push_back({std::string(name), id});
  return Value(this, graph().add_input(type, std::string(name)));
}

Value Trace::constant(Tensor value, Where where) {
  return take(Builder(graph(), loc("constant", where)).constant(std::move(value)), where);
}

Value Trace::op(OpKind kind, const std::vector<Value>& operands, AttrList attrs, Where where) {
  std::vector<ValueId> ids;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (!usable(operands[k], cat("operand ", k, " of ", op_name(kind)), where)) return Value(this, ValueId());
    ids.push_back(operands[k].id());
  }
  return take(Builder(graph(), loc(op_name(kind), where)).op(kind, std::move(ids), std::move(attrs)), where);
}

void Trace::output(std::string_view name, Value value, Where where) {
  if (!usable(value, cat("output ", quote(name)), where)) return;
  outputs_.push_back(value.id());
  entry_->results.push_back({std::string(name), {}});
}

void Trace::update(Value state, Value value, Where where) {
  if (!usable(state, "the state to update", where) || !usable(value, "the new value of a state", where)) return;
  const std::vector<ValueId>& inputs = graph().inputs();
  const auto at = static_cast<size_t>(std::find(inputs.begin(), inputs.end(), state.id()) - inputs.begin());
  if (at == inputs.size() || !entry_->args[at].state.valid())
    return fail(Error(Code::kUsage, "only a state can be updated").with("try: make it with Trace::state"), where);
  const ArgBinding binding = entry_->args[at];
  for (const ArgBinding& r : entry_->results)
    if (r.state == binding.state) return fail(Error(Code::kUsage, cat("state ", quote(binding.name), " is updated twice")), where);
  if (graph().type(value.id()) != graph().type(state.id()))
    return fail(Error(Code::kUsage, cat("state ", quote(binding.name), " is ", type_pretty(module_.symbols, graph().type(state.id())),
                                        ", its new value ", type_pretty(module_.symbols, graph().type(value.id())))),
                where);
  outputs_.push_back(value.id());
  entry_->results.push_back(binding);
}

Status Trace::finish() {
  if (!errors_.empty()) {
    Error first = errors_.front();
    for (size_t k = 1; k < errors_.size(); ++k)
      first.context.push_back(cat("also: ", errors_[k].place.file, ":", errors_[k].place.line, ": ", errors_[k].message));
    return first;
  }
  graph().set_outputs(outputs_);
  return {};
}

}  // namespace nnc::trace

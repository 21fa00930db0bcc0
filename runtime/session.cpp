// Sessions: states, choice of the variant, binding of inputs and outputs. The walk over instructions is in session_run.cpp.

#include "runtime/session.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "ir/base/plan_capacity.h"
#include "ir/support/checked.h"
#include "ir/support/mutant.h"
#include "ir/support/text.h"
#include "runtime/session_state.h"
#include "runtime/strided.h"

namespace nnc {

namespace {

std::string shape_text(std::span<const int64_t> dims) {
  return cat("[", join(dims, ", ", [](int64_t d) { return d; }), "]");
}
std::string type_text(const SymbolTable& symbols, const PlanArg& a) {
  return cat(dtype_name(a.dtype), "[", join(a.shape, ", ", [&](const Dim& d) { return symbols.pretty(d); }), "]");
}
std::string symbol_name(const SymbolTable& symbols, SymbolId id) { return symbols.pretty(Dim(id)); }

int64_t element_bytes(DType t) { return std::max(1, dtype_bits(t) / 8); }

// The one symbol of `d` without a value, where `d` is linear in it with nothing multiplied to it: extent = coeff * s + rest.
struct Unknown {
  SymbolId symbol;
  int64_t coeff = 0;
  bool solvable = true;
};
Unknown find_unknown(const Dim& d, std::span<const uint8_t> known) {
  Unknown u;
  for (const Term& t : d.terms())
    for (uint32_t s : t.mono.s) {
      if (s == 0 || known[s - 1]) continue;
      const bool alone = t.mono.s[1] == 0;
      u.solvable = u.solvable && alone && !u.symbol.valid();
      u.symbol = SymbolId(s - 1);
      u.coeff = t.coeff;
    }
  return u;
}

}  // namespace

Session::Session(std::shared_ptr<const Executable> executable, const SessionOptions& options)
    : executable_(std::move(executable)), program_(executable_->program()), device_(*executable_->device()), options_(options) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Executable> executable, const SessionOptions& options) {
  if (!executable->device()->shares_host_memory())
    return Error(Code::kNoDevice,
                 cat("sessions on the device ", executable->device()->name(), ", whose memory is apart from the host's, do not exist yet"));
  std::unique_ptr<Session> s(new Session(std::move(executable), options));
  s->entries_.resize(s->program_.entries.size());
  NNC_TRY(s->make_states());
  return s;
}

Status Session::make_states() {
  const std::vector<int64_t> none(program_.symbols.size(), 0);
  states_.resize(program_.states.size());
  for (size_t i = 0; i < states_.size(); ++i) {
    const PlanState& ps = program_.states[i];
    StateMemory& m = states_[i];
    for (const Dim& d : ps.shape) {
      for (const Term& t : d.terms())
        for (uint32_t s : t.mono.s)
          if (s != 0 && program_.symbols[SymbolId(s - 1)].binding != Binding::kBounded)
            return Error(Code::kNeedDims,
                         cat("state \"", ps.name, "\" has the extent ", program_.symbols.pretty(d), ", which has no bound"))
                .with("  try: --dim NAME=LO..HI when compiling");
      m.capacity.emplace_back();
      NNC_ASSIGN(m.capacity.back(), eval_capacity(program_.symbols, d, none));
    }
    NNC_ASSIGN(const int64_t bytes, byte_size(m.capacity, dtype_bits(ps.dtype)));
    if (bytes > options_.max_bytes - stats_.state_bytes)
      return Error(Code::kLimit,
                   cat("state \"", ps.name, "\" of ", human_bytes(static_cast<uint64_t>(bytes)), " passes the limit of memory"));
    NNC_ASSIGN(m.buffer, DeviceBuffer::create(executable_->device(), bytes));
    ++stats_.allocations;
    stats_.state_bytes += bytes;
    state_data_.push_back(m.buffer.data());
    state_bytes_.push_back(bytes);
  }
  return reset_states();
}

Status Session::reset_states() {
  for (size_t i = 0; i < states_.size(); ++i) {
    const PlanState& ps = program_.states[i];
    if (ps.initial >= 0) {
      NNC_TRY(set_state(ps.name, executable_->constant(static_cast<uint32_t>(ps.initial))));
      continue;
    }
    NNC_TRY(device_.fill(state_data_[i], 0, state_bytes_[i]));
    states_[i].dims.clear();
    for (const Dim& d : ps.shape) states_[i].dims.push_back(d.is_const() ? d.constant() : program_.symbols.range(d).lo);
  }
  return {};
}

namespace {
Result<size_t> find_state(const Program& p, std::string_view name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < p.states.size(); ++i) {
    if (p.states[i].name == name) return i;
    names.push_back(p.states[i].name);
  }
  Error e(Code::kUnknownName, cat("the program has no state \"", name, "\""));
  if (const std::string close = nearest(name, names); !close.empty()) return std::move(e).with(cat("  did you mean \"", close, "\"?"));
  return e;
}
}  // namespace

Result<Tensor> Session::state(std::string_view name) const {
  NNC_ASSIGN(const size_t i, find_state(program_, name));
  NNC_ASSIGN(Tensor t, Tensor::create(program_.states[i].dtype, states_[i].dims));
  if (states_[i].dims == states_[i].capacity) {
    NNC_TRY(device_.copy(t.data(), state_data_[i], static_cast<int64_t>(t.bytes())));
  } else {
    copy_extents(t.data(), t.dims(), state_data_[i], states_[i].capacity, t.dims(), element_bytes(t.dtype()));
  }
  return t;
}

Status Session::set_state(std::string_view name, const Tensor& value) {
  NNC_ASSIGN(const size_t i, find_state(program_, name));
  const PlanState& ps = program_.states[i];
  StateMemory& m = states_[i];
  bool fits_memory = value.dtype() == ps.dtype && value.dims().size() == m.capacity.size();
  for (size_t a = 0; fits_memory && a < m.capacity.size(); ++a)
    fits_memory = ps.shape[a].is_const() ? value.dims()[a] == m.capacity[a] : value.dims()[a] <= m.capacity[a];
  if (!fits_memory)
    return Error(Code::kBadInput, cat("state \"", name, "\": ", dtype_name(value.dtype()), shape_text(value.dims()), " given, ",
                                      type_text(program_.symbols, {ps.name, ps.dtype, ps.shape, -1}), " expected"));
  if (value.dims() == m.capacity) {
    NNC_TRY(device_.copy(state_data_[i], value.data(), static_cast<int64_t>(value.bytes())));
  } else {
    copy_extents(state_data_[i], m.capacity, value.data(), value.dims(), value.dims(), element_bytes(value.dtype()));
  }
  m.dims = value.dims();
  return {};
}

Result<Session::EntryState*> Session::entry_state(uint32_t index) {
  if (entries_[index]) return entries_[index].get();
  auto s = std::make_unique<EntryState>();
  uint32_t rooms = 0;
  const PlanEntry& e = program_.entries[index];
  const SymbolTable& symbols = program_.symbols;
  s->index = index;
  s->entry = &e;
  s->values.resize(symbols.size());
  s->known.resize(symbols.size());
  s->giver.assign(symbols.size(), -1);
  auto bounded = [&](const Shape& shape) {
    return std::any_of(shape.begin(), shape.end(), [&](const Dim& d) { return is_bounded(symbols, d); });
  };
  for (uint32_t i = 0; i < e.args.size(); ++i) {
    if (e.args[i].state < 0) s->inputs.push_back(i);
    s->arg_capacity.emplace_back(e.args[i].shape.size());
    s->bounded_arg.push_back(bounded(e.args[i].shape));
  }
  for (uint32_t i = 0; i < e.results.size(); ++i) {
    if (e.results[i].state < 0) s->outputs.push_back(i);
    s->result_capacity.emplace_back(e.results[i].shape.size());
    s->result_dims.emplace_back(e.results[i].shape.size());
    s->bounded_result.push_back(bounded(e.results[i].shape));
  }
  s->arg_stage.resize(e.args.size());
  s->result_stage.resize(e.results.size());
  s->placed.resize(e.results.size());
  NNC_ASSIGN(s->facts, entry_facts(program_, e));
  const size_t segments = s->facts.segments.size();
  for (const PlanBuffer& b : e.buffers) {
    s->room_of.push_back(b.is_room() ? rooms : UINT32_MAX);
    rooms += b.is_room();
  }
  if (rooms_.size() < rooms) rooms_.resize(rooms);
  s->bases.args = static_cast<uint32_t>(segments);
  s->bases.results = s->bases.args + static_cast<uint32_t>(e.args.size());
  s->bases.at.resize(segments + e.args.size() + e.results.size());
  s->bases.bytes.resize(s->bases.at.size());
  s->places.resize(e.buffers.size());
  s->bound.resize(segments);
  s->active.resize(segments);
  s->key.reserve(symbols.size());
  s->bound_values.reserve(symbols.size());
  entries_[index] = std::move(s);
  return entries_[index].get();
}

Status Session::bind_arg(EntryState& s, size_t arg, DType dtype, std::span<const int64_t> dims) {
  const PlanArg& a = s.entry->args[arg];
  const SymbolTable& symbols = program_.symbols;
  auto wrong = [&](std::string_view what) {
    return Error(Code::kBadInput, cat(a.state >= 0 ? "state \"" : "input \"", a.name, "\": ", dtype_name(dtype), shape_text(dims),
                                      " given, ", type_text(symbols, a), " expected", what));
  };
  if (dtype != a.dtype || dims.size() != a.shape.size()) return wrong("");
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const Dim& d = a.shape[axis];
    if (dims[axis] < 0) return wrong(cat("; axis ", axis, " is negative"));
    if (d.is_const()) {
      if (d.constant() != dims[axis]) return wrong(cat("; axis ", axis, " must be ", d.constant()));
      continue;
    }
    const Unknown u = find_unknown(d, s.known);
    if (!u.symbol.valid() || !u.solvable) continue;  // compared when all inputs are read
    if (symbols[u.symbol].kind != SymKind::kInput) continue;
    s.values[u.symbol.index()] = 0;
    NNC_ASSIGN(const int64_t rest, symbols.eval(d, s.values));
    if (u.coeff == 0 || (dims[axis] - rest) % u.coeff != 0) return wrong(cat("; axis ", axis, " must be ", symbols.pretty(d)));
    s.values[u.symbol.index()] = (dims[axis] - rest) / u.coeff;
    s.known[u.symbol.index()] = 1;
    s.giver[u.symbol.index()] = static_cast<int32_t>(arg);
  }
  return {};
}

Status Session::check_symbols(EntryState& s) {
  const SymbolTable& symbols = program_.symbols;
  for (size_t i = 0; i < s.known.size(); ++i) {
    const Symbol& sym = symbols[SymbolId(i)];
    if (!s.known[i] || sym.kind != SymKind::kInput) continue;
    auto giver = [&] {
      return s.giver[i] >= 0 ? cat(" (input \"", s.entry->args[static_cast<size_t>(s.giver[i])].name, "\")") : std::string();
    };
    if (s.values[i] < sym.lo || s.values[i] > sym.hi)
      return Error(Code::kBadInput, cat("dim ", symbol_name(symbols, SymbolId(i)), " is ", s.values[i], giver(),
                                        ", the program was made for ", sym.lo, " to ", sym.hi))
          .with("  try: --dim NAME=LO..HI when compiling");
    if (sym.divisor > 1 && s.values[i] % sym.divisor != 0)
      return Error(Code::kBadInput, cat("dim ", symbol_name(symbols, SymbolId(i)), " is ", s.values[i], giver(), ", a multiple of ",
                                        sym.divisor, " is expected"));
  }
  return symbols.derive(s.values, s.known);
}

Status Session::bind_inputs(EntryState& s, std::span<const InputView> inputs) {
  const PlanEntry& e = *s.entry;
  if (inputs.size() != s.inputs.size())
    return Error(Code::kBadInput,
                 cat("entry \"", e.name, "\" takes ", s.inputs.size(), " inputs (",
                     join(s.inputs, ", ", [&](uint32_t i) { return cat(e.args[i].name, ": ", type_text(program_.symbols, e.args[i])); }),
                     "), ", inputs.size(), " given"));
  s.input_dims.clear();
  size_t next = 0;
  auto dims_of = [&](size_t arg) {
    return e.args[arg].state >= 0 ? std::span<const int64_t>(states_[static_cast<size_t>(e.args[arg].state)].dims) : inputs[next].dims;
  };
  for (size_t arg = 0; arg < e.args.size(); ++arg) {
    const std::span<const int64_t> dims = dims_of(arg);
    s.input_dims.push_back(static_cast<int64_t>(dims.size()));
    s.input_dims.insert(s.input_dims.end(), dims.begin(), dims.end());
    s.input_dims.push_back(e.args[arg].state >= 0 ? -1 : static_cast<int64_t>(inputs[next++].dtype));
  }
  if (s.seen && s.input_dims == s.seen_dims) {
    s.values = s.input_values;
    s.known = s.input_known;
    return {};
  }
  s.seen = false;
  std::fill(s.known.begin(), s.known.end(), 0);
  // An extent such as 2 * s + t gives its last unknown symbol; so arguments are read until nothing new is found.
  for (size_t before = SIZE_MAX, now = 0; before != now;) {
    before = now;
    next = 0;
    for (size_t arg = 0; arg < e.args.size(); ++arg) {
      const std::span<const int64_t> dims = dims_of(arg);
      NNC_TRY(bind_arg(s, arg, e.args[arg].state >= 0 ? e.args[arg].dtype : inputs[next].dtype, dims));
      if (e.args[arg].state < 0) ++next;
    }
    now = static_cast<size_t>(std::count(s.known.begin(), s.known.end(), 1));
  }
  NNC_TRY(check_symbols(s));
  next = 0;
  for (size_t arg = 0; arg < e.args.size(); ++arg) {
    const std::span<const int64_t> dims = dims_of(arg);
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const Dim& d = e.args[arg].shape[axis];
      if (find_unknown(d, s.known).symbol.valid())
        return Error(Code::kNeedDims,
                     cat("the inputs do not give the extent ", program_.symbols.pretty(d), " of \"", e.args[arg].name, "\""));
      NNC_ASSIGN(const int64_t wanted, program_.symbols.eval(d, s.values));
      if (wanted == dims[axis]) continue;
      Error error(Code::kBadInput, cat("input \"", e.args[arg].name, "\" axis ", axis, ": ", dims[axis], " given, ",
                                       program_.symbols.pretty(d), " = ", wanted, " expected"));
      const auto symbol = d.as_symbol();
      if (symbol && s.giver[symbol->index()] >= 0)
        return std::move(error).with(cat("  ", symbol_name(program_.symbols, *symbol), " = ", wanted, " comes from input \"",
                                         e.args[static_cast<size_t>(s.giver[symbol->index()])].name, "\""));
      return error;
    }
    if (e.args[arg].state < 0) ++next;
  }
  s.seen_dims = s.input_dims;
  s.input_values = s.values;
  s.input_known = s.known;
  return {};
}

// Top-level assertions that the inputs' extents decide: they choose between variants.
Status Session::check_guards(EntryState& s) {
  for (const Step& step : s.entry->segments[0].steps)
    if (step.kind == StepKind::kAssertDims && !find_unknown(step.dims[0], s.known).symbol.valid() &&
        !find_unknown(step.dims[1], s.known).symbol.valid())
      NNC_TRY(assert_dims(s, step));
  return {};
}

Result<Session::EntryState*> Session::choose_variant(std::string_view entry, std::span<const InputView> inputs) {
  NNC_ASSIGN(const std::span<const uint32_t> variants, executable_->variants(entry));
  std::optional<Error> first;
  for (uint32_t v : variants) {
    NNC_ASSIGN(EntryState* const state, entry_state(v));
    EntryState& s = *state;
    Status status = bind_inputs(s, inputs);
    if (status.ok() && (variants.size() == 1 || ((s.seen || (status = check_guards(s)).ok()) && (status = check_values(s, inputs)).ok()))) {
      s.seen = true;
      return &s;
    }
    if (!first) first = std::move(status).error();
  }
  if (variants.size() > 1)
    first->context.push_back(
        cat("  none of the ", variants.size(), " profiles of \"", entry, "\" fits; the above is why the first does not"));
  return std::move(*first);
}

Status Session::stage_inputs(EntryState& s, std::span<const InputView> inputs) {
  const PlanEntry& e = *s.entry;
  size_t next = 0;
  for (size_t arg = 0; arg < e.args.size(); ++arg) {
    void*& base = s.bases.at[s.bases.args + arg];
    int64_t& room = s.bases.bytes[s.bases.args + arg];
    if (e.args[arg].state >= 0) {
      base = state_data_[static_cast<size_t>(e.args[arg].state)];
      room = state_bytes_[static_cast<size_t>(e.args[arg].state)];
      continue;
    }
    const InputView& in = inputs[next++];
    if (in.dtype == DType::kString)
      return Error(Code::kUnsupportedOp, cat("input \"", e.args[arg].name, "\" holds strings, which programs do not take yet"));
    NNC_ASSIGN(const int64_t bytes, byte_size(in.dims, dtype_bits(in.dtype)));
    if (in.bytes < bytes)
      return Error(Code::kBadInput, cat("input \"", e.args[arg].name, "\" has ", in.bytes, " bytes, ", bytes, " expected"));
    std::vector<int64_t>& capacity = s.arg_capacity[arg];
    for (size_t a = 0; a < capacity.size(); ++a) {
      NNC_ASSIGN(capacity[a], eval_capacity(program_.symbols, e.args[arg].shape[a], s.values));
    }
    NNC_ASSIGN(room, byte_size(capacity, dtype_bits(in.dtype)));
    const bool same = std::equal(capacity.begin(), capacity.end(), in.dims.begin());
    const bool aligned =
        reinterpret_cast<uintptr_t>(in.data) % static_cast<uintptr_t>(element_bytes(in.dtype)) == 0 && (in.data || bytes == 0);
    if (same && aligned) {
      base = const_cast<void*>(in.data);
      continue;
    }
    Bytes& stage = s.arg_stage[arg];
    if (static_cast<int64_t>(stage.size()) < room + 64) {
      stage.resize(static_cast<size_t>(room) + 64);
      ++stats_.allocations;
    }
    base = stage.data() + (-reinterpret_cast<uintptr_t>(stage.data()) & 63);
    if (same) {
      if (bytes > 0) std::memcpy(base, in.data, static_cast<size_t>(bytes));
    } else if (dtype_bits(in.dtype) < 8) {
      return Error(Code::kUnsupportedOp, cat("input \"", e.args[arg].name, "\": a bounded extent of packed ", dtype_name(in.dtype)));
    } else {
      copy_extents(base, capacity, in.data, in.dims, in.dims, element_bytes(in.dtype));
    }
  }
  return {};
}

Status Session::place_results(EntryState& s, Outputs& outputs) {
  const PlanEntry& e = *s.entry;
  for (size_t o = 0; o < s.outputs.size(); ++o) {
    const size_t r = s.outputs[o];
    if (s.placed[r]) continue;
    const PlanArg& result = e.results[r];
    if (std::any_of(result.shape.begin(), result.shape.end(), [&](const Dim& d) { return find_unknown(d, s.known).symbol.valid(); })) {
      // A bounded extent is laid out before its value is known.
      bool layout = std::all_of(result.shape.begin(), result.shape.end(),
                                [&](const Dim& d) { return is_bounded(program_.symbols, d) || !find_unknown(d, s.known).symbol.valid(); });
      if (!layout) continue;
    }
    std::vector<int64_t>&capacity = s.result_capacity[r], &dims = s.result_dims[r];
    bool open = false;
    for (size_t a = 0; a < dims.size(); ++a) {
      NNC_ASSIGN(capacity[a], eval_capacity(program_.symbols, result.shape[a], s.values));
      open = open || find_unknown(result.shape[a], s.known).symbol.valid();
      dims[a] = -1;
      if (!open) { NNC_ASSIGN(dims[a], program_.symbols.eval(result.shape[a], s.values)); }
    }
    void*& base = s.bases.at[s.bases.results + r];
    int64_t& room = s.bases.bytes[s.bases.results + r];
    NNC_ASSIGN(room, byte_size(capacity, dtype_bits(result.dtype)));
    if (room > options_.max_bytes)
      return Error(Code::kLimit,
                   cat("output \"", result.name, "\" of ", human_bytes(static_cast<uint64_t>(room)), " passes the limit of memory"));
    s.placed[r] = 1;
    if (!open && capacity == dims) {
      NNC_ASSIGN(base, outputs.place(o, result.dtype, dims, room));
      continue;
    }
    Bytes& stage = s.result_stage[r];
    if (static_cast<int64_t>(stage.size()) < room + 64) {
      stage.resize(static_cast<size_t>(room) + 64);
      ++stats_.allocations;
    }
    base = stage.data() + (-reinterpret_cast<uintptr_t>(stage.data()) & 63);
    s.placed[r] = 2;
  }
  return {};
}

Status Session::deliver_results(EntryState& s, Outputs& outputs) {
  const PlanEntry& e = *s.entry;
  for (size_t o = 0; o < s.outputs.size(); ++o) {
    const size_t r = s.outputs[o];
    if (!s.placed[r]) return Error(Code::kInternal, cat("output \"", e.results[r].name, "\" has an extent that nothing bound"));
    if (s.placed[r] != 2) continue;
    std::vector<int64_t>& dims = s.result_dims[r];
    for (size_t a = 0; a < dims.size(); ++a) { NNC_ASSIGN(dims[a], program_.symbols.eval(e.results[r].shape[a], s.values)); }
    NNC_ASSIGN(const int64_t bytes, byte_size(dims, dtype_bits(e.results[r].dtype)));
    NNC_ASSIGN(void* to, outputs.place(o, e.results[r].dtype, dims, bytes));
    copy_extents(to, dims, s.bases.at[s.bases.results + r], s.result_capacity[r], dims, element_bytes(e.results[r].dtype));
  }
  // A state has from now on the extents of what replaced it.
  for (const PlanArg& r : e.results) {
    if (r.state < 0) continue;
    StateMemory& m = states_[static_cast<size_t>(r.state)];
    for (size_t a = 0; a < r.shape.size(); ++a) { NNC_ASSIGN(m.dims[a], program_.symbols.eval(r.shape[a], s.values)); }
  }
  return {};
}

// What is known is what the plan says, whatever a region bound that ended; derived symbols follow the others' values of now.
Status Session::enter(EntryState& s, const std::vector<uint8_t>& known) {
  for (size_t i = 0; i < known.size(); ++i) s.known[i] = known[i] && program_.symbols[SymbolId(i)].kind != SymKind::kDerived;
  return program_.symbols.derive(s.values, s.known);
}

Status Session::size_room(uint32_t number, int64_t bytes, int64_t kept, bool grows) {
  Room& room = rooms_[number];
  if (room.memory.bytes() >= bytes && room.memory.data()) return {};
  const int64_t old = room.memory.bytes(), limit = options_.max_bytes - stats_.arena_bytes;
  if (bytes > limit)
    return Error(Code::kLimit, cat("a value that grows would need ", human_bytes(static_cast<uint64_t>(bytes)), ", the limit is ",
                                   human_bytes(static_cast<uint64_t>(options_.max_bytes))));
  if (grows) bytes = std::max(bytes, std::min(2 * old, limit));
  NNC_ASSIGN(DeviceBuffer memory, DeviceBuffer::create(executable_->device(), std::max<int64_t>(bytes, 64)));
  NNC_TRY(device_.copy(memory.data(), room.memory.data(), kept));
  ++stats_.allocations;
  stats_.arena_bytes += memory.bytes() - old;
  room.memory = std::move(memory);
  return {};
}

Status Session::ensure_block(uint32_t segment, int64_t bytes, bool grows) {
  if (segment >= blocks_.size()) blocks_.resize(segment + 1);
  DeviceBuffer& block = blocks_[segment];
  if (block.bytes() >= bytes && block.data()) return {};
  const int64_t old = block.bytes();
  stats_.arena_bytes -= block.bytes();
  block = DeviceBuffer();
  if (bytes > options_.max_bytes - stats_.arena_bytes)
    return Error(Code::kLimit, cat("the arena would need ", human_bytes(static_cast<uint64_t>(bytes)), ", the limit is ",
                                   human_bytes(static_cast<uint64_t>(options_.max_bytes))));
  if (grows) bytes = std::max(bytes, std::min(2 * old, options_.max_bytes - stats_.arena_bytes));
  NNC_ASSIGN(block, DeviceBuffer::create(executable_->device(), std::max<int64_t>(bytes, 64)));
  ++stats_.allocations;
  stats_.arena_bytes += block.bytes();
  return {};
}

Result<BoundSegment*> Session::activate(EntryState& s, uint32_t segment) {
  const SymbolTable& symbols = program_.symbols;
  s.key.clear();
  for (size_t i = 0; i < s.known.size(); ++i) {
    const Symbol& sym = symbols[SymbolId(i)];
    if (s.known[i] && sym.kind != SymKind::kDerived && sym.binding == Binding::kExact) s.key.push_back(s.values[i]);
  }
  if (mutant("binding_key_lacks_a_symbol") && !s.key.empty()) s.key.pop_back();
  BoundSegment* found = nullptr;
  auto& list = s.bound[segment];
  for (const auto& b : list)
    if (b->key == s.key) found = b.get();
  if (!found) {
    BindContext c{*executable_, *s.entry, s.values, s.known,   state_data_,
                  state_bytes_, s.places, s.bases,  s.room_of, *s.facts.segments[segment].steps};
    NNC_ASSIGN(std::unique_ptr<BoundSegment> fresh, bind_segment(c, segment));
    fresh->key = s.key;
    found = fresh.get();
    ++stats_.bindings;
    ++stats_.allocations;
    if (list.size() >= std::max<size_t>(1, options_.bindings))
      list.erase(std::min_element(list.begin(), list.end(), [](const auto& a, const auto& b) { return a->last_use < b->last_use; }));
    list.push_back(std::move(fresh));
  } else {
    if (s.bound.size() > 1)
      for (const auto& [buffer, place] : found->places) s.places[buffer] = place;
    NNC_TRY(refresh_bounded(*found, *executable_, *s.entry, s.values, s.known));
  }
  found->last_use = ++clock_;
  s.active[segment] = found;
  // A segment of a region is reached again and again, for extents that often grow.
  NNC_TRY(ensure_block(segment, found->arena_bytes, segment >= s.entry->segments.size()));
  s.bases.at[segment] = blocks_[segment].data();
  apply_bases(*found, s.bases);
  for (RoomUse& u : found->rooms) u.ready = !u.made_here;
  NNC_TRY(follow_rooms(*found));
  return found;
}

Session::Memory Session::memory(std::string_view entry) const {
  Memory m;
  for (const auto& s : entries_) {
    if (!s || s->entry->name != entry) continue;
    Memory sum;
    for (const BoundSegment* b : s->active)
      if (b) {
        sum.peak += b->arena_bytes;
        sum.lower_bound += b->lower_bound;
      }
    if (sum.peak >= m.peak) m = sum;
  }
  return m;
}

}  // namespace nnc

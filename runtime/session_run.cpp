// The walk over a bound segment's instructions. No lookups, no allocation, no shape work.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/base/plan_capacity.h"
#include "ir/support/text.h"
#include "runtime/session.h"
#include "runtime/session_state.h"
#include "runtime/strided.h"

namespace nnc {

namespace {

bool holds(Rel rel, int64_t a, int64_t b) { return rel == Rel::kEq ? a == b : rel == Rel::kNe ? a != b : rel == Rel::kLe ? a <= b : a < b; }

bool same_element(DType t, const void* a, const void* b, int64_t i) {
  if (is_complex(t)) {
    const DType part = t == DType::kC64 ? DType::kF32 : DType::kF64;
    return load_f64(part, a, 2 * i) == load_f64(part, b, 2 * i) && load_f64(part, a, 2 * i + 1) == load_f64(part, b, 2 * i + 1);
  }
  if (!is_float(t)) return load_i64(t, a, i) == load_i64(t, b, i);
  const double x = load_f64(t, a, i), y = load_f64(t, b, i);
  return x == y || (std::isnan(x) && std::isnan(y));
}

}  // namespace

Error Session::at_step(Error e, const Step& step) const { return std::move(e).at(place_of(program_, step.locs)); }

namespace {

// What an operand is, for messages and for reading it.
struct OperandFacts {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;  // as laid out in memory
  std::string name;           // of an argument or state
};
OperandFacts facts_of(const Program& p, const PlanEntry& e, const PlanOperand& o, std::span<const int64_t> values) {
  OperandFacts f;
  f.dtype = dtype_of(p, e, o);
  const Shape* shape = nullptr;
  switch (o.space) {
    case PlanOperand::kBuffer: shape = &e.buffers[o.index].shape; break;
    case PlanOperand::kArg: shape = &e.args[o.index].shape, f.name = cat("input \"", e.args[o.index].name, "\""); break;
    case PlanOperand::kResult: shape = &e.results[o.index].shape; break;
    case PlanOperand::kState: shape = &p.states[o.index].shape, f.name = cat("state \"", p.states[o.index].name, "\""); break;
    case PlanOperand::kConstant: f.dims = p.constants[o.index].dims; break;
    default: break;
  }
  for (size_t a = 0; shape && a < shape->size(); ++a) {
    const auto d = eval_capacity(p.symbols, (*shape)[a], values);
    f.dims.push_back(d.ok() ? *d : 0);
  }
  return f;
}

}  // namespace

// The element that held the index: ", element [7] of input "labels"". Kernels report the index alone; it is looked for in the integers that
// the launch reads, as it is and as counted from the end.
std::string Session::culprit(std::string_view what, const EntryState& s, const BoundSegment& b, const Instr& in) const {
  for (uint32_t p = 0; p < in.slot_count; ++p) {
    if (executable_->kernel(in.step->kernel).buffers[BufId(p)].access != Access::kRead) continue;
    const OperandFacts f = facts_of(program_, *s.entry, in.step->operands[p], s.values);
    if (!is_int(f.dtype) || dtype_bits(f.dtype) < 8) continue;
    const int64_t count = element_count(f.dims);
    if (count <= 0 || count > b.slot_bytes[in.slots + p] / (dtype_bits(f.dtype) / 8)) continue;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t v = load_i64(f.dtype, b.slots[in.slots + p], i);
      if (v != failure_.index && (v >= 0 || v + failure_.bound != failure_.index)) continue;
      std::vector<int64_t> at(f.dims.size());
      int64_t rest = i;
      for (size_t a = f.dims.size(); a-- > 0; rest /= f.dims[a]) at[a] = rest % f.dims[a];
      const std::string place = join(at, ", ", [](int64_t c) { return c; });
      // Labels may have been prepared for the kernel; `index` is the one that was given.
      if (what == "label") return cat(": that of sample [", place, "]");
      return cat(": element [", place, "] ", f.name.empty() ? "of the indices" : cat("of ", f.name), " is ", v);
    }
  }
  return {};
}

Status Session::check_failed(const EntryState& s, const BoundSegment& b, const Instr& in) const {
  const Kernel& k = executable_->kernel(in.step->kernel);
  const std::string what = failure_.site < k.sites.size() ? k.sites[failure_.site].what : "index";
  return at_step(
      Error(Code::kIndexOutOfRange, cat(what, " ", failure_.index, " is outside [0, ", failure_.bound, ")", culprit(what, s, b, in))),
      *in.step);
}

Status Session::interrupted() {
  if (cancelled_.load(std::memory_order_relaxed) && cancelled_.exchange(false)) return Error(Code::kLimit, "the run was cancelled");
  if (deadline_ns_ != 0 && steady_now_ns() > deadline_ns_)
    return Error(Code::kLimit, cat("the run passed its deadline of ", options_.deadline_ms, " ms"));
  return {};
}

Status Session::launch(const EntryState& s, BoundSegment& b, const Instr& in) {
  LaunchArgs args;
  args.buffers = b.slots.data() + in.slots;
  args.bytes = b.slot_bytes.data() + in.slots;
  args.buffer_count = in.slot_count;
  args.dims = b.dims.data() + in.dims;
  args.dim_count = in.dim_count;
  args.grid = in.grid;
  args.tasks = in.tasks;
  args.failure = &failure_;
  args.deadline_ns = deadline_ns_;
  if (auto status = device_.launch(*in.kernel, args); !status.ok())
    return at_step(std::move(status).error().with(cat("  kernel ", program_.kernels[in.step->kernel].name)), *in.step);
  if (failure_.set) [[unlikely]]
    return check_failed(s, b, in);
  return {};
}

Status Session::assert_dims(const EntryState& s, const Step& step) const {
  const SymbolTable& symbols = program_.symbols;
  NNC_ASSIGN(const int64_t a, symbols.eval(step.dims[0], s.values));
  NNC_ASSIGN(const int64_t b, symbols.eval(step.dims[1], s.values));
  if (holds(step.rel, a, b)) return {};
  const std::string_view rel = step.rel == Rel::kEq   ? "equal to "
                               : step.rel == Rel::kNe ? "different from "
                               : step.rel == Rel::kLe ? "at most "
                                                      : "less than ";
  return at_step(
      Error(Code::kAssertDims, cat(step.message.empty() ? "an assumption about dims does not hold" : step.message, ": ",
                                   symbols.pretty(step.dims[0]), " = ", a, " must be ", rel, symbols.pretty(step.dims[1]), " = ", b)),
      step);
}

Status Session::assert_value(const BoundSegment& b, const Instr& in) const {
  const PlanConstant& c = program_.constants[in.step->operands[1].index];
  const int64_t count = element_count(c.dims);
  for (int64_t i = 0; i < count; ++i)
    if (!same_element(c.dtype, b.slots[in.slots], b.slots[in.slots + 1], i))
      return at_step(Error(Code::kMismatch, cat(in.step->message.empty() ? "an assumption about a value does not hold" : in.step->message,
                                                ": element ", i, " differs from what was assumed")),
                     *in.step);
  return {};
}

// Top-level assertions on values of inputs: with those on dims they choose between variants, but values may differ from call to call.
Status Session::check_values(const EntryState& s, std::span<const InputView> inputs) const {
  for (const Step& step : s.entry->segments[0].steps) {
    if (step.kind != StepKind::kAssertValue || step.operands[0].space != PlanOperand::kArg ||
        step.operands[1].space != PlanOperand::kConstant)
      continue;
    const auto input = std::find(s.inputs.begin(), s.inputs.end(), step.operands[0].index);
    if (input == s.inputs.end()) continue;
    const InputView& given = inputs[static_cast<size_t>(input - s.inputs.begin())];
    const Tensor& expected = executable_->constant(step.operands[1].index);
    bool same = given.dtype == expected.dtype() && element_count(given.dims) == expected.count() &&
                given.bytes >= static_cast<int64_t>(expected.bytes());
    for (int64_t i = 0; same && i < expected.count(); ++i) same = same_element(given.dtype, given.data, expected.data(), i);
    if (!same)
      return at_step(Error(Code::kMismatch, step.message.empty() ? "an assumption about a value does not hold" : step.message), step);
  }
  return {};
}

Status Session::bind_symbol(EntryState& s, SymbolId id, int64_t value) {
  const Symbol& sym = program_.symbols[id];
  if (value < sym.lo || value > sym.hi || (sym.divisor > 1 && value % sym.divisor != 0))
    return Error(Code::kAssertDims, cat("the extent ", program_.symbols.pretty(Dim(id)), " became ", value, ", expected ", sym.lo, " to ",
                                        sym.hi, sym.divisor > 1 ? cat(", a multiple of ", sym.divisor) : ""));
  s.values[id.index()] = value;
  s.known[id.index()] = 1;
  return {};
}

Status Session::bind_symbols(EntryState& s, BoundSegment& b, const Instr& in) {
  const Step& step = *in.step;
  if (step.operands.empty()) {
    s.bound_values.clear();
    for (const Dim& d : step.dims) {
      NNC_ASSIGN(const int64_t v, program_.symbols.eval(d, s.values));
      s.bound_values.push_back(v);
    }
    for (size_t i = 0; i < step.symbols.size(); ++i) NNC_TRY(bind_symbol(s, step.symbols[i], s.bound_values[i]));
    return {};
  }
  const DType t = dtype_of(program_, *s.entry, in.step->operands[0]);
  for (size_t i = 0; i < in.step->symbols.size(); ++i)
    NNC_TRY(bind_symbol(s, in.step->symbols[i], load_i64(t, b.slots[in.slots], static_cast<int64_t>(i))));
  return {};
}

// Rooms move when they grow and when a loop exchanges them.
Status Session::follow_rooms(BoundSegment& b) {
  for (const RoomUse& u : b.rooms) {
    if (!u.ready) continue;
    const DeviceBuffer& memory = rooms_[u.room].memory;
    if (u.bytes > memory.bytes()) return Error(Code::kInvalidIr, cat("a room of ", memory.bytes(), " bytes where ", u.bytes, " are used"));
    for (uint32_t slot : u.slots) b.slots[slot] = memory.data();
  }
  return {};
}

Status Session::append(BoundSegment& b, const Instr& in) {
  Room& room = rooms_[in.aux];
  const std::span<const int64_t> extents(b.dims.data() + in.dims, in.dim_count);
  if (room.extents.empty()) room.extents.assign(extents.begin(), extents.end());
  if (!std::equal(extents.begin(), extents.end(), room.extents.begin(), room.extents.end()))
    return Error(Code::kBadInput, "a stacked value changes its extents between iterations");
  if (in.bytes > INT64_MAX / 4 - room.used) return Error(Code::kLimit, "a stacked value is too large");
  NNC_TRY(size_room(in.aux, room.used + in.bytes, room.used, true));
  NNC_TRY(device_.copy(static_cast<char*>(room.memory.data()) + room.used, b.slots[in.slots], in.bytes));
  room.used += in.bytes;
  return follow_rooms(b);
}

Status Session::run_segment(EntryState& s, BoundSegment& b, const Instr& in) {
  NNC_TRY(interrupted());
  NNC_TRY(enter(s, s.facts.segments[in.step->segment].known));
  NNC_ASSIGN(BoundSegment* const inner, activate(s, in.step->segment));
  NNC_TRY(execute(s, *inner, 0, static_cast<uint32_t>(inner->code.size())));
  return follow_rooms(b);
}

Status Session::run_host(EntryState& s, BoundSegment& b, const Instr& in) {
  HostCode& h = b.hosts[in.aux];
  for (size_t i = 0; i < h.inputs.size(); ++i) {
    h.inputs[i].data = b.slots[in.slots + i];
    if (h.dense[i].empty() || h.shapes[i] == h.capacities[i]) continue;
    copy_extents(h.dense[i].data(), h.shapes[i], h.inputs[i].data, h.capacities[i], h.shapes[i],
                 std::max(1, dtype_bits(h.inputs[i].dtype) / 8));
    h.inputs[i].data = h.dense[i].data();
  }
  h.result.data = b.slots[in.slots + h.inputs.size()];
  HostCall call;
  call.inputs = h.inputs;
  call.result = h.result;
  call.ints = in.step->ints;
  call.dims = h.dims;
  call.capacity = h.row;
  call.symbols = h.counts;
  NNC_TRY(h.fn->run(call));
  for (size_t i = 0; i < in.step->symbols.size(); ++i) NNC_TRY(bind_symbol(s, in.step->symbols[i], h.counts[i]));
  return {};
}

// Slots: trip, condition, iteration counter, flag; then what the carries and stacked values name.
Status Session::loop_rounds(EntryState& s, BoundSegment& b, const Instr& in, uint32_t at) {
  LoopCode& loop = b.loops[in.aux];
  const Step& step = *in.step;
  int64_t trips = INT64_MAX;
  if (step.operands[0].space != PlanOperand::kNone) NNC_TRY(device_.copy(&trips, b.slots[in.slots], 8));
  uint8_t flag = 1;
  if (step.operands[1].space != PlanOperand::kNone) NNC_TRY(device_.copy(&flag, b.slots[in.slots + 1], 1));
  for (const CarryCode& c : loop.carries)
    if (!c.rooms && b.slots[c.init] != b.slots[c.current]) NNC_TRY(device_.copy(b.slots[c.current], b.slots[c.init], c.bytes));
  const bool has_flag = step.operands[3].space != PlanOperand::kNone;
  if (has_flag) NNC_TRY(device_.copy(b.slots[in.slots + 3], &flag, 1));
  int64_t i = 0;
  for (; i < trips && flag; ++i) {
    if (i >= step.max_trips) return Error(Code::kLimit, cat("a loop made ", i, " iterations, which is its limit"));
    NNC_TRY(interrupted());
    if (step.operands[2].space != PlanOperand::kNone) NNC_TRY(device_.copy(b.slots[in.slots + 2], &i, 8));
    NNC_TRY(execute(s, b, at + 1, in.end));
    if (has_flag) {
      NNC_TRY(device_.copy(&flag, b.slots[in.slots + 3], 1));
      ++stats_.waits;
    }
    for (const ScanCode& c : loop.scans) {
      if (c.bytes > 0 && i >= c.room / c.bytes)
        return Error(Code::kLimit, cat("iteration ", i, " of a loop has no room in its stacked output of ", c.room / c.bytes));
      NNC_TRY(device_.copy(static_cast<char*>(b.slots[c.stacked]) + i * c.bytes, b.slots[c.element], c.bytes));
    }
    for (CarryCode& c : loop.carries) {
      if (c.rooms) {
        // What was given out for either size must be found in both: a carried value may shrink.
        const int64_t now = rooms_[c.current].memory.bytes(), then = rooms_[c.next].memory.bytes();
        NNC_TRY(size_room(c.next, now, then, false));
        if (c.current != c.next) std::swap(rooms_[c.current], rooms_[c.next]);
        continue;
      }
      if (b.slots[c.current] == b.slots[c.next]) continue;
      std::swap(b.slots[c.current], b.slots[c.next]);
      for (uint32_t u : c.current_uses) b.slots[u] = b.slots[c.current];
      for (uint32_t u : c.next_uses) b.slots[u] = b.slots[c.next];
    }
    NNC_TRY(follow_rooms(b));
  }
  // Either room of a pair may be first in the next run.
  for (const CarryCode& c : loop.carries) {
    if (!c.rooms) continue;
    const int64_t current = rooms_[c.current].memory.bytes(), next = rooms_[c.next].memory.bytes();
    NNC_TRY(size_room(c.next, current, 0, false));
    NNC_TRY(size_room(c.current, next, current, false));
  }
  NNC_TRY(follow_rooms(b));
  return step.trip_symbol.valid() ? bind_symbol(s, step.trip_symbol, i) : Status();
}

Status Session::run_loop(EntryState& s, BoundSegment& b, const Instr& in, uint32_t at) {
  LoopCode& loop = b.loops[in.aux];
  std::vector<void*>& home = loop.home;
  for (size_t c = 0; c < loop.carries.size(); ++c) {
    if (loop.carries[c].rooms) continue;
    home[2 * c] = b.slots[loop.carries[c].current];
    home[2 * c + 1] = b.slots[loop.carries[c].next];
  }
  Status status = loop_rounds(s, b, in, at);
  // Steps after the loop know its results by their places before it.
  for (size_t k = 0; k < loop.carries.size(); ++k) {
    CarryCode& c = loop.carries[k];
    if (c.rooms) continue;
    if (b.slots[c.current] == home[2 * k]) continue;
    if (status.ok()) status = device_.copy(home[2 * k], b.slots[c.current], c.bytes);
    b.slots[c.current] = home[2 * k];
    b.slots[c.next] = home[2 * k + 1];
    for (uint32_t u : c.current_uses) b.slots[u] = b.slots[c.current];
    for (uint32_t u : c.next_uses) b.slots[u] = b.slots[c.next];
  }
  return status;
}

void Session::took(const Step& step, int64_t since) {
  if (step.kind == StepKind::kIf || step.kind == StepKind::kLoop || step.kind == StepKind::kSwitch || step.kind == StepKind::kSegment)
    return;
  StepTime& t = step_times_[&step];
  t.step = &step;
  ++t.calls;
  t.nanoseconds += steady_now_ns() - since;
}

std::vector<Session::StepTime> Session::step_times() const {
  std::vector<StepTime> out;
  for (const auto& [step, time] : step_times_) out.push_back(time);
  std::ranges::stable_sort(out, {}, [](const StepTime& t) { return t.step->number; });
  return out;
}

Status Session::execute(EntryState& s, BoundSegment& b, uint32_t begin, uint32_t end) {
  for (uint32_t at = begin; at < end;) {
    const Instr& in = b.code[at];
    if (deadline_ns_ != 0) NNC_TRY(interrupted());
    const int64_t since = timing_ ? steady_now_ns() : 0;
    Status status;
    switch (in.kind) {
      case StepKind::kLaunch: status = launch(s, b, in); break;
      case StepKind::kCopy: status = device_.copy(b.slots[in.slots + 1], b.slots[in.slots], in.bytes); break;
      case StepKind::kFill: status = device_.fill(b.slots[in.slots], 0, in.bytes); break;
      case StepKind::kHost: status = run_host(s, b, in); break;
      case StepKind::kBind: status = bind_symbols(s, b, in); break;
      case StepKind::kAssertDims: status = assert_dims(s, *in.step); break;
      case StepKind::kAssertValue: status = assert_value(b, in); break;
      case StepKind::kIf: {
        uint8_t flag = 0;
        status = device_.copy(&flag, b.slots[in.slots], 1);
        ++stats_.waits;
        if (status.ok()) status = flag ? execute(s, b, at + 1, in.orelse) : execute(s, b, in.orelse, in.end);
        break;
      }
      case StepKind::kLoop: status = run_loop(s, b, in, at); break;
      case StepKind::kSwitch:
        for (size_t i = 0; i < in.alternatives.size(); ++i) {
          if (in.alternatives[i].first == UINT32_MAX) continue;
          bool taken = true;
          for (const Predicate::Clause& c : in.step->alternatives[i].when.clauses) {
            NNC_ASSIGN(const int64_t x, program_.symbols.eval(c.a, s.values));
            NNC_ASSIGN(const int64_t y, program_.symbols.eval(c.b, s.values));
            taken = taken && holds(c.rel, x, y);
          }
          if (!taken) continue;
          status = execute(s, b, in.alternatives[i].first, in.alternatives[i].second);
          break;
        }
        break;
      case StepKind::kFail:
        status = Error(Code::kAssertDims,
                       in.step->message.empty() ? "the model reached a branch that has no meaning for these inputs" : in.step->message);
        break;
      case StepKind::kSegment: status = run_segment(s, b, in); break;
      case StepKind::kRoom:
        rooms_[in.aux].used = 0;
        rooms_[in.aux].extents.clear();
        status = size_room(in.aux, in.bytes, 0, true);
        for (RoomUse& u : b.rooms) u.ready = u.ready || u.room == in.aux;
        if (status.ok()) status = follow_rooms(b);
        break;
      case StepKind::kAppend: status = append(b, in); break;
      case StepKind::kLibrary: status = Error(Code::kInternal, "a library step was bound"); break;
    }
    if (!status.ok()) [[unlikely]]
      return at_step(std::move(status).error(), *in.step);
    if (timing_) [[unlikely]]
      took(*in.step, since);
    at = in.end;
  }
  return {};
}

Status Session::run_entry(EntryState& s, std::span<const InputView> inputs, Outputs& outputs) {
  NNC_TRY(outputs.count(s.outputs.size()));
  NNC_TRY(stage_inputs(s, inputs));
  std::fill(s.placed.begin(), s.placed.end(), 0);
  failure_ = {};
  deadline_ns_ = options_.deadline_ms > 0 ? steady_now_ns() + options_.deadline_ms * 1'000'000 : 0;
  for (uint32_t segment = 0; segment < s.entry->segments.size(); ++segment) {
    NNC_TRY(interrupted());
    if (segment > 0) NNC_TRY(enter(s, s.facts.segments[segment].known));
    NNC_TRY(place_results(s, outputs));
    NNC_ASSIGN(BoundSegment * b, activate(s, segment));
    NNC_TRY(execute(s, *b, 0, static_cast<uint32_t>(b->code.size())));
  }
  if (s.facts.segments.size() > 1) NNC_TRY(enter(s, s.facts.known));
  NNC_TRY(place_results(s, outputs));
  return deliver_results(s, outputs);
}

class Session::TensorOutputs final : public Session::Outputs {
 public:
  Status count(size_t outputs) override {
    tensors.resize(outputs);
    return {};
  }
  Result<void*> place(size_t i, DType dtype, std::span<const int64_t> dims, int64_t) override {
    NNC_ASSIGN(tensors[i], Tensor::create(dtype, {dims.begin(), dims.end()}));
    return tensors[i].data();
  }
  std::vector<Tensor> tensors;
};

class Session::ViewOutputs final : public Session::Outputs {
 public:
  ViewOutputs(std::span<OutputView> views, const PlanEntry& entry, std::span<const InputView> inputs)
      : views_(views), entry_(entry), inputs_(inputs) {}
  Status count(size_t outputs) override {
    if (views_.size() == outputs) return {};
    return Error(Code::kBadInput, cat("entry \"", entry_.name, "\" has ", outputs, " outputs, room for ", views_.size(), " was given"));
  }
  Result<void*> place(size_t i, DType dtype, std::span<const int64_t> dims, int64_t bytes) override {
    OutputView& v = views_[i];
    v.dtype = dtype;
    v.rank = static_cast<int>(dims.size());
    std::copy(dims.begin(), dims.end(), v.dims.begin());
    v.bytes = bytes;
    if (bytes > v.room || (!v.data && bytes > 0))
      return Error(Code::kBadInput, cat("output ", i, " needs ", bytes, " bytes, room for ", v.room, " was given"));
    if (reinterpret_cast<uintptr_t>(v.data) % static_cast<uintptr_t>(std::max(1, dtype_bits(dtype) / 8)) != 0)
      return Error(Code::kBadInput, cat("output ", i, ": its memory is not aligned to its elements"));
    const char* begin = static_cast<const char*>(v.data);
    for (const InputView& in : inputs_) {
      const char* other = static_cast<const char*>(in.data);
      if (begin < other + in.bytes && other < begin + bytes) return Error(Code::kBadInput, cat("output ", i, " overlaps an input"));
    }
    return v.data;
  }

 private:
  std::span<OutputView> views_;
  const PlanEntry& entry_;
  std::span<const InputView> inputs_;
};

Result<std::vector<Tensor>> Session::run(std::string_view entry, std::span<const Tensor> inputs) {
  std::vector<InputView> views;
  for (const Tensor& t : inputs) views.push_back({t.dtype(), t.dims(), t.data(), static_cast<int64_t>(t.bytes())});
  NNC_ASSIGN(EntryState * s, choose_variant(entry, views));
  TensorOutputs outputs;
  NNC_TRY(run_entry(*s, views, outputs));
  return std::move(outputs.tensors);
}

Status Session::run(std::string_view entry, std::span<const InputView> inputs, std::span<OutputView> outputs) {
  NNC_ASSIGN(EntryState * s, choose_variant(entry, inputs));
  ViewOutputs sink(outputs, *s->entry, inputs);
  return run_entry(*s, inputs, sink);
}

}  // namespace nnc

#include "runtime/binding.h"

#include <algorithm>

#include "ir/base/plan_capacity.h"
#include "ir/support/checked.h"
#include "ir/support/text.h"

namespace nnc {

DType dtype_of(const Program& p, const PlanEntry& e, const PlanOperand& o) {
  switch (o.space) {
    case PlanOperand::kBuffer: return e.buffers[o.index].dtype;
    case PlanOperand::kArg: return e.args[o.index].dtype;
    case PlanOperand::kResult: return e.results[o.index].dtype;
    case PlanOperand::kState: return p.states[o.index].dtype;
    case PlanOperand::kConstant: return p.constants[o.index].dtype;
    default: return DType::kInvalid;
  }
}

Place place_of(const Program& p, const std::vector<uint32_t>& locs) {
  Place place;
  for (uint32_t l : locs) {
    const SourceRef& s = p.sources[l];
    if (place.node.empty()) {
      place.node = s.node;
      place.op = s.op;
    } else if (locs.size() <= 4) {
      place.node += cat(", ", s.node);
    }
  }
  return place;
}

namespace {

bool all_known(const Dim& d, std::span<const uint8_t> known) {
  for (const Term& t : d.terms())
    for (uint32_t s : t.mono.s)
      if (s != 0 && !known[s - 1]) return false;
  return true;
}

// Evaluates a launch's dims, grid and extents; checks that every parameter's extent lies in its memory.
Status refresh_launch(BoundSegment& b, Instr& in, const Executable& e, std::span<const int64_t> values) {
  const SymbolTable& symbols = e.program().symbols;
  const Kernel& k = e.kernel(in.step->kernel);
  std::span<int64_t> dims(b.dims.data() + in.dims, in.dim_count);
  std::fill(b.known.begin(), b.known.end(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    const Symbol& s = k.symbols[SymbolId(i)];
    if (s.kind == SymKind::kDerived) continue;
    if (i >= in.step->dims.size())
      return Error(Code::kInvalidIr,
                   cat("kernel ", e.program().kernels[in.step->kernel].name, " has a symbol that its launch does not give"));
    NNC_ASSIGN(dims[i], symbols.eval(in.step->dims[i], values));
    if (dims[i] < s.lo || dims[i] > s.hi || (s.divisor > 1 && dims[i] % s.divisor != 0))
      return Error(Code::kInvalidIr, cat("kernel ", e.program().kernels[in.step->kernel].name, " was made for a dim in [", s.lo, ", ", s.hi,
                                         "], multiple of ", s.divisor, "; it is ", dims[i]));
    b.known[i] = 1;
  }
  NNC_TRY(k.symbols.derive(dims, std::span<uint8_t>(b.known.data(), dims.size())));
  CheckedSize tasks = 1;
  for (size_t a = 0; a < 3; ++a) {
    NNC_ASSIGN(in.grid[a], k.symbols.eval(k.grid[a], dims));
    tasks *= CheckedSize(in.grid[a]);
  }
  NNC_ASSIGN(in.tasks, tasks.value("tasks of a kernel"));
  if (in.tasks == 0) return {};
  for (uint32_t p = 0; p < k.param_count; ++p) {
    const KBuffer& buf = k.buffers[BufId(p)];
    NNC_ASSIGN(const int64_t extent, k.symbols.eval(buf.extent, dims));
    const CheckedSize bytes = CheckedSize(extent) * CheckedSize(std::max(1, dtype_bits(buf.elem) / 8));
    if (!fits(0, bytes, b.slot_bytes[in.slots + p]))
      return Error(Code::kInvalidIr, cat("kernel ", e.program().kernels[in.step->kernel].name, " wants ", extent, " elements of parameter ",
                                         buf.name, ", its operand has ", b.slot_bytes[in.slots + p], " bytes"));
  }
  return {};
}

// Of an operand that is no constant.
const Shape& shape_of(const Program& p, const PlanEntry& e, const PlanOperand& o) {
  static const Shape none;
  switch (o.space) {
    case PlanOperand::kBuffer: return e.buffers[o.index].shape;
    case PlanOperand::kArg: return e.args[o.index].shape;
    case PlanOperand::kResult: return e.results[o.index].shape;
    case PlanOperand::kState: return p.states[o.index].shape;
    default: return none;
  }
}
Status refresh_host(BoundSegment& b, const Instr& in, const Executable& e, const PlanEntry& entry, std::span<const int64_t> values,
                    std::span<const uint8_t> known) {
  const SymbolTable& symbols = e.program().symbols;
  const Step& s = *in.step;
  HostCode& h = b.hosts[in.aux];
  for (size_t i = 0; i < s.operands.size(); ++i) {
    if (s.operands[i].space == PlanOperand::kConstant) continue;  // never changes
    const Shape& shape = shape_of(e.program(), entry, s.operands[i]);
    for (size_t a = 0; a < shape.size(); ++a) {
      h.shapes[i][a] = -1;
      if (all_known(shape[a], known)) { NNC_ASSIGN(h.shapes[i][a], symbols.eval(shape[a], values)); }
    }
  }
  for (size_t d = 0; d < h.dims.size(); ++d) { NNC_ASSIGN(h.dims[d], symbols.eval(s.dims[d], values)); }
  return {};
}

class Resolver {
 public:
  Resolver(const BindContext& c, uint32_t segment, BoundSegment& out)
      : c_(c), p_(c.executable.program()), e_(c.entry), segment_(segment), out_(out) {}

  Status run() {
    NNC_TRY(place_buffers());
    size_t symbols = 0;
    for (const PlanKernel& k : p_.kernels)
      symbols = std::max(symbols, c_.executable.kernel(static_cast<uint32_t>(&k - p_.kernels.data())).symbols.size());
    out_.known.resize(symbols);
    NNC_TRY(steps(c_.steps));
    for (auto& [base, move] : moves_) out_.moves.push_back(std::move(move));
    return {};
  }

 private:
  Status place_buffers() {
    std::vector<SizedBuffer> sized;
    std::vector<uint32_t> own;          // buffer numbers of `sized`
    std::map<uint32_t, int32_t> index;  // buffer -> position in `sized`
    for (uint32_t i = 0; i < e_.buffers.size(); ++i)
      if (e_.buffers[i].segment == segment_) {
        index[i] = static_cast<int32_t>(own.size());
        own.push_back(i);
      }
    for (uint32_t i : own) {
      const PlanBuffer& b = e_.buffers[i];
      SizedBuffer s;
      NNC_ASSIGN(s.bytes, eval_capacity(p_.symbols, b.bytes, c_.values));
      s.align = std::max(64, b.align);
      s.first = b.first;
      s.last = b.last;
      if (segment_of_root(i) != segment_) {
        s.bytes = 0;  // lies in an earlier segment's block
      } else if (b.alias_of >= 0) {
        s.alias_of = index.at(static_cast<uint32_t>(b.alias_of));
      }
      sized.push_back(s);
    }
    NNC_ASSIGN(const Packing packing, pack_buffers(sized));
    NNC_TRY(check_packing(sized, packing));
    out_.arena_bytes = packing.peak;
    out_.lower_bound = packing.lower_bound;
    for (size_t k = 0; k < own.size(); ++k) {
      const uint32_t root = root_of(own[k]);
      BufferPlace at{root, e_.buffers[root].segment, packing.offsets[k], sized[k].bytes};
      if (at.segment != segment_) {
        NNC_ASSIGN(at.bytes, eval_capacity(p_.symbols, e_.buffers[own[k]].bytes, c_.values));
        at.offset = c_.places[root].offset;
        if (at.bytes > c_.places[root].bytes)
          return Error(Code::kInvalidIr, cat("buffer ", own[k], " is larger than buffer ", root, ", whose memory it shares"));
      }
      c_.places[own[k]] = at;
      out_.places.emplace_back(own[k], at);
    }
    return {};
  }

  uint32_t root_of(uint32_t buffer) const {
    while (e_.buffers[buffer].alias_of >= 0) buffer = static_cast<uint32_t>(e_.buffers[buffer].alias_of);
    return buffer;
  }
  uint32_t segment_of_root(uint32_t buffer) const { return e_.buffers[root_of(buffer)].segment; }

  // A new slot for an operand.
  uint32_t slot(const PlanOperand& o) {
    const uint32_t s = static_cast<uint32_t>(out_.slots.size());
    void* fixed = nullptr;
    int64_t bytes = 0;
    uint32_t root = BoundSegment::kNoRoot;
    auto follow = [&](uint32_t base, int64_t offset) {
      BoundSegment::Move& m = moves_[base];
      m.base = base;
      m.slots.emplace_back(s, offset);
    };
    switch (o.space) {
      case PlanOperand::kBuffer: {
        if (e_.buffers[o.index].is_room()) {
          RoomUse& use = room_use(c_.rooms[o.index]);
          // What is too large for 64 bits is larger than any room.
          const auto size = eval_capacity(p_.symbols, e_.buffers[o.index].bytes, c_.values);
          bytes = size.ok() ? *size : INT64_MAX;
          use.bytes = std::max(use.bytes, bytes);
          use.slots.push_back(s);
          break;
        }
        const BufferPlace& at = c_.places[o.index];
        follow(at.segment, at.offset);
        bytes = at.bytes;
        root = at.root;
        break;
      }
      case PlanOperand::kArg:
        follow(c_.bases.args + o.index, 0);
        bytes = c_.bases.bytes[c_.bases.args + o.index];
        break;
      case PlanOperand::kResult:
        follow(c_.bases.results + o.index, 0);
        bytes = c_.bases.bytes[c_.bases.results + o.index];
        break;
      case PlanOperand::kConstant:
        fixed = const_cast<void*>(c_.executable.constant(o.index).data());
        bytes = static_cast<int64_t>(c_.executable.constant(o.index).bytes());
        break;
      case PlanOperand::kState:
        fixed = c_.states[o.index];
        bytes = c_.state_bytes[o.index];
        break;
      default: break;
    }
    out_.slots.push_back(fixed);
    out_.slot_bytes.push_back(bytes);
    out_.slot_root.push_back(root);
    return s;
  }

  RoomUse& room_use(uint32_t room, bool making = false) {
    for (RoomUse& u : out_.rooms)
      if (u.room == room) return u;
    out_.rooms.push_back({room, 0, making, false, {}});
    return out_.rooms.back();
  }
  // Steps that are about rooms name them by number.
  Status room_step(const Step& s) {
    Instr in;
    in.kind = s.kind;
    in.step = &s;
    in.aux = c_.rooms[s.operands.back().index];
    NNC_ASSIGN(in.bytes, eval_capacity(p_.symbols, s.dims[0], c_.values));
    in.slots = static_cast<uint32_t>(out_.slots.size());
    in.dims = static_cast<uint32_t>(out_.dims.size());
    if (s.kind == StepKind::kRoom) {
      room_use(in.aux, true);
    } else {
      slot(s.operands[0]);
      in.slot_count = 1;
      for (size_t i = 1; i < s.dims.size(); ++i) {
        NNC_ASSIGN(const int64_t extent, p_.symbols.eval(s.dims[i], c_.values));
        out_.dims.push_back(extent);
      }
      in.dim_count = static_cast<uint32_t>(s.dims.size() - 1);
    }
    if (in.bytes < 0) return Error(Code::kInvalidIr, "a room of negative size");
    out_.code.push_back(std::move(in));
    out_.code.back().end = here();
    return s.kind == StepKind::kAppend ? enough(here() - 1, 0, out_.code.back().bytes) : Status();
  }

  Status steps(const std::vector<Step>& list) {
    for (const Step& s : list) {
      auto status = s.kind == StepKind::kRoom || s.kind == StepKind::kAppend ? room_step(s) : step(s);
      if (!status.ok()) return std::move(status).error().at(place_of(p_, s.locs));
    }
    return {};
  }

  uint32_t begin(const Step& s) {
    Instr in;
    in.kind = s.kind;
    in.step = &s;
    in.slots = static_cast<uint32_t>(out_.slots.size());
    for (const PlanOperand& o : s.operands) slot(o);
    in.slot_count = static_cast<uint32_t>(s.operands.size());
    out_.code.push_back(std::move(in));
    return static_cast<uint32_t>(out_.code.size() - 1);
  }
  uint32_t here() const { return static_cast<uint32_t>(out_.code.size()); }

  Status step(const Step& s) {
    if (s.kind == StepKind::kLibrary)
      return Error(Code::kUnsupportedOp, cat("the device ", c_.executable.device()->name(), " has no library for \"", s.fn, "\""));
    const uint32_t at = begin(s);
    switch (s.kind) {
      case StepKind::kLaunch: NNC_TRY(launch(at)); break;
      case StepKind::kCopy: NNC_TRY(copy(at)); break;
      case StepKind::kFill: out_.code[at].bytes = out_.slot_bytes[out_.code[at].slots]; break;
      case StepKind::kHost: NNC_TRY(host(at)); break;
      case StepKind::kBind:
        if (s.operands.empty()) break;
        NNC_TRY(enough(at, 0, static_cast<int64_t>(s.symbols.size()) * dtype_bits(dtype_of(p_, e_, s.operands[0])) / 8));
        break;
      case StepKind::kAssertValue: NNC_TRY(enough(at, 0, out_.slot_bytes[out_.code[at].slots + 1])); break;
      case StepKind::kIf:
        NNC_TRY(enough(at, 0, 1));
        NNC_TRY(steps(s.body));
        out_.code[at].orelse = here();
        NNC_TRY(steps(s.orelse));
        break;
      case StepKind::kLoop: NNC_TRY(loop(at)); break;
      case StepKind::kSwitch: NNC_TRY(alternatives(at)); break;
      default: break;
    }
    out_.code[at].end = here();
    return {};
  }

  Status enough(uint32_t at, uint32_t operand, int64_t bytes) const {
    const int64_t room = out_.slot_bytes[out_.code[at].slots + operand];
    if (bytes <= room) return {};
    return Error(Code::kInvalidIr, cat("an operand has ", room, " bytes where ", bytes, " are used"));
  }

  Status launch(uint32_t at) {
    Instr& in = out_.code[at];
    const Kernel& k = c_.executable.kernel(in.step->kernel);
    in.kernel = &c_.executable.code(in.step->kernel);
    in.dims = static_cast<uint32_t>(out_.dims.size());
    in.dim_count = static_cast<uint32_t>(k.symbols.size());
    out_.dims.resize(out_.dims.size() + k.symbols.size());
    for (const Dim& d : in.step->dims)
      if (is_bounded(p_.symbols, d)) {
        out_.dynamic.push_back(at);
        break;
      }
    return refresh_launch(out_, in, c_.executable, c_.values);
  }

  Status copy(uint32_t at) {
    Instr& in = out_.code[at];
    in.bytes = out_.slot_bytes[in.slots];
    if (!in.step->dims.empty()) { NNC_ASSIGN(in.bytes, eval_capacity(p_.symbols, in.step->dims[0], c_.values)); }
    if (in.bytes < 0) return Error(Code::kInvalidIr, "a copy of negative size");
    NNC_TRY(enough(at, 0, in.bytes));
    return enough(at, 1, in.bytes);
  }

  Status host(uint32_t at) {
    const Step& s = *out_.code[at].step;
    out_.code[at].aux = static_cast<uint32_t>(out_.hosts.size());
    HostCode h;
    h.fn = find_host_function(s.fn);
    h.dims.resize(s.dims.size());
    h.counts.resize(s.symbols.size());
    bool bounded = false;
    for (const Dim& d : s.dims) bounded = bounded || is_bounded(p_.symbols, d);
    for (SymbolId id : s.symbols) h.row.push_back(p_.symbols[id].binding == Binding::kBounded ? p_.symbols[id].hi : -1);
    for (size_t i = 0; i < s.operands.size(); ++i) {
      if (s.operands[i].space == PlanOperand::kConstant) {
        h.shapes.push_back(p_.constants[s.operands[i].index].dims);
        h.capacities.push_back(h.shapes.back());
      } else {
        const Shape& shape = shape_of(p_, e_, s.operands[i]);
        h.shapes.emplace_back(shape.size());
        h.capacities.emplace_back(shape.size(), -1);
        for (size_t a = 0; a < shape.size(); ++a) {
          bounded = bounded || is_bounded(p_.symbols, shape[a]);
          if (all_known(shape[a], c_.known) || is_bounded(p_.symbols, shape[a])) {
            NNC_ASSIGN(h.capacities[i][a], eval_capacity(p_.symbols, shape[a], c_.values));
          }
        }
      }
      HostOperand o;
      o.dtype = dtype_of(p_, e_, s.operands[i]);
      o.bytes = out_.slot_bytes[out_.code[at].slots + i];
      const bool input = i + 1 < s.operands.size();
      h.dense.emplace_back(input && bounded ? static_cast<size_t>(o.bytes) : 0);
      if (input) {
        NNC_ASSIGN(const int64_t bytes, byte_size(h.capacities.back(), dtype_bits(o.dtype)));
        NNC_TRY(enough(at, static_cast<uint32_t>(i), bytes));
        h.inputs.push_back(o);
      } else {
        h.result = o;
      }
    }
    out_.hosts.push_back(std::move(h));
    HostCode& placed = out_.hosts.back();
    for (size_t i = 0; i < placed.inputs.size(); ++i) placed.inputs[i].dims = placed.shapes[i];
    placed.result.dims = placed.shapes.back();
    if (bounded) out_.dynamic.push_back(at);
    return refresh_host(out_, out_.code[at], c_.executable, e_, c_.values, c_.known);
  }

  Status loop(uint32_t at) {
    const Step& s = *out_.code[at].step;
    if (s.operands[0].space != PlanOperand::kNone) NNC_TRY(enough(at, 0, 8));
    if (s.operands[1].space != PlanOperand::kNone) NNC_TRY(enough(at, 1, 1));
    if (s.operands[2].space != PlanOperand::kNone) NNC_TRY(enough(at, 2, 8));
    if (s.operands[3].space != PlanOperand::kNone) NNC_TRY(enough(at, 3, 1));
    LoopCode code;
    for (const Carry& c : s.carries) {
      CarryCode k;
      if (e_.buffers[c.current.index].is_room()) {
        k.rooms = true;
        k.current = c_.rooms[c.current.index];
        k.next = c_.rooms[c.next.index];
        code.carries.push_back(std::move(k));
        continue;
      }
      k.init = slot(c.init);
      k.current = slot(c.current);
      k.next = slot(c.next);
      k.bytes = c_.places[c.current.index].bytes;
      if (out_.slot_bytes[k.init] < k.bytes) return Error(Code::kInvalidIr, "a carried value begins smaller than it is");
      code.carries.push_back(std::move(k));
    }
    const uint32_t first = static_cast<uint32_t>(out_.slots.size());
    for (const ScanOut& o : s.scans) {
      ScanCode k;
      k.stacked = slot(o.stacked);
      k.element = slot(o.element);
      NNC_ASSIGN(k.bytes, eval_capacity(p_.symbols, o.bytes, c_.values));
      k.room = out_.slot_bytes[k.stacked];
      if (k.bytes < 0 || out_.slot_bytes[k.element] < k.bytes) return Error(Code::kInvalidIr, "a stacked value is smaller than its slice");
      code.scans.push_back(k);
    }
    NNC_TRY(steps(s.body));
    for (CarryCode& k : code.carries) {
      if (k.rooms) continue;
      const uint32_t current = out_.slot_root[k.current], next = out_.slot_root[k.next];
      if (current == next) continue;
      for (uint32_t u = first; u < out_.slots.size(); ++u) {
        if (out_.slot_root[u] == current) k.current_uses.push_back(u);
        if (out_.slot_root[u] == next) k.next_uses.push_back(u);
      }
    }
    code.home.resize(2 * code.carries.size());
    out_.code[at].aux = static_cast<uint32_t>(out_.loops.size());
    out_.loops.push_back(std::move(code));
    return {};
  }

  // Conditions over exact symbols are decided here: only the alternative that holds is resolved. Others are decided in each run.
  Status alternatives(uint32_t at) {
    const Step& s = *out_.code[at].step;
    for (uint32_t i = 0; i < s.alternatives.size(); ++i) {
      const Alternative& alternative = s.alternatives[i];
      bool bounded = false, holds = true;
      for (const Predicate::Clause& c : alternative.when.clauses) {
        bounded = bounded || is_bounded(p_.symbols, c.a) || is_bounded(p_.symbols, c.b);
        NNC_ASSIGN(const int64_t a, p_.symbols.eval(c.a, c_.values));
        NNC_ASSIGN(const int64_t b, p_.symbols.eval(c.b, c_.values));
        holds = holds && (c.rel == Rel::kEq ? a == b : c.rel == Rel::kNe ? a != b : c.rel == Rel::kLe ? a <= b : a < b);
      }
      if (!bounded && !holds) {
        out_.code[at].alternatives.emplace_back(UINT32_MAX, UINT32_MAX);
        continue;
      }
      const uint32_t from = here();
      NNC_TRY(steps(alternative.steps));
      out_.code[at].alternatives.emplace_back(from, here());
      if (!bounded) break;
    }
    return {};
  }

  const BindContext& c_;
  const Program& p_;
  const PlanEntry& e_;
  const uint32_t segment_;
  BoundSegment& out_;
  std::map<uint32_t, BoundSegment::Move> moves_;
};

}  // namespace

Result<std::unique_ptr<BoundSegment>> bind_segment(const BindContext& c, uint32_t segment) {
  auto out = std::make_unique<BoundSegment>();
  NNC_TRY(Resolver(c, segment, *out).run());
  return out;
}

void apply_bases(BoundSegment& b, const BaseTable& bases) {
  for (BoundSegment::Move& m : b.moves) {
    void* base = bases.at[m.base];
    if (base == m.last) continue;
    for (const auto& [slot, offset] : m.slots) b.slots[slot] = static_cast<char*>(base) + offset;
    m.last = base;
  }
}

Status refresh_bounded(BoundSegment& b, const Executable& e, const PlanEntry& entry, std::span<const int64_t> values,
                       std::span<const uint8_t> known) {
  for (uint32_t at : b.dynamic) {
    Instr& in = b.code[at];
    NNC_TRY(in.kind == StepKind::kLaunch ? refresh_launch(b, in, e, values) : refresh_host(b, in, e, entry, values, known));
  }
  return {};
}

}  // namespace nnc

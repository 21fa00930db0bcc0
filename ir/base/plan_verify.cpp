#include "ir/base/plan_verify.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "ir/base/host/host.h"
#include "ir/base/plan_unpack.h"
#include "ir/base/tensor.h"
#include "ir/support/hash.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

constexpr int kMaxDepth = 64;

bool is_region(StepKind k) { return k == StepKind::kIf || k == StepKind::kLoop || k == StepKind::kSwitch || k == StepKind::kSegment; }

bool has_segments(const std::vector<Step>& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const Step& s) { return s.kind == StepKind::kSegment || has_segments(s.body) || has_segments(s.orelse); });
}

class EntryVerifier {
 public:
  EntryVerifier(const Program& p, const PlanEntry& e)
      : p_(p), e_(e), count_(segment_count(e)), known_(p.symbols.size(), 0), placed_(count_, 0), seen_(count_, 0) {}

  Status run() {
    // What is known at each segment is kept: a hostile plan must not make that large.
    constexpr size_t kMostFacts = size_t{1} << 26;
    if (!known_.empty() && count_ > kMostFacts / known_.size())
      return bad(cat("it has ", count_, " segments and ", known_.size(), " symbols: too many to follow"));
    facts_.segments.resize(count_);
    NNC_TRY(interface());
    NNC_TRY(buffers());
    for (uint32_t i = 0; i < e_.segments.size(); ++i) NNC_TRY(segment(i, e_.segments[i].steps, 0));
    for (const PlanArg& r : e_.results) NNC_TRY(shape(r.shape, cat("result \"", r.name, "\"")));
    facts_.known = known_;
    return {};
  }
  EntryFacts& facts() { return facts_; }

 private:
  Error bad(std::string what) const { return Error(Code::kInvalidIr, cat("plan of entry @", e_.name, ": ", what)); }
  Error bad(const Step& s, std::string_view what) const { return bad(cat("step ", s.number, ": ", what)); }

  void derive() {
    for (size_t i = 0; i < known_.size(); ++i) {
      const Symbol& s = p_.symbols[SymbolId(i)];
      if (s.kind == SymKind::kDerived && !known_[i]) known_[i] = all_known(s.a) && all_known(s.b);
    }
  }
  bool all_known(const Dim& d) const {
    for (const Term& t : d.terms())
      for (uint32_t s : t.mono.s)
        if (s != 0 && (s > known_.size() || !known_[s - 1])) return false;
    return true;
  }
  Status dim(const Dim& d, const std::string& where) const {
    if (!all_known(d)) return bad(cat(where, ": an extent uses a symbol that has no value there"));
    return {};
  }
  Status shape(const Shape& s, const std::string& where) const {
    for (const Dim& d : s) NNC_TRY(dim(d, where));
    return {};
  }

  Status interface() {
    for (const auto* list : {&e_.args, &e_.results})
      for (const PlanArg& a : *list) {
        if (a.dtype == DType::kInvalid || a.dtype >= DType::kCount) return bad(cat("\"", a.name, "\" has no dtype"));
        if (a.shape.size() > 32) return bad(cat("\"", a.name, "\" has rank ", a.shape.size()));
        if (a.state >= 0 && static_cast<size_t>(a.state) >= p_.states.size())
          return bad(cat("\"", a.name, "\" is bound to state ", a.state, " of ", p_.states.size()));
        if (a.state < 0) continue;
        const PlanState& st = p_.states[static_cast<size_t>(a.state)];
        if (st.dtype != a.dtype || st.shape != a.shape) return bad(cat("\"", a.name, "\" and state \"", st.name, "\" differ in type"));
      }
    std::set<int32_t> replaced;
    for (const PlanArg& r : e_.results)
      if (r.state >= 0 && !replaced.insert(r.state).second) return bad(cat("state ", r.state, " is replaced twice"));
    for (const PlanArg& a : e_.args)
      for (const Dim& d : a.shape)
        for (const Term& t : d.terms())
          for (uint32_t s : t.mono.s)
            if (s != 0) {
              if (s > known_.size()) return bad(cat("argument \"", a.name, "\" uses symbol ", s - 1, " of ", known_.size()));
              if (p_.symbols[SymbolId(s - 1)].kind == SymKind::kInput) known_[s - 1] = 1;
            }
    derive();
    for (const PlanArg& a : e_.args) NNC_TRY(shape(a.shape, cat("argument \"", a.name, "\"")));
    if (e_.segments.empty()) return bad("it has no segment");
    return {};
  }

  Status buffers() {
    for (size_t i = 0; i < e_.buffers.size(); ++i) {
      const PlanBuffer& b = e_.buffers[i];
      auto wrong = [&](std::string_view what) { return bad(cat("buffer ", i, ": ", what)); };
      if (b.first > b.last) return wrong("it dies before it is born");
      if (b.align < 1 || b.align > 4096 || (b.align & (b.align - 1)) != 0) return wrong(cat("alignment ", b.align));
      if (b.segment >= count_ && !b.is_room()) return wrong(cat("segment ", b.segment, " of ", count_));
      if (b.is_room() && b.alias_of >= 0) return wrong("a room shares no memory");
      for (uint32_t l : b.locs)
        if (l >= p_.sources.size()) return wrong("a source that is not there");
      size_t at = i, hops = 0;
      while (e_.buffers[at].alias_of >= 0) {
        const size_t to = static_cast<size_t>(e_.buffers[at].alias_of);
        if (to >= e_.buffers.size() || ++hops > e_.buffers.size()) return wrong("its alias leads nowhere");
        if (e_.buffers[to].is_room()) return wrong("it shares the memory of a room");
        at = to;
      }
      root_.push_back(static_cast<uint32_t>(at));
      if (at != i && p_.symbols.at_most(b.bytes, e_.buffers[at].bytes) == Ternary::kNo)
        return wrong(cat("larger than buffer ", at, ", whose memory it shares"));
    }
    for (size_t i = 0; i < e_.buffers.size(); ++i) {
      const PlanBuffer &b = e_.buffers[i], &r = e_.buffers[root_[i]];
      if (b.first < r.first || b.last > r.last)
        return bad(cat("buffer ", i, " lives longer than buffer ", root_[i], ", whose memory it shares"));
    }
    return {};
  }

  // What is known when a segment begins is what its buffers and steps may speak of; what it binds is known behind it.
  Status segment(uint32_t number, const std::vector<Step>& list, int depth) {
    facts_.segments[number] = {&list, known_};
    placed_[number] = seen_[number] = 1;
    for (size_t i = 0; i < e_.buffers.size(); ++i) {
      const PlanBuffer& b = e_.buffers[i];
      if (b.segment != number) continue;
      NNC_TRY(dim(b.bytes, cat("buffer ", i)));
      if (!placed_[e_.buffers[root_[i]].segment]) return bad(cat("buffer ", i, ": it shares memory that does not exist yet"));
    }
    const int outer_depth = std::exchange(segment_depth_, depth);
    std::set<SymbolId> outer = std::exchange(pending_, {});
    NNC_TRY(steps(list, depth));
    for (SymbolId s : pending_) known_[s.index()] = 1;
    derive();
    pending_ = std::move(outer);
    segment_depth_ = outer_depth;
    return {};
  }

  Status operand(const Step& s, const PlanOperand& o) const {
    size_t count = 0;
    switch (o.space) {
      case PlanOperand::kNone: return {};
      case PlanOperand::kBuffer: count = e_.buffers.size(); break;
      case PlanOperand::kArg: count = e_.args.size(); break;
      case PlanOperand::kResult: count = e_.results.size(); break;
      case PlanOperand::kConstant: count = p_.constants.size(); break;
      case PlanOperand::kState: count = p_.states.size(); break;
      default: return bad(s, "an operand of no kind");
    }
    if (o.index >= count) return bad(s, cat("operand ", o.index, " of ", count));
    if (o.space != PlanOperand::kBuffer) return {};
    const PlanBuffer& b = e_.buffers[o.index];
    if (b.is_room()) return dim(b.bytes, cat("step ", s.number, ", room ", o.index));
    if (!placed_[b.segment]) return bad(s, cat("buffer ", o.index, " has no memory yet"));
    if (s.number < b.first || s.number > b.last) return bad(s, cat("buffer ", o.index, " lives from step ", b.first, " to ", b.last));
    return {};
  }

  DType dtype(const PlanOperand& o) const {
    switch (o.space) {
      case PlanOperand::kBuffer: return e_.buffers[o.index].dtype;
      case PlanOperand::kArg: return e_.args[o.index].dtype;
      case PlanOperand::kResult: return e_.results[o.index].dtype;
      case PlanOperand::kConstant: return p_.constants[o.index].dtype;
      case PlanOperand::kState: return p_.states[o.index].dtype;
      default: return DType::kInvalid;
    }
  }
  Status typed(const Step& s, const PlanOperand& o, DType wanted) const {
    if (o.space == PlanOperand::kNone || dtype(o) == wanted) return {};
    return bad(s, cat("an operand of ", dtype_name(dtype(o)), " where ", dtype_name(wanted), " is expected"));
  }
  Status arity(const Step& s, size_t n) const {
    if (s.operands.size() != n) return bad(s, cat(s.operands.size(), " operands, ", n, " expected"));
    return {};
  }

  Status binds(const Step& s, int depth) {
    for (SymbolId id : s.symbols) NNC_TRY(binds(s, id, depth));
    return {};
  }
  Status binds(const Step& s, SymbolId id, int depth) {
    if (depth != segment_depth_) return bad(s, "a symbol is bound inside a region");
    if (id.index() >= known_.size() || p_.symbols[id].kind != SymKind::kData) return bad(s, "it binds what is no data symbol");
    if ((known_[id.index()] && !again_.count(id)) || !pending_.insert(id).second) return bad(s, cat("symbol ", id.v, " is bound twice"));
    again_.erase(id);
    return {};
  }
  Status room(const Step& s, const PlanOperand& o, int depth) const {
    if (o.space != PlanOperand::kBuffer || o.index >= e_.buffers.size() || !e_.buffers[o.index].is_room()) return bad(s, "it takes a room");
    if (s.kind == StepKind::kRoom && depth != segment_depth_) return bad(s, "a room is made inside a region");
    return {};
  }

  Status kind(const Step& s, int depth) {
    switch (s.kind) {
      case StepKind::kLaunch:
        if (s.kernel >= p_.kernels.size()) return bad(s, cat("kernel ", s.kernel, " of ", p_.kernels.size()));
        return {};
      case StepKind::kLibrary: return {};
      case StepKind::kCopy:
        NNC_TRY(arity(s, 2));
        if (s.operands[0].space == PlanOperand::kNone || s.operands[1].space == PlanOperand::kNone)
          return bad(s, "a copy needs both operands");
        if (s.dims.size() > 1) return bad(s, "a copy has one size");
        if (s.dims.empty() && s.operands[0].space != PlanOperand::kBuffer) return bad(s, "a copy needs its size");
        return typed(s, s.operands[1], dtype(s.operands[0]));
      case StepKind::kFill: return arity(s, 1);
      case StepKind::kHost: {
        const HostFunction* f = find_host_function(s.fn);
        if (!f) return bad(s, cat("no host function \"", s.fn, "\""));
        NNC_TRY(arity(s, static_cast<size_t>(f->inputs) + 1));
        if (s.symbols.size() != static_cast<size_t>(f->symbols) || s.ints.size() != static_cast<size_t>(f->ints))
          return bad(s, cat("\"", s.fn, "\" has other attributes"));
        return binds(s, depth);
      }
      case StepKind::kBind:
        if (s.operands.empty()) {
          if (s.dims.size() != s.symbols.size()) return bad(s, "each symbol is bound to one dim");
          return binds(s, depth);
        }
        NNC_TRY(arity(s, 1));
        if (!is_int(dtype(s.operands[0]))) return bad(s, "symbols are bound from integers");
        return binds(s, depth);
      case StepKind::kAssertDims:
        if (s.dims.size() != 2) return bad(s, "an assertion compares two dims");
        return {};
      case StepKind::kAssertValue:
        NNC_TRY(arity(s, 2));
        if (s.operands[1].space != PlanOperand::kConstant) return bad(s, "an assertion compares with a constant");
        return typed(s, s.operands[0], dtype(s.operands[1]));
      case StepKind::kIf: NNC_TRY(arity(s, 1)); return typed(s, s.operands[0], DType::kBool);
      case StepKind::kLoop: return loop(s);
      case StepKind::kSwitch:
        if (s.alternatives.empty() || !s.alternatives.back().when.clauses.empty()) return bad(s, "the last alternative has a condition");
        for (const Alternative& a : s.alternatives)
          for (const Predicate::Clause& c : a.when.clauses) {
            NNC_TRY(dim(c.a, cat("step ", s.number)));
            NNC_TRY(dim(c.b, cat("step ", s.number)));
          }
        return {};
      case StepKind::kFail: return {};
      case StepKind::kSegment:
        if (depth == 0) return bad(s, "a segment of its own in no region");
        if (s.segment < e_.segments.size() || s.segment >= count_ || seen_[s.segment] || !s.orelse.empty())
          return bad(s, cat("segment ", s.segment, " of ", count_));
        return arity(s, 0);
      case StepKind::kRoom:
        NNC_TRY(arity(s, 1));
        if (s.dims.size() != 1) return bad(s, "a room has one size");
        return room(s, s.operands[0], depth);
      case StepKind::kAppend:
        NNC_TRY(arity(s, 2));
        if (s.dims.empty() || s.operands[0].space == PlanOperand::kNone) return bad(s, "what is appended has a place and a size");
        NNC_TRY(room(s, s.operands[1], depth));
        NNC_TRY(typed(s, s.operands[0], dtype(s.operands[1])));
        if (s.operands[0].space == s.operands[1].space && s.operands[0].index == s.operands[1].index)
          return bad(s, "a room is appended to itself");
        return {};
    }
    return bad(s, "a step of no kind");
  }

  Status loop(const Step& s) {
    NNC_TRY(arity(s, 4));
    NNC_TRY(typed(s, s.operands[0], DType::kI64));
    NNC_TRY(typed(s, s.operands[1], DType::kBool));
    NNC_TRY(typed(s, s.operands[2], DType::kI64));
    NNC_TRY(typed(s, s.operands[3], DType::kBool));
    for (size_t i = 2; i < 4; ++i)
      if (s.operands[i].space != PlanOperand::kBuffer && s.operands[i].space != PlanOperand::kNone)
        return bad(s, "counter and condition of a loop are buffers");
    if (s.max_trips < 0) return bad(s, "a loop of that form has no plan");
    for (SymbolId id : s.symbols)
      if (id.index() >= known_.size() || !known_[id.index()]) return bad(s, cat("symbol ", id.v, " has no value before the loop"));
    std::set<uint32_t> memory;
    for (const Carry& c : s.carries) {
      if (is_room(c.current) || is_room(c.next)) {
        NNC_TRY(room(s, c.current, 0));
        NNC_TRY(room(s, c.next, 0));
        if (c.init != c.current) return bad(s, "a room of a loop is filled before it");
      } else {
        for (const PlanOperand& o : {c.init, c.current, c.next}) NNC_TRY(operand(s, o));
        if (c.next != c.current && has_segments(s.body)) return bad(s, "a loop with segments carries its values in rooms");
      }
      if (c.current.space != PlanOperand::kBuffer || c.next.space != PlanOperand::kBuffer || c.init.space == PlanOperand::kNone)
        return bad(s, "a carried value is not in a buffer");
      if (dtype(c.init) != dtype(c.current) || dtype(c.next) != dtype(c.current)) return bad(s, "a carried value changes its dtype");
      if (!is_room(c.current) && !(e_.buffers[c.current.index].bytes == e_.buffers[c.next.index].bytes))
        return bad(s, "the two buffers of a carried value differ in size");
      if (!memory.insert(root_[c.current.index]).second || (c.next != c.current && !memory.insert(root_[c.next.index]).second))
        return bad(s, "carried values share memory");
    }
    for (const ScanOut& o : s.scans) {
      NNC_TRY(dim(o.bytes, cat("step ", s.number)));
      if (o.element.space == PlanOperand::kNone || (o.stacked.space != PlanOperand::kBuffer && o.stacked.space != PlanOperand::kResult))
        return bad(s, "a stacked value has no place");
      NNC_TRY(operand(s, o.stacked));
    }
    return {};
  }

  Status steps(std::span<const Step> list, int depth) {
    if (depth > kMaxDepth) return bad("regions are nested too deep");
    for (const Step& s : list) {
      if (s.number < next_) return bad(s, "steps are not numbered in order");
      next_ = s.number + 1;
      if (s.kind != StepKind::kRoom)
        for (size_t i = 0; i < s.operands.size() && !(s.kind == StepKind::kAppend && i == 1); ++i) NNC_TRY(operand(s, s.operands[i]));
      for (const Dim& d : s.dims) NNC_TRY(dim(d, cat("step ", s.number)));
      for (uint32_t l : s.locs)
        if (l >= p_.sources.size()) return bad(s, "a source that is not there");
      if (!pending_.empty() && s.kind != StepKind::kBind && !(s.kind == StepKind::kHost && !s.symbols.empty()))
        return bad(s, "a step follows in the segment that a binding ended");
      NNC_TRY(kind(s, depth));
      NNC_TRY(state_writes(s, depth));
      if (!is_region(s.kind) && (!s.body.empty() || !s.orelse.empty() || !s.alternatives.empty() || !s.carries.empty() || !s.scans.empty()))
        return bad(s, "it has a region");
      if (s.kind == StepKind::kSegment)
        NNC_TRY(segment(s.segment, s.body, depth + 1));
      else
        NNC_TRY(regions(s, depth));
      if (s.kind == StepKind::kLoop) NNC_TRY(loop_lives(s));
    }
    // A step beside a segment would use, in a frame bound before, what the segment binds anew.
    const auto is_segment = [](const Step& s) { return s.kind == StepKind::kSegment; };
    if (std::ranges::any_of(list, is_segment) && !std::ranges::all_of(list, is_segment))
      return bad("a region holds segments and other steps");
    return {};
  }

  // What a region binds is known in it alone; what both branches bind is known behind them, as is the number of a loop's rounds.
  Status regions(const Step& s, int depth) {
    const std::vector<uint8_t> known = known_, placed = placed_;
    const std::set<SymbolId> again = std::exchange(again_, {});
    std::vector<uint8_t> common;
    auto region = [&](const std::vector<Step>& list) -> Status {
      NNC_TRY(s.kind == StepKind::kLoop ? loop_body(s, depth) : steps(list, depth + 1));
      if (common.empty()) common.assign(known_.size(), 1);
      for (size_t i = 0; i < common.size(); ++i) common[i] = common[i] && known_[i] && !known[i];
      known_ = known;
      placed_ = placed;
      return {};
    };
    if (s.kind == StepKind::kIf || s.kind == StepKind::kLoop) NNC_TRY(region(s.body));
    if (s.kind == StepKind::kIf) NNC_TRY(region(s.orelse));
    for (const Alternative& a : s.alternatives) {
      if (has_segments(a.steps)) return bad(s, "a switch binds no symbols");
      NNC_TRY(region(a.steps));
    }
    again_ = again;
    if (s.kind == StepKind::kIf)
      for (size_t i = 0; i < common.size(); ++i)
        if (common[i] && p_.symbols[SymbolId(i)].kind == SymKind::kData) NNC_TRY(binds(s, SymbolId(i), depth));
    return s.trip_symbol.valid() ? binds(s, s.trip_symbol, depth) : Status();
  }
  // The last segment of the body binds the loop's symbols again.
  Status loop_body(const Step& s, int depth) {
    for (const Step& inner : s.body) {
      if (&inner == &s.body.back()) again_.insert(s.symbols.begin(), s.symbols.end());
      NNC_TRY(steps(std::span<const Step>(&inner, 1), depth + 1));
    }
    if (again_.empty() && (s.symbols.empty() || !s.body.empty())) return {};
    return bad(s, "its body does not bind the loop's symbols again");
  }
  bool is_room(const PlanOperand& o) const {
    return o.space == PlanOperand::kBuffer && o.index < e_.buffers.size() && e_.buffers[o.index].is_room();
  }

  // A state is written once, outside of regions; afterwards nothing reads its old value and nothing can fail.
  Status state_writes(const Step& s, int depth) {
    for (const PlanOperand& o : s.operands)
      if (o.space == PlanOperand::kState && written_states_.count(o.index))
        return bad(s, cat("state ", o.index, " is used after it was written"));
    const bool writes = (s.kind == StepKind::kCopy && s.operands[1].space == PlanOperand::kState) ||
                        (s.kind == StepKind::kFill && s.operands[0].space == PlanOperand::kState);
    if (writes) {
      if (depth > 0) return bad(s, "a state is written inside a region");
      written_states_.insert(s.operands.back().index);
    } else if (!written_states_.empty() && s.kind != StepKind::kCopy && s.kind != StepKind::kFill && s.kind != StepKind::kLaunch) {
      return bad(s, "it can fail after a state was written");
    }
    return {};
  }

  // What lives before a loop and is used in it lives until its end; so do the loop's own buffers.
  Status loop_lives(const Step& s) const {
    const uint32_t end = next_ - 1;
    auto lives = [&](const PlanOperand& o) -> Status {
      if (o.space == PlanOperand::kBuffer && !is_room(o) && e_.buffers[o.index].first <= s.number && e_.buffers[o.index].last < end)
        return bad(s, cat("buffer ", o.index, " dies in the loop that uses it in every iteration"));
      return {};
    };
    auto whole = [&](const PlanOperand& o) -> Status {
      if (o.space == PlanOperand::kBuffer && !is_room(o) && (e_.buffers[o.index].first > s.number || e_.buffers[o.index].last < end))
        return bad(s, cat("buffer ", o.index, " does not live over the whole loop"));
      return {};
    };
    for (size_t i = 2; i < 4; ++i) NNC_TRY(whole(s.operands[i]));
    for (const Carry& c : s.carries) {
      NNC_TRY(whole(c.current));
      NNC_TRY(whole(c.next));
    }
    for (const ScanOut& o : s.scans) NNC_TRY(whole(o.stacked));
    return each(s.body, lives);
  }
  template <class F> Status each(const std::vector<Step>& list, F& f) const {
    for (const Step& s : list) {
      for (const PlanOperand& o : s.operands) NNC_TRY(f(o));
      for (const Carry& c : s.carries) NNC_TRY(f(c.init));
      NNC_TRY(each(s.body, f));
      NNC_TRY(each(s.orelse, f));
      for (const Alternative& a : s.alternatives) NNC_TRY(each(a.steps, f));
    }
    return {};
  }

  const Program& p_;
  const PlanEntry& e_;
  const uint32_t count_;
  std::vector<uint8_t> known_;   // when the segment at hand began
  std::vector<uint8_t> placed_;  // segments whose memory exists
  std::vector<uint8_t> seen_;    // segments met so far
  std::vector<uint32_t> root_;
  std::set<SymbolId> pending_;  // bound by the segment at hand
  std::set<SymbolId> again_;    // of the loop whose body ends here, not bound again yet
  std::set<uint32_t> written_states_;
  int segment_depth_ = 0;
  uint32_t next_ = 0;
  EntryFacts facts_;
};

}  // namespace

Result<EntryFacts> entry_facts(const Program& p, const PlanEntry& e) {
  EntryVerifier v(p, e);
  NNC_TRY(v.run());
  return std::move(v.facts());
}

Status verify_program(const Program& p) {
  auto bad = [](std::string what) { return Error(Code::kInvalidIr, std::move(what)); };
  for (const PlanConstant& c : p.constants) {
    Digest digest;
    if (!parse_digest(c.hash, &digest)) return bad(cat("constant \"", c.hash, "\" has no hash"));
    if (c.dtype == DType::kInvalid || c.dtype >= DType::kCount) return bad(cat("constant ", c.hash, " has no dtype"));
    NNC_TRY(checked_element_count(c.dims));
    if (!c.unpack.empty() && c.unpack != kUnpackPanels) return bad(cat("constant ", c.hash, " is unpacked by ", quote(c.unpack)));
  }
  std::set<std::string> names;
  for (const PlanState& s : p.states) {
    if (!names.insert(s.name).second) return bad(cat("two states are named \"", s.name, "\""));
    if (s.dtype == DType::kInvalid || s.dtype >= DType::kCount || s.dtype == DType::kString)
      return bad(cat("state \"", s.name, "\" has no dtype of fixed size"));
    if (s.initial >= 0) {
      if (static_cast<size_t>(s.initial) >= p.constants.size())
        return bad(cat("state \"", s.name, "\" begins as a constant that is not there"));
      const PlanConstant& c = p.constants[static_cast<size_t>(s.initial)];
      if (c.dtype != s.dtype || c.dims.size() != s.shape.size())
        return bad(cat("state \"", s.name, "\" begins as a constant of another type"));
    }
    for (const Dim& d : s.shape)
      for (const Term& t : d.terms())
        for (uint32_t id : t.mono.s)
          if (id > p.symbols.size()) return bad(cat("state \"", s.name, "\" has an extent over a symbol that is not there"));
  }
  names.clear();
  for (const PlanKernel& k : p.kernels)
    if (!names.insert(k.name).second) return bad(cat("two kernels are named \"", k.name, "\""));
  for (const PlanEntry& e : p.entries) NNC_TRY(EntryVerifier(p, e).run());
  return {};
}

}  // namespace nnc

// Branches and loops as steps. A region that binds no symbols is a list of steps of the segment around it. One that does is a list of
// segments: what it hands on is then copied into rooms (ir/base/plan.h), whose size is known only when the region has run.

#include <algorithm>

#include "codegen/entry_planner.h"
#include "ir/support/mutant.h"
#include "ir/support/text.h"
#include "ir/text.h"

namespace nnc {

namespace {

// Whether a symbol is bound each time the graph runs.
bool binds_symbols(const Graph& g) {
  for (NodeId n = g.first(); n.valid(); n = g.node(n).next) {
    const Node& node = g.node(n);
    for (const AttrValue& a : node.attrs)
      if (const auto* symbols = std::get_if<std::vector<SymbolId>>(&a); symbols && !symbols->empty()) return true;
    for (RegionId r : node.regions)
      if (binds_symbols(g.region(r))) return true;
  }
  return false;
}

// A region's output that no step of the region makes: an argument, a constant.
bool escapes(const Graph& region, ValueId v) {
  return !region.value(v).def.valid() || region.node(region.value(v).def).kind == OpKind::kConstant;
}

}  // namespace

// ---- segments

void EntryPlanner::open_segment(std::vector<Step>* region) {
  Step s;
  s.kind = StepKind::kSegment;
  s.number = next_++;
  s.segment = kInner + inner_segments_++;
  region->push_back(std::move(s));
  now_ = {&region->back().body, region->back().segment, region, false};
}

void EntryPlanner::next_segment() {
  NNC_CHECK(!now_.flat, "a symbol is bound in a region that was thought to bind none");
  if (now_.region) return open_segment(now_.region);
  plan_.segments.emplace_back();
  now_ = {&plan_.segments.back().steps, static_cast<uint32_t>(plan_.segments.size() - 1), nullptr, false};
}

// The entry's own segments come first.
void EntryPlanner::number_segments() {
  const uint32_t own = static_cast<uint32_t>(plan_.segments.size());
  auto renumber = [own](uint32_t& segment) {
    if (segment >= kInner && segment != PlanBuffer::kRoom) segment = segment - kInner + own;
  };
  auto walk = [&](auto& self, std::vector<Step>& steps) -> void {
    for (Step& s : steps) {
      renumber(s.segment);
      self(self, s.body);
      self(self, s.orelse);
    }
  };
  for (Segment& s : plan_.segments) walk(walk, s.steps);
  for (PlanBuffer& b : plan_.buffers) renumber(b.segment);
}

void EntryPlanner::bind_dims(std::vector<SymbolId> symbols, std::vector<Dim> dims, LocId loc) {
  if (symbols.empty()) return;
  Step s;
  s.kind = StepKind::kBind;
  s.symbols = std::move(symbols);
  s.dims = std::move(dims);
  s.locs = s_.locs(loc);
  push(std::move(s));
}

// ---- what both share

void EntryPlanner::pin(const PlanOperand& o) {
  if (o.space == PlanOperand::kBuffer) pinned_.insert(o.index);
}

PlanOperand EntryPlanner::new_room(const Type& t, LocId loc) {
  const PlanOperand o = new_buffer(bytes(t), &t, loc);
  plan_.buffers[o.index].segment = PlanBuffer::kRoom;
  return o;
}

void EntryPlanner::size_room(const PlanOperand& room, Dim size, LocId loc) {
  Step s;
  s.kind = StepKind::kRoom;
  s.operands = {room};
  s.dims = {std::move(size)};
  s.locs = s_.locs(loc);
  push(std::move(s));
}

// Copies where a region's output is not yet where it must be.
void EntryPlanner::deliver(Scope& inner, ValueId v, const PlanOperand& to, LocId loc) {
  if (const PlanOperand from = inner.at.at(v); from != to) copy_step(from, to, bytes(inner.g->type(v)), loc);
}

Error EntryPlanner::no_plan(std::string what, const Node& node) const {
  return Error(Code::kUnsupportedOp, std::move(what)).at({s_.module.loc_str(node.loc), std::string(node.def().name), "", "", -1, 0, 0});
}

// What lies in a room is dense.
Status EntryPlanner::exact(const Type& t, std::string_view what, const Node& node) {
  for (const Dim& d : t.shape)
    if (!(capacity(symbols_, d) == d))
      return no_plan(cat(what, " changes its extents and has the bounded extent ", symbols_.pretty(d), ", which has no plan yet; compile ",
                         "without that bound (--dim)"),
                     node);
  return {};
}

// ---- branches

Status EntryPlanner::branch_side(Scope& sc, const Node& node, int side, const std::vector<PlanOperand>& results, bool segments,
                                 std::vector<Step>* into) {
  const Graph& region = sc.g->region(node.regions[static_cast<size_t>(side)]);
  const Position outer = now_;
  if (segments)
    open_segment(into);
  else
    now_ = {into, outer.segment, nullptr, true};
  Scope inner{&region, {}, {}};
  for (size_t k = 0; k < region.inputs().size(); ++k) inner.at[region.inputs()[k]] = sc.at.at(node.operands[k + 1]);
  auto is_room = [&](const PlanOperand& o) { return o.space == PlanOperand::kBuffer && plan_.buffers[o.index].is_room(); };
  for (size_t r = 0; r < results.size(); ++r)
    if (!is_room(results[r]) && !escapes(region, region.outputs()[r])) inner.wanted.try_emplace(region.outputs()[r], results[r]);
  NNC_TRY(walk(inner));
  std::vector<SymbolId> symbols;
  std::vector<Dim> dims;
  for (size_t r = 0; r < results.size(); ++r) {
    const Shape &joined = sc.g->type(node.results[r]).shape, &mine = region.type(region.outputs()[r]).shape;
    for (size_t axis = 0; is_room(results[r]) && axis < joined.size(); ++axis) {
      const auto symbol = joined[axis].as_symbol();
      const auto& bound = node.symbols("result_symbols");
      if (!symbol || std::find(bound.begin(), bound.end(), *symbol) == bound.end()) continue;
      symbols.push_back(*symbol);
      dims.push_back(mine[axis]);
    }
    if (!is_room(results[r])) deliver(inner, region.outputs()[r], results[r], node.loc);
  }
  if (!symbols.empty()) {
    bind_dims(std::move(symbols), std::move(dims), node.loc);
    next_segment();
  }
  for (size_t r = 0; r < results.size(); ++r) {
    if (!is_room(results[r])) continue;
    size_room(results[r], bytes(sc.g->type(node.results[r])), node.loc);
    copy_step(inner.at.at(region.outputs()[r]), results[r], bytes(sc.g->type(node.results[r])), node.loc);
  }
  now_ = outer;
  return {};
}

Status EntryPlanner::branch(Scope& sc, NodeId n) {
  const Node& node = sc.g->node(n);
  const Graph* sides[2] = {&sc.g->region(node.regions[0]), &sc.g->region(node.regions[1])};
  const bool ragged = !node.symbols("result_symbols").empty();
  const bool segments = ragged || binds_symbols(*sides[0]) || binds_symbols(*sides[1]);
  Step s;
  s.kind = StepKind::kIf;
  s.operands = {sc.at.at(node.operands[0])};
  s.locs = s_.locs(node.loc);
  std::vector<PlanOperand> results;
  for (size_t r = 0; r < node.results.size(); ++r) {
    const Type& joined = sc.g->type(node.results[r]);
    bool same = true;
    for (const Graph* g : sides) {
      const Type& t = g->type(g->outputs()[r]);
      if (t == joined) continue;
      same = false;
      NNC_TRY(exact(t, cat("result ", r, " of an If"), node));
    }
    results.push_back(same ? place_result(sc, node.results[r], node.loc) : new_room(joined, node.loc));
  }
  for (size_t k = 1; k < node.operands.size(); ++k) pin(sc.at.at(node.operands[k]));
  const uint32_t number = next_++;
  touch(s.operands[0], number);
  for (int b = 0; b < 2; ++b) NNC_TRY(branch_side(sc, node, b, results, segments, b == 0 ? &s.body : &s.orelse));
  for (size_t k = 1; k < node.operands.size(); ++k) touch(sc.at.at(node.operands[k]), next_ - 1);
  for (size_t r = 0; r < results.size(); ++r) {
    touch(results[r], number);
    touch(results[r], next_ - 1);
    sc.at[node.results[r]] = results[r];
  }
  s.number = number;
  now_.steps->push_back(std::move(s));
  if (ragged) next_segment();
  return {};
}

// ---- loops

struct EntryPlanner::LoopParts {
  explicit LoopParts(const Graph& body) : region(body) {}
  const Graph& region;
  size_t carried = 0, scans = 0;
  bool segments = false;              // the body is a list of segments
  std::vector<PlanOperand> operands;  // trip, condition, carried values, invariants
  std::vector<SymbolId> symbols;      // of carried and stacked extents that change: bound before the loop and at the end of its body
  std::vector<Dim> first, next;       // to these
  std::vector<SymbolId> results;      // what they are called behind the loop
  std::vector<Dim> last;
  std::vector<PlanOperand> stacked;  // rooms, where the number of rounds is not known or the body is segments
  PlanOperand iteration, flag;

  ValueId arg(size_t c) const { return region.inputs()[2 + c]; }
  ValueId out(size_t c) const { return region.outputs()[1 + c]; }
  ValueId element(size_t k) const { return region.outputs()[1 + carried + k]; }
};

// What changes from round to round: its symbols, and the memory that is filled before the first.
Status EntryPlanner::begin_loop(LoopParts& p, Scope& sc, const Node& node) {
  const auto& changing = node.symbols("carried_symbols");
  auto is_changing = [&](const Dim& d) {
    const auto s = d.as_symbol();
    return s && std::find(changing.begin(), changing.end(), *s) != changing.end();
  };
  for (size_t c = 0; c < p.carried; ++c) {
    const Shape &in = p.region.type(p.arg(c)).shape, &out = p.region.type(p.out(c)).shape, &result = sc.g->type(node.results[c]).shape;
    for (size_t axis = 0; axis < in.size(); ++axis) {
      if (!is_changing(in[axis])) continue;
      for (const ValueId v : {p.arg(c), p.out(c)}) NNC_TRY(exact(p.region.type(v), cat("carried value ", c), node));
      p.symbols.push_back(*in[axis].as_symbol());
      p.first.push_back(sc.g->type(node.operands[2 + c]).shape[axis]);
      p.next.push_back(out[axis]);
      p.results.push_back(*result[axis].as_symbol());
      p.last.push_back(in[axis]);
    }
  }
  for (size_t k = 0; k < p.scans; ++k) {
    const Shape &element = p.region.type(p.element(k)).shape, &stacked = sc.g->type(node.results[p.carried + k]).shape;
    for (size_t axis = 0; axis < element.size(); ++axis) {
      if (stacked[axis + 1] == element[axis]) continue;
      NNC_TRY(exact(p.region.type(p.element(k)), cat("stacked value ", k), node));
      // Known behind the loop only: a result of the entry gets its memory when all its extents are known.
      const SymbolId inside = symbols_.data(cat("stacked", symbols_.size()), 0, kDimMax);
      p.symbols.push_back(inside);
      p.first.emplace_back(0);
      p.next.push_back(element[axis]);
      p.results.push_back(*stacked[axis + 1].as_symbol());
      p.last.emplace_back(inside);
    }
    if (p.segments || !node.symbols("trip").empty()) p.stacked.push_back(new_room(sc.g->type(node.results[p.carried + k]), node.loc));
  }
  if (!p.symbols.empty()) {
    bind_dims(p.symbols, p.first, node.loc);
    next_segment();
  }
  for (const PlanOperand& room : p.stacked) size_room(room, 0, node.loc);
  return {};
}

Status EntryPlanner::loop_carries(LoopParts& p, Scope& sc, const Node& node, Scope& inner, Step& s) {
  for (size_t c = 0; c < p.carried; ++c) {
    const ValueId arg = p.arg(c), out = p.out(c);
    const Type &in_type = p.region.type(arg), &out_type = p.region.type(out);
    Carry carry;
    if (p.segments) {
      carry.current = new_room(in_type, node.loc);
      carry.next = out == arg ? carry.current : new_room(out_type, node.loc);
      size_room(carry.current, bytes(in_type), node.loc);
      copy_step(p.operands[2 + c], carry.current, bytes(in_type), node.loc);
      carry.init = carry.current;
    } else {
      carry.init = p.operands[2 + c];
      carry.current = place_result(sc, node.results[c], node.loc);
      if (carry.current.space != PlanOperand::kBuffer) carry.current = new_buffer(bytes(in_type), &in_type, node.loc);
      carry.next = out == arg || mutant("loop_updates_in_place") ? carry.current : new_buffer(bytes(in_type), &in_type, node.loc);
      if (!escapes(p.region, out)) inner.wanted.try_emplace(out, carry.next);
    }
    pin(carry.current);
    pin(carry.next);
    inner.at[arg] = carry.current;
    s.carries.push_back(carry);
  }
  return {};
}

// Carried and stacked values where the next round and the loop find them, then the condition, which may be a carried value of before.
Status EntryPlanner::end_body(LoopParts& p, const Node& node, Scope& inner, Step& s) {
  for (size_t c = 0; c < p.carried; ++c) {
    const Carry& carry = s.carries[c];
    if (p.segments && carry.next != carry.current) size_room(carry.next, bytes(p.region.type(p.out(c))), node.loc);
    deliver(inner, p.out(c), carry.next, node.loc);
  }
  for (size_t k = 0; k < p.stacked.size(); ++k) {
    Step append;
    append.kind = StepKind::kAppend;
    append.operands = {inner.at.at(p.element(k)), p.stacked[k]};
    append.dims = {bytes(p.region.type(p.element(k)))};
    for (const Dim& d : p.region.type(p.element(k)).shape) append.dims.push_back(d);
    append.locs = s_.locs(node.loc);
    push(std::move(append));
  }
  deliver(inner, p.region.outputs()[0], p.flag, node.loc);
  bind_dims(p.symbols, p.next, node.loc);
  return {};
}

void EntryPlanner::loop_lives(const LoopParts& p, const Node& node, Scope& sc, const Step& s, uint32_t end) {
  for (uint32_t at : {s.number, end}) {
    for (const PlanOperand& o : s.operands) touch(o, at);
    for (size_t k = 2; k < p.operands.size(); ++k) touch(p.operands[k], at);
    for (const Carry& c : s.carries) {
      touch(c.current, at);
      touch(c.next, at);
    }
    for (const ScanOut& o : s.scans) touch(o.stacked, at);
  }
  for (size_t c = 0; c < p.carried; ++c) sc.at[node.results[c]] = s.carries[c].current;
  for (size_t k = 0; k < p.scans; ++k) sc.at[node.results[p.carried + k]] = p.stacked.empty() ? s.scans[k].stacked : p.stacked[k];
}

Status EntryPlanner::loop(Scope& sc, NodeId n) {
  const Node& node = sc.g->node(n);
  LoopParts p(sc.g->region(node.regions[0]));
  p.carried = static_cast<size_t>(node.i("carried"));
  p.scans = static_cast<size_t>(node.i("scan"));
  p.segments = !node.symbols("carried_symbols").empty() || binds_symbols(p.region);
  for (size_t k = 0; k < std::max<size_t>(2, node.operands.size()); ++k)
    p.operands.push_back(k < node.operands.size() && node.operands[k].valid() ? sc.at.at(node.operands[k]) : PlanOperand{});
  for (size_t k = 2; k < p.operands.size(); ++k) pin(p.operands[k]);
  NNC_TRY(begin_loop(p, sc, node));

  Step s;
  s.kind = StepKind::kLoop;
  s.locs = s_.locs(node.loc);
  s.symbols = p.symbols;
  if (const auto& trip = node.symbols("trip"); !trip.empty()) s.trip_symbol = trip[0];
  Scope inner{&p.region, {}, {}};
  const Type iteration_type = Type::tensor(DType::kI64, {}), flag_type = Type::tensor(DType::kBool, {});
  p.iteration = new_buffer(8, &iteration_type, node.loc);
  p.flag = new_buffer(1, &flag_type, node.loc);
  s.operands = {p.operands[0], p.operands[1], p.iteration, p.flag};
  inner.at[p.region.inputs()[0]] = p.iteration;
  inner.at[p.region.inputs()[1]] = p.flag;
  for (size_t k = 2 + p.carried; k < p.region.inputs().size(); ++k) inner.at[p.region.inputs()[k]] = p.operands[k];
  NNC_TRY(loop_carries(p, sc, node, inner, s));

  s.number = next_++;
  const Position outer = now_;
  if (p.segments)
    open_segment(&s.body);
  else
    now_ = {&s.body, outer.segment, nullptr, true};
  NNC_TRY(walk(inner));
  NNC_TRY(end_body(p, node, inner, s));
  now_ = outer;
  for (size_t k = 0; p.stacked.empty() && k < p.scans; ++k) {
    ScanOut scan;
    scan.element = inner.at.at(p.element(k));
    scan.bytes = bytes(p.region.type(p.element(k)));
    scan.stacked = place_result(sc, node.results[p.carried + k], node.loc);
    touch(scan.element, next_);
    s.scans.push_back(scan);
  }
  loop_lives(p, node, sc, s, next_++);
  const bool ends = !p.symbols.empty() || s.trip_symbol.valid() || !p.stacked.empty();
  now_.steps->push_back(std::move(s));
  if (!ends) return {};
  bind_dims(p.results, p.last, node.loc);
  next_segment();
  return {};
}

}  // namespace nnc

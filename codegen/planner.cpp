#include "codegen/planner.h"

#include <algorithm>

#include "codegen/entry_planner.h"
#include "ir/base/plan_unpack.h"
#include "ir/builder.h"
#include "ir/support/mutant.h"
#include "ir/support/text.h"
#include "ir/text.h"

namespace nnc {

namespace {

// Last use of every value by position, so that in-place sharing is only with values that die here.
bool dies_at(const Graph& g, ValueId v, NodeId n) {
  for (const Use& u : g.value(v).uses) {
    if (!u.node.valid() && mutant("output_dies_early")) continue;
    if (!u.node.valid()) return false;
    if (u.node == n) continue;
    for (NodeId x = g.node(n).next; x.valid(); x = g.node(x).next)
      if (x == u.node) return false;
  }
  return true;
}

}  // namespace

uint32_t PlannerState::constant(ConstId id) { return constant(id, module.constant(id).dims(), {}); }

uint32_t PlannerState::constant(ConstId id, const std::vector<int64_t>& dims, std::string_view unpack) {
  auto [it, fresh] = constant_ids.try_emplace({id, dims, std::string(unpack)}, static_cast<uint32_t>(out.program.constants.size()));
  if (fresh) {
    out.program.constants.push_back({module.constant_hash(id).hex(), module.constant(id).dtype(), dims, std::string(unpack)});
    out.constants.push_back(id);
  }
  return it->second;
}

std::vector<uint32_t> PlannerState::locs(LocId id) {
  std::vector<uint32_t> ids;
  for (LocId leaf : module.loc_leaves(id)) {
    auto [it, fresh] = sources.try_emplace(leaf, static_cast<uint32_t>(out.program.sources.size()));
    if (fresh) {
      const Loc& l = module.loc(leaf);
      out.program.sources.push_back({l.node.empty() && !l.file.empty() ? cat(l.file, ":", l.line) : l.node, l.op, l.scope});
    }
    ids.push_back(it->second);
  }
  return ids;
}

namespace {
void renumber_kernels(std::vector<Step>& steps, const std::vector<uint32_t>& numbers) {
  for (Step& s : steps) {
    if (s.kind == StepKind::kLaunch) s.kernel = numbers[s.kernel];
    renumber_kernels(s.body, numbers);
    renumber_kernels(s.orelse, numbers);
  }
}
}  // namespace

void PlannerState::draft(Kernel k) {
  Draft& d = drafts.emplace_back(Draft{std::move(k), {}, {}});
  finishing.add([&d] {
    finish_kernel(d.kernel);
    d.hash = kernel_hash(d.kernel);
    d.kernel.name = cat(d.kernel.name, "_", d.hash.substr(0, 16));
    d.made = {d.kernel.name, print_kernel(d.kernel), d.kernel.in_place};
  });
}

void PlannerState::finish_kernels() {
  finishing.finish();
  std::map<std::string_view, uint32_t> known;  // by hash
  std::vector<uint32_t> numbers(drafts.size());
  for (size_t i = 0; i < drafts.size(); ++i) {
    const auto [it, fresh] = known.try_emplace(drafts[i].hash, static_cast<uint32_t>(out.kernels.size()));
    numbers[i] = it->second;
    if (!fresh) continue;
    out.program.kernels.push_back(std::move(drafts[i].made));
    out.kernels.push_back(std::move(drafts[i].kernel));
  }
  for (PlanEntry& e : out.program.entries)
    for (Segment& s : e.segments) renumber_kernels(s.steps, numbers);
}

Result<PlanEntry> EntryPlanner::run() {
  const Graph& g = *entry_.graph;
  plan_.name = entry_.name;
  plan_.profile = entry_.profile;
  Scope top{&g, {}, {}};
  for (size_t i = 0; i < g.inputs().size(); ++i) {
    const Type& t = g.type(g.inputs()[i]);
    const StateId state = i < entry_.args.size() ? entry_.args[i].state : StateId();
    plan_.args.push_back(
        {i < entry_.args.size() ? entry_.args[i].name : "", t.dtype, t.shape, state.valid() ? static_cast<int32_t>(state.v) : -1});
    top.at[g.inputs()[i]] = {state.valid() ? PlanOperand::kState : PlanOperand::kArg, state.valid() ? state.v : static_cast<uint32_t>(i)};
  }
  next_segment();
  // Results are written in place where their producer allows it, else copied at the end, after every check of the step.
  std::map<ValueId, PlanOperand> direct;
  for (size_t o = 0; o < g.outputs().size(); ++o) {
    const Type& t = g.type(g.outputs()[o]);
    const StateId state = o < entry_.results.size() ? entry_.results[o].state : StateId();
    plan_.results.push_back(
        {o < entry_.results.size() ? entry_.results[o].name : "", t.dtype, t.shape, state.valid() ? static_cast<int32_t>(state.v) : -1});
    if (!state.valid() && g.value(g.outputs()[o]).def.valid())
      direct.try_emplace(g.outputs()[o], PlanOperand{PlanOperand::kResult, static_cast<uint32_t>(o)});
  }
  top.wanted = std::move(direct);
  NNC_TRY(walk(top));
  deliver_outputs(g, top);
  number_segments();
  return std::move(plan_);
}

void EntryPlanner::copy_step(const PlanOperand& from, const PlanOperand& to, Dim size, LocId loc) {
  Step copy;
  copy.kind = StepKind::kCopy;
  copy.operands = {from, to};
  copy.dims = {std::move(size)};
  copy.locs = s_.locs(loc);
  push(std::move(copy));
}

// Outputs first, then states: a state's old value is read before anything replaces it.
void EntryPlanner::deliver_outputs(const Graph& g, Scope& top) {
  auto copy_to = [&](size_t o, const PlanOperand& from, const PlanOperand& to) {
    const NodeId def = g.value(g.outputs()[o]).def;
    if (from != to) copy_step(from, to, bytes(g.type(g.outputs()[o])), def.valid() ? g.node(def).loc : LocId());
  };
  std::vector<PlanOperand> from(g.outputs().size());
  for (size_t o = 0; o < from.size(); ++o) {
    from[o] = top.at.at(g.outputs()[o]);
    const int32_t state = plan_.results[o].state;
    if (state < 0) copy_to(o, from[o], {PlanOperand::kResult, static_cast<uint32_t>(o)});
    if (state < 0 || from[o].space != PlanOperand::kState || from[o].index == static_cast<uint32_t>(state)) continue;
    const PlanOperand old = from[o];
    from[o] = new_buffer(bytes(g.type(g.outputs()[o])), &g.type(g.outputs()[o]), LocId());
    copy_to(o, old, from[o]);
  }
  for (size_t o = 0; o < from.size(); ++o)
    if (const int32_t state = plan_.results[o].state; state >= 0) copy_to(o, from[o], {PlanOperand::kState, static_cast<uint32_t>(state)});
}

Dim EntryPlanner::bytes(const Type& t) {
  Dim n = 1;
  for (const Dim& d : t.shape) n = symbols_.mul(n, capacity(symbols_, d));
  const int bits = dtype_bits(t.dtype);
  return bits >= 8 ? symbols_.mul(n, bits / 8) : symbols_.ceildiv(symbols_.mul(n, bits), 8);
}

PlanOperand EntryPlanner::new_buffer(Dim size, const Type* t, LocId loc) {
  PlanBuffer b;
  b.bytes = std::move(size);
  b.first = b.last = next_;
  b.segment = now_.segment;
  if (t) {
    b.dtype = t->dtype;
    b.shape = t->shape;
  }
  b.locs = s_.locs(loc);
  plan_.buffers.push_back(std::move(b));
  return {PlanOperand::kBuffer, static_cast<uint32_t>(plan_.buffers.size() - 1)};
}
void EntryPlanner::touch(const PlanOperand& o, uint32_t step) {
  if (o.space != PlanOperand::kBuffer) return;
  for (int32_t b = static_cast<int32_t>(o.index); b >= 0;
       b = mutant("view_keeps_nothing_alive") ? -1 : plan_.buffers[static_cast<size_t>(b)].alias_of) {
    PlanBuffer& buf = plan_.buffers[static_cast<size_t>(b)];
    buf.first = std::min(buf.first, step);
    if (!mutant("live_range_ends_early")) buf.last = std::max(buf.last, step);
  }
}
Step& EntryPlanner::push(Step s) {
  s.number = next_++;
  for (const PlanOperand& o : s.operands) touch(o, s.number);
  now_.steps->push_back(std::move(s));
  return now_.steps->back();
}
PlanOperand EntryPlanner::place_result(Scope& sc, ValueId v, LocId loc) {
  if (auto it = sc.wanted.find(v); it != sc.wanted.end()) return it->second;
  return new_buffer(bytes(sc.g->type(v)), &sc.g->type(v), loc);
}

Status EntryPlanner::walk(Scope& sc) {
  for (NodeId n = sc.g->first(); n.valid(); n = sc.g->node(n).next) NNC_TRY(node(sc, n));
  return {};
}

Status EntryPlanner::node(Scope& sc, NodeId n) {
  const Node& node = sc.g->node(n);
  switch (node.kind) {
    case OpKind::kConstant: sc.at[node.results[0]] = {PlanOperand::kConstant, s_.constant(node.constant("value"))}; return {};
    case OpKind::kGroup: return group(sc, n, sc.g->region(node.regions[0]));
    case OpKind::kReshape: sc.at[node.results[0]] = sc.at.at(node.operands[0]); return {};
    case OpKind::kUnpack: return unpacked(sc, n);
    case OpKind::kIf: return branch(sc, n);
    case OpKind::kLoop: return loop(sc, n);
    case OpKind::kBindDims: {
      Step s = step(StepKind::kBind, sc, n);
      s.symbols = node.symbols("symbols");
      push(std::move(s));
      next_segment();
      return {};
    }
    case OpKind::kAssertDims: {
      const Shape &a = node.dims("a"), &b = node.dims("b");
      const std::string_view rel = node.s("rel");
      for (size_t i = 0; i < a.size(); ++i) {
        Step s = step(StepKind::kAssertDims, sc, n);
        s.dims = {a[i], b[i]};
        s.rel = rel == "eq" ? Rel::kEq : rel == "ne" ? Rel::kNe : rel == "le" ? Rel::kLe : Rel::kLt;
        s.message = node.s("message");
        push(std::move(s));
      }
      return {};
    }
    case OpKind::kAssertValue: {
      Step s = step(StepKind::kAssertValue, sc, n);
      s.operands.push_back({PlanOperand::kConstant, s_.constant(node.constant("value"))});
      s.message = node.s("message");
      push(std::move(s));
      return {};
    }
    case OpKind::kFail: {
      Step s = step(StepKind::kFail, sc, n);
      s.message = node.s("message");
      for (ValueId r : node.results) sc.at[r] = place_result(sc, r, node.loc);
      push(std::move(s));
      return {};
    }
    default:
      if (node.def().lowering == Lowering::kHost) return host(sc, n);
      return Error(Code::kInternal, cat("the planner met ", node.def().name, ", which outlining should have put into a group"));
  }
}

Step EntryPlanner::step(StepKind kind, Scope& sc, NodeId n) {
  Step s;
  s.kind = kind;
  for (ValueId v : sc.g->node(n).operands) s.operands.push_back(v.valid() ? sc.at.at(v) : PlanOperand{});
  s.locs = s_.locs(sc.g->node(n).loc);
  return s;
}

// The dense form of a stored constant is one of the program's own.
Status EntryPlanner::unpacked(Scope& sc, NodeId n) {
  const Node& node = sc.g->node(n);
  const Node* packed = def_of(*sc.g, node.operands[0]);
  if (!unpacks_constant(*sc.g, node) || node.s("format") != kUnpackPanels)
    return Error(Code::kInternal, "the planner met an unpack that is no constant's");
  std::vector<int64_t> dims;
  for (const Dim& d : sc.g->type(node.results[0]).shape) dims.push_back(d.constant());
  sc.at[node.results[0]] = {PlanOperand::kConstant, s_.constant(packed->constant("value"), dims, kUnpackPanels)};
  return {};
}

Status EntryPlanner::group(Scope& sc, NodeId n, const Graph& region) {
  const Node& node = sc.g->node(n);
  const Digest key = canonical_hash(region);
  auto it = s_.lowered.find(key);
  if (it == s_.lowered.end()) {
    NNC_ASSIGN(LoweredGroup lowered, draft_group(region, s_.target, s_.options));
    const auto first = static_cast<uint32_t>(s_.drafts.size());
    for (LoweredKernel& k : lowered.kernels) s_.draft(std::move(k.kernel));
    it = s_.lowered.emplace(key, std::make_pair(std::move(lowered), first)).first;
  }
  const auto& [lowered, first] = it->second;
  ++s_.out.skeletons[lowered.skeleton];
  std::vector<PlanOperand> in, out, scratch;
  for (ValueId v : node.operands) in.push_back(sc.at.at(v));
  for (size_t r = 0; r < node.results.size(); ++r) out.push_back(group_result(sc, n, lowered, static_cast<uint32_t>(r), in));
  for (const Dim& d : lowered.scratch_bytes) scratch.push_back(new_buffer(capacity(symbols_, d), nullptr, node.loc));
  for (size_t k = 0; k < lowered.kernels.size(); ++k) {
    Step s;
    s.kind = StepKind::kLaunch;
    s.kernel = first + static_cast<uint32_t>(k);
    s.dims = lowered.kernels[k].dims;
    s.locs = s_.locs(node.loc);
    for (const KernelArg& a : lowered.kernels[k].args)
      s.operands.push_back(a.kind == KernelArg::kInput ? in[a.index] : a.kind == KernelArg::kOutput ? out[a.index] : scratch[a.index]);
    push(std::move(s));
  }
  for (size_t r = 0; r < node.results.size(); ++r) {
    touch(out[r], next_ - 1);
    sc.at[node.results[r]] = out[r];
  }
  // A multi-kernel group must keep its inputs until its last kernel.
  for (const PlanOperand& o : in) touch(o, next_ - 1);
  return {};
}

PlanOperand EntryPlanner::group_result(Scope& sc, NodeId n, const LoweredGroup& lowered, uint32_t r, const std::vector<PlanOperand>& in) {
  const Node& node = sc.g->node(n);
  if (auto it = sc.wanted.find(node.results[r]); it != sc.wanted.end()) return it->second;
  for (const auto& [i, o] : lowered.in_place) {
    if (o != r || in[i].space != PlanOperand::kBuffer || !dies_at(*sc.g, node.operands[i], n)) continue;
    if (std::count(node.operands.begin(), node.operands.end(), node.operands[i]) != 1 || shared(in[i], sc, n)) continue;
    if (!(bytes(sc.g->type(node.operands[i])) == bytes(sc.g->type(node.results[r]))) || plan_.buffers[in[i].index].segment != now_.segment)
      continue;
    if (taken_.count({next_, in[i].index})) continue;
    taken_.insert({next_, in[i].index});
    const PlanOperand fresh = new_buffer(bytes(sc.g->type(node.results[r])), &sc.g->type(node.results[r]), node.loc);
    plan_.buffers[fresh.index].alias_of = static_cast<int32_t>(in[i].index);
    return fresh;
  }
  return new_buffer(bytes(sc.g->type(node.results[r])), &sc.g->type(node.results[r]), node.loc);
}

// Another live value (a view, an outer scope's value) uses the same buffer after node n.
bool EntryPlanner::shared(const PlanOperand& o, Scope& sc, NodeId n) {
  if (mutant("in_place_while_shared")) return false;
  if (pinned_.count(o.index)) return true;
  int names = 0;
  for (const auto& [v, at] : sc.at) {
    if (at != o) continue;
    ++names;
    if (!dies_at(*sc.g, v, n)) return true;
  }
  return names == 0;
}

Status EntryPlanner::host(Scope& sc, NodeId n) {
  const Node& node = sc.g->node(n);
  Step s = step(StepKind::kHost, sc, n);
  s.fn = node.def().name;
  if (node.kind == OpKind::kNonZero) {
    s.symbols = node.symbols("count");
  } else if (node.kind == OpKind::kResolveReshape) {
    s.ints = {node.i("allowzero")};
    s.dims = node.dims("input");
  }
  for (ValueId r : node.results) {
    const PlanOperand o = place_host_result(sc, r, node);
    s.operands.push_back(o);
    sc.at[r] = o;
  }
  push(std::move(s));
  if (node.kind == OpKind::kNonZero) next_segment();
  return {};
}

// NonZero's result has room for every element; its count becomes known with the step.
PlanOperand EntryPlanner::place_host_result(Scope& sc, ValueId r, const Node& node) {
  if (node.kind != OpKind::kNonZero) return place_result(sc, r, node.loc);
  Dim n = 8;
  const Type& in = sc.g->type(node.operands[0]);
  n = symbols_.mul(n, std::max(1, in.rank()));
  for (const Dim& d : in.shape) n = symbols_.mul(n, capacity(symbols_, d));
  return new_buffer(n, &sc.g->type(r), node.loc);
}

Result<PlannedProgram> plan_module(Module& module, const Target& target, const LowerOptions& options) {
  module.hash_constants();
  PlannerState s{module, target, options, {}, {}, {}, {}, {}, {}};
  Program& p = s.out.program;
  p.target = target.name;
  p.features = target.features;
  for (size_t i = 0; i < module.states.size(); ++i) {
    const State& st = module.states[StateId(i)];
    PlanState ps{st.name, st.type.dtype, st.type.shape, -1};
    if (st.initial.valid()) ps.initial = static_cast<int32_t>(s.constant(st.initial));
    p.states.push_back(std::move(ps));
  }
  for (const auto& e : module.entries) {
    EntryPlanner planner(s, *e);
    NNC_ASSIGN(PlanEntry plan, planner.run());
    p.entries.push_back(std::move(plan));
  }
  p.symbols = module.symbols;
  s.finish_kernels();
  NNC_TRY(verify_program(p));
  return std::move(s.out);
}

}  // namespace nnc

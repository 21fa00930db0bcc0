#include "codegen/planner.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/base/plan_unpack.h"
#include "ir/builder.h"
#include "ir/support/text.h"
#include "ir/text.h"

namespace nnc {

namespace {

struct SharedState {
  Module& module;
  const Target& target;
  const LowerOptions& options;
  PlannedProgram out;
  std::map<std::string, uint32_t> kernel_ids;                                 // by kernel hash
  std::map<std::pair<ConstId, std::vector<int64_t>>, uint32_t> constant_ids;  // by the extents that the program wants
  std::map<LocId, uint32_t> sources;
  std::map<Digest, std::pair<LoweredGroup, std::vector<uint32_t>>> lowered;  // by canonical hash: kernels' program ids

  uint32_t constant(ConstId id) { return constant(id, module.constant(id).dims(), {}); }
  uint32_t constant(ConstId id, const std::vector<int64_t>& dims, std::string_view unpack) {
    auto [it, fresh] = constant_ids.try_emplace({id, dims}, static_cast<uint32_t>(out.program.constants.size()));
    if (fresh) {
      out.program.constants.push_back({module.constant_hash(id).hex(), module.constant(id).dtype(), dims, std::string(unpack)});
      out.constants.push_back(id);
    }
    return it->second;
  }
  std::vector<uint32_t> locs(LocId id) {
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
  uint32_t kernel(Kernel k) {
    const std::string hash = kernel_hash(k);
    auto [it, fresh] = kernel_ids.try_emplace(hash, static_cast<uint32_t>(out.kernels.size()));
    if (fresh) {
      PlanKernel p;
      p.name = cat(k.name, "_", hash.substr(0, 16));
      k.name = p.name;
      p.text = print_kernel(k);
      p.in_place = k.in_place;
      out.program.kernels.push_back(std::move(p));
      out.kernels.push_back(std::move(k));
    }
    return it->second;
  }
};

// Plans one entry: walks its graph once, making steps and buffers.
class EntryPlanner {
 public:
  EntryPlanner(SharedState& s, const Entry& entry) : s_(s), entry_(entry), symbols_(s.module.symbols) {}

  Result<PlanEntry> run() {
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
    plan_.segments.emplace_back();
    steps_ = &plan_.segments.back().steps;
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
    return std::move(plan_);
  }

 private:
  struct Scope {
    const Graph* g;
    std::map<ValueId, PlanOperand> at;      // where a value lives
    std::map<ValueId, PlanOperand> wanted;  // where a value should be made
  };

  // Outputs first, then states: a state's old value is read before anything replaces it.
  void deliver_outputs(const Graph& g, Scope& top) {
    auto copy_to = [&](size_t o, const PlanOperand& from, const PlanOperand& to) {
      if (from == to) return;
      Step copy;
      copy.kind = StepKind::kCopy;
      copy.operands = {from, to};
      copy.dims = {bytes(g.type(g.outputs()[o]))};
      const NodeId def = g.value(g.outputs()[o]).def;
      if (def.valid()) copy.locs = s_.locs(g.node(def).loc);
      push(std::move(copy));
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
      if (const int32_t state = plan_.results[o].state; state >= 0)
        copy_to(o, from[o], {PlanOperand::kState, static_cast<uint32_t>(state)});
  }

  Dim bytes(const Type& t) {
    Dim n = 1;
    for (const Dim& d : t.shape) n = symbols_.mul(n, capacity(symbols_, d));
    const int bits = dtype_bits(t.dtype);
    return bits >= 8 ? symbols_.mul(n, bits / 8) : symbols_.ceildiv(symbols_.mul(n, bits), 8);
  }
  uint32_t segment() const { return static_cast<uint32_t>(plan_.segments.size() - 1); }

  PlanOperand new_buffer(Dim size, const Type* t, LocId loc) {
    PlanBuffer b;
    b.bytes = std::move(size);
    b.first = b.last = next_;
    b.segment = segment();
    if (t) {
      b.dtype = t->dtype;
      b.shape = t->shape;
    }
    b.locs = s_.locs(loc);
    plan_.buffers.push_back(std::move(b));
    return {PlanOperand::kBuffer, static_cast<uint32_t>(plan_.buffers.size() - 1)};
  }
  void touch(const PlanOperand& o, uint32_t step) {
    if (o.space != PlanOperand::kBuffer) return;
    for (int32_t b = static_cast<int32_t>(o.index); b >= 0; b = plan_.buffers[static_cast<size_t>(b)].alias_of) {
      PlanBuffer& buf = plan_.buffers[static_cast<size_t>(b)];
      buf.first = std::min(buf.first, step);
      buf.last = std::max(buf.last, step);
    }
  }
  Step& push(Step s) {
    s.number = next_++;
    for (const PlanOperand& o : s.operands) touch(o, s.number);
    steps_->push_back(std::move(s));
    return steps_->back();
  }
  PlanOperand place_result(Scope& sc, ValueId v, LocId loc) {
    if (auto it = sc.wanted.find(v); it != sc.wanted.end()) return it->second;
    return new_buffer(bytes(sc.g->type(v)), &sc.g->type(v), loc);
  }

  // Last use of every value by position, so that in-place sharing is only with values that die here.
  static bool dies_at(const Graph& g, ValueId v, NodeId n) {
    for (const Use& u : g.value(v).uses) {
      if (!u.node.valid()) return false;
      if (u.node == n) continue;
      for (NodeId x = g.node(n).next; x.valid(); x = g.node(x).next)
        if (x == u.node) return false;
    }
    return true;
  }

  Status walk(Scope& sc) {
    for (NodeId n = sc.g->first(); n.valid(); n = sc.g->node(n).next) NNC_TRY(node(sc, n));
    return {};
  }

  Status node(Scope& sc, NodeId n) {
    const Node& node = sc.g->node(n);
    switch (node.kind) {
      case OpKind::kConstant: sc.at[node.results[0]] = {PlanOperand::kConstant, s_.constant(node.constant("value"))}; return {};
      case OpKind::kGroup: return group(sc, n, sc.g->region(node.regions[0]));
      case OpKind::kReshape: return view(sc, n);
      case OpKind::kUnpack: return unpacked(sc, n);
      case OpKind::kIf: return branch(sc, n);
      case OpKind::kLoop: return loop(sc, n);
      case OpKind::kBindDims: {
        Step s = step(StepKind::kBind, sc, n);
        s.symbols = node.symbols("symbols");
        push(std::move(s));
        return next_segment();
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

  Step step(StepKind kind, Scope& sc, NodeId n) {
    Step s;
    s.kind = kind;
    for (ValueId v : sc.g->node(n).operands) s.operands.push_back(v.valid() ? sc.at.at(v) : PlanOperand{});
    s.locs = s_.locs(sc.g->node(n).loc);
    return s;
  }

  Status next_segment() {
    if (depth_ > 0)
      return Error(Code::kUnsupportedOp, "a shape that is found inside a loop or branch (bind_dims in a region) has no plan yet");
    plan_.segments.emplace_back();
    steps_ = &plan_.segments.back().steps;
    return {};
  }

  Status view(Scope& sc, NodeId n) {
    const Node& node = sc.g->node(n);
    sc.at[node.results[0]] = sc.at.at(node.operands[0]);
    return {};
  }

  // The dense form of a stored constant is one of the program's own.
  Status unpacked(Scope& sc, NodeId n) {
    const Node& node = sc.g->node(n);
    const Node* packed = def_of(*sc.g, node.operands[0]);
    if (!unpacks_constant(*sc.g, node) || node.s("format") != kUnpackPanels)
      return Error(Code::kInternal, "the planner met an unpack that is no constant's");
    std::vector<int64_t> dims;
    for (const Dim& d : sc.g->type(node.results[0]).shape) dims.push_back(d.constant());
    sc.at[node.results[0]] = {PlanOperand::kConstant, s_.constant(packed->constant("value"), dims, kUnpackPanels)};
    return {};
  }

  Status group(Scope& sc, NodeId n, const Graph& region) {
    const Node& node = sc.g->node(n);
    const Digest key = canonical_hash(region);
    auto it = s_.lowered.find(key);
    if (it == s_.lowered.end()) {
      NNC_ASSIGN(LoweredGroup lowered, lower_group(region, s_.target, s_.options));
      std::vector<uint32_t> ids;
      for (LoweredKernel& k : lowered.kernels) ids.push_back(s_.kernel(k.kernel));
      it = s_.lowered.emplace(key, std::make_pair(std::move(lowered), std::move(ids))).first;
    }
    const auto& [lowered, ids] = it->second;
    ++s_.out.skeletons[lowered.skeleton];
    std::vector<PlanOperand> in, out, scratch;
    for (ValueId v : node.operands) in.push_back(sc.at.at(v));
    for (size_t r = 0; r < node.results.size(); ++r) out.push_back(group_result(sc, n, lowered, static_cast<uint32_t>(r), in));
    for (const Dim& d : lowered.scratch_bytes) scratch.push_back(new_buffer(capacity(symbols_, d), nullptr, node.loc));
    for (size_t k = 0; k < lowered.kernels.size(); ++k) {
      Step s;
      s.kind = StepKind::kLaunch;
      s.kernel = ids[k];
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

  PlanOperand group_result(Scope& sc, NodeId n, const LoweredGroup& lowered, uint32_t r, const std::vector<PlanOperand>& in) {
    const Node& node = sc.g->node(n);
    if (auto it = sc.wanted.find(node.results[r]); it != sc.wanted.end()) return it->second;
    for (const auto& [i, o] : lowered.in_place) {
      if (o != r || in[i].space != PlanOperand::kBuffer || !dies_at(*sc.g, node.operands[i], n)) continue;
      if (std::count(node.operands.begin(), node.operands.end(), node.operands[i]) != 1 || shared(in[i], sc, n)) continue;
      if (!(bytes(sc.g->type(node.operands[i])) == bytes(sc.g->type(node.results[r]))) || plan_.buffers[in[i].index].segment != segment())
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
  bool shared(const PlanOperand& o, Scope& sc, NodeId n) {
    if (pinned_.count(o.index)) return true;
    int names = 0;
    for (const auto& [v, at] : sc.at) {
      if (at != o) continue;
      ++names;
      if (!dies_at(*sc.g, v, n)) return true;
    }
    return names == 0;
  }

  Status host(Scope& sc, NodeId n) {
    const Node& node = sc.g->node(n);
    Step s = step(StepKind::kHost, sc, n);
    s.fn = node.def().name;
    NNC_TRY(host_attributes(node, s));
    for (ValueId r : node.results) {
      const PlanOperand o = place_host_result(sc, r, node);
      s.operands.push_back(o);
      sc.at[r] = o;
    }
    push(std::move(s));
    if (node.kind == OpKind::kNonZero) return next_segment();
    return {};
  }

  // NonZero's result has room for every element; its count becomes known with the step.
  PlanOperand place_host_result(Scope& sc, ValueId r, const Node& node) {
    if (node.kind != OpKind::kNonZero) return place_result(sc, r, node.loc);
    Dim n = 8;
    const Type& in = sc.g->type(node.operands[0]);
    n = symbols_.mul(n, std::max(1, in.rank()));
    for (const Dim& d : in.shape) n = symbols_.mul(n, capacity(symbols_, d));
    return new_buffer(n, &sc.g->type(r), node.loc);
  }

  Status host_attributes(const Node& node, Step& s) {
    if (node.kind == OpKind::kNonZero) {
      s.symbols = node.symbols("count");
    } else if (node.kind == OpKind::kResolveReshape) {
      s.ints = {node.i("allowzero")};
      s.dims = node.dims("input");
    }
    return {};
  }

  // Region bodies are inlined as steps. Values of outer scopes stay alive over the whole region.
  Status body(Scope& inner, std::vector<Step>* into) {
    std::vector<Step>* saved = steps_;
    steps_ = into;
    ++depth_;
    Status st = walk(inner);
    --depth_;
    steps_ = saved;
    return st;
  }
  void pin(const PlanOperand& o) {
    if (o.space == PlanOperand::kBuffer) pinned_.insert(o.index);
  }
  // Copies where a region's output is not yet where it must be.
  void deliver(Scope& inner, ValueId v, const PlanOperand& to, std::vector<Step>* into, LocId loc) {
    const PlanOperand from = inner.at.at(v);
    if (from == to) return;
    std::vector<Step>* saved = steps_;
    steps_ = into;
    Step copy;
    copy.kind = StepKind::kCopy;
    copy.operands = {from, to};
    copy.dims = {bytes(inner.g->type(v))};
    copy.locs = s_.locs(loc);
    push(std::move(copy));
    steps_ = saved;
  }
  // Kernels that the plan itself asks for.
  Status launch_graph(const Graph& g, const std::vector<PlanOperand>& in, const PlanOperand& out, LocId loc, std::vector<Step>* into) {
    NNC_ASSIGN(LoweredGroup lowered, lower_group(g, s_.target, s_.options));
    std::vector<Step>* saved = std::exchange(steps_, into);
    for (LoweredKernel& k : lowered.kernels) {
      Step s;
      s.kind = StepKind::kLaunch;
      s.dims = k.dims;
      s.locs = s_.locs(loc);
      for (const KernelArg& a : k.args) s.operands.push_back(a.kind == KernelArg::kInput ? in[a.index] : out);
      s.kernel = s_.kernel(std::move(k.kernel));
      push(std::move(s));
    }
    steps_ = saved;
    return {};
  }
  Status write_dims(const Shape& dims, const PlanOperand& out, LocId loc, std::vector<Step>* into) {
    Graph g(&s_.module, "dims");
    Builder b(g, loc);
    NNC_ASSIGN(const ValueId v, b.dims_value(dims));
    g.set_outputs({v});
    return launch_graph(g, {}, out, loc, into);
  }
  Error no_plan(std::string what, const Node& node) {
    return Error(Code::kUnsupportedOp, std::move(what)).at({s_.module.loc_str(node.loc), std::string(node.def().name), "", "", -1, 0, 0});
  }
  Status bind(const PlanOperand& extents, std::vector<SymbolId> symbols, LocId loc) {
    Step s;
    s.kind = StepKind::kBind;
    s.operands = {extents};
    s.symbols = std::move(symbols);
    s.locs = s_.locs(loc);
    push(std::move(s));
    return next_segment();
  }
  // The extents of an If's results that depend on the branch taken: what each branch says of them.
  struct BranchExtents {
    std::vector<SymbolId> symbols;
    Shape of[2];
    PlanOperand buffer;
  };
  Result<BranchExtents> branch_extents(Scope& sc, const Node& node) {
    BranchExtents e;
    for (size_t r = 0; r < node.results.size(); ++r) {
      const Shape& joined = sc.g->type(node.results[r]).shape;
      for (size_t axis = 0; axis < joined.size(); ++axis) {
        Dim side[2];
        for (size_t b = 0; b < 2; ++b) {
          const Graph& region = sc.g->region(node.regions[b]);
          side[b] = region.type(region.outputs()[r]).shape[axis];
        }
        if (side[0] == joined[axis] && side[1] == joined[axis]) continue;
        if (depth_ > 0 || !joined[axis].as_symbol())
          return no_plan("an If inside a loop or branch whose results have other extents in each branch has no plan yet", node);
        for (size_t b = 0; b < 2; ++b)
          if (!(capacity(symbols_, side[b]) == side[b]))
            return no_plan("an If whose branches differ in a bounded extent has no plan yet", node);
        e.symbols.push_back(*joined[axis].as_symbol());
        e.of[0].push_back(side[0]);
        e.of[1].push_back(side[1]);
      }
    }
    if (e.symbols.empty()) return e;
    const Type t = Type::tensor(DType::kI64, {Dim(static_cast<int64_t>(e.symbols.size()))});
    e.buffer = new_buffer(bytes(t), &t, node.loc);
    return e;
  }
  PlanOperand branch_result(Scope& sc, const Node& node, size_t r) {
    const Graph &a = sc.g->region(node.regions[0]), &b = sc.g->region(node.regions[1]);
    const Type &then_type = a.type(a.outputs()[r]), &else_type = b.type(b.outputs()[r]), &joined = sc.g->type(node.results[r]);
    if (then_type == joined && else_type == joined) return place_result(sc, node.results[r], node.loc);
    return new_buffer(symbols_.max(bytes(then_type), bytes(else_type)), &joined, node.loc);
  }

  bool escapes(const Graph& region, ValueId v) const {
    return !region.value(v).def.valid() || region.node(region.value(v).def).kind == OpKind::kConstant;
  }

  Status branch(Scope& sc, NodeId n) {
    const Node& node = sc.g->node(n);
    Step s;
    s.kind = StepKind::kIf;
    s.operands = {sc.at.at(node.operands[0])};
    s.locs = s_.locs(node.loc);
    std::vector<PlanOperand> results;
    NNC_ASSIGN(const BranchExtents extents, branch_extents(sc, node));
    for (size_t r = 0; r < node.results.size(); ++r) results.push_back(branch_result(sc, node, r));
    for (size_t k = 1; k < node.operands.size(); ++k) pin(sc.at.at(node.operands[k]));
    const uint32_t number = next_++;
    touch(s.operands[0], number);
    for (int b = 0; b < 2; ++b) {
      const Graph& region = sc.g->region(node.regions[static_cast<size_t>(b)]);
      Scope inner{&region, {}, {}};
      for (size_t k = 0; k < region.inputs().size(); ++k) inner.at[region.inputs()[k]] = sc.at.at(node.operands[k + 1]);
      for (size_t r = 0; r < results.size(); ++r) {
        const ValueId v = region.outputs()[r];
        if (!escapes(region, v)) inner.wanted.try_emplace(v, results[r]);
      }
      std::vector<Step>* into = b == 0 ? &s.body : &s.orelse;
      NNC_TRY(body(inner, into));
      for (size_t r = 0; r < results.size(); ++r) deliver(inner, region.outputs()[r], results[r], into, node.loc);
      if (!extents.symbols.empty()) NNC_TRY(write_dims(extents.of[b], extents.buffer, node.loc, into));
    }
    touch(extents.buffer, number);
    for (size_t k = 1; k < node.operands.size(); ++k) touch(sc.at.at(node.operands[k]), next_ - 1);
    for (size_t r = 0; r < results.size(); ++r) {
      touch(results[r], number);
      touch(results[r], next_ - 1);
      sc.at[node.results[r]] = results[r];
    }
    s.number = number;
    steps_->push_back(std::move(s));
    return extents.symbols.empty() ? Status() : bind(extents.buffer, extents.symbols, node.loc);
  }

  // A loop with stacked results whose trip count is data: room for as many as the trip operand says, made before it runs; the count of
  // those done becomes known behind it.
  struct CountedTrips {
    PlanOperand done;  // buffer, i64
    std::optional<Dim> most;
  };
  Result<CountedTrips> count_trips(Scope& sc, const Node& node, size_t carried, size_t scans) {
    CountedTrips c;
    if (scans == 0 || node.symbols("trip").empty()) {
      if (!node.symbols("trip").empty()) return no_plan("a Loop that counts its iterations without stacking has no plan yet", node);
      return c;
    }
    if (depth_ > 0 || !node.operands[0].valid())
      return no_plan("a Loop with scan outputs needs a trip count, and to be in no other region", node);
    const SymbolId most = symbols_.data(cat("trips", symbols_.size()));
    NNC_TRY(bind(sc.at.at(node.operands[0]), {most}, node.loc));
    c.most = symbols_.max(Dim(most), 0);
    const Type t = Type::tensor(DType::kI64, {Dim(1)});
    c.done = new_buffer(8, &t, node.loc);
    Step zero;
    zero.kind = StepKind::kFill;
    zero.operands = {c.done};
    zero.dims = {Dim(8)};
    push(std::move(zero));
    pin(c.done);
    return c;
  }
  Status count_round(const PlanOperand& iteration, const CountedTrips& trips, LocId loc, std::vector<Step>* into) {
    Graph g(&s_.module, "count");
    Builder b(g, loc);
    const ValueId i = g.add_input(Type::tensor(DType::kI64, {}));
    NNC_ASSIGN(const ValueId one, b.scalar(DType::kI64, 1));
    NNC_ASSIGN(const ValueId next, b.binary(OpKind::kAdd, i, one));
    g.set_outputs({next});
    return launch_graph(g, {iteration}, trips.done, loc, into);
  }

  Status loop(Scope& sc, NodeId n) {
    const Node& node = sc.g->node(n);
    const Graph& region = sc.g->region(node.regions[0]);
    const size_t carried = static_cast<size_t>(node.i("carried")), scans = static_cast<size_t>(node.i("scan"));
    Step s;
    s.kind = StepKind::kLoop;
    s.locs = s_.locs(node.loc);
    NNC_ASSIGN(const CountedTrips trips, count_trips(sc, node, carried, scans));
    const uint32_t number = next_++;
    const Type iter_type = Type::tensor(DType::kI64, {}), flag_type = Type::tensor(DType::kBool, {});
    const PlanOperand iter = new_buffer(8, &iter_type, node.loc), flag = new_buffer(1, &flag_type, node.loc);
    auto operand = [&](size_t k) {
      return k < node.operands.size() && node.operands[k].valid() ? sc.at.at(node.operands[k]) : PlanOperand{};
    };
    s.operands = {operand(0), operand(1), iter, flag};
    Scope inner{&region, {}, {}};
    inner.at[region.inputs()[0]] = iter;
    inner.at[region.inputs()[1]] = flag;
    for (size_t k = 2; k < node.operands.size(); ++k) pin(operand(k));
    for (size_t c = 0; c < carried; ++c) {
      const ValueId arg = region.inputs()[2 + c], out = region.outputs()[1 + c];
      if (!(region.type(arg) == region.type(out)))
        return Error(Code::kUnsupportedOp, "a Loop whose carried value changes its extents has no plan yet")
            .at({s_.module.loc_str(node.loc), "loop", "", "", -1, 0, 0});
      Carry carry;
      carry.init = operand(2 + c);
      carry.current = place_result(sc, node.results[c], node.loc);
      if (carry.current.space != PlanOperand::kBuffer) carry.current = new_buffer(bytes(region.type(arg)), &region.type(arg), node.loc);
      carry.next = out == arg ? carry.current : new_buffer(bytes(region.type(arg)), &region.type(arg), node.loc);
      pin(carry.current);
      pin(carry.next);
      inner.at[arg] = carry.current;
      if (!escapes(region, out)) inner.wanted.try_emplace(out, carry.next);
      s.carries.push_back(carry);
    }
    for (size_t k = 2 + carried; k < region.inputs().size(); ++k) inner.at[region.inputs()[k]] = operand(k);
    NNC_TRY(body(inner, &s.body));
    for (size_t c = 0; c < carried; ++c) deliver(inner, region.outputs()[1 + c], s.carries[c].next, &s.body, node.loc);
    deliver(inner, region.outputs()[0], flag, &s.body, node.loc);  // last: a carried value may be the condition before
    for (size_t k = 0; k < scans; ++k) {
      const ValueId element = region.outputs()[1 + carried + k];
      ScanOut scan;
      scan.element = inner.at.at(element);
      scan.bytes = bytes(region.type(element));
      const Type& stacked = sc.g->type(node.results[carried + k]);
      scan.stacked = trips.most ? new_buffer(symbols_.mul(*trips.most, scan.bytes), &stacked, node.loc)
                                : place_result(sc, node.results[carried + k], node.loc);
      touch(scan.element, next_);
      sc.at[node.results[carried + k]] = scan.stacked;
      s.scans.push_back(scan);
    }
    if (trips.most) NNC_TRY(count_round(iter, trips, node.loc, &s.body));
    const uint32_t end = next_++;
    for (uint32_t at : {number, end}) {
      touch(trips.done, at);
      for (const PlanOperand& o : s.operands) touch(o, at);
      for (size_t k = 2; k < node.operands.size(); ++k) touch(operand(k), at);
      for (const Carry& c : s.carries) {
        touch(c.current, at);
        touch(c.next, at);
      }
      for (const ScanOut& o : s.scans) touch(o.stacked, at);
    }
    for (size_t c = 0; c < carried; ++c) sc.at[node.results[c]] = s.carries[c].current;
    s.number = number;
    steps_->push_back(std::move(s));
    return trips.most ? bind(trips.done, node.symbols("trip"), node.loc) : Status();
  }

  SharedState& s_;
  const Entry& entry_;
  SymbolTable& symbols_;
  PlanEntry plan_;
  std::vector<Step>* steps_ = nullptr;
  uint32_t next_ = 0;
  int depth_ = 0;
  std::set<uint32_t> pinned_;                      // buffers that regions read or carry: never shared in place
  std::set<std::pair<uint32_t, uint32_t>> taken_;  // (step, buffer): aliased by one result only
};

}  // namespace

Result<PlannedProgram> plan_module(Module& module, const Target& target, const LowerOptions& options) {
  SharedState s{module, target, options, {}, {}, {}, {}, {}};
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
  NNC_TRY(verify_program(p));
  return std::move(s.out);
}

}  // namespace nnc

#pragma once
// Plans one entry: walks its graph once, making steps and buffers. Internal to planner.cpp (values, groups, host functions) and
// plan_regions.cpp (branches and loops).

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/planner.h"
#include "ir/support/parallel.h"

namespace nnc {

// What the entries of a program share.
struct PlannerState {
  Module& module;
  const Target& target;
  const LowerOptions& options;
  PlannedProgram out;
  std::map<std::tuple<ConstId, std::vector<int64_t>, std::string>, uint32_t> constant_ids;  // by what the program wants: extents, unpacking
  std::map<LocId, uint32_t> sources;
  struct Draft {  // of a kernel, which other threads finish; steps name it until the end
    Kernel kernel;
    std::string hash;
    PlanKernel made;
  };
  std::deque<Draft> drafts;                                     // of all groups
  std::map<Digest, std::pair<LoweredGroup, uint32_t>> lowered;  // by canonical hash; its first draft

  uint32_t constant(ConstId id);
  uint32_t constant(ConstId id, const std::vector<int64_t>& dims, std::string_view unpack);
  std::vector<uint32_t> locs(LocId id);
  PieceQueue finishing;  // behind the drafts, which it uses until its end

  void draft(Kernel k);
  // Drafts become the program's kernels, each once, and the steps of its entries name those.
  void finish_kernels();
};

class EntryPlanner {
 public:
  EntryPlanner(PlannerState& s, const Entry& entry) : s_(s), entry_(entry), symbols_(s.module.symbols) {}
  Result<PlanEntry> run();

 private:
  struct Scope {
    const Graph* g;
    std::map<ValueId, PlanOperand> at;      // where a value lives
    std::map<ValueId, PlanOperand> wanted;  // where a value should be made
  };

  // ---- buffers and steps
  Dim bytes(const Type& t);
  PlanOperand new_buffer(Dim size, const Type* t, LocId loc);
  void touch(const PlanOperand& o, uint32_t step);
  Step& push(Step s);
  PlanOperand place_result(Scope& sc, ValueId v, LocId loc);
  void copy_step(const PlanOperand& from, const PlanOperand& to, Dim size, LocId loc);
  void deliver_outputs(const Graph& g, Scope& top);

  // ---- nodes
  Status walk(Scope& sc);
  Status node(Scope& sc, NodeId n);
  Step step(StepKind kind, Scope& sc, NodeId n);
  Status unpacked(Scope& sc, NodeId n);
  Status group(Scope& sc, NodeId n, const Graph& region);
  PlanOperand group_result(Scope& sc, NodeId n, const LoweredGroup& lowered, uint32_t r, const std::vector<PlanOperand>& in);
  bool shared(const PlanOperand& o, Scope& sc, NodeId n);
  Status host(Scope& sc, NodeId n);
  PlanOperand place_host_result(Scope& sc, ValueId r, const Node& node);

  // ---- segments (plan_regions.cpp)
  // Where steps go now: a list, and the segment whose steps it holds.
  struct Position {
    std::vector<Step>* steps = nullptr;
    uint32_t segment = 0;
    std::vector<Step>* region = nullptr;  // the list of segments that this one stands in; null: the entry's, or a region without segments
    bool flat = false;                    // in a region without segments: nothing may be bound
  };
  void open_segment(std::vector<Step>* region);
  void next_segment();
  void number_segments();
  void bind_dims(std::vector<SymbolId> symbols, std::vector<Dim> dims, LocId loc);

  // ---- branches and loops (plan_regions.cpp)
  struct LoopParts;
  void pin(const PlanOperand& o);
  PlanOperand new_room(const Type& t, LocId loc);
  void size_room(const PlanOperand& room, Dim size, LocId loc);
  void deliver(Scope& inner, ValueId v, const PlanOperand& to, LocId loc);
  Error no_plan(std::string what, const Node& node) const;
  Status exact(const Type& t, std::string_view what, const Node& node);
  Status branch(Scope& sc, NodeId n);
  Status branch_side(Scope& sc, const Node& node, int side, const std::vector<PlanOperand>& results, bool segments,
                     std::vector<Step>* into);
  Status loop(Scope& sc, NodeId n);
  Status begin_loop(LoopParts& p, Scope& sc, const Node& node);
  Status loop_carries(LoopParts& p, Scope& sc, const Node& node, Scope& inner, Step& s);
  Status end_body(LoopParts& p, const Node& node, Scope& inner, Step& s);
  void loop_lives(const LoopParts& p, const Node& node, Scope& sc, const Step& s, uint32_t end);

  PlannerState& s_;
  const Entry& entry_;
  SymbolTable& symbols_;
  PlanEntry plan_;
  Position now_;
  uint32_t inner_segments_ = 0;  // of regions, numbered from kInner until the entry's own are counted
  static constexpr uint32_t kInner = uint32_t(1) << 30;
  uint32_t next_ = 0;
  std::set<uint32_t> pinned_;                      // buffers that regions read or carry: never shared in place
  std::set<std::pair<uint32_t, uint32_t>> taken_;  // (step, buffer): aliased by one result only
};

}  // namespace nnc

#pragma once
// The passes: one file, one function, one golden folder each, and one line in pipeline.cpp. A pass is a free function on a module; it
// reports how much it changed. The manager (pipeline.h) verifies, logs, dumps and bisects around every pass.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "ir/support/budget.h"

namespace nnc {

// What passes may ask of the target they optimise for, without knowing codegen.
struct TargetFacts {
  std::string name;  // "cpu:x86-64-v4"
  bool cpu = true;
  bool channels_last = true;      // convolutions want NHWC
  bool packed_weights = true;     // constant right operands of contractions are prepacked
  bool reads_rows = false;        // kernels want those dense again where rows are whole vectors: unpacked while uploading
  int64_t attention_width = 256;  // widest head that the skeleton of attention takes; 0: the op is expanded
  int lanes_f32 = 16;
};

struct PassContext {
  const TargetFacts* target = nullptr;  // null in the portable part
  int64_t* rewrites_left = nullptr;     // bisection: null is no limit
  Limits limits;
  int level = 2;             // -O0, -O1, -O2
  int64_t folded_bytes = 0;  // constants made by folding so far
};

using PassFn = Result<int64_t> (*)(Module&, PassContext&);  // number of changes

struct PassInfo {
  std::string_view name;
  std::string_view summary;
  PassFn run;
};

// portable
Result<int64_t> run_canonicalize(Module&, PassContext&);  // one spelling for each meaning: views, trivial ops, shape values into attributes
Result<int64_t> run_fold(Module&, PassContext&);          // constants through eval
Result<int64_t> run_algebra(Module&, PassContext&);       // exact identities; scale and bias of batch norms into constant weights
Result<int64_t> run_raise(Module&, PassContext&);         // spelled-out gelu, norms, softmax, attention, rotary into their ops
Result<int64_t> run_cse(Module&, PassContext&);
Result<int64_t> run_dce(Module&, PassContext&);
Result<int64_t> run_differentiate(Module&, PassContext&);  // entries that ask for a gradient

// per target
Result<int64_t> run_layout(Module&, PassContext&);          // channels-last convolutions, transposes cancelled
Result<int64_t> run_expand(Module&, PassContext&);          // composites that no hero claims
Result<int64_t> run_merge_products(Module&, PassContext&);  // products of one left operand with constant matrices side by side
Result<int64_t> run_prepack(Module&, PassContext&);         // constant right operands into panels
Result<int64_t> run_fuse(Module&, PassContext&);            // decides groups, and outlines each into a `group` op
Result<int64_t> run_outline_single(Module&, PassContext&);  // -O0 and -O1: every compute node its own group

// What skeletons of attention are built for: heads whose width and repetition are known, more than one key, on CUDA no f64. All else is
// expanded.
bool attention_fits(Graph& g, const Node& attention, const TargetFacts& target);

// Moves the nodes of each plan into a `group` op. Plans are disjoint lists in program order, each closed: no path leaves and comes back.
struct GroupPlan {
  std::vector<NodeId> nodes;
  std::vector<NodeId> copies;  // nodes of other places (cheap sources and maps) that this group recomputes
  std::string hero;
};
Status outline_groups(Graph& g, const std::vector<GroupPlan>& groups);
Status outline_rest(Graph& g);  // each compute node outside of groups becomes one

}  // namespace nnc

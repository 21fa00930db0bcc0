#pragma once
// The pass manager and the pipeline: constant lists of passes, with a comment on each entry whose position matters.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "passes/passes.h"

namespace nnc {

struct PassReport {
  std::string name;
  int64_t changes = 0;
  double seconds = 0;
  size_t nodes_before = 0, nodes_after = 0;
};
struct PipelineOptions {
  int level = 2;
  bool verify_each = true;
  int64_t max_rewrites = -1;  // -1: no limit
  std::string stop_after;     // name of the pass after which to stop
  Limits limits;
  std::function<void(const PassReport&, const Module&)> after_each;  // dumps, progress
};

std::span<const PassInfo> simplify_passes();           // run to a fixed point; reaching the cap is an error
std::span<const PassInfo> optimize_passes(int level);  // once each, per target
std::span<const PassInfo> all_passes();

Status run_simplify(Module& m, const PipelineOptions& options = {});
Status run_optimize(Module& m, const TargetFacts& target, const PipelineOptions& options = {});
// "canonicalize,fuse": for tests and `dump --after`. Passes that need a target get `target` or a default CPU.
Status run_named_passes(Module& m, std::string_view list, const TargetFacts* target = nullptr);

}  // namespace nnc

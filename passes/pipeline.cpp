#include "passes/pipeline.h"

#include <chrono>

#include "ir/rewriter.h"
#include "ir/support/text.h"
#include "ir/verifier.h"

namespace nnc {

namespace {

Result<int64_t> run_tidy(Module& m, PassContext& c) {
  int64_t changes = 0;
  for (PassFn pass : {run_canonicalize, run_fold, run_cse, run_dce}) {
    NNC_ASSIGN(const int64_t n, pass(m, c));
    changes += n;
  }
  return changes;
}

constexpr PassInfo kSimplify[] = {
    {"canonicalize", "one spelling for each meaning", run_canonicalize},
    {"fold", "constants through the interpreter", run_fold},
    {"cse", "equal nodes are one", run_cse},
    {"raise", "spelled-out composites become their ops",
     run_raise},  // behind cse: equal operands are one value; before algebra moves their factors elsewhere
    {"algebra", "exact identities; scales and shifts into constant weights", run_algebra},
    {"dce", "what nobody reads goes", run_dce},
};

constexpr PassInfo kDifferentiate{"differentiate", "gradients that entries ask for", run_differentiate};
constexpr PassInfo kLayout{"layout", "convolutions with channels last, transposes cancelled", run_layout};
constexpr PassInfo kExpand{"expand", "composites that no kernel takes whole", run_expand};
constexpr PassInfo kMergeProducts{"merge_products", "products of one left operand with constants as one", run_merge_products};
constexpr PassInfo kPrepack{"prepack", "constant right operands into panels", run_prepack};
constexpr PassInfo kFuse{"fuse", "what shares a kernel, each into a group", run_fuse};
constexpr PassInfo kOutlineSingle{"outline_single", "every compute node its own group", run_outline_single};

// Layout and expansion leave constants to fold and views to cancel.
constexpr PassInfo kTidyLayout{"tidy_layout", "canonicalize, fold, cse after layout", run_tidy};
constexpr PassInfo kTidyExpand{"tidy_expand", "canonicalize, fold, cse after expand", run_tidy};

constexpr PassInfo kOptimize0[] = {kLayout, kExpand, kPrepack, kOutlineSingle};
constexpr PassInfo kOptimize1[] = {kLayout, kTidyLayout, kExpand, kTidyExpand, kPrepack, kOutlineSingle};
constexpr PassInfo kOptimize2[] = {
    kLayout,  // before expand: it moves softmax and norms whole
    kTidyLayout, kExpand, kTidyExpand, kMergeProducts,
    kPrepack,  // after every pass that makes constants of weights
    kFuse,     // last: nothing looks into a group again
};

size_t nodes_of(const Module& m) {
  size_t n = 0;
  for (const auto& e : m.entries) n += e->graph->node_count();
  return n;
}

Result<int64_t> run_one(const PassInfo& pass, Module& m, PassContext& c, const PipelineOptions& o) {
  PassReport report;
  report.name = pass.name;
  report.nodes_before = nodes_of(m);
  const auto begin = std::chrono::steady_clock::now();
  // Passes leave no dead nodes behind and don't count those that they find, so what an importer or a caller left goes first.
  int64_t dead = 0;
  for (const auto& e : m.entries) dead += Rewriter(*e->graph).remove_dead();
  NNC_ASSIGN(report.changes, pass.run(m, c));
  report.changes += dead;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (report.changes > 0)
    for (const auto& e : m.entries) e->graph->compact();
  if (o.verify_each) {
    auto ok = verify_or_error(m);
    if (!ok.ok()) return std::move(ok).error().with(cat("  after pass ", pass.name));
  }
  report.nodes_after = nodes_of(m);
  if (o.after_each) o.after_each(report, m);
  return report.changes;
}

}  // namespace

std::span<const PassInfo> simplify_passes() { return kSimplify; }
std::span<const PassInfo> optimize_passes(int level) {
  if (level <= 0) return kOptimize0;
  return level == 1 ? std::span<const PassInfo>(kOptimize1) : std::span<const PassInfo>(kOptimize2);
}
std::span<const PassInfo> all_passes() {
  static const std::vector<PassInfo> all = [] {
    std::vector<PassInfo> list(std::begin(kSimplify), std::end(kSimplify));
    list.insert(list.end(), std::begin(kOptimize2), std::end(kOptimize2));
    list.push_back(kOutlineSingle);
    list.push_back(kDifferentiate);
    return list;
  }();
  return all;
}

Status run_simplify(Module& m, const PipelineOptions& o) {
  PassContext c;
  c.limits = o.limits;
  int64_t left = o.max_rewrites;
  if (left >= 0) c.rewrites_left = &left;
  constexpr int kRounds = 16;
  for (int round = 0; round < kRounds; ++round) {
    int64_t changes = 0;
    for (const PassInfo& p : simplify_passes()) {
      NNC_ASSIGN(const int64_t n, run_one(p, m, c, o));
      changes += n;
      if (p.name == o.stop_after) return {};
    }
    if (changes == 0) return {};
  }
  return Error(Code::kInternal, cat("simplification did not settle in ", kRounds, " rounds"));
}

Status run_optimize(Module& m, const TargetFacts& target, const PipelineOptions& o) {
  PassContext c;
  c.target = &target;
  c.limits = o.limits;
  c.level = o.level;
  int64_t left = o.max_rewrites;
  if (left >= 0) c.rewrites_left = &left;
  for (const PassInfo& p : optimize_passes(o.level)) {
    NNC_ASSIGN(const int64_t n, run_one(p, m, c, o));
    (void)n;
    if (p.name == o.stop_after) return {};
  }
  return {};
}

Status run_named_passes(Module& m, std::string_view list, const TargetFacts* target) {
  static const TargetFacts cpu{};
  PassContext c;
  c.target = target ? target : &cpu;
  PipelineOptions o;
  for (std::string_view name : split(list, ',')) {
    const PassInfo* found = nullptr;
    for (const PassInfo& p : all_passes())
      if (p.name == trim(name)) found = &p;
    if (!found) return Error(Code::kUnknownName, cat("there is no pass \"", name, "\""));
    NNC_ASSIGN(const int64_t n, run_one(*found, m, c, o));
    (void)n;
  }
  return {};
}

}  // namespace nnc

// Differential testing with random graphs: the interpreter against compiled programs at every level and target, twice, and with other
// extents in the same session; natively compiled kernels against interpreted ones to the last bit; text against text.
// `random_graphs [--seed S] [--count N] [--found FOLDER] [--targets cpu:vm,cpu:x86-64-v3,cuda-emu:sm_80] [--levels 0,1,2] [--slow-share P]
// [--nvrtc N]
// [--shares] [--parallel K] [--stop K] [--reduce K] [--text]`: without a seed, one is drawn and printed; targets but the first get P % of
// the graphs, CUDA ones at the last level; NVRTC compiles the kernels of N graphs; --shares fails where the figures fall short; --stop ends
// after K failures; the first K failures are reduced to what they need; --found runs the graphs of a folder's files instead, each of which
// has to be compared. Exit code 1 if one fails.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "tests/conformance/compiled_batch.h"
#include "tests/conformance/isolated.h"
#include "tests/fuzz/compare.h"
#include "tests/fuzz/figures.h"
#include "tests/fuzz/found.h"
#include "tests/fuzz/reduce.h"

namespace {

using namespace nnc;
using test::CompiledBatch;
using test::RandomGraph;

constexpr size_t kSlice = 30;  // graphs that share compilation units
constexpr const char* kNvrtcTarget = "cuda:sm_80";

struct Options {
  uint64_t seed = 0;
  size_t count = 60, reduce = 3, stop = SIZE_MAX, nvrtc = 0, parallel = 1;
  int slow_share = 100;
  std::vector<std::string> targets = {"cpu:vm"};
  std::vector<int> levels = {0, 1, 2};
  std::vector<std::string> found;  // files instead of seeds
  bool text = false, shares = false;

  // Whole slices, spread evenly, so that what a share saves is compilers' starts.
  bool takes(size_t item, size_t target, int level) const {
    const size_t slice = item / kSlice;
    // CUDA kernels are made at the highest level alone: the levels differ in passes, and these are the same for every target.
    if (targets[target].starts_with("cuda") && level != levels.back()) return false;
    return target == 0 || (slice + 1) * static_cast<size_t>(slow_share) / 100 > slice * static_cast<size_t>(slow_share) / 100;
  }
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string text_trip(const Module& m) {
  const std::string text = print_module(m);
  auto source = open_constants_side_file(constants_side_file(m));
  if (!source.ok()) return source.error().str();
  auto again = parse_module(text, *source);
  if (!again.ok()) return cat("its text does not parse: ", again.error().str());
  return print_module(**again) == text ? std::string() : std::string("its text prints differently after parsing");
}

// One graph's way through all targets and levels.
struct Case {
  size_t item = 0;
  RandomGraph graph;
  std::string failure;
  bool elsewhere = false;                             // answers of other extents were compared
  std::map<std::pair<size_t, int>, size_t> compiled;  // by target and level
  test::GroupFacts groups;
};

// Seconds of a slice by target: passes and lowering, the compiler, running.
struct Times {
  double passes = 0, build = 0, run = 0;
};

class Slice {
 public:
  Slice(std::vector<Case>& cases, const Options& o, const test::ItemReporter& report)
      : cases_(cases), o_(o), report_(report), times_(o.targets.size()) {}

  void run() {
    for (const std::string& t : o_.targets) {
      auto made = CompiledBatch::create(t, 1, SIZE_MAX);
      if (!made.ok()) {
        std::fprintf(stderr, "%s\n", made.error().str().c_str());
        return;
      }
      batches_.push_back(std::move(made).value());
    }
    for (Case& c : cases_) {
      report_.at(c.item);
      compile(c);
    }
    build();
    nvrtc();
    for (Case& c : cases_) {
      report_.at(c.item);
      if (c.failure.empty()) run(c);
      report(c);
    }
  }

 private:
  bool takes(const Case& c, size_t target, int level) const { return o_.takes(c.item, target, level); }

  void compile(Case& c) {
    if (const Status s = verify_or_error(*c.graph.module); !s.ok()) {
      c.failure = cat("verifier: ", s.error().str());
      return;
    }
    c.failure = text_trip(*c.graph.module);
    for (size_t t = 0; t < batches_.size() && c.failure.empty(); ++t)
      for (const int level : o_.levels) {
        if (!takes(c, t, level)) continue;
        const double start = now();
        const auto copy = c.graph.module->clone();
        const auto added = batches_[t].add(*copy, level);
        times_[t].passes += now() - start;
        if (!added.ok()) {
          c.failure = cat("compile ", o_.targets[t], " -O", level, ": ", added.error().str());
          return;
        }
        c.compiled[{t, level}] = *added;
        if (level == 2 && t == 0) c.groups = test::look_at_groups(*batches_[t].program(*added).module->entries[0]->graph);
      }
  }

  void build() {
    report_.at(cases_.front().item);
    std::vector<Status> built(batches_.size());
    std::vector<std::thread> threads;
    for (size_t t = 0; t < batches_.size(); ++t)
      threads.emplace_back([&, t] {
        const double start = now();
        built[t] = batches_[t].build();
        times_[t].build = now() - start;
      });
    for (std::thread& t : threads) t.join();
    for (const Status& s : built)
      if (!s.ok())
        for (Case& c : cases_)
          if (c.failure.empty()) c.failure = cat("compiler: ", s.error().str());
  }

  // Of the first graphs of the run, whose seeds are random already.
  void nvrtc() {
    if (cases_.front().item >= o_.nvrtc) return;
    auto batch = CompiledBatch::create(kNvrtcTarget, 1, SIZE_MAX);
    if (!batch.ok()) return fail_all(batch.error());
    for (Case& c : cases_) {
      if (!c.failure.empty() || c.item >= o_.nvrtc) continue;
      report_.at(c.item);
      const auto copy = c.graph.module->clone();
      if (const auto added = batch->add(*copy, 2); !added.ok()) c.failure = cat("compile ", kNvrtcTarget, ": ", added.error().str());
    }
    report_.at(cases_.front().item);
    if (const Status s = batch->build(); !s.ok()) fail_all(s.error());
  }
  void fail_all(const Error& e) {
    for (Case& c : cases_)
      if (c.failure.empty()) c.failure = cat("NVRTC: ", e.str());
  }

  void run(Case& c) {
    const auto want = test::reference(c.graph, c.graph.inputs);
    if (!want.ok()) {
      c.failure = cat(o_.found.empty() ? "skip: " : "not comparable: ", want.error().str());
      return;
    }
    // Other extents may leave what indices and windows of a drawn graph were made for: then the interpreter refuses them, and nothing is
    // compared.
    auto other = c.graph.other.empty() ? Result<test::Reference>(Error(Code::kInternal, "")) : test::reference(c.graph, c.graph.other);
    if (!c.graph.other.empty() && !other.ok() && !o_.found.empty()) {
      c.failure = cat("other extents are not comparable: ", other.error().str());
      return;
    }
    c.elsewhere = other.ok() && differ(c.graph.inputs, c.graph.other) &&
                  std::ranges::any_of(other->rounded, [](const Tensor& t) { return t.count() != 0; });
    for (size_t t = 0; t < batches_.size(); ++t)
      for (const int level : o_.levels) {
        if (!takes(c, t, level) || !c.failure.empty()) continue;
        const double start = now();
        std::string why = run_one(c, t, level, *want, other.ok() ? &*other : nullptr);
        times_[t].run += now() - start;
        if (!why.empty()) c.failure = cat(o_.targets[t], " -O", level, ": ", why);
      }
  }

  static bool differ(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    return !std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return x.dims() == y.dims(); });
  }

  std::string run_one(const Case& c, size_t t, int level, const test::Reference& want, const test::Reference* other) {
    auto session = batches_[t].session(c.compiled.at({t, level}));
    if (!session.ok()) return session.error().str();
    auto got = (*session)->run("main", c.graph.inputs);
    if (!got.ok()) return got.error().str();
    for (size_t k = 0; k < got->size(); ++k)
      if (const std::string why = test::difference(c.graph, k, (*got)[k], want); !why.empty()) return cat("output ", k, ": ", why);
    if (o_.targets[t].starts_with("cpu:x86")) {
      auto interpreted = batches_[t].session(c.compiled.at({t, level}), true);
      const auto bits = interpreted.ok() ? (*interpreted)->run("main", c.graph.inputs) : Result<std::vector<Tensor>>(interpreted.error());
      if (!bits.ok()) return cat("interpreted: ", bits.error().str());
      for (size_t k = 0; k < got->size(); ++k)
        if (!test::same_bits((*got)[k], (*bits)[k])) return cat("output ", k, ": not equal to its own interpretation to the last bit");
    }
    if (other != nullptr) {
      auto elsewhere = (*session)->run("main", c.graph.other);
      if (!elsewhere.ok()) return cat("other extents: ", elsewhere.error().str());
      for (size_t k = 0; k < elsewhere->size(); ++k)
        if (const std::string why = test::difference(c.graph, k, (*elsewhere)[k], *other); !why.empty())
          return cat("other extents, output ", k, ": ", why);
    }
    auto again = (*session)->run("main", c.graph.inputs);
    for (size_t k = 0; k < got->size(); ++k)
      if (!again.ok() || !test::same_bits((*got)[k], (*again)[k])) return cat("output ", k, ": a second run gives another answer");
    return {};
  }

  // "g h groups elsewhere" and, with the slice's last graph, the times.
  void report(const Case& c) {
    if (!c.failure.empty()) {
      report_.done(c.item, {c.failure.starts_with("skip") ? "skip" : "FAIL", c.failure});
      return;
    }
    std::string facts =
        cat(c.groups.group_of_three ? 1 : 0, " ", c.groups.hero_with_epilogue ? 1 : 0, " ", c.groups.groups, " ", c.elsewhere ? 1 : 0);
    if (&c == &cases_.back())
      for (const Times& t : times_) append(facts, " ", t.passes, " ", t.build, " ", t.run);
    report_.done(c.item, {"pass", facts});
  }

  std::vector<Case>& cases_;
  const Options& o_;
  const test::ItemReporter& report_;
  std::vector<CompiledBatch> batches_;
  std::vector<Times> times_;
};

std::string failure_of(RandomGraph graph, const Options& options) {
  Options o = options;
  o.slow_share = 100;
  o.nvrtc = 0;
  std::vector<Case> one(1);
  one[0].graph = std::move(graph);
  std::string failure;
  test::run_isolated(
      1, {.slice = 1, .seconds = 60, .last_words = 6000},
      [&](const std::vector<size_t>&, const test::ItemReporter& report) { Slice(one, o, report).run(); },
      [&](size_t, const test::ItemResult& r) {
        failure = r.status == "FAIL" || r.status == "crash" ? cat(r.status, " ", r.reason) : std::string();
      });
  return failure;
}

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

RandomGraph graph_of(const Options& o, size_t item) {
  if (o.found.empty()) return test::random_graph(o.seed + item);
  auto made = test::found_graph(o.found[item]);
  if (!made.ok()) refuse(made.error().str());
  return std::move(made).value();
}
std::string name_of(const Options& o, size_t item) { return o.found.empty() ? cat("seed ", o.seed + item) : o.found[item]; }

struct Totals {
  std::map<std::string, int> counts;
  std::vector<uint64_t> failed;
  std::vector<Times> times;

  void add_facts(const Options& o, const std::string& facts, test::Figures& figures) {
    const std::vector<std::string_view> words = split(facts, ' ');
    int64_t groups = 0;
    (void)parse_int(words[2], &groups);
    figures.add(test::GroupFacts{words[0] == "1", words[1] == "1", static_cast<int>(groups)}, words[3] == "1");
    times.resize(o.targets.size());
    for (size_t t = 0; 4 + 3 * t + 2 < words.size() && t < times.size(); ++t) {
      double* const to[] = {&times[t].passes, &times[t].build, &times[t].run};
      for (size_t k = 0; k < 3; ++k) {
        double v = 0;
        if (parse_double(words[4 + 3 * t + k], &v)) *to[k] += v;
      }
    }
  }
};

Options parse_options(int argc, char** argv) {
  Options o;
  bool seeded = false;
  for (int k = 1; k < argc; ++k) {
    const std::string arg = argv[k];
    const auto next = [&] { return k + 1 < argc ? std::string(argv[++k]) : std::string(); };
    const auto number = [&] { return static_cast<size_t>(std::strtoull(next().c_str(), nullptr, 10)); };
    if (arg == "--seed") {
      o.seed = number();
      seeded = true;
    } else if (arg == "--count") {
      o.count = number();
      if (o.count == 0) refuse("--count: a number of graphs above 0 is expected");
    } else if (arg == "--reduce") {
      o.reduce = number();
    } else if (arg == "--stop") {
      o.stop = number();
    } else if (arg == "--parallel") {
      o.parallel = std::max<size_t>(1, number());
    } else if (arg == "--nvrtc") {
      o.nvrtc = number();
    } else if (arg == "--slow-share") {
      o.slow_share = static_cast<int>(number());
    } else if (arg == "--targets") {
      const std::string list = next();
      o.targets.clear();
      for (const std::string_view t : split(list, ',')) o.targets.emplace_back(t);
    } else if (arg == "--levels") {
      const std::string list = next();
      o.levels.clear();
      for (const std::string_view l : split(list, ',')) o.levels.push_back(std::atoi(std::string(l).c_str()));
    } else if (arg == "--found") {
      auto files = test::found_files(next());
      if (!files.ok()) refuse(files.error().str());
      o.found = std::move(files).value();
      o.count = o.found.size();
      o.reduce = 0;
    } else if (arg == "--text") {
      o.text = true;
    } else if (arg == "--shares") {
      o.shares = true;
    } else {
      refuse("unknown option " + arg);
    }
  }
  if (!seeded) o.seed = std::random_device{}() % 1000000000u;
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse_options(argc, argv);
  std::printf("seed %llu, %zu graphs\n", static_cast<unsigned long long>(o.seed), o.count);
  std::fflush(stdout);
  test::Figures figures;
  for (size_t k = 0; k < o.count; ++k) {
    const RandomGraph r = graph_of(o, k);
    figures.add(r);
    if (o.text) std::fputs(print_module(*r.module).c_str(), stdout);
  }
  Totals totals;
  const auto work = [&](const std::vector<size_t>& items, const test::ItemReporter& report) {
    std::vector<Case> cases(items.size());
    for (size_t k = 0; k < items.size(); ++k) {
      cases[k].item = items[k];
      report.at(items[k]);
      cases[k].graph = graph_of(o, items[k]);
    }
    Slice(cases, o, report).run();
  };
  const auto result = [&](size_t item, const test::ItemResult& r) {
    ++totals.counts[r.status];
    if (r.status == "pass") {
      totals.add_facts(o, r.reason, figures);
      return;
    }
    std::printf("%-5s %s  %s\n", r.status.c_str(), name_of(o, item).c_str(), r.reason.c_str());
    std::fflush(stdout);
    if (r.status != "skip") totals.failed.push_back(o.seed + item);
  };
  const double start = now();
  test::run_isolated(o.count,
                     {.slice = kSlice, .parallel = o.parallel, .seconds = 300, .stop = [&] { return totals.failed.size() >= o.stop; }},
                     work, result);
  for (size_t k = 0; k < std::min(o.reduce, totals.failed.size()); ++k) {
    std::printf("reduced: seed %llu\n", static_cast<unsigned long long>(totals.failed[k]));
    test::reduce_and_print(totals.failed[k], [&](RandomGraph g) { return failure_of(std::move(g), o); });
  }
  figures.print();
  for (size_t t = 0; t < totals.times.size(); ++t)
    std::printf("%s: %.1f s of passes and lowering, %.1f s of the compiler, %.1f s of runs\n", o.targets[t].c_str(), totals.times[t].passes,
                totals.times[t].build, totals.times[t].run);
  bool ok = totals.failed.empty();
  if (o.shares)
    for (const std::string& s : figures.shortfalls()) {
      std::printf("FALLS SHORT %s\n", s.c_str());
      ok = false;
    }
  // A graph that nothing could compare is not one that agrees.
  if (o.shares && static_cast<size_t>(totals.counts["skip"]) * 50 > o.count) {
    std::printf("FALLS SHORT skipped: %d of %zu graphs, 2 %% at most\n", static_cast<int>(totals.counts["skip"]), o.count);
    ok = false;
  }
  std::string verdict;
  for (const auto& [status, n] : totals.counts) append(verdict, verdict.empty() ? "" : ", ", n, " ", status);
  std::printf("%s; seed %llu, targets %s, levels %s, NVRTC on %zu, %.0f s\n", verdict.c_str(), static_cast<unsigned long long>(o.seed),
              join(o.targets, " ").c_str(), join(o.levels, " ", [](int l) { return l; }).c_str(), std::min(o.nvrtc, o.count),
              now() - start);
  return ok ? 0 : 1;
}

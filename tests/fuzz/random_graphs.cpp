// Differential testing with random graphs: the interpreter against compiled programs at every level and target; natively compiled kernels
// against interpreted ones to the last bit; text against text. `random_graphs [--seed S] [--count N] [--targets cpu:vm,cpu:x86-64-v3]
// [--levels 0,1,2] [--reduce K] [--text]`; without a seed, one is drawn and printed. Failures print their seed and, for the first K, the
// graph reduced to what is needed. Exit code 1 if there is one.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "ir/eval.h"
#include "ir/rewriter.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "passes/rules.h"
#include "tests/conformance/compiled_batch.h"
#include "tests/conformance/isolated.h"
#include "tests/fuzz/generator.h"

namespace {

using namespace nnc;
using test::CompiledBatch;
using test::RandomGraph;

struct Options {
  uint64_t seed = 0;
  size_t count = 60, reduce = 3;
  std::vector<std::string> targets = {"cpu:vm"};
  std::vector<int> levels = {0, 1, 2};
  bool text = false;
};

double unit_of(DType t) {
  switch (t) {
    case DType::kF16: return 0x1p-10;
    case DType::kBF16: return 0x1p-7;
    case DType::kF64: return 0x1p-52;
    default: return 0x1p-23;
  }
}
double largest(DType t) { return t == DType::kF16 ? 65504 : t == DType::kF64 ? 1e308 : 3e38; }

// Anchored in f64: the error may be a small multiple of what the interpreter, which rounds after each op, makes itself, and a few units in
// the last place. Sums have the bound of their length, and what cancels that of the values it came from.
struct Scale {
  double length = 1, size = 0;
};
std::string far(const Tensor& got, const Tensor& want, const EvalTensor& anchor, const Scale& scale) {
  if (got.dtype() != want.dtype() || got.dims() != want.dims()) return "dtype or extents differ";
  if (!is_float(want.dtype())) {
    for (int64_t k = 0; k < want.count(); ++k)
      if (got.i64(k) != want.i64(k)) return cat("element ", k, ": ", got.i64(k), ", expected ", want.i64(k));
    return {};
  }
  const double u = unit_of(want.dtype());
  double own = 0, size = std::min(scale.size, 1e3) / 32;
  for (int64_t k = 0; k < want.count(); ++k) {
    const double w = want.f64(k), a = anchor.as_f64(k);
    if (!std::isfinite(w) || !std::isfinite(a)) continue;
    own = std::max(own, std::fabs(w - a));
    size = std::max(size, std::fabs(a));
  }
  for (int64_t k = 0; k < want.count(); ++k) {
    const double g = got.f64(k), w = want.f64(k);
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    if (std::isfinite(g) && std::isfinite(w) &&
        std::fabs(g - w) <=
            4 * own + (64 + 4 * std::sqrt(scale.length)) * u * std::fabs(w) + (8 + std::sqrt(scale.length)) * u * size + 1e-30)
      continue;
    if (std::fabs(w) > 0.9 * largest(want.dtype()) && std::fabs(g) > 0.9 * largest(want.dtype()) && std::signbit(w) == std::signbit(g))
      continue;
    return cat("element ", k, ": ", g, ", expected ", w, ", in f64 ", anchor.as_f64(k));
  }
  return {};
}

std::string text_trip(const Module& m) {
  const std::string text = print_module(m);
  auto source = open_constants_side_file(constants_side_file(m));
  if (!source.ok()) return source.error().str();
  auto again = parse_module(text, *source);
  if (!again.ok()) return cat("its text does not parse: ", again.error().str());
  return print_module(**again) == text ? std::string() : std::string("its text prints differently after parsing");
}

struct Reference {
  std::vector<Tensor> rounded;
  std::vector<EvalTensor> anchored;
  Scale scale;
};
Result<Reference> reference(const RandomGraph& r) {
  Reference out;
  EvalOptions traced;
  traced.trace = [&](NodeId, std::span<const EvalTensor> results) {
    for (const EvalTensor& t : results) {
      out.scale.length = std::max(out.scale.length, static_cast<double>(t.count()));
      for (const double v : t.f)
        if (std::isfinite(v)) out.scale.size = std::max(out.scale.size, std::fabs(v));
    }
  };
  for (const Tensor& t : r.inputs) out.scale.length = std::max(out.scale.length, static_cast<double>(t.count()));
  NNC_ASSIGN(out.rounded, Interpreter(*r.module, traced).run_entry("main", r.inputs));
  EvalOptions options;
  options.anchored = true;
  std::vector<EvalTensor> args;
  for (const Tensor& t : r.inputs) args.push_back(EvalTensor::from(t));
  NNC_ASSIGN(out.anchored, Interpreter(*r.module, options).run(*r.module->entries[0]->graph, std::move(args)));
  return out;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  for (int64_t k = 0; k < a.count(); ++k) {
    if (!is_float(a.dtype())) {
      if (a.i64(k) != b.i64(k)) return false;
      continue;
    }
    const double x = a.f64(k), y = b.f64(k);
    if (!(std::isnan(x) && std::isnan(y)) && (x != y || std::signbit(x) != std::signbit(y))) return false;
  }
  return true;
}

// One graph's way through all targets and levels.
struct Case {
  size_t item = 0;
  RandomGraph graph;
  std::string failure;
  std::map<std::pair<size_t, int>, size_t> compiled;  // by target and level
  bool big_group = false, hero_with_more = false;
};

void look_at_groups(const Graph& g, Case& c) {
  for (const NodeId n : g.order()) {
    if (g.node(n).kind != OpKind::kGroup) continue;
    const Graph& body = g.region(g.node(n).regions[0]);
    bool hero = false;
    for (const NodeId k : body.order()) hero = hero || body.node(k).def().lowering == Lowering::kHero;
    c.big_group = c.big_group || body.order().size() >= 3;
    c.hero_with_more = c.hero_with_more || (hero && body.order().size() >= 2);
  }
}

void compile_case(Case& c, std::vector<CompiledBatch>& batches, const Options& o) {
  if (const Status s = verify_or_error(*c.graph.module); !s.ok()) {
    c.failure = cat("verifier: ", s.error().str());
    return;
  }
  c.failure = text_trip(*c.graph.module);
  for (size_t t = 0; t < batches.size() && c.failure.empty(); ++t)
    for (const int level : o.levels) {
      const auto copy = c.graph.module->clone();
      const auto added = batches[t].add(*copy, level);
      if (!added.ok()) {
        c.failure = cat("compile ", o.targets[t], " -O", level, ": ", added.error().str());
        return;
      }
      c.compiled[{t, level}] = *added;
      if (level == 2) look_at_groups(*batches[t].program(*added).module->entries[0]->graph, c);
    }
}

void run_case(Case& c, const std::vector<CompiledBatch>& batches, const Options& o) {
  const auto want = reference(c.graph);
  if (!want.ok()) {
    c.failure = cat("skip: ", want.error().str());
    return;
  }
  std::map<int, std::vector<Tensor>> of_vm;
  for (size_t t = 0; t < batches.size(); ++t)
    for (const int level : o.levels) {
      const std::string where = cat(o.targets[t], " -O", level, ": ");
      auto session = batches[t].session(c.compiled.at({t, level}));
      auto got = session.ok() ? (*session)->run("main", c.graph.inputs) : Result<std::vector<Tensor>>(session.error());
      if (!got.ok()) {
        c.failure = cat(where, got.error().str());
        return;
      }
      auto again = (*session)->run("main", c.graph.inputs);
      for (size_t k = 0; k < got->size(); ++k) {
        std::string why = far((*got)[k], want->rounded[k], want->anchored[k], want->scale);
        if (why.empty() && (!again.ok() || !same_bits((*got)[k], (*again)[k]))) why = "a second run gives another answer";
        if (why.empty() && of_vm.count(level) && o.targets[t].starts_with("cpu") && !same_bits((*got)[k], of_vm[level][k]))
          why = "not equal to cpu:vm to the last bit";
        if (why.empty()) continue;
        c.failure = cat(where, "output ", k, ": ", why);
        return;
      }
      if (o.targets[t] == "cpu:vm") of_vm[level] = std::move(*got);
    }
}

void run_cases(std::vector<Case>& cases, const Options& o, const test::ItemReporter& report) {
  std::vector<CompiledBatch> batches;
  batches.reserve(o.targets.size());
  for (const std::string& t : o.targets) {
    auto made = CompiledBatch::create(t);
    if (!made.ok()) {
      std::fprintf(stderr, "%s\n", made.error().str().c_str());
      return;
    }
    batches.push_back(std::move(made).value());
  }
  for (Case& c : cases) {
    report.at(c.item);
    compile_case(c, batches, o);
  }
  for (CompiledBatch& b : batches) {
    report.at(cases.front().item);
    if (const Status s = b.build(); !s.ok())
      for (Case& c : cases)
        if (c.failure.empty()) c.failure = cat("compiler: ", s.error().str());
  }
  for (Case& c : cases) {
    report.at(c.item);
    if (c.failure.empty()) run_case(c, batches, o);
    const std::string facts = cat(c.big_group ? "g" : "", c.hero_with_more ? "h" : "");
    report.done(c.item, {c.failure.empty()               ? "pass"
                         : c.failure.starts_with("skip") ? "skip"
                                                         : "FAIL",
                         c.failure.empty() ? facts : c.failure});
  }
}

// ---- reduction: the graph of some nodes alone, what they read given as arguments

struct Trace {
  std::map<ValueId, Tensor> values;
};

std::optional<RandomGraph> part_of(const RandomGraph& r, const std::set<NodeId>& nodes, const Trace& trace) {
  const Graph& g = *r.module->entries[0]->graph;
  RandomGraph out;
  out.module = std::make_unique<Module>();
  out.module->symbols = r.module->symbols;
  Entry& e = out.module->add_entry("main");
  Graph& to = *e.graph;
  std::map<ValueId, ValueId> at;
  const auto value = [&](ValueId v) {
    if (!v.valid() || at.count(v)) return v.valid() ? at[v] : v;
    at[v] = to.add_input(g.type(v));
    e.args.push_back({cat("x", e.args.size()), {}});
    out.inputs.push_back(trace.values.at(v));
    return at[v];
  };
  std::vector<ValueId> outputs;
  for (const NodeId n : g.order()) {
    const Node& node = g.node(n);
    if (node.kind == OpKind::kConstant) {
      bool used = false;
      for (const Use& u : g.value(node.results[0]).uses) used = used || (u.node.valid() && nodes.count(u.node));
      if (!used) continue;
    } else if (!nodes.count(n)) {
      continue;
    }
    std::vector<ValueId> operands;
    for (const ValueId v : node.operands) operands.push_back(value(v));
    AttrList attrs = attr_list_of(node);
    if (node.kind == OpKind::kConstant) attrs = {{"value", out.module->add_constant(r.module->constant(node.constant("value")))}};
    const auto id = to.append(node.kind, std::move(operands), std::move(attrs), {});
    if (!id.ok()) return std::nullopt;
    for (size_t k = 0; k < node.results.size(); ++k) at[node.results[k]] = to.node(*id).results[k];
    if (node.kind == OpKind::kConstant) continue;
    for (const ValueId v : node.results) {
      bool leaves = g.value(v).uses.empty();
      for (const Use& u : g.value(v).uses) leaves = leaves || !u.node.valid() || !nodes.count(u.node);
      if (leaves) outputs.push_back(at[v]);
    }
  }
  to.set_outputs(outputs);
  for (size_t k = 0; k < outputs.size(); ++k) e.results.push_back({cat("y", k), {}});
  return out;
}

std::string failure_of(RandomGraph graph, const Options& o) {
  std::vector<Case> one(1);
  one[0].graph = std::move(graph);
  std::string failure;
  test::run_isolated(
      1, {.slice = 1, .seconds = 60, .last_words = 6000},
      [&](const std::vector<size_t>&, const test::ItemReporter& report) { run_cases(one, o, report); },
      [&](size_t, const test::ItemResult& r) {
        failure = r.status == "FAIL" || r.status == "crash" ? cat(r.status, " ", r.reason) : std::string();
      });
  return failure;
}

void reduce(uint64_t seed, const Options& o) {
  const RandomGraph r = test::random_graph(seed);
  const Graph& g = *r.module->entries[0]->graph;
  Trace trace;
  for (size_t k = 0; k < r.inputs.size(); ++k) trace.values[g.inputs()[k]] = r.inputs[k];
  EvalOptions options;
  options.trace = [&](NodeId n, std::span<const EvalTensor> results) {
    for (size_t k = 0; k < results.size(); ++k) trace.values[g.node(n).results[k]] = results[k].to_tensor();
  };
  if (!Interpreter(*r.module, options).run_entry("main", r.inputs).ok()) return;
  std::set<NodeId> nodes;
  for (const NodeId n : g.order())
    if (g.node(n).kind != OpKind::kConstant) nodes.insert(n);
  const auto fails = [&](const std::set<NodeId>& some) {
    if (some.empty()) return std::string();
    auto part = part_of(r, some, trace);
    return part ? failure_of(std::move(*part), o) : std::string();
  };
  std::string why = fails(nodes);
  if (why.empty()) {
    std::printf("  the failure needs the whole graph:\n%s", print_module(*r.module).c_str());
    return;
  }
  for (size_t size = (nodes.size() + 1) / 2; size >= 1; size /= 2)
    for (bool again = true; again && nodes.size() > 1;) {
      again = false;
      const std::vector<NodeId> all(nodes.begin(), nodes.end());
      for (size_t k = 0; k < all.size() && nodes.size() > 1; k += size) {
        std::set<NodeId> fewer = nodes;
        for (size_t j = k; j < std::min(all.size(), k + size); ++j) fewer.erase(all[j]);
        if (const std::string still = fails(fewer); !still.empty()) {
          nodes = fewer;
          why = still;
          again = true;
        }
      }
    }
  const auto part = part_of(r, nodes, trace);
  std::printf("  %s\n%s", why.c_str(), print_module(*part->module).c_str());
  std::printf("  argument extents:");
  for (const Tensor& t : part->inputs) std::printf(" [%s]", join(t.dims(), ",", [](int64_t d) { return d; }).c_str());
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  bool seeded = false;
  for (int k = 1; k < argc; ++k) {
    const std::string arg = argv[k];
    const auto next = [&] { return k + 1 < argc ? std::string(argv[++k]) : std::string(); };
    if (arg == "--seed") {
      o.seed = std::strtoull(next().c_str(), nullptr, 10);
      seeded = true;
    } else if (arg == "--count") {
      o.count = std::strtoull(next().c_str(), nullptr, 10);
    } else if (arg == "--reduce") {
      o.reduce = std::strtoull(next().c_str(), nullptr, 10);
    } else if (arg == "--targets") {
      const std::string list = next();
      o.targets.clear();
      for (const std::string_view t : split(list, ',')) o.targets.emplace_back(t);
    } else if (arg == "--levels") {
      const std::string list = next();
      o.levels.clear();
      for (const std::string_view l : split(list, ',')) o.levels.push_back(std::atoi(std::string(l).c_str()));
    } else if (arg == "--text") {
      o.text = true;
    }
  }
  if (!seeded) o.seed = std::random_device{}() % 1000000000u;
  std::printf("seed %llu, %zu graphs\n", static_cast<unsigned long long>(o.seed), o.count);
  std::map<std::string, int> counts, rows;
  size_t symbolic = 0, grouped = 0, heroes = 0;
  for (size_t k = 0; k < o.count; ++k) {
    const RandomGraph r = test::random_graph(o.seed + k);
    symbolic += r.symbolic;
    const Graph& g = *r.module->entries[0]->graph;
    for (const NodeId n : g.order()) ++rows[std::string(g.node(n).def().name)];
    if (o.text) std::fputs(print_module(*r.module).c_str(), stdout);
  }
  std::vector<uint64_t> failed;
  const auto work = [&](const std::vector<size_t>& items, const test::ItemReporter& report) {
    std::vector<Case> cases(items.size());
    for (size_t k = 0; k < items.size(); ++k) {
      cases[k].item = items[k];
      cases[k].graph = test::random_graph(o.seed + items[k]);
    }
    run_cases(cases, o, report);
  };
  test::run_isolated(o.count, {.slice = 30}, work, [&](size_t item, const test::ItemResult& r) {
    ++counts[r.status];
    grouped += r.status == "pass" && r.reason.find('g') != std::string::npos;
    heroes += r.status == "pass" && r.reason.find('h') != std::string::npos;
    if (r.status == "pass") return;
    std::printf("%-5s seed %llu  %s\n", r.status.c_str(), static_cast<unsigned long long>(o.seed + item), r.reason.c_str());
    std::fflush(stdout);
    if (r.status != "skip") failed.push_back(o.seed + item);
  });
  for (size_t k = 0; k < std::min(o.reduce, failed.size()); ++k) {
    std::printf("reduced: seed %llu\n", static_cast<unsigned long long>(failed[k]));
    reduce(failed[k], o);
  }
  std::printf("rows:");
  for (const auto& [name, n] : rows) std::printf(" %s %d", name.c_str(), n);
  std::printf(
      "\n%zu with symbolic extents, of those that pass %zu with a group of three nodes or more, %zu with a hero and what follows it\n",
      symbolic, grouped, heroes);
  for (const auto& [status, n] : counts) std::printf("%s %d\n", status.c_str(), n);
  return failed.empty() ? 0 : 1;
}

// What passes make of real models: `pass_models MODEL.onnx [--dim NAME=N|LO..HI[/MULTIPLE]] [--level N] [--text] [--times] [--each]
// [--check [EXTENT]]` imports, simplifies, optimises for a default CPU, and prints nodes and groups. With --each, every pass must report a
// change exactly where the text changes, and the text must parse back. With --check the module is evaluated before and after on random
// inputs. Exit code 1 where a pass fails or results differ.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "frontend/onnx/importer.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/unit/passes/equivalence.h"

namespace {

using namespace nnc;

struct Counts {
  std::map<std::string, int> groups, others;
};

void count(const Graph& g, Counts& c) {
  for (NodeId id : g.order()) {
    const Node& n = g.node(id);
    if (n.kind == OpKind::kGroup) {
      ++c.groups[std::string(n.s("hero"))];
      continue;
    }
    for (RegionId r : n.regions) count(g.region(r), c);
    if (n.kind != OpKind::kConstant) ++c.others[std::string(n.def().name)];
  }
}

std::string listed(const std::map<std::string, int>& counts) {
  return join(counts, ", ", [](const auto& e) { return cat(e.first, " ", e.second); });
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  ImportOptions import;
  import.profiles.emplace_back();
  PipelineOptions options;
  bool text = false, check = false, times = false, each = false;
  test::EquivalenceOptions equivalence;
  equivalence.rel = 1e-4;
  equivalence.abs = 1e-5;
  equivalence.must_run = true;
  for (int k = 2; k < argc; ++k) {
    const std::string_view a = argv[k];
    if (a == "--text") text = true;
    if (a == "--times") times = true;
    if (a == "--each") each = true;
    if (a == "--level" && k + 1 < argc) options.level = std::atoi(argv[++k]);
    if (a == "--check") {
      check = true;
      if (k + 1 < argc && argv[k + 1][0] != '-') equivalence.extent = std::atoi(argv[++k]);
    }
    if (a == "--dim" && k + 1 < argc) {
      const std::string spec = argv[++k];
      const size_t eq = spec.find('='), dots = spec.find("..");
      const int64_t lo = std::atoll(spec.c_str() + eq + 1), hi = dots == std::string::npos ? lo : std::atoll(spec.c_str() + dots + 2);
      const size_t slash = spec.find('/');
      const int64_t multiple = slash == std::string::npos ? 1 : std::atoll(spec.c_str() + slash + 1);
      import.profiles[0].dims[spec.substr(0, eq)] = {lo, hi, dots == std::string::npos ? lo : std::min<int64_t>(hi, 128), multiple};
    }
  }
  auto module = import_onnx_file(argv[1], import);
  if (!module.ok()) {
    std::printf("FAIL %s\n", module.error().str().c_str());
    return 1;
  }
  const std::unique_ptr<Module> before = check ? (*module)->clone() : nullptr;
  if (times)
    options.after_each = [](const PassReport& r, const Module&) {
      std::printf("  %-16s %6lld changes, %5zu -> %5zu nodes, %.3f s\n", r.name.c_str(), static_cast<long long>(r.changes), r.nodes_before,
                  r.nodes_after, r.seconds);
    };
  std::string last;
  int wrong = 0;
  if (each) {
    last = print_module(**module);
    options.after_each = [&](const PassReport& r, const Module& m) {
      const std::string text_now = print_module(m);
      if ((text_now != last) != (r.changes > 0)) {
        std::printf("  FAIL %s reports %lld changes, its text %s\n", r.name.c_str(), static_cast<long long>(r.changes),
                    text_now == last ? "is the same" : "differs");
        ++wrong;
      }
      last = text_now;
      const auto source = open_constants_side_file(constants_side_file(m));
      const auto again = parse_module(text_now, source.ok() ? *source : ConstantSource());
      if (!again.ok() || print_module(**again) != text_now) {
        std::printf("  FAIL %s: the text does not parse back: %s\n", r.name.c_str(),
                    again.ok() ? "prints differently" : again.error().str().substr(0, 300).c_str());
        ++wrong;
      }
    };
  }
  const double start = now();
  const size_t nodes = (*module)->entries[0]->graph->node_count();
  Status s = run_simplify(**module, options);
  const size_t simplified = (*module)->entries[0]->graph->node_count();
  const double middle = now();
  static const TargetFacts cpu{};
  if (s.ok()) s = run_optimize(**module, cpu, options);
  if (!s.ok()) {
    std::printf("FAIL %s\n", s.error().str().c_str());
    return 1;
  }
  Counts c;
  for (const auto& e : (*module)->entries) count(*e->graph, c);
  int total = 0;
  for (const auto& [name, n] : c.groups) total += n;
  std::printf("%s: %zu nodes, simplified %zu (%.2f s), %d groups (%s); outside: %s (%.2f s)\n", argv[1], nodes, simplified, middle - start,
              total, listed(c.groups).c_str(), listed(c.others).c_str(), now() - middle);
  if (wrong > 0) return 1;
  if (text) std::fputs(print_module(**module, {.locations = false}).c_str(), stdout);
  if (check) {
    const std::string problem = test::compare(*before, **module, equivalence);
    std::printf("  evaluated before and after: %s\n", problem.empty() ? "the same" : problem.c_str());
    if (!problem.empty()) return 1;
  }
  return 0;
}

// Holds what `nnc dump` wrote about one model against its promises: `dump_check FOLDER`. In the folder lie the files of `--after-each`
// (index.txt, numbered .nnir files, constants.bin) and plan.txt of `--plan`. Every file must parse and print to the same bytes; a file
// differs from the one before exactly where the index has changes; every kernel has a step, every step and every buffer leads to a node of
// the model. Prints one line of figures, one more for each fault; exit code 1 if there is one.

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "ir/base/plan.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "ir/text.h"

namespace {

using namespace nnc;

int g_faults = 0;
void fault(const std::string& text) {
  if (++g_faults <= 20) std::printf("  FAULT %s\n", text.c_str());
}

std::string read_text(const std::string& path) {
  auto bytes = read_file(path, int64_t(4) << 30);
  if (bytes.ok()) return std::string(bytes->begin(), bytes->end());
  std::printf("%s\n", bytes.error().str().c_str());
  std::exit(2);
}

// A line of the index: "03-raise.nnir  2 changes, 90 -> 88 nodes".
struct Pass {
  std::string file;
  bool imported = false;
  int64_t changes = 0;
};
std::vector<Pass> read_index(const std::string& folder) {
  std::vector<Pass> out;
  const std::string index = read_text(cat(folder, "/index.txt"));
  for (const std::string_view line : split(index, '\n')) {
    const size_t gap = line.find("  ");
    if (gap == std::string_view::npos) continue;
    const std::string_view what = trim(line.substr(gap));
    Pass p{std::string(line.substr(0, gap)), what == "as imported", 0};
    if (!p.imported && !parse_int(what.substr(0, what.find(' ')), &p.changes)) fault(cat("index.txt: no number of changes in: ", line));
    out.push_back(std::move(p));
  }
  return out;
}

size_t check_passes(const std::string& folder) {
  auto constants = open_constants_side_file(read_text(cat(folder, "/constants.bin")));
  if (!constants.ok()) {
    fault(constants.error().str());
    return 0;
  }
  std::string before;
  const std::vector<Pass> passes = read_index(folder);
  for (const Pass& p : passes) {
    std::string text = read_text(cat(folder, "/", p.file));
    const auto module = parse_module(text, *constants);
    if (!module.ok()) {
      fault(cat(p.file, " does not parse: ", module.error().str().substr(0, 300)));
    } else if (print_module(**module) != text) {
      fault(cat(p.file, " prints differently after parsing"));
    }
    if (!p.imported && (text != before) != (p.changes > 0))
      fault(cat(p.file, ": the pass reports ", p.changes, " changes, its text ", text == before ? "is the same" : "differs"));
    before = std::move(text);
  }
  if (passes.size() < 10) fault(cat("only ", passes.size(), " files of passes"));
  return passes.size();
}

class PlanCheck {
 public:
  explicit PlanCheck(const Program& p) : p_(p) {}

  void run() {
    for (const PlanEntry& e : p_.entries) {
      for (size_t b = 0; b < e.buffers.size(); ++b) {
        ++buffers;
        if (leads(e.buffers[b].locs)) continue;
        ++lost_buffers;
        fault(cat("entry ", e.name, " ", e.profile, ": buffer b", b, " (life ", e.buffers[b].first, "-", e.buffers[b].last,
                  ") leads to no node"));
      }
      for (const Segment& s : e.segments) steps_of(e, s.steps);
    }
    for (uint32_t k = 0; k < p_.kernels.size(); ++k)
      if (!launched_.count(k)) fault(cat("kernel ", p_.kernels[k].name, " has no step"));
  }

  size_t buffers = 0, lost_buffers = 0, launches = 0, lost_launches = 0, others = 0, lost_others = 0;

 private:
  bool leads(const std::vector<uint32_t>& locs) const {
    for (const uint32_t l : locs)
      if (l < p_.sources.size() && !p_.sources[l].node.empty()) return true;
    return false;
  }
  void steps_of(const PlanEntry& e, const std::vector<Step>& steps) {
    for (const Step& s : steps) {
      const bool launch = s.kind == StepKind::kLaunch;
      ++(launch ? launches : others);
      if (launch) launched_.insert(s.kernel);
      if (!leads(s.locs)) {
        ++(launch ? lost_launches : lost_others);
        fault(cat("entry ", e.name, " ", e.profile, ": step ", s.number,
                  launch ? cat(", kernel ", p_.kernels[s.kernel].name) : std::string(), ", leads to no node"));
      }
      steps_of(e, s.body);
      steps_of(e, s.orelse);
      for (const Alternative& a : s.alternatives) steps_of(e, a.steps);
    }
  }
  const Program& p_;
  std::set<uint32_t> launched_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: dump_check FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  const size_t files = check_passes(folder);
  const auto program = parse_program(read_text(cat(folder, "/plan.txt")));
  if (!program.ok()) {
    fault(cat("plan.txt does not parse: ", program.error().str()));
    return 1;
  }
  PlanCheck plan(*program);
  plan.run();
  std::printf("%zu files, kernels %zu of %zu, other steps %zu of %zu, buffers %zu of %zu lead to nodes, %d faults\n", files,
              plan.launches - plan.lost_launches, plan.launches, plan.others - plan.lost_others, plan.others,
              plan.buffers - plan.lost_buffers, plan.buffers, g_faults);
  return g_faults == 0 ? 0 : 1;
}

// ONNX's public node tests through importer, verifier and either the reference interpreter or, with a target, compiler and session. One
// line per test, `pass`, `wrong`, `disputed` (the expectation is), `deferred` or `out_of_scope` (refused, and
// tests/conformance/deferred.tsv names it), `unsupported` (refused and not named), `crash` or `error` with the reason, then the counts: of
// the tests whose operators are all in scope (tests/conformance/scope.tsv), and of the others.
// `node_runner [PART-OF-NAME ...] [--target T] [--level N] [--only STATUS] [--values never|needed|always] [--corpus node] [--text]
//              [--sample COUNT]`
//
// Inputs that decide structure (axes, repeats) are given to the importer as values of a profile where it asks for them, as `nnc run` does;
// `always` gives all small integer inputs. `error` is a model that was refused for another reason than a missing operator. Whatever is
// neither passed, disputed nor named in the list is a failure: exit code 1. So is a refused operator in scope, or more deferred tests there
// than agreed. `--sample` takes that many tests, always the same.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/model.h"
#include "frontend/onnx/tensor.h"
#include "ir/eval.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "tests/conformance/compiled_batch.h"
#include "tests/conformance/isolated.h"

namespace {

using namespace nnc;
using test::CompiledBatch;

constexpr int64_t kMaxFile = int64_t(1) << 30;
constexpr int64_t kMaxValueElements = 64;
constexpr int kMostDeferred = 110;  // of the tests in scope

struct Options {
  std::vector<std::string> parts;
  std::string only, values = "needed", corpus = "node", target;
  int level = 2;
  size_t sample = 0;
  bool text = false;
};
struct Outcome {
  std::string status, reason, op;
};
// A test between import and run.
struct Prepared {
  size_t item = 0;
  std::string folder, name;
  size_t outputs = 0;
  std::vector<Tensor> inputs;
  std::unique_ptr<Module> module;
  size_t compiled = 0;
};

// The relative part of the bar by dtype: f32 as exact as the corpus allows, 16-bit floats one step. Some expectations have four digits
// only.
double relative_bar(DType t, bool coarse) {
  if (coarse) return 1e-3;
  switch (t) {
    case DType::kF16: return 9.8e-4;
    case DType::kBF16: return 7.9e-3;
    default: return 1e-5;
  }
}

std::string compare(const Tensor& got, const Tensor& want, bool coarse) {
  if (got.dtype() != want.dtype()) return cat("dtype ", dtype_name(got.dtype()), ", expected ", dtype_name(want.dtype()));
  if (got.dims() != want.dims()) {
    const auto list = [](const Tensor& t) { return join(t.dims(), ",", [](int64_t d) { return d; }); };
    return cat("extents [", list(got), "], expected [", list(want), "]");
  }
  if (got.dtype() == DType::kString) return got.strings() == want.strings() ? std::string() : std::string("strings differ");
  if (is_int(got.dtype()) || got.dtype() == DType::kBool) {
    for (int64_t i = 0; i < want.count(); ++i) {
      if (got.i64(i) != want.i64(i)) return cat("element ", i, ": ", got.i64(i), ", expected ", want.i64(i));
    }
    return {};
  }
  if (!is_float(got.dtype())) return got.same_bits(want) ? std::string() : std::string("bits differ");
  const double rtol = relative_bar(got.dtype(), coarse);
  for (int64_t i = 0; i < want.count(); ++i) {
    const double a = got.f64(i), b = want.f64(i);
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 1e-7 + rtol * std::fabs(b)) continue;
    return cat("element ", i, ": ", a, ", expected ", b);
  }
  return {};
}

bool is_coarse(std::string_view name) {
  // tests/conformance/doubtful.tsv, kind "coarse".
  for (const std::string_view part : {"averagepool_2d_ceil_last_window_starts_on_pad", "roialign_aligned", "gridsample_bicubic"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// tests/conformance/doubtful.tsv: expectations that a right implementation does not give.
bool is_disputed(std::string_view name) {
  for (const std::string_view part :
       {"test_resize_downsample_scales_linear_align_corners", "test_resize_downsample_scales_cubic_align_corners", "test_bernoulli",
        "test_dft_inverse", "test_maxunpool_export_with_output_shape", "test_roialign_mode_max"}) {
    if (name.starts_with(part)) return true;
  }
  return false;
}

Result<std::vector<Tensor>> read_tensors(const std::string& folder, std::string_view kind, size_t count) {
  std::vector<Tensor> out;
  for (size_t k = 0; k < count; ++k) {
    NNC_ASSIGN(const Bytes bytes, read_file(cat(folder, "/test_data_set_0/", kind, "_", k, ".pb"), kMaxFile));
    NNC_ASSIGN(Tensor t, onnx::read_tensor_pb(bytes));
    out.push_back(std::move(t));
  }
  return out;
}

bool may_be_value(const Tensor& t) {
  return (is_int(t.dtype()) || t.dtype() == DType::kBool || is_float(t.dtype())) && t.rank() <= 1 && t.count() <= kMaxValueElements;
}

Outcome failure(const Error& e) {
  std::string text = e.message;
  if (!e.place.node.empty()) text = cat(e.place.op, ": ", text);
  return {e.code == Code::kUnsupportedOp ? "unsupported" : "error", text, e.place.op};
}

// Reads, imports and verifies; an outcome where that is the end.
std::optional<Outcome> prepare(Prepared& p, const Options& options) {
  auto file = read_file(cat(p.folder, "/model.onnx"), kMaxFile);
  if (!file.ok()) return failure(file.error());
  auto interface = read_onnx_interface(*file);
  if (!interface.ok()) return failure(interface.error());
  const bool tensors =
      std::ranges::all_of(interface->inputs, &OnnxArg::is_tensor) && std::ranges::all_of(interface->outputs, &OnnxArg::is_tensor);
  if (tensors) {
    auto read = read_tensors(p.folder, "input", interface->inputs.size());
    if (!read.ok()) return failure(read.error());
    p.inputs = std::move(*read);
  }
  p.outputs = interface->outputs.size();
  ImportOptions import;
  import.profiles.resize(1);
  const auto give_values = [&](bool floats) {
    for (size_t k = 0; k < p.inputs.size(); ++k) {
      if (may_be_value(p.inputs[k]) && (floats || !is_float(p.inputs[k].dtype())))
        import.profiles[0].values[interface->inputs[k].name] = p.inputs[k];
    }
  };
  if (options.values == "always") give_values(false);
  auto module = import_onnx(*file, import);
  if (!module.ok() && module.error().code == Code::kNeedDims && options.values != "never") {
    give_values(true);
    module = import_onnx(*file, import);
  }
  if (!module.ok()) return failure(module.error());
  p.module = std::move(*module);
  if (options.text) std::fputs(print_module(*p.module).c_str(), stdout);
  if (!tensors) return Outcome{"unsupported", "a sequence, optional or map at the model's edge", ""};
  if (Status s = verify_or_error(*p.module); !s.ok()) return failure(s.error());
  return std::nullopt;
}

Outcome judge(const Prepared& p, const Result<std::vector<Tensor>>& results) {
  if (!results.ok()) return failure(results.error());
  auto expected = read_tensors(p.folder, "output", p.outputs);
  if (!expected.ok()) return failure(expected.error());
  if (results->size() != expected->size()) return {"wrong", cat(results->size(), " outputs, expected ", expected->size()), ""};
  for (size_t k = 0; k < expected->size(); ++k) {
    if (const std::string why = compare((*results)[k], (*expected)[k], is_coarse(p.name)); !why.empty())
      return {is_disputed(p.name) ? "disputed" : "wrong", cat("output ", k, ": ", why), ""};
  }
  return {"pass", {}, ""};
}

// tests/conformance/deferred.tsv: tests that wait, and operators outside the scope.
struct Deferred {
  std::map<std::string, std::string> tests, operators;

  Outcome apply(const std::string& test, Outcome o) const {
    if (o.status != "unsupported") return o;
    if (const auto it = tests.find(test); it != tests.end()) return {"deferred", cat(it->second, ": ", o.reason), o.op};
    if (operators.count(o.op)) o.status = "out_of_scope";
    return o;
  }
};

// Rows of a table beside this file, without its head.
Result<std::vector<std::vector<std::string>>> read_table(std::string_view name, size_t columns) {
  const char* source = std::getenv("NNC_SOURCE_DIR");
  NNC_ASSIGN(const Bytes bytes, read_file(cat(source != nullptr ? source : ".", "/tests/conformance/", name), kMaxFile));
  std::vector<std::vector<std::string>> rows;
  for (const std::string_view line : split(text_of(bytes), '\n')) {
    const auto fields = split(line, '\t');
    if (fields.size() == columns) rows.emplace_back(fields.begin(), fields.end());
  }
  if (rows.size() < 2) return Error(Code::kInvalidData, cat("tests/conformance/", name, " has no rows"));
  rows.erase(rows.begin());
  return rows;
}

Result<Deferred> read_deferred() {
  NNC_ASSIGN(const auto rows, read_table("deferred.tsv", 3));
  Deferred d;
  for (const auto& row : rows) (row[0] == "test" ? d.tests : d.operators)[row[1]] = row[2];
  return d;
}

// tests/conformance/scope.tsv, and whether a test has operators of it alone.
class OperatorScope {
 public:
  static Result<OperatorScope> read() {
    NNC_ASSIGN(const auto rows, read_table("scope.tsv", 2));
    OperatorScope s;
    for (const auto& row : rows) s.operators_.insert(row[0]);
    return s;
  }
  bool holds(const std::string& folder) const {
    auto file = read_file(cat(folder, "/model.onnx"), kMaxFile);
    if (!file.ok()) return true;
    Budget budget;
    auto model = onnx::read_model(*file, budget);
    if (!model.ok() || !model->graph) return true;
    return holds(model->graph->nodes) &&
           std::ranges::all_of(model->functions, [&](const onnx::FunctionProto& f) { return holds(f.nodes); });
  }

 private:
  bool holds(const std::vector<onnx::NodeProto>& nodes) const {
    return std::ranges::all_of(nodes, [&](const onnx::NodeProto& n) {
      const bool ours = n.domain.empty() || n.domain == "ai.onnx";
      return ours && operators_.count(std::string(n.op_type)) > 0 &&
             std::ranges::all_of(n.attributes, [&](const onnx::AttributeProto& a) { return !a.g || holds(a.g->nodes); });
    });
  }
  std::set<std::string> operators_;
};

// What was counted, in and beyond the scope.
class Counts {
 public:
  void add(bool in_scope, const std::string& status) { ++of_[in_scope ? 0 : 1][status]; }
  // The last line is the figure.
  int print() const {
    int failures = 0;
    std::string line;
    for (size_t k = 0; k < 2; ++k) {
      int all = 0, bad = 0, deferred = 0;
      std::string parts;
      for (const auto& [status, n] : of_[k]) {
        all += n;
        const bool refused = status == "out_of_scope" && k == 0;
        if (status == "deferred") deferred = n;
        if (refused || (status != "pass" && status != "disputed" && status != "deferred" && status != "out_of_scope")) bad += n;
        append(parts, parts.empty() ? "" : ", ", n, " ", status == "out_of_scope" ? "unsupported" : status);
      }
      if (k == 0 && deferred > kMostDeferred) bad += deferred - kMostDeferred;
      failures += bad;
      append(line, k == 0 ? "in scope " : "; beyond ", all, ": ", parts);
    }
    std::printf("%s; %d failed\n", line.c_str(), failures);
    return failures;
  }

 private:
  std::map<std::string, int> of_[2];
};

// A slice in a child: all modules are compiled, then all kernels together, then each runs. Where the common compilation fails, each test
// has its own.
void run_slice(std::vector<Prepared>& slice, const Options& options, const Deferred& deferred, const test::ItemReporter& report) {
  const auto finish = [&](const Prepared& p, const Outcome& o) {
    const Outcome final = deferred.apply(p.name, o);
    report.done(p.item, {final.status, final.reason});
  };
  std::optional<CompiledBatch> batch;
  if (!options.target.empty()) {
    auto made = CompiledBatch::create(options.target);
    if (!made.ok()) {
      std::fprintf(stderr, "%s\n", made.error().str().c_str());
      return;
    }
    batch = std::move(*made);
  }
  std::vector<Prepared> ready;
  for (Prepared& p : slice) {
    report.at(p.item);
    if (const auto end = prepare(p, options)) {
      finish(p, *end);
      continue;
    }
    if (batch) {
      const auto added = batch->add(*p.module, options.level);
      if (!added.ok()) {
        finish(p, failure(added.error()));
        continue;
      }
      p.compiled = *added;
    }
    ready.push_back(std::move(p));
  }
  Status built;
  if (batch && !ready.empty()) {
    report.at(ready.front().item);
    built = batch->build();
  }
  for (Prepared& p : ready) {
    report.at(p.item);
    if (!batch) {
      Interpreter interpreter(*p.module);
      finish(p, judge(p, interpreter.run_entry("main", p.inputs)));
      continue;
    }
    CompiledBatch own = *batch;
    if (!built.ok()) {
      own = *CompiledBatch::create(options.target);
      p.compiled = *own.add(*p.module, options.level);
      if (const Status s = own.build(); !s.ok()) {
        finish(p, failure(s.error()));
        continue;
      }
    }
    auto session = own.session(p.compiled);
    finish(p, session.ok() ? judge(p, (*session)->run("main", p.inputs)) : failure(session.error()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; ++k) {
    const std::string arg = argv[k];
    const auto next = [&] { return k + 1 < argc ? std::string(argv[++k]) : std::string(); };
    if (arg == "--only")
      options.only = next();
    else if (arg == "--values")
      options.values = next();
    else if (arg == "--corpus")
      options.corpus = next();
    else if (arg == "--target")
      options.target = next();
    else if (arg == "--level")
      options.level = std::atoi(next().c_str());
    else if (arg == "--sample")
      options.sample = static_cast<size_t>(std::max(0, std::atoi(next().c_str())));
    else if (arg == "--text")
      options.text = true;
    else
      options.parts.push_back(arg);
  }
  const char* cache = std::getenv("NNC_MODEL_CACHE");
  const std::string root = cat(cache != nullptr ? cache : ".", "/onnx-1.22.0/", options.corpus);
  auto tests = list_folder(root);
  if (!tests.ok()) {
    std::fprintf(stderr, "%s\ntry: tests/conformance/fetch_onnx_tests.py, and NNC_MODEL_CACHE\n", tests.error().str().c_str());
    return 2;
  }
  const auto deferred = read_deferred();
  if (!deferred.ok()) {
    std::fprintf(stderr, "%s\n", deferred.error().str().c_str());
    return 2;
  }
  std::vector<std::string> names;
  for (const FolderEntry& t : *tests) {
    if (!t.is_folder) continue;
    if (options.parts.empty() ||
        std::ranges::any_of(options.parts, [&](const std::string& p) { return t.name.find(p) != std::string::npos; }))
      names.push_back(t.name);
  }
  if (options.sample > 0 && options.sample < names.size()) {
    std::shuffle(names.begin(), names.end(), std::mt19937(1));
    names.resize(options.sample);
    std::sort(names.begin(), names.end());
  }
  const auto scope = OperatorScope::read();
  if (!scope.ok()) {
    std::fprintf(stderr, "%s\n", scope.error().str().c_str());
    return 2;
  }
  Counts counts;
  const auto work = [&](const std::vector<size_t>& items, const test::ItemReporter& report) {
    std::vector<Prepared> slice(items.size());
    for (size_t k = 0; k < items.size(); ++k) {
      slice[k].item = items[k];
      slice[k].name = names[items[k]];
      slice[k].folder = cat(root, "/", names[items[k]]);
    }
    run_slice(slice, options, *deferred, report);
  };
  test::run_isolated(names.size(), {}, work, [&](size_t item, const test::ItemResult& r) {
    counts.add(scope->holds(cat(root, "/", names[item])), r.status);
    if (options.only.empty() || options.only == r.status)
      std::printf("%-12s %s%s%s\n", r.status.c_str(), names[item].c_str(), r.reason.empty() ? "" : "  ", r.reason.c_str());
    std::fflush(stdout);
  });
  if (names.empty()) std::fprintf(stderr, "node_runner: no tests found\n");
  return counts.print() == 0 && !names.empty() ? 0 : 1;
}

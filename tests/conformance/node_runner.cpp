// ONNX's public node tests through importer, verifier and reference interpreter. One line per test, `pass`, `wrong`, `disputed` (the
// expectation is), `unsupported` or `error` with the reason, then the counts. `node_runner [PART-OF-NAME ...] [--only STATUS] [--values
// never|needed|always] [--corpus node] [--text]`
//
// Inputs that decide structure (axes, repeats) are given to the importer as values of a profile where it asks for them, as `nnc run` does;
// `always` gives all small integer inputs. `error` is a model that was refused for another reason than a missing operator: it counts as a
// failure, like `wrong`. Exit code 1 if there is one.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/tensor.h"
#include "ir/eval.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/verifier.h"

namespace {

using namespace nnc;

constexpr int64_t kMaxFile = int64_t(1) << 30;
constexpr int64_t kMaxValueElements = 64;

struct Options {
  std::vector<std::string> parts;
  std::string only, values = "needed", corpus = "node";
  bool text = false;
};
struct Outcome {
  std::string status, reason;
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

Outcome run(const std::string& folder, const std::string& name, const Options& options) {
  const auto failure = [](const Error& e) -> Outcome {
    std::string text = e.message;
    if (!e.place.node.empty()) text = cat(e.place.op, ": ", text);
    return {e.code == Code::kUnsupportedOp ? "unsupported" : "error", text};
  };
  auto file = read_file(cat(folder, "/model.onnx"), kMaxFile);
  if (!file.ok()) return failure(file.error());
  auto interface = read_onnx_interface(*file);
  if (!interface.ok()) return failure(interface.error());
  const bool tensors =
      std::ranges::all_of(interface->inputs, &OnnxArg::is_tensor) && std::ranges::all_of(interface->outputs, &OnnxArg::is_tensor);
  std::vector<Tensor> inputs;
  if (tensors) {
    auto read = read_tensors(folder, "input", interface->inputs.size());
    if (!read.ok()) return failure(read.error());
    inputs = std::move(*read);
  }
  ImportOptions import;
  import.profiles.resize(1);
  const auto give_values = [&](bool floats) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (may_be_value(inputs[k]) && (floats || !is_float(inputs[k].dtype())))
        import.profiles[0].values[interface->inputs[k].name] = inputs[k];
    }
  };
  if (options.values == "always") give_values(false);
  auto module = import_onnx(*file, import);
  if (!module.ok() && module.error().code == Code::kNeedDims && options.values != "never") {
    give_values(true);
    module = import_onnx(*file, import);
  }
  if (!module.ok()) return failure(module.error());
  if (options.text) std::fputs(print_module(**module).c_str(), stdout);
  if (!tensors) return {"unsupported", "a sequence, optional or map at the model's edge"};
  if (Status s = verify_or_error(**module); !s.ok()) return failure(s.error());
  Interpreter interpreter(**module);
  auto results = interpreter.run_entry("main", inputs);
  if (!results.ok()) return failure(results.error());
  auto expected = read_tensors(folder, "output", interface->outputs.size());
  if (!expected.ok()) return failure(expected.error());
  for (size_t k = 0; k < expected->size(); ++k) {
    if (const std::string why = compare((*results)[k], (*expected)[k], is_coarse(name)); !why.empty())
      return {is_disputed(name) ? "disputed" : "wrong", cat("output ", k, ": ", why)};
  }
  return {"pass", {}};
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
  std::map<std::string, int> counts;
  for (const FolderEntry& t : *tests) {
    if (!t.is_folder) continue;
    if (!options.parts.empty() &&
        std::ranges::none_of(options.parts, [&](const std::string& p) { return t.name.find(p) != std::string::npos; }))
      continue;
    const Outcome o = run(cat(root, "/", t.name), t.name, options);
    ++counts[o.status];
    if (options.only.empty() || options.only == o.status)
      std::printf("%-11s %s%s%s\n", o.status.c_str(), t.name.c_str(), o.reason.empty() ? "" : "  ", o.reason.c_str());
    std::fflush(stdout);
  }
  for (const auto& [status, n] : counts) std::printf("%s %d\n", status.c_str(), n);
  return counts["wrong"] + counts["error"] == 0 ? 0 : 1;
}

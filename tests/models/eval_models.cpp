// Runs the stored cases of the model pack through importer, verifier and reference interpreter and compares with the stored answers: the program that shows
// that models mean in the IR what they mean in ONNX Runtime. `eval_models [MODEL ...] [--steps N] [--import-only] [--text]`; no MODEL: all. Exit code 1 if one differs.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "frontend/onnx/importer.h"
#include "ir/base/tensor_io.h"
#include "ir/eval.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "tests/json.h"

namespace {

using namespace nnc;
using test::Json;

constexpr int64_t kMaxFile = int64_t(4) << 30;

template <class T> T must(Result<T> r, std::string_view what) {
  if (r.ok()) return std::move(r).value();
  std::fprintf(stderr, "%s: %s\n", std::string(what).c_str(), r.error().str().c_str());
  std::exit(2);
}

std::map<std::string, Tensor> read_tensors(const std::string& path) {
  const Bytes bytes = must(read_file(path, kMaxFile), path);
  Budget budget;
  std::map<std::string, Tensor> out;
  for (NamedTensor& t : must(read_npz({bytes, path}, budget), path)) out[t.name] = std::move(t.tensor);
  return out;
}

Tensor number_as(double v, DType dtype) {
  Tensor t(dtype, {});
  store_f64(dtype, t.data(), 0, v);
  return t;
}

ImportProfile read_profile(const std::string& name, const Json& j, const OnnxInterface& interface) {
  ImportProfile p;
  p.name = name;
  for (const auto& [dim, spec] : j["dims"].fields) {
    if (spec.kind == Json::Kind::kNumber) {
      p.dims[dim] = DimSpec::size(static_cast<int64_t>(spec.number));
    } else {
      p.dims[dim] = {static_cast<int64_t>(spec["min"].num()), static_cast<int64_t>(spec["max"].num(static_cast<double>(kDimMax))),
                     static_cast<int64_t>(spec["typical"].num()), static_cast<int64_t>(spec["multiple"].num(1))};
    }
  }
  for (const auto& [input, value] : j["values"].fields) {
    for (const OnnxArg& a : interface.inputs) {
      if (a.name == input) p.values[input] = number_as(value.num(), a.dtype);
    }
  }
  return p;
}

// |got - want| <= atol + rtol |want|; the largest difference in *worst.
bool close(const Tensor& got, const Tensor& want, double rtol, double atol, double* worst) {
  if (got.dims() != want.dims() || got.dtype() != want.dtype()) return false;
  bool ok = true;
  for (int64_t i = 0; i < want.count(); ++i) {
    const double a = got.f64(i), b = want.f64(i), d = std::fabs(a - b);
    if (!(d <= atol + rtol * std::fabs(b))) ok = false;
    if (!(d <= *worst)) *worst = d;
  }
  return ok;
}

Tensor step_of(const Tensor& all, int64_t step) {
  std::vector<int64_t> dims(all.dims().begin() + 1, all.dims().end());
  Tensor t(all.dtype(), dims);
  std::memcpy(t.data(), static_cast<const uint8_t*>(all.data()) + static_cast<size_t>(step) * t.bytes(), t.bytes());
  return t;
}

struct Options {
  int64_t steps = INT64_MAX;
  bool import_only = false, text = false;
};

bool run_case(const Module& module, const std::string& root, const Json& c, const Options& options, std::string* figures) {
  const auto inputs = read_tensors(cat(root, "/", c["in"].text)), answers = read_tensors(cat(root, "/", c["out"].text));
  const bool stream = c["kind"].text == "stream";
  const int64_t steps = stream ? std::min(options.steps, static_cast<int64_t>(c["steps"].num())) : 1;
  std::map<std::string, bool> per_step;
  for (const Json& j : c["per_step"].items) per_step[j.text] = true;
  std::map<std::string, Tensor> carried;
  double worst = 0;
  bool ok = true;
  const Entry& entry = *module.entries.front();
  for (int64_t s = 0; s < steps; ++s) {
    std::vector<Tensor> args;
    for (const ArgBinding& a : entry.args) {
      if (const auto found = carried.find(a.name); found != carried.end()) args.push_back(found->second);
      else args.push_back(per_step[a.name] ? step_of(inputs.at(a.name), s) : inputs.at(a.name));
    }
    Interpreter interpreter(module);
    auto results = interpreter.run_entry(entry.name, args);
    if (!results.ok()) {
      *figures = cat("step ", s, ": ", results.error().str());
      return false;
    }
    for (size_t k = 0; k < entry.results.size(); ++k) {
      const Tensor& want = answers.at(entry.results[k].name);
      ok &= close((*results)[k], stream ? step_of(want, s) : want, c["rtol"].num(), c["atol"].num(), &worst);
    }
    for (const auto& [from, to] : c["carry"].fields) {
      for (size_t k = 0; k < entry.results.size(); ++k) {
        if (entry.results[k].name == from) carried[to.text] = (*results)[k];
      }
    }
  }
  *figures = cat("max difference ", worst, steps > 1 ? cat(" over ", steps, " steps") : std::string());
  return ok;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::string> wanted;
  for (int k = 1; k < argc; ++k) {
    const std::string arg = argv[k];
    if (arg == "--steps" && k + 1 < argc) options.steps = std::atoll(argv[++k]);
    else if (arg == "--import-only") options.import_only = true;
    else if (arg == "--text") options.text = true;
    else wanted.push_back(arg);
  }
  const char* source = std::getenv("NNC_SOURCE_DIR");
  const char* cache = std::getenv("NNC_MODEL_CACHE");
  if (cache == nullptr) {
    std::fprintf(stderr, "NNC_MODEL_CACHE must name the folder of the models (tests/models/prepare.py)\n");
    return 2;
  }
  const std::string root = cat(source != nullptr ? source : ".", "/tests/models");
  const Bytes bytes = must(read_file(root + "/models.json", kMaxFile), "models.json");
  const Json pack = test::JsonReader(text_of(bytes)).read();
  int failed = 0, run = 0;
  for (const auto& [name, model] : pack["models"].fields) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    const std::string path = cat(cache, "/", model["onnx"].text);
    const Bytes file = must(read_file(path, kMaxFile), path);
    const OnnxInterface interface = must(read_onnx_interface(file), path);
    for (const auto& [profile, spec] : model["profiles"].fields) {
      ImportOptions import;
      import.profiles = {read_profile(profile, spec, interface)};
      auto start = std::chrono::steady_clock::now();
      auto module = import_onnx_file(path, import);
      const double seconds = seconds_since(start);
      if (!module.ok()) {
        std::printf("FAIL  %-24s %-10s import: %s\n", name.c_str(), profile.c_str(), module.error().str().c_str());
        ++failed;
        continue;
      }
      const Graph& g = *(*module)->entries.front()->graph;
      std::printf("      %-24s %-10s %zu nodes -> %zu, %.3f s\n", name.c_str(), profile.c_str(), interface.nodes, g.node_count(), seconds);
      if (options.text) std::fputs(print_module(**module).c_str(), stdout);
      if (const Status s = verify_or_error(**module); !s.ok()) {
        std::printf("FAIL  %-24s %-10s verifier: %s\n", name.c_str(), profile.c_str(), s.error().str().c_str());
        ++failed;
        continue;
      }
      if (options.import_only) continue;
      for (const auto& [label, c] : model["cases"].fields) {
        if (c["profile"].text != profile) continue;
        start = std::chrono::steady_clock::now();
        std::string figures;
        const bool ok = run_case(**module, root, c, options, &figures);
        std::printf("%s  %-24s %-16s %s (%.1f s)\n", ok ? "pass" : "FAIL", name.c_str(), label.c_str(), figures.c_str(), seconds_since(start));
        std::fflush(stdout);
        failed += !ok;
        ++run;
      }
    }
  }
  std::printf("%d cases, %d failed\n", run, failed);
  return failed == 0 ? 0 : 1;
}

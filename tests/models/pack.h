#pragma once
// The model pack as programs see it (README.md): models with profiles and cases in a JSON file, inputs and answers beside it. Nothing here
// knows how a model is run: by the interpreter, a session, or a library.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/base/tensor.h"
#include "ir/support/result.h"
#include "tests/json.h"

namespace nnc::test {

// Ends the program with what went wrong.
template <class T> T must(Result<T> r, std::string_view what) {
  if (r.ok()) return std::move(r).value();
  std::fprintf(stderr, "%s: %s\n", std::string(what).c_str(), r.error().str().c_str());
  std::exit(2);
}

std::map<std::string, Tensor> read_tensors(const std::string& path);
double seconds_since(std::chrono::steady_clock::time_point start);

struct Pack {
  std::string folder, cache;  // of the JSON file (empty: paths of cases are whole); of the models
  Json json;
  std::string model_path(const Json& model) const { return cache + "/" + model["onnx"].text; }
};
// `path` empty: models.json under NNC_SOURCE_DIR. The cache is NNC_MODEL_CACHE.
Pack read_pack(std::string path);

struct Signature {
  std::vector<std::string> args, results;
};
using Runner = std::function<Result<std::vector<Tensor>>(std::span<const Tensor>)>;

struct CaseOptions {
  int64_t steps = INT64_MAX;  // at most so many of a stream
  std::string save;           // a folder: the outputs are written to MODEL.CASE.npz instead of compared; those of a stream stacked
};
struct Outcome {
  bool ok = false;
  std::string figures;
};
Outcome run_case(const Pack& pack, const std::string& model, const std::string& label, const Json& c, const Signature& signature,
                 const Runner& run, const CaseOptions& options);

}  // namespace nnc::test

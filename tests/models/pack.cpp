#include "tests/models/pack.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "ir/base/tensor_io.h"
#include "ir/support/file.h"
#include "ir/support/text.h"

namespace nnc::test {

namespace {

constexpr int64_t kMaxFile = int64_t(4) << 30;

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

Tensor stacked(const std::vector<Tensor>& steps) {
  std::vector<int64_t> dims = steps.front().dims();
  dims.insert(dims.begin(), static_cast<int64_t>(steps.size()));
  Tensor t(steps.front().dtype(), dims);
  auto* at = static_cast<uint8_t*>(t.data());
  for (const Tensor& s : steps) {
    NNC_CHECK(s.dims() == steps.front().dims(), "outputs of a stream have one shape");
    std::memcpy(at, s.data(), s.bytes());
    at += s.bytes();
  }
  return t;
}

// Arguments of a step: what the last one carried, the step's part, or the whole input.
Result<std::vector<Tensor>> arguments(const Signature& signature, const std::map<std::string, Tensor>& inputs,
                                      const std::map<std::string, bool>& per_step, const std::map<std::string, Tensor>& carried,
                                      int64_t step) {
  std::vector<Tensor> args;
  for (const std::string& name : signature.args) {
    if (const auto found = carried.find(name); found != carried.end()) {
      args.push_back(found->second);
      continue;
    }
    const auto input = inputs.find(name);
    if (input == inputs.end()) return Error(Code::kUnknownName, cat("the case has no input ", quote(name)));
    args.push_back(per_step.contains(name) ? step_of(input->second, step) : input->second);
  }
  return args;
}

Status save_outputs(const std::string& path, const Signature& signature, const std::vector<std::vector<Tensor>>& outputs, bool stream) {
  std::vector<NamedTensor> named;
  for (size_t k = 0; k < signature.results.size(); ++k)
    named.push_back({signature.results[k], stream ? stacked(outputs[k]) : outputs[k].front()});
  NNC_ASSIGN(const Bytes bytes, npz_bytes(named));
  return write_file_atomic(path, bytes);
}

}  // namespace

std::map<std::string, Tensor> read_tensors(const std::string& path) {
  const Bytes bytes = must(read_file(path, kMaxFile), path);
  Budget budget;
  std::map<std::string, Tensor> out;
  for (NamedTensor& t : must(read_npz({bytes, path}, budget), path)) out[t.name] = std::move(t.tensor);
  return out;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Pack read_pack(std::string path) {
  Pack pack;
  const char *source = std::getenv("NNC_SOURCE_DIR"), *cache = std::getenv("NNC_MODEL_CACHE");
  if (cache == nullptr) {
    std::fprintf(stderr, "NNC_MODEL_CACHE must name the folder of the models (tests/models/prepare.py)\n");
    std::exit(2);
  }
  if (path.empty()) path = cat(source != nullptr ? source : ".", "/tests/models/models.json");
  const size_t slash = path.rfind('/');
  pack.folder = slash == std::string::npos ? "." : path.substr(0, slash);
  pack.cache = cache;
  const Bytes bytes = must(read_file(path, kMaxFile), path);
  pack.json = JsonReader(text_of(bytes)).read();
  return pack;
}

Outcome run_case(const Pack& pack, const std::string& model, const std::string& label, const Json& c, const Signature& signature,
                 const Runner& run, const CaseOptions& options) {
  const auto file = [&](const std::string& name) { return pack.folder.empty() ? name : cat(pack.folder, "/", name); };
  const auto inputs = read_tensors(file(c["in"].text));
  std::map<std::string, Tensor> answers;
  if (options.save.empty()) answers = read_tensors(file(c["out"].text));
  const bool stream = c["kind"].text == "stream";
  const int64_t steps = stream ? std::min(options.steps, static_cast<int64_t>(c["steps"].num())) : 1;
  std::map<std::string, bool> per_step;
  for (const Json& j : c["per_step"].items) per_step[j.text] = true;
  std::map<std::string, Tensor> carried;
  std::vector<std::vector<Tensor>> kept(signature.results.size());
  double worst = 0;
  bool ok = true;
  for (int64_t s = 0; s < steps; ++s) {
    auto args = arguments(signature, inputs, per_step, carried, s);
    if (!args.ok()) return {false, args.error().str()};
    auto results = run(*args);
    if (!results.ok()) return {false, cat("step ", s, ": ", results.error().str())};
    for (size_t k = 0; k < signature.results.size(); ++k) {
      const std::string& name = signature.results[k];
      if (c["carry"].has(name)) carried[c["carry"][name].text] = (*results)[k];
      if (!options.save.empty()) {
        kept[k].push_back(std::move((*results)[k]));
        continue;
      }
      const auto want = answers.find(name);
      if (want == answers.end()) return {false, cat("no answer for output ", quote(name))};
      ok &= close((*results)[k], stream ? step_of(want->second, s) : want->second, c["rtol"].num(), c["atol"].num(), &worst);
    }
  }
  const std::string over = steps > 1 ? cat(" over ", steps, " steps") : std::string();
  if (options.save.empty()) return {ok, cat("max difference ", worst, over)};
  const Status saved = save_outputs(cat(options.save, "/", model, ".", label, ".npz"), signature, kept, stream);
  return {saved.ok(), saved.ok() ? cat("saved", over) : saved.error().str()};
}

}  // namespace nnc::test

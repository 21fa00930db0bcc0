// Runs the cases of the model pack on saved artifacts, in libnnc_rt and through nnc.h: nothing of the compiler is in this process.
// `rt_models --artifacts DIR [MODEL ...] [--threads N] [--pack F.json] [--steps N]` takes DIR/MODEL.nnb, which must be on the user's list
// of trusted ones, and runs all cases of a model in one session. A step that would be interpreted is an error. Exit code 1 if an answer
// differs.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ir/support/text.h"
#include "runtime/capi/nnc.h"
#include "tests/models/pack.h"

namespace {

using namespace nnc;
using namespace nnc::test;

template <class T> struct Release;
template <> struct Release<nnc_runtime> {
  void operator()(nnc_runtime* p) const { nnc_runtime_release(p); }
};
template <> struct Release<nnc_model> {
  void operator()(nnc_model* p) const { nnc_model_release(p); }
};
template <> struct Release<nnc_session> {
  void operator()(nnc_session* p) const { nnc_session_release(p); }
};
template <class T> using Owned = std::unique_ptr<T, Release<T>>;

Status status(nnc_error* error) {
  if (error == nullptr) return {};
  Error e(Code::kInternal, nnc_error_text(error));
  nnc_error_release(error);
  return e;
}

struct Loaded {
  Owned<nnc_model> model;
  Owned<nnc_session> session;
  Signature signature;
  nnc_code_counts counts{};
};

Result<Loaded> load(nnc_runtime* runtime, const std::string& path) {
  Loaded out;
  nnc_model_options options{};
  options.struct_size = sizeof options;
  options.require_native = 1;
  nnc_model* model = nullptr;
  NNC_TRY(status(nnc_model_load_file(runtime, path.c_str(), &options, &model)));
  out.model.reset(model);
  nnc_session* session = nullptr;
  NNC_TRY(status(nnc_session_create(model, nullptr, &session)));
  out.session.reset(session);
  const char* entry = nnc_model_entry_name(model, 0);
  size_t inputs = 0, outputs = 0;
  NNC_TRY(status(nnc_model_input_count(model, entry, &inputs)));
  NNC_TRY(status(nnc_model_output_count(model, entry, &outputs)));
  nnc_value_info info;
  for (size_t k = 0; k < inputs; ++k) {
    NNC_TRY(status(nnc_model_input(model, entry, k, &info)));
    out.signature.args.emplace_back(info.name);
  }
  for (size_t k = 0; k < outputs; ++k) {
    NNC_TRY(status(nnc_model_output(model, entry, k, &info)));
    out.signature.results.emplace_back(info.name);
  }
  NNC_TRY(status(nnc_model_code_counts(model, nullptr, &out.counts)));
  return out;
}

Result<std::vector<Tensor>> run(const Loaded& l, std::span<const Tensor> args) {
  std::vector<nnc_input> inputs;
  for (const Tensor& t : args)
    inputs.push_back({static_cast<nnc_dtype>(t.dtype()), static_cast<int32_t>(t.dims().size()), t.dims().data(), t.data(), t.bytes()});
  std::vector<nnc_output> outputs(l.signature.results.size());
  NNC_TRY(status(nnc_session_run(l.session.get(), nnc_model_entry_name(l.model.get(), 0), inputs.data(), inputs.size(), outputs.data(),
                                 outputs.size())));
  std::vector<Tensor> results;
  for (const nnc_output& o : outputs) {
    results.emplace_back(static_cast<DType>(o.dtype), std::vector<int64_t>(o.dims, o.dims + o.rank));
    NNC_CHECK(results.back().bytes() == o.bytes, "an output is dense");
    if (o.bytes > 0) std::memcpy(results.back().data(), o.data, o.bytes);
  }
  return results;
}

}  // namespace

int main(int argc, char** argv) {
  std::string artifacts = ".", pack_file;
  CaseOptions cases;
  std::vector<std::string> wanted;
  nnc_runtime_options options{};
  options.struct_size = sizeof options;
  options.threads = 1;
  for (int k = 1; k < argc; ++k) {
    const std::string arg = argv[k];
    if (arg.starts_with("--") && k + 1 >= argc) return 2;
    if (arg == "--artifacts")
      artifacts = argv[++k];
    else if (arg == "--pack")
      pack_file = argv[++k];
    else if (arg == "--save")
      cases.save = argv[++k];
    else if (arg == "--threads")
      options.threads = std::atoi(argv[++k]);
    else if (arg == "--steps")
      cases.steps = std::atoll(argv[++k]);
    else
      wanted.push_back(arg);
  }
  const Pack pack = read_pack(pack_file);
  nnc_runtime* made = nullptr;
  if (const Status s = status(nnc_runtime_create(&options, &made)); !s.ok()) {
    std::fprintf(stderr, "%s\n", s.error().str().c_str());
    return 2;
  }
  const Owned<nnc_runtime> runtime(made);
  int ran = 0, failed = 0;
  for (const auto& [name, model] : pack.json["models"].fields) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    const auto loading = std::chrono::steady_clock::now();
    const auto loaded = load(runtime.get(), cat(artifacts, "/", name, ".nnb"));
    if (!loaded.ok()) {
      std::printf("FAIL  %-24s %s\n", name.c_str(), loaded.error().message.c_str());
      ++failed;
      continue;
    }
    const nnc_code_counts& n = loaded->counts;
    std::printf("      %-24s %s, loaded in %.2f s: %lld native steps, %lld vm, %lld host\n", name.c_str(),
                nnc_model_target(loaded->model.get()), seconds_since(loading), static_cast<long long>(n.native),
                static_cast<long long>(n.vm), static_cast<long long>(n.host));
    failed += n.vm > 0;
    for (const auto& [label, c] : model["cases"].fields) {
      const auto start = std::chrono::steady_clock::now();
      const Outcome outcome = run_case(
          pack, name, label, c, loaded->signature, [&](std::span<const Tensor> args) { return run(*loaded, args); }, cases);
      std::printf("%s  %-24s %-16s %s (%.1f s)\n", outcome.ok ? "pass" : "FAIL", name.c_str(), label.c_str(), outcome.figures.c_str(),
                  seconds_since(start));
      std::fflush(stdout);
      failed += !outcome.ok;
      ++ran;
    }
  }
  std::printf("%d cases, %d failed\n", ran, failed);
  return failed == 0 && ran > 0 ? 0 : 1;
}

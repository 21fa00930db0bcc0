#include "tests/broken/artifact_flips.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "codegen/artifact_writer.h"
#include "ir/base/tensor_hash.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "runtime/artifact.h"
#include "runtime/artifact_format.h"
#include "runtime/cpu_device.h"
#include "runtime/session.h"

namespace nnc::test {

namespace {

const char kModel[] = R"(nnir 1
symbols {
  s0 = input "n" in [0, 1000]
}
locations {
  #0 = node "/Add" op "Add"
  #1 = node "/Sum" op "ReduceSum"
}
entry @main(%0: f32[s0, 4] "x", %1: bool[] "c", %2: i64[2] "i") -> ("y", "z") {
  %3 = constant() {value = f32[4] {1, -2, 3, -4}} : f32[4]
  %4 = add(%0, %3) : f32[s0, 4] loc #0
  %5 = relu(%4) : f32[s0, 4]
  %6 = mul(%5, %0) : f32[s0, 4]
  %7 = reduce(%6) {kind = sum, axes = [0], keepdims = 0} : f32[4] loc #1
  %8 = gather(%7, %2) {axis = 0} : f32[2]
  %9 = if(%1, %8) : f32[2]
    region @then(%0: f32[2]) {
      %1 = neg(%0) : f32[2]
      return %1
    }
    region @else(%0: f32[2]) {
      %1 = exp(%0) : f32[2]
      return %1
    }
  %10 = constant() {value = i64[] {3}} : i64[]
  %11 = loop(%10, _, %9, %8) {carried = 1} : f32[2]
    region @body(%0: i64[], %1: bool[], %2: f32[2], %3: f32[2]) {
      %4 = add(%2, %3) : f32[2]
      return %1, %4
    }
  return %6, %11
}
)";

template <class T> T must(Result<T> r) {
  if (r.ok()) return std::move(r).value();
  std::fprintf(stderr, "%s\n", r.error().str().c_str());
  std::abort();
}

Result<std::shared_ptr<const Artifact>> read(const Bytes& bytes) {
  return Artifact::from_bytes(nullptr, bytes, {ArtifactTrust::kNone, false, int64_t(1) << 30});
}

Result<std::vector<Tensor>> run(const Artifact& a) {
  static const std::shared_ptr<Device> device = must(make_cpu_device({1, false, 50}));
  LoadOptions load;
  load.allow_interpreter = true;
  NNC_ASSIGN(auto executable, load_executable(a, device, load));
  SessionOptions limits;
  limits.max_bytes = 1 << 24;
  limits.deadline_ms = 2000;
  NNC_ASSIGN(auto session, Session::create(executable, limits));
  std::vector<float> x(12);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 3;
  const std::vector<int64_t> i = {3, 1};
  return session->run("main", std::vector<Tensor>{Tensor::of<float>(DType::kF32, {3, 4}, x), Tensor(DType::kBool, {}),
                                                  Tensor::of<int64_t>(DType::kI64, {2}, i)});
}

std::string text_of(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& t : tensors) {
    append(text, dtype_name(t.dtype()), "[", join(t.dims(), ",", [](int64_t d) { return d; }), "]");
    for (int64_t k = 0; k < t.count(); ++k) append(text, " ", is_float(t.dtype()) ? cat(t.f64(k)) : cat(t.i64(k)));
  }
  return text;
}

// Bytes of `from` in the file become `to`, wherever they stand.
void replace_all(Bytes& bytes, std::string_view from, std::string_view to) {
  for (auto at = bytes.begin(); (at = std::search(at, bytes.end(), from.begin(), from.end())) != bytes.end(); at += from.size())
    std::copy(to.begin(), to.end(), at);
}
std::string_view raw(const Digest& d) { return {reinterpret_cast<const char*>(d.bytes.data()), d.bytes.size()}; }

// Hashes of constants whose bytes changed, then the digest of header and tables.
void reseal(Bytes& bytes, const Bytes& good) {
  static const std::shared_ptr<const Artifact> sound = must(read(good));
  for (const Tensor& t : sound->constants(0)) {
    const auto* data = static_cast<const uint8_t*>(t.data());
    const auto at = std::search(good.begin(), good.end(), data, data + t.bytes());
    Tensor now(t.dtype(), t.dims());
    std::memcpy(now.data(), bytes.data() + (at - good.begin()), t.bytes());
    const Digest before = tensor_hash(t), after = tensor_hash(now);
    if (before == after) continue;
    replace_all(bytes, raw(before), raw(after));
    replace_all(bytes, before.hex(), after.hex());
  }
  ArtifactHeader h;
  std::memcpy(&h, bytes.data(), sizeof h);
  const size_t table = std::min<size_t>(h.table_bytes, bytes.size() - kArtifactHeaderBytes);
  const Digest d = artifact_digest(h, ByteView(bytes).subspan(kArtifactHeaderBytes, table));
  std::copy(d.bytes.begin(), d.bytes.end(), bytes.begin() + kDigestedHeaderBytes);
}

ItemResult clean(const Error& e) {
  if (e.message.empty() || e.code == Code::kInternal) return {"BAD", e.str()};
  return {"error", ""};
}

}  // namespace

Bytes small_artifact() {
  auto m = must(parse_module(kModel));
  CompileOptions options;
  options.native = false;
  if (const Status s = simplify_module(*m, options); !s.ok()) std::abort();
  const std::vector<CompiledProgram> programs{must(compile_for_target(*m, must(parse_target("cpu:vm")), options))};
  return must(artifact_bytes({programs, "", {}}));
}

std::string answer_of(const Bytes& artifact) { return text_of(must(run(*must(read(artifact))))); }

ItemResult try_truncated(const Bytes& good, size_t size) {
  auto a = read(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
  return a.ok() ? ItemResult{"BAD", "it opens"} : clean(a.error());
}

ItemResult try_flipped(const Bytes& good, size_t bit) {
  Bytes bytes = good;
  bytes[bit / 8] ^= static_cast<uint8_t>(1 << (bit % 8));
  auto a = read(bytes);
  return a.ok() ? ItemResult{"BAD", "it opens"} : clean(a.error());
}

ItemResult try_resealed(const Bytes& good, size_t bit, const std::string& answer) {
  Bytes bytes = good;
  bytes[bit / 8] ^= static_cast<uint8_t>(1 << (bit % 8));
  reseal(bytes, good);
  auto a = read(bytes);
  if (!a.ok()) return clean(a.error());
  const auto out = run(**a);
  if (!out.ok()) return clean(out.error());
  return {text_of(*out) == answer ? "same" : "ran", ""};
}

}  // namespace nnc::test

// The carrying tests from C: each is compiled to an artifact, its inputs and the answers of the interpreter are written to files, and
// tests/capi runs them over libnnc_rt alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "codegen/artifact_writer.h"
#include "ir/base/cpu_features.h"
#include "ir/support/file.h"
#include "ir/support/spawn.h"
#include "ir/support/text.h"
#include "runtime/artifact.h"
#include "runtime/cpu_device.h"
#include "runtime/trust.h"
#include "tests/e2e/carrying_modules.h"
#include "tests/e2e/compiled.h"

namespace nnc {
namespace {

using namespace test;

std::vector<CompiledProgram> compile_all(const Module& m, const std::vector<std::string>& targets) {
  const std::unique_ptr<Module> copy = m.clone();
  EXPECT_TRUE(simplify_module(*copy, {}).ok());
  std::vector<CompiledProgram> out;
  for (const std::string& name : targets) {
    auto target = parse_target(name);
    EXPECT_TRUE(target.ok()) << name;
    auto p = compile_for_target(*copy, *target, {});
    if (p.ok()) {
      out.push_back(std::move(*p));
    } else {
      EXPECT_EQ(p.error().code, Code::kNoCompiler) << name << ": " << p.error().str();
    }
  }
  return out;
}

class FromC {
 public:
  FromC() : folder_(TempDir::create().value()) {}

  // The artifact, for this machine's best level and the interpreter; trusted if `native`.
  void compile(const Module& m, bool native) {
    const std::vector<CompiledProgram> programs = compile_all(m, {parse_targets("cpu")->back().name, "cpu:vm"});
    auto digest = write_artifact(artifact(), {programs, "", {}});
    ASSERT_TRUE(digest.ok()) << digest.error().str();
    ASSERT_TRUE((native ? add_trust(*digest, "carrying test") : remove_trust(*digest)).ok());
    if (native) line("native");
  }
  std::string file(const Tensor& t) {
    const std::string path = cat(folder_.path(), "/", count_++, ".raw");
    EXPECT_TRUE(write_file_atomic(path, ByteView(static_cast<const uint8_t*>(t.data()), t.bytes())).ok());
    return path;
  }
  template <class... Args> void line(const Args&... args) {
    append(script_, args...);
    script_ += '\n';
  }
  void in(const Tensor& t) {
    line("in ", dtype_name(t.dtype()), " ", file(t), " ", join(t.dims(), " ", [](int64_t d) { return d; }));
  }
  void out(const Tensor& t, double rtol, double atol) { line("out ", file(t), " ", rtol, " ", atol); }
  void run() {
    const std::string path = cat(folder_.path(), "/script");
    ASSERT_TRUE(write_file_atomic(path, bytes_of(script_)).ok());
    SpawnRequest request;
    request.program = cat(std::getenv("NNC_BUILD_DIR"), "/bin/test_capi_nnc_rt");
    request.arguments = {artifact(), path};
    request.environment.push_back(cat("XDG_STATE_HOME=", std::getenv("XDG_STATE_HOME")));
    auto outcome = spawn(request);
    ASSERT_TRUE(outcome.ok()) << outcome.error().str();
    EXPECT_TRUE(outcome->ok()) << outcome->describe() << "\n" << outcome->err;
  }
  std::string artifact() const { return cat(folder_.path(), "/model.nnb"); }

 private:
  TempDir folder_;
  std::string script_;
  int count_ = 0;
};

class CarryingFromC : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Code, CarryingFromC, testing::Bool(), [](const auto& i) { return i.param ? "native" : "interpreted"; });

TEST_P(CarryingFromC, B_DecodeLoop) {
  Module m;
  build_decode(m);
  FromC c;
  c.compile(m, GetParam());
  Tensor past(DType::kF32, {0, kDecodeWidth});
  for (int64_t token = 0; token < kDecodeTokens; ++token) {
    const std::vector<Tensor> in{uniform(DType::kF32, {1, kDecodeWidth}, static_cast<uint64_t>(token)), past};
    const std::vector<Tensor> want = must_eval(m, "main", in);
    ASSERT_EQ(want.size(), 2u);
    for (const Tensor& t : in) c.in(t);
    c.out(want[0], 1e-5, 1e-6);
    c.out(want[1], -1, 0);
    c.line("run main");
    if (token == 0) c.line("steady");
    past = want[1];
  }
  c.line("bindings 1");
  c.run();
}

TEST_P(CarryingFromC, C_FoundRows) {
  Module m;
  build_found(m);
  FromC c;
  c.compile(m, GetParam());
  std::vector<int64_t> counts;
  for (int64_t n = 0; n < 50; ++n) counts.push_back(n);
  std::shuffle(counts.begin(), counts.end(), std::mt19937(11));
  for (int64_t n : counts) {
    Tensor mask(DType::kBool, {kFoundRows});
    for (int64_t i = 0; i < n; ++i) store_i64(DType::kBool, mask.data(), (i * 37 + n) % kFoundRows, 1);
    const std::vector<Tensor> in{mask, uniform(DType::kF32, {kFoundRows, kFoundWidth}, static_cast<uint64_t>(n))};
    const std::vector<Tensor> want = must_eval(m, "main", in);
    ASSERT_EQ(want.size(), 1u);
    for (const Tensor& t : in) c.in(t);
    c.out(want[0], 1e-5, 1e-6);
    c.line("run main");
  }
  c.run();
}

TEST_P(CarryingFromC, D_LoopWithBranch) {
  Module m;
  build_loop(m);
  FromC c;
  c.compile(m, GetParam());
  for (int64_t trips : {0, 1, 2, 7, 4}) {
    const std::vector<Tensor> in{uniform(DType::kF32, {1, kLoopWidth}, static_cast<uint64_t>(trips)), Tensor::scalar_i64(trips)};
    const std::vector<Tensor> want = must_eval(m, "main", in);
    ASSERT_EQ(want.size(), 1u);
    for (const Tensor& t : in) c.in(t);
    c.out(want[0], 1e-4, 1e-5);
    c.line("run main");
    if (trips == 0) c.line("steady");
  }
  c.run();
}

// e. One artifact of five programs; here on a small network of known weights.
TEST(Carrying, E_FiveProgramsShareWeights) {
  constexpr int64_t kWidth = 256;
  Module m;
  Entry& e = m.add_entry("main");
  e.graph = std::make_unique<Graph>(&m, "main");
  Graph& g = *e.graph;
  Maker k(g);
  const SymbolId n = m.symbols.input("n", 1, 64);
  ValueId v = g.add_input(Type::tensor(DType::kF32, {Dim(n), kWidth}));
  int64_t weights = 0;
  for (uint64_t layer = 0; layer < 4; ++layer) {
    v = k.op(OpKind::kMatMul, {v, k.constant(uniform(DType::kF32, {kWidth, kWidth}, layer + 1, -0.1, 0.1))});
    v = k.op(OpKind::kRelu, {k.op(OpKind::kAdd, {v, k.constant(uniform(DType::kF32, {kWidth}, layer + 9))})});
    weights += 4 * (kWidth * kWidth + kWidth);
  }
  g.set_outputs({v});
  e.args = {{"x", {}}};
  e.results = {{"y", {}}};
  const std::vector<CompiledProgram> programs = compile_all(m, {"cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:vm", "cuda:sm_80", "cuda:sm_90"});
  ASSERT_GE(programs.size(), 3u);
  auto folder = TempDir::create();
  const std::string path = cat(folder->path(), "/m.nnb");
  auto digest = write_artifact(path, {programs, "", {}});
  ASSERT_TRUE(digest.ok()) << digest.error().str();
  ASSERT_TRUE(add_trust(*digest, "carrying test").ok());
  auto a = Artifact::open(path);
  ASSERT_TRUE(a.ok()) << a.error().str();
  ASSERT_EQ((*a)->size(), programs.size());
  int64_t code = 0, text = 0;
  for (size_t i = 0; i < (*a)->size(); ++i) {
    code += (*a)->code_bytes(i);
    text += static_cast<int64_t>(print_program((*a)->program(i)).size());
    for (const PlanKernel& kernel : (*a)->program(i).kernels) text += static_cast<int64_t>(kernel.text.size());
  }
  EXPECT_LE((*a)->weight_bytes(), weights * 11 / 10);
  EXPECT_LE((*a)->file_bytes(), weights * 11 / 10 + code + text);

  const std::vector<Tensor> in{uniform(DType::kF32, {5, kWidth}, 77)};
  const std::vector<Tensor> want = must_eval(m, "main", in);
  auto device = *make_cpu_device();
  auto run = [&](std::vector<std::string> without, const std::string& target) {
    LoadOptions options;
    options.without_features = std::move(without);
    auto loaded = load_executable(**a, device, options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().str();
    EXPECT_EQ((*loaded)->program().target, target);
    EXPECT_EQ((*loaded)->counts().vm, 0);
    auto s = Session::create(*loaded);
    ASSERT_TRUE(s.ok());
    const std::vector<Tensor> got = must_run(**s, "main", in);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(far_apart(got[0], want[0], 1e-4, 1e-5), "");
  };
  const std::vector<std::string> have = machine_features();
  if (missing_features(programs[1].program.features, have).empty()) run({}, "cpu:x86-64-v4");
  if (missing_features(programs[0].program.features, have).empty()) run({"avx512f"}, "cpu:x86-64-v3");
  LoadOptions none;
  none.without_features = {"avx512f", "avx2"};
  auto refused = load_executable(**a, device, none);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(exit_code(refused.error().code), 5);
  EXPECT_NE(refused.error().message.find("avx2"), std::string::npos) << refused.error().str();
  none.allow_interpreter = true;
  EXPECT_TRUE(load_executable(**a, device, none).ok());
}

}  // namespace
}  // namespace nnc

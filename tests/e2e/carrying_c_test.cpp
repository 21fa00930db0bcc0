// The carrying tests from C: each is compiled to an artifact, its inputs and the answers of the interpreter are written to files, and
// tests/capi runs them over libnnc_rt alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "ir/base/cpu_features.h"
#include "ir/support/file.h"
#include "ir/support/spawn.h"
#include "ir/support/text.h"
#include "tests/e2e/artifacts.h"
#include "tests/e2e/carrying_modules.h"
#include "tests/e2e/compiled.h"
#include "tests/e2e/training.h"

namespace nnc {
namespace {

using namespace test;

class FromC {
 public:
  FromC() : folder_(TempDir::create().value()) {}

  // The artifact; trusted if `native`.
  void compile(const Module& m, bool native, const std::vector<std::string>& targets) { compile_artifact(m, targets, artifact(), native); }
  // For this machine's best level and the interpreter.
  void compile(const Module& m, bool native) {
    compile(m, native, {parse_targets("cpu")->back().name, "cpu:vm"});
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
  void in(const std::vector<Tensor>& all) {
    for (const Tensor& t : all) in(t);
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

// a, for one target: 50 steps, and an error in one of them.
void train(FromC& c, const TrainingReference& ref) {
  for (int64_t step = 0; step < kTrainSteps; ++step) {
    const Tensor x = ref.x(step), labels = ref.labels(step);
    if (step == kBadStep) {
      c.line("keep");
      for (const auto& [sample, value] : kBadLabels) {
        c.in({x, with_label(labels, sample, value)});
        c.out(ref.loss(step), 0, 0);
        c.line("fail train_step ", static_cast<int>(Code::kIndexOutOfRange), " ", bad_label_message(sample, value));
        c.line("node training.cpp:");
        c.line("kept");
      }
    }
    c.in({x, labels});
    c.out(ref.loss(step), 1e-5, 1e-5);
    c.line("run train_step");
  }
  for (const std::string& name : kParameters) c.line("state ", name, " ", c.file(ref.at("end." + name)), " 1e-5 1e-5");
  c.line("keep");
  c.in(ref.x(0));
  c.out(ref.at("logits"), 1e-5, 1e-5);
  c.line("run eval_step");
  c.line("kept");
}

TEST_P(CarryingFromC, A_Training) {
  const TrainingReference ref;
  Module m;
  ASSERT_TRUE(build_training(m, ref).ok());
  FromC c;
  c.compile(m, GetParam());
  train(c, ref);
  c.run();
}
TEST(CarryingFromCOnce, A_TrainingOnTheEmulator) {
  const TrainingReference ref;
  Module m;
  ASSERT_TRUE(build_training(m, ref).ok());
  FromC c;
  c.compile(m, true, {"cuda-emu:sm_80"});
  c.line("device cuda-emu");
  c.line("native");
  train(c, ref);
  c.run();
}

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
    c.in(in);
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
    c.in(in);
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
    c.in(in);
    c.out(want[0], 1e-4, 1e-5);
    c.line("run main");
    if (trips == 0) c.line("steady");
  }
  c.run();
}

// e. The program that fits is taken, on either device, and none that does not.
TEST(CarryingFromCOnce, E_FivePrograms) {
  Module m;
  build_stack(m);
  FromC c;
  c.compile(m, true, {"cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:vm", "cuda:sm_80", "cuda:sm_90", "cuda-emu:sm_80"});
  const std::vector<Tensor> in{uniform(DType::kF32, {5, kStackWidth}, 77)};
  const std::vector<Tensor> want = must_eval(m, "main", in);
  ASSERT_EQ(want.size(), 1u);
  auto run = [&](const std::string& target) {
    c.line("load");
    c.line("target ", target);
    c.in(in);
    c.out(want[0], 1e-4, 1e-5);
    c.line("run main");
  };
  const std::vector<std::string> have = machine_features();
  c.line("interpreter 0");
  for (const char* target : {"cpu:x86-64-v4", "cpu:x86-64-v3"}) {
    if (missing_features(parse_target(target)->features, have).empty()) {
      run(target);
      c.line("native");
    }
    if (parse_target(target)->name == "cpu:x86-64-v4") c.line("without avx512f");
  }
  c.line("without avx2");
  c.line("refused ", static_cast<int>(Code::kIncompatible), " which lacks avx2");
  c.line("interpreter 1");
  run("cpu:vm");
  c.line("device cuda-emu");
  run("cuda-emu:sm_80");
  c.line("native");
  c.run();
}

}  // namespace
}  // namespace nnc

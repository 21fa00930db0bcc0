// Carrying test e: one artifact for many targets. Weights are stored once, packed; the CUDA programs unpack them while loading. Here on a
// small network; tests/acceptance/carrying_e.py does the same with MiniLM and BERT through the tool.

#include <gtest/gtest.h>

#include <set>

#include "ir/base/cpu_features.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "runtime/open_device.h"
#include "tests/e2e/artifacts.h"
#include "tests/e2e/carrying_modules.h"
#include "tests/e2e/compiled.h"

namespace nnc {
namespace {

using namespace test;

class CarryingArtifact : public testing::Test {
 protected:
  void SetUp() override {
    weights_ = build_stack(m_);
    path_ = cat(folder_.path(), "/m.nnb");
  }
  std::shared_ptr<const Artifact> make(const std::vector<std::string>& targets) {
    compile_artifact(m_, targets, path_, true);
    auto a = Artifact::open(path_, {ArtifactTrust::kList, true});
    EXPECT_TRUE(a.ok()) << a.error().str();
    if (!a.ok()) return nullptr;
    EXPECT_EQ((*a)->size(), targets.size());
    return *a;
  }
  // The result on the device; which program ran into `target`.
  Tensor run(const Artifact& a, const char* device, const LoadOptions& options, std::string* target) {
    auto loaded = load_executable(a, *open_device(device), options);
    if (!loaded.ok()) {
      ADD_FAILURE() << loaded.error().str();
      return {};
    }
    *target = (*loaded)->program().target;
    EXPECT_TRUE(options.allow_interpreter || (*loaded)->counts().vm == 0) << *target;
    auto s = Session::create(*loaded);
    EXPECT_TRUE(s.ok());
    const std::vector<Tensor> got = must_run(**s, "main", in_);
    EXPECT_EQ(got.size(), 1u);
    return got.empty() ? Tensor() : got[0];
  }

  Module m_;
  TempDir folder_ = TempDir::create().value();
  std::string path_;
  int64_t weights_ = 0;
  const std::vector<Tensor> in_{uniform(DType::kF32, {5, kStackWidth}, 77)};
};

TEST_F(CarryingArtifact, E_FiveProgramsStoreWeightsOnce) {
  const auto a = make({"cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:vm", "cuda:sm_80", "cuda:sm_90"});
  ASSERT_TRUE(a);
  const ArtifactSizes s = sizes_of(*a);
  EXPECT_LE(s.weights, weights_ * 11 / 10);
  EXPECT_LE(s.file, weights_ * 11 / 10 + s.code + s.tables) << s.padding() << " bytes between sections";
  EXPECT_EQ(shared_packed(*a), 4);
  // All programs for the cpu read the same constants.
  std::set<std::set<std::string>> hashes;
  for (size_t i = 0; i < 3; ++i) {
    std::set<std::string> of_program;
    for (const PlanConstant& c : a->program(i).constants) of_program.insert(c.hash);
    hashes.insert(of_program);
  }
  EXPECT_EQ(hashes.size(), 1u);

  const std::vector<Tensor> want = must_eval(m_, "main", in_);
  const std::vector<std::string> have = machine_features();
  auto expect = [&](std::vector<std::string> without, const std::string& wanted, bool interpreter = false) {
    LoadOptions options;
    options.without_features = std::move(without);
    options.allow_interpreter = interpreter;
    std::string target;
    EXPECT_EQ(far_apart(run(*a, "cpu", options, &target), want[0], 1e-4, 1e-5), "") << wanted;
    EXPECT_EQ(target, wanted);
  };
  if (missing_features(a->program(1).features, have).empty()) expect({}, "cpu:x86-64-v4");
  if (missing_features(a->program(0).features, have).empty()) expect({"avx512f"}, "cpu:x86-64-v3");
  expect({"avx512f", "avx2"}, "cpu:vm", true);
  LoadOptions none;
  none.without_features = {"avx512f", "avx2"};
  auto refused = load_executable(*a, *open_device("cpu"), none);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(exit_code(refused.error().code), 5);
  EXPECT_NE(refused.error().message.find("lacks avx2"), std::string::npos) << refused.error().str();
}

// The CUDA program's unpacking, where it can be run.
TEST_F(CarryingArtifact, E_UnpackedWhileLoading) {
  const auto a = make({"cpu:x86-64-v3", "cuda-emu:sm_80"});
  ASSERT_TRUE(a);
  EXPECT_EQ(shared_packed(*a), 4);
  EXPECT_LE(a->weight_bytes(), weights_);
  LoadOptions options;
  options.require_native = true;
  std::string target;
  const Tensor got = run(*a, "cuda-emu", options, &target);
  EXPECT_EQ(target, "cuda-emu:sm_80");
  EXPECT_EQ(far_apart(got, must_eval(m_, "main", in_)[0], 1e-4, 1e-5), "");
  for (const PlanConstant& c : a->program(1).constants)
    EXPECT_TRUE(c.unpack.empty() || c.dims == (std::vector<int64_t>{kStackWidth, kStackWidth})) << c.hash;
}

// Tied embeddings: a table that is gathered from and, transposed, multiplied by. Its panels serve both, without a kernel that makes it
// dense.
TEST_F(CarryingArtifact, E_TiedTableIsStoredOnce) {
  constexpr int64_t kWords = 1001, kWidth = 48;
  Module m;
  Entry& e = m.add_entry("main");
  e.graph = std::make_unique<Graph>(&m, "main");
  Graph& g = *e.graph;
  Maker k(g);
  const ValueId ids = g.add_input(Type::tensor(DType::kI64, {7}));
  const ValueId table = k.constant(uniform(DType::kF32, {kWords, kWidth}, 5));
  const ValueId rows = k.op(OpKind::kTanh, {k.op(OpKind::kGather, {table, ids}, {{"axis", int64_t(0)}})});
  g.set_outputs({rows, k.op(OpKind::kMatMul, {rows, table}, {{"transpose_b", int64_t(1)}})});
  e.args = {{"ids", {}}};
  e.results = {{"rows", {}}, {"scores", {}}};
  compile_artifact(m, {"cpu:x86-64-v3", "cpu:vm", "cuda-emu:sm_80"}, path_, true);
  auto a = Artifact::open(path_);
  ASSERT_TRUE(a.ok()) << a.error().str();
  EXPECT_LE((*a)->weight_bytes(), 4 * kWords * kWidth * 11 / 10);
  const std::vector<Tensor> in{uniform(DType::kI64, {7}, 9, 0, kWords)};
  const std::vector<Tensor> want = must_eval(m, "main", in);
  for (const auto& [target, device] : {std::pair{"cpu:x86-64-v3", "cpu"}, {"cpu:vm", "cpu"}, {"cuda-emu:sm_80", "cuda-emu"}}) {
    LoadOptions options;
    options.target = target;
    options.allow_interpreter = true;
    auto loaded = load_executable(**a, *open_device(device), options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().str();
    EXPECT_LE((*loaded)->counts().total(), 2) << target;
    auto s = Session::create(*loaded);
    ASSERT_TRUE(s.ok());
    const std::vector<Tensor> got = must_run(**s, "main", in);
    ASSERT_EQ(got.size(), 2u);
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(far_apart(got[i], want[i], 1e-4, 1e-5), "") << target << " output " << i;
  }
}

}  // namespace
}  // namespace nnc

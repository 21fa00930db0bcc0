// Carrying test a: forward, backward and update as one entry of a module, and an evaluation that shares its states; through an artifact,
// against PyTorch.

#include <gtest/gtest.h>

#include "codegen/artifact_writer.h"
#include "ir/support/text.h"
#include "runtime/artifact.h"
#include "runtime/open_device.h"
#include "tests/e2e/compiled.h"
#include "tests/e2e/training.h"

namespace nnc {
namespace {

using namespace test;

struct Where {
  const char* name;
  const char* device;
  const char* target;
};
class CarryingTrain : public testing::TestWithParam<Where> {
 protected:
  // Through an artifact in memory.
  Result<std::unique_ptr<Session>> open(const Module& m) {
    const std::unique_ptr<Module> copy = m.clone();
    NNC_TRY(simplify_module(*copy, {}));
    NNC_ASSIGN(const Target target, parse_target(GetParam().target));
    NNC_ASSIGN(CompiledProgram program, compile_for_target(*copy, target, {}));
    std::vector<CompiledProgram> programs;
    programs.push_back(std::move(program));
    NNC_ASSIGN(Bytes bytes, artifact_bytes({programs, "", {}}));
    const auto owner = std::make_shared<Bytes>(std::move(bytes));
    NNC_ASSIGN(artifact_, Artifact::from_bytes(owner, *owner, {ArtifactTrust::kCaller}));
    NNC_ASSIGN(std::shared_ptr<Device> device, open_device(GetParam().device));
    LoadOptions load;
    load.allow_interpreter = target.kind == TargetKind::kVm;
    NNC_ASSIGN(std::shared_ptr<const Executable> executable, load_executable(*artifact_, device, load));
    return Session::create(executable);
  }
  static std::vector<Tensor> states_of(const Session& s) {
    std::vector<Tensor> out;
    for (const std::string& name : kParameters) {
      auto v = s.state(name);
      EXPECT_TRUE(v.ok()) << name;
      out.push_back(v.ok() ? *v : Tensor());
    }
    return out;
  }
  // A label out of range is an error that names sample, value and place, and the states stay as they were.
  static void expect_bad_labels(Session& s, const Tensor& x, const Tensor& labels) {
    const std::vector<Tensor> before = states_of(s);
    for (const auto& [sample, value] : kBadLabels) {
      const auto out = s.run("train_step", std::vector<Tensor>{x, with_label(labels, sample, value)});
      ASSERT_FALSE(out.ok());
      EXPECT_EQ(out.error().code, Code::kIndexOutOfRange) << out.error().str();
      EXPECT_NE(out.error().message.find(bad_label_message(sample, value)), std::string::npos) << out.error().str();
      EXPECT_FALSE(out.error().place.file.empty() && out.error().place.node.empty()) << "no place";
      const std::vector<Tensor> after = states_of(s);
      for (size_t k = 0; k < before.size(); ++k) EXPECT_TRUE(before[k].same_bits(after[k])) << kParameters[k];
    }
  }
  std::shared_ptr<const Artifact> artifact_;
};
INSTANTIATE_TEST_SUITE_P(A, CarryingTrain,
                         testing::Values(Where{"cpu", "cpu", "cpu:x86-64-v3"}, Where{"vm", "cpu", "cpu:vm"},
                                         Where{"emulator", "cuda-emu", "cuda-emu:sm_80"}),
                         [](const auto& i) { return i.param.name; });

TEST_P(CarryingTrain, FiftyStepsAsPyTorch) {
  const TrainingReference ref;
  Module m;
  const Status built = build_training(m, ref);
  ASSERT_TRUE(built.ok()) << built.error().str();
  auto opened = open(m);
  ASSERT_TRUE(opened.ok()) << opened.error().str();
  Session& s = **opened;
  for (int64_t step = 0; step < kTrainSteps; ++step) {
    const Tensor x = ref.x(step), labels = ref.labels(step);
    if (step == kBadStep) expect_bad_labels(s, x, labels);
    const std::vector<Tensor> out = must_run(s, "train_step", std::vector<Tensor>{x, labels});
    ASSERT_EQ(out.size(), 1u) << "step " << step;
    EXPECT_EQ(far_apart(out[0], ref.loss(step), 1e-5, 1e-5), "") << "step " << step;
  }
  const std::vector<Tensor> states = states_of(s);
  for (size_t k = 0; k < states.size(); ++k)
    EXPECT_EQ(far_apart(states[k], ref.at("end." + kParameters[k]), 1e-5, 1e-5), "") << kParameters[k];
  const std::vector<Tensor> logits = must_run(s, "eval_step", std::vector<Tensor>{ref.x(0)});
  ASSERT_EQ(logits.size(), 1u);
  EXPECT_EQ(far_apart(logits[0], ref.at("logits"), 1e-5, 1e-5), "");
  const std::vector<Tensor> after = states_of(s);
  for (size_t k = 0; k < states.size(); ++k) EXPECT_TRUE(states[k].same_bits(after[k])) << "eval_step changed " << kParameters[k];
}

}  // namespace
}  // namespace nnc

// Carrying test a: forward, backward and update as one entry of a module, and an evaluation that shares its states.

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "codegen/api/device.h"
#include "codegen/artifact_writer.h"
#include "frontend/trace/trace.h"
#include "ir/base/tensor_io.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "passes/differentiate.h"
#include "runtime/artifact.h"
#include "tests/e2e/compiled.h"

namespace nnc {
namespace {

using namespace test;

constexpr int64_t kSteps = 50, kBatch = 16, kBadStep = 20;
const std::vector<std::string> kParameters = {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"};

std::map<std::string, Tensor> reference() {
  std::map<std::string, Tensor> out;
  auto bytes = read_file("tests/e2e/training_reference.npz", 1 << 20);
  if (!bytes.ok()) {
    ADD_FAILURE() << bytes.error().str();
    return out;
  }
  Budget budget;
  auto all = read_npz({*bytes, "training_reference.npz"}, budget);
  if (!all.ok()) {
    ADD_FAILURE() << all.error().str();
    return out;
  }
  for (NamedTensor& t : *all) out[t.name] = t.tensor;
  return out;
}

// Part `step` of a tensor with one part for each step.
Tensor part(const Tensor& t, int64_t step) {
  const std::vector<int64_t> dims(t.dims().begin() + 1, t.dims().end());
  Tensor out(t.dtype(), dims);
  std::memcpy(out.data(), static_cast<const char*>(t.data()) + static_cast<size_t>(step) * out.bytes(), out.bytes());
  return out;
}

trace::Value mlp(trace::Value x, const std::vector<trace::Value>& p) {
  return trace::linear(trace::relu(trace::linear(x, p[0], p[1])), p[2], p[3]);
}

Status build(Module& m, const std::map<std::string, Tensor>& ref) {
  const int64_t in = ref.at("x").dims()[2];
  {
    trace::Trace t(m, "train_step");
    const trace::Value x = t.input("x", DType::kF32, {kBatch, in}), labels = t.input("labels", DType::kI64, {kBatch});
    std::vector<trace::Value> p;
    for (const std::string& name : kParameters) p.push_back(t.state(name, ref.at("start." + name)));
    const trace::Value loss = trace::cross_entropy(mlp(x, p), labels);
    std::vector<ValueId> wrt;
    for (const trace::Value& v : p) wrt.push_back(v.id());
    if (t.ok()) {
      NNC_ASSIGN(const std::vector<ValueId> grads, differentiate(t.graph(), loss.id(), wrt));
      for (size_t k = 0; k < p.size(); ++k) t.update(p[k], p[k] - t.value(grads[k]) * 0.1);
    }
    t.output("loss", loss);
    NNC_TRY(t.finish());
  }
  trace::Trace t(m, "eval_step");
  const trace::Value x = t.input("x", DType::kF32, {kBatch, in});
  std::vector<trace::Value> p;
  for (const std::string& name : kParameters) p.push_back(t.state(name, ref.at("start." + name)));
  t.output("logits", mlp(x, p));
  return t.finish();
}

// Through an artifact in memory.
Result<std::unique_ptr<Session>> open_artifact(const Module& m, const std::string& target_name, std::string_view device_name) {
  const std::unique_ptr<Module> copy = m.clone();
  NNC_TRY(simplify_module(*copy, {}));
  NNC_ASSIGN(const Target target, parse_target(target_name));
  NNC_ASSIGN(CompiledProgram program, compile_for_target(*copy, target, {}));
  std::vector<CompiledProgram> programs;
  programs.push_back(std::move(program));
  NNC_ASSIGN(Bytes bytes, artifact_bytes({programs, "", {}}));
  const auto owner = std::make_shared<Bytes>(std::move(bytes));
  ArtifactOptions options;
  options.trust = ArtifactTrust::kCaller;
  NNC_ASSIGN(const std::shared_ptr<const Artifact> artifact, Artifact::from_bytes(owner, *owner, options));
  NNC_ASSIGN(std::shared_ptr<Device> device, open_device(device_name));
  LoadOptions load;
  load.allow_interpreter = target_name == "cpu:vm";
  load.target = target_name;
  NNC_ASSIGN(std::shared_ptr<const Executable> executable, load_executable(*artifact, device, load));
  return Session::create(executable);
}

std::vector<Tensor> states_of(const Session& s) {
  std::vector<Tensor> out;
  for (const std::string& name : kParameters) {
    auto v = s.state(name);
    EXPECT_TRUE(v.ok()) << name;
    out.push_back(v.ok() ? *v : Tensor());
  }
  return out;
}

// A label out of range is an error that names sample and value, and the states stay as they were.
void expect_bad_labels(Session& s, const Tensor& x, const Tensor& labels, const std::string& target) {
  const std::vector<Tensor> before = states_of(s);
  for (const auto& [sample, value] : {std::pair<int64_t, int64_t>{3, 7}, {11, -2}, {0, 5}}) {
    Tensor bad = labels;
    store_i64(DType::kI64, bad.data(), sample, value);
    const auto out = s.run("train_step", std::vector<Tensor>{x, bad});
    ASSERT_FALSE(out.ok()) << target;
    EXPECT_EQ(out.error().code, Code::kIndexOutOfRange) << out.error().str();
    EXPECT_NE(out.error().message.find(cat("label ", value, " is outside [0, 5): that of sample [", sample, "]")), std::string::npos)
        << target << ": " << out.error().str();
    EXPECT_EQ(out.error().place.file.empty() && out.error().place.node.empty(), false) << target << ": no place";
    const std::vector<Tensor> after = states_of(s);
    for (size_t k = 0; k < before.size(); ++k) EXPECT_TRUE(before[k].same_bits(after[k])) << target << ": " << kParameters[k];
  }
}

TEST(Carrying, A_TrainStepAndEvalStep) {
  const auto ref = reference();
  ASSERT_TRUE(ref.count("losses"));
  Module m;
  const Status built = build(m, ref);
  ASSERT_TRUE(built.ok()) << built.error().str();
  for (const auto& [target, device] :
       {std::pair<std::string, std::string>{parse_targets("cpu")->back().name, "cpu"}, {"cpu:vm", "cpu"}, {"cuda-emu:sm_80", "cuda-emu"}}) {
    auto opened = open_artifact(m, target, device);
    ASSERT_TRUE(opened.ok()) << target << ": " << opened.error().str();
    Session& s = **opened;
    for (int64_t step = 0; step < kSteps; ++step) {
      const Tensor x = part(ref.at("x"), step), labels = part(ref.at("labels"), step);
      if (step == kBadStep) expect_bad_labels(s, x, labels, target);
      const std::vector<Tensor> out = must_run(s, "train_step", std::vector<Tensor>{x, labels});
      ASSERT_EQ(out.size(), 1u) << target << " step " << step;
      EXPECT_NEAR(out[0].f64(0), ref.at("losses").f64(step), 1e-5) << target << " step " << step;
    }
    const std::vector<Tensor> states = states_of(s);
    for (size_t k = 0; k < states.size(); ++k)
      EXPECT_EQ(far_apart(states[k], ref.at("end." + kParameters[k]), 1e-5, 1e-5), "") << target << ": " << kParameters[k];
    const std::vector<Tensor> logits = must_run(s, "eval_step", std::vector<Tensor>{part(ref.at("x"), 0)});
    ASSERT_EQ(logits.size(), 1u);
    EXPECT_EQ(far_apart(logits[0], ref.at("logits"), 1e-5, 1e-5), "") << target;
    const std::vector<Tensor> after = states_of(s);
    for (size_t k = 0; k < states.size(); ++k) EXPECT_TRUE(states[k].same_bits(after[k])) << "eval_step changed " << kParameters[k];
  }
}

}  // namespace
}  // namespace nnc

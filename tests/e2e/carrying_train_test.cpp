// Carrying test a: one module whose entries share states, through an artifact, against the same training in double precision.

#include <gtest/gtest.h>

#include <cmath>

#include "codegen/api/device.h"
#include "codegen/artifact_writer.h"
#include "ir/support/text.h"
#include "runtime/artifact.h"
#include "tests/e2e/carrying_modules.h"
#include "tests/e2e/compiled.h"

namespace nnc {
namespace {

using namespace test;

// Linear, relu, linear, mean cross entropy, and plain SGD: torch.nn.Linear (weights transposed), F.cross_entropy, torch.optim.SGD(lr).
class Reference {
 public:
  explicit Reference(const Module& m) {
    for (size_t i = 0; i < 4; ++i) {
      const Tensor& t = m.constant(m.states[StateId(i)].initial);
      for (int64_t k = 0; k < t.count(); ++k) p_[i].push_back(t.f64(k));
    }
  }
  // The loss before the step; with `rate` 0 nothing changes. `logits` of the batch are kept.
  double step(const Tensor& x, const Tensor& labels, double rate) {
    constexpr int64_t n = kTrainBatch, in = kTrainIn, hid = kTrainHidden, cls = kTrainClasses;
    std::vector<double> h(n * hid), dz(n * cls), dh(n * hid);
    logits.assign(n * cls, 0);
    double loss = 0;
    for (int64_t s = 0; s < n; ++s) {
      for (int64_t j = 0; j < hid; ++j) {
        double v = p_[1][j];
        for (int64_t i = 0; i < in; ++i) v += x.f64(s * in + i) * p_[0][i * hid + j];
        h[s * hid + j] = std::max(v, 0.0);
      }
      double top = -INFINITY, sum = 0;
      for (int64_t c = 0; c < cls; ++c) {
        double v = p_[3][c];
        for (int64_t j = 0; j < hid; ++j) v += h[s * hid + j] * p_[2][j * cls + c];
        logits[s * cls + c] = v;
        top = std::max(top, v);
      }
      for (int64_t c = 0; c < cls; ++c) sum += std::exp(logits[s * cls + c] - top);
      for (int64_t c = 0; c < cls; ++c) dz[s * cls + c] = (std::exp(logits[s * cls + c] - top) / sum - (c == labels.i64(s))) / n;
      loss += (std::log(sum) + top - logits[s * cls + labels.i64(s)]) / n;
    }
    for (int64_t s = 0; s < n; ++s)
      for (int64_t j = 0; j < hid; ++j)
        for (int64_t c = 0; c < cls && h[s * hid + j] > 0; ++c) dh[s * hid + j] += dz[s * cls + c] * p_[2][j * cls + c];
    for (int64_t s = 0; s < n; ++s) {
      for (int64_t c = 0; c < cls; ++c) {
        for (int64_t j = 0; j < hid; ++j) p_[2][j * cls + c] -= rate * h[s * hid + j] * dz[s * cls + c];
        p_[3][c] -= rate * dz[s * cls + c];
      }
      for (int64_t j = 0; j < hid; ++j) {
        for (int64_t i = 0; i < in; ++i) p_[0][i * hid + j] -= rate * x.f64(s * in + i) * dh[s * hid + j];
        p_[1][j] -= rate * dh[s * hid + j];
      }
    }
    return loss;
  }
  const std::vector<double>& parameter(size_t i) const { return p_[i]; }
  std::vector<double> logits;

 private:
  std::vector<double> p_[4];
};

Tensor batch(int64_t step) { return uniform(DType::kF32, {kTrainBatch, kTrainIn}, static_cast<uint64_t>(500 + step)); }
Tensor labels_of(int64_t step) {
  return uniform(DType::kI64, {kTrainBatch}, static_cast<uint64_t>(900 + step), 0, static_cast<double>(kTrainClasses));
}

std::string differs(const Tensor& got, const std::vector<double>& want, double tolerance) {
  if (got.count() != static_cast<int64_t>(want.size())) return "size";
  for (int64_t i = 0; i < got.count(); ++i)
    if (!(std::fabs(got.f64(i) - want[static_cast<size_t>(i)]) <= tolerance * std::max(1.0, std::fabs(want[static_cast<size_t>(i)]))))
      return cat("element ", i, ": ", got.f64(i), ", wanted ", want[static_cast<size_t>(i)]);
  return {};
}

struct Where {
  const char* name;
  const char* device;
  const char* target;
};
class CarryingTrain : public testing::TestWithParam<Where> {};
INSTANTIATE_TEST_SUITE_P(A, CarryingTrain,
                         testing::Values(Where{"cpu", "cpu", "cpu:x86-64-v3"}, Where{"vm", "cpu", "cpu:vm"},
                                         Where{"emulator", "cuda-emu", "cuda-emu:sm_80"}),
                         [](const auto& i) { return i.param.name; });

TEST_P(CarryingTrain, FiftySteps) {
  Module m;
  build_training(m);
  ASSERT_EQ(m.entries.size(), 2u);
  const std::unique_ptr<Module> copy = m.clone();
  ASSERT_TRUE(simplify_module(*copy, {}).ok());
  auto compiled = compile_for_target(*copy, *parse_target(GetParam().target), {});
  ASSERT_TRUE(compiled.ok()) << compiled.error().str();
  const std::vector<CompiledProgram> programs{std::move(*compiled)};
  auto bytes = artifact_bytes({programs, "", {}});
  ASSERT_TRUE(bytes.ok()) << bytes.error().str();
  auto artifact = Artifact::from_bytes(nullptr, *bytes, {ArtifactTrust::kCaller});
  ASSERT_TRUE(artifact.ok()) << artifact.error().str();
  auto device = open_device(GetParam().device);
  ASSERT_TRUE(device.ok()) << device.error().str();
  LoadOptions options;
  options.allow_interpreter = true;
  auto executable = load_executable(**artifact, *device, options);
  ASSERT_TRUE(executable.ok()) << executable.error().str();
  auto session = Session::create(*executable);
  ASSERT_TRUE(session.ok()) << session.error().str();
  Session& s = **session;
  const char* const names[] = {"w1", "b1", "w2", "b2"};

  Reference reference(m);
  for (int64_t step = 0; step < 50; ++step) {
    const Tensor x = batch(step);
    if (step == 20) {
      Tensor bad = labels_of(step);
      store_i64(DType::kI64, bad.data(), 7, 77);
      std::vector<Tensor> before;
      for (const char* name : names) before.push_back(*s.state(name));
      auto out = s.run("train_step", std::vector<Tensor>{x, bad});
      ASSERT_FALSE(out.ok());
      EXPECT_EQ(out.error().code, Code::kIndexOutOfRange) << out.error().str();
      EXPECT_NE(out.error().message.find("77"), std::string::npos) << out.error().str();
      EXPECT_NE(out.error().message.find("[7]"), std::string::npos) << out.error().str();
      for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(s.state(names[i])->same_bits(before[i])) << names[i];
    }
    const std::vector<Tensor> out = must_run(s, "train_step", std::vector<Tensor>{x, labels_of(step)});
    ASSERT_EQ(out.size(), 1u) << step;
    const double loss = reference.step(x, labels_of(step), kTrainRate);
    EXPECT_NEAR(out[0].f64(0), loss, 1e-5 * std::max(1.0, std::fabs(loss))) << "step " << step;
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(differs(*s.state(names[i]), reference.parameter(i), 1e-5), "") << names[i];
  const std::vector<Tensor> eval = must_run(s, "eval_step", std::vector<Tensor>{batch(50), labels_of(50)});
  ASSERT_EQ(eval.size(), 2u);
  EXPECT_NEAR(eval[0].f64(0), reference.step(batch(50), labels_of(50), 0), 1e-5);
  EXPECT_EQ(differs(eval[1], reference.logits, 1e-5), "");
}

}  // namespace
}  // namespace nnc

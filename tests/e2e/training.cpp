#include "tests/e2e/training.h"

#include <gtest/gtest.h>

#include <cstring>

#include "frontend/trace/trace.h"
#include "ir/base/tensor_io.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "passes/differentiate.h"

namespace nnc::test {

namespace {

constexpr const char* kFile = "tests/e2e/training_reference.npz";
constexpr double kRate = 0.1;

trace::Value mlp(trace::Value x, const std::vector<trace::Value>& p) {
  return trace::linear(trace::relu(trace::linear(x, p[0], p[1])), p[2], p[3]);
}

std::vector<trace::Value> parameters(trace::Trace& t, const TrainingReference& ref) {
  std::vector<trace::Value> p;
  for (const std::string& name : kParameters) p.push_back(t.state(name, ref.at("start." + name)));
  return p;
}

}  // namespace

TrainingReference::TrainingReference() {
  auto bytes = read_file(kFile, 1 << 20);
  Budget budget;
  auto all = bytes.ok() ? read_npz({*bytes, kFile}, budget) : Result<std::vector<NamedTensor>>(bytes.error());
  if (!all.ok()) {
    ADD_FAILURE() << all.error().str();
    return;
  }
  for (NamedTensor& t : *all) values_[t.name] = t.tensor;
}

const Tensor& TrainingReference::at(const std::string& name) const {
  const auto found = values_.find(name);
  NNC_CHECK(found != values_.end(), "the reference holds what the test asks for");
  return found->second;
}

Tensor TrainingReference::part(const Tensor& t, int64_t step) {
  Tensor out(t.dtype(), std::vector<int64_t>(t.dims().begin() + 1, t.dims().end()));
  std::memcpy(out.data(), static_cast<const char*>(t.data()) + static_cast<size_t>(step) * out.bytes(), out.bytes());
  return out;
}

Tensor with_label(Tensor labels, int64_t sample, int64_t value) {
  store_i64(DType::kI64, labels.data(), sample, value);
  return labels;
}

std::string bad_label_message(int64_t sample, int64_t value) {
  return cat("label ", value, " is outside [0, 5): that of sample [", sample, "]");
}

Status build_training(Module& m, const TrainingReference& reference) {
  const std::vector<int64_t> batch = reference.x(0).dims();
  const Shape shape(batch.begin(), batch.end());
  {
    trace::Trace t(m, "train_step");
    const trace::Value x = t.input("x", DType::kF32, shape), labels = t.input("labels", DType::kI64, {shape[0]});
    const std::vector<trace::Value> p = parameters(t, reference);
    const trace::Value loss = trace::cross_entropy(mlp(x, p), labels);
    std::vector<ValueId> wrt;
    for (const trace::Value& v : p) wrt.push_back(v.id());
    if (t.ok()) {
      NNC_ASSIGN(const std::vector<ValueId> grads, differentiate(t.graph(), loss.id(), wrt));
      for (size_t k = 0; k < p.size(); ++k) t.update(p[k], p[k] - t.value(grads[k]) * kRate);
    }
    t.output("loss", loss);
    NNC_TRY(t.finish());
  }
  trace::Trace t(m, "eval_step");
  const trace::Value x = t.input("x", DType::kF32, shape);
  t.output("logits", mlp(x, parameters(t, reference)));
  return t.finish();
}

}  // namespace nnc::test

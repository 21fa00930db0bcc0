// The recorder, the layers and the facade, and the example program over them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "codegen/api/nnc_tensor.h"
#include "ir/base/tensor_io.h"
#include "ir/support/file.h"
#include "ir/support/spawn.h"
#include "ir/support/text.h"
#include "ir/verifier.h"
#include "tests/e2e/compiled.h"

namespace nnc {
namespace {

using namespace test;

TEST(Trace, RecordsLinesAndScopes) {
  Module m;
  trace::Trace t(m);
  t.set_scope("head");
  const trace::Value x = t.input("x", DType::kF32, {Dim(m.symbols.input("batch", 0, 64)), 8});
  const trace::Value y = trace::relu(x * 2.0 + 1);
  const int line = __LINE__ - 1;
  t.output("y", trace::mean(y, {-1}));
  ASSERT_TRUE(t.finish().ok());
  ASSERT_TRUE(verify_or_error(m).ok());
  const Graph& g = *m.entries[0]->graph;
  const Loc& l = m.loc(g.node(g.value(y.id()).def).loc);
  EXPECT_EQ(l.file, "facade_test.cpp");
  EXPECT_EQ(l.line, line);
  EXPECT_EQ(l.scope, "head");
  EXPECT_EQ(l.op, "relu");
  Tensor in(DType::kF32, {2, 8});
  for (int64_t i = 0; i < 16; ++i) in.as_mut<float>()[static_cast<size_t>(i)] = static_cast<float>(i - 8);
  const std::vector<Tensor> out = must_eval(m, "main", std::vector<Tensor>{in});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].dims(), (std::vector<int64_t>{2}));
  EXPECT_FLOAT_EQ(static_cast<float>(out[0].f64(1)), (1 + 3 + 5 + 7 + 9 + 11 + 13 + 15) / 8.0f);
}

TEST(Trace, ReportsAllErrorsAtTheirLines) {
  Module m;
  trace::Trace t(m);
  const trace::Value a = t.input("a", DType::kF32, {3, 4}), b = t.input("b", DType::kF32, {5, 6});
  const trace::Value bad = trace::matmul(a, b);
  const int line = __LINE__ - 1;
  const trace::Value after = trace::relu(bad) + a;  // no further error: it follows from the first
  trace::sum(a, {2});
  t.update(a, b);
  t.output("y", after);
  const Status s = t.finish();
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().place.line, line) << s.error().str();
  const std::string text = s.error().str();
  EXPECT_NE(text.find(cat("also: facade_test.cpp:", line + 3, ": axis 2 does not fit rank 2")), std::string::npos) << text;
  EXPECT_NE(text.find(cat("also: facade_test.cpp:", line + 4, ": only a state can be updated")), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n') < 12, true) << text;
}

TEST(Nn, LinearStartsAsPyTorchDoes) {
  nn::Generator generator(7);
  const nn::Linear a(400, 300, true, generator);
  const nn::Linear b(400, 300, true, generator);
  EXPECT_EQ(a.weight.dims(), (std::vector<int64_t>{300, 400}));
  EXPECT_EQ(a.bias.dims(), (std::vector<int64_t>{300}));
  EXPECT_FALSE(a.weight.same_bits(b.weight));
  generator.manual_seed(7);
  EXPECT_TRUE(nn::Linear(400, 300, true, generator).weight.same_bits(a.weight));
  // Uniform in +-1 / sqrt(400): mean 0, variance bound^2 / 3.
  double sum = 0, squares = 0, largest = 0;
  for (const float v : a.weight.as<float>()) sum += v, squares += double(v) * v, largest = std::max(largest, std::fabs(double(v)));
  const double n = static_cast<double>(a.weight.count()), bound = 0.05;
  EXPECT_NEAR(sum / n, 0, 4 * bound / std::sqrt(3 * n));
  EXPECT_NEAR(squares / n, bound * bound / 3, 0.01 * bound * bound);
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.999 * bound);
}

TEST(Facade, AnswersOnEveryDevice) {
  for (const api::DeviceInfo& info : api::devices()) {
    if (!info.available) {
      EXPECT_EQ(info.name, "cuda");
      EXPECT_EQ(info.reason.code, Code::kNoDevice);
      continue;
    }
    auto device = api::Device::open(info.name);
    ASSERT_TRUE(device.ok()) << device.error().str();
    const Tensor input = uniform(DType::kF32, {16, 10}, 3);
    const nn::Linear start(10, 10);
    api::Linear layer(start);
    const api::Tensor x = api::Tensor::from(input).to(*device);
    const auto out = layer.to(*device)(x).read();
    ASSERT_TRUE(out.ok()) << info.name << ": " << out.error().str();
    Tensor want(DType::kF32, {16, 10});
    for (int64_t i = 0; i < 16; ++i)
      for (int64_t j = 0; j < 10; ++j) {
        double sum = start.bias.f64(j);
        for (int64_t k = 0; k < 10; ++k) sum += input.f64(i * 10 + k) * start.weight.f64(j * 10 + k);
        want.as_mut<float>()[static_cast<size_t>(i * 10 + j)] = static_cast<float>(sum);
      }
    EXPECT_EQ(far_apart(*out, want, 1e-5, 1e-6), "") << info.name;
    // The same expression over other values is compiled once; another is not.
    EXPECT_EQ(device->compiled_programs(), 1);
    ASSERT_TRUE(layer(api::Tensor::from(uniform(DType::kF32, {16, 10}, 4)).to(*device)).read().ok());
    EXPECT_EQ(device->compiled_programs(), 1);
    const api::Tensor twice = x * 2.0;
    const auto sum = (twice - x / 0.5).read();
    ASSERT_TRUE(sum.ok()) << sum.error().str();
    EXPECT_TRUE(sum->same_bits(Tensor(DType::kF32, {16, 10}))) << info.name;
    EXPECT_EQ(device->compiled_programs(), 2);
  }
}

TEST(Facade, ErrorsTravelToTheReadBack) {
  auto cpu = api::Device::open("cpu");
  ASSERT_TRUE(cpu.ok());
  const api::Tensor a = api::Tensor::of({2, 3}, std::vector<float>(6, 1.0f)),
                    b = api::Tensor::of({2, 2}, std::vector<float>(4, 1.0f)).to(*cpu);
  const auto on_host = (a + a).read();
  ASSERT_FALSE(on_host.ok());
  EXPECT_NE(on_host.error().str().find("is on the host"), std::string::npos) << on_host.error().str();
  const api::Tensor wrong = a.to(*cpu) + b;
  const int line = __LINE__ - 1;
  EXPECT_FALSE(wrong.ok());
  const auto out = api::relu(wrong * 3).read();
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().place.line, line) << out.error().str();
  EXPECT_FALSE(api::Tensor().read().ok());
  EXPECT_FALSE(api::Tensor::of({3}, std::vector<float>(2)).ok());
  EXPECT_FALSE(a.to(api::Device()).ok());
  const auto none = api::Device::open("tpu");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(exit_code(none.error().code), 6);
}

// What was never read goes without recursion.
TEST(Facade, LongChainsEnd) {
  auto cpu = api::Device::open("cpu");
  ASSERT_TRUE(cpu.ok());
  api::Tensor x = api::Tensor::of({2}, std::vector<float>{1, 2}).to(*cpu);
  for (int k = 0; k < 50000; ++k) x = api::relu(x);
  EXPECT_TRUE(x.ok());
}

SpawnOutcome run_program(const std::vector<std::string>& arguments) {
  SpawnRequest request;
  request.program = cat(std::getenv("NNC_BUILD_DIR"), "/bin/first_program");
  request.arguments = arguments;
  request.cpu_seconds = request.memory_bytes = request.file_bytes = 0;  // the program sets limits of its own on the compiler that it starts
  for (const char* name : {"XDG_STATE_HOME", "XDG_CACHE_HOME", "PATH", "HOME"})
    if (const char* v = std::getenv(name)) request.environment.push_back(cat(name, "=", v));
  auto outcome = spawn(request);
  EXPECT_TRUE(outcome.ok()) << outcome.error().str();
  return outcome.ok() ? *outcome : SpawnOutcome();
}

TEST(FirstProgram, OnCpuAndEmulator) {
  for (const std::string device : {"cpu", "cuda-emu"}) {
    auto folder = TempDir::create();
    ASSERT_TRUE(folder.ok());
    const std::string dump = cat(folder->path(), "/input.npz");
    const SpawnOutcome o = run_program({"--device", device, "--dump-input", dump});
    ASSERT_TRUE(o.ok()) << o.describe() << "\n" << o.err;
    EXPECT_NE(o.out.find(cat("device ", device, ": there")), std::string::npos) << o.out;
    EXPECT_NE(o.out.find(cat("z = x + y, computed on ", device, ": [11, 22, 33, 44]")), std::string::npos) << o.out;
    EXPECT_NE(o.out.find(cat("Linear(10, 10) on ", device, ", applied to a batch of 16: 16 rows of 10 numbers")), std::string::npos)
        << o.out;
    // The first number of the layer's answer, from what the program says it gave to the layer.
    auto bytes = read_file(dump, 1 << 20);
    ASSERT_TRUE(bytes.ok());
    Budget budget;
    auto all = read_npz({*bytes, "input.npz"}, budget);
    ASSERT_TRUE(all.ok() && all->size() == 3);
    double want = (*all)[2].tensor.f64(0), got = 0;
    for (int64_t k = 0; k < 10; ++k) want += (*all)[0].tensor.f64(k) * (*all)[1].tensor.f64(k);
    const std::string before = "the first [";
    const size_t at = o.out.find(before) + before.size();
    ASSERT_TRUE(parse_double(o.out.substr(at, o.out.find(',', at) - at), &got)) << o.out;
    EXPECT_NEAR(got, want, 1e-5);
  }
}

TEST(FirstProgram, SaysWhatIsMissing) {
  const SpawnOutcome cuda = run_program({"--device", "cuda"});
  EXPECT_EQ(cuda.exit_code, 6) << cuda.describe();
  EXPECT_NE(cuda.err.find("NNC-6001"), std::string::npos) << cuda.err;
  EXPECT_NE(cuda.err.find("--device cuda-emu"), std::string::npos) << cuda.err;
  EXPECT_EQ(run_program({"--device", "tpu"}).exit_code, 6);
  EXPECT_EQ(run_program({"--devise", "cpu"}).exit_code, 2);
}

}  // namespace
}  // namespace nnc

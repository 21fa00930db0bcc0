// The first program of anyone who has used a GPU: is the device there; two tensors to it; their sum there; the result back; a layer moved
// to the device and applied to a batch.
//
//   first_program [--device cpu|cuda-emu|cuda] [--dump-input F.npz]

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "codegen/api/nnc_tensor.h"
#include "examples/support/program.h"
#include "ir/support/text.h"

namespace {

using namespace nnc;
using namespace nnc::example;

constexpr int64_t kBatch = 16, kFeatures = 10;

struct Words {
  std::string device = "cpu", dump_input;
};

Result<Words> parse(int argc, char** argv) {
  Words out;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    std::string* value = word == "--device" ? &out.device : word == "--dump-input" ? &out.dump_input : nullptr;
    if (value == nullptr || ++k == argc)
      return Error(Code::kUsage, cat("what is ", quote(word), "?"))
          .with("usage: first_program [--device cpu|cuda-emu|cuda] [--dump-input F.npz]");
    *value = argv[k];
  }
  return out;
}

std::string numbers(const Tensor& t, int64_t count) {
  std::string out;
  for (int64_t i = 0; i < count; ++i) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%g", i ? ", " : "", t.f64(i));
    out += text;
  }
  return out;
}

// 16 rows of 10 numbers between -1 and 1.
Tensor batch() {
  Tensor t(DType::kF32, {kBatch, kFeatures});
  const std::span<float> all = t.as_mut<float>();
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(static_cast<int>(i * 7 % 41) - 20) / 20.0f;
  return t;
}

Result<int> run(int argc, char** argv) {
  NNC_ASSIGN(const Words words, parse(argc, argv));

  for (const api::DeviceInfo& d : api::devices())
    std::printf("device %s: %s\n", d.name.c_str(), d.available ? "there" : d.reason.message.c_str());
  NNC_ASSIGN(const api::Device device, api::Device::open(words.device));
  std::printf("using %s\n", device.name().c_str());

  const api::Tensor x = api::Tensor::of({4}, std::array{1.0f, 2.0f, 3.0f, 4.0f}).to(device);
  const api::Tensor y = api::Tensor::of({4}, std::array{10.0f, 20.0f, 30.0f, 40.0f}).to(device);
  const api::Tensor z = x + y;
  NNC_ASSIGN(const Tensor sum, z.read());
  std::printf("z = x + y, computed on %s: [%s]\n", z.device().c_str(), numbers(sum, sum.count()).c_str());

  api::Linear layer(kFeatures, kFeatures);
  layer.to(device);
  const Tensor input = batch();
  if (!words.dump_input.empty()) {
    NNC_ASSIGN(const Tensor weight, layer.weight().read());
    NNC_ASSIGN(const Tensor bias, layer.bias().read());
    NNC_TRY(write_npz_file(words.dump_input, {{"input", input}, {"weight", weight}, {"bias", bias}}));
  }
  NNC_ASSIGN(const Tensor out, layer(api::Tensor::from(input).to(device)).read());
  std::printf("Linear(%d, %d) on %s, applied to a batch of %d: %d rows of %d numbers, the first [%s]\n", static_cast<int>(kFeatures),
              static_cast<int>(kFeatures), device.name().c_str(), static_cast<int>(kBatch), static_cast<int>(out.dims()[0]),
              static_cast<int>(out.dims()[1]), numbers(out, kFeatures).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return finish(run(argc, argv)); }

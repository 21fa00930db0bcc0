// The programs as a user runs them, on the inputs of the model pack: what they say is what the pack says they hear, see and read.

#include <cmath>

#include <gtest/gtest.h>

#include "examples/support/program.h"
#include "ir/support/file.h"
#include "ir/support/spawn.h"
#include "ir/support/text.h"

namespace nnc::example {
namespace {

std::string env(const char* name) {
  const char* v = std::getenv(name);
  return v == nullptr ? std::string() : v;
}

std::map<std::string, Tensor> read_npz_file(const std::string& path) {
  const auto bytes = read_file(path, int64_t(1) << 30);
  EXPECT_TRUE(bytes.ok()) << path;
  Budget budget;
  auto tensors = read_npz({*bytes, path}, budget);
  EXPECT_TRUE(tensors.ok());
  std::map<std::string, Tensor> out;
  for (NamedTensor& t : *tensors) out[t.name] = std::move(t.tensor);
  return out;
}

class Programs : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create();
    ASSERT_TRUE(made.ok());
    folder_.emplace(std::move(*made));
  }
  std::string path(std::string_view name) const { return cat(folder_->path(), "/", name); }
  static std::string model(std::string_view name) { return cat(env("NNC_MODEL_CACHE"), "/", name, ".onnx"); }
  static bool there(std::string_view name) { return ReadFile::open(model(name)).ok(); }

  SpawnOutcome run(std::string_view program, const std::vector<std::string>& arguments) {
    SpawnRequest request;
    request.program = cat(env("NNC_BUILD_DIR"), "/bin/", program);
    request.arguments = arguments;
    request.environment = spawn_environment();
    for (const char* name : {"XDG_CACHE_HOME", "XDG_STATE_HOME"}) request.environment.push_back(cat(name, "=", env(name)));
    auto outcome = spawn(request);
    EXPECT_TRUE(outcome.ok()) << outcome.error().str();
    return outcome.ok() ? *outcome : SpawnOutcome();
  }

 private:
  std::optional<TempDir> folder_;
};

TEST_F(Programs, SpeechHearsWhatTheStoredProbabilitiesSay) {
  if (!there("silero_vad")) FAIL() << "no model silero_vad; tests/models/prepare.py brings it";
  const std::string cases = NNC_SOURCE_DIR "/tests/models/cases/silero_vad/recorded_16k";
  const Tensor steps = read_npz_file(cases + ".in.npz")["input"], probabilities = read_npz_file(cases + ".out.npz")["output"];
  constexpr int64_t kContext = 64, kStep = 512;
  std::string wav("RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x03\0\x01\0\x80\x3e\0\0\0\xfa\0\0\x04\0\x20\0data\0\0\0\0", 44);  // floats at 16 kHz
  const auto size = static_cast<uint32_t>(steps.dims()[0] * kStep * 4);
  __builtin_memcpy(wav.data() + 40, &size, 4);
  for (int64_t s = 0; s < steps.dims()[0]; ++s)
    wav.append(reinterpret_cast<const char*>(steps.as<float>().data() + s * (kContext + kStep) + kContext), kStep * 4);
  ASSERT_TRUE(write_file_atomic(path("r.wav"), bytes_of(wav)).ok());

  const SpawnOutcome o = run("speech", {"--model", model("silero_vad"), "--dump-input", path("in.npz"), path("r.wav")});
  ASSERT_TRUE(o.ok()) << o.err;
  const Tensor given = read_npz_file(path("in.npz"))["input"];
  ASSERT_EQ(given.dims(), steps.dims());
  for (int64_t k = 0; k < steps.count(); ++k) ASSERT_EQ(given.f64(k), steps.f64(k)) << k;
  // A frame of speech lies in a span, one that surely is none does not. Spans have a margin of 30 ms.
  constexpr double kPad = 0.03;
  std::vector<std::pair<double, double>> spans;
  for (const std::string_view line : split(o.out, '\n')) {
    int m0 = 0, m1 = 0;
    double s0 = 0, s1 = 0;
    if (std::sscanf(std::string(line).c_str(), "speech from %d:%lf to %d:%lf", &m0, &s0, &m1, &s1) == 4)
      spans.emplace_back(60 * m0 + s0 + kPad, 60 * m1 + s1 - kPad);
  }
  ASSERT_EQ(spans.size(), 4u) << o.out;
  for (int64_t s = 0; s < probabilities.count(); ++s) {
    const double middle = 0.032 * (static_cast<double>(s) + 0.5);
    bool inside = false;
    for (const auto& [begin, end] : spans) { inside |= middle > begin && middle < end; }
    EXPECT_TRUE(inside || probabilities.f64(s) < 0.5) << "frame " << s;
    EXPECT_TRUE(!inside || probabilities.f64(s) >= 0.15) << "frame " << s;
  }
}

TEST_F(Programs, FiletypeKnowsFilesByTheirContent) {
  if (!there("magika")) FAIL() << "no model magika; tests/models/prepare.py brings it";
  for (const auto& [file, type] : {std::pair{"README.md", "markdown"},
                                   {"tests/lint.py", "python"},
                                   {"CMakeLists.txt", "cmake"},
                                   {"tests/models/models.json", "json"},
                                   {"codegen/lower.cpp", "cpp"}}) {
    const SpawnOutcome o = run("filetype", {"--model", model("magika"), cat(env("NNC_SOURCE_DIR"), "/", file)});
    ASSERT_TRUE(o.ok()) << o.err;
    EXPECT_NE(o.out.find(cat(": ", type, " (")), std::string::npos) << o.out;
  }
  ASSERT_TRUE(write_file_atomic(path("empty"), {}).ok());
  EXPECT_NE(run("filetype", {"--model", model("magika"), path("empty")}).out.find("empty"), std::string::npos);
}

TEST_F(Programs, ReadtextReads) {
  if (!there("ppocr_v6_rec")) FAIL() << "no model ppocr_v6_rec; tests/models/prepare.py brings it";
  const std::string file = NNC_SOURCE_DIR "/tests/models/cases/read_page.npy";
  const auto bytes = read_file(file, 1 << 24);
  ASSERT_TRUE(bytes.ok());
  Budget budget;
  const auto page = read_npy({*bytes, file}, budget);
  ASSERT_TRUE(page.ok());
  const struct {
    int64_t from, to;
    const char* text;
  } lines[] = {{0, 64, "HELLO WORLD\n"}, {64, 116, "graph compiler\n"}, {120, 192, "Room 2048\n"}};
  for (const auto& line : lines) {
    std::string picture = cat("P6 ", page->dims()[1], " ", line.to - line.from, " 255\n");
    picture.append(static_cast<const char*>(page->data()) + line.from * page->dims()[1] * 3,
                   static_cast<size_t>((line.to - line.from) * page->dims()[1] * 3));
    ASSERT_TRUE(write_file_atomic(path("line.ppm"), bytes_of(picture)).ok());
    const SpawnOutcome o = run("readtext", {"--model", model("ppocr_v6_rec"), path("line.ppm")});
    ASSERT_TRUE(o.ok()) << o.err;
    EXPECT_EQ(o.out, line.text);
  }
}

TEST_F(Programs, WrongWordsAndFiles) {
  EXPECT_EQ(run("speech", {}).exit_code, 2);
  const SpawnOutcome typo = run("speech", {"--modle", "x", "y"}), help = run("speech", {"--help"});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_NE(typo.err.find("did you mean --model?"), std::string::npos) << typo.err;
  EXPECT_NE(typo.err.find("usage:"), std::string::npos) << typo.err;
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.out.find("usage:"), std::string::npos) << help.out;
  EXPECT_EQ(run("filetype", {"--model", "none.onnx", path("none")}).exit_code, 8);
  ASSERT_TRUE(write_file_atomic(path("no.png"), bytes_of("no picture")).ok());
  EXPECT_EQ(run("readtext", {"--model", "none.onnx", path("no.png")}).exit_code, 3);
}

}  // namespace
}  // namespace nnc::example

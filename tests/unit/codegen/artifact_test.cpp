#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <random>

#include "codegen/artifact_writer.h"
#include "ir/base/cpu_features.h"
#include "ir/support/file.h"
#include "ir/support/spawn.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "runtime/artifact.h"
#include "runtime/artifact_format.h"
#include "runtime/cpu_device.h"
#include "runtime/session.h"
#include "runtime/trust.h"
#include "tests/planted_code.h"

namespace nnc {
namespace {

// y = relu(x + b) * x over [n, 4], b a constant.
const char kModel[] =
    "nnir 1\n"
    "symbols {\n  s0 = input \"n\" in [0, 1000]\n}\n"
    "locations {\n  #0 = node \"/Add\" op \"Add\"\n}\n"
    "entry @main(%0: f32[s0, 4] \"x\") -> (\"y\") {\n"
    "  %1 = constant() {value = f32[4] {1, -2, 3, -4}} : f32[4]\n"
    "  %2 = add(%0, %1) : f32[s0, 4] loc #0\n"
    "  %3 = relu(%2) : f32[s0, 4]\n"
    "  %4 = mul(%3, %0) : f32[s0, 4]\n"
    "  return %4\n"
    "}\n";

// Each test has its own folders of the user.
class ArtifactTest : public testing::Test {
 protected:
  void SetUp() override {
    auto dir = TempDir::create();
    ASSERT_TRUE(dir.ok());
    dir_ = std::make_unique<TempDir>(std::move(*dir));
    for (const char* name : {"XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"}) {
      const char* old = std::getenv(name);
      saved_.emplace_back(name, old ? old : "");
      setenv(name, cat(dir_->path(), "/", name).c_str(), 1);
    }
  }
  void TearDown() override {
    for (const auto& [name, value] : saved_) value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  }
  std::string path(std::string_view name) const { return cat(dir_->path(), "/", name); }

  static CompiledProgram compile(const char* target, int parallel = 2, bool use_cache = true) {
    auto m = parse_module(kModel);
    EXPECT_TRUE(m.ok()) << (m.ok() ? "" : m.error().str());
    auto t = parse_target(target);
    EXPECT_TRUE(t.ok());
    CompileOptions options;
    options.native = t->kind == TargetKind::kCpu;
    options.host.parallel = parallel;
    options.host.use_cache = use_cache;
    EXPECT_TRUE(simplify_module(**m, options).ok());
    auto p = compile_for_target(**m, *t, options);
    EXPECT_TRUE(p.ok()) << (p.ok() ? "" : p.error().str());
    return p.ok() ? std::move(*p) : CompiledProgram();
  }
  static Bytes portable() {
    const std::vector<CompiledProgram> programs{compile("cpu:vm")};
    auto bytes = artifact_bytes({programs, "", {}});
    EXPECT_TRUE(bytes.ok());
    return bytes.ok() ? std::move(*bytes) : Bytes();
  }
  static Result<std::vector<Tensor>> run(const Artifact& a, const LoadOptions& options, CodeCounts* counts = nullptr) {
    NNC_ASSIGN(auto device, make_cpu_device({1, false, 50}));
    NNC_ASSIGN(auto executable, load_executable(a, device, options));
    if (counts) *counts = executable->counts();
    SessionOptions limits;
    limits.max_bytes = 1 << 24;
    NNC_ASSIGN(auto session, Session::create(executable, limits));
    std::vector<float> x(12);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 3;
    return session->run("main", std::vector<Tensor>{Tensor::of<float>(DType::kF32, {3, 4}, x)});
  }
  static void expect_right(const Result<std::vector<Tensor>>& out) {
    ASSERT_TRUE(out.ok()) << out.error().str();
    const float b[] = {1, -2, 3, -4};
    for (int64_t i = 0; i < 12; ++i) {
      const float x = static_cast<float>(i) - 3;
      EXPECT_EQ((*out)[0].f64(i), std::max(0.0f, x + b[i % 4]) * x);
    }
  }
  static Result<std::shared_ptr<const Artifact>> read(const Bytes& bytes, ArtifactTrust trust = ArtifactTrust::kNone) {
    return Artifact::from_bytes(nullptr, bytes, {trust, false, int64_t(1) << 30});
  }

  std::unique_ptr<TempDir> dir_;
  std::vector<std::pair<std::string, std::string>> saved_;
};

LoadOptions interpreted() {
  LoadOptions o;
  o.allow_interpreter = true;
  return o;
}

TEST_F(ArtifactTest, InterpretedRoundTrip) {
  const Bytes bytes = portable();
  EXPECT_EQ(bytes, portable());
  auto a = read(bytes);
  ASSERT_TRUE(a.ok()) << a.error().str();
  EXPECT_EQ((*a)->program(0).target, "cpu:vm");
  CodeCounts counts;
  expect_right(run(**a, interpreted(), &counts));
  EXPECT_GT(counts.vm, 0);
  EXPECT_EQ(counts.native, 0);
  EXPECT_EQ(run(**a, {}).error().code, Code::kIncompatible);
}

TEST_F(ArtifactTest, TargetsShareConstantsAndTheBestIsTaken) {
  const std::vector<CompiledProgram> programs{compile("cpu:x86-64-v3"), compile("cpu:x86-64-v4"), compile("cpu:vm")};
  auto digest = write_artifact(path("m.nnb"), {programs, "", {{"b", "2"}, {"a", "1"}}});
  ASSERT_TRUE(digest.ok()) << digest.error().str();
  // Not trusted: native code is not run.
  auto a = Artifact::open(path("m.nnb"));
  ASSERT_TRUE(a.ok()) << a.error().str();
  EXPECT_FALSE((*a)->trusted());
  EXPECT_EQ((*a)->digest(), *digest);
  EXPECT_EQ(run(**a, {}).error().code, Code::kUntrusted);
  CodeCounts counts;
  expect_right(run(**a, interpreted(), &counts));
  EXPECT_EQ(counts.native, 0);
  EXPECT_EQ((*a)->properties()[0].first, "a");
  size_t weights = 0;
  for (size_t i = 0; i < (*a)->size(); ++i) weights = std::max(weights, (*a)->constants(i).size());
  EXPECT_EQ((*a)->weight_bytes(), static_cast<int64_t>(weights * 16));

  ASSERT_TRUE(add_trust(*digest, "m.nnb").ok());
  a = Artifact::open(path("m.nnb"));
  ASSERT_TRUE(a.ok()) << a.error().str();
  EXPECT_TRUE((*a)->trusted());
  const auto have = machine_features();
  if (!missing_features(programs[0].program.features, have).empty()) GTEST_SKIP() << "the machine has no AVX2";
  LoadOptions native;
  native.require_native = true;
  expect_right(run(**a, native, &counts));
  EXPECT_EQ(counts.vm, 0);
  EXPECT_GT(counts.native, 0);
  auto chosen = [&](std::vector<std::string> without) {
    LoadOptions o;
    o.without_features = std::move(without);
    auto e = load_executable(**a, *make_cpu_device({1, false, 50}), o);
    return e.ok() ? (*e)->program().target : e.error().str();
  };
  const bool v4 = missing_features(programs[1].program.features, have).empty();
  EXPECT_EQ(chosen({}), v4 ? "cpu:x86-64-v4" : "cpu:x86-64-v3");
  EXPECT_EQ(chosen({"avx512f"}), "cpu:x86-64-v3");
  const std::string none = chosen({"avx512f", "fma"});
  EXPECT_NE(none.find("NNC-5002"), std::string::npos) << none;
  EXPECT_NE(none.find("fma"), std::string::npos) << none;
  ASSERT_TRUE(remove_trust(*digest).ok());
  a = Artifact::open(path("m.nnb"));
  ASSERT_TRUE(a.ok());
  EXPECT_FALSE((*a)->trusted());
}

// Neither folder nor user, locale, cache or number of threads show in an artifact.
TEST_F(ArtifactTest, EqualInputGivesEqualBytes) {
  const auto make = [&](int parallel, bool use_cache) {
    const std::vector<CompiledProgram> programs{compile("cpu:x86-64-v3", parallel, use_cache), compile("cpu:vm")};
    return *artifact_bytes({programs, kModel, {{"b", "2"}, {"a", "1"}}});
  };
  const Bytes first = make(2, true);
  char here[4096];
  ASSERT_NE(::getcwd(here, sizeof here), nullptr);
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  ASSERT_EQ(::chdir(dir_->path().c_str()), 0);
  setenv("HOME", "/nowhere", 1);
  setenv("USER", "somebody", 1);
  setenv("SOURCE_DATE_EPOCH", "1", 1);
  for (const char* name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"})  // a decimal comma, where the system has one
    if (std::setlocale(LC_ALL, name)) break;
  const Bytes second = make(1, false);
  std::setlocale(LC_ALL, "C");
  unsetenv("SOURCE_DATE_EPOCH");
  setenv("HOME", home.c_str(), 1);
  ASSERT_EQ(::chdir(here), 0);
  EXPECT_EQ(first, second);
  for (const std::string& trace : {home, dir_->path()}) {
    if (trace.size() < 3) continue;
    EXPECT_EQ(std::search(first.begin(), first.end(), trace.begin(), trace.end()), first.end()) << trace;
  }
}

TEST_F(ArtifactTest, ListOfTrustIsPrivate) {
  const Digest d = sha256("x");
  EXPECT_FALSE(*is_trusted(d));
  ASSERT_TRUE(add_trust(d, "a\nlabel").ok());
  ASSERT_TRUE(add_trust(d, "again").ok());
  ASSERT_TRUE(add_trust(sha256("y"), "").ok());
  EXPECT_TRUE(*is_trusted(d));
  EXPECT_EQ(trusted_list()->size(), 2u);
  EXPECT_EQ((*trusted_list())[0].label, "again");
  ASSERT_TRUE(remove_trust(d).ok());
  EXPECT_FALSE(*is_trusted(d));
  ASSERT_EQ(::chmod(path("XDG_STATE_HOME/nnc/trusted").c_str(), 0666), 0);
  const auto open_to_all = is_trusted(d);
  ASSERT_FALSE(open_to_all.ok());
  EXPECT_EQ(open_to_all.error().code, Code::kUntrusted);
}

TEST_F(ArtifactTest, CodeThatWasChangedIsNotLoaded) {
  const std::vector<CompiledProgram> programs{compile("cpu:x86-64-v3")};
  Bytes bytes = *artifact_bytes({programs, "", {}});
  ASSERT_TRUE(read(bytes, ArtifactTrust::kCaller).ok());
  const ByteView code = programs[0].units.at(0).code;
  const auto at = std::search(bytes.begin(), bytes.end(), code.begin(), code.end());
  ASSERT_NE(at, bytes.end());
  *(at + static_cast<std::ptrdiff_t>(code.size() / 2)) ^= 1;
  EXPECT_EQ(read(bytes, ArtifactTrust::kCaller).error().code, Code::kInvalidArtifact);
}

// The artifact of the C program's test. NNC_BLESS=1 writes it anew, after a change of the format that bumps its number.
TEST_F(ArtifactTest, StoredArtifactStillOpens) {
  const std::string stored = "tests/capi/states.nnb";
  if (std::getenv("NNC_BLESS")) {
    auto text = read_file("tests/capi/states.nnir", 1 << 20);
    ASSERT_TRUE(text.ok()) << text.error().str();
    auto m = parse_module(text_of(*text));
    ASSERT_TRUE(m.ok()) << m.error().str();
    CompileOptions options;
    options.native = false;
    ASSERT_TRUE(simplify_module(**m, options).ok());
    auto p = compile_for_target(**m, *parse_target("cpu:vm"), options);
    ASSERT_TRUE(p.ok()) << p.error().str();
    const std::vector<CompiledProgram> programs{std::move(*p)};
    auto written = write_artifact(stored, {programs, "", {}});
    ASSERT_TRUE(written.ok()) << written.error().str();
  }
  auto a = Artifact::open(stored);
  ASSERT_TRUE(a.ok()) << a.error().str();
  EXPECT_EQ((*a)->program(0).entries.size(), 3u);
}

// A file with planted code: it leaves a mark when it is loaded. Only a caller who vouches for the file gets it loaded.
TEST_F(ArtifactTest, NativeCodeOfAnUntrustedFileNeverRuns) {
  std::vector<CompiledProgram> programs{compile("cpu:x86-64-v3"), compile("cpu:vm")};
  const Status planted = test::plant_code(programs[0], dir_->path(), path("mark"));
  ASSERT_TRUE(planted.ok()) << planted.error().str();
  ASSERT_TRUE(write_artifact(path("m.nnb"), {programs, "", {}}).ok());
  const auto marked = [&] { return ::access(path("mark").c_str(), F_OK) == 0; };

  auto a = Artifact::open(path("m.nnb"), {ArtifactTrust::kList, true});
  ASSERT_TRUE(a.ok()) << a.error().str();
  EXPECT_EQ(run(**a, {}).error().code, Code::kUntrusted);
  LoadOptions named = interpreted();
  expect_right(run(**a, named));
  named.target = "cpu:x86-64-v3";
  expect_right(run(**a, named));
  named.require_native = true;
  EXPECT_FALSE(run(**a, named).ok());
  EXPECT_FALSE(marked());

  a = Artifact::open(path("m.nnb"), {ArtifactTrust::kCaller});
  ASSERT_TRUE(a.ok()) << a.error().str();
  if (!missing_features(programs[0].program.features, machine_features()).empty()) GTEST_SKIP() << "the machine has no AVX2";
  EXPECT_TRUE(run(**a, {}).ok());
  EXPECT_TRUE(marked());
}

TEST_F(ArtifactTest, EveryTruncationIsAnError) {
  const Bytes bytes = portable();
  ASSERT_LE(bytes.size(), 16u << 10);
  for (size_t n = 0; n < bytes.size(); ++n) {
    auto a = read(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)));
    ASSERT_FALSE(a.ok()) << n;
    EXPECT_EQ(a.error().code, Code::kInvalidArtifact);
  }
}

TEST_F(ArtifactTest, EveryFlippedBitIsAnError) {
  Bytes bytes = portable();
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    bytes[i / 8] ^= static_cast<uint8_t>(1 << (i % 8));
    auto a = read(bytes);
    ASSERT_FALSE(a.ok()) << "bit " << i;
    bytes[i / 8] ^= static_cast<uint8_t>(1 << (i % 8));
  }
  EXPECT_TRUE(read(bytes).ok());
}

// With the digest made right again, a file is refused or runs inside its buffers.
TEST_F(ArtifactTest, FlippedBitsWithDigestsRunOrFail) {
  const Bytes good = portable();
  ArtifactHeader h;
  std::memcpy(&h, good.data(), sizeof h);
  std::mt19937 rng(20);
  int ran = 0, refused = 0;
  for (int round = 0; round < 1500; ++round) {
    Bytes bytes = good;
    const size_t bit = 64 * 8 + rng() % (h.table_bytes * 8);
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << (bit % 8));
    const Digest d = artifact_digest(h, ByteView(bytes).subspan(64, h.table_bytes));
    std::copy(d.bytes.begin(), d.bytes.end(), bytes.begin() + 32);
    auto a = read(bytes);
    if (!a.ok()) {
      ++refused;
      continue;
    }
    LoadOptions options = interpreted();
    auto out = run(**a, options);
    ++ran;
  }
  EXPECT_GT(ran, 50);
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace nnc

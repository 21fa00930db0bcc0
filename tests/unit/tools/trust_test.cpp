// Native code of an artifact that this user does not trust, through the tool: with code planted that leaves a mark when it is loaded.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "codegen/artifact_writer.h"
#include "frontend/onnx/importer.h"
#include "ir/base/cpu_features.h"
#include "tests/planted_code.h"
#include "tests/unit/tools/tool_fixture.h"

namespace nnc::tool {
namespace {

class Untrusted : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    const char* old = std::getenv("XDG_STATE_HOME");
    state_ = old ? old : "";
    live_as("me");
    auto m = import_onnx_file(adder());
    ASSERT_TRUE(m.ok()) << m.error().str();
    std::vector<CompiledProgram> programs;
    for (const char* target : {"cpu:x86-64-v3", "cpu:vm"}) {
      CompileOptions options;
      options.native = false;  // the code is planted
      auto p = compile_for_target(**m, *parse_target(target), options);
      ASSERT_TRUE(p.ok()) << p.error().str();
      programs.push_back(std::move(*p));
    }
    const Status planted = test::plant_code(programs[0], path(), path("mark"));
    ASSERT_TRUE(planted.ok()) << planted.error().str();
    ASSERT_TRUE(write_artifact(file(), {programs, "", {}}).ok());
  }
  void TearDown() override {
    state_.empty() ? unsetenv("XDG_STATE_HOME") : setenv("XDG_STATE_HOME", state_.c_str(), 1);
    ToolTest::TearDown();
  }
  // A user with a list of their own.
  void live_as(const std::string& user) { setenv("XDG_STATE_HOME", path(user).c_str(), 1); }
  std::string file() const { return path("planted.nnb"); }
  bool marked() const { return ::access(path("mark").c_str(), F_OK) == 0; }
  Outcome call(std::vector<std::string> words) {
    words.insert(words.end(), {"-i", "x=f32[1,3]:1,-2,3", "--threads", "1"});
    return run(words);
  }

  std::string state_;
};

TEST_F(Untrusted, NativeCodeNeverRuns) {
  const Outcome refused = call({"run", file()});
  EXPECT_EQ(refused.code, 5);
  EXPECT_NE(refused.err.find("NNC-5003"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("nnc trust"), std::string::npos) << refused.err;
  EXPECT_EQ(call({"bench", file(), "--runs", "1"}).code, 5);
  for (const char* target : {"", "cpu:x86-64-v3", "cpu:vm"}) {
    std::vector<std::string> words{"run", file(), "--allow-interpreter", "--json"};
    if (*target) words.insert(words.end(), {"--target", target});
    const Outcome o = call(words);
    ASSERT_EQ(o.code, 0) << target << "\n" << o.err;
    EXPECT_EQ(json(o.out)["steps"]["native"].number, 0) << o.out;
    EXPECT_GT(json(o.out)["steps"]["vm"].number, 0) << o.out;
  }
  EXPECT_EQ(call({"run", file(), "--allow-interpreter", "--require", "native"}).code, 5);
  EXPECT_EQ(run({"dump", file()}).code, 0);
  EXPECT_EQ(run({"check", file()}).code, 0);
  EXPECT_FALSE(marked());
}

// Another user's trust is not mine, a copy is what its digest says, and a list that others may write to counts for nothing.
TEST_F(Untrusted, TrustIsOfOneUserAndOneContent) {
  live_as("somebody");
  ASSERT_EQ(run({"trust", file()}).code, 0);
  live_as("me");
  EXPECT_EQ(call({"run", file()}).code, 5);
  ASSERT_EQ(run({"trust", file()}).code, 0);
  ASSERT_EQ(::chmod(path("me/nnc/trusted").c_str(), 0666), 0);
  EXPECT_EQ(call({"run", file()}).code, 5);
  ASSERT_EQ(::chmod(path("me/nnc/trusted").c_str(), 0600), 0);
  ASSERT_EQ(run({"trust", "--remove", file()}).code, 0);
  EXPECT_EQ(call({"run", file()}).code, 5);
  EXPECT_FALSE(marked());
  // What the tests above rely on: once trusted, a copy is loaded, mark and all.
  if (!missing_features(parse_target("cpu:x86-64-v3")->features, machine_features()).empty()) GTEST_SKIP() << "the machine has no AVX2";
  ASSERT_EQ(run({"trust", file()}).code, 0);
  put("copy.nnb", get("planted.nnb"));
  EXPECT_EQ(call({"run", path("copy.nnb")}).code, 0);
  EXPECT_TRUE(marked());
}

}  // namespace
}  // namespace nnc::tool

// The bundle of an internal error: the report, the IR after each pass, and no weights. The hook of NNC_CHECK that leads to it.

#include "tools/crash.h"
#include "ir/support/check_hook.h"
#include "ir/support/text.h"
#include "tests/unit/tools/tool_fixture.h"

namespace nnc::tool {
namespace {

class Crash : public ToolTest {
 protected:
  static std::string program() { return cat(std::getenv("NNC_BUILD_DIR"), "/bin/nnc"); }
};

TEST_F(Crash, TheBundleTellsWhatWasAskedAndHasTheIr) {
  const std::vector<std::string> words = {"bench", lookup(), "--dim", "n=3", "--runs", "2", "-O1", "--cast"};
  const Status written = write_crash_bundle(path("bundle"), "a sum is wrong", words, program());
  ASSERT_TRUE(written.ok()) << written.error().str();
  const std::string report = get("bundle/report.txt");
  for (const char* part : {"a sum is wrong", "\"bench\"", "\"n=3\"", "processor", "compiler", "\"--after-each\""})
    EXPECT_NE(report.find(part), std::string::npos) << part << "\n" << report;
  EXPECT_NE(get("bundle/passes.txt").find("exit code 0"), std::string::npos) << get("bundle/passes.txt");
  EXPECT_NE(get("bundle/passes/00-import.nnir").find("gather"), std::string::npos);
  const auto files = list_folder(path("bundle/passes"));
  ASSERT_TRUE(files.ok());
  EXPECT_GE(files->size(), 5u);
  for (const FolderEntry& e : *files) EXPECT_TRUE(e.name.ends_with(".nnir") || e.name.ends_with(".txt")) << e.name;
}

TEST_F(Crash, WithoutAModelThereIsTheReport) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"devices"}, {"run"}, {"run", "-"}, {"nonsense", "x"}}) {
    const std::string folder = cat(path("b"), words.size(), words.empty() ? "" : words[0]);
    EXPECT_TRUE(write_crash_bundle(folder, "why", words, program()).ok());
    const auto files = list_folder(folder);
    ASSERT_TRUE(files.ok());
    EXPECT_EQ(files->size(), 1u) << folder;
  }
}

void say(const char* text) { std::fprintf(stderr, "hook: %s\n", text); }
void fail_again(const char*) { NNC_CHECK(false, "in the hook"); }

TEST(CrashDeathTest, TheHookHearsWhatFailed) {
  EXPECT_DEATH(
      {
        set_check_hook(say);
        NNC_CHECK(1 + 1 == 3, "sums");
      },
      "hook: sums \\(1 \\+ 1 == 3\\) at ");
  EXPECT_DEATH(
      {
        set_check_hook(fail_again);
        NNC_CHECK(1 + 1 == 3, "sums");
      },
      "in the hook");
}

}  // namespace
}  // namespace nnc::tool

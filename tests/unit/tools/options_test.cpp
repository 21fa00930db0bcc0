// The option table and what reads it: parsing, choices, environment, did-you-mean, help, completion.

#include <set>

#include "tests/unit/tools/tool_fixture.h"

namespace nnc::tool {
namespace {

Result<Arguments> parse(std::string_view command, std::vector<std::string> words, std::map<std::string, std::string> environment = {}) {
  return parse_arguments(*find_command(command), words, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Options, FlagsAndPositionalsMix) {
  const auto a = parse("run", {"-i", "x=@a.npy", "m.onnx", "--seed=7", "-O1", "-iy=@b.npy", "--cast", "--", "-odd-"});
  ASSERT_TRUE(a.ok()) << a.error().str();
  EXPECT_EQ(a->positionals, (std::vector<std::string>{"m.onnx", "-odd-"}));
  EXPECT_EQ(a->all("input"), (std::vector<std::string>{"x=@a.npy", "y=@b.npy"}));
  EXPECT_EQ(a->text("level"), "1");
  EXPECT_TRUE(a->has("cast"));
  EXPECT_EQ(a->integer("seed", 0, 0, 100).value(), 7);
  EXPECT_EQ(a->integer("threads", 3, 0, 100).value(), 3);
}

TEST(Options, LastValueWinsAndRepeatsAdd) {
  const auto a = parse("run", {"m", "--seed", "1", "--seed", "2", "--dim", "a=1", "--dim", "b=2"});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a->text("seed"), "2");
  EXPECT_EQ(a->all("dim").size(), 2u);
}

TEST(Options, OptionalValueOnlyWithEqual) {
  const auto a = parse("dump", {"--kernels", "m.onnx"}), b = parse("dump", {"--kernels=conv", "m.onnx"});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_TRUE(a->has("kernels"));
  EXPECT_EQ(a->text("kernels"), "");
  EXPECT_EQ(a->positionals.size(), 1u);
  EXPECT_EQ(b->text("kernels"), "conv");
}

TEST(Options, EnvironmentIsWeakerThanTheCommandLine) {
  const std::map<std::string, std::string> environment = {
      {"NNC_SEED", "5"}, {"NNC_CAST", "1"}, {"NNC_RENAME_DIM", "a=b"}, {"NNC_JSON", "0"}};
  const auto a = parse("run", {"m"}, environment), b = parse("run", {"m", "--seed", "6"}, environment);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->text("seed"), "5");
  EXPECT_EQ(b->text("seed"), "6");
  EXPECT_TRUE(a->has("cast"));
  EXPECT_EQ(a->text("rename-dim"), "a=b");
  EXPECT_FALSE(a->has("json"));
  const auto bad = parse("run", {"m"}, {{"NNC_LEVEL", "9"}});
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("NNC_LEVEL"), std::string::npos);
}

TEST(Options, WrongOnesSayWhatIsMeant) {
  const struct {
    std::string_view command;
    std::vector<std::string> words;
    Code code;
    std::string_view says;
  } cases[] = {
      {"run", {"m", "--sed", "4"}, Code::kUnknownFlag, "did you mean --seed?"},
      {"run", {"m", "--after", "fuse"}, Code::kUnknownFlag, "--after is a flag of: dump"},
      {"run", {"m", "-Z"}, Code::kUnknownFlag, "\"-Z\""},
      {"run", {"m", "--device", "cuda-emo"}, Code::kUsage, "did you mean \"cuda-emu\"?"},
      {"run", {"m", "-O7"}, Code::kUsage, "one of 0, 1, 2 expected"},
      {"run", {"m", "--cast=1"}, Code::kUsage, "takes no value"},
      {"run", {"m", "--input"}, Code::kUsage, "--input SPEC"},
  };
  for (const auto& c : cases) {
    const auto a = parse(c.command, c.words);
    ASSERT_FALSE(a.ok()) << c.says;
    EXPECT_EQ(a.error().code, c.code) << a.error().str();
    EXPECT_NE(a.error().str().find(c.says), std::string::npos) << a.error().str();
  }
  const auto number = parse("run", {"m", "--seed", "x"});
  EXPECT_NE(number->integer("seed", 0, 0, 9).error().message.find("--seed \"x\""), std::string::npos);
}

TEST(Options, TablesAgree) {
  std::set<std::string_view> names, used(common_flags().begin(), common_flags().end());
  std::set<char> letters;
  for (const Flag& f : all_flags()) {
    EXPECT_TRUE(names.insert(f.name).second) << f.name;
    EXPECT_TRUE(f.letter == 0 || letters.insert(f.letter).second) << f.name;
    EXPECT_FALSE(f.help.empty()) << f.name;
    EXPECT_EQ(f.kind == FlagKind::kSwitch, f.value.empty()) << f.name;
  }
  std::set<std::string_view> commands;
  for (const Command& c : all_commands()) {
    EXPECT_TRUE(commands.insert(c.name).second);
    EXPECT_NE(c.run, nullptr);
    for (const std::string_view f : c.flags) {
      EXPECT_TRUE(names.contains(f)) << c.name << " " << f;
      used.insert(f);
    }
  }
  EXPECT_EQ(names, used);
}

class OptionsTool : public ToolTest {};

TEST_F(OptionsTool, HelpNamesEveryFlagOfACommand) {
  for (const Command& c : all_commands()) {
    const Outcome o = run({std::string(c.name), "--help"});
    EXPECT_EQ(o.code, 0);
    for (const std::string_view f : c.flags) EXPECT_NE(o.out.find("--" + std::string(f)), std::string::npos) << c.name << " " << f;
    EXPECT_EQ(run({"help", std::string(c.name)}).out, o.out);
  }
}

TEST_F(OptionsTool, CompletionKnowsCommandsAndChoices) {
  const Outcome bash = run({"completion", "bash"});
  EXPECT_EQ(bash.code, 0);
  for (const char* word : {"compile", "inspect", "--rename-dim", "cpu cuda-emu cuda"})
    EXPECT_NE(bash.out.find(word), std::string::npos) << word;
  EXPECT_EQ(run({"completion", "tcsh"}).code, 2);
}

}  // namespace
}  // namespace nnc::tool

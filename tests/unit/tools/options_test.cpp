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

TEST(Config, TheValuesThatItTakes) {
  const auto e = parse_config(
      "# a comment\nseed = 7   # another\n[run]\ndim = [\"batch=1\", 'seq=8',  # in between\n  \"x=\\\"3\\\"\"]\ncast = true\nrtol = "
      "1e-3\n",
      "c.toml");
  ASSERT_TRUE(e.ok()) << e.error().str();
  ASSERT_EQ(e->size(), 4u);
  EXPECT_EQ((*e)[0].values, std::vector<std::string>{"7"});
  EXPECT_EQ((*e)[1].values, (std::vector<std::string>{"batch=1", "seq=8", "x=\"3\""}));
  EXPECT_EQ((*e)[1].table, "run");
  EXPECT_TRUE((*e)[2].truth);
  EXPECT_EQ((*e)[3].line, 7);
}

TEST(Config, WhatIsNoneHasItsPlace) {
  for (const auto& [text, line] : {std::pair<std::string_view, int64_t>{"a = ", 1},
                                   {"\n\na 3", 3},
                                   {"a = text", 1},
                                   {"a = \"text", 1},
                                   {"[run\n", 1},
                                   {"a = 1 b = 2", 1},
                                   {"a = [1 2]", 1},
                                   {"a = [1,\n", 2},
                                   {"= 3", 1},
                                   {"a = \"\\q\"", 1},
                                   {"a = \"x\\", 1},
                                   {"a = #", 1}}) {
    const auto e = parse_config(text, "c.toml");
    ASSERT_FALSE(e.ok()) << text;
    EXPECT_EQ(e.error().place.line, line) << text << "\n" << e.error().str();
    EXPECT_EQ(e.error().code, Code::kUsage);
  }
}

class ConfigFiles : public ToolTest {
 protected:
  std::string from(const std::string& flag, std::vector<std::string> words) {
    words.insert(words.begin(), {"config", "run", "--json"});
    const Outcome o = run(words);
    EXPECT_EQ(o.code, 0) << o.err;
    const test::Json document = json(o.out);
    for (const test::Json& f : document["flags"].items)
      if (f["flag"].text == flag) return (f["values"].items.empty() ? "" : f["values"].items[0].text) + " " + f["from"].text;
    return "none";
  }
};

TEST_F(ConfigFiles, TheNearerWins) {
  put("c.toml", "seed = 1\nthreads = 1\ncast = true\n[run]\nseed = 2\ncast = false\n[bench]\nseed = 3\nruns = 5\n");
  const std::string file = path("c.toml");
  EXPECT_EQ(from("seed", {"--config", file}), "2 " + file + ":5");
  EXPECT_EQ(from("threads", {"--config", file}), "1 " + file + ":2");
  EXPECT_EQ(from("cast", {"--config", file}), " default");
  environment_["NNC_THREADS"] = "4";
  EXPECT_EQ(from("threads", {"--config", file}), "4 NNC_THREADS");
  EXPECT_EQ(from("threads", {"--config", file, "--threads", "8"}), "8 --threads");
  environment_["NNC_CONFIG"] = file;
  EXPECT_EQ(from("seed", {}), "2 " + file + ":5");
}

TEST_F(ConfigFiles, MistakesAreNamed) {
  for (const auto& [text, part] : {std::pair<std::string, std::string>{"sed = 1\n", "did you mean seed?"},
                                   {"[rnu]\nseed = 1\n", "did you mean \"run\"?"},
                                   {"[run]\nruns = 5\n", "run has no flag --runs"},
                                   {"[run]\nseed = [1, 2]\n", "one value expected"},
                                   {"cast = 3\n", "true or false expected"},
                                   {"device = \"gpu\"\n", "c.toml:1: device \"gpu\": one of cpu"}}) {
    put("c.toml", text);
    const Outcome o = run({"config", "run", "--config", path("c.toml")});
    EXPECT_EQ(o.code, 2) << text;
    EXPECT_NE(o.err.find(part), std::string::npos) << o.err;
  }
  EXPECT_EQ(run({"config", "run", "--config", path("none.toml")}).code, 8);
}

}  // namespace
}  // namespace nnc::tool

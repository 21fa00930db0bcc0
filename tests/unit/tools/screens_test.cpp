// What the tool says and which exit code it leaves, for everything that can go wrong before a model runs; JSON for everything that has it.

#include <algorithm>

#include "ir/support/text.h"
#include "tests/unit/tools/tool_fixture.h"

namespace nnc::tool {
namespace {

class Screens : public ToolTest {};

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(Screens, Overview) {
  EXPECT_EQ(run({}).code, 2);
  const Outcome help = run({"help"});
  EXPECT_EQ(help.code, 0);
  for (const Command& c : all_commands()) EXPECT_TRUE(says(help.out, "nnc " + std::string(c.name))) << c.name;
  EXPECT_EQ(run({"--help"}).out, help.out);
  EXPECT_TRUE(run({"--version"}).out.starts_with("nnc "));
}

TEST_F(Screens, UnknownCommand) {
  const Outcome o = run({"complie", "m.onnx"});
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(o.err, "error[NNC-2001]: there is no command \"complie\"\n  did you mean \"compile\"?\n  try: nnc help\n");
}

TEST_F(Screens, PositionalsAreCounted) {
  EXPECT_TRUE(says(run({"run"}).err, "run needs MODEL|ARTIFACT"));
  EXPECT_TRUE(says(run({"run", "a", "b"}).err, "\"b\""));
  EXPECT_EQ(run({"run", "a", "b"}).code, 2);
}

TEST_F(Screens, ExitCodesOfFiles) {
  EXPECT_EQ(run({"run", path("none.onnx")}).code, 8);
  put("broken.onnx", "this is no protobuf");
  const Outcome broken = run({"run", path("broken.onnx")});
  EXPECT_EQ(broken.code, 3);
  EXPECT_TRUE(says(broken.err, "broken.onnx")) << broken.err;
  test::GraphMaker g;
  g.input("x", {1, 2}).output("y").add("NoSuchOperator", {"x"}, {"y"}, {}, "/a/b");
  put("unknown.onnx", test::model(g, 17));
  const Outcome unknown = run({"run", path("unknown.onnx")});
  EXPECT_EQ(unknown.code, 4);
  EXPECT_TRUE(says(unknown.err, "error[NNC-4001]") && says(unknown.err, "/a/b") && says(unknown.err, "try: nnc check")) << unknown.err;
  put("cut.nnb", std::string("\x89NNB\r\n\x1a\n", 8) + "short");
  EXPECT_EQ(run({"run", path("cut.nnb")}).code, 5);
  EXPECT_EQ(run({"run", adder(), "--dim", "batch=1", "--device", "cuda"}).code, 6);
}

TEST_F(Screens, InputNamesAndTypes) {
  const std::string model = adder();
  const Outcome name = run({"run", model, "-i", "imput=ones"});
  EXPECT_EQ(name.code, 2);
  EXPECT_TRUE(says(name.err, "error[NNC-2003]: the model has no input \"imput\"\n  inputs: x f32[batch,3]\n")) << name.err;
  const Outcome dim = run({"run", model, "--dim", "bach=2"});
  EXPECT_EQ(dim.code, 2);
  EXPECT_TRUE(says(dim.err, "did you mean \"batch\"?") && says(dim.err, "dims: batch")) << dim.err;
  const std::string doubles = npy("d.npy", Tensor(DType::kF64, {2, 3})), flat = npy("f.npy", Tensor(DType::kF32, {6}));
  const Outcome dtype = run({"run", model, "-i", "x=@" + doubles});
  EXPECT_EQ(dtype.code, 2);
  EXPECT_TRUE(says(dtype.err, "error[NNC-2004]: input \"x\": f64[2,3] given, f32[batch,3] expected\n  try: --cast to convert it\n"))
      << dtype.err;
  const Outcome rank = run({"run", model, "-i", "x=@" + flat, "--cast"});
  EXPECT_EQ(rank.code, 2);
  EXPECT_FALSE(says(rank.err, "--cast")) << rank.err;
  const Outcome open = run({"run", model});
  EXPECT_EQ(open.code, 3);
  EXPECT_TRUE(says(open.err, "NNC-3005") && says(open.err, "try: --dim batch=N")) << open.err;
  EXPECT_TRUE(says(run({"run", model, "-i", "x=@" + doubles, "-i", "x=ones"}).err, "expected"));
  EXPECT_TRUE(says(run({"compile", model, "--dim", "batch=4..2"}).err, "LO..HI"));
}

TEST_F(Screens, WhatCanBeKnownBeforeIsSaidBefore) {
  const std::string model = adder(), in = "x=@" + npy("x.npy", Tensor(DType::kF32, {2, 3}));
  const auto before = [&](std::vector<std::string> words, int code, std::string_view part) {
    const Outcome o = run(words);
    EXPECT_EQ(o.code, code) << join(words, " ") << "\n" << o.err;
    EXPECT_TRUE(says(o.err, part)) << o.err;
    EXPECT_FALSE(says(o.err, "  import ")) << "the work was done first: " << o.err;
  };
  before({"run", model, "-i", "x=f32[2,4]"}, 2, "input \"x\": f32[2,4] given, f32[batch,3] expected");
  before({"run", model, "-i", "x=f64[2,3]"}, 2, "try: --cast");
  before({"run", model, "-i", in, "-o", "z=@z.npy"}, 2, "no output \"z\"");
  before({"run", model, "-i", in, "-o", "@" + path("none/z.npz")}, 8, "none");
  before({"run", model, "-i", in, "-o", "@z.txt"}, 2, "@FILE.npz");
  before({"run", model, "-i", in, "--expect", "z=@" + path("x.npy")}, 2, "no output \"z\"");
  before({"run", model, "-i", in, "--rtol", "much"}, 2, "--rtol \"much\"");
  before({"run", model, "-i", in, "--target", "cpu:x86-64-v5"}, 2, "did you mean \"cpu:x86-64-v");
  before({"compile", model, "-o", path("none/m.nnb")}, 8, "none");
  before({"compile", model, "-o", "/dev/full"}, 8, "/dev/full");
  before({"compile", model, "-o", "-", "--json"}, 2, "NNC-2001");
  before({"run", path("addre.onnx")}, 8, "did you mean \"" + path("adder.onnx") + "\"?");
  const auto left = list_folder(path(""));
  ASSERT_TRUE(left.ok());
  for (const FolderEntry& e : *left) EXPECT_FALSE(says(e.name, ".tmp")) << e.name;
}

TEST_F(Screens, EveryFailureNamesWhatToType) {
  put("broken.onnx", "this is no protobuf");
  const std::string model = adder();
  const std::vector<std::vector<std::string>> wrong = {{"run", path("broken.onnx")},
                                                       {"run", path("none.onnx")},
                                                       {"run", model},
                                                       {"run", model, "--dim", "batch"},
                                                       {"run", model, "--threads", "two"},
                                                       {"run", model, "-i", "x=@" + path("none.npy")},
                                                       {"run", model, "-i", "x=f32[2,4]"},
                                                       {"dump", model, "--plan", "--groups"},
                                                       {"compile", path("none.nnb")},
                                                       {"trust", model},
                                                       {"completion", "tcsh"}};
  for (const std::vector<std::string>& words : wrong) {
    const Outcome o = run(words);
    EXPECT_NE(o.code, 0) << join(words, " ");
    EXPECT_TRUE(says(o.err, "try: ") || says(o.err, "nnc explain NNC-") || says(o.err, "did you mean") || says(o.err, "shells:"))
        << join(words, " ") << "\n"
        << o.err;
  }
}

TEST_F(Screens, AFullStandardOutputIsAnError) {
  std::string err;
  Terminal t{[](std::string_view) {}, [&err](std::string_view s) { err += s; }};
  t.out_problem = [] { return std::string("No space left on device"); };
  Console console(std::move(t));
  const std::vector<std::string> words = {"explain"};
  EXPECT_EQ(run_tool(words, console), 8);
  EXPECT_TRUE(says(err, "No space left on device")) << err;
}

TEST_F(Screens, ControlCharactersDoNotReachTheTerminal) {
  const Outcome o = run({"run", path("evil\x1b[31m.onnx")});
  EXPECT_FALSE(says(o.err, "\x1b"));
  EXPECT_TRUE(says(o.err, "\\x1b")) << o.err;
}

TEST_F(Screens, ErrorsAsJson) {
  const Outcome o = run({"run", adder(), "-i", "imput=ones", "--json"});
  EXPECT_EQ(o.out, "");
  const test::Json j = json(o.err);
  EXPECT_EQ(j["schema"].text, "nnc.error/1");
  EXPECT_EQ(j["error"]["code"].text, "NNC-2003");
  EXPECT_EQ(j["error"]["exit"].num(), 2);
  EXPECT_GE(j["error"]["context"].items.size(), 1u);
  EXPECT_EQ(json(run({"run", "--jsn", "--json"}).err)["error"]["code"].text, "NNC-2002");
}

TEST_F(Screens, DocumentsAreJsonWithSchemas) {
  const std::string model = adder();
  const std::vector<std::vector<std::string>> commands = {{"version"},
                                                          {"devices"},
                                                          {"ops"},
                                                          {"ops", "--onnx"},
                                                          {"ops", "matmul"},
                                                          {"explain"},
                                                          {"explain", "2003"},
                                                          {"trust"},
                                                          {"dump", model},
                                                          {"check", model},
                                                          {"dump", model, "--plan"},
                                                          {"dump", model, "--kernels"},
                                                          {"dump", model, "--groups"},
                                                          {"dump", model, "--after", "fuse"}};
  for (std::vector<std::string> words : commands) {
    words.push_back("--json");
    const Outcome o = run(words);
    ASSERT_EQ(o.code, 0) << words[0] << "\n" << o.err;
    const test::Json j = json(o.out);
    EXPECT_EQ(j["schema"].text, "nnc." + words[0] + "/1");
    EXPECT_TRUE(j["nnc"].has("version") && j.has("host") && j.has("args")) << words[0];
  }
}

TEST_F(Screens, CheckListsAllProblems) {
  test::GraphMaker g;
  g.input("x", {1, 2})
      .output("y")
      .add("NoSuchOperator", {"x"}, {"a"}, {}, "/first")
      .add("NeitherThis", {"x"}, {"b"}, {}, "/second")
      .add("Add", {"a", "b"}, {"y"});
  put("two.onnx", test::model(g, 17));
  const Outcome o = run({"check", path("two.onnx")});
  EXPECT_EQ(o.code, 4);
  EXPECT_TRUE(says(o.out, "/first") && says(o.out, "/second") && says(o.out, "2 problems")) << o.out;
  EXPECT_TRUE(says(o.out, "yes (opset")) << o.out;
  EXPECT_EQ(run({"check", adder()}).code, 0);
}

TEST_F(Screens, DumpShowsEveryStage) {
  const std::string model = adder();
  EXPECT_TRUE(says(run({"dump", model, "--after", "import"}).out, "relu"));
  EXPECT_TRUE(says(run({"dump", model, "--after", "fuse"}).out, "group"));
  const Outcome kernels = run({"dump", model, "--kernels", "--target", "cpu:x86-64-v3"});
  for (const char* part : {"kernel @", "C++ for cpu:x86-64-v3", "# from /twice/Add (Add)", "# from /twice/Relu (Relu)"})
    EXPECT_TRUE(says(kernels.out, part)) << part;
  const Outcome wrong = run({"dump", model, "--after", "fuze"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(says(wrong.err, "did you mean \"fuse\"?")) << wrong.err;
  EXPECT_EQ(run({"dump", model, "--plan", "--groups"}).code, 2);
  EXPECT_EQ(run({"inspect", model}).out, run({"dump", model}).out);
}

// Every file of --after-each parses back to the same text, and changes if and only if its pass says so.
TEST_F(Screens, DumpAfterEachParsesBack) {
  const Outcome o = run({"dump", lookup(), "--after-each", path("passes")});
  ASSERT_EQ(o.code, 0) << o.err;
  auto constants = open_constants_side_file(get("passes/constants.bin"));
  ASSERT_TRUE(constants.ok());
  std::string before;
  int files = 0;
  for (const std::string_view line : split(o.out, '\n')) {
    if (line.empty()) continue;
    const std::string text = get("passes/" + std::string(line.substr(0, line.find(' '))));
    const auto module = parse_module(text, *constants);
    ASSERT_TRUE(module.ok()) << line << "\n" << module.error().str();
    EXPECT_EQ(print_module(**module), text) << line;
    if (files++ > 0) { EXPECT_EQ(text != before, !says(std::string(line), "  0 changes")) << line; }
    before = text;
  }
  EXPECT_GE(files, 8);
}

// Tags are closed in the order they were opened, and no name of a model gets out of its quotes.
bool is_xml(std::string_view text) {
  std::vector<std::string> open;
  while (!text.empty()) {
    const size_t at = text.find('<'), end = text.find('>');
    if (at == std::string_view::npos) break;
    if (end < at || end == std::string_view::npos) return false;
    const std::string_view tag = text.substr(at + 1, end - at - 1);
    if (std::ranges::count(tag, '"') % 2 != 0) return false;
    const std::string name(tag.substr(0, tag.find(' ')));
    if (name.starts_with('/')) {
      if (open.empty() || "/" + open.back() != name) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
    text.remove_prefix(end + 1);
  }
  return open.empty();
}

TEST_F(Screens, Pictures) {
  test::GraphMaker g;
  g.input("x", {"batch", 3})
      .typed_output("y", test::DataType::kFloat, {"batch", 3})
      .add("Softmax", {"x"}, {"s"}, {}, "<a>&\"b\"/Soft")
      .add("Relu", {"s"}, {"y"}, {}, "<a>&\"b\"/Relu");
  put("m.onnx", test::model(g, 17));
  const std::string model = path("m.onnx");
  const std::string groups = run({"dump", model, "--svg"}).out, graph = run({"dump", model, "--svg", "--after", "simplify"}).out,
                    memory = run({"dump", model, "--svg", "--plan"}).out, dots = run({"dump", model, "--dot"}).out;
  for (const std::string& picture : {groups, graph, memory}) EXPECT_TRUE(picture.starts_with("<svg ") && is_xml(picture)) << picture;
  EXPECT_TRUE(says(groups, ">fold<") && says(groups, "&lt;a&gt;&amp;&quot;b&quot;/Soft")) << groups;
  EXPECT_TRUE(says(graph, ">softmax<")) << graph;
  EXPECT_TRUE(says(memory, "steps 0 to")) << memory;
  EXPECT_TRUE(dots.starts_with("digraph") && says(dots, "g0n0 -> g0n1 [label=\"f32[batch, 3]\"]") && says(dots, "\\\"b\\\"")) << dots;
  EXPECT_EQ(run({"dump", model, "--svg", "--dot"}).code, 2);
  EXPECT_EQ(run({"dump", model, "--svg", "--kernels"}).code, 2);
  EXPECT_EQ(run({"dump", model, "--svg", "--after", "non"}).code, 2);
}

TEST_F(Screens, TheManualHasEverything) {
  const std::string page = run({"help", "--man"}).out;
  EXPECT_TRUE(page.starts_with(".TH NNC 1 ")) << page.substr(0, 40);
  for (const Command& c : all_commands()) EXPECT_TRUE(says(page, ".SS nnc " + std::string(c.name))) << c.name;
  for (const Flag& f : all_flags()) {
    std::string name = "\\-\\-";
    for (const char c : f.name) name += c == '-' ? std::string("\\-") : std::string(1, c);
    EXPECT_TRUE(says(page, name)) << f.name;
  }
}

TEST_F(Screens, PagesAreFresh) {
  for (const auto& [command, file] : {std::pair{"ops", "docs/ops.md"}, {"explain", "docs/errors.md"}}) {
    const auto page = read_file(std::string(NNC_SOURCE_DIR "/") + file, 1 << 24);
    ASSERT_TRUE(page.ok());
    EXPECT_TRUE(run({command, "--doc"}).out == text_of(*page)) << "regenerate: nnc " << command << " --doc > " << file;
  }
}

TEST_F(Screens, EveryErrorCodeIsExplained) {
  const test::Json j = json(run({"explain", "--json"}).out);
  int families[10] = {};
  for (const test::Json& c : j["codes"].items) {
    const int code = std::atoi(c["code"].text.substr(4).c_str());
    ++families[code / 1000];
    EXPECT_EQ(c["exit"].num(), code / 1000 == 9 ? 70 : code / 1000);
    EXPECT_FALSE(c["remedy"].text.empty());
  }
  for (const int f : {1, 2, 3, 4, 5, 6, 7, 8, 9}) EXPECT_GT(families[f], 0) << f;
  EXPECT_EQ(run({"explain", "NNC-1234"}).code, 2);
}

}  // namespace
}  // namespace nnc::tool

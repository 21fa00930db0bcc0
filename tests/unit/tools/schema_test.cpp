// Documents against their schemas in docs/schema: everything that the tool says as JSON, and the schemas against documents that are wrong.

#include <algorithm>

#include "ir/support/text.h"
#include "tests/unit/tools/tool_fixture.h"

namespace nnc::tool {
namespace {

using test::Json;

bool has_type(const Json& v, const std::string& type) {
  switch (v.kind) {
    case Json::Kind::kNull: return type == "null";
    case Json::Kind::kBool: return type == "boolean";
    case Json::Kind::kNumber:
      return type == "number" || (type == "integer" && v.number == static_cast<double>(static_cast<int64_t>(v.number)));
    case Json::Kind::kString: return type == "string";
    case Json::Kind::kArray: return type == "array";
    case Json::Kind::kObject: return type == "object";
  }
  return false;
}

// What is wrong with `v`, the first of it; the words of JSON Schema that docs/schema uses, and no others.
std::string problem(const Json& schema, const Json& v, const std::string& at = "$") {
  for (const auto& [word, value] : schema.fields) {
    static const std::vector<std::string> known = {"$schema", "title", "type", "const", "properties", "required", "additionalProperties",
                                                   "items"};
    if (std::ranges::find(known, word) == known.end()) return cat("the schema says ", word, ", which this test does not know");
  }
  if (schema.has("const") && schema["const"].text != v.text) return cat(at, " is ", v.text, ", not ", schema["const"].text);
  const Json& type = schema["type"];
  std::vector<std::string> types = {type.text};
  if (type.kind == Json::Kind::kArray) {
    types.clear();
    for (const Json& t : type.items) types.push_back(t.text);
  }
  if (schema.has("type") && std::ranges::none_of(types, [&](const std::string& t) { return has_type(v, t); }))
    return cat(at, " is no ", join(types, " or "));
  for (const Json& name : schema["required"].items)
    if (!v.has(name.text)) return cat(at, " lacks ", name.text);
  for (const auto& [name, field] : v.fields) {
    const Json &own = schema["properties"][name], &more = schema["additionalProperties"];
    if (!schema["properties"].has(name) && more.kind == Json::Kind::kBool) return cat(at, " has ", name, " too");
    if (const std::string p = problem(schema["properties"].has(name) ? own : more, field, cat(at, ".", name)); !p.empty()) return p;
  }
  for (size_t k = 0; k < v.items.size() && schema.has("items"); ++k)
    if (const std::string p = problem(schema["items"], v.items[k], cat(at, "[", k, "]")); !p.empty()) return p;
  return {};
}

class Schemas : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    environment_["NNC_TARGET"] = "cpu:vm";
    environment_["NNC_THREADS"] = "1";
  }
  static Json schema(const std::string& name) {
    const auto bytes = read_file(cat(NNC_SOURCE_DIR "/docs/schema/", name, ".json"), 1 << 20);
    EXPECT_TRUE(bytes.ok()) << name;
    return bytes.ok() ? json(std::string(text_of(*bytes))) : Json();
  }
};

TEST_F(Schemas, EveryDocumentFits) {
  const std::string model = adder(), in = "x=@" + npy("x.npy", test::f32({2, 3}, {1, -2, 3, -4, 5, -6}));
  const std::string good = "y=@" + npy("y.npy", test::f32({2, 3}, {2, 0, 6, 0, 10, 0})),
                    flat = "y=@" + npy("flat.npy", Tensor(DType::kF32, {6}));
  put("broken.onnx", "this is no protobuf");
  test::GraphMaker g;
  g.input("x", {1, 2}).output("y").add("NoSuchOperator", {"x"}, {"y"}, {}, "/a/b");
  put("unknown.onnx", test::model(g, 17));
  const std::vector<std::vector<std::string>> commands = {{"run", model, "-i", in},
                                                          {"run", model, "-i", in, "--expect", good},
                                                          {"run", model, "-i", in, "--expect", flat},
                                                          {"compile", model, "-o", path("m.nnb")},
                                                          {"run", path("m.nnb"), "-i", in, "--allow-interpreter"},
                                                          {"bench", model, "--dim", "batch=[1,2]", "--runs", "2"},
                                                          {"bench", model, "--dim", "batch=2", "--runs", "2", "--steps"},
                                                          {"dump", model},
                                                          {"dump", path("m.nnb")},
                                                          {"dump", path("broken.onnx")},
                                                          {"dump", path("unknown.onnx")},
                                                          {"dump", model, "--groups"},
                                                          {"dump", model, "--plan"},
                                                          {"dump", model, "--plan", "--svg"},
                                                          {"dump", model, "--dot"},
                                                          {"dump", model, "--after-each", path("passes")},
                                                          {"check", model},
                                                          {"check", path("m.nnb")},
                                                          {"check", path("unknown.onnx")},
                                                          {"check", path("broken.onnx")},
                                                          {"devices"},
                                                          {"ops"},
                                                          {"ops", "--onnx"},
                                                          {"ops", "conv"},
                                                          {"trust"},
                                                          {"trust", path("m.nnb")},
                                                          {"trust", path("m.nnb"), "--remove"},
                                                          {"explain"},
                                                          {"version"},
                                                          {"config", "run", "--seed", "3"},
                                                          {"run", path("none.onnx")},
                                                          {"run", model, "--jsno"}};
  std::set<std::string> seen;
  for (std::vector<std::string> words : commands) {
    words.push_back("--json");
    const Outcome o = run(words);
    const std::string text = o.out.empty() ? o.err.substr(o.err.rfind('\n', o.err.size() - 2) + 1) : o.out;
    const std::string name = o.out.empty() ? "error" : words[0];
    seen.insert(name);
    EXPECT_EQ(problem(schema(name), json(text)), "") << join(words, " ") << "\n" << text.substr(0, 2000);
  }
  const auto entries = list_folder(NNC_SOURCE_DIR "/docs/schema");
  ASSERT_TRUE(entries.ok());
  for (const FolderEntry& e : *entries) EXPECT_TRUE(seen.contains(e.name.substr(0, e.name.find('.')))) << e.name << " was not asked for";
}

TEST_F(Schemas, WrongDocumentsDoNot) {
  const Json version = schema("version");
  const std::string text = run({"version", "--json"}).out;
  ASSERT_EQ(problem(version, json(text)), "");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    const size_t at = other.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    other.replace(at, from.size(), to);
    return problem(version, json(other));
  };
  EXPECT_EQ(changed("nnc.version/1", "nnc.version/2"), "$.schema is nnc.version/2, not nnc.version/1");
  EXPECT_EQ(changed("\"args\"", "\"arks\""), "$ lacks args");
  EXPECT_EQ(changed("\"args\"", "\"more\": 1, \"args\""), "$ has more too");
  EXPECT_EQ(changed("\"processors\": ", "\"processors\": 0.5, \"none\": "), "$.host has none too");
  EXPECT_EQ(changed("\"--json\"", "1"), "$.args[0] is no string");
}

}  // namespace
}  // namespace nnc::tool

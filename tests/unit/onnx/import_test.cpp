// Names, dims, profiles, functions, findings: what the importer does around the operators.

#include <gmock/gmock.h>

#include "ir/support/text.h"
#include "tests/unit/onnx/make_onnx.h"

namespace nnc::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string input_text(const Module& m, size_t input, size_t entry = 0) {
  const Graph& g = *m.entries[entry]->graph;
  return type_pretty(m.symbols, g.type(g.inputs()[input]));
}
ImportOptions with_dims(std::map<std::string, DimSpec> dims) {
  ImportOptions o;
  o.profiles = {{"p", std::move(dims), {}}};
  return o;
}

TEST(Import, DimsKeepNamesAndUnnamedOnesAreInputDotAxis) {
  GraphMaker g;
  g.input("a", {"batch", "", 3}).input("b", {"batch", "?", -1}).add("Relu", {"a"}, {"y"}).output("y");
  const auto m = import_ok(model(g, 13));
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(input_text(*m, 0), "f32[batch, a.1, 3]");
  EXPECT_EQ(input_text(*m, 1), "f32[batch, b.1, b.2]");
}

TEST(Import, ProfilesFixAndBoundDims) {
  GraphMaker g;
  g.input("a", {"n", "s77"}).input("b", {"n", ""}).add("Relu", {"a"}, {"y"}).output("y");
  ImportOptions o;
  o.profiles = {{"small", {{"n", DimSpec::size(2)}, {"b.1", {1, 8, 4, 1}}}, {}}, {"large", {{"a.0", {16, 64, 0, 16}}}, {}}};
  o.rename_dims = {{"s77", "width"}};
  const auto m = import_ok(model(g, 13), o);
  ASSERT_NE(m, nullptr);
  ASSERT_EQ(m->entries.size(), 2u);
  EXPECT_EQ(m->entries[0]->profile, "small");
  EXPECT_EQ(input_text(*m, 0, 0), "f32[2, width]");
  EXPECT_EQ(input_text(*m, 1, 0), "f32[2, b.1]");
  EXPECT_EQ(input_text(*m, 1, 1), "f32[n, b.1]");
  const SymbolId n = *m->symbols.find("n");
  EXPECT_EQ(m->symbols[n].lo, 16);
  EXPECT_EQ(m->symbols[n].hi, 64);
  EXPECT_EQ(m->symbols[n].divisor, 16);
}

TEST(Import, WrongDimsAreNamed) {
  GraphMaker g;
  g.input("a", {"batch", 4}).add("Relu", {"a"}, {"y"}).output("y");
  const std::string file = model(g, 13);
  Error e = import_error(file, with_dims({{"bach", DimSpec::size(2)}}));
  EXPECT_EQ(e.code, Code::kUnknownName);
  EXPECT_THAT(e.str(), AllOf(HasSubstr("bach"), HasSubstr("did you mean batch?"), HasSubstr("open dims: batch")));
  e = import_error(file, with_dims({{"a.1", DimSpec::size(5)}}));
  EXPECT_THAT(e.message, AllOf(HasSubstr("a.1"), HasSubstr("the model has 4")));
  EXPECT_NE(import_ok(file, with_dims({{"a.1", DimSpec::size(4)}})), nullptr);
  e = import_error(file, with_dims({{"batch", DimSpec::size(2)}, {"a.0", DimSpec::size(3)}}));
  EXPECT_EQ(e.code, Code::kUsage);
  EXPECT_THAT(e.message, HasSubstr("dim"));
}

TEST(Import, InputsWithoutShapeTakeTheirRankFromTheProfile) {
  GraphMaker g;
  g.shapeless_input("a").add("Relu", {"a"}, {"y"}).output("y");
  const std::string file = model(g, 13);
  const Error e = import_error(file);
  EXPECT_EQ(e.code, Code::kNeedDims);
  EXPECT_THAT(e.str(), HasSubstr("--dim a.0"));
  const auto m = import_ok(file, with_dims({{"a.0", {1, 9, 0, 1}}, {"a.1", DimSpec::size(3)}}));
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(input_text(*m, 0), "f32[a.0, 3]");
}

TEST(Import, ValuesAreAssertedOnce) {
  GraphMaker g;
  g.input("x", {4})
      .input("rate", DataType::kInt64, {})
      .initializer(ints("k", {}, {16000}))
      .add("Equal", {"rate", "k"}, {"is16"}, {}, "test_rate");
  GraphMaker then_graph, else_graph;
  then_graph.add("Relu", {"x"}, {"a"}).output("a");
  else_graph.add("Neg", {"x"}, {"b"}).output("b");
  g.add("If", {"is16"}, {"y"}, {attr_g("then_branch", then_graph.message()), attr_g("else_branch", else_graph.message())}, "choose")
      .output("y");
  ImportOptions o;
  o.profiles = {{"16k", {}, {{"rate", Tensor::scalar_i64(16000)}}}, {"8k", {}, {{"rate", Tensor::scalar_i64(8000)}}}};
  const auto m = import_ok(model(g, 13), o);
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(count_op(*m, OpKind::kIf), 0u);
  EXPECT_EQ(count_op(*m, OpKind::kAssertValue), 1u);
  EXPECT_EQ(numbers(run(*m, {f32({4}, {-1, 2, -3, 4}), Tensor::scalar_i64(16000)})[0]), (std::vector<double>{0, 2, 0, 4}));
  EXPECT_EQ(numbers(run(*m, {f32({4}, {-1, 2, -3, 4}), Tensor::scalar_i64(8000)})[0]), (std::vector<double>{1, -2, 3, -4}));
  EXPECT_FALSE(Interpreter(*m).run_entry("main", std::vector<Tensor>{f32({4}, {1, 1, 1, 1}), Tensor::scalar_i64(44100)}).ok());
}

TEST(Import, ValuesMustFitTheInput) {
  GraphMaker g;
  g.input("x", {4})
      .input("rate", DataType::kInt64, {})
      .add("Cast", {"rate"}, {"r"}, {attr_i("to", 1)})
      .add("Mul", {"x", "r"}, {"y"})
      .output("y");
  ImportOptions o;
  o.profiles = {{"", {}, {{"rate", Tensor::scalar_f32(1)}}}};
  EXPECT_EQ(import_error(model(g, 13), o).code, Code::kBadInput);
  o.profiles = {{"", {}, {{"rat", Tensor::scalar_i64(1)}}}};
  EXPECT_THAT(import_error(model(g, 13), o).str(), HasSubstr("did you mean rate?"));
}

TEST(Import, InitializersListedAsInputsAreConstants) {
  GraphMaker g;
  g.input("x", {2}).input("w", {2}).initializer(floats("w", {2}, {3, 4})).add("Mul", {"x", "w"}, {"y"}).output("y");
  EXPECT_EQ(numbers(import_and_run(model(g, 13), {f32({2}, {1, 2})})[0]), (std::vector<double>{3, 8}));
  ImportOptions o;
  o.initializers_as_inputs = true;
  EXPECT_EQ(numbers(import_and_run(model(g, 13), {f32({2}, {1, 2}), f32({2}, {5, 6})}, o)[0]), (std::vector<double>{5, 12}));
}

// ---- findings

TEST(Import, AllFindingsAtOnce) {
  GraphMaker g;
  g.input("x", {2, 3})
      .add("Frobnicate", {"x"}, {"a"}, {}, "first")
      .add("Relu", {"a"}, {"b"}, {}, "silent: reads a failed value")
      .add("GridSample", {"x", "x"}, {"c"}, {}, "second")
      .add("Transpose", {"x"}, {"d"}, {attr_ints("perm", {0, 0})}, "third")
      .add("Relu", {"x"}, {"e"}, {attr_i("slope", 1)}, "fourth")
      .add("Concat", {"x"}, {"f"}, {attr_f("axis", 1)}, "fifth")
      .output("b")
      .output("c")
      .output("d")
      .output("e")
      .output("f");
  std::vector<Error> findings;
  auto m = import_onnx(bytes_of(model(g, 16)), {}, &findings);
  ASSERT_FALSE(m.ok());
  std::vector<std::string> nodes;
  for (const Error& e : findings) nodes.push_back(e.place.node);
  EXPECT_THAT(nodes, ElementsAre("first", "second", "third", "fourth", "fifth"));
  EXPECT_EQ(m.error().code, Code::kUnsupportedOp);
  const std::string text = m.error().str();
  EXPECT_THAT(text, AllOf(HasSubstr("Frobnicate (opset 16)"), HasSubstr("4 more problems"), HasSubstr("node \"second\" (GridSample)"),
                          HasSubstr("try: nnc check MODEL"), HasSubstr("\"x\"  f32[2, 3]")));
  EXPECT_THAT(findings[3].message, HasSubstr("\"slope\" is not one of Relu"));
  EXPECT_THAT(findings[4].message, HasSubstr("is of kind float, expected int"));
}

TEST(Import, ManyFindingsAreCounted) {
  GraphMaker g;
  g.input("x", {2});
  for (int k = 0; k < 50; ++k) g.add("Nope", {"x"}, {cat("y", k)}).output(cat("y", k));
  std::vector<Error> findings;
  auto m = import_onnx(bytes_of(model(g, 16)), {}, &findings);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(findings.size(), 50u);
  EXPECT_THAT(m.error().str(), HasSubstr("... and 30 more"));
}

TEST(Import, OpsetsThatARowDoesNotServe) {
  GraphMaker g;
  g.input("x", {2}).add("Gelu", {"x"}, {"y"}).output("y");
  EXPECT_THAT(import_error(model(g, 13)).str(), AllOf(HasSubstr("Gelu (opset 13)"), HasSubstr("supported: opsets 20 to 27")));
  EXPECT_THAT(import_error(model(g, 99)).message, HasSubstr("opset 99 is newer than 27"));
  EXPECT_NE(import_ok(model(g, 20)), nullptr);
}

TEST(Import, UnnamedNodesHaveStableLabels) {
  GraphMaker g;
  g.input("x", {2}).add("Relu", {"x"}, {"h"}).add("Nope", {"h"}, {"y7"}).output("y7");
  EXPECT_EQ(import_error(model(g, 13)).place.node, "Nope->y7#1");
}

TEST(Import, LocationsCarryModulePathsButNoFiles) {
  const auto with_metadata = [](const std::string& key, const std::string& value) { return WireWriter().bytes(1, key).bytes(2, value); };
  WireWriter n = node("Relu", {"x"}, {"h"}, {}, "node_relu");
  n.message(9, with_metadata("pkg.torch.onnx.name_scopes", "['', 'encoder', 'encoder.layer.0', 'relu_1']"));
  n.message(9, with_metadata("pkg.torch.onnx.stack_trace", "File \"/home/someone/net.py\", line 21, in forward"));
  GraphMaker g;
  g.input("x", {2}).add(n).add("Neg", {"h"}, {"y"}, {}, "/decoder/act/Neg").output("y");
  const auto m = import_ok(model(g, 13));
  ASSERT_NE(m, nullptr);
  const Graph& graph = *m->entries[0]->graph;
  const Loc relu = m->loc(graph.node(graph.first()).loc), neg = m->loc(graph.node(graph.last()).loc);
  EXPECT_EQ(relu.node, "node_relu");
  EXPECT_EQ(relu.op, "Relu");
  EXPECT_EQ(relu.scope, "encoder.layer.0");
  EXPECT_EQ(neg.scope, "decoder.act");
  EXPECT_THAT(print_module(*m), Not(HasSubstr("someone")));
  ImportOptions keep;
  keep.keep_source_trace = true;
  const auto k = import_ok(model(g, 13), keep);
  const Loc kept = k->loc(k->entries[0]->graph->node(k->entries[0]->graph->first()).loc);
  EXPECT_EQ(kept.file, "net.py");
  EXPECT_EQ(kept.line, 21);
  EXPECT_THAT(print_module(*k), Not(HasSubstr("someone")));
}

// ---- structure

TEST(Import, NodesInAnyOrder) {
  GraphMaker g;
  g.input("x", {2}).add("Neg", {"h"}, {"y"}).add("Relu", {"x"}, {"h"}).output("y");
  EXPECT_EQ(numbers(import_and_run(model(g, 13), {f32({2}, {-1, 2})})[0]), (std::vector<double>{0, -2}));
}

TEST(Import, BrokenStructure) {
  const auto error = [](GraphMaker& g) { return import_error(model(g, 13)).str(); };
  GraphMaker cycle;
  cycle.input("x", {2}).add("Add", {"x", "b"}, {"a"}, {}, "one").add("Relu", {"a"}, {"b"}, {}, "two").output("b");
  EXPECT_THAT(error(cycle), HasSubstr("cycle"));
  GraphMaker twice;
  twice.input("x", {2}).add("Relu", {"x"}, {"a"}).add("Neg", {"x"}, {"a"}, {}, "again").output("a");
  EXPECT_THAT(error(twice), AllOf(HasSubstr("\"a\" is defined twice"), HasSubstr("again")));
  GraphMaker shadow;
  shadow.input("x", {2}).add("Relu", {"x"}, {"x"}).output("x");
  EXPECT_THAT(error(shadow), HasSubstr("defined twice"));
  GraphMaker dangling;
  dangling.input("x", {2}).add("Add", {"x", "gone"}, {"y"}, {}, "adds").output("y");
  EXPECT_THAT(error(dangling), AllOf(HasSubstr("\"gone\" is used, but nothing defines it"), HasSubstr("adds")));
  GraphMaker no_output;
  no_output.input("x", {2}).add("Relu", {"x"}, {"y"});
  EXPECT_THAT(error(no_output), HasSubstr("no outputs"));
  GraphMaker open_output;
  open_output.input("x", {2}).add("Relu", {"x"}, {"y"}).output("z");
  EXPECT_THAT(error(open_output), HasSubstr("\"z\""));
  GraphMaker inputs_twice;
  inputs_twice.input("x", {2}).input("x", {2}).add("Relu", {"x"}, {"y"}).output("y");
  EXPECT_THAT(error(inputs_twice), HasSubstr("two inputs"));
  GraphMaker wrong_type;
  wrong_type.input("x", {2}).add("Relu", {"x"}, {"y"}).typed_output("y", DataType::kInt64, {2});
  EXPECT_THAT(error(wrong_type), HasSubstr("declared as i64"));
  EXPECT_THAT(import_error(std::string()).message, HasSubstr("no ONNX model"));
  EXPECT_THAT(import_error(WireWriter().varint(1, 8).message(8, WireWriter().varint(2, 13)).data()).message, HasSubstr("holds no graph"));
}

TEST(Import, DeadNodesAreLeftOut) {
  GraphMaker g;
  g.input("x", {2}).add("Nope", {"x"}, {"dead"}).add("Relu", {"x"}, {"y"}).output("y");
  const auto m = import_ok(model(g, 13));
  ASSERT_NE(m, nullptr);
  EXPECT_THAT(ops_of(*m), ElementsAre("relu"));
}

// ---- functions

WireWriter function(const std::string& name, const Names& inputs, const Names& outputs, const std::vector<WireWriter>& nodes,
                    const Names& attributes = {}, const std::vector<WireWriter>& defaults = {}) {
  WireWriter f;
  f.bytes(1, name).bytes(10, "own");
  for (const auto& i : inputs) f.bytes(4, i);
  for (const auto& o : outputs) f.bytes(5, o);
  for (const auto& a : attributes) f.bytes(6, a);
  for (const auto& n : nodes) f.message(7, n);
  for (const auto& d : defaults) f.message(11, d);
  f.message(9, WireWriter().varint(2, 13)).message(9, WireWriter().bytes(1, "own").varint(2, 1));
  return f;
}

TEST(Import, FunctionsAreInlinedWithTheirAttributes) {
  const WireWriter leaky = function("Scaled", {"x", "bias"}, {"y"},
                                    {node("Constant", {}, {"k"}, {attr_ref("value_float", "factor", 1)}), node("Mul", {"x", "k"}, {"s"}),
                                     node("Add", {"s", "bias"}, {"y"})},
                                    {}, {attr_f("factor", 10)});
  const WireWriter twice = function(
      "Twice", {"x"}, {"y"},
      {node("Scaled", {"x", "x"}, {"h"}, {attr_ref("factor", "f", 1)}, "inner", "own"), node("Scaled", {"h", "h"}, {"y"}, {}, "", "own")},
      {"f"});
  GraphMaker g;
  g.input("x", {1}).add(node("Twice", {"x"}, {"y"}, {attr_f("f", 2)}, "call", "own")).output("y");
  const auto m = import_ok(model(g, 13, {leaky, twice}));
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(numbers(run(*m, {f32({1}, {1})})[0]), (std::vector<double>{33}));  // (1 * 2 + 1) * 10 + 3
  const Graph& graph = *m->entries[0]->graph;
  std::vector<std::string> names;
  for (const NodeId id : graph.order()) names.push_back(m->loc(graph.node(id).loc).node);
  EXPECT_THAT(names, testing::Contains("call/inner/Mul->s#1"));
}

TEST(Import, FunctionsMayNotCallThemselves) {
  const WireWriter a = function("A", {"x"}, {"y"}, {node("B", {"x"}, {"y"}, {}, "", "own")}),
                   b = function("B", {"x"}, {"y"}, {node("A", {"x"}, {"y"}, {}, "", "own")});
  GraphMaker g;
  g.input("x", {1}).add(node("A", {"x"}, {"y"}, {}, "call", "own")).output("y");
  EXPECT_THAT(import_error(model(g, 13, {a, b})).message, HasSubstr("it calls itself"));
}

TEST(Import, ExponentialCallsMeetTheBudget) {
  std::vector<WireWriter> functions = {function("F0", {"x"}, {"y"}, {node("Relu", {"x"}, {"y"})})};
  for (int k = 1; k < 30; ++k) {
    const std::string callee = cat("F", k - 1);
    functions.push_back(
        function(cat("F", k), {"x"}, {"y"}, {node(callee, {"x"}, {"h"}, {}, "", "own"), node(callee, {"h"}, {"y"}, {}, "", "own")}));
  }
  GraphMaker g;
  g.input("x", {1}).add(node("F29", {"x"}, {"y"}, {}, "", "own")).output("y");
  ImportOptions o;
  o.limits[Limit::kInlinedNodes] = 10000;
  EXPECT_EQ(import_error(model(g, 13, functions), o).code, Code::kLimit);
}

TEST(Import, InterfaceWithoutImport) {
  GraphMaker g;
  g.input("x", {"n", "?", 3})
      .input("w", {2})
      .initializer(floats("w", {2}, {1, 2}))
      .add("Nope", {"x"}, {"y"})
      .typed_output("y", DataType::kInt64, {"n"});
  auto i = read_onnx_interface(bytes_of(model(g, 17)));
  ASSERT_TRUE(i.ok());
  ASSERT_EQ(i->inputs.size(), 1u);
  EXPECT_THAT(i->inputs[0].dims, ElementsAre("n", "x.1", "3"));
  EXPECT_EQ(i->outputs[0].dtype, DType::kI64);
  EXPECT_EQ(i->opsets.at(""), 17);
}

}  // namespace
}  // namespace nnc::test

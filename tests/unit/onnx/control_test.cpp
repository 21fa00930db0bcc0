// If, Loop and Scan.

#include <gmock/gmock.h>

#include "ir/support/text.h"
#include "tests/unit/onnx/make_onnx.h"

namespace nnc::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

WireWriter branch(const std::vector<WireWriter>& nodes, const Names& outputs) {
  GraphMaker g;
  for (const auto& n : nodes) g.add(n);
  for (const auto& o : outputs) g.output(o);
  return g.message();
}
std::vector<WireWriter> branches(const WireWriter& then_graph, const WireWriter& else_graph) {
  return {attr_g("then_branch", then_graph), attr_g("else_branch", else_graph)};
}

ImportOptions with_dims(std::map<std::string, DimSpec> dims) {
  ImportOptions o;
  o.profiles = {{"p", std::move(dims), {}}};
  return o;
}

// x is cut to 4 where its length is above 4, else padded; decided by the extent of x.
std::string by_extent() {
  GraphMaker g;
  g.input("x", {"n"})
      .add("Shape", {"x"}, {"shape"})
      .initializer(ints("zero", {}, {0}))
      .initializer(ints("four", {}, {4}))
      .add("Gather", {"shape", "zero"}, {"n"})
      .add("Greater", {"n", "four"}, {"long"})
      .initializer(ints("starts", {1}, {0}))
      .initializer(ints("ends", {1}, {4}))
      .add("If", {"long"}, {"y"},
           branches(branch({node("Slice", {"x", "starts", "ends"}, {"cut"})}, {"cut"}),
                    branch({node("Neg", {"x"}, {"negated"})}, {"negated"})),
           "by_length")
      .output("y");
  return model(g, 13);
}

TEST(If, DecidedByDimsLeavesARecord) {
  const auto m = import_ok(by_extent(), with_dims({{"n", {5, 100, 0, 1}}}));
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(count_op(*m, OpKind::kIf), 0u);
  const Graph& g = *m->entries[0]->graph;
  bool recorded = false;
  for (const NodeId id : g.order()) {
    if (g.node(id).kind != OpKind::kAssertDims) continue;
    recorded = true;
    EXPECT_EQ(m->loc(g.node(id).loc).node, "by_length");
    EXPECT_THAT(std::string(g.node(id).s("message")), HasSubstr("then branch was chosen for 4 < n"));
  }
  EXPECT_TRUE(recorded);
  EXPECT_EQ(numbers(run(*m, {f32({6}, {1, 2, 3, 4, 5, 6})})[0]), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(Interpreter(*m).run_entry("main", std::vector<Tensor>{f32({3}, {1, 2, 3})}).error().code, Code::kBadInput);
}

TEST(If, FixedDimsAreNamedInTheRecord) {
  const auto m = import_ok(by_extent(), with_dims({{"x.0", DimSpec::size(3)}}));
  ASSERT_NE(m, nullptr);
  EXPECT_THAT(print_module(*m), AllOf(HasSubstr("assert_dims"), HasSubstr("else branch was chosen for x.0 = 3")));
  EXPECT_EQ(numbers(run(*m, {f32({3}, {1, 2, 3})})[0]), (std::vector<double>{-1, -2, -3}));
}

TEST(If, UndecidedExtentsJoin) {
  const auto m = import_ok(by_extent());
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(count_op(*m, OpKind::kIf), 1u);
  EXPECT_EQ(numbers(run(*m, {f32({6}, {1, 2, 3, 4, 5, 6})})[0]), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(numbers(run(*m, {f32({3}, {1, 2, 3})})[0]), (std::vector<double>{-1, -2, -3}));
}

TEST(If, CapturesAndLargeConstants) {
  GraphMaker g;
  std::vector<float> w(100, 2);
  g.input("x", {100}).input("c", DataType::kBool, {}).initializer(floats("w", {100}, w)).initializer(floats("one", {}, {1}));
  g.add("If", {"c"}, {"y"},
        branches(branch({node("Mul", {"x", "w"}, {"a"}), node("Add", {"a", "one"}, {"b"})}, {"b"}),
                 branch({node("Identity", {"x"}, {"same"})}, {"same"})));
  g.output("y");
  const auto m = import_ok(model(g, 13));
  ASSERT_NE(m, nullptr);
  const Graph& graph = *m->entries[0]->graph;
  for (const NodeId id : graph.order()) {
    if (graph.node(id).kind != OpKind::kIf) continue;
    EXPECT_EQ(graph.node(id).operands.size(), 3u);  // condition, x, w; the small constant is repeated inside
  }
  std::vector<float> x(100, 3);
  EXPECT_EQ(run(*m, {f32({100}, x), boolean(true)})[0].f64(99), 7);
  EXPECT_EQ(run(*m, {f32({100}, x), boolean(false)})[0].f64(99), 3);
}

TEST(If, ABranchThatDoesNotTypeFailsOnlyIfTaken) {
  GraphMaker g;
  g.input("x", {2, 3}).input("c", DataType::kBool, {});
  g.add("If", {"c"}, {"y"},
        branches(branch({node("Relu", {"x"}, {"a"})}, {"a"}),
                 branch({node("Transpose", {"x"}, {"b"}, {attr_ints("perm", {0, 1, 2})}, "ill")}, {"b"})));
  g.output("y");
  const auto m = import_ok(model(g, 13));
  ASSERT_NE(m, nullptr);
  EXPECT_THAT(print_module(*m), HasSubstr("fail"));
  EXPECT_EQ(numbers(run(*m, {f32({2, 3}, {-1, 1, 1, 1, 1, 1}), boolean(true)})[0])[0], 0);
  auto r = Interpreter(*m).run_entry("main", std::vector<Tensor>{f32({2, 3}, {1, 1, 1, 1, 1, 1}), boolean(false)});
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().str(), AllOf(HasSubstr("has no meaning"), HasSubstr("ill")));
}

TEST(If, UnsupportedOperatorsInABranchAreFindings) {
  GraphMaker g;
  g.input("x", {2}).input("c", DataType::kBool, {});
  g.add("If", {"c"}, {"y"}, branches(branch({node("Relu", {"x"}, {"a"})}, {"a"}), branch({node("Nope", {"x"}, {"b"}, {}, "bad")}, {"b"})))
      .output("y");
  const Error e = import_error(model(g, 13));
  EXPECT_EQ(e.code, Code::kUnsupportedOp);
  EXPECT_THAT(e.place.node, HasSubstr("else/bad"));
}

TEST(If, RanksThatDependOnTheConditionNeedDims) {
  GraphMaker g;
  g.input("x", {"n", 3})
      .add("Shape", {"x"}, {"s"})
      .initializer(ints("zero", {}, {0}))
      .initializer(ints("one", {}, {1}))
      .add("Gather", {"s", "zero"}, {"n0"})
      .add("Equal", {"n0", "one"}, {"c"});
  g.initializer(ints("axes", {1}, {0}));
  g.add("If", {"c"}, {"y"}, branches(branch({node("Squeeze", {"x", "axes"}, {"a"})}, {"a"}), branch({node("Relu", {"x"}, {"b"})}, {"b"})),
        "squeezes")
      .output("y");
  const Error e = import_error(model(g, 13));
  EXPECT_EQ(e.code, Code::kNeedDims);
  EXPECT_THAT(e.str(), AllOf(HasSubstr("squeezes"), HasSubstr("it depends on n"), HasSubstr("--dim n=SIZE")));
  EXPECT_NE(import_ok(model(g, 13), with_dims({{"n", {2, 9, 0, 1}}})), nullptr);
  EXPECT_NE(import_ok(model(g, 13), with_dims({{"n", DimSpec::size(1)}})), nullptr);
}

// ---- Loop

WireWriter body(const std::vector<WireWriter>& nodes, const std::vector<std::pair<std::string, DataType>>& inputs, const Names& outputs) {
  GraphMaker g;
  for (const auto& [name, type] : inputs) g.input(name, type, {});
  for (const auto& n : nodes) g.add(n);
  for (const auto& o : outputs) g.output(o);
  return g.message();
}
const std::vector<std::pair<std::string, DataType>> kState = {{"i", DataType::kInt64}, {"go", DataType::kBool}, {"s", DataType::kFloat}};

TEST(Loop, TripCountCarriedStackedAndInvariant) {
  GraphMaker g;
  g.input("x", {2})
      .input("w", {2})
      .initializer(ints("three", {}, {3}))
      .initializer(tensor_proto<uint8_t>("true", DataType::kBool, {}, {1}));
  g.add(
      "Loop", {"three", "true", "x"}, {"last", "all"},
      {attr_g("body", body({node("Identity", {"go"}, {"again"}), node("Add", {"s", "w"}, {"next"}), node("Mul", {"next", "next"}, {"sq"})},
                           kState, {"again", "next", "sq"}))});
  g.output("last").output("all");
  const auto m = import_ok(model(g, 13));
  ASSERT_NE(m, nullptr);
  const Graph& graph = *m->entries[0]->graph;
  EXPECT_EQ(type_pretty(m->symbols, graph.type(graph.outputs()[1])), "f32[3, 2]");
  const auto r = run(*m, {f32({2}, {1, 2}), f32({2}, {1, 10})});
  EXPECT_EQ(numbers(r[0]), (std::vector<double>{4, 32}));
  EXPECT_EQ(numbers(r[1]), (std::vector<double>{4, 144, 9, 484, 16, 1024}));
}

TEST(Loop, EndsByConditionWithAStackOfUnknownLength) {
  GraphMaker g;
  g.input("limit", {})
      .initializer(floats("zero", {}, {0}))
      .initializer(floats("one", {}, {1}))
      .initializer(tensor_proto<uint8_t>("true", DataType::kBool, {}, {1}));
  g.add("Loop", {"", "true", "zero"}, {"last", "all"},
        {attr_g("body",
                body({node("Add", {"s", "one"}, {"next"}), node("Less", {"next", "limit"}, {"again"}), node("Identity", {"next"}, {"out"})},
                     kState, {"again", "next", "out"}))});
  g.output("last").output("all");
  const auto r = import_and_run(model(g, 13), {f32({}, {4})});
  EXPECT_EQ(numbers(r[0]), (std::vector<double>{4}));
  EXPECT_EQ(numbers(r[1]), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Loop, CarriedExtentsMayGrow) {
  GraphMaker g;
  g.input("x", {1}).input("n", DataType::kInt64, {}).initializer(tensor_proto<uint8_t>("true", DataType::kBool, {}, {1}));
  g.add("Loop", {"n", "true", "x"}, {"y"},
        {attr_g("body", body({node("Identity", {"go"}, {"again"}), node("Concat", {"s", "s"}, {"next"}, {attr_i("axis", 0)})}, kState,
                             {"again", "next"}))});
  g.output("y");
  const auto m = import_ok(model(g, 13));
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(run(*m, {f32({1}, {7}), Tensor::scalar_i64(3)})[0].dims(), (std::vector<int64_t>{8}));
  EXPECT_EQ(run(*m, {f32({1}, {7}), Tensor::scalar_i64(0)})[0].dims(), (std::vector<int64_t>{1}));
}

TEST(Loop, AnIfInsideReadsCarriedAndOuterValues) {
  GraphMaker g;
  g.input("x", {2}).initializer(ints("four", {}, {4})).initializer(ints("two", {}, {2})).initializer(ints("zero", {}, {0}));
  const auto inner = branches(branch({node("Add", {"s", "x"}, {"a"})}, {"a"}), branch({node("Sub", {"s", "x"}, {"b"})}, {"b"}));
  g.add("Loop", {"four", "", "x"}, {"y"},
        {attr_g("body", body({node("Mod", {"i", "two"}, {"m"}), node("Equal", {"m", "zero"}, {"even"}),
                              node("If", {"even"}, {"next"}, inner), node("Identity", {"go"}, {"again"})},
                             kState, {"again", "next"}))});
  g.output("y");
  EXPECT_EQ(numbers(import_and_run(model(g, 13), {f32({2}, {1, 5})})[0]), (std::vector<double>{1, 5}));
}

TEST(Loop, WrongBodies) {
  GraphMaker g;
  g.input("x", {2}).initializer(ints("n", {}, {3}));
  g.add("Loop", {"n", "", "x"}, {"y"},
        {attr_g("body",
                body({node("Identity", {"go"}, {"again"}), node("Cast", {"s"}, {"next"}, {attr_i("to", 7)})}, kState, {"again", "next"}))},
        "casts")
      .output("y");
  EXPECT_THAT(import_error(model(g, 13)).str(), AllOf(HasSubstr("carried value 0 begins as f32[2]"), HasSubstr("casts")));
  GraphMaker h;
  h.input("x", {2}).initializer(ints("n", {}, {3}));
  h.add("Loop", {"n", "", "x"}, {"y"},
        {attr_g("body", body({node("Identity", {"go"}, {"again"})}, {{"i", DataType::kInt64}, {"go", DataType::kBool}}, {"again"}))})
      .output("y");
  EXPECT_THAT(import_error(model(h, 13)).message, HasSubstr("the body has 2 inputs, expected 3"));
}

TEST(Scan, AxesAndDirections) {
  GraphMaker b;
  b.input("s", {2}).input("e", {2}).add("Add", {"s", "e"}, {"next"}).add("Identity", {"next"}, {"out"}).output("next").output("out");
  GraphMaker g;
  g.input("start", {2}).input("x", {2, "t"});
  g.add("Scan", {"start", "x"}, {"last", "all"},
        {attr_g("body", b.message()), attr_i("num_scan_inputs", 1), attr_ints("scan_input_axes", {1}),
         attr_ints("scan_input_directions", {1}), attr_ints("scan_output_axes", {1}), attr_ints("scan_output_directions", {1})});
  g.output("last").output("all");
  const auto r = import_and_run(model(g, 13), {f32({2}, {0, 100}), f32({2, 3}, {1, 2, 3, 10, 20, 30})});
  EXPECT_EQ(numbers(r[0]), (std::vector<double>{6, 160}));
  EXPECT_EQ(r[1].dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(numbers(r[1]), (std::vector<double>{6, 5, 3, 160, 150, 130}));  // sums from the right, written to the right
}

}  // namespace
}  // namespace nnc::test

#include "ir/rewriter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/verifier.h"
#include "tests/unit/ir/test_graphs.h"

namespace nnc {
namespace {

using test::parsed;
using testing::HasSubstr;

Graph& main_graph(Module& m) { return *m.entries[0]->graph; }
NodeId find(const Graph& g, OpKind kind) {
  for (NodeId id : g.order()) {
    if (g.node(id).kind == kind) return id;
  }
  return {};
}
std::string text(Module& m) {
  main_graph(m).compact();
  EXPECT_TRUE(verify(m).empty()) << verify_or_error(m).error().str();
  return print_module(m);
}

constexpr const char* kChain =
    "locations {\n  #0 = node \"exp\"\n  #1 = node \"neg\"\n  #2 = node \"shared\"\n}\n"
    "graph @main(%x: f32[4]) {\n"
    "  %s = abs(%x) : f32[4] loc #2\n"
    "  %1 = exp(%s) : f32[4] loc #0\n"
    "  %2 = neg(%1) : f32[4] loc #1\n"
    "  return %2, %s\n"
    "}\n";

TEST(Rewriter, ReplaceRedirectsErasesAndCarriesLocations) {
  const std::unique_ptr<Module> m = parsed(kChain);
  Graph& g = main_graph(*m);
  Rewriter rewriter(g);
  const NodeId root = find(g, OpKind::kNeg);
  Builder b = rewriter.at(root);
  const ValueId source = g.node(find(g, OpKind::kAbs)).results[0];
  const ValueId now = *b.unary(OpKind::kSigmoid, *b.unary(OpKind::kTanh, source));
  ASSERT_TRUE(rewriter.replace(root, now).ok());
  EXPECT_FALSE(g.is_live(root));
  EXPECT_EQ(rewriter.count(), 1);
  EXPECT_EQ(g.outputs()[0], now);
  // exp died with the root, the shared producer did not.
  EXPECT_EQ(m->loc_str(g.node(g.value(now).def).loc), "node \"exp\", node \"neg\"");
  EXPECT_EQ(rewriter.remove_dead(), 1);
  const std::string after = text(*m);
  EXPECT_EQ(after.find("exp("), std::string::npos);
  EXPECT_THAT(after, HasSubstr("sigmoid"));
}

TEST(Rewriter, StopsWhenTheBudgetIsUsedUp) {
  const std::unique_ptr<Module> m = parsed(kChain);
  Graph& g = main_graph(*m);
  int64_t budget = 1;
  Rewriter rewriter(g, &budget);
  EXPECT_TRUE(rewriter.allowed());
  const NodeId root = find(g, OpKind::kNeg);
  ASSERT_TRUE(rewriter.replace(root, g.node(root).operands[0]).ok());
  EXPECT_FALSE(rewriter.allowed());
  EXPECT_EQ(budget, 0);
}

TEST(Rewriter, ReplacementOfAnotherTypeIsAnError) {
  const std::unique_ptr<Module> m = parsed(kChain);
  Graph& g = main_graph(*m);
  Rewriter rewriter(g);
  const NodeId root = find(g, OpKind::kNeg);
  Builder b = rewriter.at(root);
  const Status s = rewriter.replace(root, *b.cast(g.inputs()[0], DType::kF16));
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, HasSubstr("f16[4]"));
  EXPECT_TRUE(g.is_live(root));
}

TEST(Rewriter, AReplacementMustNotUseWhatItReplaces) {
  const std::unique_ptr<Module> m = parsed(kChain);
  Graph& g = main_graph(*m);
  Rewriter rewriter(g);
  const NodeId root = find(g, OpKind::kNeg);
  Builder b = rewriter.at(root);
  const ValueId now = *b.unary(OpKind::kTanh, g.node(root).results[0]);
  EXPECT_DEATH((void)rewriter.replace(root, now), "does not use what it replaces");
}

// A data symbol becomes a constant: what is derived from it is inferred again.
TEST(Rewriter, UsersAreInferredAgain) {
  const std::unique_ptr<Module> m = parsed(
      "symbols {\n  s0 = data in [0, 9]\n}\n"
      "graph @main(%n: i64[1], %x: f32[], %y: f32[4]) {\n"
      "  bind_dims(%n) {symbols = [s0]}\n"
      "  %1 = broadcast_to(%x) {shape = [s0]} : f32[s0]\n"
      "  %2 = concat(%1, %y) {axis = 0} : f32[s0+4]\n"
      "  %3 = relu(%2) : f32[s0+4]\n"
      "  return %3\n"
      "}\n");
  Graph& g = main_graph(*m);
  Rewriter rewriter(g);
  const NodeId root = find(g, OpKind::kBroadcastTo);
  Builder b = rewriter.at(root);
  ASSERT_TRUE(rewriter.replace(root, *b.broadcast_to(g.inputs()[1], {Dim(5)})).ok());
  EXPECT_EQ(g.type(g.outputs()[0]).shape, Shape{Dim(9)});
  EXPECT_EQ(rewriter.remove_dead(), 1) << "nobody needs the symbol any more";
  EXPECT_EQ(text(*m).find("bind_dims"), std::string::npos);
}

TEST(Rewriter, EffectsAndNeededSymbolsStay) {
  const std::unique_ptr<Module> m = parsed(
      "symbols {\n  s0 = data in [0, 9]\n  s1 = data in [0, 9]\n}\n"
      "graph @main(%c: bool[], %n: i64[1], %x: f32[]) {\n"
      "  bind_dims(%n) {symbols = [s0]}\n"
      "  bind_dims(%n) {symbols = [s1]}\n"
      "  assert_dims() {a = [s0], b = [3], rel = le}\n"
      "  %1 = broadcast_to(%x) {shape = [s1]} : f32[s1]\n"
      "  %2 = relu(%1) : f32[s1]\n"
      "  %3 = if(%c, %x) : f32[]\n"
      "    region @then(%a: f32[]) {\n"
      "      %4 = neg(%a) : f32[]\n"
      "      %5 = exp(%a) : f32[]\n"
      "      return %4\n"
      "    }\n"
      "    region @else(%a: f32[]) {\n"
      "      return %a\n"
      "    }\n"
      "  return %3\n"
      "}\n");
  Graph& g = main_graph(*m);
  EXPECT_EQ(Rewriter(g).remove_dead(), 4);  // relu, broadcast_to, the binding of s1, exp in the region
  EXPECT_EQ(g.node_count(), 3u);
  EXPECT_EQ(Rewriter(g).remove_dead(), 0);
  EXPECT_THAT(text(*m), testing::AllOf(HasSubstr("assert_dims"), HasSubstr("symbols = [s0]"), testing::Not(HasSubstr("exp("))));
}

}  // namespace
}  // namespace nnc

#include "ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ir/builder.h"
#include "ir/support/text.h"
#include "ir/verifier.h"
#include "tests/unit/ir/test_graphs.h"

namespace nnc {

// Breaks what the public interface keeps whole.
struct GraphTestAccess {
  static Node& node(Graph& g, NodeId id) { return g.nodes_[id]; }
  static Value& value(Graph& g, ValueId id) { return g.values_[id]; }
};

namespace {

using test::parsed;
using testing::HasSubstr;

TEST(OpTable, EveryOpHasACompleteRow) {
  for (const std::string& problem : op_table_problems()) ADD_FAILURE() << problem;
  EXPECT_EQ(all_ops().size(), static_cast<size_t>(OpKind::kCount));
}

TEST(OpTable, LookupBySpellingAndKind) {
  for (const OpDef* def : all_ops()) {
    EXPECT_EQ(find_op(def->name), def);
    EXPECT_EQ(&op_def(def->kind), def);
    EXPECT_EQ(op_name(def->kind), def->name);
  }
  EXPECT_EQ(find_op("no_such_op"), nullptr);
  EXPECT_EQ(op_name(OpKind::kNot), "not");
}

struct Fixture {
  Module m;
  Graph& g = *m.add_entry("main").graph;
  Builder b{g};
  ValueId x = g.add_input(Type::tensor(DType::kF32, {Dim(m.symbols.input("n")), 4}), "x");
};

TEST(Graph, AppendInfersAndLinks) {
  Fixture f;
  const ValueId a = *f.b.unary(OpKind::kRelu, f.x);
  const ValueId sum = *f.b.binary(OpKind::kAdd, a, f.x);
  f.g.set_outputs({sum});
  EXPECT_EQ(f.g.type(sum), f.g.type(f.x));
  EXPECT_EQ(f.g.value(f.x).uses.size(), 2u);
  EXPECT_TRUE(single_use(f.g, a));
  // Insertion before a node keeps the order.
  f.b.insert_before(f.g.value(sum).def);
  const ValueId neg = *f.b.unary(OpKind::kNeg, a);
  std::vector<OpKind> kinds;
  for (NodeId id : f.g.order()) kinds.push_back(f.g.node(id).kind);
  EXPECT_THAT(kinds, testing::ElementsAre(OpKind::kRelu, OpKind::kNeg, OpKind::kAdd));
  f.g.redirect_use({f.g.value(sum).def, 0}, neg);
  EXPECT_TRUE(f.g.value(a).uses.size() == 1 && f.g.value(neg).uses.size() == 1);
  f.m.entries[0]->args = {{"x", {}}};
  f.m.entries[0]->results = {{"y", {}}};
  EXPECT_TRUE(verify(f.m).empty());
}

TEST(Graph, ErrorsNameNodeOpAndOperands) {
  Fixture f;
  f.b.set_loc(f.m.add_loc({.node = "/enc/Add", .op = "Add", .scope = {}, .file = {}, .line = 0, .fused = {}}));
  const ValueId y = f.g.add_input(Type::tensor(DType::kF32, {3}), "y");
  const Result<ValueId> r = f.b.binary(OpKind::kAdd, f.x, y);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().place.node, "/enc/Add");
  EXPECT_EQ(r.error().place.op, "add");
  EXPECT_THAT(r.error().message, HasSubstr("do not broadcast"));
  ASSERT_FALSE(r.error().context.empty());
  EXPECT_EQ(r.error().context[0], "operands: f32[n, 4] \"x\", f32[3] \"y\"");
  EXPECT_FALSE(f.b.op(OpKind::kAdd, {f.x}).ok());
  EXPECT_FALSE(f.b.op(OpKind::kAdd, {f.x, ValueId()}).ok());
  EXPECT_FALSE(f.b.op(OpKind::kTranspose, {f.x}).ok());
  EXPECT_FALSE(f.b.op(OpKind::kReduce, {f.x}, {{"kind", std::string("median")}}).ok());
  EXPECT_FALSE(f.b.op(OpKind::kRelu, {f.x}, {{"alpha", 1.0}}).ok());
  EXPECT_EQ(f.g.node_count(), 0u);
}

TEST(Graph, AttributesByNameWithDefaults) {
  Fixture f;
  const ValueId v = *f.b.op(OpKind::kHardSigmoid, {f.x}, {{"alpha", 0.25}});
  const Node& n = *def_of(f.g, v);
  EXPECT_EQ(n.f("alpha"), 0.25);
  EXPECT_EQ(n.f("beta"), 0.5);
  EXPECT_TRUE(n.has_attr("alpha"));
  EXPECT_FALSE(n.has_attr("beta"));
  EXPECT_DEATH((void)n.f("gamma"), "no attribute gamma");
  EXPECT_DEATH((void)n.i("alpha"), "as another kind");
}

TEST(Graph, EraseCompactAndClone) {
  Fixture f;
  const ValueId a = *f.b.unary(OpKind::kRelu, f.x);
  const ValueId b = *f.b.unary(OpKind::kNeg, f.x);
  const ValueId c = *f.b.unary(OpKind::kNeg, a);
  f.g.set_outputs({c});
  const NodeId dead = f.g.value(b).def;
  f.g.erase(dead);
  EXPECT_FALSE(f.g.is_live(dead));
  EXPECT_EQ(f.g.value(f.x).uses.size(), 1u);
  const std::string before = print_graph(f.g);
  const std::unique_ptr<Module> copy = f.m.clone();
  f.g.compact();
  EXPECT_EQ(f.g.node_capacity(), 2u);
  EXPECT_EQ(f.g.value_capacity(), 3u);
  EXPECT_EQ(print_graph(f.g), before);
  EXPECT_EQ(print_graph(*copy->entries[0]->graph), before);
  EXPECT_DEATH(f.g.erase(f.g.value(f.g.outputs()[0]).def), "is used");
}

TEST(Graph, CloneIntoAnotherModuleBringsConstantsAndLocations) {
  Fixture f;
  const LocId parts[] = {f.m.add_loc({.node = "a", .op = {}, .scope = {}, .file = {}, .line = 0, .fused = {}}),
                         f.m.add_loc({.node = "b", .op = {}, .scope = {}, .file = {}, .line = 0, .fused = {}})};
  f.b.set_loc(f.m.fuse_locs(parts));
  f.m.add_constant(Tensor::scalar_i64(1));
  f.g.set_outputs({*f.b.constant(Tensor::scalar_f32(2.5f))});
  Module other;
  const std::unique_ptr<Graph> g = f.g.clone(&other);
  EXPECT_EQ(scalar_value(*g, g->outputs()[0]), 2.5);
  EXPECT_EQ(other.loc_str(g->node(g->first()).loc), "node \"a\", node \"b\"");
  EXPECT_EQ(print_graph(*g), print_graph(f.g));
}

TEST(Types, Text) {
  SymbolTable symbols;
  const Dim n(symbols.input("n"));
  Type t = Type::tensor(DType::kBF16, {n, 64});
  EXPECT_EQ(type_str(symbols, t), "bf16[s0, 64]");
  EXPECT_EQ(type_pretty(symbols, t), "bf16[n, 64]");
  EXPECT_EQ(type_str(symbols, Type::tensor(DType::kI64, {})), "i64[]");
  EXPECT_EQ(type_str(symbols, Type::token()), "token");
  t.kind = Type::Kind::kOptionalSequence;
  EXPECT_EQ(type_str(symbols, t), "opt<seq<bf16[s0, 64]>>");
  t.kind = Type::Kind::kSequence;
  t.has_shape = false;
  EXPECT_EQ(type_str(symbols, t), "seq<bf16[?]>");
}

TEST(Module, EqualConstantsAndLocationsAreOne) {
  Module m;
  const ConstId a = m.add_constant(Tensor::scalar_f32(0.0f));
  EXPECT_EQ(m.add_constant(Tensor::scalar_f32(0.0f)), a);
  EXPECT_NE(m.add_constant(Tensor::scalar_f32(-0.0f)), a);
  EXPECT_NE(m.add_constant(Tensor(DType::kI32, {})), a);
  // Tensors that differ in one byte anywhere are two constants, however large.
  std::vector<float> values(100'000, 1.0f);
  const auto large = [&] { return Tensor::of<float>(DType::kF32, {1000, 100}, values); };
  const ConstId b = m.add_constant(large());
  EXPECT_EQ(m.add_constant(large()), b);
  std::set<std::string> hashes = {m.constant_hash(b).hex()};
  for (const size_t at : {size_t{0}, size_t{1000}, size_t{31'415}, size_t{99'999}}) {
    values[at] = 2.0f;
    const ConstId c = m.add_constant(large());
    EXPECT_NE(c, b) << at;
    EXPECT_EQ(m.constant_hash(c), tensor_hash(m.constant(c))) << at;
    EXPECT_TRUE(hashes.insert(m.constant_hash(c).hex()).second) << at;
    values[at] = 1.0f;
  }
  EXPECT_NE(m.add_constant(Tensor(DType::kF32, {1})), a);
  const LocId n = m.add_loc({.node = "n", .op = "Conv", .scope = {}, .file = {}, .line = 0, .fused = {}});
  EXPECT_EQ(m.add_loc(m.loc(n)), n);
  const LocId same[] = {n, n, LocId()};
  EXPECT_EQ(m.fuse_locs(same), n);
  EXPECT_FALSE(m.fuse_locs({}).valid());
  EXPECT_EQ(m.loc_str(n), "node \"n\" (Conv)");
}

TEST(Builder, TrivialViewsMakeNoNode) {
  Fixture f;
  EXPECT_EQ(*f.b.cast(f.x, DType::kF32), f.x);
  EXPECT_EQ(*f.b.reshape(f.x, f.b.shape(f.x)), f.x);
  EXPECT_EQ(*f.b.transpose(f.x, {0, 1}), f.x);
  EXPECT_EQ(*f.b.broadcast_to(f.x, f.b.shape(f.x)), f.x);
  EXPECT_EQ(*f.b.concat({f.x}, 0), f.x);
  EXPECT_EQ(f.g.node_count(), 0u);
}

TEST(Builder, SumToUndoesABroadcast) {
  Fixture f;
  const Shape row = {4}, column = {f.b.shape(f.x)[0], 1};
  EXPECT_EQ(f.b.shape(*f.b.sum_to(f.x, row)), row);
  EXPECT_EQ(f.b.shape(*f.b.sum_to(f.x, column)), column);
  EXPECT_EQ(f.b.shape(*f.b.sum_to(f.x, {})), Shape());
  const Shape unknown = {Dim(f.m.symbols.input("k")), 4};
  const Result<ValueId> r = f.b.sum_to(f.x, unknown);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, Code::kNoGradient);
}

TEST(Builder, DimsOfUsesShapeValuesElseMintsSymbols) {
  Fixture f;
  const Shape known = {f.b.shape(f.x)[0], 7};
  EXPECT_EQ(*f.b.dims_of(*f.b.dims_value(known)), known);
  EXPECT_EQ(f.g.node_count(), 1u);
  const ValueId v = f.g.add_input(Type::tensor(DType::kI64, {2}), "v");
  const Shape minted = *f.b.dims_of(v, 1, 100);
  ASSERT_EQ(minted.size(), 2u);
  EXPECT_EQ(f.g.node(f.g.last()).kind, OpKind::kBindDims);
  const SymbolId s = *minted[1].as_symbol();
  EXPECT_EQ(f.m.symbols[s].kind, SymKind::kData);
  EXPECT_EQ(f.m.symbols[s].hi, 100);
  EXPECT_FALSE(f.b.dims_of(f.x).ok());
}

TEST(Verifier, BrokenLinksAreFound) {
  const auto broken = [](auto&& damage) {
    const std::unique_ptr<Module> m =
        parsed("graph @main(%x: f32[4]) {\n  %1 = relu(%x) : f32[4]\n  %2 = neg(%1) : f32[4]\n  return %2\n}\n");
    EXPECT_TRUE(verify(*m).empty());
    damage(*m->entries[0]->graph);
    return !verify(*m).empty();
  };
  EXPECT_TRUE(broken([](Graph& g) { GraphTestAccess::node(g, g.last()).prev = NodeId(); }));
  EXPECT_TRUE(broken([](Graph& g) { GraphTestAccess::node(g, g.first()).next = NodeId(); }));
  EXPECT_TRUE(broken([](Graph& g) { GraphTestAccess::value(g, g.outputs()[0]).def = g.first(); }));
  EXPECT_TRUE(broken([](Graph& g) { GraphTestAccess::value(g, g.outputs()[0]).uses.clear(); }));
  EXPECT_TRUE(broken([](Graph& g) { GraphTestAccess::node(g, g.last()).operands[0] = g.inputs()[0]; }));
  EXPECT_TRUE(broken([](Graph& g) { GraphTestAccess::node(g, g.last()).operands.clear(); }));
  EXPECT_TRUE(broken([](Graph& g) { GraphTestAccess::node(g, g.last()).attrs.emplace_back(int64_t{1}); }));
  EXPECT_TRUE(broken([](Graph& g) { GraphTestAccess::node(g, g.last()).loc = LocId(5); }));
  EXPECT_TRUE(broken([](Graph& g) { GraphTestAccess::node(g, g.last()).regions.push_back(g.add_region("r")); }));
}

TEST(Verifier, TheErrorShowsTheGuiltyLine) {
  const std::unique_ptr<Module> m = parsed("graph @main(%x: f32[4]) {\n  %1 = relu(%x) : f32[5]\n  return %1\n}\n");
  const Status s = verify_or_error(*m);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kInvalidIr);
  EXPECT_THAT(s.error().context, testing::Contains(HasSubstr("main: %1 = relu(%0) : f32[5]")));
}

}  // namespace
}  // namespace nnc

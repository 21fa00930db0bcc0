// if, loop, group and fail: types of their results, evaluation, the symbols that they bind.

#include <gtest/gtest.h>

#include "ir/ops/control.h"
#include "ir/verifier.h"
#include "tests/unit/ir/one_op.h"
#include "tests/unit/ir/op_cases.h"

namespace nnc {
namespace {

Type f64(Shape shape) { return Type::tensor(DType::kF64, std::move(shape)); }
Type i64() { return Type::tensor(DType::kI64, {}); }
Type boolean() { return Type::tensor(DType::kBool, {}); }

// A graph under construction. Building must not fail, so values are unwrapped.
struct Program {
  Module m;
  Graph& g = *m.add_entry("main").graph;

  RegionId region(const std::vector<Type>& inputs) {
    const RegionId r = g.add_region("body");
    for (const Type& t : inputs) g.region(r).add_input(t);
    return r;
  }
  // Appends the node and makes its results the graph's outputs.
  Status finish(OpKind kind, std::vector<ValueId> operands, AttrList attrs, std::vector<RegionId> regions) {
    NNC_ASSIGN(const NodeId id, g.append(kind, std::move(operands), std::move(attrs), {}, {}, std::move(regions)));
    g.set_outputs(g.node(id).results);
    test::number_arguments(m);
    return verify_or_error(m);
  }
  Result<std::vector<EvalTensor>> run(std::vector<EvalTensor> inputs, int64_t trips = 0) {
    EvalOptions options;
    options.anchored = true;
    if (trips > 0) options.limits[Limit::kLoopTrips] = trips;
    return Interpreter(m, options).run(g, std::move(inputs));
  }
  std::string type(size_t k) { return type_str(m.symbols, g.type(g.outputs()[k])); }
};

ValueId must(Result<ValueId> r) {
  EXPECT_TRUE(r.ok()) << (r.ok() ? "" : r.error().str());
  return r.ok() ? r.value() : ValueId();
}
EvalTensor number(double v) { return floats({}, {v}, DType::kF64); }
EvalTensor flag(bool v) { return ints({}, {v}, DType::kBool); }
EvalTensor count(int64_t v) { return ints({}, {v}); }

std::vector<std::string> texts_of(const Result<std::vector<EvalTensor>>& r) {
  if (!r.ok()) return {"error: " + r.error().message};
  std::vector<std::string> all;
  for (const EvalTensor& t : r.value()) all.push_back(text(t));
  return all;
}
using Texts = std::vector<std::string>;

TEST(If, RunsOneBranch) {
  Program p;
  const ValueId condition = p.g.add_input(boolean()), x = p.g.add_input(f64({2}));
  const RegionId yes = p.region({f64({2})}), no = p.region({f64({2})});
  Builder b_yes(p.g.region(yes)), b_no(p.g.region(no));
  p.g.region(yes).set_outputs({must(b_yes.unary(OpKind::kNeg, p.g.region(yes).inputs()[0]))});
  p.g.region(no).set_outputs({p.g.region(no).inputs()[0]});
  const Status s = p.finish(OpKind::kIf, {condition, x}, {}, {yes, no});
  ASSERT_TRUE(s.ok()) << s.error().str();
  EXPECT_EQ(texts_of(p.run({flag(true), floats({2}, {1, 2}, DType::kF64)})), Texts{"f64[2] -1 -2"});
  EXPECT_EQ(texts_of(p.run({flag(false), floats({2}, {1, 2}, DType::kF64)})), Texts{"f64[2] 1 2"});
}

TEST(If, BranchesOfDifferentExtentBindASymbol) {
  Program p;
  const ValueId condition = p.g.add_input(boolean()), x = p.g.add_input(f64({3}));
  const RegionId yes = p.region({f64({3})}), no = p.region({f64({3})});
  Builder b_no(p.g.region(no));
  p.g.region(yes).set_outputs({p.g.region(yes).inputs()[0]});
  const ValueId in = p.g.region(no).inputs()[0];
  p.g.region(no).set_outputs({must(b_no.concat({in, in}, 0))});
  EXPECT_EQ(if_result_symbols(p.g.region(yes), p.g.region(no)), 1u);
  EXPECT_FALSE(p.finish(OpKind::kIf, {condition, x}, {}, {yes, no}).ok());  // no symbol given
  const SymbolId s = p.m.symbols.data("n", 0, 6);
  const Status status = p.finish(OpKind::kIf, {condition, x}, {{"result_symbols", std::vector<SymbolId>{s}}}, {yes, no});
  ASSERT_TRUE(status.ok()) << status.error().str();
  EXPECT_EQ(p.type(0), "f64[" + p.m.symbols.str(Dim(s)) + "]");
  EXPECT_EQ(texts_of(p.run({flag(true), floats({3}, {1, 2, 3}, DType::kF64)})), Texts{"f64[3] 1 2 3"});
  EXPECT_EQ(texts_of(p.run({flag(false), floats({3}, {1, 2, 3}, DType::kF64)})), Texts{"f64[6] 1 2 3 1 2 3"});
}

TEST(If, ABranchThatFailsDoesSoOnlyIfTaken) {
  Program p;
  const ValueId condition = p.g.add_input(boolean()), x = p.g.add_input(f64({2}));
  const RegionId yes = p.region({f64({2})}), no = p.region({f64({2})});
  p.g.region(yes).set_outputs({p.g.region(yes).inputs()[0]});
  Builder b(p.g.region(no));
  p.g.region(no).set_outputs({must(b.op(OpKind::kFail, {},
                                        {{"message", std::string("576 samples have no 8 kHz form")},
                                         {"dtypes", std::vector<std::string>{"f64"}},
                                         {"ranks", std::vector<int64_t>{1}},
                                         {"dims", Shape{2}}}))});
  const Status s = p.finish(OpKind::kIf, {condition, x}, {}, {yes, no});
  ASSERT_TRUE(s.ok()) << s.error().str();
  EXPECT_EQ(texts_of(p.run({flag(true), floats({2}, {1, 2}, DType::kF64)})), Texts{"f64[2] 1 2"});
  EXPECT_EQ(texts_of(p.run({flag(false), floats({2}, {1, 2}, DType::kF64)})), Texts{"error: 576 samples have no 8 kHz form"});
}

TEST(If, RefusesBranchesThatDoNotAgree) {
  for (const Type& other : {Type::tensor(DType::kF32, {2}), f64({2, 1}), f64({2})}) {
    Program p;
    const ValueId condition = p.g.add_input(boolean());
    const ValueId x = p.g.add_input(f64({2})), y = p.g.add_input(other);
    const RegionId yes = p.region({f64({2}), other}), no = p.region({f64({2}), other});
    p.g.region(yes).set_outputs({p.g.region(yes).inputs()[0]});
    p.g.region(no).set_outputs({p.g.region(no).inputs()[1]});
    EXPECT_EQ(p.finish(OpKind::kIf, {condition, x, y}, {}, {yes, no}).ok(), other == f64({2}));
  }
}

// carried a (a + w each time), stacked a * a; ends after `trips` or when a reaches 10.
struct Sum : Program {
  RegionId body;
  explicit Sum(bool with_condition) {
    body = region({i64(), boolean(), f64({}), f64({})});
    Graph& r = g.region(body);
    Builder b(r);
    const ValueId next = must(b.binary(OpKind::kAdd, r.inputs()[2], r.inputs()[3]));
    const ValueId go = with_condition ? must(b.binary(OpKind::kLess, next, must(b.scalar(DType::kF64, 10)))) : r.inputs()[1];
    r.set_outputs({go, next, must(b.binary(OpKind::kMul, next, next))});
  }
};

TEST(Loop, KnownTripCount) {
  Sum p(false);
  const ValueId a = p.g.add_input(f64({})), w = p.g.add_input(f64({}));
  Builder b(p.g);
  const ValueId trips = must(b.constant(Tensor::scalar_i64(3)));
  const Status s = p.finish(OpKind::kLoop, {trips, {}, a, w}, {{"carried", int64_t{1}}, {"scan", int64_t{1}}}, {p.body});
  ASSERT_TRUE(s.ok()) << s.error().str();
  EXPECT_EQ(p.type(1), "f64[3]");
  EXPECT_EQ(texts_of(p.run({number(1), number(2)})), (Texts{"f64[] 7", "f64[3] 9 25 49"}));
}

TEST(Loop, ConditionAndSymbolicCount) {
  Sum p(true);
  const ValueId trips = p.g.add_input(i64()), condition = p.g.add_input(boolean()), a = p.g.add_input(f64({})), w = p.g.add_input(f64({}));
  const SymbolId n = p.m.symbols.data("trips", 0);
  EXPECT_FALSE(p.finish(OpKind::kLoop, {trips, condition, a, w}, {{"carried", int64_t{1}}, {"scan", int64_t{1}}}, {p.body})
                   .ok());  // the count is not known
  const Status s = p.finish(OpKind::kLoop, {trips, condition, a, w},
                            {{"carried", int64_t{1}}, {"scan", int64_t{1}}, {"trip", std::vector<SymbolId>{n}}}, {p.body});
  ASSERT_TRUE(s.ok()) << s.error().str();
  EXPECT_EQ(texts_of(p.run({count(2), flag(true), number(1), number(2)})), (Texts{"f64[] 5", "f64[2] 9 25"}));
  EXPECT_EQ(texts_of(p.run({count(99), flag(true), number(1), number(4)})), (Texts{"f64[] 13", "f64[3] 25 81 169"}));
  EXPECT_EQ(texts_of(p.run({count(99), flag(false), number(1), number(4)})), (Texts{"f64[] 1", "f64[0]"}));
  EXPECT_EQ(texts_of(p.run({count(-1), flag(true), number(1), number(4)})), (Texts{"f64[] 1", "f64[0]"}));
}

TEST(Loop, WithoutCountAndConditionTheBodyDecidesAndTheLimitHolds) {
  Sum p(true);
  const ValueId a = p.g.add_input(f64({})), w = p.g.add_input(f64({}));
  const SymbolId n = p.m.symbols.data("trips", 0);
  const Status s = p.finish(OpKind::kLoop, {{}, {}, a, w},
                            {{"carried", int64_t{1}}, {"scan", int64_t{1}}, {"trip", std::vector<SymbolId>{n}}}, {p.body});
  ASSERT_TRUE(s.ok()) << s.error().str();
  EXPECT_EQ(texts_of(p.run({number(1), number(5)})), (Texts{"f64[] 11", "f64[2] 36 121"}));
  EXPECT_EQ(texts_of(p.run({number(1), number(0)}, 100)), Texts{"error: the loop is over the limit of 100 iterations"});
}

// The carried vector doubles in each iteration; its extent is stacked.
TEST(Loop, CarriedExtentThatChanges) {
  Program p;
  const SymbolId inside = p.m.symbols.data("inside", 0), after = p.m.symbols.data("after", 0);
  const ValueId trips = p.g.add_input(i64()), x = p.g.add_input(f64({1}));
  const SymbolId n = p.m.symbols.data("trips", 0);
  const RegionId body = p.region({i64(), boolean(), f64({Dim(inside)})});
  Graph& r = p.g.region(body);
  Builder b(r);
  const ValueId twice = must(b.concat({r.inputs()[2], r.inputs()[2]}, 0));
  r.set_outputs({r.inputs()[1], twice, must(b.dims_value({Dim(inside)}))});
  EXPECT_EQ(loop_symbols(std::vector<Type>{f64({1})}, r, 1).carried, 1u);
  EXPECT_EQ(loop_symbols(std::vector<Type>{f64({1})}, r, 1).scan, 0u);
  const AttrList attrs = {{"carried", int64_t{1}},
                          {"scan", int64_t{1}},
                          {"trip", std::vector<SymbolId>{n}},
                          {"carried_symbols", std::vector<SymbolId>{inside}},
                          {"result_symbols", std::vector<SymbolId>{after}}};
  const Status s = p.finish(OpKind::kLoop, {trips, {}, x}, attrs, {body});
  ASSERT_TRUE(s.ok()) << s.error().str();
  EXPECT_EQ(texts_of(p.run({count(3), floats({1}, {5}, DType::kF64)})), (Texts{"f64[8] 5 5 5 5 5 5 5 5", "i64[3, 1] 1 2 4"}));
  EXPECT_EQ(texts_of(p.run({count(0), floats({1}, {5}, DType::kF64)})), (Texts{"f64[1] 5", "i64[0, 1]"}));
}

TEST(Loop, RefusesACarriedExtentWithoutSymbol) {
  Program p;
  const ValueId trips = p.g.add_input(i64()), x = p.g.add_input(f64({1}));
  const RegionId body = p.region({i64(), boolean(), f64({1})});
  Graph& r = p.g.region(body);
  Builder b(r);
  r.set_outputs({r.inputs()[1], must(b.concat({r.inputs()[2], r.inputs()[2]}, 0))});
  const Status s = p.finish(OpKind::kLoop, {trips, {}, x}, {{"carried", int64_t{1}}}, {body});
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().message.find("carried value 0 changes its extent on axis 0 from 1 to 2"), std::string::npos) << s.error().message;
}

TEST(Loop, StackedValuesOfChangingExtentFail) {
  Program p;
  const SymbolId inside = p.m.symbols.data("inside", 0), after = p.m.symbols.data("after", 0), each = p.m.symbols.data("each", 0);
  const ValueId x = p.g.add_input(f64({1}));
  const RegionId body = p.region({i64(), boolean(), f64({Dim(inside)})});
  Graph& r = p.g.region(body);
  Builder b(r), outside(p.g);
  const ValueId twice = must(b.concat({r.inputs()[2], r.inputs()[2]}, 0));
  r.set_outputs({r.inputs()[1], twice, twice});
  EXPECT_EQ(loop_symbols(std::vector<Type>{f64({1})}, r, 1).scan, 1u);
  const ValueId trips = must(outside.constant(Tensor::scalar_i64(2)));
  const Status s = p.finish(OpKind::kLoop, {trips, {}, x},
                            {{"carried", int64_t{1}},
                             {"scan", int64_t{1}},
                             {"carried_symbols", std::vector<SymbolId>{inside}},
                             {"result_symbols", std::vector<SymbolId>{after, each}}},
                            {body});
  ASSERT_TRUE(s.ok()) << s.error().str();
  EXPECT_EQ(texts_of(p.run({floats({1}, {5}, DType::kF64)})), Texts{"error: stacked value 0 changes its extents in iteration 1"});
}

TEST(Group, RunsItsRegion) {
  Program p;
  const ValueId x = p.g.add_input(f64({2}));
  const RegionId body = p.region({f64({2})});
  Builder b(p.g.region(body));
  const ValueId in = p.g.region(body).inputs()[0];
  p.g.region(body).set_outputs({must(b.unary(OpKind::kExp, in)), in});
  const Status s = p.finish(OpKind::kGroup, {x}, {{"hero", std::string("pointwise")}}, {body});
  ASSERT_TRUE(s.ok()) << s.error().str();
  EXPECT_EQ(texts_of(p.run({floats({2}, {0, 0}, DType::kF64)})), (Texts{"f64[2] 1 1", "f64[2] 0 0"}));
}

}  // namespace
}  // namespace nnc

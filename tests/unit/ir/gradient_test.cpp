#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/ir/gradient_check.h"

namespace nnc {
namespace {

TEST(Gradient, ElementwiseCases) {
  for (const GradientCase& c : elementwise_gradient_cases()) check_gradient(c);
}

TEST(Gradient, MovementCases) {
  for (const GradientCase& c : movement_gradient_cases()) check_gradient(c);
}

TEST(Gradient, NeuralCases) {
  for (const GradientCase& c : neural_gradient_cases()) check_gradient(c);
}

TEST(Gradient, EveryRowHasCasesOrAReason) {
  std::set<OpKind> covered;
  for (const auto& cases : {elementwise_gradient_cases(), movement_gradient_cases(), neural_gradient_cases()}) {
    for (const GradientCase& c : cases) covered.insert(c.kind);
  }
  for (const OpDef* def : all_ops()) {
    if (neural_gradient_cases().empty() && def->kind >= OpKind::kReduce) continue;
    if (def->gradient == nullptr)
      EXPECT_FALSE(def->no_gradient.empty()) << def->name << " has neither a gradient nor the reason for none";
    else
      EXPECT_TRUE(covered.contains(def->kind)) << def->name << " has a gradient that no case checks";
  }
}

// At equal operands both receive half, so that the sum of what flows is what came in.
TEST(Gradient, EqualOperandsShare) {
  for (const OpKind kind : {OpKind::kMin, OpKind::kMax}) {
    Module module;
    Graph graph(&module, "main");
    const ValueId a = graph.add_input(Type::tensor(DType::kF64, {})), b = graph.add_input(Type::tensor(DType::kF64, {})),
                  seed = graph.add_input(Type::tensor(DType::kF64, {}));
    const auto node = graph.append(kind, {a, b}, {}, {});
    ASSERT_TRUE(node.ok());
    Builder builder(graph);
    std::vector<ValueId> seeds = {seed}, gradients(2);
    GradContext context{builder, graph, *node, seeds, &gradients};
    ASSERT_TRUE(op_def(kind).gradient(context).ok());
    graph.set_outputs(gradients);
    Interpreter interpreter(module);
    const auto out = interpreter.run(graph, {floats({}, {2}, DType::kF64), floats({}, {2}, DType::kF64), floats({}, {3}, DType::kF64)});
    ASSERT_TRUE(out.ok()) << out.error().str();
    EXPECT_EQ((*out)[0].f[0], 1.5);
    EXPECT_EQ((*out)[1].f[0], 1.5);
  }
}

// A checker that cannot fail would prove nothing: a zero gradient at a step must be found.
TEST(Gradient, CheckerFindsAWrongOne) {
  GradientCase c{.name = "planted", .kind = OpKind::kRound, .operands = {{.dims = {1}, .values = {0.5}}}};  // a step inside the difference
  testing::TestPartResultArray failures;
  {
    testing::ScopedFakeTestPartResultReporter reporter(testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    check_gradient(c);
  }
  EXPECT_GT(failures.size(), 0);
}

}  // namespace
}  // namespace nnc

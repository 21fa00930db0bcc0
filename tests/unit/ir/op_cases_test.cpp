// Reference evaluation against numpy and ONNX's reference evaluator: every case of cases/*.txt, and the errors of ops on wrong operands.

#include <gtest/gtest.h>

#include "tests/unit/ir/op_cases.h"

namespace nnc::test {
namespace {

class OpCases : public testing::TestWithParam<const char*> {};

TEST_P(OpCases, EvalAgrees) {
  const auto cases = load_op_cases(GetParam());
  ASSERT_FALSE(cases.empty());
  for (const OpCase& c : cases) {
    SCOPED_TRACE(c.name);
    const OpDef* def = find_op(c.op);
    ASSERT_NE(def, nullptr) << c.op;
    bool doubles = false;  // a result that was computed in f64 is wanted to that accuracy
    for (const EvalTensor& t : c.inputs) doubles |= t.dtype == DType::kF64;
    const auto got = run_op(def->kind, c.inputs, c.attrs, doubles);
    if (!got.ok()) {
      ADD_FAILURE() << got.error().str();
      continue;
    }
    for (size_t k = 0; k < c.outputs.size() && k < got.value().size(); ++k) {
      if (c.outputs[k].dtype != DType::kInvalid) { EXPECT_EQ(difference(got.value()[k], c.outputs[k], 1e-9, 1e-12), "") << "result " << k; }
    }
    EXPECT_LE(c.outputs.size(), got.value().size());
  }
}

INSTANTIATE_TEST_SUITE_P(Families, OpCases, testing::Values("reduce", "norm", "matmul", "conv", "pool", "resize", "attention", "lstm"),
                         [](const auto& param_info) { return std::string(param_info.param); });

}  // namespace
}  // namespace nnc::test

// One op of the reduce, pool and resize families as a kernel against its reference evaluation, over the cases of tests/unit/ir/cases in f32
// and f16, with constant and symbolic extents, on a CPU target and on the interpreter's own.

#include <gtest/gtest.h>

#include <map>

#include "codegen/target.h"
#include "ir/support/text.h"
#include "tests/unit/codegen/run_group.h"
#include "tests/unit/ir/op_cases.h"

namespace nnc::test {
namespace {

// f64 operands as `dtype`, rounded.
std::vector<EvalTensor> narrowed(std::vector<EvalTensor> inputs, DType dtype) {
  for (EvalTensor& t : inputs) {
    if (t.dtype != DType::kF64) continue;
    t.dtype = dtype;
    for (double& v : t.f) v = round_to(dtype, v);
  }
  return inputs;
}

// Kernel and evaluation of one op.
Result<std::pair<EvalTensor, EvalTensor>> run_both(OpKind kind, const std::vector<EvalTensor>& inputs, const AttrList& attrs, bool symbolic,
                                                   const Target& target) {
  Module m;
  Graph g(&m, "main");
  std::map<int64_t, SymbolId> symbols;
  std::vector<ValueId> operands;
  std::vector<EvalTensor> given;
  std::vector<Tensor> tensors;
  for (const EvalTensor& t : inputs) {
    if (t.dtype == DType::kInvalid) {
      operands.emplace_back();
      continue;
    }
    Shape shape;
    for (const int64_t d : t.dims) {
      if (symbolic && d > 2 && !symbols.contains(d)) symbols[d] = m.symbols.input(cat("n", d), 0);
      shape.push_back(symbolic && d > 2 ? Dim(symbols[d]) : Dim(d));
    }
    operands.push_back(g.add_input(Type::tensor(t.dtype, shape)));
    given.push_back(t);
    tensors.push_back(t.to_tensor());
  }
  NNC_ASSIGN(const NodeId id, g.append(kind, operands, attrs, {}));
  g.set_outputs({g.node(id).results[0]});
  NNC_ASSIGN(std::vector<EvalTensor> want, Interpreter(m).run(g, given));
  NNC_ASSIGN(const std::vector<Tensor> got, run_group(g, target, tensors));
  return std::pair(EvalTensor::from(got[0]), std::move(want[0]));
}

void check(const OpCase& c, const OpDef& def, DType dtype, bool symbolic, std::initializer_list<const char*> targets) {
  const auto inputs = narrowed(c.inputs, dtype);
  const double unit = dtype == DType::kF16 ? 0x1p-10 : 0;
  for (const char* name : targets) {
    const auto target = parse_target(name);
    ASSERT_TRUE(target.ok());
    SCOPED_TRACE(cat(c.name, " ", dtype_name(dtype), symbolic ? " symbolic " : " ", name));
    const auto both = run_both(def.kind, inputs, c.attrs, symbolic, *target);
    if (!both.ok() && both.error().message.find("no code for") != std::string::npos) continue;  // a function that the interpreter lacks
    if (!both.ok()) {
      ADD_FAILURE() << both.error().str();
      continue;
    }
    EXPECT_EQ(difference(both->first, both->second, std::max(def.tolerance.rel, unit), def.tolerance.abs), "");
  }
}

class NeuralKernel : public testing::TestWithParam<const char*> {};

TEST_P(NeuralKernel, AgreesWithEval) {
  int count = 0;
  for (const OpCase& c : load_op_cases(GetParam())) {
    const OpDef& def = *find_op(c.op);
    if (def.body == nullptr) continue;
    ++count;
    check(c, def, DType::kF32, false, {"cpu:x86-64-v3"});
    if (count % 4 == 0) check(c, def, DType::kF16, false, {"cpu:x86-64-v3", "cpu:vm"});
    if (count % 2 == 0 && std::string_view(GetParam()) != "resize") check(c, def, DType::kF32, true, {"cpu:x86-64-v3"});
  }
  EXPECT_GT(count, 90);
}

INSTANTIATE_TEST_SUITE_P(Families, NeuralKernel, testing::Values("reduce", "pool", "resize"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace nnc::test

// quantize and dequantize spelled out give the bits of their evaluation.

#include <gtest/gtest.h>

#include <cmath>

#include "ir/support/text.h"
#include "tests/unit/ir/one_op.h"

namespace nnc {
namespace {

// The op evaluated as it is and as its expansion.
void compare(OpKind kind, const std::vector<EvalTensor>& operands, const AttrList& attrs, const std::string& name) {
  Module module;
  Graph graph(&module, "main");
  std::vector<ValueId> ids;
  std::vector<EvalTensor> given;
  for (const EvalTensor& t : operands) {
    ids.push_back(t.dtype == DType::kInvalid ? ValueId() : graph.add_input(type_of(t)));
    if (t.dtype != DType::kInvalid) given.push_back(t);
  }
  const auto node = graph.append(kind, ids, attrs, {});
  ASSERT_TRUE(node.ok()) << name << ": " << node.error().str();
  Builder b(graph);
  std::vector<ValueId> expanded;
  const Status s = op_def(kind).expand(b, graph, *node, &expanded);
  ASSERT_TRUE(s.ok()) << name << ": " << s.error().str();
  ASSERT_EQ(graph.type(expanded[0]), graph.type(graph.node(*node).results[0])) << name;
  graph.set_outputs({graph.node(*node).results[0], expanded[0]});
  Interpreter interpreter(module);
  const auto out = interpreter.run(graph, given);
  ASSERT_TRUE(out.ok()) << name << ": " << out.error().str();
  EXPECT_EQ(text((*out)[0]), text((*out)[1])) << name;
}

EvalTensor drawn(DType dtype, std::vector<int64_t> dims, Draw& draw, double lo, double hi) {
  EvalTensor t = EvalTensor::make(dtype, std::move(dims));
  for (double& v : t.f) v = round_to(dtype, draw.below(4) == 0 ? std::round(draw.uniform(lo, hi)) + 0.5 : draw.uniform(lo, hi));
  for (int64_t& v : t.i) v = wrap_int(dtype, static_cast<int64_t>(draw.uniform(lo, hi)));
  return t;
}

struct Form {
  std::vector<int64_t> scale;
  AttrList attrs;
};

TEST(QuantExpand, EqualsEvaluation) {
  const Form forms[] = {{{}, {}},
                        {{1}, {}},
                        {{5}, {{"axis", int64_t(1)}}},
                        {{3}, {{"axis", int64_t(0)}}},
                        {{3, 3}, {{"axis", int64_t(1)}, {"block", int64_t(2)}}},
                        {{1, 5}, {{"axis", int64_t(0)}, {"block", int64_t(4)}}}};
  for (const Form& form : forms) {
    for (const DType scale : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
      for (const DType quantized : {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32, DType::kI4}) {
        for (const bool with_zero : {false, true}) {
          const std::string name = cat(dtype_name(scale), " ", dtype_name(quantized), " ", form.scale.size(), with_zero);
          Draw draw(name);
          AttrList attrs = form.attrs;
          const EvalTensor s = drawn(scale, form.scale, draw, 0.25, 2),
                           zero = with_zero ? drawn(quantized, form.scale, draw, -100, 100) : absent();
          compare(OpKind::kDequantize, {drawn(quantized, {3, 5}, draw, -30000, 30000), s, zero}, attrs, "dequantize " + name);
          attrs.push_back({"to", quantized});
          EvalTensor x = drawn(scale, {3, 5}, draw, -300, 300);
          x.f[3] = std::nan("");
          x.f[4] = INFINITY;
          compare(OpKind::kQuantize, {x, s, zero}, attrs, "quantize " + name);
        }
      }
    }
  }
}

}  // namespace
}  // namespace nnc

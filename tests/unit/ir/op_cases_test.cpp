// Reference evaluation against numpy and ONNX's reference evaluator (every case of cases/*.txt), expansions against the ops that they
// replace, and the errors of ops on wrong operands.

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/verifier.h"
#include "tests/unit/ir/one_op.h"
#include "tests/unit/ir/op_cases.h"

namespace nnc::test {
namespace {

using Ints = std::vector<int64_t>;

class OpCaseFile : public testing::TestWithParam<const char*> {};

TEST_P(OpCaseFile, EvalAgrees) {
  const auto cases = load_op_cases(GetParam());
  ASSERT_FALSE(cases.empty());
  for (const OpCase& c : cases) {
    SCOPED_TRACE(c.name);
    const OpDef* def = find_op(c.op);
    ASSERT_NE(def, nullptr) << c.op;
    bool doubles = false;  // a result that was computed in f64 is wanted to that accuracy
    for (const EvalTensor& t : c.inputs) doubles |= t.dtype == DType::kF64;
    const auto got = run_op(def->kind, c.inputs, c.attrs, {.anchored = doubles});
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

// What a composite is expanded into means the same.
void check_expansion(OpKind kind, const std::vector<EvalTensor>& inputs, const AttrList& attrs) {
  ASSERT_NE(op_def(kind).expand, nullptr);
  const auto want = run_op(kind, inputs, attrs), got = run_op(kind, inputs, attrs, {.expanded = true});
  if (!got.ok() || !want.ok()) {
    ADD_FAILURE() << (got.ok() ? want : got).error().str();
    return;
  }
  ASSERT_EQ(got.value().size(), want.value().size());
  for (size_t k = 0; k < got.value().size(); ++k) EXPECT_EQ(difference(got.value()[k], want.value()[k], 1e-9, 1e-12), "") << "result " << k;
}

bool has_string(const OpCase& c, std::string_view attr, std::string_view value) {
  for (const NamedAttr& a : c.attrs)
    if (a.name == attr) return std::get<std::string>(a.value) == value;
  return false;
}

TEST(OpCases, ExpansionsAgree) {
  int count = 0;
  for (const char* family : {"norm", "attention", "conv"}) {
    for (const OpCase& c : load_op_cases(family)) {
      const OpDef* def = find_op(c.op);
      if (def->kind == OpKind::kConv || has_string(c, "w_format", "panel16")) continue;
      SCOPED_TRACE(c.name);
      check_expansion(def->kind, c.inputs, c.attrs);
      ++count;
    }
  }
  EXPECT_GT(count, 100);
}

// The gradients of each stored convolution, asked with its result as what flows back.
TEST(OpCases, ExpansionsOfConvolutionGradientsAgree) {
  int count = 0;
  for (const OpCase& c : load_op_cases("conv")) {
    if (c.op != "conv" || has_string(c, "w_format", "panel16") || c.inputs[0].dtype != DType::kF64) continue;
    SCOPED_TRACE(c.name);
    const auto with_shape = [&](const EvalTensor& t) {
      AttrList attrs = c.attrs;
      attrs.push_back({"shape", Shape(t.dims.begin(), t.dims.end())});
      return attrs;
    };
    check_expansion(OpKind::kConvInputGrad, {c.outputs[0], c.inputs[1]}, with_shape(c.inputs[0]));
    check_expansion(OpKind::kConvFilterGrad, {c.inputs[0], c.outputs[0]}, with_shape(c.inputs[1]));
    ++count;
  }
  EXPECT_GT(count, 30);
}

INSTANTIATE_TEST_SUITE_P(Families, OpCaseFile, testing::Values("reduce", "norm", "matmul", "conv", "pool", "resize", "attention", "lstm"),
                         [](const auto& param_info) { return std::string(param_info.param); });

// Extents stay symbols: the usual enlargements need no padding and no cropping that depends on them.
TEST(OpCases, TransposedConvolutionOfSymbolicExtents) {
  for (const auto& [kernel, stride, pad, crops] :
       {std::tuple<int64_t, int64_t, int64_t, bool>{2, 2, 0, false}, {4, 2, 1, true}, {3, 2, 1, true}, {1, 1, 0, false}}) {
    for (const char* layout : {"nchw", "nhwc"}) {
      const bool last = std::string_view(layout) == "nhwc";
      Module m;
      Graph& g = *m.add_entry("main").graph;
      const Dim n(m.symbols.input("n")), h(m.symbols.input("h", 1)), w(m.symbols.input("w", 1));
      const ValueId x = g.add_input(Type::tensor(DType::kF64, last ? Shape{n, h, w, 3} : Shape{n, 3, h, w}));
      const ValueId weight = g.add_input(Type::tensor(DType::kF64, last ? Shape{kernel, kernel, 2, 3} : Shape{3, 2, kernel, kernel}));
      const auto node = g.append(OpKind::kConvTranspose, {x, weight},
                                 {{"strides", Ints{stride, stride}},
                                  {"pads_begin", Ints{pad, pad}},
                                  {"pads_end", Ints{pad, pad}},
                                  {"layout", std::string(layout)},
                                  {"w_format", std::string(last ? "hwio" : "")}},
                                 {});
      ASSERT_TRUE(node.ok()) << node.error().str();
      Builder b(g);
      std::vector<ValueId> outputs = g.node(*node).results, expanded;
      const Status s = op_def(OpKind::kConvTranspose).expand(b, g, *node, &expanded);
      ASSERT_TRUE(s.ok()) << s.error().str();
      EXPECT_EQ(g.type(expanded[0]), g.type(outputs[0]));
      bool pads = false;
      for (const NodeId id : g.order())
        pads |= g.node(id).kind == OpKind::kPad && g.node(id).operands[0] != weight && g.type(g.node(id).operands[0]).rank() == 4;
      EXPECT_EQ(pads, crops) << kernel << layout;
      outputs.push_back(expanded[0]);
      g.set_outputs(outputs);
      number_arguments(m);
      const Status verified = verify_or_error(m);
      ASSERT_TRUE(verified.ok()) << verified.error().str();
      EvalTensor xs = EvalTensor::make(DType::kF64, last ? Ints{2, 3, 4, 3} : Ints{2, 3, 3, 4}),
                 ws = EvalTensor::make(DType::kF64, last ? Ints{kernel, kernel, 2, 3} : Ints{3, 2, kernel, kernel});
      for (size_t k = 0; k < xs.f.size(); ++k) xs.f[k] = static_cast<double>(k * 7 % 13) - 6;
      for (size_t k = 0; k < ws.f.size(); ++k) ws.f[k] = static_cast<double>(k * 5 % 11) - 5;
      const auto got = Interpreter(m).run(g, {xs, ws});
      ASSERT_TRUE(got.ok()) << got.error().str();
      EXPECT_EQ(difference((*got)[1], (*got)[0], 1e-12, 0), "") << kernel << layout;
    }
  }
}

struct Refusal {
  const char* name;
  OpKind kind;
  std::vector<EvalTensor> operands;
  AttrList attrs;
  Code code;
  const char* message;  // a part of it
};

EvalTensor zeros(std::vector<int64_t> dims, DType dtype = DType::kF32) { return EvalTensor::make(dtype, std::move(dims)); }

TEST(OpCases, Refusals) {
  const std::string max = "max", none = "none";
  const Refusal table[] = {
      {"reduce axis", OpKind::kReduce, {zeros({2})}, {{"kind", max}, {"axes", Ints{1}}}, Code::kInvalidModel, "axis 1 outside rank 1"},
      {"reduce axes twice", OpKind::kReduce, {zeros({2, 2})}, {{"kind", max}, {"axes", Ints{1, 1}}}, Code::kInvalidModel, "ascending"},
      {"reduce string", OpKind::kReduce, {zeros({2}, DType::kString)}, {{"kind", max}}, Code::kInvalidModel, "string"},
      {"sum of bool", OpKind::kReduce, {zeros({2}, DType::kBool)}, {{"kind", std::string("sum")}}, Code::kInvalidModel, "bool"},
      {"argmax of nothing", OpKind::kArgReduce, {zeros({2, 0})}, {{"kind", max}, {"axis", int64_t{1}}}, Code::kInvalidModel, "extent 0"},
      {"softmax of int", OpKind::kSoftmax, {zeros({2}, DType::kI32)}, {}, Code::kInvalidModel, "must be float"},
      {"layer_norm scale",
       OpKind::kLayerNorm,
       {zeros({2, 3}), zeros({2})},
       {{"axis", int64_t{1}}},
       Code::kInvalidModel,
       "does not broadcast"},
      {"batch_norm channels",
       OpKind::kBatchNorm,
       {zeros({1, 3}), zeros({2}), zeros({3}), zeros({3}), zeros({3})},
       {},
       Code::kInvalidModel,
       "channels"},
      {"label",
       OpKind::kSoftmaxCrossEntropy,
       {zeros({2, 3}), ints({2}, {0, 3})},
       {{"reduction", none}},
       Code::kIndexOutOfRange,
       "label of sample 1 is 3"},
      {"negative label",
       OpKind::kSoftmaxCrossEntropy,
       {zeros({2, 3}), ints({2}, {-1, 0})},
       {{"reduction", none}, {"ignore_index", int64_t{-2}}},
       Code::kIndexOutOfRange,
       "sample 0 is -1"},
      {"matmul inner", OpKind::kMatMul, {zeros({2, 3}), zeros({4, 2})}, {}, Code::kInvalidModel, "inner extent"},
      {"matmul scalar", OpKind::kMatMul, {zeros({}), zeros({2})}, {}, Code::kInvalidModel, "rank 0"},
      {"matmul dtypes", OpKind::kMatMul, {zeros({2, 2}), zeros({2, 2}, DType::kF64)}, {}, Code::kInvalidModel, "one dtype"},
      {"matmul panels",
       OpKind::kMatMul,
       {zeros({2, 3}), zeros({1, 4, 16})},
       {{"b_format", std::string("panel16")}, {"n", Shape{5}}},
       Code::kInvalidModel,
       "rows of the packed"},
      {"conv channels", OpKind::kConv, {zeros({1, 2, 4}), zeros({1, 3, 2})}, {}, Code::kInvalidModel, "channels"},
      {"conv groups", OpKind::kConv, {zeros({1, 4, 4}), zeros({3, 2, 2})}, {{"group", int64_t{2}}}, Code::kInvalidModel, "groups"},
      {"conv kernel", OpKind::kConv, {zeros({1, 1, 3}), zeros({1, 1, 5})}, {}, Code::kInvalidModel, "larger than spatial axis 0"},
      {"conv stride", OpKind::kConv, {zeros({1, 1, 3}), zeros({1, 1, 2})}, {{"strides", Ints{0}}}, Code::kInvalidModel, "strides"},
      {"conv bias", OpKind::kConv, {zeros({1, 1, 3}), zeros({2, 1, 2}), zeros({3})}, {}, Code::kInvalidModel, "bias"},
      {"pool window", OpKind::kPool, {zeros({1, 1, 2})}, {{"kind", max}, {"kernel", Ints{4}}}, Code::kInvalidModel, "larger"},
      {"pool rank", OpKind::kPool, {zeros({1, 2})}, {{"kind", max}, {"kernel", Ints{}}}, Code::kInvalidModel, "rank 3"},
      {"resize of nothing", OpKind::kResize, {zeros({0})}, {{"axes", Ints{0}}, {"sizes", Shape{2}}}, Code::kInvalidModel, "can't grow"},
      {"resize roi",
       OpKind::kResize,
       {zeros({2})},
       {{"axes", Ints{0}}, {"sizes", Shape{2}}, {"coordinate_mode", std::string("tf_crop_and_resize")}},
       Code::kInvalidModel,
       "roi"},
      {"attention heads",
       OpKind::kAttention,
       {zeros({1, 3, 2, 4}), zeros({1, 2, 2, 4}), zeros({1, 2, 2, 4})},
       {},
       Code::kInvalidModel,
       "multiple"},
      {"attention mask",
       OpKind::kAttention,
       {zeros({1, 1, 2, 4}), zeros({1, 1, 3, 4}), zeros({1, 1, 3, 4}), zeros({2, 4})},
       {},
       Code::kInvalidModel,
       "broadcast"},
      {"rotary odd", OpKind::kRotary, {zeros({2, 5}), zeros({2}), zeros({2})}, {}, Code::kInvalidModel, "even"},
      {"lstm weights",
       OpKind::kLstm,
       {zeros({1, 1, 2}), zeros({1, 8, 3}), zeros({1, 8, 2})},
       {{"hidden", int64_t{2}}},
       Code::kInvalidModel,
       "extent of w"},
      {"lstm lengths",
       OpKind::kLstm,
       {zeros({1, 1, 2}), zeros({1, 8, 2}), zeros({1, 8, 2}), {}, ints({1}, {2})},
       {{"hidden", int64_t{2}}},
       Code::kIndexOutOfRange,
       "seq_lens[0] is 2"},
  };
  for (const Refusal& r : table) {
    const auto got = run_op(r.kind, r.operands, r.attrs);
    ASSERT_FALSE(got.ok()) << r.name;
    EXPECT_EQ(got.error().code, r.code) << r.name << ": " << got.error().str();
    EXPECT_NE(got.error().message.find(r.message), std::string::npos) << r.name << ": " << got.error().message;
    EXPECT_EQ(got.error().place.op, op_name(r.kind)) << r.name;
  }
}

}  // namespace
}  // namespace nnc::test

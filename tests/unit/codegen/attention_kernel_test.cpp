// Attention as one kernel: against the reference evaluation in the interpreter, and compiled against interpreted bit for bit. Cases are
// data; random ones draw the same facts.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codegen/compile.h"
#include "ir/support/text.h"
#include "passes/passes.h"
#include "tests/unit/codegen/run_lowered.h"

namespace nnc {
namespace {

using testing::random_tensor;

enum class MaskKind : uint8_t { kNone, kFloat, kBool };
struct Case {
  std::string name;
  int64_t batch = 1, heads = 2, groups = 2, queries = 8, keys = 16, width = 16, value_width = 16;
  MaskKind mask = MaskKind::kNone;
  std::vector<int64_t> mask_dims = {};
  std::vector<int64_t> lengths = {};
  int64_t causal = 0, causal_offset = 0;
  double softcap = 0, scale = 0;
  DType dtype = DType::kF32;
  bool symbolic = false;  // queries and keys
  bool turned = false;    // the result as [B, S, H * E]
  bool memory = false;    // one value is keys and values
};

constexpr const char* kCompiled[] = {"cpu:x86-64-v4", "cpu:x86-64-v3", "cuda-emu:sm_80"};
constexpr const char* kTargets = "cpu:x86-64-v3,x86-64-v4,vm,cuda-emu:sm_80";

void check(const Case& c, const char* targets, bool native) {
  SCOPED_TRACE(c.name);
  Module m;
  Graph g(&m, "group");
  Builder b(g);
  Dim queries = c.queries, keys = c.keys;
  if (c.symbolic) {
    queries = Dim(m.symbols.input("queries", 0));
    keys = Dim(m.symbols.input("keys", 0));
  }
  std::vector<Tensor> inputs;
  const auto input = [&](DType t, const std::vector<int64_t>& dims, const Shape& shape, double lo, double hi) {
    inputs.push_back(random_tensor(t, dims, static_cast<uint32_t>(inputs.size()) + 1, lo, hi));
    return g.add_input(Type::tensor(t, shape));
  };
  std::vector<ValueId> operands = {input(c.dtype, {c.batch, c.heads, c.queries, c.width}, {c.batch, c.heads, queries, c.width}, -2, 2),
                                   input(c.dtype, {c.batch, c.groups, c.keys, c.width}, {c.batch, c.groups, keys, c.width}, -2, 2)};
  operands.push_back(
      c.memory ? operands[1] : input(c.dtype, {c.batch, c.groups, c.keys, c.value_width}, {c.batch, c.groups, keys, c.value_width}, -1, 1));
  operands.resize(5);
  if (c.mask != MaskKind::kNone) {
    Shape shape;
    for (size_t i = 0; i < c.mask_dims.size(); ++i) {
      const size_t axis = 4 - c.mask_dims.size() + i;
      shape.push_back(c.mask_dims[i] == 1 ? Dim(1) : axis == 2 ? queries : axis == 3 ? keys : Dim(c.mask_dims[i]));
    }
    operands[3] = input(c.mask == MaskKind::kBool ? DType::kBool : c.dtype, c.mask_dims, shape, -3, 3);
  }
  if (!c.lengths.empty()) {
    Tensor t(DType::kI64, {static_cast<int64_t>(c.lengths.size())});
    for (size_t i = 0; i < c.lengths.size(); ++i) store_i64(DType::kI64, t.data(), static_cast<int64_t>(i), c.lengths[i]);
    inputs.push_back(t);
    operands[4] = g.add_input(Type::tensor(DType::kI64, {static_cast<int64_t>(c.lengths.size())}));
  }
  AttrList attrs = {{"causal", c.causal}, {"softcap", c.softcap}};
  if (c.causal_offset != 0) attrs.push_back({"causal_offset", Shape{c.causal_offset}});
  if (c.scale != 0) attrs.push_back({"scale", c.scale});
  auto y = b.op(OpKind::kAttention, operands, attrs);
  ASSERT_TRUE(y.ok()) << y.error().str();
  ValueId result = *y;
  if (c.turned) {
    result = b.transpose(result, {0, 2, 1, 3}).value();
    result = b.reshape(result, {c.batch, queries, c.heads * c.value_width}).value();
  }
  g.set_outputs({result});
  const double unit = c.dtype == DType::kF16 ? 1e-3 : c.dtype == DType::kBF16 ? 8e-3 : c.dtype == DType::kF64 ? 1e-12 : 2e-6;
  const auto list = parse_targets(targets);
  ASSERT_TRUE(list.ok());
  for (const Target& t : *list) {
    if (t.is_cuda() && (c.dtype == DType::kF64 || std::max(c.width, c.value_width) > 128)) continue;  // expanded
    const testing::GroupRun r = testing::run_lowered(m, g, t, inputs, native);
    ASSERT_EQ(r.error, "") << t.name;
    EXPECT_EQ(r.lowered.skeleton, "attention");
    EXPECT_EQ(r.lowered.kernels.size(), 1u);
    EXPECT_TRUE(r.lowered.scratch_bytes.empty());
    EXPECT_EQ(testing::far_apart(r.interpreted[0], r.reference[0], 2 * unit, 2 * unit), "") << t.name;
    if (native) { EXPECT_EQ(testing::bits_differ(r.compiled[0], r.interpreted[0]), "") << t.name << " compiled"; }
  }
}

const std::vector<Case>& cases() {
  constexpr MaskKind kFloat = MaskKind::kFloat, kBool = MaskKind::kBool;
  static const std::vector<Case> all = {
      {.name = "plain"},
      {.name = "a head of MiniLM",
       .queries = 128,
       .keys = 128,
       .width = 32,
       .value_width = 32,
       .mask = kFloat,
       .mask_dims = {1, 1, 1, 128},
       .turned = true},
      {.name = "several blocks of rows and keys", .heads = 1, .groups = 1, .queries = 197, .keys = 197, .width = 64, .value_width = 64},
      {.name = "widths that are no vectors", .queries = 13, .keys = 21, .width = 15, .value_width = 5},
      {.name = "long heads", .queries = 3, .keys = 40, .width = 160, .value_width = 144},
      {.name = "many blocks of keys", .queries = 4, .keys = 1000, .width = 8, .value_width = 24, .mask = kFloat, .mask_dims = {4, 1000}},
      {.name = "one query", .queries = 1, .keys = 70, .width = 64, .value_width = 64},
      {.name = "one query, many keys", .queries = 1, .keys = 300, .width = 64, .value_width = 40},
      {.name = "keys that are the values", .queries = 9, .keys = 70, .memory = true},
      {.name = "keys that are the values, wide", .queries = 9, .keys = 70, .width = 64, .value_width = 64, .memory = true},
      {.name = "two keys", .queries = 9, .keys = 2, .width = 2, .value_width = 1},
      {.name = "shared keys", .batch = 2, .heads = 6, .groups = 2, .queries = 5, .keys = 33, .mask = kFloat, .mask_dims = {2, 6, 5, 33}},
      {.name = "shared keys, one query", .heads = 8, .groups = 2, .queries = 1, .keys = 33, .mask = kBool, .mask_dims = {8, 1, 33}},
      {.name = "mask of rows", .queries = 7, .keys = 33, .mask = kFloat, .mask_dims = {7, 1}},
      {.name = "mask of heads", .queries = 7, .keys = 33, .mask = kBool, .mask_dims = {2, 7, 33}},
      {.name = "causal", .queries = 20, .keys = 20, .causal = 1},
      {.name = "causal behind a cache", .queries = 5, .keys = 150, .causal = 1, .causal_offset = 145},
      {.name = "causal without a first key", .queries = 5, .keys = 20, .causal = 1, .causal_offset = -2},
      {.name = "lengths", .batch = 3, .queries = 5, .keys = 150, .lengths = {150, 7, 0}},
      {.name = "softcap and scale", .queries = 9, .keys = 30, .causal = 1, .softcap = 1.5, .scale = 0.7},
      {.name = "f64", .queries = 9, .keys = 140, .mask = kFloat, .mask_dims = {9, 140}, .dtype = DType::kF64},
      {.name = "f16", .queries = 9, .keys = 30, .width = 20, .mask = kFloat, .mask_dims = {1, 30}, .dtype = DType::kF16},
      {.name = "bf16", .queries = 130, .keys = 130, .dtype = DType::kBF16, .turned = true},
      {.name = "symbolic", .queries = 21, .keys = 150, .mask = kFloat, .mask_dims = {1, 1, 1, 150}, .symbolic = true, .turned = true},
      {.name = "symbolic, shared keys", .heads = 4, .groups = 1, .queries = 3, .keys = 17, .causal = 1, .symbolic = true},
      {.name = "symbolic, nothing to look at", .queries = 3, .keys = 0, .symbolic = true},
      {.name = "symbolic, nobody looks", .queries = 0, .keys = 5, .symbolic = true},
      {.name = "no queries", .queries = 0},
      {.name = "no batch", .batch = 0},
  };
  return all;
}

TEST(AttentionKernel, Cases) {
  // Each compiled for one target.
  const std::vector<Case>& all = cases();
  for (size_t i = 0; i < all.size(); ++i) {
    check(all[i], kCompiled[i % 3], true);
    check(all[i], "cpu:vm,cuda-emu:sm_90", false);
  }
}

TEST(AttentionKernel, RandomGroups) {
  uint64_t state = 20261201;
  const auto below = [&](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state >> 33) % n);
  };
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    Case c;
    c.name = cat("random ", round);
    c.groups = 1 + below(3);
    c.heads = c.groups * (1 + below(3));
    c.batch = 1 + below(2);
    c.queries = 1 + below(30);
    c.keys = 2 + below(200);
    c.width = 2 + below(40);
    c.value_width = 1 + below(40);
    c.mask = static_cast<MaskKind>(below(3));
    c.mask_dims = {below(2) ? c.batch : 1, below(2) ? c.heads : 1, below(2) ? c.queries : 1, below(2) ? c.keys : 1};
    c.causal = below(2);
    c.causal_offset = below(3) * 20;
    c.softcap = static_cast<double>(below(2)) * 2;
    c.symbolic = below(2) != 0;
    c.turned = below(2) != 0;
    check(c, kCompiled[round % 3], true);
  }
}

// Where no key may be looked at, the row is not a number; keys that are seen later make it one, whatever blocks lie before.
TEST(AttentionKernel, BlocksThatAreMaskedWhole) {
  constexpr int64_t kKeys = 300;
  Module m;
  Graph g(&m, "group");
  Builder b(g);
  std::vector<Tensor> inputs = {random_tensor(DType::kF32, {1, 1, 3, 16}, 1), random_tensor(DType::kF32, {1, 1, kKeys, 16}, 2),
                                random_tensor(DType::kF32, {1, 1, kKeys, 16}, 3)};
  Tensor mask(DType::kF32, {3, kKeys});
  for (int64_t i = 0; i < 3 * kKeys; ++i) {
    const int64_t row = i / kKeys, key = i % kKeys;
    const bool seen = row == 0 ? key > 280 : row == 1 ? key < 3 : false;
    store_f64(DType::kF32, mask.data(), i, seen ? 0 : -std::numeric_limits<double>::infinity());
  }
  inputs.push_back(mask);
  std::vector<ValueId> operands;
  for (const Tensor& t : inputs) operands.push_back(g.add_input(Type::tensor(DType::kF32, Shape(t.dims().begin(), t.dims().end()))));
  g.set_outputs({b.op(OpKind::kAttention, operands).value()});
  const auto list = parse_targets(kTargets);
  ASSERT_TRUE(list.ok());
  for (const Target& t : *list) {
    const testing::GroupRun r = testing::run_lowered(m, g, t, inputs, t.kind != TargetKind::kVm);
    ASSERT_EQ(r.error, "") << t.name;
    EXPECT_EQ(testing::far_apart(r.interpreted[0], r.reference[0], 4e-6, 4e-6), "") << t.name;
    EXPECT_FALSE(std::isnan(r.interpreted[0].f64(0)) || std::isnan(r.interpreted[0].f64(16))) << t.name;
    EXPECT_TRUE(std::isnan(r.interpreted[0].f64(32))) << t.name;
  }
}

// One kernel checks no extents: what is not known to be equal stays spelled out, and fails in the run.
TEST(AttentionKernel, ExtentsThatMayDisagreeStaySpelledOut) {
  Module m;
  Graph g(&m, "group");
  Builder b(g);
  const Dim keys(m.symbols.input("keys", 2)), other(m.symbols.input("other", 1)), batch(m.symbols.input("batch", 1));
  const auto fits = [&](const Dim& of_mask, const Dim& of_k) {
    std::vector<ValueId> operands;
    for (const Shape& s : {Shape{batch, 2, 8, 16}, Shape{of_k, 2, keys, 16}, Shape{batch, 2, keys, 16}, Shape{8, of_mask}})
      operands.push_back(g.add_input(Type::tensor(DType::kF32, s)));
    const auto y = b.op(OpKind::kAttention, operands);
    EXPECT_TRUE(y.ok());
    return attention_fits(g, *def_of(g, *y), target_facts(*parse_target("cpu:x86-64-v4")));
  };
  EXPECT_TRUE(fits(keys, batch));
  EXPECT_TRUE(fits(1, batch));
  EXPECT_FALSE(fits(other, batch));
  EXPECT_FALSE(fits(keys, other));
}

}  // namespace
}  // namespace nnc

#include "ir/ops/attention.h"

#include "ir/ops/attr_defs.h"
#include "ir/ops/families.h"
#include "ir/ops/shape_rules.h"

namespace nnc {

namespace {

Status check_mask(InferContext& c, const Shape& scores) {
  if (c.has(3)) {
    if (c.dtype(3) != DType::kBool) NNC_TRY(check_same_dtype(c, 0, 3));
    NNC_TRY(check_broadcasts_to(c, 3, scores));
  }
  if (c.has(4)) {
    if (c.dtype(4) != DType::kI64) return c.error("lengths must be i64, got " + std::string(dtype_name(c.dtype(4))));
    NNC_TRY(check_rank(c, 4, 1));
    NNC_TRY(check_equal(c, scores[0], c.shape(4)[0], "number of lengths"));
  }
  if (c.node().dims("causal_offset").size() > 1) return c.error("causal_offset is one number");
  return {};
}

Status infer_attention(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  for (int i = 0; i < 3; ++i) {
    NNC_TRY(check_same_dtype(c, 0, i));
    NNC_TRY(check_rank(c, i, 4));
  }
  const Shape &q = c.shape(0), &k = c.shape(1), &v = c.shape(2);
  NNC_TRY(check_equal(c, q[0], k[0], "batch of k"));
  NNC_TRY(check_equal(c, q[0], v[0], "batch of v"));
  NNC_TRY(check_equal(c, k[1], v[1], "heads of v against k"));
  NNC_TRY(check_equal(c, k[2], v[2], "length of v against k"));
  NNC_TRY(check_equal(c, q[3], k[3], "width of a head of k against q"));
  if (k[1].is_const() && (k[1].constant() < 1 || c.symbols().divisible(q[1], k[1].constant()) == Ternary::kNo))
    return c.error("the " + c.symbols().pretty(q[1]) + " heads of q are not a multiple of the " + c.symbols().pretty(k[1]) + " heads of k");
  NNC_TRY(check_mask(c, {q[0], q[1], q[2], k[2]}));
  if (c.node().f("softcap") < 0) return c.error("softcap must be 0 (none) or positive");
  c.result(c.dtype(0), {q[0], q[1], q[2], v[3]});
  return {};
}

Status infer_rotary(InferContext& c) {
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  NNC_TRY(check_min_rank(c, 0, 1));
  Shape table = c.shape(0);
  Dim width = table.back();
  if (int64_t n = c.node().i("rotary_dim"); n != 0) {
    if (n < 0 || n % 2 != 0 || c.symbols().at_least(width, n) == Ternary::kNo)
      return c.error("rotary_dim = " + std::to_string(n) + " must be even and at most " + c.symbols().pretty(width));
    width = n;
  }
  if (c.symbols().divisible(width, 2) == Ternary::kNo) return c.error("the rotated width " + c.symbols().pretty(width) + " must be even");
  for (int i = 1; i <= 2; ++i) {
    NNC_TRY(check_same_dtype(c, 0, i));
    NNC_TRY(check_min_rank(c, i, 1));
    bool half = c.symbols().equal(c.shape(i).back(), width) != Ternary::kYes;
    table.back() = half ? c.symbols().floordiv(width, 2) : width;
    NNC_TRY(check_broadcasts_to(c, i, table));
  }
  c.result(c.dtype(0), c.shape(0));
  return {};
}

}  // namespace

std::span<const OpDef> ops_attention() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kAttention,
       .name = "attention",
       .doc = "Operands q [B, H, S, D], k [B, G, T, D], v [B, G, T, E], mask?, lengths? i64 [B]. y[b, h, s] = sum over t of p[t] * v[b, g, "
              "t], where g = h / (H / G) (each head "
              "of k and v serves H / G neighbouring heads of q) and p = softmax over t of the scores q . k * scale (scale is 1 / sqrt(D) "
              "if not given). softcap > 0: "
              "the scores become softcap * tanh(score / softcap) before masking. mask broadcasts to [B, H, S, T]: a float mask is added, "
              "where a bool mask is false "
              "the score is -inf; likewise where t >= lengths[b], and with causal where t > s + causal_offset (0 if not given). A row with "
              "all scores -inf is NaN. "
              "Computed in f32 (f64 for f64) and rounded once.",
       .min_operands = 3,
       .max_operands = 5,
       .attrs = {attr_list("scale", AttrKind::kFloat), attr_flag("causal"), attr_list("causal_offset", AttrKind::kDims),
                 attr_float("softcap")},
       .lowering = Lowering::kHero,
       .infer = infer_attention,
       .eval = eval_attention,
       .expand = expand_attention,
       .gradient = gradient_attention,
       .domain = {-1, 1},
       .tolerance = {1e-5, 1e-6}},
      {.kind = OpKind::kRotary,
       .name = "rotary",
       .doc = "Operands x [.., D], cos, sin. Rotates the first rotary_dim elements (all if 0) of the last axis in pairs; the rest stays. "
              "Pairs are (i, i + rotary_dim / 2), "
              "interleaved (2 i, 2 i + 1). y0 = x0 * cos - x1 * sin, y1 = x1 * cos + x0 * sin. cos and sin broadcast to [.., rotary_dim / "
              "2], one angle per pair, or to "
              "[.., rotary_dim], one per element. Computed in f32 (f64 for f64) and rounded once.",
       .min_operands = 3,
       .max_operands = 3,
       .attrs = {attr_flag("interleaved"), attr_int("rotary_dim")},
       .lowering = Lowering::kExpand,
       .infer = infer_rotary,
       .eval = eval_rotary,
       .expand = expand_rotary,
       .gradient = gradient_rotary,
       .tolerance = {1e-6, 1e-7}},
  };
  return rows;
}

}  // namespace nnc

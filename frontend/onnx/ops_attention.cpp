// Attention and rotary embedding.

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/onnx/context.h"
#include "frontend/onnx/import_model.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

// [B, S, heads * D] as [B, heads, S, D].
Result<ValueId> split_heads(NodeContext& c, ValueId v, int64_t heads, std::string_view attr) {
  const Shape s = c.b().shape(v);
  if (s.size() == 4) return v;
  if (s.size() != 3) return c.error(cat("Q, K and V must be of rank 3 or 4, got ", type_pretty(c.symbols(), c.b().type(v))));
  if (heads < 1) return c.error(cat("attribute ", quote(attr), " must be given for inputs of rank 3"));
  NNC_TRY(assert_equal(c, c.symbols().mod(s[2], heads), 0, cat("the rest of the width by ", attr)));
  NNC_ASSIGN(const ValueId split, c.b().reshape(v, {s[0], s[1], Dim(heads), c.symbols().floordiv(s[2], heads)}));
  return c.b().transpose(split, {0, 2, 1, 3});
}

struct AttentionParts {
  ValueId q, k, v, mask, lengths;
  Dim past = 0;
  bool causal = false;
  double scale = 0, softcap = 0;
};

// The mask's last axis may be shorter than the keys: what lacks is masked out.
Result<ValueId> full_mask(NodeContext& c, ValueId mask, const Dim& keys) {
  Builder& b = c.b();
  const Shape s = b.shape(mask);
  if (s.empty() || s.size() > 4) return c.error(cat("the mask must be of rank 1 to 4, got ", type_pretty(c.symbols(), b.type(mask))));
  const Dim missing = c.symbols().sub(keys, s.back());
  if (missing.is_const(0) || s.back().is_const(1)) return mask;
  if (c.symbols().at_least(missing, 0) == Ternary::kNo)
    return c.error(cat("the mask has ", c.symbols().pretty(s.back()), " columns for ", c.symbols().pretty(keys), " keys"));
  if (!missing.is_const()) return mask;  // one symbol for both, or the spelled form, which finds them unequal in the run
  Shape before(s.size(), Dim(0)), after = before;
  after.back() = missing;
  NNC_ASSIGN(const ValueId fill, b.scalar(b.dtype(mask), b.dtype(mask) == DType::kBool ? 0 : -std::numeric_limits<double>::infinity()));
  return b.op(OpKind::kPad, {mask, fill}, {{"before", std::move(before)}, {"after", std::move(after)}});
}

// Scores [B, H, S, T] in the stages that qk_matmul_output_mode names: 0 product, 1 after softcap, 2 after the masks, 3 after softmax.
Result<ValueId> scores(NodeContext& c, const AttentionParts& p, int64_t mode) {
  Builder& b = c.b();
  SymbolTable& t = c.symbols();
  const Shape q = b.shape(p.q), k = b.shape(p.k);
  const DType dtype = b.dtype(p.q);
  const Dim group = t.floordiv(q[1], k[1]);
  NNC_ASSIGN(const ValueId qg, b.reshape(p.q, {q[0], k[1], group, q[2], q[3]}));
  NNC_ASSIGN(const ValueId kg, b.reshape(p.k, {k[0], k[1], Dim(1), k[2], k[3]}));
  NNC_ASSIGN(ValueId s, b.op(OpKind::kMatMul, {qg, kg}, {{"transpose_b", int64_t{1}}}));
  NNC_ASSIGN(s, b.reshape(s, {q[0], q[1], q[2], k[2]}));
  NNC_ASSIGN(const ValueId scale, b.scalar(dtype, p.scale));
  NNC_ASSIGN(s, b.binary(OpKind::kMul, s, scale));
  if (mode >= 1 && p.softcap > 0) {
    NNC_ASSIGN(const ValueId cap, b.scalar(dtype, p.softcap));
    NNC_ASSIGN(s, b.binary(OpKind::kDiv, s, cap));
    NNC_ASSIGN(s, b.unary(OpKind::kTanh, s));
    NNC_ASSIGN(s, b.binary(OpKind::kMul, s, cap));
  }
  if (mode <= 1) return s;
  NNC_ASSIGN(const ValueId low, b.scalar(dtype, -std::numeric_limits<double>::infinity()));
  const auto keep = [&](ValueId condition) -> Status {
    NNC_ASSIGN(s, b.op(OpKind::kWhere, {condition, s, low}));
    return {};
  };
  if (p.mask.valid()) {
    if (b.dtype(p.mask) == DType::kBool) {
      NNC_TRY(keep(p.mask));
    } else {
      NNC_ASSIGN(s, b.binary(OpKind::kAdd, s, p.mask));
    }
  }
  const auto positions = [&](const Dim& count, Shape shape) -> Result<ValueId> {
    NNC_ASSIGN(const ValueId zero, b.constant(Tensor::scalar_i64(0)));
    NNC_ASSIGN(const ValueId one, b.constant(Tensor::scalar_i64(1)));
    NNC_ASSIGN(const ValueId all, b.op(OpKind::kRange, {zero, one}, {{"count", Shape{count}}}));
    return b.reshape(all, std::move(shape));
  };
  NNC_ASSIGN(const ValueId column, positions(k[2], {k[2]}));
  if (p.causal) {
    NNC_ASSIGN(ValueId row, positions(q[2], {q[2], Dim(1)}));
    NNC_ASSIGN(const ValueId past, b.op(OpKind::kDimsValue, {}, {{"dims", Shape{p.past}}, {"rank0", int64_t{1}}}));
    NNC_ASSIGN(row, b.binary(OpKind::kAdd, row, past));
    NNC_ASSIGN(const ValueId seen, b.binary(OpKind::kLessEqual, column, row));
    NNC_TRY(keep(seen));
  }
  if (p.lengths.valid()) {
    NNC_ASSIGN(const ValueId lengths, b.reshape(p.lengths, {q[0], Dim(1), Dim(1), Dim(1)}));
    NNC_ASSIGN(const ValueId inside, b.binary(OpKind::kLess, column, lengths));
    NNC_TRY(keep(inside));
  }
  if (mode == 2) return s;
  return b.op(OpKind::kSoftmax, {s}, {{"axis", int64_t{3}}});
}

Status attention(NodeContext& c) {
  Builder& b = c.b();
  const int64_t q_heads = c.i("q_num_heads", 0), kv_heads = c.i("kv_num_heads", 0), mode = c.i("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return c.error(cat("attribute \"qk_matmul_output_mode\" = ", mode, " must be 0 to 3"));
  c.ignore_attr("softmax_precision");  // softmax is computed in f32 (f64 for f64) in any case
  AttentionParts p;
  p.causal = c.flag("is_causal", false);
  p.softcap = c.f("softcap", 0);
  NNC_ASSIGN(p.q, split_heads(c, c.in(0), q_heads, "q_num_heads"));
  NNC_ASSIGN(p.k, split_heads(c, c.in(1), kv_heads, "kv_num_heads"));
  NNC_ASSIGN(p.v, split_heads(c, c.in(2), kv_heads, "kv_num_heads"));
  if (c.has(4) != c.has(5)) return c.error("past_key and past_value come together");
  if (c.has(4)) {
    if (c.rank(4) != 4) return c.error("past_key must be of rank 4");
    p.past = c.shape(4)[2];
    NNC_ASSIGN(p.k, b.concat({c.in(4), p.k}, 2));
    NNC_ASSIGN(p.v, b.concat({c.in(5), p.v}, 2));
  }
  c.out(1, p.k);
  c.out(2, p.v);
  p.lengths = c.in(6);
  const Shape q = b.shape(p.q), k = b.shape(p.k);
  if (c.has(3)) { NNC_ASSIGN(p.mask, full_mask(c, c.in(3), k[2])); }
  AttrList attrs = {{"causal", int64_t{p.causal}}, {"softcap", p.softcap}};
  if (p.causal) attrs.push_back({"causal_offset", Shape{p.past}});
  if (c.has_attr("scale")) {
    p.scale = c.f("scale", 0);
    attrs.push_back({"scale", p.scale});
  } else if (c.wants(3)) {
    NNC_ASSIGN(const std::vector<int64_t> width, known_dims(c, {q[3]}, "the width of a head"));
    p.scale = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(width[0], 1)));
  }
  NNC_ASSIGN(ValueId y, b.op(OpKind::kAttention, {p.q, p.k, p.v, p.mask, p.lengths}, std::move(attrs)));
  if (c.rank(0) == 3) {
    const Shape s = b.shape(y);
    NNC_ASSIGN(y, b.transpose(y, {0, 2, 1, 3}));
    NNC_ASSIGN(y, b.reshape(y, {s[0], s[2], c.symbols().mul(s[1], s[3])}));
  }
  c.out(0, y);
  if (!c.wants(3)) return {};
  NNC_ASSIGN(const ValueId qk, scores(c, p, mode));
  c.out(3, qk);
  return {};
}

// cos and sin: tables [positions, D / 2] read at position_ids, or [B, S, D / 2] as they are. x is [B, H, S, D], or [B, S, H * D].
Status rotary_embedding(NodeContext& c) {
  Builder& b = c.b();
  const int64_t heads = c.i("num_heads", 0), width = c.i("rotary_embedding_dim", 0);
  const bool interleaved = c.flag("interleaved", false), flat = c.rank(0) == 3;
  if (!flat && c.rank(0) != 4) return c.error(cat("X must be of rank 3 or 4, it is of rank ", c.rank(0)));
  const Shape original = c.shape(0);
  ValueId x = c.in(0);
  if (flat) {
    if (heads < 1) return c.error("attribute \"num_heads\" must be given for X of rank 3");
    NNC_TRY(assert_equal(c, c.symbols().mod(original[2], heads), 0, "the rest of the width by num_heads"));
    NNC_ASSIGN(x, b.reshape(x, {original[0], original[1], Dim(heads), c.symbols().floordiv(original[2], heads)}));
  }
  ValueId tables[] = {c.in(1), c.in(2)};
  for (ValueId& table : tables) {
    if (c.has(3)) { NNC_ASSIGN(table, b.op(OpKind::kGather, {table, c.in(3)}, {{"axis", int64_t{0}}})); }
    const Shape s = b.shape(table);
    if (s.size() != 3)
      return c.error(cat("cos and sin must give [batch, sequence, width / 2], got ", type_pretty(c.symbols(), b.type(table))));
    NNC_ASSIGN(table, b.reshape(table, flat ? Shape{s[0], s[1], Dim(1), s[2]} : Shape{s[0], Dim(1), s[1], s[2]}));
  }
  NNC_ASSIGN(x, b.op(OpKind::kRotary, {x, tables[0], tables[1]}, {{"interleaved", int64_t{interleaved}}, {"rotary_dim", width}}));
  if (flat) { NNC_ASSIGN(x, b.reshape(x, original)); }
  c.out(0, x);
  return {};
}

}  // namespace

std::span<const OpRow> rows_attention() {
  static const OpRow rows[] = {
      {.name = "Attention", .since = 23, .until = 23, .min_inputs = 3, .max_inputs = 6, .max_outputs = 4, .import = attention},
      {.name = "Attention", .since = 24, .min_inputs = 3, .max_inputs = 7, .max_outputs = 4, .import = attention},
      {.name = "RotaryEmbedding", .since = 23, .min_inputs = 3, .max_inputs = 4, .import = rotary_embedding},
  };
  return rows;
}

}  // namespace nnc::onnx

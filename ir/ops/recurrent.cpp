#include "ir/ops/recurrent.h"

#include <algorithm>

#include "ir/ops/attr_defs.h"
#include "ir/ops/contract.h"
#include "ir/ops/families.h"
#include "ir/ops/shape_rules.h"

namespace nnc {

namespace {

constexpr std::string_view kActivations[] = {"sigmoid",     "tanh",         "relu", "affine",   "leaky_relu", "thresholded_relu",
                                             "scaled_tanh", "hard_sigmoid", "elu",  "softsign", "softplus"};

Status check_activations(InferContext& c, size_t count) {
  const AttrValue& given = c.node().attr("activations");
  if (const auto* names = std::get_if<std::vector<std::string>>(&given)) {
    if (!names->empty() && names->size() != count) return c.error("activations must be empty or " + std::to_string(count) + " names");
    for (const std::string& name : *names)
      if (std::find(std::begin(kActivations), std::end(kActivations), name) == std::end(kActivations))
        return c.error("unknown activation \"" + name + "\"");
  }
  for (std::string_view parameter : {"activation_alpha", "activation_beta"})
    if (size_t n = c.node().floats(parameter).size(); n != 0 && n != count)
      return c.error(std::string(parameter) + " must be empty or have " + std::to_string(count) + " numbers, one per activation");
  return {};
}

Status check_shape(InferContext& c, int i, const Shape& expected, std::string_view what) {
  if (!c.has(i)) return {};
  NNC_TRY(check_rank(c, i, static_cast<int>(expected.size())));
  for (size_t k = 0; k < expected.size(); ++k)
    NNC_TRY(check_equal(c, expected[k], c.shape(i)[k], "extent of " + std::string(what) + " on axis " + std::to_string(k)));
  return {};
}

Status check_weights(InferContext& c, const Dim& directions, int64_t hidden, const Dim& inputs) {
  std::string_view format = c.node().s("w_format");
  if (format.empty()) {
    NNC_TRY(check_shape(c, 1, {directions, 4 * hidden, inputs}, "w"));
    return check_shape(c, 2, {directions, 4 * hidden, hidden}, "r");
  }
  if (!is_packed(format)) return c.error("unknown w_format \"" + std::string(format) + "\"");
  for (int i = 1; i <= 2; ++i) {
    NNC_TRY(check_rank(c, i, static_cast<int>(1 + panel_rank(c.dtype(i)))));
    NNC_TRY(check_equal(c, directions, c.shape(i)[0], "directions of operand " + std::to_string(i)));
    NNC_TRY(check_panels(c, i, i == 1 ? inputs : Dim(hidden), 4 * hidden));
  }
  return {};
}

Status infer_lstm(InferContext& c) {
  const Node& node = c.node();
  NNC_TRY(check_dtype(c, 0, kClassFloat));
  for (int i : {1, 2, 3, 5, 6, 7})
    if (c.has(i)) NNC_TRY(check_same_dtype(c, 0, i));
  NNC_TRY(check_rank(c, 0, 3));
  int64_t hidden = node.i("hidden");
  if (hidden < 1 || hidden > kDimMax / 8) return c.error("hidden = " + std::to_string(hidden) + ", must be at least 1");
  int64_t directions = node.s("direction") == "bidirectional" ? 2 : 1;
  bool batch_first = node.s("layout") == "batch_first";
  const Dim steps = c.shape(0)[batch_first ? 1 : 0], batch = c.shape(0)[batch_first ? 0 : 1];
  Shape state = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  NNC_TRY(check_activations(c, static_cast<size_t>(3 * directions)));
  NNC_TRY(check_weights(c, directions, hidden, c.shape(0)[2]));
  NNC_TRY(check_shape(c, 3, {directions, 8 * hidden}, "b"));
  if (c.has(4) && c.dtype(4) != DType::kI32 && c.dtype(4) != DType::kI64) return c.error("seq_lens must be i32 or i64");
  NNC_TRY(check_shape(c, 4, {batch}, "seq_lens"));
  NNC_TRY(check_shape(c, 5, state, "h0"));
  NNC_TRY(check_shape(c, 6, state, "c0"));
  NNC_TRY(check_shape(c, 7, {directions, 3 * hidden}, "peephole"));
  c.result(c.dtype(0), batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden});
  c.result(c.dtype(0), state);
  c.result(c.dtype(0), state);
  return {};
}

}  // namespace

std::span<const OpDef> ops_recurrent() {
  static const std::vector<OpDef> rows = {
      {.kind = OpKind::kLstm,
       .name = "lstm",
       .doc = "Operands x [S, B, I], w [D, 4 H, I], r [D, 4 H, H], b? [D, 8 H], seq_lens? [B], h0? [D, B, H], c0? [D, B, H], peephole? [D, "
              "3 H]; D is 2 for bidirectional. Results "
              "y [S, D, B, H], y_h [D, B, H], y_c [D, B, H]; layout batch_first puts B first everywhere: x [B, S, I], y [B, S, D, H], "
              "states [B, D, H]. Gates lie in w, r, "
              "b in the order i, o, f, c; b holds the biases of w, then those of r; peephole holds those of i, o, f. Per step: z = x w' + "
              "h r' + b; i = f(z_i + p_i * c); f "
              "= f(z_f + p_f * c), with input_forget 1 - i; c = f * c + i * g(z_c); o = f(z_o + p_o * c); h = o * h(c). clip > 0 clips "
              "each argument of an "
              "activation but that of h to [-clip, clip]. Sequence b ends after seq_lens[b] steps: y is 0 beyond, y_h and y_c are the "
              "states at its end; reverse runs from "
              "its end. activations: f, g, h per direction, default sigmoid, tanh, tanh; alpha and beta one each. w_format panel16: w and "
              "r are the results "
              "of pack on their transposes. Products add up in f32 (f64 for f64); states are kept there between the steps and rounded once "
              "per result.",
       .min_operands = 3,
       .max_operands = 8,
       .results = 3,
       .attrs = {attr_choice("direction", "forward|reverse|bidirectional", "forward"), attr_required("hidden", AttrKind::kInt),
                 attr_choice("layout", "sequence_first|batch_first", "sequence_first"), attr_list("activations", AttrKind::kStrings),
                 attr_list("activation_alpha", AttrKind::kFloats), attr_list("activation_beta", AttrKind::kFloats), attr_float("clip"),
                 attr_flag("input_forget"), attr_string("w_format")},
       .lowering = Lowering::kHero,
       .infer = infer_lstm,
       .eval = eval_lstm,
       .gradient = gradient_lstm,
       .domain = {-1, 1},
       .tolerance = {1e-5, 1e-6}},
  };
  return rows;
}

}  // namespace nnc

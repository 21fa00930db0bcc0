// Products, convolutions, pools, LSTM.

#include <algorithm>

#include "frontend/onnx/context.h"
#include "frontend/onnx/op_helpers.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

Status matmul(NodeContext& c) { return c.set(c.b().matmul(c.in(0), c.in(1))); }

// alpha * A' * B' + beta * C
Status gemm(NodeContext& c) {
  const double alpha = c.f("alpha", 1), beta = c.f("beta", 1);
  if (c.rank(0) != 2 || c.rank(1) != 2) return c.error(cat("A and B must be matrices, they are of rank ", c.rank(0), " and ", c.rank(1)));
  Builder& b = c.b();
  NNC_ASSIGN(ValueId product, b.op(OpKind::kMatMul, {c.in(0), c.in(1)},
                                   {{"transpose_a", int64_t{c.flag("transA", false)}}, {"transpose_b", int64_t{c.flag("transB", false)}}}));
  const auto scaled = [&](ValueId v, double factor) -> Result<ValueId> {
    if (factor == 1) return v;
    NNC_ASSIGN(const ValueId f, b.scalar(b.dtype(v), factor));
    return b.binary(OpKind::kMul, v, f);
  };
  NNC_ASSIGN(product, scaled(product, alpha));
  if (!c.has(2) || beta == 0) return c.set(product);
  NNC_ASSIGN(const ValueId addend, scaled(c.in(2), beta));
  return c.set(b.binary(OpKind::kAdd, product, addend));
}

// Attributes that windows share. Pads come as all begins, then all ends.
struct Windows {
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  std::string auto_pad = "notset";
};
Result<Windows> windows(NodeContext& c, size_t spatial) {
  Windows w;
  NNC_ASSIGN(const std::string pad, c.choice("auto_pad", "NOTSET", "NOTSET|SAME_UPPER|SAME_LOWER|VALID"));
  const std::vector<int64_t> pads = c.ints("pads");
  w.strides = c.ints("strides");
  w.dilations = c.ints("dilations");
  for (const auto& [name, list] : {std::pair("strides", &w.strides), std::pair("dilations", &w.dilations)}) {
    if (!list->empty() && list->size() != spatial)
      return c.error(cat("attribute \"", name, "\" has ", list->size(), " numbers for ", spatial, " spatial axes"));
    if (std::ranges::any_of(*list, [](int64_t v) { return v < 1 || v > kDimMax; }))
      return c.error(cat("attribute \"", name, "\" must be positive"));
  }
  if (pad == "SAME_UPPER") w.auto_pad = "same_upper";
  if (pad == "SAME_LOWER") w.auto_pad = "same_lower";
  if (pad == "NOTSET" && !pads.empty()) {
    if (pads.size() != 2 * spatial)
      return c.error(cat("attribute \"pads\" has ", pads.size(), " numbers for ", spatial, " spatial axes; each needs two"));
    if (std::ranges::any_of(pads, [](int64_t v) { return v < -kDimMax || v > kDimMax; }))
      return c.error("a pad is larger than any axis can be");
    w.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
    w.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  }
  return w;
}
AttrList window_attrs(Windows w) {
  AttrList attrs = {{"auto_pad", std::move(w.auto_pad)}};
  if (!w.strides.empty()) attrs.push_back({"strides", std::move(w.strides)});
  if (!w.dilations.empty()) attrs.push_back({"dilations", std::move(w.dilations)});
  if (!w.pads_begin.empty()) attrs.push_back({"pads_begin", std::move(w.pads_begin)});
  if (!w.pads_end.empty()) attrs.push_back({"pads_end", std::move(w.pads_end)});
  return attrs;
}

// The weight's own extents are what counts; an attribute that disagrees is an error.
Status check_kernel_shape(NodeContext& c) {
  const std::vector<int64_t> kernel = c.ints("kernel_shape");
  if (kernel.empty()) return {};
  if (static_cast<int>(kernel.size()) != c.rank(1) - 2)
    return c.error(cat("attribute \"kernel_shape\" has ", kernel.size(), " numbers, the weight ", c.rank(1) - 2, " spatial axes"));
  for (size_t k = 0; k < kernel.size(); ++k)
    NNC_TRY(assert_equal(c, c.shape(1)[k + 2], kernel[k], cat("the weight's extent on spatial axis ", k)));
  return {};
}

Status check_image(NodeContext& c) {
  if (c.rank(0) < 3) return c.error(cat("the input must have batch, channels and at least one spatial axis, it is of rank ", c.rank(0)));
  return {};
}

Status conv(NodeContext& c) {
  NNC_TRY(check_image(c));
  if (c.rank(1) != c.rank(0)) return c.error(cat("the weight must be of the input's rank ", c.rank(0), ", it is of rank ", c.rank(1)));
  NNC_TRY(check_kernel_shape(c));
  NNC_ASSIGN(Windows w, windows(c, static_cast<size_t>(c.rank(0) - 2)));
  AttrList attrs = window_attrs(std::move(w));
  attrs.push_back({"group", c.i("group", 1)});
  return c.set(OpKind::kConv, {c.in(0), c.in(1), c.in(2)}, std::move(attrs));
}

// Pads that give the wanted output: what the plain transposed convolution has too much, split between begin and end. The odd element goes
// to the end with SAME_UPPER, else to the begin.
Status fit_output(NodeContext& c, Windows& w, const std::vector<int64_t>& output_padding, const std::vector<int64_t>& output_shape) {
  const size_t spatial = static_cast<size_t>(c.rank(0) - 2);
  const auto at = [](const std::vector<int64_t>& v, size_t k, int64_t fallback) { return v.empty() ? fallback : v[k]; };
  if (!output_shape.empty() && output_shape.size() != spatial)
    return c.error(cat("attribute \"output_shape\" has ", output_shape.size(), " numbers for ", spatial, " spatial axes"));
  const bool upper = w.auto_pad == "same_upper";
  w.pads_begin.assign(spatial, 0);
  w.pads_end.assign(spatial, 0);
  SymbolTable& t = c.symbols();
  for (size_t k = 0; k < spatial; ++k) {
    const int64_t stride = at(w.strides, k, 1), dilation = at(w.dilations, k, 1);
    const Dim in = c.shape(0)[k + 2];
    const Dim wanted = output_shape.empty() ? t.mul(in, stride) : Dim(output_shape[k]);
    const Dim reach = t.add(t.mul(t.sub(c.shape(1)[k + 2], 1), dilation), 1 + at(output_padding, k, 0));
    const Dim surplus = t.sub(t.add(t.mul(t.sub(in, 1), stride), reach), wanted);
    NNC_ASSIGN(const std::vector<int64_t> total, known_dims(c, {surplus}, "the padding that gives the wanted output"));
    const int64_t pad = total[0];
    const int64_t half = pad >> 1;  // rounds down, also where the output is larger than the plain one
    w.pads_begin[k] = upper ? half : pad - half;
    w.pads_end[k] = upper ? pad - half : half;
  }
  w.auto_pad = "notset";
  return {};
}

Status conv_transpose(NodeContext& c) {
  NNC_TRY(check_image(c));
  if (c.rank(1) != c.rank(0)) return c.error(cat("the weight must be of the input's rank ", c.rank(0), ", it is of rank ", c.rank(1)));
  NNC_TRY(check_kernel_shape(c));
  NNC_ASSIGN(Windows w, windows(c, static_cast<size_t>(c.rank(0) - 2)));
  std::vector<int64_t> output_padding = c.ints("output_padding");
  const std::vector<int64_t> output_shape = c.ints("output_shape");
  if (!output_padding.empty() && output_padding.size() != static_cast<size_t>(c.rank(0) - 2))
    return c.error("attribute \"output_padding\" must have one number per spatial axis");
  if (std::ranges::any_of(output_padding, [](int64_t v) { return v < 0 || v > kDimMax; }))
    return c.error("attribute \"output_padding\" must not be negative");
  if (w.auto_pad != "notset" || !output_shape.empty()) NNC_TRY(fit_output(c, w, output_padding, output_shape));
  AttrList attrs = window_attrs(std::move(w));
  std::erase_if(attrs, [](const NamedAttr& a) { return a.name == "auto_pad"; });
  attrs.push_back({"group", c.i("group", 1)});
  if (!output_padding.empty()) attrs.push_back({"output_padding", std::move(output_padding)});
  return c.set(OpKind::kConvTranspose, {c.in(0), c.in(1), c.in(2)}, std::move(attrs));
}

Status pool(NodeContext& c) {
  NNC_TRY(check_image(c));
  const auto spatial = static_cast<size_t>(c.rank(0) - 2);
  const std::vector<int64_t> kernel = c.ints("kernel_shape");
  if (kernel.size() != spatial)
    return c.error(cat("attribute \"kernel_shape\" has ", kernel.size(), " numbers for ", spatial, " spatial axes"));
  NNC_ASSIGN(Windows w, windows(c, spatial));
  AttrList attrs = window_attrs(std::move(w));
  attrs.push_back({"kernel", kernel});
  attrs.push_back({"ceil_mode", int64_t{c.flag("ceil_mode", false)}});
  const bool is_max = c.row().text == "max";
  if (is_max && c.wants(1)) {
    AttrList index_attrs = attrs;
    index_attrs.push_back({"storage_order", c.i("storage_order", 0)});
    NNC_ASSIGN(const ValueId indices, c.b().op(OpKind::kMaxPoolIndices, {c.in(0)}, std::move(index_attrs)));
    c.out(1, indices);
  }
  c.ignore_attr("storage_order");
  attrs.push_back({"kind", std::string(c.row().text)});
  if (!is_max) attrs.push_back({"count_include_pad", int64_t{c.flag("count_include_pad", false)}});
  return c.set(OpKind::kPool, {c.in(0)}, std::move(attrs));
}

Status global_pool(NodeContext& c) {
  NNC_TRY(check_image(c));
  std::vector<int64_t> axes = all_axes(c.rank(0));
  axes.erase(axes.begin(), axes.begin() + 2);
  return c.set(c.b().reduce(c.row().text, c.in(0), std::move(axes), true));
}

std::string lower_snake(std::string_view name) {
  std::string out;
  for (const char ch : name) {
    const bool upper = ch >= 'A' && ch <= 'Z';
    if (upper && !out.empty()) out += '_';
    out += upper ? static_cast<char>(ch - 'A' + 'a') : ch;
  }
  return out;
}

// Parameters of activations as the standard's defaults have them; alpha and beta lists hold entries only for activations that use them.
struct Activation {
  std::string_view name;
  bool alpha, beta;
  double alpha_default, beta_default;
};
constexpr Activation kActivations[] = {
    {"relu", false, false, 0, 0},      {"tanh", false, false, 0, 0},           {"sigmoid", false, false, 0, 0},
    {"affine", true, true, 1, 0},      {"leaky_relu", true, false, 0.01, 0},   {"thresholded_relu", true, false, 1, 0},
    {"scaled_tanh", true, true, 1, 1}, {"hard_sigmoid", true, true, 0.2, 0.5}, {"elu", true, false, 1, 0},
    {"softsign", false, false, 0, 0},  {"softplus", false, false, 0, 0},
};

Status lstm_activations(NodeContext& c, size_t count, AttrList* attrs) {
  const auto names = c.strings("activations");
  const std::vector<float> alphas = c.floats("activation_alpha"), betas = c.floats("activation_beta");
  if (names.empty()) return {};
  if (names.size() != count) return c.error(cat("attribute \"activations\" has ", names.size(), " names, expected ", count));
  std::vector<std::string> out;
  std::vector<double> alpha, beta;
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string_view given : names) {
    const std::string name = lower_snake(given);
    const auto* found = std::ranges::find(kActivations, name, &Activation::name);
    if (found == std::end(kActivations)) return c.unsupported(cat("LSTM with activation ", quote(given)));
    out.push_back(name);
    alpha.push_back(found->alpha && next_alpha < alphas.size() ? static_cast<double>(alphas[next_alpha++]) : found->alpha_default);
    beta.push_back(found->beta && next_beta < betas.size() ? static_cast<double>(betas[next_beta++]) : found->beta_default);
  }
  attrs->push_back({"activations", std::move(out)});
  attrs->push_back({"activation_alpha", std::move(alpha)});
  attrs->push_back({"activation_beta", std::move(beta)});
  return {};
}

Status lstm(NodeContext& c) {
  NNC_ASSIGN(const std::string direction, c.choice("direction", "forward", "forward|reverse|bidirectional"));
  if (c.rank(0) != 3 || c.rank(2) != 3) return c.error("X and R must be of rank 3");
  int64_t hidden = c.i("hidden_size", 0);
  if (hidden == 0 && c.shape(2)[2].is_const()) hidden = c.shape(2)[2].constant();
  AttrList attrs = {
      {"direction", direction}, {"hidden", hidden}, {"clip", c.f("clip", 0)}, {"input_forget", int64_t{c.flag("input_forget", false)}}};
  if (c.version() >= 14) attrs.push_back({"layout", std::string(c.i("layout", 0) == 1 ? "batch_first" : "sequence_first")});
  if (c.version() < 7) return c.unsupported("LSTM before opset 7");
  NNC_TRY(lstm_activations(c, direction == "bidirectional" ? 6 : 3, &attrs));
  std::vector<ValueId> operands;
  for (int k = 0; k < 8; ++k) operands.push_back(c.in(k));
  NNC_ASSIGN(const std::vector<ValueId> r, c.b().ops(OpKind::kLstm, std::move(operands), std::move(attrs)));
  for (int k = 0; k < 3; ++k) c.out(k, r[static_cast<size_t>(k)]);
  return {};
}

}  // namespace

std::span<const OpRow> rows_nn() {
  static const OpRow rows[] = {
      {.name = "MatMul", .since = 1, .min_inputs = 2, .max_inputs = 2, .import = matmul},
      {.name = "Gemm", .since = 7, .until = 10, .min_inputs = 3, .max_inputs = 3, .import = gemm},
      {.name = "Gemm", .since = 11, .min_inputs = 2, .max_inputs = 3, .import = gemm},
      {.name = "Conv", .since = 1, .min_inputs = 2, .max_inputs = 3, .import = conv},
      {.name = "ConvTranspose", .since = 1, .min_inputs = 2, .max_inputs = 3, .import = conv_transpose},
      {.name = "MaxPool", .since = 1, .max_outputs = 2, .import = pool, .text = "max"},
      {.name = "AveragePool", .since = 1, .import = pool, .text = "avg"},
      {.name = "GlobalAveragePool", .since = 1, .import = global_pool, .text = "mean"},
      {.name = "GlobalMaxPool", .since = 1, .import = global_pool, .text = "max"},
      {.name = "LSTM", .since = 7, .min_inputs = 3, .max_inputs = 8, .max_outputs = 3, .import = lstm},
  };
  return rows;
}

}  // namespace nnc::onnx

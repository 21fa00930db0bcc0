#include "ir/support/text.h"
#include "tests/unit/ir/gradient_check.h"

namespace nnc {
namespace {

using Dims = std::vector<int64_t>;

Shape shape(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

class Cases {
 public:
  GradientCase& add(OpKind kind, std::vector<GradientOperand> operands, AttrList attrs = {}) {
    all.push_back({.name = cat(op_name(kind), " ", all.size()), .kind = kind, .operands = std::move(operands), .attrs = std::move(attrs)});
    return all.back();
  }
  std::vector<GradientCase> all;
};

GradientOperand drawn(Dims dims, double lo = -1, double hi = 1) {
  return {.dims = std::move(dims), .drawn_from_row = false, .lo = lo, .hi = hi};
}
GradientOperand missing() { return {.given = false}; }
GradientOperand integers(Dims dims, std::vector<double> values, DType dtype = DType::kI64) {
  return {.dims = std::move(dims), .dtype = dtype, .values = std::move(values)};
}

void add_reductions(Cases& cases) {
  for (const char* kind : {"sum", "prod", "max", "min", "mean", "l1", "l2", "sum_square", "log_sum", "log_sum_exp"}) {
    const double lo = std::string_view(kind) == "log_sum" ? 0.2 : -2;
    const std::pair<Dims, Dims> shapes[] = {{{}, {}},         {{4}, {0}},    {{2, 3}, {1}},   {{2, 3}, {}}, {{2, 3, 2}, {0, 2}},
                                            {{2, 1, 3}, {1}}, {{0, 3}, {1}}, {{3, 2}, {0, 1}}};
    for (const auto& [dims, axes] : shapes)
      for (const int64_t keep : {0, 1}) {
        GradientCase& c =
            cases.add(OpKind::kReduce, {drawn(dims, lo, 2)}, {{"kind", std::string(kind)}, {"axes", axes}, {"keepdims", keep}});
        c.symbolic = keep == 1;
      }
  }
  for (const Dims& zeros : {Dims{0, 1, 1, 1}, Dims{0, 0, 1, 1}}) {  // products with one and with two zeros
    std::vector<double> values = {1.5, -0.5, 2, 0.75};
    for (size_t k = 0; k < 4; ++k) values[k] *= static_cast<double>(zeros[k]);
    cases.add(OpKind::kReduce, {{.dims = {4}, .values = values}}, {{"kind", std::string("prod")}, {"axes", Dims{0}}});
  }
  for (const int64_t exclusive : {0, 1})
    for (const int64_t reverse : {0, 1})
      for (const int64_t axis : {0, 1, 2})
        cases.add(OpKind::kCumSum, {drawn({2, 3, 2})}, {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}}).symbolic =
            axis == 1;
}

void add_norms(Cases& cases) {
  for (const int64_t axis : {0, 1, 2})
    for (const int64_t log : {0, 1})
      cases.add(OpKind::kSoftmax, {drawn({2, 3, 2}, -3, 3)}, {{"axis", axis}, {"log", log}}).symbolic = axis == 1;
  const std::vector<std::vector<GradientOperand>> operands = {{drawn({2, 3, 4})},
                                                              {drawn({2, 3, 4}), drawn({4})},
                                                              {drawn({2, 3, 4}), drawn({3, 4}), drawn({4})},
                                                              {drawn({2, 3, 4}), missing(), drawn({1, 4})},
                                                              {drawn({2, 3, 4}), drawn({}), drawn({2, 3, 4})}};
  for (size_t k = 0; k < operands.size(); ++k)
    for (const int64_t axis : {0, 1, 2})
      for (const int64_t stats : {0, 1}) {
        GradientCase& c = cases.add(OpKind::kLayerNorm, operands[k], {{"axis", axis}, {"epsilon", 0.1}, {"stats", stats}});
        c.symbolic = (axis + stats) % 2 == 1;
      }
  for (const int64_t axis : {0, 1, 2}) {
    cases.add(OpKind::kRmsNorm, {drawn({2, 3, 2}), drawn({3, 2})}, {{"axis", axis}, {"epsilon", 0.1}}).symbolic = axis == 1;
    cases.add(OpKind::kRmsNorm, {drawn({2, 3, 2})}, {{"axis", axis}, {"epsilon", 0.1}});
  }
  for (const Dims& dims : {Dims{2, 3}, Dims{2, 3, 2}, Dims{1, 3, 2, 2}})
    cases.add(OpKind::kBatchNorm, {drawn(dims), drawn({3}), drawn({3}), drawn({3}), drawn({3}, 0.5, 2)}, {{"epsilon", 0.1}}).symbolic =
        dims.size() == 3;
  for (const char* reduction : {"none", "sum", "mean"})
    for (const bool weighted : {false, true})
      for (const int64_t ignore : {-1, 2, 9}) {
        AttrList attrs = {{"reduction", std::string(reduction)}};
        if (ignore >= 0) attrs.push_back({"ignore_index", ignore});
        const double other = ignore == 9 ? 9 : 2;
        const GradientOperand weights = weighted ? drawn({4}, 0.2, 2) : missing();
        cases.add(OpKind::kSoftmaxCrossEntropy, {drawn({3, 4}), integers({3}, {1, other, 0}), weights}, attrs).symbolic = weighted;
        cases.add(OpKind::kSoftmaxCrossEntropy, {drawn({2, 4, 2}), integers({2, 2}, {1, other, 3, 0}, DType::kI32), weights}, attrs);
      }
}

void add_matmuls(Cases& cases) {
  const std::pair<Dims, Dims> shapes[] = {{{3}, {3}},
                                          {{2, 3}, {3}},
                                          {{3}, {3, 2}},
                                          {{2, 3}, {3, 2}},
                                          {{2, 2, 3}, {3, 2}},
                                          {{2, 3}, {2, 3, 2}},
                                          {{2, 1, 2, 3}, {2, 3, 1}},
                                          {{2, 2, 3}, {3}},
                                          {{3}, {2, 3, 2}},
                                          {{0, 3}, {3, 2}},
                                          {{2, 0}, {0, 2}}};
  for (const auto& [a, b] : shapes) {
    cases.add(OpKind::kMatMul, {drawn(a), drawn(b)});
    cases.add(OpKind::kMatMul, {drawn(a), drawn(b)}).symbolic = true;
  }
  for (const int64_t ta : {0, 1})
    for (const int64_t tb : {0, 1})
      for (const int64_t batch : {1, 2}) {
        const Dims a = ta ? Dims{2, 3, 2} : Dims{2, 2, 3}, b = tb ? Dims{batch, 4, 3} : Dims{batch, 3, 4};
        cases.add(OpKind::kMatMul, {drawn(a), drawn(b)}, {{"transpose_a", ta}, {"transpose_b", tb}}).symbolic = batch == 2;
      }
}

struct Window {
  Dims strides, begin, end, dilations;
  int64_t group = 1;
};

AttrList window_attrs(const Window& w, const char* layout, const char* format) {
  return {{"strides", w.strides},           {"pads_begin", w.begin}, {"pads_end", w.end},
          {"dilations", w.dilations},       {"group", w.group},      {"layout", std::string(layout)},
          {"w_format", std::string(format)}};
}

void add_convolutions(Cases& cases) {
  struct Conv {
    Dims x, w;
    Window window;
    std::string auto_pad = "notset";
  };
  const Conv table[] = {
      {{1, 2, 4}, {2, 2, 3}, {{1}, {0}, {0}, {1}}},
      {{2, 2, 5}, {4, 1, 2}, {{2}, {1}, {0}, {1}, 2}},
      {{1, 1, 4, 3}, {2, 1, 2, 2}, {{2, 1}, {1, 0}, {0, 1}, {1, 2}}},
      {{1, 2, 3, 3}, {2, 1, 2, 2}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 2}},
      {{1, 1, 5}, {1, 1, 3}, {{2}, {0}, {0}, {1}}, "same_upper"},
      {{1, 1, 5}, {1, 1, 2}, {{2}, {0}, {0}, {1}}, "same_lower"},
      {{1, 1, 5}, {1, 1, 2}, {{3}, {-1}, {0}, {1}}},  // rows that no window reads
      {{1, 1, 2, 2, 2}, {1, 1, 2, 1, 2}, {{1, 1, 1}, {0, 0, 1}, {0, 0, 0}, {1, 1, 1}}},
  };
  for (const Conv& k : table) {
    AttrList attrs = window_attrs(k.window, "nchw", "");
    attrs.push_back({"auto_pad", k.auto_pad});
    cases.add(OpKind::kConv, {drawn(k.x), drawn(k.w), drawn({k.w[0]})}, attrs);
    Dims x = {k.x[0]}, w(k.w.begin() + 2, k.w.end());  // channels last
    x.insert(x.end(), k.x.begin() + 2, k.x.end());
    x.push_back(k.x[1]);
    w.insert(w.end(), {k.w[1], k.w[0]});
    attrs = window_attrs(k.window, "nhwc", "hwio");
    attrs.push_back({"auto_pad", k.auto_pad});
    cases.add(OpKind::kConv, {drawn(x), drawn(w)}, attrs);
  }
  const std::pair<Dims, Dims> transposes[] = {{{1, 2, 3}, {2, 3, 2}}, {{1, 2, 2}, {2, 1, 3}}, {{1, 2, 2, 2}, {2, 2, 2, 3}}};
  for (const auto& [x, w] : transposes)
    for (const int64_t more : {0, 1, 2})
      for (const int64_t group : {1, 2}) {
        const Dims ones(x.size() - 2, 1), two(x.size() - 2, 2), three(x.size() - 2, 3);
        AttrList attrs = window_attrs({two, ones, Dims(x.size() - 2, 0), three, group}, "nchw", "");
        attrs.push_back({"output_padding", Dims(x.size() - 2, more)});
        cases.add(OpKind::kConvTranspose, {drawn(x), drawn(w), drawn({w[1] * group})}, attrs);
      }
  // Their gradients, as ops of their own: image [1, 2, 5], filter [2, 1, 2], two groups, stride 2 -> windows [1, 2, 3].
  const Window window{{2}, {1}, {0}, {1}, 2};
  for (const auto& [kind, a, b, result] : {std::tuple{OpKind::kConvInputGrad, Dims{1, 2, 3}, Dims{2, 1, 2}, Dims{1, 2, 5}},
                                           {OpKind::kConvFilterGrad, Dims{1, 2, 5}, Dims{1, 2, 3}, Dims{2, 1, 2}}}) {
    AttrList attrs = window_attrs(window, "nchw", "");
    attrs.push_back({"shape", shape(result)});
    cases.add(kind, {drawn(a), drawn(b)}, attrs);
  }
}

void add_pools(Cases& cases) {
  struct Pool {
    Dims x, kernel, strides, begin, end, dilations;
    int64_t ceil = 0;
    std::string auto_pad = "notset";
  };
  const Pool table[] = {{{1, 2, 5}, {3}, {1}, {0}, {0}, {1}},
                        {{2, 1, 4, 3}, {2, 2}, {2, 1}, {1, 0}, {0, 1}, {1, 1}},
                        {{1, 1, 5}, {2}, {2}, {0}, {1}, {1}, 1},
                        {{1, 1, 6}, {2}, {1}, {0}, {0}, {3}},
                        {{1, 1, 5, 2}, {3, 1}, {2, 1}, {0, 0}, {0, 0}, {1, 1}, 0, "same_lower"},
                        {{1, 1, 2, 2, 3}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}}};
  for (const Pool& p : table)
    for (const char* kind : {"max", "avg", "lp"})
      for (const char* layout : {"nchw", "nhwc"}) {
        Dims x = p.x;
        if (std::string_view(layout) == "nhwc") {
          x.erase(x.begin() + 1);
          x.push_back(p.x[1]);
        }
        const AttrList attrs = {{"kind", std::string(kind)},
                                {"kernel", p.kernel},
                                {"strides", p.strides},
                                {"pads_begin", p.begin},
                                {"pads_end", p.end},
                                {"dilations", p.dilations},
                                {"ceil_mode", p.ceil},
                                {"auto_pad", p.auto_pad},
                                {"layout", std::string(layout)},
                                {"count_include_pad", int64_t{p.x[0] == 2}},
                                {"p", int64_t{3}}};
        cases.add(OpKind::kPool, {drawn(x, 0.1, 2)}, attrs);
      }
  for (const char* layout : {"nchw", "nhwc"}) {
    const bool last = std::string_view(layout) == "nhwc";
    const Dims dy = last ? Dims{1, 2, 2} : Dims{1, 2, 2}, x = last ? Dims{1, 4, 2} : Dims{1, 2, 4};
    GradientOperand image = drawn(x);
    image.varied = false;
    for (const char* kind : {"max", "avg"}) {
      const AttrList attrs = {
          {"kind", std::string(kind)}, {"kernel", Dims{2}}, {"strides", Dims{2}}, {"layout", std::string(layout)}, {"shape", shape(x)}};
      cases.add(OpKind::kPoolGrad, {drawn(dy), std::string_view(kind) == "max" ? image : missing()}, attrs);
    }
  }
}

void add_resizes(Cases& cases) {
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* coordinate :
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"})
      for (const Dims& sizes : {Dims{2, 5}, Dims{4, 1}}) {
        AttrList attrs = {{"axes", Dims{0, 2}},
                          {"sizes", shape(sizes)},
                          {"mode", std::string(mode)},
                          {"coordinate_mode", std::string(coordinate)},
                          {"roi", std::vector<double>{0.1, -0.3, 0.8, 1.2}},
                          {"extrapolation_value", 3.0},
                          {"exclude_outside", int64_t{sizes[1] == 5}},
                          {"antialias", int64_t{mode[0] != 'n' && sizes[0] == 2}}};
        cases.add(OpKind::kResize, {drawn({3, 2, 3})}, attrs);
        attrs.push_back({"shape", shape({3, 2, 3})});
        cases.add(OpKind::kResizeGrad, {drawn({sizes[0], 2, sizes[1]})}, attrs);
      }
}

void add_attentions(Cases& cases) {
  for (const auto& [heads, shared] : {std::pair<int64_t, int64_t>{2, 2}, {2, 1}, {4, 2}})
    for (const double softcap : {0.0, 1.5})
      for (const int64_t causal : {0, 1}) {
        const std::vector<GradientOperand> masks = {missing(), drawn({2, 3}), drawn({1, heads, 2, 3}),
                                                    integers({2, 3}, {1, 0, 1, 1, 1, 0}, DType::kBool)};
        for (size_t k = 0; k < masks.size(); ++k) {
          AttrList attrs = {{"softcap", softcap}, {"causal", causal}};
          if (k == 1) attrs.push_back({"scale", 0.7});
          if (k == 2) attrs.push_back({"causal_offset", Shape{1}});
          cases.add(OpKind::kAttention,
                    {drawn({2, heads, 2, 2}), drawn({2, shared, 3, 2}), drawn({2, shared, 3, 2}), masks[k],
                     k == 3 ? integers({2}, {3, 1}) : missing()},
                    attrs);
        }
      }
  cases.add(OpKind::kAttention, {drawn({2, 3, 5, 7}), drawn({2, 3, 4, 7}), drawn({2, 3, 4, 6})}).symbolic = true;
  for (const int64_t interleaved : {0, 1})
    for (const int64_t width : {0, 4})
      for (const bool full : {false, true}) {
        const int64_t n = (width == 0 ? 6 : width) / (full ? 1 : 2);
        cases.add(OpKind::kRotary, {drawn({2, 3, 6}), drawn({3, n}), drawn({1, n})}, {{"interleaved", interleaved}, {"rotary_dim", width}});
      }
}

void add_lstms(Cases& cases) {
  const int64_t steps = 3, batch = 2, inputs = 2, n = 2;
  const std::vector<std::vector<std::string>> activations = {{},
                                                             {"sigmoid", "tanh", "softsign"},
                                                             {"affine", "elu", "softplus"},
                                                             {"hard_sigmoid", "scaled_tanh", "leaky_relu"},
                                                             {"sigmoid", "relu", "thresholded_relu"}};
  int k = 0;
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    for (const auto& chosen : activations) {
      for (const bool lengths : {false, true}) {
        const int64_t d = std::string_view(direction) == "bidirectional" ? 2 : 1;
        const bool first = k % 3 == 1, peephole = k % 4 == 2, states = k % 2 == 0;
        std::vector<std::string> names;
        std::vector<double> alpha, beta;
        for (int64_t j = 0; j < d; ++j) names.insert(names.end(), chosen.begin(), chosen.end());
        for (size_t j = 0; j < names.size(); ++j) alpha.push_back(0.3), beta.push_back(0.6);
        AttrList attrs = {{"direction", std::string(direction)},
                          {"hidden", n},
                          {"layout", std::string(first ? "batch_first" : "sequence_first")},
                          {"activations", names},
                          {"activation_alpha", alpha},
                          {"activation_beta", beta},
                          {"input_forget", int64_t{k % 5 == 3}},
                          {"clip", k % 5 == 4 ? 0.4 : 0.0}};
        const Dims state = first ? Dims{batch, d, n} : Dims{d, batch, n};
        std::vector<GradientOperand> operands = {drawn(first ? Dims{batch, steps, inputs} : Dims{steps, batch, inputs}),
                                                 drawn({d, 4 * n, inputs}), drawn({d, 4 * n, n})};
        operands.push_back(k % 3 == 0 ? missing() : drawn({d, 8 * n}, -0.3, 0.3));
        operands.push_back(lengths ? integers({batch}, {k % 2 == 0 ? 2.0 : 0.0, 3}, k % 2 == 0 ? DType::kI32 : DType::kI64) : missing());
        operands.push_back(states ? drawn(state) : missing());
        operands.push_back(states ? drawn(state) : missing());
        operands.push_back(peephole ? drawn({d, 3 * n}) : missing());
        cases.add(OpKind::kLstm, operands, attrs);
        ++k;
      }
    }
  }
  cases.add(OpKind::kLstm, {drawn({5, 3, 4}), drawn({1, 8, 4}), drawn({1, 8, 2})}, {{"hidden", n}}).symbolic = false;
}

}  // namespace

std::vector<GradientCase> neural_gradient_cases() {
  Cases cases;
  add_reductions(cases);
  add_norms(cases);
  add_matmuls(cases);
  add_convolutions(cases);
  add_pools(cases);
  add_resizes(cases);
  add_attentions(cases);
  add_lstms(cases);
  return std::move(cases.all);
}

}  // namespace nnc

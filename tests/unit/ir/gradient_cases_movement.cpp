#include "ir/support/text.h"
#include "tests/unit/ir/gradient_check.h"

namespace nnc {
namespace {

using Dims = std::vector<int64_t>;

Shape shape(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

GradientOperand indices(Dims dims, int64_t extent, Draw& draw) {
  GradientOperand o{.dims = dims, .dtype = DType::kI64};
  for (int64_t k = element_count(dims); k > 0; --k) o.values.push_back(static_cast<double>(draw.below(2 * extent) - extent));
  return o;
}

Dims draw_dims(Draw& draw, int64_t rank) {
  Dims dims(static_cast<size_t>(rank));
  for (int64_t& d : dims) d = 1 + draw.below(3);
  return dims;
}

void add_views(std::vector<GradientCase>& cases) {
  const std::pair<Dims, Dims> reshapes[] = {{{}, {1}}, {{2, 3}, {6}}, {{6}, {3, 1, 2}}, {{0, 2}, {2, 0}}, {{1}, {}}, {{2, 3, 2}, {2, 6}}};
  for (const auto& [from, to] : reshapes)
    cases.push_back(
        {.name = cat("reshape ", cases.size()), .kind = OpKind::kReshape, .operands = {{.dims = from}}, .attrs = {{"shape", shape(to)}}});
  const std::pair<Dims, Dims> broadcasts[] = {{{}, {2, 2}},           {{1, 3}, {2, 3}}, {{3}, {2, 3}},
                                              {{2, 1, 3}, {2, 2, 3}}, {{1}, {0}},       {{2}, {2}}};
  for (const auto& [from, to] : broadcasts) {
    cases.push_back({.name = cat("broadcast_to ", cases.size()),
                     .kind = OpKind::kBroadcastTo,
                     .operands = {{.dims = from}},
                     .attrs = {{"shape", shape(to)}}});
  }
  for (int k = 0; k < 12; ++k) {
    GradientCase c{.name = cat("transpose ", k), .kind = OpKind::kTranspose, .symbolic = k % 2 == 1};
    Draw draw(c.name);
    const Dims dims = draw_dims(draw, k % 5);
    std::vector<int64_t> perm(dims.size());
    for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
    for (size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[static_cast<size_t>(draw.below(static_cast<int64_t>(i)))]);
    c.operands = {{.dims = dims}};
    c.attrs = {{"perm", perm}};
    cases.push_back(std::move(c));
  }
  for (int64_t step : {1, 2, 3, 7, -1, -2, -3}) {
    for (int64_t n : {0, 1, 5, 6}) {
      for (int64_t start : {0, 1, 4}) {
        const int64_t first = step > 0 ? std::min(start, n) : n - 1 - std::min(start, n), last = step > 0 ? n - (n > 3 ? 1 : 0)
                                                                                                 : n > 3  ? 0
                                                                                                          : -1;
        cases.push_back({.name = cat("slice ", n, " from ", first, " by ", step),
                         .kind = OpKind::kSlice,
                         .operands = {{.dims = {2, n}}},
                         .attrs = {{"axes", std::vector<int64_t>{1}},
                                   {"starts", Shape{Dim(first)}},
                                   {"ends", Shape{Dim(last)}},
                                   {"steps", std::vector<int64_t>{step}}}});
      }
    }
  }
  cases.push_back({.name = "slice of two axes",
                   .kind = OpKind::kSlice,
                   .operands = {{.dims = {4, 2, 5}}},
                   .attrs = {{"axes", std::vector<int64_t>{-1, 0}},
                             {"starts", shape({3, 1})},
                             {"ends", shape({-1, 3})},
                             {"steps", std::vector<int64_t>{-2, 1}}}});
}

void add_moves(std::vector<GradientCase>& cases) {
  cases.push_back({.name = "concat of one", .kind = OpKind::kConcat, .operands = {{.dims = {2, 2}}}, .attrs = {{"axis", int64_t(0)}}});
  cases.push_back({.name = "concat of three",
                   .kind = OpKind::kConcat,
                   .operands = {{.dims = {2, 1}}, {.dims = {2, 0}}, {.dims = {2, 3}}},
                   .attrs = {{"axis", int64_t(-1)}}});
  cases.push_back({.name = "concat, first axis",
                   .kind = OpKind::kConcat,
                   .operands = {{.dims = {1, 2}}, {.dims = {3, 2}}},
                   .attrs = {{"axis", int64_t(0)}},
                   .symbolic = true});
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    const std::pair<Dims, Dims> pads[] = {{{0, 0}, {0, 0}}, {{1, 0}, {2, 1}}, {{-1, 2}, {1, -1}}, {{5, 0}, {0, 7}}, {{-1, -1}, {-1, 0}}};
    for (const auto& [before, after] : pads) {
      GradientCase c{.name = cat("pad ", mode, " ", cases.size()),
                     .kind = OpKind::kPad,
                     .operands = {{.dims = {3, 2}}},
                     .attrs = {{"before", shape(before)}, {"after", shape(after)}, {"mode", std::string(mode)}}};
      cases.push_back(c);
      if (std::string_view(mode) != "constant") continue;
      c.name += " with a value";
      c.operands.push_back({.dims = {}});
      cases.push_back(std::move(c));
    }
  }
  cases.push_back({.name = "tile", .kind = OpKind::kTile, .operands = {{.dims = {2, 1, 3}}}, .attrs = {{"repeats", shape({2, 3, 1})}}});
  cases.push_back({.name = "tile to nothing", .kind = OpKind::kTile, .operands = {{.dims = {2}}}, .attrs = {{"repeats", shape({0})}}});
  cases.push_back({.name = "tile of a scalar", .kind = OpKind::kTile, .operands = {{.dims = {}}}, .attrs = {{"repeats", Shape{}}}});
  for (int64_t k : {-5, -1, 0, 1, 5}) {
    for (int64_t upper : {0, 1}) {
      cases.push_back({.name = cat("trilu ", k, " ", upper),
                       .kind = OpKind::kTrilu,
                       .operands = {{.dims = {2, 3, 4}}},
                       .attrs = {{"upper", upper}, {"k", shape({k})}}});
    }
  }
  for (int64_t transposed : {0, 1}) {
    cases.push_back({.name = cat("pack ", transposed),
                     .kind = OpKind::kPack,
                     .operands = {{.dims = {2, 3, 18}}},
                     .attrs = {{"transposed", transposed}}});
    cases.push_back({.name = cat("unpack ", transposed),
                     .kind = OpKind::kUnpack,
                     .operands = {{.dims = {2, 3, 16}}},
                     .attrs = {{"transposed", transposed}, {"k", shape({3})}, {"n", shape({18})}}});
  }
}

void add_gathers(std::vector<GradientCase>& cases) {
  for (int k = 0; k < 40; ++k) {
    Draw draw(cat("gathers ", k));
    const Dims x = draw_dims(draw, 1 + draw.below(3));
    const int64_t axis = draw.below(static_cast<int64_t>(x.size()));
    const auto a = static_cast<size_t>(axis);
    const Dims loose = draw_dims(draw, draw.below(3));
    cases.push_back({.name = cat("gather ", k),
                     .kind = OpKind::kGather,
                     .operands = {{.dims = x}, indices(loose, x[a], draw)},
                     .attrs = {{"axis", axis}}});
    Dims idx = x;
    idx[a] = draw.below(5);
    for (size_t i = 0; i < idx.size(); ++i) {
      if (i != a) idx[i] = 1 + draw.below(x[i]);
    }
    cases.push_back({.name = cat("gather_elements ", k),
                     .kind = OpKind::kGatherElements,
                     .operands = {{.dims = x}, indices(idx, x[a], draw)},
                     .attrs = {{"axis", axis}}});
    for (const char* reduction : {"add", "mul", "max", "min"}) {
      cases.push_back({.name = cat("scatter_elements ", reduction, " ", k),
                       .kind = OpKind::kScatterElements,
                       .operands = {{.dims = x}, indices(idx, x[a], draw), {.dims = idx}},
                       .attrs = {{"axis", axis}, {"reduction", std::string(reduction)}}});
    }
  }
  const GradientOperand distinct{.dims = {2, 2}, .dtype = DType::kI64, .values = {2, 0, -3, 1}};
  cases.push_back(
      {.name = "scatter_elements set", .kind = OpKind::kScatterElements, .operands = {{.dims = {3, 2}}, distinct, {.dims = {2, 2}}}});
  const GradientOperand tuples{.dims = {2, 2}, .dtype = DType::kI64, .values = {1, 0, -1, 1}},
      rows{.dims = {3, 1}, .dtype = DType::kI64, .values = {1, 1, -3}};
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    cases.push_back({.name = cat("scatter_nd ", reduction),
                     .kind = OpKind::kScatterNd,
                     .operands = {{.dims = {3, 2, 2}}, tuples, {.dims = {2, 2}}},
                     .attrs = {{"reduction", std::string(reduction)}}});
    if (std::string_view(reduction) == "none") continue;
    cases.push_back({.name = cat("scatter_nd of rows ", reduction),
                     .kind = OpKind::kScatterNd,
                     .operands = {{.dims = {3, 2}}, rows, {.dims = {3, 2}}},
                     .attrs = {{"reduction", std::string(reduction)}}});
  }
  const GradientOperand twice{.dims = {3}, .dtype = DType::kI64, .values = {0, 0, 1}};
  for (const auto& [x, u] : {std::pair<std::vector<double>, std::vector<double>>{{2, 3}, {0, 5, 7}},
                             {{0, 3}, {4, 5, 0}},
                             {{0, 0}, {0, 5, 0}},
                             {{2, 0}, {0, 0, 1}}}) {
    cases.push_back({.name = cat("products with zeros ", cases.size()),
                     .kind = OpKind::kScatterElements,
                     .operands = {{.dims = {2}, .values = x}, twice, {.dims = {3}, .values = u}},
                     .attrs = {{"reduction", std::string("mul")}}});
  }
  cases.push_back({.name = "gather_nd", .kind = OpKind::kGatherNd, .operands = {{.dims = {3, 2, 2}}, tuples}});
  cases.push_back({.name = "gather_nd of rows", .kind = OpKind::kGatherNd, .operands = {{.dims = {3, 2}}, rows}});
  const GradientOperand batched{.dims = {2, 3, 1}, .dtype = DType::kI32, .values = {0, 2, 2, -1, 1, 1}};
  cases.push_back({.name = "gather_nd in batches",
                   .kind = OpKind::kGatherNd,
                   .operands = {{.dims = {2, 3, 2}}, batched},
                   .attrs = {{"batch_dims", int64_t(1)}}});
  const GradientOperand deep{.dims = {2, 2, 1}, .dtype = DType::kI64, .values = {0, 1, 1, 1}};
  cases.push_back({.name = "gather_nd in two batches",
                   .kind = OpKind::kGatherNd,
                   .operands = {{.dims = {2, 2, 2}}, deep},
                   .attrs = {{"batch_dims", int64_t(2)}}});
  const GradientOperand classes{.dims = {2, 2}, .dtype = DType::kI64, .values = {0, -1, 3, 1}};
  for (int64_t axis : {-1, 0, 1}) {
    cases.push_back({.name = cat("one_hot ", axis),
                     .kind = OpKind::kOneHot,
                     .operands = {classes, {.dims = {2}}},
                     .attrs = {{"axis", axis}, {"depth", shape({3})}}});
  }
}

}  // namespace

std::vector<GradientCase> movement_gradient_cases() {
  std::vector<GradientCase> cases;
  add_views(cases);
  add_moves(cases);
  add_gathers(cases);
  return cases;
}

}  // namespace nnc

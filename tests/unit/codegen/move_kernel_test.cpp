// Rows that move, gather, scatter and pack as kernels.

#include <gtest/gtest.h>

#include <cmath>

#include "codegen/target.h"
#include "ir/support/text.h"
#include "tests/unit/codegen/row_kernel.h"
#include "tests/unit/codegen/run_group.h"

namespace nnc {
namespace {

// Moves bits: two dtypes of different width show it.
void check_move(const std::string& name, OpKind kind, const std::vector<Dims>& operands, const AttrList& attrs,
                const std::vector<EvalTensor>& others = {}) {
  for (const DType dtype : {DType::kF32, DType::kI8, DType::kBool, DType::kF64}) {
    for (const bool symbolic : {false, true}) {
      KernelCase c{.name = cat(name, " ", dtype_name(dtype)), .kind = kind, .attrs = attrs, .symbolic = symbolic};
      Draw draw(c.name);
      for (const Dims& dims : operands) c.operands.push_back(draw_tensor(dtype, dims, draw, {}, true));
      c.operands.insert(c.operands.end(), others.begin(), others.end());
      check_kernel(c);
    }
  }
}

TEST(MoveKernel, Views) {
  const std::pair<Dims, Dims> reshapes[] = {{{}, {1}},        {{2, 3}, {6}},        {{66}, {3, 1, 22}},
                                            {{0, 2}, {2, 0}}, {{4, 6, 5}, {8, 15}}, {{2, 1, 70}, {70, 2}}};
  for (const auto& [from, to] : reshapes) {
    Draw draw("reshape");
    check_kernel({.name = cat(element_count(from)),
                  .kind = OpKind::kReshape,
                  .operands = {draw_tensor(DType::kF32, from, draw, {}, true)},
                  .attrs = {{"shape", shape_of(to)}}});
  }
  check_move("2", OpKind::kTranspose, {{5, 70}}, {{"perm", Dims{1, 0}}});
  check_move("keeps last", OpKind::kTranspose, {{2, 3, 40}}, {{"perm", Dims{1, 0, 2}}});
  check_move("4", OpKind::kTranspose, {{2, 3, 4, 5}}, {{"perm", Dims{3, 1, 0, 2}}});
  const std::pair<Dims, Dims> broadcasts[] = {{{}, {2, 67}},           {{1, 3}, {2, 3}}, {{3}, {2, 3}},
                                              {{2, 1, 3}, {2, 20, 3}}, {{1}, {0}},       {{2, 1}, {2, 70}}};
  for (const auto& [from, to] : broadcasts) {
    Draw draw("broadcast");
    check_kernel({.name = cat(element_count(to)),
                  .kind = OpKind::kBroadcastTo,
                  .operands = {draw_tensor(DType::kF32, from, draw, {}, true)},
                  .attrs = {{"shape", shape_of(to)}}});
  }
  for (const int64_t step : {1, 2, -1, -3}) {
    const int64_t start = step > 0 ? 3 : 68, end = step > 0 ? 69 : -1;
    check_move(cat("last by ", step), OpKind::kSlice, {{2, 70}},
               {{"axes", Dims{1}}, {"starts", shape_of({start})}, {"ends", shape_of({end})}, {"steps", Dims{step}}});
    check_move(cat("first by ", step), OpKind::kSlice, {{70, 3}},
               {{"axes", Dims{-2}}, {"starts", shape_of({start})}, {"ends", shape_of({end})}, {"steps", Dims{step}}});
  }
  check_move("empty", OpKind::kSlice, {{4, 3}},
             {{"axes", Dims{0}}, {"starts", shape_of({2})}, {"ends", shape_of({2})}, {"steps", Dims{1}}});
}

TEST(MoveKernel, Concat) {
  check_move("last", OpKind::kConcat, {{2, 33}, {2, 1}, {2, 70}}, {{"axis", int64_t(1)}});
  check_move("first", OpKind::kConcat, {{2, 33}, {0, 33}, {5, 33}}, {{"axis", int64_t(0)}});
  check_move("one", OpKind::kConcat, {{3, 4}}, {{"axis", int64_t(-1)}});
  check_move("vectors", OpKind::kConcat, {{16}, {16}, {3}}, {{"axis", int64_t(0)}});
  check_move("nothing", OpKind::kConcat, {{0}, {0}}, {{"axis", int64_t(0)}});
}

TEST(MoveKernel, Pad) {
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    const std::pair<Dims, Dims> pads[] = {{{0, 0}, {0, 0}},  {{1, 0}, {2, 1}}, {{-1, 2}, {1, -1}},
                                          {{0, 3}, {0, 40}}, {{5, 0}, {7, 0}}, {{-1, -1}, {-1, 0}}};
    for (const auto& [before, after] : pads) {
      const AttrList attrs = {{"before", shape_of(before)}, {"after", shape_of(after)}, {"mode", std::string(mode)}};
      check_move(cat(mode, before[0], before[1]), OpKind::kPad, {{3, 35}}, attrs);
      if (std::string_view(mode) != "constant") continue;
      for (const bool symbolic : {false, true}) {
        Draw draw("pad");
        check_kernel({.name = "value",
                      .kind = OpKind::kPad,
                      .operands = {draw_tensor(DType::kF32, {3, 35}, draw, {}, true), floats({}, {-2.5})},
                      .attrs = attrs,
                      .symbolic = symbolic});
      }
    }
  }
  check_move("all of it", OpKind::kPad, {{0, 3}}, {{"before", shape_of({2, 0})}, {"after", shape_of({1, 0})}});
}

TEST(MoveKernel, TileAndTrilu) {
  check_move("both", OpKind::kTile, {{2, 33}}, {{"repeats", shape_of({3, 2})}});
  check_move("first", OpKind::kTile, {{2, 64}}, {{"repeats", shape_of({2, 1})}});
  check_move("nothing", OpKind::kTile, {{2, 3}}, {{"repeats", shape_of({0, 1})}});
  check_move("ones", OpKind::kTile, {{1, 1}}, {{"repeats", shape_of({4, 70})}});
  for (const int64_t k : {-40, -1, 0, 2, 40}) {
    for (const int64_t upper : {0, 1}) check_move(cat(k, upper), OpKind::kTrilu, {{2, 5, 36}}, {{"upper", upper}, {"k", shape_of({k})}});
  }
}

EvalTensor indices(const Dims& dims, int64_t extent, DType dtype = DType::kI64) {
  EvalTensor t = EvalTensor::make(dtype, dims);
  Draw draw(cat("indices ", dims.size(), extent));
  for (int64_t& v : t.i) v = is_signed_int(dtype) ? draw.below(2 * extent) - extent : draw.below(extent);
  return t;
}

TEST(MoveKernel, Gathers) {
  check_move("rows", OpKind::kGather, {{9, 40}}, {{"axis", int64_t(0)}}, {indices({2, 3}, 9)});
  check_move("columns", OpKind::kGather, {{4, 9}}, {{"axis", int64_t(-1)}}, {indices({35}, 9, DType::kI32)});
  check_move("scalar", OpKind::kGather, {{4, 9, 3}}, {{"axis", int64_t(1)}}, {indices({}, 9, DType::kU8)});
  check_move("nothing", OpKind::kGather, {{4, 9}}, {{"axis", int64_t(0)}}, {indices({0}, 4)});
  check_move("last", OpKind::kGatherElements, {{3, 9}}, {{"axis", int64_t(1)}}, {indices({2, 35}, 9)});
  check_move("first", OpKind::kGatherElements, {{9, 40}}, {{"axis", int64_t(0)}}, {indices({3, 33}, 9)});
  check_move("elements", OpKind::kGatherNd, {{4, 4, 3}}, {}, {indices({2, 5, 2}, 4)});
  check_move("rows", OpKind::kGatherNd, {{4, 40}}, {}, {indices({5, 1}, 4)});
  check_move("batches", OpKind::kGatherNd, {{2, 3, 40}}, {{"batch_dims", int64_t(1)}}, {indices({2, 4, 1}, 3)});
}

TEST(MoveKernel, IndexOutOfRange) {
  const auto target = parse_target("cpu:x86-64-v3");
  for (const int64_t wrong : {int64_t(4), int64_t(-5), INT64_MAX, INT64_MIN}) {
    KernelCase c{.kind = OpKind::kGather, .operands = {floats({4}, {1, 2, 3, 4}), ints({2}, {1, wrong})}, .attrs = {{"axis", int64_t(0)}}};
    Module module;
    Graph graph(&module, "main");
    const ValueId x = graph.add_input(type_of(c.operands[0])), idx = graph.add_input(type_of(c.operands[1]));
    const auto node = graph.append(c.kind, {x, idx}, c.attrs, {});
    ASSERT_TRUE(node.ok());
    graph.set_outputs({graph.node(*node).results[0]});
    const auto got = run_group(graph, *target, {c.operands[0].to_tensor(), c.operands[1].to_tensor()});
    ASSERT_FALSE(got.ok()) << wrong;
    EXPECT_EQ(got.error().code, Code::kIndexOutOfRange) << got.error().str();
  }
}

TEST(MoveKernel, Scatters) {
  for (const char* how : {"none", "add", "mul", "max", "min"}) {
    for (const DType dtype : {DType::kF32, DType::kI32, DType::kU8}) {
      for (const bool symbolic : {false, true}) {
        Draw draw("scatter");
        const auto make = [&](Dims dims) {
          EvalTensor t = draw_tensor(dtype, dims, draw, {}, false);
          for (double& v : t.f) v = std::round(v * 4) / 4;  // sums and products are exact in any order of rounding
          return t;
        };
        const AttrList attrs = {{"reduction", std::string(how)}};
        AttrList last = attrs;
        last.push_back({"axis", int64_t(1)});
        check_kernel({.name = cat("first ", how),
                      .kind = OpKind::kScatterElements,
                      .operands = {make({5, 40}), indices({3, 33}, 5), make({3, 33})},
                      .attrs = attrs,
                      .symbolic = symbolic});
        check_kernel({.name = cat("last ", how),
                      .kind = OpKind::kScatterElements,
                      .operands = {make({3, 37}), indices({2, 6}, 37), make({2, 6})},
                      .attrs = last,
                      .symbolic = symbolic});
        check_kernel({.name = cat("rows ", how),
                      .kind = OpKind::kScatterNd,
                      .operands = {make({5, 40}), indices({4, 1}, 5), make({4, 40})},
                      .attrs = attrs,
                      .symbolic = symbolic});
        check_kernel({.name = cat("points ", how),
                      .kind = OpKind::kScatterNd,
                      .operands = {make({5, 5, 3}), indices({2, 3, 2}, 5), make({2, 3, 3})},
                      .attrs = attrs,
                      .symbolic = symbolic});
      }
    }
  }
  Draw draw("bool");
  check_kernel({.name = "bool",
                .kind = OpKind::kScatterNd,
                .operands = {draw_tensor(DType::kBool, {5, 40}, draw, {}, false), indices({2, 1}, 5),
                             draw_tensor(DType::kBool, {2, 40}, draw, {}, false)}});
}

TEST(MoveKernel, OneHot) {
  for (const int64_t axis : {-1, 0, 1}) {
    for (const DType dtype : {DType::kI64, DType::kI32, DType::kU8}) {
      check_kernel({.name = cat(axis),
                    .kind = OpKind::kOneHot,
                    .operands = {ints({2, 4}, {0, 3, wrap_int(dtype, -1), 5, wrap_int(dtype, -9), 1, 2, 4}, dtype), floats({2}, {-1, 1})},
                    .attrs = {{"axis", axis}, {"depth", shape_of({5})}}});
    }
  }
}

TEST(MoveKernel, Packing) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kU8, DType::kF64}) {
    for (const int64_t transposed : {0, 1}) {
      for (const auto& [k, n] : {std::pair<int64_t, int64_t>{8, 32}, {7, 35}, {1, 1}, {4, 16}}) {
        for (const bool symbolic : {false, true}) {
          Draw draw("pack");
          KernelCase c{.name = cat(dtype_name(dtype), k, " ", n, transposed),
                       .kind = OpKind::kPack,
                       .operands = {draw_tensor(dtype, transposed ? Dims{2, n, k} : Dims{2, k, n}, draw, {}, true)},
                       .attrs = {{"transposed", transposed}},
                       .symbolic = symbolic};
          check_kernel(c);
          const auto packed = eval_one(OpKind::kPack, c.operands, c.attrs);
          ASSERT_TRUE(packed.ok());
          if (!symbolic)
            check_kernel({.name = c.name,
                          .kind = OpKind::kUnpack,
                          .operands = {*packed},
                          .attrs = {{"transposed", transposed}, {"k", shape_of({k})}, {"n", shape_of({n})}}});
        }
      }
    }
  }
}

}  // namespace
}  // namespace nnc

// One op as a kernel against its reference evaluation: every row with a body of the elementwise and moving families, over dtypes, shapes, special values, with constant and
// symbolic extents, on a CPU target and on the interpreter's own.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "codegen/target.h"
#include "ir/support/text.h"
#include "tests/unit/codegen/run_group.h"
#include "tests/unit/ir/one_op.h"

namespace nnc {
namespace {

using Dims = std::vector<int64_t>;
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

struct KernelCase {
  std::string name = {};
  OpKind kind = OpKind::kCount;
  std::vector<EvalTensor> operands = {};
  AttrList attrs = {};
  bool symbolic = false;  // extents above 2 of the operands become symbols, equal ones the same
};

const std::vector<double> kSpecial = {0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, kInf, -kInf, kNan, 3, -3, 6.5, 1e-40, -1e-40, 65504, 1e5, 3e38, -3e38, 100, -100, 0.1};

// Special values first, then drawn ones inside the row's domain.
EvalTensor draw_tensor(DType dtype, const Dims& dims, Draw& draw, Domain domain, bool special) {
  EvalTensor t = EvalTensor::make(dtype, dims);
  for (size_t k = 0; k < t.f.size(); ++k) {
    const double v = special && draw.below(3) == 0 ? kSpecial[static_cast<size_t>(draw.below(static_cast<int64_t>(kSpecial.size())))] : draw.uniform(domain.lo, domain.hi);
    t.f[k] = dtype == DType::kF64 || !std::isfinite(v) ? v : round_to(dtype, v);
  }
  for (int64_t& v : t.i) {
    const int64_t edges[] = {int_min(dtype == DType::kBool ? DType::kU8 : dtype), static_cast<int64_t>(int_max(dtype == DType::kBool ? DType::kU8 : dtype)), 0, 1, -1, 2, 3, -7};
    v = dtype == DType::kBool ? draw.below(2) : wrap_int(dtype, special && draw.below(2) == 0 ? edges[draw.below(8)] : draw.below(41) - 20);
  }
  return t;
}

class Runner {
 public:
  explicit Runner(const KernelCase& c) : c_(c) {}

  Status run(const Target& target) {
    std::map<int64_t, SymbolId> symbols;
    std::vector<ValueId> operands;
    std::vector<EvalTensor> given;
    for (const EvalTensor& t : c_.operands) {
      operands.push_back(t.dtype == DType::kInvalid ? ValueId() : graph_.add_input(Type::tensor(t.dtype, shape(t.dims, symbols))));
      if (t.dtype != DType::kInvalid) given.push_back(t);
    }
    NNC_ASSIGN(const NodeId node, graph_.append(c_.kind, operands, c_.attrs, {}));
    graph_.set_outputs({graph_.node(node).results[0]});
    Interpreter interpreter(module_);
    NNC_ASSIGN(const std::vector<EvalTensor> expected, interpreter.run(graph_, given));
    std::vector<Tensor> inputs;
    for (const EvalTensor& t : given) inputs.push_back(t.to_tensor());
    NNC_ASSIGN(const std::vector<Tensor> got, run_group(graph_, target, inputs));
    return compare(EvalTensor::from(got[0]), expected[0]);
  }

 private:
  Shape shape(const Dims& dims, std::map<int64_t, SymbolId>& symbols) {
    Shape out;
    for (const int64_t d : dims) {
      if (!c_.symbolic || d < 3) {
        out.emplace_back(d);
        continue;
      }
      if (!symbols.contains(d)) symbols[d] = module_.symbols.input(cat("n", d), 0);
      out.emplace_back(symbols[d]);
    }
    return out;
  }

  Status compare(const EvalTensor& got, const EvalTensor& want) const {
    if (got.dims != want.dims || got.dtype != want.dtype) return Error(Code::kMismatch, cat("got ", text(got), " want ", text(want)));
    const Tolerance t = op_def(c_.kind).tolerance;
    const double unit = want.dtype == DType::kF16 ? 0x1p-10 : want.dtype == DType::kBF16 ? 0x1p-7 : 0;
    const bool exact = t.rel == 0 && t.abs == 0;
    for (size_t k = 0; k < want.f.size(); ++k) {
      const double g = got.f[k], w = want.f[k];
      const bool same = (std::isnan(g) && std::isnan(w)) || (g == w && (!exact || std::signbit(g) == std::signbit(w)));
      if (same || (!exact && std::fabs(g - w) <= t.abs + std::max(t.rel, unit) * std::fabs(w))) continue;
      return Error(Code::kMismatch, cat("element ", k, ": kernel ", g, ", eval ", w));
    }
    for (size_t k = 0; k < want.i.size(); ++k) {
      if (got.i[k] != want.i[k]) return Error(Code::kMismatch, cat("element ", k, ": kernel ", got.i[k], ", eval ", want.i[k]));
    }
    return {};
  }

  const KernelCase& c_;
  Module module_;
  Graph graph_{&module_, "main"};
};

void check(const KernelCase& c) {
  for (const char* name : {"cpu:x86-64-v3", "cpu:vm"}) {
    const auto target = parse_target(name);
    ASSERT_TRUE(target.ok());
    const Status s = Runner(c).run(*target);
    EXPECT_TRUE(s.ok()) << op_name(c.kind) << " " << c.name << (c.symbolic ? " symbolic" : "") << " on " << name << ": " << s.error().str();
  }
}

const std::vector<Dims> kShapes = {{}, {1}, {7}, {64}, {131}, {0, 3}, {3, 5}, {2, 130}, {2, 1, 3, 4}};
const std::vector<std::pair<Dims, Dims>> kPairs = {{{}, {5}}, {{3, 1}, {1, 70}}, {{2, 3, 33}, {33}}, {{2, 3, 33}, {3, 1}}, {{4, 1}, {4, 1}}, {{0, 2}, {1, 2}}, {{2, 3, 4}, {2, 3, 4}}};
const std::vector<DType> kFloats = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
const std::vector<DType> kInts = {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kU64};

std::vector<DType> with(std::vector<DType> a, const std::vector<DType>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void check_unary(OpKind kind, const std::vector<DType>& dtypes, AttrList attrs = {}) {
  for (const DType dtype : dtypes) {
    for (const Dims& dims : kShapes) {
      KernelCase c{.name = cat(dtype_name(dtype), " ", dims.size(), " ", element_count(dims)), .kind = kind, .attrs = attrs};
      Draw draw(c.name);
      c.operands = {draw_tensor(dtype, dims, draw, op_def(kind).domain, true)};
      check(c);
      c.symbolic = true;
      if (dtype == DType::kF32) check(c);
    }
  }
}

void check_binary(OpKind kind, const std::vector<DType>& dtypes, AttrList attrs = {}) {
  for (const DType dtype : dtypes) {
    for (const auto& [a, b] : kPairs) {
      for (const bool swapped : {false, true}) {
        KernelCase c{.name = cat(dtype_name(dtype), " ", a.size(), " with ", b.size(), " ", element_count(a), swapped), .kind = kind, .attrs = attrs};
        Draw draw(c.name);
        c.operands = {draw_tensor(dtype, swapped ? b : a, draw, op_def(kind).domain, true), draw_tensor(dtype, swapped ? a : b, draw, op_def(kind).domain, true)};
        check(c);
        c.symbolic = true;
        if (dtype == DType::kF32) check(c);
      }
    }
  }
}

TEST(RowKernel, UnaryExact) {
  for (const OpKind kind : {OpKind::kNeg, OpKind::kAbs, OpKind::kSign, OpKind::kRelu}) check_unary(kind, with(kFloats, kInts));
  for (const OpKind kind : {OpKind::kSqrt, OpKind::kReciprocal, OpKind::kFloor, OpKind::kCeil, OpKind::kRound, OpKind::kIsNan}) check_unary(kind, kFloats);
  check_unary(OpKind::kNot, with({DType::kBool}, kInts));
}

TEST(RowKernel, UnaryMath) {
  for (const OpKind kind : {OpKind::kExp, OpKind::kLog, OpKind::kSin, OpKind::kCos, OpKind::kTanh, OpKind::kErf, OpKind::kSigmoid, OpKind::kGelu, OpKind::kSilu,
                            OpKind::kHardSigmoid, OpKind::kHardSwish}) {
    const bool wide = kind == OpKind::kSin || kind == OpKind::kCos;  // f64 beyond 1e15 radians: no digits are promised
    check_unary(kind, wide ? std::vector<DType>{DType::kF16, DType::kBF16, DType::kF32} : kFloats);
  }
  check_unary(OpKind::kGelu, {DType::kF32, DType::kF16}, {{"approximate", std::string("tanh")}});
  check_unary(OpKind::kHardSigmoid, {DType::kF32}, {{"alpha", 0.75}, {"beta", -0.25}});
}

TEST(RowKernel, Casts) {
  const std::vector<DType> all = with(with(kFloats, kInts), {DType::kBool});
  for (const DType to : all) check_unary(OpKind::kCast, all, {{"to", to}});
}

TEST(RowKernel, Arithmetic) {
  for (const OpKind kind : {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv, OpKind::kMin, OpKind::kMax, OpKind::kMod, OpKind::kLess, OpKind::kLessEqual}) {
    check_binary(kind, with(kFloats, kInts));
  }
  check_binary(OpKind::kMod, with(kFloats, kInts), {{"fmod", int64_t(1)}});
  check_binary(OpKind::kEqual, with(with(kFloats, kInts), {DType::kBool}));
  for (const OpKind kind : {OpKind::kAnd, OpKind::kOr, OpKind::kXor}) check_binary(kind, with({DType::kBool}, kInts));
}

TEST(RowKernel, Power) {
  check_binary(OpKind::kPow, with(kFloats, kInts));
  for (const auto& [x, y] : {std::pair{DType::kF32, DType::kI64}, {DType::kI32, DType::kF32}, {DType::kF32, DType::kF64}, {DType::kI64, DType::kU8}, {DType::kF16, DType::kI32}}) {
    KernelCase c{.name = cat(dtype_name(x), " to ", dtype_name(y)), .kind = OpKind::kPow};
    Draw draw(c.name);
    c.operands = {draw_tensor(x, {40}, draw, {-3, 3}, false), draw_tensor(y, {40}, draw, {-2, 4}, false)};
    for (int64_t& v : c.operands[1].i) v = v % 4;
    check(c);
  }
}

TEST(RowKernel, WhereAndClip) {
  for (const DType dtype : with(with(kFloats, kInts), {DType::kBool})) {
    for (const bool symbolic : {false, true}) {
      Draw draw("where");
      check({.name = std::string(dtype_name(dtype)), .kind = OpKind::kWhere,
             .operands = {draw_tensor(DType::kBool, {3, 1}, draw, {}, true), draw_tensor(dtype, {3, 70}, draw, {}, true), draw_tensor(dtype, {70}, draw, {}, true)}, .symbolic = symbolic});
      check({.name = std::string(dtype_name(dtype)), .kind = OpKind::kWhere,
             .operands = {draw_tensor(DType::kBool, {2, 70}, draw, {}, true), draw_tensor(dtype, {}, draw, {}, true), draw_tensor(dtype, {2, 70}, draw, {}, true)}, .symbolic = symbolic});
      if (dtype == DType::kBool) continue;
      const EvalTensor lo = draw_tensor(dtype, {}, draw, {-1, 0}, false), hi = draw_tensor(dtype, {}, draw, {0, 1}, true);
      check({.name = "both", .kind = OpKind::kClip, .operands = {draw_tensor(dtype, {67}, draw, {}, true), lo, hi}, .symbolic = symbolic});
      check({.name = "lo", .kind = OpKind::kClip, .operands = {draw_tensor(dtype, {67}, draw, {}, true), lo}, .symbolic = symbolic});
      check({.name = "hi", .kind = OpKind::kClip, .operands = {draw_tensor(dtype, {67}, draw, {}, true), absent(), hi}, .symbolic = symbolic});
    }
  }
}

TEST(RowKernel, Sources) {
  for (const DType dtype : with(kFloats, kInts)) {
    const EvalTensor start = is_float(dtype) ? floats({}, {0.1}, dtype) : ints({}, {3}, dtype), delta = is_float(dtype) ? floats({}, {-0.7}, dtype) : ints({}, {wrap_int(dtype, -2)}, dtype);
    for (const int64_t n : {0, 1, 77}) check({.name = cat(dtype_name(dtype), " ", n), .kind = OpKind::kRange, .operands = {start, delta}, .attrs = {{"count", Shape{Dim(n)}}}});
  }
  check({.kind = OpKind::kDimsValue, .attrs = {{"dims", Shape{Dim(4), Dim(-9), Dim(int64_t(1) << 40)}}}});
  check({.kind = OpKind::kDimsValue, .attrs = {{"dims", Shape{Dim(4)}}, {"rank0", int64_t(1)}}});
  check({.kind = OpKind::kDimsValue, .attrs = {{"dims", Shape{}}}});
}

Shape shape_of(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

// Moves bits: two dtypes of different width show it.
void check_move(const std::string& name, OpKind kind, const std::vector<Dims>& operands, const AttrList& attrs, const std::vector<EvalTensor>& others = {}) {
  for (const DType dtype : {DType::kF32, DType::kI8, DType::kBool, DType::kF64}) {
    for (const bool symbolic : {false, true}) {
      KernelCase c{.name = cat(name, " ", dtype_name(dtype)), .kind = kind, .attrs = attrs, .symbolic = symbolic};
      Draw draw(c.name);
      for (const Dims& dims : operands) c.operands.push_back(draw_tensor(dtype, dims, draw, {}, true));
      c.operands.insert(c.operands.end(), others.begin(), others.end());
      check(c);
    }
  }
}

TEST(RowKernel, Views) {
  const std::pair<Dims, Dims> reshapes[] = {{{}, {1}}, {{2, 3}, {6}}, {{66}, {3, 1, 22}}, {{0, 2}, {2, 0}}, {{4, 6, 5}, {8, 15}}, {{2, 1, 70}, {70, 2}}};
  for (const auto& [from, to] : reshapes) {
    Draw draw("reshape");
    check({.name = cat(element_count(from)), .kind = OpKind::kReshape, .operands = {draw_tensor(DType::kF32, from, draw, {}, true)}, .attrs = {{"shape", shape_of(to)}}});
  }
  check_move("2", OpKind::kTranspose, {{5, 70}}, {{"perm", Dims{1, 0}}});
  check_move("keeps last", OpKind::kTranspose, {{2, 3, 40}}, {{"perm", Dims{1, 0, 2}}});
  check_move("4", OpKind::kTranspose, {{2, 3, 4, 5}}, {{"perm", Dims{3, 1, 0, 2}}});
  const std::pair<Dims, Dims> broadcasts[] = {{{}, {2, 67}}, {{1, 3}, {2, 3}}, {{3}, {2, 3}}, {{2, 1, 3}, {2, 20, 3}}, {{1}, {0}}, {{2, 1}, {2, 70}}};
  for (const auto& [from, to] : broadcasts) {
    Draw draw("broadcast");
    check({.name = cat(element_count(to)), .kind = OpKind::kBroadcastTo, .operands = {draw_tensor(DType::kF32, from, draw, {}, true)}, .attrs = {{"shape", shape_of(to)}}});
  }
  for (const int64_t step : {1, 2, -1, -3}) {
    const int64_t start = step > 0 ? 3 : 68, end = step > 0 ? 69 : -1;
    check_move(cat("last by ", step), OpKind::kSlice, {{2, 70}}, {{"axes", Dims{1}}, {"starts", shape_of({start})}, {"ends", shape_of({end})}, {"steps", Dims{step}}});
    check_move(cat("first by ", step), OpKind::kSlice, {{70, 3}}, {{"axes", Dims{-2}}, {"starts", shape_of({start})}, {"ends", shape_of({end})}, {"steps", Dims{step}}});
  }
  check_move("empty", OpKind::kSlice, {{4, 3}}, {{"axes", Dims{0}}, {"starts", shape_of({2})}, {"ends", shape_of({2})}, {"steps", Dims{1}}});
}

TEST(RowKernel, Concat) {
  check_move("last", OpKind::kConcat, {{2, 33}, {2, 1}, {2, 70}}, {{"axis", int64_t(1)}});
  check_move("first", OpKind::kConcat, {{2, 33}, {0, 33}, {5, 33}}, {{"axis", int64_t(0)}});
  check_move("one", OpKind::kConcat, {{3, 4}}, {{"axis", int64_t(-1)}});
  check_move("vectors", OpKind::kConcat, {{16}, {16}, {3}}, {{"axis", int64_t(0)}});
  check_move("nothing", OpKind::kConcat, {{0}, {0}}, {{"axis", int64_t(0)}});
}

TEST(RowKernel, Pad) {
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    const std::pair<Dims, Dims> pads[] = {{{0, 0}, {0, 0}}, {{1, 0}, {2, 1}}, {{-1, 2}, {1, -1}}, {{0, 3}, {0, 40}}, {{5, 0}, {7, 0}}, {{-1, -1}, {-1, 0}}};
    for (const auto& [before, after] : pads) {
      const AttrList attrs = {{"before", shape_of(before)}, {"after", shape_of(after)}, {"mode", std::string(mode)}};
      check_move(cat(mode, before[0], before[1]), OpKind::kPad, {{3, 35}}, attrs);
      if (std::string_view(mode) != "constant") continue;
      for (const bool symbolic : {false, true}) {
        Draw draw("pad");
        check({.name = "value", .kind = OpKind::kPad, .operands = {draw_tensor(DType::kF32, {3, 35}, draw, {}, true), floats({}, {-2.5})}, .attrs = attrs, .symbolic = symbolic});
      }
    }
  }
  check_move("all of it", OpKind::kPad, {{0, 3}}, {{"before", shape_of({2, 0})}, {"after", shape_of({1, 0})}});
}

TEST(RowKernel, TileAndTrilu) {
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

TEST(RowKernel, Gathers) {
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

TEST(RowKernel, IndexOutOfRange) {
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

TEST(RowKernel, Scatters) {
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
        check({.name = cat("first ", how), .kind = OpKind::kScatterElements, .operands = {make({5, 40}), indices({3, 33}, 5), make({3, 33})}, .attrs = attrs, .symbolic = symbolic});
        check({.name = cat("last ", how), .kind = OpKind::kScatterElements, .operands = {make({3, 37}), indices({2, 6}, 37), make({2, 6})}, .attrs = last, .symbolic = symbolic});
        check({.name = cat("rows ", how), .kind = OpKind::kScatterNd, .operands = {make({5, 40}), indices({4, 1}, 5), make({4, 40})}, .attrs = attrs, .symbolic = symbolic});
        check({.name = cat("points ", how), .kind = OpKind::kScatterNd, .operands = {make({5, 5, 3}), indices({2, 3, 2}, 5), make({2, 3, 3})}, .attrs = attrs, .symbolic = symbolic});
      }
    }
  }
  Draw draw("bool");
  check({.name = "bool", .kind = OpKind::kScatterNd, .operands = {draw_tensor(DType::kBool, {5, 40}, draw, {}, false), indices({2, 1}, 5), draw_tensor(DType::kBool, {2, 40}, draw, {}, false)}});
}

TEST(RowKernel, OneHot) {
  for (const int64_t axis : {-1, 0, 1}) {
    for (const DType dtype : {DType::kI64, DType::kI32, DType::kU8}) {
      check({.name = cat(axis), .kind = OpKind::kOneHot, .operands = {ints({2, 4}, {0, 3, wrap_int(dtype, -1), 5, wrap_int(dtype, -9), 1, 2, 4}, dtype), floats({2}, {-1, 1})},
             .attrs = {{"axis", axis}, {"depth", shape_of({5})}}});
    }
  }
}

TEST(RowKernel, Packing) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kU8, DType::kF64}) {
    for (const int64_t transposed : {0, 1}) {
      for (const auto& [k, n] : {std::pair<int64_t, int64_t>{8, 32}, {7, 35}, {1, 1}, {4, 16}}) {
        for (const bool symbolic : {false, true}) {
          Draw draw("pack");
          KernelCase c{.name = cat(dtype_name(dtype), k, " ", n, transposed), .kind = OpKind::kPack,
                       .operands = {draw_tensor(dtype, transposed ? Dims{2, n, k} : Dims{2, k, n}, draw, {}, true)}, .attrs = {{"transposed", transposed}}, .symbolic = symbolic};
          check(c);
          const auto packed = eval_one(OpKind::kPack, c.operands, c.attrs);
          ASSERT_TRUE(packed.ok());
          if (!symbolic) check({.name = c.name, .kind = OpKind::kUnpack, .operands = {*packed}, .attrs = {{"transposed", transposed}, {"k", shape_of({k})}, {"n", shape_of({n})}}});
        }
      }
    }
  }
}

}  // namespace
}  // namespace nnc

// Values that inference carries along: shape arithmetic of models from end to end, what is not certain stays unknown, and what is known
// agrees with the evaluation.

#include <gtest/gtest.h>

#include "ir/shape_values.h"
#include "ir/support/text.h"
#include "tests/unit/ir/one_op.h"

namespace nnc {
namespace {

struct ShapeValues : testing::Test {
  Module module;
  Graph graph{&module, "main"};
  Builder b{graph};
  SymbolTable& symbols = module.symbols;
  Dim n{symbols.input("n", 1)}, m{symbols.input("m", 1)};

  ValueId must(Result<ValueId> r) {
    EXPECT_TRUE(r.ok()) << r.error().str();
    return r.ok() ? *r : ValueId();
  }
  ValueId op(OpKind kind, std::vector<ValueId> operands, AttrList attrs = {}) {
    return must(b.op(kind, std::move(operands), std::move(attrs)));
  }
  ValueId dims(Shape d) { return must(b.dims_value(std::move(d))); }
  ValueId dim0(Dim d) { return op(OpKind::kDimsValue, {}, {{"dims", Shape{std::move(d)}}, {"rank0", int64_t(1)}}); }
  ValueId whole(std::vector<int64_t> v) { return must(b.constant(Tensor::vector_i64(v))); }
  ValueId number(int64_t v) { return must(b.constant(Tensor::scalar_i64(v))); }
  ValueId real(double v) { return must(b.scalar(DType::kF32, v)); }
  // "n*m, ?, 3/2*n", or "unknown".
  std::string value(ValueId v) {
    const ShapeValue& s = graph.shape_value(v);
    if (!s.known) return "unknown";
    return join(s.elems, ", ", [&](const std::optional<Rational>& e) {
      if (!e) return std::string("?");
      std::string text = symbols.pretty(e->dim);
      return e->den == 1 ? text : cat(text, " / ", e->den);
    });
  }
};

TEST_F(ShapeValues, ReshapeChainIsSymbolicFromEndToEnd) {
  const ValueId x = graph.add_input(Type::tensor(DType::kF32, {n, m, Dim(768)}));
  const ValueId shape = dims({n, m, Dim(768)});
  const ValueId rows = op(OpKind::kMul, {op(OpKind::kGather, {shape, number(0)}), op(OpKind::kGather, {shape, number(-2)})});
  const ValueId target =
      op(OpKind::kConcat, {op(OpKind::kReshape, {rows}, {{"shape", Shape{Dim(1)}}}), whole({-1})}, {{"axis", int64_t(0)}});
  const auto wanted = graph.shape_value(target).dims();
  ASSERT_TRUE(wanted);
  const auto resolved = resolve_reshape(symbols, graph.type(x).shape, *wanted, false);
  ASSERT_TRUE(resolved.ok() && resolved->has_value());
  EXPECT_EQ((**resolved)[0], symbols.mul(n, m));
  EXPECT_EQ((**resolved)[1], Dim(768));
}

TEST_F(ShapeValues, Integers) {
  const ValueId v = dims({n, m, Dim(12)});
  EXPECT_EQ(value(op(OpKind::kAdd, {v, number(-1)})), "n-1, m-1, 11");
  EXPECT_EQ(value(op(OpKind::kNeg, {v})), "-n, -m, -12");
  EXPECT_EQ(value(op(OpKind::kMul, {v, v})), "n*n, m*m, 144");
  EXPECT_EQ(graph.shape_value(op(OpKind::kDiv, {op(OpKind::kMul, {v, number(4)}), number(2)})),
            known_value(std::vector<Dim>{symbols.mul(n, 2), symbols.mul(m, 2), Dim(24)}));
  EXPECT_EQ(graph.shape_value(op(OpKind::kDiv, {v, number(5)})).elems[0], Rational{symbols.floordiv(n, 5)});
  EXPECT_EQ(value(op(OpKind::kDiv, {v, number(0)})), "0, 0, 0");
  EXPECT_EQ(value(op(OpKind::kMod, {dims({Dim(-7)}), number(3)})), "2");
  EXPECT_EQ(value(op(OpKind::kMod, {dims({Dim(-7)}), number(3)}, {{"fmod", int64_t(1)}})), "-1");
  // What leaves 64 bits wraps, which shapes do not: nothing is known, and no symbol is made that a run could not evaluate.
  const size_t symbols_before = symbols.size();
  const ValueId ends = dims({Dim(INT64_MIN), Dim(INT64_MAX), Dim(4)});
  EXPECT_EQ(value(op(OpKind::kAdd, {ends, number(1)})), "-9223372036854775807, ?, 5");
  EXPECT_EQ(value(op(OpKind::kMul, {ends, number(-1)})), "?, -9223372036854775807, -4");
  EXPECT_EQ(value(op(OpKind::kLess, {ends, number(7)})), "?, 0, 1");
  const auto folded = [&](const char* kind, Shape d) {
    return value(op(OpKind::kReduce, {dims(std::move(d))}, {{"kind", std::string(kind)}, {"axes", std::vector<int64_t>{0}}}));
  };
  EXPECT_EQ(folded("sum", {Dim(INT64_MIN), Dim(INT64_MAX), Dim(4)}), "3");
  EXPECT_EQ(folded("sum", {Dim(INT64_MAX), Dim(1)}), "unknown");
  EXPECT_EQ(folded("prod", {Dim(int64_t{1} << 40), Dim(int64_t{1} << 40)}), "unknown");
  EXPECT_EQ(folded("max", {Dim(5), Dim(9)}), "9");
  // Whole floats beyond their precision were rounded.
  EXPECT_EQ(value(op(OpKind::kCast, {dims({Dim(16777217), Dim(16777218)})}, {{"to", DType::kF32}})), "?, 16777218");
  EXPECT_EQ(symbols.size(), symbols_before);
  // Truncating division of what may be negative is no floordiv.
  EXPECT_EQ(value(op(OpKind::kDiv, {op(OpKind::kSub, {v, number(6)}), number(4)})), "?, ?, 1");
  EXPECT_EQ(value(op(OpKind::kMax, {v, number(1)})), "n, m, 12");
  EXPECT_EQ(value(op(OpKind::kMin, {v, number(0)})), "0, 0, 0");
}

TEST_F(ShapeValues, Movement) {
  const ValueId v = dims({n, m, Dim(12)});
  const auto slice = [&](int64_t from, int64_t to, int64_t step) {
    return op(
        OpKind::kSlice, {v},
        {{"axes", std::vector<int64_t>{0}}, {"starts", Shape{Dim(from)}}, {"ends", Shape{Dim(to)}}, {"steps", std::vector<int64_t>{step}}});
  };
  EXPECT_EQ(value(slice(1, 3, 1)), "m, 12");
  EXPECT_EQ(value(slice(2, -1, -2)), "12, n");
  EXPECT_EQ(value(op(OpKind::kGather, {v, whole({-1, 0, 0})})), "12, n, n");
  EXPECT_EQ(value(op(OpKind::kConcat, {v, whole({7}), v}, {{"axis", int64_t(0)}})), "n, m, 12, 7, n, m, 12");
  EXPECT_EQ(value(op(OpKind::kTile, {dims({n, m})}, {{"repeats", Shape{Dim(2)}}})), "n, m, n, m");
  EXPECT_EQ(value(op(OpKind::kBroadcastTo, {dim0(n)}, {{"shape", Shape{Dim(3)}}})), "n, n, n");
  EXPECT_EQ(value(op(OpKind::kTranspose, {v}, {{"perm", std::vector<int64_t>{0}}})), "n, m, 12");
  EXPECT_EQ(value(op(OpKind::kReshape, {v}, {{"shape", Shape{Dim(1), Dim(3)}}})), "unknown");
  EXPECT_EQ(value(op(OpKind::kRange, {dim0(n), number(2)}, {{"count", Shape{Dim(3)}}})), "n, n+2, n+4");
  EXPECT_EQ(value(op(OpKind::kConcat, {v, graph.add_input(Type::tensor(DType::kI64, {Dim(1)}))}, {{"axis", int64_t(0)}})), "n, m, 12, ?");
}

TEST_F(ShapeValues, Decisions) {
  const ValueId v = dims({n, m, Dim(1)});
  EXPECT_EQ(value(op(OpKind::kEqual, {v, number(0)})), "0, 0, 0");
  EXPECT_EQ(value(op(OpKind::kEqual, {v, dims({n, Dim(4), Dim(1)})})), "1, ?, 1");
  EXPECT_EQ(value(op(OpKind::kLess, {number(0), v})), "1, 1, 1");
  EXPECT_EQ(value(op(OpKind::kLessEqual, {v, number(1)})), "?, ?, 1");
  const ValueId minus_one = op(OpKind::kEqual, {whole({-1, 3, -1}), number(-1)});
  EXPECT_EQ(value(op(OpKind::kWhere, {minus_one, v, whole({5, 6, 7})})), "n, 6, 1");
  EXPECT_EQ(value(op(OpKind::kNot, {minus_one})), "0, 1, 0");
  EXPECT_EQ(value(op(OpKind::kAnd, {minus_one, op(OpKind::kNot, {minus_one})})), "0, 0, 0");
}

TEST_F(ShapeValues, Floats) {
  const ValueId f = op(OpKind::kCast, {dims({n, Dim(7)})}, {{"to", DType::kF32}});
  const ValueId doubled = op(OpKind::kMul, {f, real(2)}), half = op(OpKind::kMul, {f, real(0.5)}), third = op(OpKind::kDiv, {f, real(3)});
  EXPECT_EQ(value(doubled), "2*n, 14");
  EXPECT_EQ(value(half), "n / 2, 7 / 2");
  EXPECT_EQ(graph.shape_value(op(OpKind::kFloor, {half})).elems[0], Rational{symbols.floordiv(n, 2)});
  EXPECT_EQ(value(op(OpKind::kRound, {half})).substr(value(op(OpKind::kRound, {half})).rfind(' ') + 1), "4");
  EXPECT_EQ(value(op(OpKind::kCast, {doubled}, {{"to", DType::kI64}})), "2*n, 14");
  // Thirds are rounded by the model's arithmetic: only a rounding may follow.
  EXPECT_EQ(value(third), "n / 3, 7 / 3");
  EXPECT_EQ(value(op(OpKind::kMul, {third, real(3)})), "unknown");
  EXPECT_EQ(graph.shape_value(op(OpKind::kFloor, {third})).elems[1], Rational{Dim(2)});
  // 0.7f is no 7/10, and the product is rounded to f32: 10 * 0.7f is 7 there, below 7 exactly.
  EXPECT_EQ(value(op(OpKind::kMul, {f, real(0.7)})), "unknown");
  EXPECT_EQ(value(op(OpKind::kCast, {f}, {{"to", DType::kF16}})), "unknown");
}

TEST_F(ShapeValues, NarrowIntegersCarryNone) {
  EXPECT_EQ(value(op(OpKind::kCast, {dims({n})}, {{"to", DType::kI8}})), "unknown");
  EXPECT_EQ(value(op(OpKind::kCast, {dims({Dim(int64_t(1) << 40)})}, {{"to", DType::kI32}})), "unknown");
  EXPECT_EQ(value(op(OpKind::kCast, {dims({n})}, {{"to", DType::kI32}})), "n");
}

TEST_F(ShapeValues, SliceBounds) {
  const auto extent = [&](const Dim& size, int64_t from, int64_t to, int64_t step) {
    const SliceBounds s = clamp_slice(symbols, size, from, to, step);
    return symbols.pretty(slice_extent(symbols, s.start, s.end, step));
  };
  EXPECT_EQ(extent(n, 0, INT64_MAX, 1), "n");
  EXPECT_EQ(extent(n, 0, -1, 1), "n-1");
  EXPECT_EQ(extent(n, -1, INT64_MIN, -1), "n");
  EXPECT_EQ(extent(n, INT64_MAX, INT64_MIN, -1), "n");
  EXPECT_EQ(extent(symbols.mul(n, 4), 0, INT64_MAX, 2), "2*n");
  // Against numpy's clamping, for every position.
  for (int64_t size = 0; size < 5; ++size) {
    for (int64_t from = -7; from < 8; ++from) {
      for (int64_t to = -7; to < 8; ++to) {
        for (const int64_t step : {1, 2, 3, -1, -2}) {
          const SliceBounds s = clamp_slice(symbols, size, from, to, step);
          int64_t count = 0;
          const int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? size : size - 1;
          const auto clamp = [&](int64_t p) { return std::min(std::max(p < 0 ? p + size : p, lo), hi); };
          for (int64_t i = clamp(from); step > 0 ? i < clamp(to) : i > clamp(to); i += step) ++count;
          ASSERT_EQ(s.start, Dim(clamp(from)));
          ASSERT_EQ(s.end, Dim(clamp(to)));
          ASSERT_EQ(slice_extent(symbols, s.start, s.end, step), Dim(count)) << size << " " << from << " " << to << " " << step;
        }
      }
    }
  }
}

// A position of unknown sign: the dim that stands for it is right for either.
TEST_F(ShapeValues, SliceAtDataSymbol) {
  const SymbolId p = symbols.data("p", -100, 100);
  const SliceBounds s = clamp_slice(symbols, n, Dim(p), INT64_MAX, 1);
  for (const int64_t at : {-9, -7, -3, -1, 0, 2, 7, 50}) {
    std::vector<int64_t> values(symbols.size());
    std::vector<uint8_t> known(symbols.size());
    values[n.as_symbol()->index()] = 7;
    values[m.as_symbol()->index()] = 1;
    values[p.index()] = at;
    known[n.as_symbol()->index()] = known[m.as_symbol()->index()] = known[p.index()] = 1;
    ASSERT_TRUE(symbols.derive(values, known).ok());
    const auto start = symbols.eval(s.start, values);
    ASSERT_TRUE(start.ok());
    EXPECT_EQ(*start, std::min<int64_t>(std::max<int64_t>(at < 0 ? at + 7 : at, 0), 7)) << at;
  }
}

TEST_F(ShapeValues, ResolveReshape) {
  const auto resolve = [&](Shape from, Shape to, bool allowzero = false) {
    const auto r = resolve_reshape(symbols, from, to, allowzero);
    return !r.ok() ? cat("error: ", r.error().message) : !r->has_value() ? "unknown" : symbols.str(**r);
  };
  EXPECT_EQ(resolve({n, Dim(12), Dim(64)}, {Dim(0), Dim(-1)}), symbols.str(Shape{n, Dim(768)}));
  EXPECT_EQ(resolve({n, m, Dim(768)}, {symbols.mul(n, m), Dim(12), Dim(-1)}), symbols.str(Shape{symbols.mul(n, m), Dim(12), Dim(64)}));
  EXPECT_EQ(resolve({Dim(0), Dim(3)}, {Dim(0), Dim(-1)}), "[0, 0]");
  EXPECT_NE(resolve({Dim(2), Dim(3)}, {Dim(4), Dim(-1)}).find("no multiple"), std::string::npos);
  EXPECT_NE(resolve({Dim(2), Dim(3)}, {Dim(7)}).find("differs"), std::string::npos);
  EXPECT_NE(resolve({Dim(2)}, {Dim(2), Dim(0)}).find("does not have"), std::string::npos);
  EXPECT_EQ(resolve({n}, {Dim(symbols.data("q", -1, 100))}), "unknown");
}

TEST_F(ShapeValues, InferenceRefusesWhatCannotBe) {
  const auto refused = [&](OpKind kind, std::vector<ValueId> operands, AttrList attrs = {}) {
    const auto r = b.op(kind, std::move(operands), std::move(attrs));
    return r.ok() ? std::string("accepted") : r.error().message;
  };
  const auto input = [&](DType t, Shape s) { return graph.add_input(Type::tensor(t, std::move(s))); };
  const ValueId f = input(DType::kF32, {n, Dim(3)}), i = input(DType::kI64, {Dim(3)}), t = input(DType::kBool, {});
  EXPECT_NE(refused(OpKind::kAdd, {f, i}).find("one dtype"), std::string::npos);
  EXPECT_NE(refused(OpKind::kAdd, {f, input(DType::kF32, {Dim(4)})}).find("do not broadcast"), std::string::npos);
  EXPECT_NE(refused(OpKind::kExp, {i}).find("must be a float type, not i64"), std::string::npos);
  EXPECT_NE(refused(OpKind::kAnd, {f, f}).find("bool or an integer"), std::string::npos);
  EXPECT_NE(refused(OpKind::kWhere, {f, f, f}).find("bool"), std::string::npos);
  EXPECT_NE(refused(OpKind::kClip, {f, i}).find("one dtype"), std::string::npos);
  EXPECT_NE(refused(OpKind::kReshape, {i}, {{"shape", Shape{Dim(2)}}}).find("number of elements differs"), std::string::npos);
  EXPECT_NE(refused(OpKind::kTranspose, {f}, {{"perm", std::vector<int64_t>{0, 0}}}).find("each of the 2 axes once"), std::string::npos);
  EXPECT_NE(refused(OpKind::kBroadcastTo, {i}, {{"shape", Shape{Dim(2)}}}).find("differ"), std::string::npos);
  EXPECT_NE(refused(OpKind::kConcat, {f, input(DType::kF32, {n, Dim(4)})}, {{"axis", int64_t(0)}}).find("differ"), std::string::npos);
  EXPECT_NE(refused(OpKind::kGather, {f, f}).find("an integer type"), std::string::npos);
  EXPECT_NE(refused(OpKind::kGather, {t, i}, {{"axis", int64_t(0)}}).find("axis 0"), std::string::npos);
  EXPECT_NE(refused(OpKind::kPad, {i}, {{"before", Shape{Dim(-2)}}, {"after", Shape{Dim(-2)}}}).find("negative pads"), std::string::npos);
  EXPECT_NE(refused(OpKind::kQuantize, {f, input(DType::kF32, {Dim(4)})}, {{"to", DType::kI8}}).find("differ"), std::string::npos);
  EXPECT_NE(refused(OpKind::kPack, {i}).find("f16, f32"), std::string::npos);
  EXPECT_NE(refused(OpKind::kBindDims, {i}, {{"symbols", std::vector<SymbolId>{*n.as_symbol()}}}).find("names 1"), std::string::npos);
}

}  // namespace
}  // namespace nnc

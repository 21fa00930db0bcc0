#include "ir/support/text.h"
#include "tests/unit/ir/gradient_check.h"

namespace nnc {
namespace {

constexpr int kShapes = 50;

std::vector<int64_t> draw_dims(Draw& draw, int64_t max_rank, int64_t max_extent) {
  std::vector<int64_t> dims(static_cast<size_t>(draw.below(max_rank + 1)));
  for (int64_t& d : dims) d = draw.below(12) == 0 ? 0 : 1 + draw.below(max_extent);
  return dims;
}

// Extents that broadcast to `dims`: leading axes dropped, others 1 at random.
std::vector<int64_t> narrower(Draw& draw, const std::vector<int64_t>& dims) {
  const auto drop = static_cast<std::ptrdiff_t>(draw.below(static_cast<int64_t>(dims.size()) + 1)) * draw.below(2);
  std::vector<int64_t> out(dims.begin() + drop, dims.end());
  for (int64_t& d : out) d = draw.below(3) == 0 ? 1 : d;
  return out;
}

void add_unary(std::vector<GradientCase>& cases, OpKind kind, AttrList attrs = {}, std::string label = {}) {
  for (int k = 0; k < kShapes; ++k) {
    GradientCase c{.name = cat(op_name(kind), label, " ", k), .kind = kind, .attrs = attrs, .symbolic = k % 5 == 4};
    Draw draw(c.name);
    c.operands = {{.dims = draw_dims(draw, 4, 3)}};
    cases.push_back(std::move(c));
  }
}

void add_binary(std::vector<GradientCase>& cases, OpKind kind, AttrList attrs = {}, std::string label = {}) {
  for (int k = 0; k < kShapes; ++k) {
    GradientCase c{.name = cat(op_name(kind), label, " ", k), .kind = kind, .attrs = attrs};
    Draw draw(c.name);
    const std::vector<int64_t> dims = draw_dims(draw, 4, 3);
    c.operands = {{.dims = dims}, {.dims = k % 3 == 0 ? dims : narrower(draw, dims)}};
    if (k % 3 == 2) std::swap(c.operands[0], c.operands[1]);
    c.symbolic = k % 5 == 4;
    cases.push_back(std::move(c));
  }
}

GradientOperand truth(std::vector<int64_t> dims, Draw& draw) {
  GradientOperand o{.dims = dims, .dtype = DType::kBool};
  for (int64_t k = element_count(dims); k > 0; --k) o.values.push_back(static_cast<double>(draw.below(2)));
  return o;
}

void add_where(std::vector<GradientCase>& cases) {
  for (int k = 0; k < kShapes; ++k) {
    GradientCase c{.name = cat("where ", k), .kind = OpKind::kWhere};
    Draw draw(c.name);
    const std::vector<int64_t> dims = draw_dims(draw, 3, 3);
    c.operands = {truth(narrower(draw, dims), draw), {.dims = dims}, {.dims = narrower(draw, dims)}};
    if (k % 2 == 1) std::swap(c.operands[1], c.operands[2]);
    cases.push_back(std::move(c));
  }
}

void add_clip(std::vector<GradientCase>& cases) {
  const std::pair<double, double> bounds[] = {{-1, 1}, {-1, -1}, {2, -2}, {0, 9}, {-9, 0}};
  for (int k = 0; k < kShapes; ++k) {
    GradientCase c{.name = cat("clip ", k), .kind = OpKind::kClip};
    Draw draw(c.name);
    const auto [lo, hi] = bounds[k % 5];
    const GradientOperand none{.given = false};
    c.operands = {{.dims = draw_dims(draw, 3, 3)}, {.dims = {}, .values = {lo}}, {.dims = {}, .values = {hi}}};
    if (lo == hi) c.operands[2].values = {hi + 0.125};
    if (k % 4 == 1) c.operands[1] = none;
    if (k % 4 == 2) c.operands[2] = none;
    cases.push_back(std::move(c));
  }
}

// Where a formula has a special place.
void add_special(std::vector<GradientCase>& cases) {
  cases.push_back(
      {.name = "pow by 0", .kind = OpKind::kPow, .operands = {{.dims = {3}, .values = {0.5, 1, 2}}, {.dims = {}, .values = {0}}}});
  cases.push_back({.name = "pow of negative by integers",
                   .kind = OpKind::kPow,
                   .operands = {{.dims = {3}, .values = {-1.5, 2, -3}}, {.dims = {3}, .dtype = DType::kI64, .values = {2, 3, -1}}}});
  cases.push_back({.name = "pow of 0 by 2",
                   .kind = OpKind::kPow,
                   .operands = {{.dims = {2}, .values = {0, 0}}, {.dims = {}, .values = {2}, .varied = false}}});
  cases.push_back({.name = "mod of both signs",
                   .kind = OpKind::kMod,
                   .operands = {{.dims = {4}, .values = {-5.5, -5.5, 5.5, 5.5}}, {.dims = {4}, .values = {2, -2, 2, -2}}}});
  cases.push_back({.name = "fmod of both signs",
                   .kind = OpKind::kMod,
                   .operands = {{.dims = {4}, .values = {-5.5, -5.5, 5.5, 5.5}}, {.dims = {4}, .values = {2, -2, 2, -2}}},
                   .attrs = {{"fmod", int64_t(1)}}});
  cases.push_back(
      {.name = "sigmoid far out", .kind = OpKind::kSigmoid, .operands = {{.dims = {4}, .values = {-30, 30, -700, 700}}}, .atol = 1e-12});
  cases.push_back({.name = "gelu far out", .kind = OpKind::kGelu, .operands = {{.dims = {4}, .values = {-9, 9, -40, 40}}}});
  cases.push_back({.name = "cast", .kind = OpKind::kCast, .operands = {{.dims = {2, 3}}}, .attrs = {{"to", DType::kF32}}});
  cases.push_back({.name = "cast to f64", .kind = OpKind::kCast, .operands = {{.dims = {}}}, .attrs = {{"to", DType::kF64}}});
  cases.push_back({.name = "range", .kind = OpKind::kRange, .operands = {{.dims = {}}, {.dims = {}}}, .attrs = {{"count", Shape{Dim(5)}}}});
  cases.push_back(
      {.name = "empty range", .kind = OpKind::kRange, .operands = {{.dims = {}}, {.dims = {}}}, .attrs = {{"count", Shape{Dim(0)}}}});
}

}  // namespace

std::vector<GradientCase> elementwise_gradient_cases() {
  std::vector<GradientCase> cases;
  for (const OpKind kind :
       {OpKind::kNeg,  OpKind::kAbs,         OpKind::kSign,      OpKind::kSqrt,  OpKind::kReciprocal, OpKind::kExp,  OpKind::kLog,
        OpKind::kSin,  OpKind::kCos,         OpKind::kTanh,      OpKind::kErf,   OpKind::kSigmoid,    OpKind::kRelu, OpKind::kGelu,
        OpKind::kSilu, OpKind::kHardSigmoid, OpKind::kHardSwish, OpKind::kFloor, OpKind::kCeil,       OpKind::kRound}) {
    add_unary(cases, kind);
  }
  add_unary(cases, OpKind::kGelu, {{"approximate", std::string("tanh")}}, " tanh");
  add_unary(cases, OpKind::kHardSigmoid, {{"alpha", 0.75}, {"beta", -0.25}}, " steep");
  for (const OpKind kind : {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv, OpKind::kMod, OpKind::kPow, OpKind::kMin, OpKind::kMax})
    add_binary(cases, kind);
  add_binary(cases, OpKind::kMod, {{"fmod", int64_t(1)}}, " truncated");
  add_where(cases);
  add_clip(cases);
  add_special(cases);
  return cases;
}

}  // namespace nnc

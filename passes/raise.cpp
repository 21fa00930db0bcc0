// Spelled-out composites become their ops: gelu in both forms, silu, hard sigmoid and swish, softmax, layer and rms norm, attention. The
// spellings are those of exporters; factors and polynomials are compared by value, not by shape of the tree, so that their order does not
// matter.

#include <array>
#include <cmath>

#include "ir/support/mutant.h"
#include "passes/raise_attention.h"
#include "passes/rules.h"

namespace nnc {

namespace {

// A constant that was rounded to the dtype of `like`, perhaps twice.
bool is_rounded(const Graph& g, ValueId like, double a, double b) {
  const DType t = g.type(like).dtype;
  const double unit = t == DType::kF16 ? 1e-3 : t == DType::kBF16 ? 8e-3 : 1e-6;
  return std::abs(a - b) <= 2 * unit * std::abs(b);
}

// A product as its factors: the constants multiplied, the others as they are. Inner products are looked into where nobody else reads them.
struct Product {
  double constant = 1;
  std::vector<ValueId> factors;
};
void add_factors(const Graph& g, ValueId v, bool root, Product& p) {
  if (const std::optional<double> c = uniform_value(g, v)) {
    p.constant *= *c;
    return;
  }
  const Node* n = def_of(g, v);
  if (n != nullptr && (root || single_use(g, v)) && p.factors.size() < 8) {
    if (n->kind == OpKind::kMul) {
      add_factors(g, n->operands[0], false, p);
      add_factors(g, n->operands[1], false, p);
      return;
    }
    const std::optional<double> c = n->kind == OpKind::kDiv ? uniform_value(g, n->operands[1]) : std::nullopt;
    if (c && *c != 0) {
      p.constant /= *c;
      add_factors(g, n->operands[0], false, p);
      return;
    }
  }
  p.factors.push_back(v);
}

// `v` as a polynomial in x of degree 3 at the most: coefficients of 1, x, x^2, x^3.
using Cubic = std::array<double, 4>;
std::optional<Cubic> times(const Cubic& a, const Cubic& b) {
  Cubic c{};
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      if (a[i] * b[j] == 0) continue;
      if (i + j > 3) return std::nullopt;
      c[i + j] += a[i] * b[j];
    }
  }
  return c;
}
std::optional<Cubic> polynomial(const Graph& g, ValueId v, ValueId x, int depth = 0) {
  if (v == x) return Cubic{0, 1, 0, 0};
  if (const std::optional<double> c = uniform_value(g, v)) return Cubic{*c, 0, 0, 0};
  const Node* n = def_of(g, v);
  if (n == nullptr || depth > 6 || n->operands.size() != 2) return std::nullopt;
  const std::optional<Cubic> a = polynomial(g, n->operands[0], x, depth + 1);
  if (!a) return std::nullopt;
  if (n->kind == OpKind::kPow) {
    const std::optional<double> c = uniform_value(g, n->operands[1]);
    if (c == 2.0) return times(*a, *a);
    const std::optional<Cubic> square = c == 3.0 ? times(*a, *a) : std::nullopt;
    return square ? times(*square, *a) : std::nullopt;
  }
  const std::optional<Cubic> b = polynomial(g, n->operands[1], x, depth + 1);
  if (!b) return std::nullopt;
  Cubic c{};
  switch (n->kind) {
    case OpKind::kAdd:
      for (size_t k = 0; k < 4; ++k) c[k] = (*a)[k] + (*b)[k];
      return c;
    case OpKind::kSub:
      for (size_t k = 0; k < 4; ++k) c[k] = (*a)[k] - (*b)[k];
      return c;
    case OpKind::kMul: return times(*a, *b);
    case OpKind::kDiv:
      if ((*b)[0] == 0 || (*b)[1] != 0 || (*b)[2] != 0 || (*b)[3] != 0) return std::nullopt;
      for (size_t k = 0; k < 4; ++k) c[k] = (*a)[k] / (*b)[0];
      return c;
    default: return std::nullopt;
  }
}

// The other summand where the sum's second one is the constant `c`.
std::optional<ValueId> plus_constant(const Graph& g, ValueId v, double c) {
  const Node* n = def_of(g, v);
  if (n == nullptr || n->kind != OpKind::kAdd) return std::nullopt;
  for (size_t k = 0; k < 2; ++k) {
    if (is_uniform(g, n->operands[1 - k], c)) return n->operands[k];
  }
  return std::nullopt;
}

// ---- x * f(x)

// 0.5 x (1 + erf(x / sqrt 2)), 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
std::optional<std::string> gelu_factor(const Graph& g, ValueId t, ValueId x) {
  const std::optional<ValueId> inner = plus_constant(g, t, 1);
  const Node* f = inner ? def_of(g, *inner) : nullptr;
  if (f == nullptr || (f->kind != OpKind::kErf && f->kind != OpKind::kTanh)) return std::nullopt;
  const std::optional<Cubic> p = polynomial(g, f->operands[0], x);
  if (!p || (*p)[0] != 0 || (*p)[2] != 0) return std::nullopt;
  if (f->kind == OpKind::kErf && (*p)[3] == 0 && (is_rounded(g, x, (*p)[1], std::sqrt(0.5)) || mutant("raise_gelu_any_slope")))
    return "none";
  const double slope = std::sqrt(2 / std::acos(-1.0));
  if (f->kind == OpKind::kTanh && is_rounded(g, x, (*p)[1], slope) && is_rounded(g, x, (*p)[3], slope * 0.044715)) return "tanh";
  return std::nullopt;
}

// clip(a x + b, 0, top), also as min(relu(.), top)
struct Ramp {
  ValueId x;
  double a, b, top;
};
std::optional<Ramp> ramp(const Graph& g, ValueId v) {
  const Node* n = def_of(g, v);
  if (n == nullptr) return std::nullopt;
  ValueId inner;
  std::optional<double> top;
  if (n->kind == OpKind::kClip && n->operands.size() == 3 && n->operands[1].valid() && is_uniform(g, n->operands[1], 0)) {
    inner = n->operands[0];
    top = uniform_value(g, n->operands[2]);
  } else if (n->kind == OpKind::kMin && is(g, n->operands[0], OpKind::kRelu)) {
    inner = def_of(g, n->operands[0])->operands[0];
    top = uniform_value(g, n->operands[1]);
  }
  if (!top || !(*top > 0)) return std::nullopt;
  // The line's variable: what is left of sums and products with constants.
  ValueId x = inner;
  for (int depth = 0; depth < 4; ++depth) {
    const Node* line = def_of(g, x);
    if (line == nullptr || (line->kind != OpKind::kAdd && line->kind != OpKind::kMul && line->kind != OpKind::kDiv) ||
        !uniform_value(g, line->operands[1]))
      break;
    x = line->operands[0];
  }
  const std::optional<Cubic> p = polynomial(g, inner, x);
  if (!p || (*p)[2] != 0 || (*p)[3] != 0 || x == inner) return std::nullopt;
  return Ramp{x, (*p)[1], (*p)[0], *top};
}

Result<bool> product_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const ValueId result = node.results[0];
  if (!is_float(g.type(result).dtype)) return false;
  Product p;
  add_factors(g, result, true, p);
  if (p.factors.size() == 1) {
    // hard_sigmoid: a ramp whose top times the constant is 1.
    const std::optional<Ramp> r = ramp(g, p.factors[0]);
    if (!r || !is_rounded(g, result, r->top * p.constant, 1) || g.type(r->x) != g.type(result)) return false;
    NNC_ASSIGN(const ValueId v, rw.at(id).op(OpKind::kHardSigmoid, {r->x}, {{"alpha", r->a * p.constant}, {"beta", r->b * p.constant}}));
    return replace_if_same(rw, id, v);
  }
  if (p.factors.size() != 2) return false;
  for (size_t k = 0; k < 2; ++k) {
    const ValueId x = p.factors[k], t = p.factors[1 - k];
    if (g.type(x) != g.type(result)) continue;
    const Node* f = def_of(g, t);
    if (f == nullptr) continue;
    Builder b = rw.at(id);
    ValueId v;
    if (p.constant == 1 && f->kind == OpKind::kSigmoid && f->operands[0] == x) {
      NNC_ASSIGN(v, b.unary(OpKind::kSilu, x));
    } else if (p.constant == 1 && f->kind == OpKind::kHardSigmoid && f->operands[0] == x && is_rounded(g, x, f->f("alpha"), 1.0 / 6) &&
               is_rounded(g, x, f->f("beta"), 0.5)) {
      NNC_ASSIGN(v, b.unary(OpKind::kHardSwish, x));
    } else if (const std::optional<std::string> form = p.constant == 0.5 ? gelu_factor(g, t, x) : std::nullopt) {
      NNC_ASSIGN(v, b.op(OpKind::kGelu, {x}, {{"approximate", *form}}));
    } else if (const std::optional<Ramp> r = ramp(g, t); r && r->x == x && is_rounded(g, x, r->top * p.constant, 1) &&
                                                         is_rounded(g, x, r->a * p.constant, 1.0 / 6) &&
                                                         is_rounded(g, x, r->b * p.constant, 0.5)) {
      NNC_ASSIGN(v, b.unary(OpKind::kHardSwish, x));
    } else {
      continue;
    }
    return replace_if_same(rw, id, v);
  }
  return false;
}

// ---- folds

// The fold that makes `v`, over axes that are kept with extent 1.
const Node* fold_of(const Graph& g, ValueId v, std::string_view kind) {
  const Node* n = def_of(g, v);
  return n != nullptr && n->kind == OpKind::kReduce && n->s("kind") == kind && n->i("keepdims") != 0 ? n : nullptr;
}
// Trailing axes from the first one; nullopt where others stand between.
std::optional<int64_t> trailing(const Graph& g, const Node& fold) {
  const std::vector<int64_t>& axes = fold.ints("axes");
  const int64_t rank = g.type(fold.operands[0]).rank();
  if (axes.empty()) return std::nullopt;
  for (size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] != rank - static_cast<int64_t>(axes.size() - k)) return std::nullopt;
  }
  return axes[0];
}
bool is_square_of(const Graph& g, ValueId v, ValueId x) {
  const Node* n = def_of(g, v);
  if (n == nullptr) return false;
  if (n->kind == OpKind::kMul) return n->operands[0] == x && n->operands[1] == x;
  return n->kind == OpKind::kPow && n->operands[0] == x && is_uniform(g, n->operands[1], 2);
}

// y = d / sqrt(mean(d^2) + epsilon), in its spellings; `root`: the div or mul.
struct Normalised {
  ValueId d;
  int64_t axis;
  double epsilon;
};
// v = sqrt(u), or with `inverse` 1 / sqrt(u): u.
std::optional<ValueId> under_root(const Graph& g, ValueId v, bool inverse) {
  const Node* n = def_of(g, v);
  if (n == nullptr) return std::nullopt;
  if (n->kind == OpKind::kPow && is_uniform(g, n->operands[1], inverse ? -0.5 : 0.5)) return n->operands[0];
  if (inverse) {
    if (n->kind == OpKind::kReciprocal) return under_root(g, n->operands[0], false);
    return n->kind == OpKind::kDiv && is_uniform(g, n->operands[0], 1) ? under_root(g, n->operands[1], false) : std::nullopt;
  }
  return n->kind == OpKind::kSqrt ? std::optional(n->operands[0]) : std::nullopt;
}
std::optional<Normalised> normalised(const Graph& g, const Node& root) {
  const bool inverse = root.kind == OpKind::kMul;
  for (size_t k = 0; k < (inverse ? 2 : 1); ++k) {
    const ValueId d = root.operands[k];
    const std::optional<ValueId> u = under_root(g, root.operands[1 - k], inverse);
    const Node* sum = u ? def_of(g, *u) : nullptr;
    if (sum == nullptr || sum->kind != OpKind::kAdd) continue;
    const std::optional<double> epsilon = uniform_value(g, sum->operands[1]);
    const Node* mean = fold_of(g, sum->operands[0], "mean");
    if (!epsilon || !(*epsilon >= 0) || mean == nullptr || !is_square_of(g, mean->operands[0], d)) continue;
    if (const std::optional<int64_t> axis = trailing(g, *mean)) return Normalised{d, *axis, *epsilon};
  }
  return std::nullopt;
}

Result<bool> norm_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const DType dtype = g.type(node.results[0]).dtype;
  // In narrow types the spelled form rounds after every step; the op does not, so only wide ones are the same.
  if (dtype != DType::kF32 && dtype != DType::kF64) return false;
  const std::optional<Normalised> y = normalised(g, node);
  if (!y || g.type(y->d) != g.type(node.results[0])) return false;
  Builder b = rw.at(id);
  const Node* d = def_of(g, y->d);
  if (d != nullptr && d->kind == OpKind::kSub) {
    const Node* mean = fold_of(g, d->operands[1], "mean");
    if (mean != nullptr && mean->operands[0] == d->operands[0] && trailing(g, *mean) == y->axis) {
      NNC_ASSIGN(const ValueId v, b.op(OpKind::kLayerNorm, {d->operands[0]}, {{"axis", y->axis}, {"epsilon", y->epsilon}}));
      return replace_if_same(rw, id, v);
    }
  }
  NNC_ASSIGN(const ValueId v, b.op(OpKind::kRmsNorm, {y->d}, {{"axis", y->axis}, {"epsilon", y->epsilon}}));
  return replace_if_same(rw, id, v);
}

// Scale and bias over the normalised axes belong to the norm.
Result<bool> norm_affine_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  for (size_t k = 0; k < 2; ++k) {
    const ValueId y = node.operands[k], p = node.operands[1 - k];
    const Node* norm = def_of(g, y);
    if (norm == nullptr || (norm->kind != OpKind::kLayerNorm && norm->kind != OpKind::kRmsNorm) || !single_use(g, y)) continue;
    if (norm->results.size() != 1 || g.type(y) != g.type(node.results[0])) continue;
    const int64_t normalised = g.type(y).rank() - norm->i("axis");
    if (g.type(p).rank() > normalised || g.type(p).dtype != g.type(y).dtype) continue;
    const bool scaled = norm->operands.size() > 1 && norm->operands[1].valid(),
               biased = norm->operands.size() > 2 && norm->operands[2].valid();
    std::vector<ValueId> operands = norm->operands;
    if (node.kind == OpKind::kMul) {
      if (scaled || biased) continue;
      operands.resize(2);
      operands[1] = p;
    } else {
      if (norm->kind != OpKind::kLayerNorm || biased) continue;
      operands.resize(3);
      operands[2] = p;
    }
    Builder b = rw.at(id);
    const Node copy = *norm;
    NNC_ASSIGN(const std::vector<ValueId> v, rebuild(b, copy, std::move(operands)));
    return replace_if_same(rw, id, v[0]);
  }
  return false;
}

// exp(x - max x) / sum of it, and x - max x - log of the sum.
Result<bool> softmax_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const bool log = node.kind == OpKind::kSub;
  const DType dtype = g.type(node.results[0]).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) return false;
  ValueId sum = node.operands[1];
  if (log) {
    if (!is(g, sum, OpKind::kLog)) return false;
    sum = def_of(g, sum)->operands[0];
  }
  const Node* total = fold_of(g, sum, "sum");
  if (total == nullptr || total->ints("axes").size() != 1 || !is(g, total->operands[0], OpKind::kExp)) return false;
  const ValueId centred = def_of(g, total->operands[0])->operands[0];
  if (node.operands[0] != (log ? centred : total->operands[0]) || !is(g, centred, OpKind::kSub)) return false;
  const Node* d = def_of(g, centred);
  const Node* top = fold_of(g, d->operands[1], "max");
  if (top == nullptr || top->operands[0] != d->operands[0] || top->ints("axes") != total->ints("axes")) return false;
  const int64_t axis = top->ints("axes")[0];
  NNC_ASSIGN(const ValueId v, rw.at(id).op(OpKind::kSoftmax, {d->operands[0]}, {{"axis", axis}, {"log", int64_t{log}}}));
  return replace_if_same(rw, id, v);
}

constexpr RuleEntry kRules[] = {
    {OpKind::kMul, product_rule}, {OpKind::kDiv, product_rule},     {OpKind::kDiv, norm_rule},
    {OpKind::kMul, norm_rule},    {OpKind::kMul, norm_affine_rule}, {OpKind::kAdd, norm_affine_rule},
    {OpKind::kDiv, softmax_rule}, {OpKind::kSub, softmax_rule},     {OpKind::kMatMul, attention_rule},
};

}  // namespace

Result<int64_t> run_raise(Module& m, PassContext& c) { return apply_rules(m, c, kRules); }

}  // namespace nnc

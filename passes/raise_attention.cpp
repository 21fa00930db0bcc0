// softmax(q k^T * scale + mask) v, over heads of [B, H, S, D], is attention. The scale may be a factor or a divisor, the mask an addition
// or a choice between the score and -inf; both may be missing. Scores that anybody else reads stay what they are.

#include "passes/raise_attention.h"

#include <cmath>

#include "passes/layout.h"

namespace nnc {

namespace {

struct Spelled {
  ValueId q, k, mask;
  bool keys_last = false;  // k is [B, H, D, T]
  double scale = 1;
};

// The node that makes `v` for one reader only.
const Node* own(const Graph& g, ValueId v, OpKind kind) {
  const Node* n = single_use(g, v) ? def_of(g, v) : nullptr;
  return n != nullptr && n->kind == kind ? n : nullptr;
}

// q k^T * scale
std::optional<Spelled> scaled_product(const Graph& g, ValueId v) {
  Spelled s;
  for (int depth = 0; depth < 4; ++depth) {
    if (const Node* mul = own(g, v, OpKind::kMul)) {
      bool found = false;
      for (size_t i = 0; i < 2 && !found; ++i) {
        const std::optional<double> c = uniform_value(g, mul->operands[i]);
        if (!c || g.type(mul->operands[1 - i]) != g.type(v)) continue;
        s.scale *= *c;
        v = mul->operands[1 - i];
        found = true;
      }
      if (!found) return std::nullopt;
    } else if (const Node* div = own(g, v, OpKind::kDiv)) {
      const std::optional<double> c = uniform_value(g, div->operands[1]);
      if (!c || *c == 0 || g.type(div->operands[0]) != g.type(v)) return std::nullopt;
      s.scale /= *c;
      v = div->operands[0];
    } else {
      break;
    }
  }
  const Node* product = own(g, v, OpKind::kMatMul);
  if (product == nullptr || product->i("transpose_a") != 0 || !product->s("b_format").empty() || product->has_attr("accumulate"))
    return std::nullopt;
  s.q = product->operands[0], s.k = product->operands[1];
  s.keys_last = product->i("transpose_b") == 0;
  if (!std::isnormal(round_to(g.type(v).dtype, s.scale)) || g.type(s.q).rank() != 4 || g.type(s.k).rank() != 4) return std::nullopt;
  return s;
}

std::optional<Spelled> scores(const Graph& g, ValueId v) {
  const Type& type = g.type(v);
  if (const Node* where = own(g, v, OpKind::kWhere)) {
    const std::optional<double> never = uniform_value(g, where->operands[2]);
    if (!never || !(std::isinf(*never) && *never < 0) || g.type(where->operands[1]) != type) return std::nullopt;
    std::optional<Spelled> s = scaled_product(g, where->operands[1]);
    if (s) s->mask = where->operands[0];
    return s;
  }
  if (const Node* add = own(g, v, OpKind::kAdd)) {
    for (size_t i = 0; i < 2; ++i) {
      if (g.type(add->operands[i]) != type) continue;
      std::optional<Spelled> s = scaled_product(g, add->operands[i]);
      if (!s) continue;
      s->mask = add->operands[1 - i];
      return s;
    }
    return std::nullopt;
  }
  return scaled_product(g, v);
}

}  // namespace

Result<bool> attention_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const DType dtype = g.type(node.results[0]).dtype;
  // In narrow types the spelled form rounds after every step; the op does not, so only wide ones are the same.
  if (dtype != DType::kF32 && dtype != DType::kF64) return false;
  if (node.i("transpose_a") != 0 || !node.s("b_format").empty() || node.has_attr("accumulate")) return false;
  const Node* softmax = own(g, node.operands[0], OpKind::kSoftmax);
  if (softmax == nullptr || softmax->i("log") != 0 || softmax->i("axis") != 3 || g.type(node.operands[0]).rank() != 4) return false;
  const std::optional<Spelled> s = scores(g, softmax->operands[0]);
  if (!s || g.type(node.operands[1]).rank() != 4) return false;
  const bool values_last = node.i("transpose_b") != 0;
  const Shape &q = g.type(s->q).shape, &k = g.type(s->k).shape, &v = g.type(node.operands[1]).shape;
  const auto same = [&](const Dim& a, const Dim& b) { return g.symbols().equal(a, b) == Ternary::kYes; };
  if (!same(q[0], k[0]) || !same(q[1], k[1]) || !same(q[0], v[0]) || !same(q[1], v[1])) return false;
  if (g.symbols().at_least(k[1], 1) != Ternary::kYes) return false;  // the op wants a head
  Builder b = rw.at(id);
  const Perm turned{0, 1, 3, 2};
  std::vector<ValueId> operands{s->q, s->k, node.operands[1]};
  if (s->keys_last) { NNC_ASSIGN(operands[1], permuted(b, s->k, turned)); }
  if (values_last) { NNC_ASSIGN(operands[2], permuted(b, operands[2], turned)); }
  if (s->mask.valid()) operands.push_back(s->mask);
  NNC_ASSIGN(const ValueId y, b.op(OpKind::kAttention, std::move(operands), {{"scale", s->scale}}));
  return replace_if_same(rw, id, y);
}

}  // namespace nnc

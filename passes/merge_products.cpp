// Products of one left operand with several constant matrices (query, key and value of attention) are one product with the matrices side by
// side; each result is a slice of it. Only where the results go on to other products: work that would have been done in the epilogue stays
// there.

#include <cstring>
#include <map>

#include "passes/rules.h"
#include "passes/weights.h"

namespace nnc {

namespace {

struct Member {
  NodeId matmul;
  NodeId last;          // the bias' addition, or the product itself
  Tensor weight, bias;  // shared bytes: references into the module would not outlive its next constant
  bool transposed = false;
  int64_t columns = 0;
};

// Every reader behind views is a product or another operator that reads operands itself.
bool goes_on_to_products(const Graph& g, ValueId v) {
  for (const Use& use : g.value(v).uses) {
    if (!use.node.valid()) return false;
    const Node& n = g.node(use.node);
    if (n.kind == OpKind::kMatMul || n.kind == OpKind::kAttention) continue;
    if (n.kind != OpKind::kReshape && n.kind != OpKind::kTranspose && n.kind != OpKind::kSlice) return false;
    if (!goes_on_to_products(g, n.results[0])) return false;
  }
  return true;
}

std::optional<Member> member(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (n.kind != OpKind::kMatMul || n.i("transpose_a") != 0 || !linear_is_plain(g, n)) return std::nullopt;
  Member m;
  m.matmul = m.last = id;
  const Tensor* weight = const_value(g, n.operands[1]);
  if (weight == nullptr || g.type(n.operands[0]).rank() < 2) return std::nullopt;
  m.weight = *weight;
  m.transposed = n.i("transpose_b") != 0;
  m.columns = m.weight.dims()[m.transposed ? 0 : 1];
  const ValueId y = n.results[0];
  if (single_use(g, y) && g.value(y).uses[0].node.valid()) {
    const NodeId next = g.value(y).uses[0].node;
    const Node& add = g.node(next);
    const Tensor* bias = add.kind == OpKind::kAdd ? const_value(g, add.operands[add.operands[0] == y ? 1 : 0]) : nullptr;
    if (bias != nullptr && bias->count() == m.columns && bias->rank() <= g.type(y).rank() && bias->rank() > 0 &&
        bias->dims().back() == m.columns) {
      m.last = next;
      m.bias = *bias;
    }
  }
  return goes_on_to_products(g, g.node(m.last).results[0]) ? std::optional(m) : std::nullopt;
}

// The weights as [K, sum of columns].
Tensor side_by_side(const std::vector<Member>& members, int64_t rows, int64_t columns) {
  const DType dtype = members[0].weight.dtype();
  Tensor all(dtype, {rows, columns});
  const size_t element = static_cast<size_t>(dtype_bits(dtype)) / 8;
  size_t at = 0;
  for (const Member& m : members) {
    const Tensor w = m.transposed ? transposed(m.weight, {1, 0}) : m.weight;
    const size_t width = static_cast<size_t>(m.columns) * element;
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(static_cast<uint8_t*>(all.data()) + static_cast<size_t>(r * columns) * element + at,
                  static_cast<const uint8_t*>(w.data()) + static_cast<size_t>(r) * width, width);
    }
    at += width;
  }
  return all;
}

Status merge(Rewriter& rw, const std::vector<Member>& members) {
  Graph& g = rw.graph();
  const Node first = g.node(members[0].matmul);
  int64_t columns = 0;
  bool biased = true;
  for (const Member& m : members) {
    columns += m.columns;
    biased = biased && m.bias.valid();
  }
  const int64_t rows = members[0].weight.dims()[members[0].transposed ? 1 : 0];
  Builder b = rw.at(members[0].matmul);
  NNC_ASSIGN(const ValueId weights, b.constant(side_by_side(members, rows, columns)));
  NNC_ASSIGN(ValueId y, b.matmul(first.operands[0], weights));
  if (biased) {
    std::vector<double> bias;
    for (const Member& m : members) {
      const std::vector<double> part = doubles_of(m.bias);
      bias.insert(bias.end(), part.begin(), part.end());
    }
    NNC_ASSIGN(const ValueId c, b.constant(vector_of(b.dtype(y), bias)));
    NNC_ASSIGN(y, b.binary(OpKind::kAdd, y, c));
  }
  const int64_t axis = g.type(y).rank() - 1;
  int64_t at = 0;
  for (const Member& m : members) {
    const NodeId root = biased ? m.last : m.matmul;
    Builder here = rw.at(root);
    NNC_ASSIGN(const ValueId part, here.slice(y, {axis}, {at}, {at + m.columns}, {1}));
    NNC_TRY(rw.replace(root, part));
    at += m.columns;
  }
  return {};
}

Result<int64_t> merge_products(Graph& g, PassContext& c) {
  Rewriter rw(g, c.rewrites_left);
  std::map<std::pair<ValueId, DType>, std::vector<Member>> by_left;
  std::vector<std::pair<ValueId, DType>> keys;  // in program order
  for (NodeId id : g.order()) {
    const std::optional<Member> m = member(g, id);
    if (!m) continue;
    const auto key = std::make_pair(g.node(id).operands[0], m->weight.dtype());
    if (by_left[key].empty()) keys.push_back(key);
    by_left[key].push_back(*m);
  }
  for (const auto& key : keys) {
    if (by_left[key].size() > 1 && rw.allowed()) NNC_TRY(merge(rw, by_left[key]));
  }
  rw.remove_dead();
  return rw.count();
}

}  // namespace

Result<int64_t> run_merge_products(Module& m, PassContext& c) {
  int64_t changes = 0;
  for (Graph* g : all_graphs(m)) {
    NNC_ASSIGN(const int64_t n, merge_products(*g, c));
    changes += n;
  }
  return changes;
}

}  // namespace nnc

// Constant right operands of contractions in the form that the kernels read: panels of 16 columns. The panels are constants of their own;
// the plain weights go with the last node that reads them. Targets whose kernels read rows get them back by an `unpack` of the panels,
// which loading does: programs of all targets share one stored copy. A table that is gathered from and multiplied by (tied embeddings) is
// gathered from its panels. Weights so small that processors stumble over them become 0 where nobody can see it.

#include <algorithm>
#include <set>

#include "ir/ops/panel.h"
#include "ir/support/mutant.h"
#include "passes/rules.h"
#include "passes/weights.h"

namespace nnc {

namespace {

constexpr int64_t kVectorBits = 128;  // of a load

// What the panels of one dtype are called where an op reads them.
std::string_view panel_format(DType t) {
  switch (panel_depth(t)) {
    case 1: return "panel16";
    case 2: return "panel16x2";
    case 4: return "panel16x4";
    default: return {};
  }
}

bool packable(const PassContext& c, const Tensor* t) {
  // Kernels read single rows so far; grouped rows (bf16, 8 bit) come with the kernels that multiply them.
  return t != nullptr && panel_depth(t->dtype()) == 1 && t->count() > 0 && (c.target == nullptr || c.target->packed_weights);
}

class Prepack {
 public:
  // `panels`: those of all products so far; more are added.
  Prepack(Graph& g, PassContext& c, std::set<ConstId>& panels) : g_(g), c_(c), rw_(g, c.rewrites_left), panels_(panels) {}

  Result<int64_t> run() {
    for (NodeId id : g_.order()) {
      if (!rw_.allowed()) break;
      const Node node = g_.node(id);
      if (node.kind == OpKind::kMatMul) NNC_TRY(matmul(id, node));
      if (node.kind == OpKind::kConv) NNC_TRY(conv(id, node));
    }
    rw_.remove_dead();
    return rw_.count();
  }
  Result<int64_t> gather_from_panels() {
    for (NodeId id : g_.order()) {
      if (!rw_.allowed()) break;
      const Node node = g_.node(id);
      if (node.kind == OpKind::kGather) NNC_TRY(gather(id, node));
    }
    rw_.remove_dead();
    return rw_.count();
  }

 private:
  // Rows that are no whole vectors are better read from panels, which are.
  bool reads_rows(DType t, int64_t columns) const {
    return c_.target != nullptr && c_.target->reads_rows && columns * dtype_bits(t) % kVectorBits == 0;
  }
  Result<ValueId> unpacked(Builder& b, ValueId panels, int64_t rows, int64_t columns) {
    return b.op(OpKind::kUnpack, {panels}, {{"k", Shape{Dim(rows)}}, {"n", Shape{Dim(columns)}}});
  }

  Status matmul(NodeId id, const Node& node) {
    const Tensor* w = const_value(g_, node.operands[1]);
    if (!packable(c_, w) || w->rank() < 2 || !node.s("b_format").empty()) return {};
    const bool transposed = node.i("transpose_b") != 0;
    const size_t rank = w->dims().size();
    const int64_t n = w->dims()[rank - (transposed ? 2 : 1)], k = w->dims()[rank - (transposed ? 1 : 2)];
    const DType dtype = w->dtype();
    Builder b = rw_.at(id);
    const bool turned = transposed && !mutant("prepack_ignores_transpose");
    NNC_ASSIGN(const ValueId packed, b.constant(packed_panels(without_subnormals(*w, transposed), turned)));
    panels_.insert(def_of(g_, packed)->constant("value"));
    if (reads_rows(dtype, n)) {
      NNC_ASSIGN(const ValueId dense, unpacked(b, packed, k, n));
      NNC_ASSIGN(const std::vector<ValueId> y, rebuild(b, node, {node.operands[0], dense}, {{"transpose_b", int64_t{0}}}));
      return rw_.replace(id, y[0]);
    }
    NNC_ASSIGN(const std::vector<ValueId> y,
               rebuild(b, node, {node.operands[0], packed},
                       {{"transpose_b", int64_t{0}}, {"b_format", std::string(panel_format(dtype))}, {"n", Shape{n}}}));
    return rw_.replace(id, y[0]);
  }

  // Of a table [n, k] whose transpose is a product's right operand.
  Status gather(NodeId id, const Node& node) {
    const Tensor* w = const_value(g_, node.operands[0]);
    if (!packable(c_, w) || w->rank() != 2 || (node.i("axis") != 0 && node.i("axis") != -2)) return {};
    const int64_t n = w->dims()[0], k = w->dims()[1];
    const std::vector<int64_t> dims = {(n + kPanelWidth - 1) / kPanelWidth, k, kPanelWidth};
    const Module& m = g_.module();
    const auto shaped = [&](ConstId c) { return m.constant(c).dims() == dims && m.constant(c).dtype() == w->dtype(); };
    if (std::none_of(panels_.begin(), panels_.end(), shaped)) return {};
    const Tensor packed = packed_panels(*w, true);
    if (std::none_of(panels_.begin(), panels_.end(), [&](ConstId c) { return m.constant(c).same_bits(packed); })) return {};
    Builder b = rw_.at(id);
    NNC_ASSIGN(const ValueId panels, b.constant(packed));
    NNC_ASSIGN(const ValueId table,
               b.op(OpKind::kUnpack, {panels}, {{"k", Shape{Dim(k)}}, {"n", Shape{Dim(n)}}, {"transposed", int64_t{1}}}));
    NNC_ASSIGN(const std::vector<ValueId> y, rebuild(b, node, {table, node.operands[1]}));
    return rw_.replace(id, y[0]);
  }

  // hwio [k..., in / group, out] is a matrix [k * in, out] whose columns fall into groups. Groups of few outputs (depthwise) would be
  // mostly padding.
  Status conv(NodeId id, const Node& node) {
    const Tensor* w = const_value(g_, node.operands[1]);
    if (!packable(c_, w) || node.s("w_format") != "hwio") return {};
    const std::vector<int64_t> dims = w->dims();
    const DType dtype = w->dtype();
    const int64_t group = node.i("group"), in = dims[dims.size() - 2], out = dims.back(), columns = out / group;
    if (group > 1 && columns % kPanelWidth != 0) return {};
    const std::vector<int64_t> kernel(dims.begin(), dims.end() - 2);
    const int64_t rows = element_count(kernel) * in;
    Tensor matrices = w->reshaped({rows, group, columns});
    if (group > 1) matrices = transposed(matrices, {1, 0, 2});
    Builder b = rw_.at(id);
    matrices = without_subnormals(matrices.reshaped({group, rows, columns}), false);
    NNC_ASSIGN(const ValueId packed, b.constant(packed_panels(matrices, false)));
    std::vector<ValueId> operands = node.operands;
    if (group == 1 && reads_rows(dtype, out)) {
      NNC_ASSIGN(const ValueId dense, unpacked(b, packed, rows, out));
      NNC_ASSIGN(operands[1], b.reshape(dense, Shape(dims.begin(), dims.end())));
      NNC_ASSIGN(const std::vector<ValueId> y, rebuild(b, node, std::move(operands)));
      return rw_.replace(id, y[0]);
    }
    operands[1] = packed;
    NNC_ASSIGN(const std::vector<ValueId> y,
               rebuild(b, node, std::move(operands),
                       {{"w_format", std::string(panel_format(dtype))}, {"kernel", kernel}, {"channels", Shape{out, in}}}));
    return rw_.replace(id, y[0]);
  }

  Graph& g_;
  PassContext& c_;
  Rewriter rw_;
  std::set<ConstId>& panels_;
};

}  // namespace

Result<int64_t> run_prepack(Module& m, PassContext& c) {
  int64_t changes = 0;
  std::set<ConstId> panels;
  for (Graph* g : all_graphs(m)) {
    NNC_ASSIGN(const int64_t n, Prepack(*g, c, panels).run());
    changes += n;
  }
  if (c.level < 2) return changes;  // a group of its own would make the whole table
  for (Graph* g : all_graphs(m)) {
    NNC_ASSIGN(const int64_t n, Prepack(*g, c, panels).gather_from_panels());
    changes += n;
  }
  return changes;
}

}  // namespace nnc

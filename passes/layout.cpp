// Channels last for convolutions. Each one is put between transposes, its filter into hwio; then the transposes that this pass made sink
// towards the outputs through whatever works on axes (elementwise, pools, concatenations, folds, resizes, paddings, reshapes of whole
// groups of axes) until they meet the next convolution's and cancel. The model's own transposes are left alone, but for cancelling.

#include "passes/layout.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/support/text.h"
#include "passes/rules.h"

namespace nnc {

namespace {

Perm to_channels_last(size_t rank) {
  Perm p = {0};
  for (size_t k = 2; k < rank; ++k) p.push_back(static_cast<int64_t>(k));
  p.push_back(1);
  return p;
}

// [out, in, k...] to [k..., in, out].
Perm to_hwio(size_t rank) {
  Perm p;
  for (size_t k = 2; k < rank; ++k) p.push_back(static_cast<int64_t>(k));
  p.insert(p.end(), {1, 0});
  return p;
}

template <class T> std::vector<T> reordered(const std::vector<T>& v, const Perm& p) {
  std::vector<T> out;
  for (int64_t k : p) out.push_back(v[static_cast<size_t>(k)]);
  return out;
}

class Layout {
 public:
  Layout(Graph& g, int64_t* budget) : g_(g), rw_(g, budget) {}

  Result<int64_t> run() {
    for (NodeId id : g_.order()) {
      if (rw_.allowed()) NNC_TRY(convolution(id));
    }
    constexpr int kSweeps = 1000;  // a transpose sinks past one node per sweep at the least
    for (int k = 0; k < kSweeps; ++k) {
      const int64_t before = rw_.count();
      for (NodeId id : g_.order()) {
        if (rw_.allowed() && g_.is_live(id)) NNC_TRY(sink(id));
      }
      rw_.remove_dead();
      if (rw_.count() == before) return rw_.count();
    }
    return Error(Code::kInternal, "layout did not settle");
  }

 private:
  Result<ValueId> ours(Builder& b, ValueId v, const Perm& p) {
    NNC_ASSIGN(const ValueId t, permuted(b, v, p));
    if (is(g_, t, OpKind::kTranspose)) ours_.insert(g_.value(t).def);
    return t;
  }

  // ---- convolutions
  Status convolution(NodeId id) {
    const Node node = g_.node(id);
    switch (node.kind) {
      case OpKind::kConv:
      case OpKind::kConvTranspose: return forward(id, node);
      case OpKind::kConvInputGrad: return input_gradient(id, node);
      case OpKind::kConvFilterGrad: return filter_gradient(id, node);
      default: return {};
    }
  }

  Status finish(NodeId id, Builder& b, const Node& node, std::vector<ValueId> operands, AttrList changes, const Perm& back) {
    changes.push_back({"layout", std::string("nhwc")});
    changes.push_back({"w_format", std::string("hwio")});
    NNC_ASSIGN(const std::vector<ValueId> y, rebuild(b, node, std::move(operands), std::move(changes)));
    NNC_ASSIGN(const ValueId v, ours(b, y[0], back));
    return rw_.replace(id, v);
  }

  Status forward(NodeId id, const Node& node) {
    if (node.s("layout") != "nchw" || !node.s("w_format").empty()) return {};
    const size_t rank = static_cast<size_t>(g_.type(node.operands[0]).rank());
    Builder b = rw_.at(id);
    std::vector<ValueId> operands = node.operands;
    NNC_ASSIGN(operands[0], ours(b, operands[0], to_channels_last(rank)));
    NNC_ASSIGN(operands[1], permuted(b, operands[1], to_hwio(rank)));
    return finish(id, b, node, std::move(operands), {}, inverse(to_channels_last(rank)));
  }

  Status input_gradient(NodeId id, const Node& node) {
    if (node.s("layout") != "nchw" || !node.s("w_format").empty()) return {};
    const size_t rank = static_cast<size_t>(g_.type(node.operands[0]).rank());
    const Perm last = to_channels_last(rank);
    Builder b = rw_.at(id);
    NNC_ASSIGN(const ValueId dy, ours(b, node.operands[0], last));
    NNC_ASSIGN(const ValueId w, permuted(b, node.operands[1], to_hwio(rank)));
    return finish(id, b, node, {dy, w}, {{"shape", reordered(node.dims("shape"), last)}}, inverse(last));
  }

  Status filter_gradient(NodeId id, const Node& node) {
    if (node.s("layout") != "nchw" || !node.s("w_format").empty()) return {};
    const size_t rank = static_cast<size_t>(g_.type(node.operands[0]).rank());
    Builder b = rw_.at(id);
    NNC_ASSIGN(const ValueId x, ours(b, node.operands[0], to_channels_last(rank)));
    NNC_ASSIGN(const ValueId dy, ours(b, node.operands[1], to_channels_last(rank)));
    return finish(id, b, node, {x, dy}, {{"shape", reordered(node.dims("shape"), to_hwio(rank))}}, inverse(to_hwio(rank)));
  }

  // ---- sinking
  // The permutation of a transpose that this pass made, or nullptr.
  const Node* ours(ValueId v) const {
    const Node* n = def_of(g_, v);
    return n != nullptr && n->kind == OpKind::kTranspose && ours_.count(g_.value(v).def) > 0 ? n : nullptr;
  }

  Status sink(NodeId id) {
    const Node node = g_.node(id);
    Perm perm;
    for (ValueId v : node.operands) {
      const Node* t = v.valid() ? ours(v) : nullptr;
      if (t != nullptr) perm = t->ints("perm");
      if (t != nullptr) break;
    }
    if (perm.empty()) return {};
    switch (node.kind) {
      case OpKind::kTranspose: return compose(id, node, perm);
      case OpKind::kReshape: return reshape(id, node, perm);
      case OpKind::kPool:
      case OpKind::kPoolGrad: return pool(id, node, perm);
      case OpKind::kReduce: return reduce(id, node, perm);
      case OpKind::kResize: return resize(id, node, perm);
      case OpKind::kPad:
        return along(id, node, perm,
                     {{"before", reordered(node.dims("before"), inverse(perm))}, {"after", reordered(node.dims("after"), inverse(perm))}},
                     1);
      case OpKind::kTile: return along(id, node, perm, {{"repeats", reordered(node.dims("repeats"), inverse(perm))}}, 1);
      case OpKind::kBroadcastTo:
        if (node.dims("shape").size() != perm.size()) return {};
        return along(id, node, perm, {{"shape", reordered(node.dims("shape"), inverse(perm))}}, 1);
      case OpKind::kSlice: return slice(id, node, perm);
      case OpKind::kConcat:
      case OpKind::kSoftmax: return along(id, node, perm, {{"axis", axis_below(node.i("axis"), perm)}}, node.operands.size());
      case OpKind::kBatchNorm: return along(id, node, perm, {{"axis", axis_below(node.i("axis"), perm)}}, 1);
      case OpKind::kQuantize:
      case OpKind::kDequantize:
        if (node.i("block") != 0) return {};
        return along(id, node, perm, {{"axis", axis_below(node.i("axis"), perm)}}, 1);
      case OpKind::kClip: return along(id, node, perm, {}, 1);
      default:
        if (node.def().lowering == Lowering::kElem && node.results.size() == 1) return along(id, node, perm, {}, node.operands.size());
        return {};
    }
  }

  int64_t axis_below(int64_t axis, const Perm& perm) const {
    return perm[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(perm.size()) : axis)];
  }

  Status compose(NodeId id, const Node& node, const Perm& inner) {
    const Perm perm = reordered(inner, node.ints("perm"));
    const ValueId x = def_of(g_, node.operands[0])->operands[0];
    Builder b = rw_.at(id);
    // A transpose of the model that does not cancel stays the model's.
    NNC_ASSIGN(const ValueId v, ours_.count(id) > 0 ? ours(b, x, perm) : permuted(b, x, perm));
    return rw_.replace(id, v);
  }

  // The first `count` operands lie along the axes (broadcast where shorter), the others stay as they are.
  Status along(NodeId id, const Node& node, const Perm& perm, AttrList changes, size_t count) {
    const size_t rank = perm.size();
    if (static_cast<size_t>(g_.type(node.results[0]).rank()) != rank) return {};
    const Perm up = inverse(perm);
    int transposed = 0, added = 1;
    for (size_t k = 0; k < count; ++k) {
      const ValueId v = node.operands[k];
      if (!v.valid() || g_.type(v).rank() == 0) continue;
      const Node* t = ours(v);
      if (t != nullptr && t->ints("perm") == perm) {
        ++transposed;
      } else if (static_cast<size_t>(g_.type(v).rank()) > rank) {
        return {};
      } else if (const_value(g_, v) == nullptr && !moves_nothing(widened(g_.type(v).shape, rank), up)) {
        ++added;
      }
    }
    if (added > transposed) return {};
    Builder b = rw_.at(id);
    std::vector<ValueId> operands = node.operands;
    for (size_t k = 0; k < count; ++k) {
      ValueId& v = operands[k];
      if (!v.valid() || g_.type(v).rank() == 0) continue;
      const Node* t = ours(v);
      if (t != nullptr && t->ints("perm") == perm) {
        v = t->operands[0];
        continue;
      }
      const Shape wide = widened(g_.type(v).shape, rank);
      NNC_ASSIGN(v, widen(b, v, wide));
      NNC_ASSIGN(v, ours(b, v, up));
    }
    NNC_ASSIGN(const std::vector<ValueId> y, rebuild(b, node, std::move(operands), std::move(changes)));
    NNC_ASSIGN(const ValueId v, ours(b, y[0], perm));
    return rw_.replace(id, v);
  }
  static Shape widened(Shape shape, size_t rank) {
    shape.insert(shape.begin(), rank - std::min(rank, shape.size()), Dim(1));
    return shape;
  }
  Result<ValueId> widen(Builder& b, ValueId v, const Shape& to) {
    if (const Tensor* t = const_value(g_, v); t != nullptr && t->dims().size() != to.size()) {
      std::vector<int64_t> dims = t->dims();
      dims.insert(dims.begin(), to.size() - dims.size(), 1);
      return b.constant(t->reshaped(dims));
    }
    return b.reshape(v, to);
  }

  Status reshape(NodeId id, const Node& node, const Perm& perm) {
    const ValueId x = def_of(g_, node.operands[0])->operands[0];
    const auto swapped = reshape_before_transpose(g_.symbols(), g_.type(x).shape, perm, node.dims("shape"));
    if (!swapped) return {};
    Builder b = rw_.at(id);
    NNC_ASSIGN(const ValueId r, b.reshape(x, swapped->first));
    NNC_ASSIGN(const ValueId v, ours(b, r, swapped->second));
    return rw_.replace(id, v);
  }

  Status pool(NodeId id, const Node& node, const Perm& perm) {
    if (node.s("layout") != "nchw" || perm != inverse(to_channels_last(perm.size()))) return {};
    AttrList changes = {{"layout", std::string("nhwc")}};
    if (node.kind == OpKind::kPoolGrad) changes.push_back({"shape", reordered(node.dims("shape"), inverse(perm))});
    return along(id, node, perm, std::move(changes), node.operands.size());
  }

  Status reduce(NodeId id, const Node& node, const Perm& perm) {
    std::vector<int64_t> axes;
    for (int64_t axis : node.ints("axes")) axes.push_back(axis_below(axis, perm));
    std::sort(axes.begin(), axes.end());
    if (node.i("keepdims") != 0) return along(id, node, perm, {{"axes", axes}}, 1);
    // The axes that are left keep the order that the transpose gives them.
    Perm rest;
    for (int64_t p : perm) {
      if (std::find(axes.begin(), axes.end(), p) != axes.end()) continue;
      rest.push_back(p - (std::lower_bound(axes.begin(), axes.end(), p) - axes.begin()));
    }
    Builder b = rw_.at(id);
    NNC_ASSIGN(const std::vector<ValueId> y, rebuild(b, node, {def_of(g_, node.operands[0])->operands[0]}, {{"axes", axes}}));
    NNC_ASSIGN(const ValueId v, ours(b, y[0], rest));
    return rw_.replace(id, v);
  }

  // Ascending axes with what belongs to each.
  Status resize(NodeId id, const Node& node, const Perm& perm) {
    std::vector<int64_t> axes;
    for (int64_t axis : node.ints("axes")) axes.push_back(axis_below(axis, perm));
    Perm order(axes.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return axes[static_cast<size_t>(a)] < axes[static_cast<size_t>(b)]; });
    AttrList changes = {{"axes", reordered(axes, order)}};
    if (!node.dims("sizes").empty()) changes.push_back({"sizes", reordered(node.dims("sizes"), order)});
    if (!node.floats("scales").empty()) changes.push_back({"scales", reordered(node.floats("scales"), order)});
    if (const std::vector<double>& roi = node.floats("roi"); !roi.empty()) {
      const std::vector<double> starts(roi.begin(), roi.begin() + static_cast<std::ptrdiff_t>(axes.size())),
          ends(roi.begin() + static_cast<std::ptrdiff_t>(axes.size()), roi.end());
      std::vector<double> both = reordered(starts, order);
      const std::vector<double> tail = reordered(ends, order);
      both.insert(both.end(), tail.begin(), tail.end());
      changes.push_back({"roi", both});
    }
    return along(id, node, perm, std::move(changes), 1);
  }

  Status slice(NodeId id, const Node& node, const Perm& perm) {
    std::vector<int64_t> axes;
    for (int64_t axis : node.ints("axes")) axes.push_back(axis_below(axis, perm));
    return along(id, node, perm, {{"axes", axes}}, 1);
  }

  Graph& g_;
  Rewriter rw_;
  std::set<NodeId> ours_;
};

}  // namespace

Result<int64_t> run_layout(Module& m, PassContext& c) {
  if (c.target != nullptr && !c.target->channels_last) return int64_t{0};
  int64_t changes = 0;
  for (Graph* g : all_graphs(m)) {
    NNC_ASSIGN(const int64_t n, Layout(*g, c.rewrites_left).run());
    changes += n;
  }
  return changes;
}

}  // namespace nnc

// Constants through the reference interpreter. What would grow a constant much (broadcasts, tiles, ranges) stays a node: kernels make it
// for nothing.

#include <algorithm>

#include "ir/eval.h"
#include "ir/support/text.h"
#include "passes/rules.h"
#include "passes/weights.h"

namespace nnc {

namespace {

constexpr int64_t kSmall = 4096;  // bytes that are folded whatever they come from

std::optional<int64_t> static_bytes(const Type& t) {
  if (!t.is_tensor() || t.dtype == DType::kString) return std::nullopt;
  int64_t count = 1;
  for (const Dim& d : t.shape) {
    if (!d.is_const() || d.constant() < 0 || __builtin_mul_overflow(count, d.constant(), &count)) return std::nullopt;
  }
  return static_cast<int64_t>(dtype_bytes(t.dtype, count));
}

class Folder {
 public:
  Folder(Graph& g, Interpreter& interpreter, PassContext& c) : g_(g), interpreter_(interpreter), c_(c), rw_(g, c.rewrites_left) {}

  Result<int64_t> run() {
    for (NodeId id : g_.order()) {
      if (!rw_.allowed()) break;
      if (foldable(id)) NNC_TRY(fold(id));
    }
    rw_.remove_dead();
    return rw_.count();
  }

 private:
  bool foldable(NodeId id) const {
    const Node& node = g_.node(id);
    const OpDef& def = node.def();
    if (!(def.traits & kFoldable) || (def.traits & kEffect) || def.eval == nullptr || !node.regions.empty()) return false;
    if (node.kind == OpKind::kConstant || node.results.empty()) return false;
    int64_t in = 0, out = 0, elements = 0;
    for (ValueId v : node.operands) {
      if (!v.valid()) continue;
      const Tensor* t = const_value(g_, v);
      if (t == nullptr) return false;
      in += static_cast<int64_t>(t->bytes());
      elements += t->count();
    }
    bool wanted = false;
    for (ValueId v : node.results) {
      const std::optional<int64_t> bytes = static_bytes(g_.type(v));
      if (!bytes) return false;
      out += *bytes;
      elements += *bytes / std::max<int64_t>(1, static_cast<int64_t>(dtype_bytes(g_.type(v).dtype, 1)));
      wanted = wanted || !g_.value(v).uses.empty();
    }
    for (const AttrValue& a : node.attrs) {
      const auto* dims = std::get_if<Shape>(&a);
      if (dims != nullptr && !std::all_of(dims->begin(), dims->end(), [](const Dim& d) { return d.is_const(); })) return false;
    }
    // The interpreter's carriers, eight bytes an element, count while it works: a small file must not make large constants out of little.
    const bool room = c_.folded_bytes + out + 8 * elements <= c_.limits[Limit::kFoldedBytes];
    return wanted && room && (out <= kSmall || out <= in + in / 4);
  }

  // Movement of large weights, without the carriers of eval.
  Result<bool> fold_movement(NodeId id) {
    const Node node = g_.node(id);
    if (node.kind != OpKind::kTranspose && node.kind != OpKind::kReshape) return false;
    const Tensor& t = *const_value(g_, node.operands[0]);
    if (dtype_bits(t.dtype()) < 8 || dtype_bits(t.dtype()) > 64) return false;
    std::vector<int64_t> dims;
    for (const Dim& d : g_.type(node.results[0]).shape) dims.push_back(d.constant());
    if (element_count(dims) != t.count()) return false;
    NNC_ASSIGN(const ValueId c, rw_.at(id).constant(node.kind == OpKind::kReshape ? t.reshaped(dims) : transposed(t, node.ints("perm"))));
    NNC_TRY(rw_.replace(id, c));
    return true;
  }

  // A node whose evaluation fails keeps its place, and fails when it is reached.
  Status fold(NodeId id) {
    NNC_ASSIGN(const bool moved, fold_movement(id));
    if (moved) return {};
    const Node node = g_.node(id);
    std::vector<EvalTensor> values;
    values.reserve(node.operands.size());
    std::vector<const EvalTensor*> operands;
    for (ValueId v : node.operands) {
      if (v.valid()) values.push_back(EvalTensor::from(*const_value(g_, v)));
      operands.push_back(v.valid() ? &values.back() : nullptr);
    }
    Result<std::vector<EvalTensor>> results = interpreter_.run_node(g_, id, operands);
    if (!results.ok()) return {};
    std::vector<ValueId> constants;
    Builder b = rw_.at(id);
    for (const EvalTensor& r : *results) {
      Tensor t = r.to_tensor();
      c_.folded_bytes += static_cast<int64_t>(t.bytes());
      NNC_ASSIGN(const ValueId c, b.constant(std::move(t)));
      constants.push_back(c);
    }
    return rw_.replace(id, constants);
  }

  Graph& g_;
  Interpreter& interpreter_;
  PassContext& c_;
  Rewriter rw_;
};

}  // namespace

Result<int64_t> run_fold(Module& m, PassContext& c) {
  EvalOptions options;
  options.limits = c.limits;
  Interpreter interpreter(m, std::move(options));
  int64_t changes = 0;
  for (Graph* g : all_graphs(m)) {
    NNC_ASSIGN(const int64_t n, Folder(*g, interpreter, c).run());
    changes += n;
  }
  return changes;
}

}  // namespace nnc

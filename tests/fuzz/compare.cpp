#include "tests/fuzz/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ir/support/text.h"
#include "passes/pipeline.h"
#include "tests/fuzz/random.h"

namespace nnc::test {

namespace {

constexpr uint64_t kShakes = 3;

double unit_of(DType t) {
  switch (t) {
    case DType::kF16: return 0x1p-10;
    case DType::kBF16: return 0x1p-7;
    case DType::kF64: return 0x1p-52;
    default: return 0x1p-23;
  }
}
double largest(DType t) { return t == DType::kF16 ? 65504 : t == DType::kF64 ? 1e308 : 3e38; }

bool same_element(const Tensor& a, const Tensor& b, int64_t k) {
  if (!is_float(a.dtype())) return a.i64(k) == b.i64(k);
  const double x = a.f64(k), y = b.f64(k);
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

std::string shown(const Tensor& t, int64_t k) { return is_float(t.dtype()) ? cat(t.f64(k)) : cat(t.i64(k)); }

// Of one value as the interpreter made it.
struct Seen {
  double count = 0, size = 0, unit = 0;
};

Seen look(const EvalTensor& t) {
  Seen s{static_cast<double>(t.count()), 0, t.dtype == DType::kF16 || t.dtype == DType::kBF16 ? unit_of(t.dtype) : 0};
  for (const double v : t.f)
    if (std::isfinite(v)) s.size = std::max(s.size, std::fabs(v));
  return s;
}

// Rows that add up many elements; the others make an element of a few.
bool adds(const OpDef& def) {
  return def.lowering == Lowering::kFold || def.lowering == Lowering::kPoint || def.lowering == Lowering::kHero ||
         def.lowering == Lowering::kExpand;
}

bool follows_quantize(const Graph& g, ValueId output) {
  std::vector<ValueId> open = {output};
  std::set<ValueId> known;
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    if (!v.valid() || !known.insert(v).second || !g.value(v).def.valid()) continue;
    const Node& node = g.node(g.value(v).def);
    if (node.kind == OpKind::kQuantize) return true;
    open.insert(open.end(), node.operands.begin(), node.operands.end());
  }
  return false;
}

Reference::Way way_to(const Graph& g, ValueId output, const std::map<ValueId, Seen>& seen) {
  Reference::Way way;
  way.quantized = follows_quantize(g, output);
  std::vector<ValueId> open = {output};
  std::set<ValueId> known;
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    // Integers and bools have no error, nor do casts: they read exact values alone.
    if (!v.valid() || !known.insert(v).second || !g.type(v).is_tensor() || !is_float(g.type(v).dtype)) continue;
    const auto it = seen.find(v);
    if (it == seen.end()) continue;
    way.size = std::max(way.size, it->second.size);
    way.unit = std::max(way.unit, it->second.unit);
    const NodeId n = g.value(v).def;
    if (!n.valid() || g.node(n).kind == OpKind::kCast) continue;
    for (const ValueId o : g.node(n).operands) {
      if (const auto from = seen.find(o); from != seen.end() && adds(g.node(n).def()))
        way.length = std::max(way.length, from->second.count);
      open.push_back(o);
    }
  }
  return way;
}

// The bound of an output's error. It may be a small multiple of what the interpreter makes itself when it rounds after each op, or of what
// errors within the rows' budgets grow to on the way, and a few units in the last place. Sums have the bound of their length, and what
// cancels that of the values it came from. Kernels compute with halves in f32 and round where the interpreter does: of the coarse unit only
// a rounding or two may fall the other way.
class Bound {
 public:
  Bound(const Reference& r, size_t output)
      : want_(r.rounded[output]), plain_(r.plain[output]), anchor_(r.anchored[output]), steady_(r.steady[output]), way_(r.ways[output]) {
    for (const std::vector<EvalTensor>& shaken : r.shaken) shaken_.push_back(&shaken[output]);
    coarse_ = way_.unit;
    u_ = unit_of(want_.dtype() == DType::kF64 && coarse_ == 0 ? DType::kF64 : DType::kF32);
    length_ = std::sqrt(way_.length);
    size_ = std::min(way_.size, 1e3) / 32;
    for (int64_t k = 0; k < want_.count(); ++k) {
      const double w = want_.f64(k), a = anchor_.as_f64(k);
      if (!std::isfinite(w) || !std::isfinite(a)) continue;
      own_ = std::max(own_, std::fabs(w - a));
      size_ = std::max(size_, std::fabs(a));
    }
  }

  std::string check(const Tensor& got) const {
    for (int64_t k = 0; k < want_.count(); ++k) {
      const double a = anchor_.as_f64(k), s = steady_.as_f64(k);
      if (!way_.quantized && std::isfinite(a) && std::isfinite(s) && !near(s, a, k)) return fault("spelled out", k, s);
      // What is made in the dtype throughout may overflow on the way where f64 does not, and so may kernels.
      if (!near(got.f64(k), want_.f64(k), k) && !near(got.f64(k), plain_.f64(k), k) && !undecided(k)) return fault("got", k, got.f64(k));
    }
    return {};
  }

 private:
  bool near(double g, double w, int64_t k) const {
    if (g == w || (std::isnan(g) && std::isnan(w))) return true;
    const double top = 0.9 * largest(want_.dtype());
    if (std::fabs(w) > top && std::fabs(g) > top && std::signbit(w) == std::signbit(g)) return true;
    const double bound =
        4 * (own_ + grown(k)) + ((64 + 4 * length_) * u_ + 6 * coarse_) * std::fabs(w) + ((8 + length_) * u_ + 2 * coarse_) * size_ + 1e-30;
    return std::isfinite(g) && std::isfinite(w) && std::fabs(g - w) <= bound;
  }
  double grown(int64_t k) const {
    double most = 0;
    for (const EvalTensor* shaken : shaken_)
      if (const double d = std::fabs(shaken->as_f64(k) - steady_.as_f64(k)); std::isfinite(d)) most = std::max(most, d);
    return most;
  }
  // A zero that may as well be a small number has met an infinity: whether that is NaN is nobody's promise.
  bool undecided(int64_t k) const {
    const double y = steady_.as_f64(k);
    return std::ranges::any_of(shaken_, [&](const EvalTensor* shaken) {
      const double x = shaken->as_f64(k);
      return x != y && !(std::isnan(x) && std::isnan(y)) && !(std::isfinite(x) && std::isfinite(y));
    });
  }
  std::string fault(std::string_view what, int64_t k, double g) const {
    return cat("element ", k, ": ", what, " ", g, ", expected ", want_.f64(k), ", in f64 ", anchor_.as_f64(k), "; errors grow to ",
               grown(k));
  }

  const Tensor &want_, &plain_;
  const EvalTensor &anchor_, &steady_;
  const Reference::Way& way_;
  std::vector<const EvalTensor*> shaken_;
  double coarse_ = 0, u_ = 0, length_ = 0, size_ = 0, own_ = 0;
};

Result<std::vector<EvalTensor>> in_f64(const Module& m, const std::vector<Tensor>& inputs, EvalOptions options) {
  options.anchored = true;
  std::vector<EvalTensor> args;
  for (const Tensor& t : inputs) args.push_back(EvalTensor::from(t));
  return Interpreter(m, std::move(options)).run(*m.entries[0]->graph, std::move(args));
}

// Rows that jump: what they read is equal on every backend, and stays as it is.
bool jumps(OpKind kind) {
  switch (kind) {
    case OpKind::kSign:
    case OpKind::kFloor:
    case OpKind::kCeil:
    case OpKind::kRound:
    case OpKind::kIsNan:
    case OpKind::kCast:
    case OpKind::kMod:
    case OpKind::kEqual:
    case OpKind::kLess:
    case OpKind::kLessEqual:
    case OpKind::kQuantize:
    case OpKind::kArgReduce:
    case OpKind::kMaxPoolIndices:
    case OpKind::kPoolGrad: return true;
    default: return false;
  }
}

// Runs a spelled module in f64 without and with errors put in.
class Shaker {
 public:
  Shaker(const Module& m, const std::vector<Tensor>& inputs) : m_(m), g_(*m.entries[0]->graph), inputs_(inputs) {}

  Status run(Reference& out) {
    EvalOptions look_on;
    look_on.trace = [&](NodeId n, std::span<EvalTensor> results) {
      for (size_t k = 0; k < results.size(); ++k) seen_[g_.node(n).results[k]] = look(results[k]);
    };
    for (const NodeId n : g_.order())
      if (jumps(g_.node(n).kind)) keep(n);
    for (size_t k = 0; k < inputs_.size(); ++k) seen_[g_.inputs()[k]] = look(EvalTensor::from(inputs_[k]));
    NNC_ASSIGN(out.steady, in_f64(m_, inputs_, look_on));
    for (uint64_t seed = 1; seed <= kShakes; ++seed) {
      Random random(seed);
      EvalOptions options;
      options.trace = [&](NodeId n, std::span<EvalTensor> results) { shake(n, results, random); };
      NNC_ASSIGN(std::vector<EvalTensor> shaken, in_f64(m_, inputs_, options));
      out.shaken.push_back(std::move(shaken));
    }
    return {};
  }

 private:
  void keep(NodeId n) {
    for (const ValueId v : g_.node(n).operands)
      if (v.valid() && kept_.insert(v).second && g_.value(v).def.valid()) keep(g_.value(v).def);
  }
  // Each element moves up or down: by units of its own, for sums by those of their largest terms, and for rows with a difference of near
  // equals within (1 + erf) by those of the operand.
  void shake(NodeId n, std::span<EvalTensor> results, Random& random) {
    const Node& node = g_.node(n);
    for (size_t k = 0; k < results.size(); ++k) {
      const ValueId v = node.results[k];
      if (kept_.count(v) != 0 || node.operands.empty() || !g_.type(v).is_tensor() || !is_float(g_.type(v).dtype)) continue;
      const double u = unit_of(g_.type(v).dtype);
      const Seen operand = seen_[node.operands[0]];
      double also = 0;
      if (node.kind == OpKind::kGelu || node.kind == OpKind::kHardSwish || node.kind == OpKind::kHardSigmoid)
        also = std::min(operand.size, 4.0);
      else if (adds(node.def()))
        also = node.kind == OpKind::kReduce ? terms(operand, seen_[v]) * std::max(seen_[v].size, operand.size)
                                            : (terms(operand, seen_[v]) + 0.25) * seen_[v].size;
      for (double& y : results[k].f)
        if (std::isfinite(y)) y += (random.chance(50) ? u : -u) * (2 * std::fabs(y) + also);
    }
  }

  // Of a sum, as its error grows with them.
  static double terms(const Seen& operand, const Seen& result) {
    return (std::sqrt(std::max(1.0, operand.count / std::max(1.0, result.count))) - 1) / 8;
  }

  const Module& m_;
  const Graph& g_;
  const std::vector<Tensor>& inputs_;
  std::map<ValueId, Seen> seen_;
  std::set<ValueId> kept_;  // jumped from
};

}  // namespace

Result<Reference> reference(const RandomGraph& r, const std::vector<Tensor>& inputs) {
  Reference out;
  const Graph& g = *r.module->entries[0]->graph;
  std::map<ValueId, Seen> seen;
  EvalOptions traced;
  traced.trace = [&](NodeId n, std::span<const EvalTensor> results) {
    for (size_t k = 0; k < results.size(); ++k) seen[g.node(n).results[k]] = look(results[k]);
  };
  for (size_t k = 0; k < inputs.size(); ++k) seen[g.inputs()[k]] = look(EvalTensor::from(inputs[k]));
  for (const NodeId n : g.order())
    if (g.node(n).kind == OpKind::kConstant)
      seen[g.node(n).results[0]] = look(EvalTensor::from(r.module->constant(g.node(n).constant("value"))));
  NNC_ASSIGN(out.rounded, Interpreter(*r.module, traced).run_entry("main", inputs));
  for (const ValueId v : g.outputs()) out.ways.push_back(way_to(g, v, seen));
  NNC_ASSIGN(out.anchored, in_f64(*r.module, inputs, {}));
  const auto spelled = r.module->clone();
  NNC_TRY(run_named_passes(*spelled, "expand"));
  NNC_ASSIGN(out.plain, Interpreter(*spelled).run_entry("main", inputs));
  NNC_TRY(Shaker(*spelled, inputs).run(out));
  return out;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  for (int64_t k = 0; k < a.count(); ++k)
    if (!same_element(a, b, k)) return false;
  return true;
}

std::string difference(const RandomGraph& r, size_t k, const Tensor& got, const Reference& reference) {
  const Tensor& want = reference.rounded[k];
  if (got.dtype() != want.dtype() || got.dims() != want.dims()) return "dtype or extents differ";
  if (is_float(want.dtype()) && !(k < r.exact.size() && r.exact[k])) return Bound(reference, k).check(got);
  for (int64_t e = 0; e < want.count(); ++e)
    if (!same_element(got, want, e)) return cat("element ", e, ": ", shown(got, e), ", expected exactly ", shown(want, e));
  return {};
}

}  // namespace nnc::test

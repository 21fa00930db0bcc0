#include "tests/fuzz/compare.h"

#include <algorithm>
#include <cmath>

#include "ir/support/text.h"
#include "passes/pipeline.h"

namespace nnc::test {

namespace {

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

// The error may be a small multiple of what the interpreter makes itself when it rounds after each op, and a few units in the last place.
// Sums have the bound of their length, and what cancels that of the values it came from. Kernels compute with halves in f32 and round where
// the interpreter does: of the coarse unit only a rounding or two may fall the other way.
std::string far(const Tensor& got, const Tensor& want, const Tensor& plain, const EvalTensor& anchor, const Reference& r) {
  const double coarse = r.unit, u = want.dtype() == DType::kF64 && coarse == 0 ? unit_of(DType::kF64) : unit_of(DType::kF32);
  const double length = std::sqrt(r.length);
  double own = 0, spelled = 0, size = std::min(r.size, 1e3) / 32;
  for (int64_t k = 0; k < want.count(); ++k) {
    const double w = want.f64(k), a = anchor.as_f64(k);
    if (!std::isfinite(w) || !std::isfinite(a)) continue;
    own = std::max(own, std::fabs(w - a));
    if (std::isfinite(plain.f64(k))) spelled = std::max(spelled, std::fabs(plain.f64(k) - a));
    size = std::max(size, std::fabs(a));
  }
  // The spelling rounds a sum once, kernels do at each step. It comes from a pass, which may be wrong, and so excuses no more than what
  // norms of nearly equal values lose in f32.
  spelled = std::min((2 + length) * spelled, 2000 * unit_of(DType::kF32) * std::clamp(r.size, 1.0, 1e3));
  for (int64_t k = 0; k < want.count(); ++k) {
    const double g = got.f64(k), w = want.f64(k);
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    if (std::isfinite(g) && std::isfinite(w) &&
        std::fabs(g - w) <=
            4 * own + spelled + ((64 + 4 * length) * u + 6 * coarse) * std::fabs(w) + ((8 + length) * u + 2 * coarse) * size + 1e-30)
      continue;
    if (std::fabs(w) > 0.9 * largest(want.dtype()) && std::fabs(g) > 0.9 * largest(want.dtype()) && std::signbit(w) == std::signbit(g))
      continue;
    return cat("element ", k, ": ", g, ", expected ", w, ", in f64 ", anchor.as_f64(k));
  }
  return {};
}

}  // namespace

Result<Reference> reference(const RandomGraph& r, const std::vector<Tensor>& inputs) {
  Reference out;
  EvalOptions traced;
  traced.trace = [&](NodeId, std::span<const EvalTensor> results) {
    for (const EvalTensor& t : results) {
      if (t.dtype == DType::kF16 || t.dtype == DType::kBF16) out.unit = std::max(out.unit, unit_of(t.dtype));
      out.length = std::max(out.length, static_cast<double>(t.count()));
      for (const double v : t.f)
        if (std::isfinite(v)) out.size = std::max(out.size, std::fabs(v));
    }
  };
  for (const Tensor& t : inputs) {
    out.length = std::max(out.length, static_cast<double>(t.count()));
    if (t.dtype() == DType::kF16 || t.dtype() == DType::kBF16) out.unit = std::max(out.unit, unit_of(t.dtype()));
  }
  NNC_ASSIGN(out.rounded, Interpreter(*r.module, traced).run_entry("main", inputs));
  const auto expanded = r.module->clone();
  NNC_TRY(run_named_passes(*expanded, "expand"));
  NNC_ASSIGN(out.plain, Interpreter(*expanded).run_entry("main", inputs));
  EvalOptions options;
  options.anchored = true;
  std::vector<EvalTensor> args;
  for (const Tensor& t : inputs) args.push_back(EvalTensor::from(t));
  NNC_ASSIGN(out.anchored, Interpreter(*r.module, options).run(*r.module->entries[0]->graph, std::move(args)));
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
  if (is_float(want.dtype()) && !(k < r.exact.size() && r.exact[k]))
    return far(got, want, reference.plain[k], reference.anchored[k], reference);
  for (int64_t e = 0; e < want.count(); ++e)
    if (!same_element(got, want, e)) return cat("element ", e, ": ", shown(got, e), ", expected exactly ", shown(want, e));
  return {};
}

}  // namespace nnc::test

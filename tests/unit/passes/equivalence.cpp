#include "tests/unit/passes/equivalence.h"

#include <cmath>

#include "ir/eval.h"
#include "ir/support/text.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"

namespace nnc::test {

namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2862933555777941757ULL + 3037000493ULL) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  double unit() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }

 private:
  uint64_t state_;
};

// A value for every input symbol, then the derived ones.
std::vector<int64_t> symbol_values(const SymbolTable& table, int64_t extent) {
  std::vector<int64_t> values(table.size(), 0);
  std::vector<uint8_t> known(table.size(), 0);
  for (uint32_t k = 0; k < table.size(); ++k) {
    const Symbol& s = table[SymbolId(k)];
    if (s.kind != SymKind::kInput) continue;
    values[k] = std::clamp(extent + k % 3, s.lo, s.hi);
    values[k] = (values[k] + s.divisor - 1) / s.divisor * s.divisor;
    known[k] = 1;
  }
  (void)table.derive(values, known);
  return values;
}

Result<std::vector<Tensor>> evaluate(const Module& m, const Entry& e, const std::vector<Tensor>& inputs) {
  EvalOptions options;
  options.anchored = true;
  Interpreter interpreter(m, std::move(options));
  std::vector<EvalTensor> args;
  for (const Tensor& t : inputs) args.push_back(EvalTensor::from(t));
  NNC_ASSIGN(const std::vector<EvalTensor> results, interpreter.run(*e.graph, std::move(args)));
  std::vector<Tensor> out;
  for (const EvalTensor& r : results) out.push_back(r.to_tensor());
  return out;
}

std::string difference(const Tensor& got, const Tensor& want, const EquivalenceOptions& o) {
  if (got.dtype() != want.dtype() || got.dims() != want.dims()) return "other dtype or extents";
  for (int64_t k = 0; k < want.count(); ++k) {
    const double a = got.f64(k), b = want.f64(k);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!is_float(want.dtype()) || !(std::abs(a - b) <= o.abs + o.rel * std::abs(b))) return cat("element ", k, " is ", a, ", was ", b);
  }
  return {};
}

}  // namespace

std::vector<Tensor> random_inputs(const Entry& e, const EquivalenceOptions& options) {
  Random random(options.seed);
  const SymbolTable& table = e.graph->symbols();
  const std::vector<int64_t> values = symbol_values(table, options.extent);
  std::vector<Tensor> inputs;
  for (ValueId v : e.graph->inputs()) {
    const Type& type = e.graph->type(v);
    std::vector<int64_t> dims;
    for (const Dim& d : type.shape) {
      const Result<int64_t> extent = table.eval(d, values);
      dims.push_back(extent.ok() ? *extent : 1);
    }
    Tensor t(type.dtype, dims);
    for (int64_t k = 0; k < t.count(); ++k) {
      if (is_float(type.dtype))
        store_f64(type.dtype, t.data(), k, random.unit() * 4 - 2);
      else
        store_i64(type.dtype, t.data(), k, static_cast<int64_t>(random.next() >> 20) % 2);
    }
    inputs.push_back(std::move(t));
  }
  return inputs;
}

std::string compare_after(const Module& m, const std::string& passes, const EquivalenceOptions& options) {
  const std::unique_ptr<Module> after = m.clone();
  if (Status s = run_named_passes(*after, passes); !s.ok()) return s.error().str();
  if (Status s = verify_or_error(*after); !s.ok()) return s.error().str();
  return compare(m, *after, options);
}

std::string compare(const Module& m, const Module& after, const EquivalenceOptions& options) {
  for (size_t k = 0; k < m.entries.size(); ++k) {
    const std::vector<Tensor> inputs = random_inputs(*m.entries[k], options);
    const Result<std::vector<Tensor>> want = evaluate(m, *m.entries[k], inputs), got = evaluate(after, *after.entries[k], inputs);
    if (want.ok() != got.ok())
      return cat(m.entries[k]->name, ": ", want.ok() ? got.error().str() : "an error went away: " + want.error().str());
    if (!want.ok() && options.must_run) return cat(m.entries[k]->name, " does not run: ", want.error().str());
    if (!want.ok()) continue;
    for (size_t r = 0; r < want->size(); ++r) {
      const std::string d = difference((*got)[r], (*want)[r], options);
      if (!d.empty()) return cat("entry ", m.entries[k]->name, ", result ", r, ": ", d);
    }
  }
  return {};
}

}  // namespace nnc::test

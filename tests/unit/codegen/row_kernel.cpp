#include "tests/unit/codegen/row_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "codegen/target.h"
#include "ir/support/text.h"
#include "tests/unit/codegen/run_group.h"

namespace nnc {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

const std::vector<double> kSpecial = {0.0, -0.0, 1,   -1,    0.5,    -0.5,  1.5, 2.5,  -2.5,  kInf, -kInf, kNan,
                                      3,   -3,   6.5, 1e-40, -1e-40, 65504, 1e5, 3e38, -3e38, 100,  -100,  0.1};

class Runner {
 public:
  explicit Runner(const KernelCase& c) : c_(c) {}

  Status run(const Target& target) {
    std::map<int64_t, SymbolId> symbols;
    std::vector<ValueId> operands;
    std::vector<EvalTensor> given;
    for (const EvalTensor& t : c_.operands) {
      operands.push_back(t.dtype == DType::kInvalid ? ValueId() : graph_.add_input(Type::tensor(t.dtype, shape(t.dims, symbols))));
      if (t.dtype != DType::kInvalid) given.push_back(t);
    }
    NNC_ASSIGN(const NodeId node, graph_.append(c_.kind, operands, c_.attrs, {}));
    graph_.set_outputs({graph_.node(node).results[0]});
    Interpreter interpreter(module_);
    NNC_ASSIGN(const std::vector<EvalTensor> expected, interpreter.run(graph_, given));
    std::vector<Tensor> inputs;
    for (const EvalTensor& t : given) inputs.push_back(t.to_tensor());
    NNC_ASSIGN(const std::vector<Tensor> got, run_group(graph_, target, inputs));
    return compare(EvalTensor::from(got[0]), expected[0]);
  }

 private:
  Shape shape(const Dims& dims, std::map<int64_t, SymbolId>& symbols) {
    Shape out;
    for (const int64_t d : dims) {
      if (!c_.symbolic || d < 3) {
        out.emplace_back(d);
        continue;
      }
      if (!symbols.contains(d)) symbols[d] = module_.symbols.input(cat("n", d), 0);
      out.emplace_back(symbols[d]);
    }
    return out;
  }

  Status compare(const EvalTensor& got, const EvalTensor& want) const {
    if (got.dims != want.dims || got.dtype != want.dtype) return Error(Code::kMismatch, cat("got ", text(got), " want ", text(want)));
    const Tolerance t = op_def(c_.kind).tolerance;
    const double unit = want.dtype == DType::kF16 ? 0x1p-10 : want.dtype == DType::kBF16 ? 0x1p-7 : 0;
    const bool exact = t.rel == 0 && t.abs == 0;
    for (size_t k = 0; k < want.f.size(); ++k) {
      const double g = got.f[k], w = want.f[k];
      const bool same = (std::isnan(g) && std::isnan(w)) || (g == w && (!exact || std::signbit(g) == std::signbit(w)));
      if (same || (!exact && std::fabs(g - w) <= t.abs + std::max(t.rel, unit) * std::fabs(w))) continue;
      return Error(Code::kMismatch, cat("element ", k, ": kernel ", g, ", eval ", w));
    }
    for (size_t k = 0; k < want.i.size(); ++k) {
      if (got.i[k] != want.i[k]) return Error(Code::kMismatch, cat("element ", k, ": kernel ", got.i[k], ", eval ", want.i[k]));
    }
    return {};
  }

  const KernelCase& c_;
  Module module_;
  Graph graph_{&module_, "main"};
};

}  // namespace

EvalTensor draw_tensor(DType dtype, const Dims& dims, Draw& draw, Domain domain, bool special) {
  EvalTensor t = EvalTensor::make(dtype, dims);
  for (size_t k = 0; k < t.f.size(); ++k) {
    const double v = special && draw.below(3) == 0 ? kSpecial[static_cast<size_t>(draw.below(static_cast<int64_t>(kSpecial.size())))]
                                                   : draw.uniform(domain.lo, domain.hi);
    t.f[k] = dtype == DType::kF64 || !std::isfinite(v) ? v : round_to(dtype, v);
  }
  for (int64_t& v : t.i) {
    const int64_t edges[] = {int_min(dtype == DType::kBool ? DType::kU8 : dtype),
                             static_cast<int64_t>(int_max(dtype == DType::kBool ? DType::kU8 : dtype)),
                             0,
                             1,
                             -1,
                             2,
                             3,
                             -7};
    v = dtype == DType::kBool ? draw.below(2) : wrap_int(dtype, special && draw.below(2) == 0 ? edges[draw.below(8)] : draw.below(41) - 20);
  }
  return t;
}

void check_kernel(const KernelCase& c) {
  // The interpreter's own target differs in lanes only: one dtype shows it.
  const bool f32 = !c.operands.empty() && c.operands[0].dtype == DType::kF32;
  for (const char* name : {"cpu:x86-64-v3", "cpu:vm"}) {
    if (std::string_view(name) == "cpu:vm" && !f32) continue;
    const auto target = parse_target(name);
    ASSERT_TRUE(target.ok());
    const Status s = Runner(c).run(*target);
    EXPECT_TRUE(s.ok()) << op_name(c.kind) << " " << c.name << (c.symbolic ? " symbolic" : "") << " on " << name << ": " << s.error().str();
  }
}

}  // namespace nnc

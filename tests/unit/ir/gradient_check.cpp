#include "tests/unit/ir/gradient_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ir/support/text.h"

namespace nnc {
namespace {

constexpr double kStep = 1e-5;
constexpr int64_t kWholeJacobian = 600;  // entries up to which all are compared

// The op alone, or the op and its gradient, as a graph over the case's operands.
struct Program {
  Module module;
  std::unique_ptr<Graph> graph = std::make_unique<Graph>(&module, "main");
  std::vector<bool> has_gradient;  // per operand

  Result<std::vector<EvalTensor>> run(std::vector<EvalTensor> inputs) const {
    EvalOptions options;
    options.anchored = true;
    Interpreter interpreter(module, options);
    return interpreter.run(*graph, std::move(inputs));
  }
};

Shape shape_for(Program& p, const GradientCase& c, const std::vector<int64_t>& dims, std::map<int64_t, SymbolId>& symbols) {
  Shape shape;
  for (const int64_t d : dims) {
    if (!c.symbolic || d < 2) {
      shape.emplace_back(d);
      continue;
    }
    if (!symbols.contains(d)) symbols[d] = p.module.symbols.input(cat("n", d), 2);
    shape.emplace_back(symbols[d]);
  }
  return shape;
}

Result<NodeId> add_op(Program& p, const GradientCase& c, std::vector<ValueId>& operands) {
  std::map<int64_t, SymbolId> symbols;
  for (const GradientOperand& o : c.operands)
    operands.push_back(o.given ? p.graph->add_input(Type::tensor(o.dtype, shape_for(p, c, o.dims, symbols))) : ValueId());
  return p.graph->append(c.kind, operands, c.attrs, {});
}

Status build_forward(Program& p, const GradientCase& c) {
  std::vector<ValueId> operands;
  NNC_ASSIGN(const NodeId node, add_op(p, c, operands));
  std::vector<ValueId> outputs;
  for (const ValueId v : p.graph->node(node).results) {
    if (is_float(p.graph->type(v).dtype)) outputs.push_back(v);
  }
  p.graph->set_outputs(std::move(outputs));
  return {};
}

Status build_backward(Program& p, const GradientCase& c) {
  std::vector<ValueId> operands, seeds, gradients(c.operands.size());
  NNC_ASSIGN(const NodeId node, add_op(p, c, operands));
  const std::vector<ValueId> results = p.graph->node(node).results;
  for (const ValueId v : results)
    seeds.push_back(is_float(p.graph->type(v).dtype) ? p.graph->add_input(Type(p.graph->type(v))) : ValueId());
  Builder b(*p.graph);
  GradContext context{b, *p.graph, node, seeds, &gradients};
  NNC_TRY(op_def(c.kind).gradient(context));
  std::vector<ValueId> outputs;
  for (size_t k = 0; k < gradients.size(); ++k) {
    p.has_gradient.push_back(gradients[k].valid());
    if (!gradients[k].valid()) continue;
    if (!(p.graph->type(gradients[k]) == p.graph->type(operands[k])))
      return Error(Code::kInternal, cat("the gradient of operand ", k, " has another type than the operand"));
    outputs.push_back(gradients[k]);
  }
  p.graph->set_outputs(std::move(outputs));
  return {};
}

EvalTensor draw_operand(const GradientCase& c, const GradientOperand& o, Draw& draw) {
  EvalTensor t = EvalTensor::make(o.dtype, o.dims);
  const Domain domain = op_def(c.kind).domain;
  const double lo = o.drawn_from_row ? domain.lo : o.lo, hi = o.drawn_from_row ? domain.hi : o.hi;
  for (size_t k = 0; k < t.f.size(); ++k) t.f[k] = o.values.empty() ? draw.uniform(lo, hi) : o.values[k];
  for (size_t k = 0; k < t.i.size(); ++k) t.i[k] = static_cast<int64_t>(o.values.at(k));
  return t;
}

// sum over the results of seed * result.
double weigh(const std::vector<EvalTensor>& results, const std::vector<EvalTensor>& seeds) {
  double sum = 0;
  for (size_t r = 0; r < results.size(); ++r) {
    for (size_t k = 0; k < results[r].f.size(); ++k) sum += results[r].f[k] * seeds[r].f[k];
  }
  return sum;
}

class Check {
 public:
  Check(const GradientCase& c) : c_(c), draw_(c.name) {}

  Status run() {
    NNC_TRY(build_forward(forward_, c_));
    NNC_TRY(build_backward(backward_, c_));
    for (const GradientOperand& o : c_.operands) {
      if (!o.given) continue;
      inputs_.push_back(draw_operand(c_, o, draw_));
    }
    NNC_ASSIGN(const std::vector<EvalTensor> results, forward_.run(inputs_));
    int64_t outputs = 0, varied = 0;
    for (const EvalTensor& r : results) outputs += r.count();
    for (size_t k = 0, at = 0; k < c_.operands.size(); ++k) {
      if (!c_.operands[k].given) continue;
      if (varies(k)) varied += inputs_[at].count();
      ++at;
    }
    std::vector<EvalTensor> seeds;
    for (const EvalTensor& r : results) seeds.push_back(EvalTensor::make(r.dtype, r.dims));
    if (outputs * varied <= kWholeJacobian) {
      for (EvalTensor& s : seeds) {
        for (double& v : s.f) {
          v = 1;
          NNC_TRY(compare(seeds));
          v = 0;
        }
      }
    }
    for (EvalTensor& s : seeds) {
      for (double& v : s.f) v = draw_.uniform(-1, 1);
    }
    return compare(seeds);
  }

 private:
  bool varies(size_t k) const { return c_.operands[k].given && c_.operands[k].varied && is_float(c_.operands[k].dtype); }

  // Derivatives of the seeded sum by every varied element (up to kWholeJacobian of them, else along random directions).
  Status compare(const std::vector<EvalTensor>& seeds) {
    std::vector<EvalTensor> all = inputs_;
    all.insert(all.end(), seeds.begin(), seeds.end());
    NNC_ASSIGN(const std::vector<EvalTensor> gradients, backward_.run(std::move(all)));
    size_t next = 0, at = 0;
    for (size_t k = 0; k < c_.operands.size(); ++k) {
      if (!c_.operands[k].given) continue;
      const EvalTensor* gradient = backward_.has_gradient[k] ? &gradients[next++] : nullptr;
      if (varies(k)) NNC_TRY(compare_operand(k, at, gradient, seeds));
      ++at;
    }
    return {};
  }

  Status compare_operand(size_t operand, size_t at, const EvalTensor* gradient, const std::vector<EvalTensor>& seeds) {
    const auto count = static_cast<size_t>(inputs_[at].count());
    if (count <= static_cast<size_t>(kWholeJacobian)) {
      for (size_t e = 0; e < count; ++e) {
        std::vector<double> direction(count, 0.0);
        direction[e] = 1;
        NNC_TRY(compare_direction(operand, at, direction, gradient == nullptr ? 0 : gradient->f[e], seeds, cat("element ", e)));
      }
      return {};
    }
    for (int round = 0; round < 3; ++round) {
      std::vector<double> direction(count);
      double expected = 0;
      for (size_t e = 0; e < count; ++e) {
        direction[e] = draw_.uniform(-1, 1);
        expected += gradient == nullptr ? 0 : gradient->f[e] * direction[e];
      }
      NNC_TRY(compare_direction(operand, at, direction, expected, seeds, cat("direction ", round)));
    }
    return {};
  }

  Status compare_direction(size_t operand, size_t at, const std::vector<double>& direction, double analytic,
                           const std::vector<EvalTensor>& seeds, const std::string& what) {
    double side[2];
    for (int s = 0; s < 2; ++s) {
      std::vector<EvalTensor> moved = inputs_;
      for (size_t e = 0; e < direction.size(); ++e) moved[at].f[e] += (s == 0 ? kStep : -kStep) * direction[e];
      NNC_ASSIGN(const std::vector<EvalTensor> results, forward_.run(std::move(moved)));
      side[s] = weigh(results, seeds);
    }
    const double numeric = (side[0] - side[1]) / (2 * kStep);
    const double allowed = c_.atol + c_.rtol * std::max(std::fabs(numeric), std::fabs(analytic));
    if (!(std::fabs(numeric - analytic) <= allowed)) {
      ADD_FAILURE() << op_name(c_.kind) << " " << c_.name << ": operand " << operand << ", " << what << ": gradient " << analytic
                    << ", finite difference " << numeric;
    }
    return {};
  }

  const GradientCase& c_;
  Draw draw_;
  Program forward_, backward_;
  std::vector<EvalTensor> inputs_;
};

}  // namespace

void check_gradient(const GradientCase& c) {
  ASSERT_NE(op_def(c.kind).gradient, nullptr) << op_name(c.kind);
  Check check(c);
  const Status s = check.run();
  EXPECT_TRUE(s.ok()) << op_name(c.kind) << " " << c.name << ": " << s.error().str();
}

}  // namespace nnc

#pragma once
// Gradients of rows against finite differences of their evaluation, in f64. A case names an op, its operands and attributes; all float
// operands are varied, others are parameters. Small cases compare the whole Jacobian, larger ones random directions. Case tables are one
// function per file gradient_cases_*.cpp.

#include <string>
#include <vector>

#include "ir/builder.h"
#include "tests/unit/ir/one_op.h"

namespace nnc {

struct GradientOperand {
  std::vector<int64_t> dims = {};
  DType dtype = DType::kF64;        // f64: drawn from [lo, hi); others need values
  std::vector<double> values = {};  // given instead of drawn
  bool drawn_from_row = true;       // lo, hi of the row's domain instead of the next two
  double lo = -1, hi = 1;
  bool given = true;   // false: an absent optional operand
  bool varied = true;  // false: no gradient is asked of it (running statistics, lengths)
};

struct GradientCase {
  std::string name = {};  // in messages; also seeds the drawing
  OpKind kind = OpKind::kCount;
  std::vector<GradientOperand> operands = {};
  AttrList attrs = {};
  bool symbolic =
      false;  // every extent above 1 of the inputs becomes a symbol (equal extents one symbol): attributes must not depend on them
  double rtol = 1e-5, atol = 1e-8;
};

// Fails the running test where analytic and numeric gradients differ.
void check_gradient(const GradientCase& c);

std::vector<GradientCase> elementwise_gradient_cases();
std::vector<GradientCase> movement_gradient_cases();
std::vector<GradientCase> neural_gradient_cases();  // reductions, norms, contractions, windows, attention, recurrent

}  // namespace nnc

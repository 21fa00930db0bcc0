#pragma once
// One op as a kernel against its reference evaluation, on CPU targets: cases are data.

#include <string>
#include <vector>

#include "tests/unit/ir/one_op.h"

namespace nnc {

using Dims = std::vector<int64_t>;
inline Shape shape_of(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

struct KernelCase {
  std::string name = {};
  OpKind kind = OpKind::kCount;
  std::vector<EvalTensor> operands = {};
  AttrList attrs = {};
  bool symbolic = false;  // extents above 2 of the operands become symbols, equal ones the same
};

// Drawn values inside the domain; where `special`, mixed with NaN, infinities, signed zeros, subnormals and the edges of integers.
EvalTensor draw_tensor(DType dtype, const Dims& dims, Draw& draw, Domain domain, bool special);

// Fails the running test where a kernel's result differs from the evaluation by more than the row's tolerance.
void check_kernel(const KernelCase& c);

}  // namespace nnc

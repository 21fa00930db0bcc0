#pragma once
// Element access and scalar rules for the reference evaluations of elementwise and moving ops. Elements are moved by tables of source
// offsets (ir/ops/eval_index.h): slow, and easy to see through.

#include <span>
#include <vector>

#include "ir/eval.h"
#include "ir/ops/eval_index.h"
#include "ir/ops/evals.h"
#include "ir/support/text.h"

namespace nnc {

// Calls f(coordinates) for every coordinate of `dims` in row-major order.
template <class F> void for_each_coordinate(std::span<const int64_t> dims, F&& f) {
  std::vector<int64_t> at(dims.size());
  for (int64_t left = element_count(dims); left > 0; --left) {
    f(std::span<const int64_t>(at));
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++at[axis] < dims[axis]) break;
      at[axis] = 0;
    }
  }
}

// Element `to` of `out` = element `from` of `in`; both have one dtype.
void copy_element(const EvalTensor& in, int64_t from, EvalTensor& out, int64_t to);
// out[j] = in[source[j]] for all j; a negative source leaves out[j] as it is.
void take(const EvalTensor& in, std::span<const int64_t> source, EvalTensor& out);

// Operand index `v` of an axis of `extent` elements with negative ones counted from the end; the error names both. `u64` indices above 2^63
// are out of range.
Result<int64_t> wrap_index(const EvalTensor& indices, int64_t k, int64_t extent, int64_t axis);
// The extents agree with what the type or a rule says at this moment, else an error that names `what`.
Status require_extent(int64_t got, int64_t expected, std::string_view what);

double nan_min(double a, double b);  // NaN wins, -0 < +0
double nan_max(double a, double b);
// Truncated toward zero, saturated to integer type t; NaN gives 0.
int64_t saturate_to_int(DType t, double v);
// v rounded once to a float type, with the chosen behaviour out of range.
double narrow_float(DType t, double v, Overflow overflow);

}  // namespace nnc

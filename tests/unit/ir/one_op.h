#pragma once
// Builds a graph of one op and runs it in the reference interpreter: for tests of rows.

#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/eval.h"

namespace nnc {

// Tensors on carriers from plain numbers; f16 and the like are rounded.
EvalTensor floats(std::vector<int64_t> dims, std::vector<double> values, DType dtype = DType::kF32);
EvalTensor ints(std::vector<int64_t> dims, std::vector<int64_t> values, DType dtype = DType::kI64);
EvalTensor texts(std::vector<int64_t> dims, std::vector<std::string> values);
inline EvalTensor absent() { return {}; }  // an operand that is not given

Type type_of(const EvalTensor& t);

// The first result of the op on these operands, or the error of building or running it. `symbols`: names of data symbols minted for an
// attribute `count`.
Result<EvalTensor> eval_one(OpKind kind, std::vector<EvalTensor> operands, AttrList attrs = {});
// The extents and dtype as text, then the elements: "f32[2] 1 -0 nan".
std::string text(const EvalTensor& t);
// `text` of the result, or "error: " and the message.
std::string eval_text(OpKind kind, std::vector<EvalTensor> operands, AttrList attrs = {});

// Drawing that depends on nothing but its seed.
class Draw {
 public:
  explicit Draw(const std::string& seed);
  uint64_t next();
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  double uniform(double lo, double hi) { return lo + (hi - lo) * static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace nnc

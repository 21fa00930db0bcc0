#pragma once
// Single ops as data: the files cases/*.txt (written by make_op_cases.py), and running one op on given operands.

#include <string>
#include <vector>

#include "ir/eval.h"

namespace nnc::test {

struct OpCase {
  std::string name, op;
  AttrList attrs;
  std::vector<EvalTensor> inputs;    // dtype kInvalid: absent
  std::vector<EvalTensor> outputs;   // dtype kInvalid: not checked
  std::vector<std::string> storage;  // names of the attributes live here
};

// The cases of tests/unit/ir/cases/NAME.txt.
std::vector<OpCase> load_op_cases(const std::string& name);

// Appends the op to a fresh graph whose inputs are the operands, verifies nothing else, and evaluates it. `anchored`: floats stay f64.
Result<std::vector<EvalTensor>> run_op(OpKind kind, const std::vector<EvalTensor>& inputs, const AttrList& attrs, bool anchored = true);

EvalTensor floats(DType dtype, std::vector<int64_t> dims, std::vector<double> values);
EvalTensor ints(DType dtype, std::vector<int64_t> dims, std::vector<int64_t> values);

// Empty if equal: integers exactly, floats within abs + rel * |want|, NaN and infinities in the same places.
std::string difference(const EvalTensor& got, const EvalTensor& want, double rel, double abs);

}  // namespace nnc::test

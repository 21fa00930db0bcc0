#pragma once
// Single ops as data: the files cases/*.txt (written by make_op_cases.py), and running one op on given operands.

#include <string>
#include <vector>

#include "ir/eval.h"

namespace nnc::test {

struct OpCase {
  std::string name, op;
  AttrList attrs;
  std::vector<EvalTensor> inputs;   // dtype kInvalid: absent
  std::vector<EvalTensor> outputs;  // dtype kInvalid: not checked
};

// The cases of tests/unit/ir/cases/NAME.txt.
std::vector<OpCase> load_op_cases(const std::string& name);

// Names arguments and results of the only entry by their number, as the verifier wants them.
void number_arguments(Module& m);

// All results of the op on a fresh graph whose inputs are the operands. `anchored`: floats stay f64. `expanded`: of what the row's expand
// makes of it, which must verify.
struct RunMode {
  bool anchored = true, expanded = false;
};
Result<std::vector<EvalTensor>> run_op(OpKind kind, const std::vector<EvalTensor>& inputs, const AttrList& attrs, RunMode mode = {});

// Empty if equal: integers exactly, floats within abs + rel * |want|, NaN and infinities in the same places.
std::string difference(const EvalTensor& got, const EvalTensor& want, double rel, double abs);

}  // namespace nnc::test

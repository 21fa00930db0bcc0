#pragma once
// Functions of the reduce family's rows that live outside reduce.cpp.

#include "ir/op.h"

namespace nnc {

Status eval_reduce(EvalContext& c);
Status eval_arg_reduce(EvalContext& c);
Status eval_cumsum(EvalContext& c);
Status gradient_reduce(GradContext& c);
Status gradient_cumsum(GradContext& c);

}  // namespace nnc

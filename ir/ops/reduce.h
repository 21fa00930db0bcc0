#pragma once
// Functions of the reduce family's rows that live outside reduce.cpp.

#include "ir/op.h"

namespace nnc {

void body_reduce(BodyContext& c);
void body_arg_reduce(BodyContext& c);
void body_cumsum(BodyContext& c);
Status eval_reduce(EvalContext& c);
Status eval_arg_reduce(EvalContext& c);
Status eval_cumsum(EvalContext& c);
Status gradient_reduce(GradContext& c);
Status gradient_cumsum(GradContext& c);

}  // namespace nnc

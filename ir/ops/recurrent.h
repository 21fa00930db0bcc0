#pragma once
// Functions of the recurrent family's rows that live outside recurrent.cpp.

#include "ir/op.h"

namespace nnc {

Status eval_lstm(EvalContext& c);
Status gradient_lstm(GradContext& c);

}  // namespace nnc

#pragma once
// Functions of the resize family's rows that live outside resize.cpp.

#include "ir/op.h"

namespace nnc {

Status eval_resize(EvalContext& c);
Status eval_resize_grad(EvalContext& c);
Status gradient_resize(GradContext& c);
Status gradient_resize_grad(GradContext& c);

}  // namespace nnc

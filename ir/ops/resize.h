#pragma once
// Functions of the resize family's rows that live outside resize.cpp.

#include "ir/op.h"

namespace nnc {

void body_resize(BodyContext& c);
void body_resize_grad(BodyContext& c);
Status eval_resize(EvalContext& c);
Status eval_resize_grad(EvalContext& c);
Status gradient_resize(GradContext& c);
Status gradient_resize_grad(GradContext& c);

}  // namespace nnc

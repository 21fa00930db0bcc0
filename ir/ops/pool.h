#pragma once
// Functions of the pool family's rows that live outside pool.cpp.

#include "ir/ops/windows.h"

namespace nnc {

void body_pool(BodyContext& c);
void body_max_pool_indices(BodyContext& c);
void body_pool_grad(BodyContext& c);
Status eval_pool(EvalContext& c);
Status eval_max_pool_indices(EvalContext& c);
Status eval_pool_grad(EvalContext& c);
Status gradient_pool(GradContext& c);
Status gradient_pool_grad(GradContext& c);

}  // namespace nnc

#pragma once
// The gradients that rows name, from ir/ops/<family>_gradient.cpp. Each appends ops; an operand whose gradient id stays invalid receives
// none (zero).

#include "ir/op.h"

namespace nnc {

Status gradient_unary(GradContext& c);
Status gradient_cast(GradContext& c);
Status gradient_binary(GradContext& c);
Status gradient_where(GradContext& c);
Status gradient_clip(GradContext& c);
Status gradient_range(GradContext& c);
Status gradient_reshape(GradContext& c);
Status gradient_transpose(GradContext& c);
Status gradient_broadcast_to(GradContext& c);
Status gradient_slice(GradContext& c);
Status gradient_concat(GradContext& c);
Status gradient_pad(GradContext& c);
Status gradient_tile(GradContext& c);
Status gradient_trilu(GradContext& c);
Status gradient_gather(GradContext& c);
Status gradient_gather_elements(GradContext& c);
Status gradient_gather_nd(GradContext& c);
Status gradient_scatter(GradContext& c);
Status gradient_one_hot(GradContext& c);
Status gradient_pack(GradContext& c);

}  // namespace nnc

#pragma once
// The reference evaluations that rows name, from ir/ops/<family>_eval.cpp. Several rows share one function that looks at its node's kind.

#include "ir/op.h"

namespace nnc {

Status eval_unary(EvalContext& c);
Status eval_cast(EvalContext& c);
Status eval_binary(EvalContext& c);
Status eval_compare(EvalContext& c);
Status eval_where(EvalContext& c);
Status eval_clip(EvalContext& c);
Status eval_quantize(EvalContext& c);
Status eval_dequantize(EvalContext& c);
Status eval_constant(EvalContext& c);
Status eval_range(EvalContext& c);
Status eval_dims_value(EvalContext& c);
Status eval_bind_dims(EvalContext& c);
Status eval_assert_dims(EvalContext& c);
Status eval_assert_value(EvalContext& c);
Status eval_resolve_reshape(EvalContext& c);
Status eval_reshape(EvalContext& c);
Status eval_transpose(EvalContext& c);
Status eval_broadcast_to(EvalContext& c);
Status eval_slice(EvalContext& c);
Status eval_concat(EvalContext& c);
Status eval_pad(EvalContext& c);
Status eval_tile(EvalContext& c);
Status eval_trilu(EvalContext& c);
Status eval_gather(EvalContext& c);
Status eval_gather_elements(EvalContext& c);
Status eval_gather_nd(EvalContext& c);
Status eval_scatter_elements(EvalContext& c);
Status eval_scatter_nd(EvalContext& c);
Status eval_one_hot(EvalContext& c);
Status eval_non_zero(EvalContext& c);
Status eval_pack(EvalContext& c);
Status eval_unpack(EvalContext& c);

}  // namespace nnc

#pragma once
// The kernel bodies that rows name, from ir/ops/<family>_body.cpp; their form follows from the row's lowering class (ir/body.h).

#include "ir/op.h"

namespace nnc {

void body_unary(BodyContext& c);
void body_cast(BodyContext& c);
void body_binary(BodyContext& c);
void body_pow(BodyContext& c);
void body_where(BodyContext& c);
void body_clip(BodyContext& c);
void body_range(BodyContext& c);
void body_dims_value(BodyContext& c);
void body_reshape(BodyContext& c);
void body_transpose(BodyContext& c);
void body_broadcast_to(BodyContext& c);
void body_slice(BodyContext& c);
void body_concat(BodyContext& c);
void body_pad(BodyContext& c);
void body_tile(BodyContext& c);
void body_trilu(BodyContext& c);
void body_gather(BodyContext& c);
void body_gather_elements(BodyContext& c);
void body_gather_nd(BodyContext& c);
void body_scatter_elements(BodyContext& c);
void body_scatter_nd(BodyContext& c);
void body_one_hot(BodyContext& c);
void body_pack(BodyContext& c);
void body_unpack(BodyContext& c);

}  // namespace nnc

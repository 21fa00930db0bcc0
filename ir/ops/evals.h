#pragma once
// The reference evaluations that rows name, from ir/ops/<family>_eval.cpp. Several rows share one function that looks at its node's kind.

#include "ir/op.h"

namespace nnc {

constexpr Status (*eval_unary)(EvalContext&) = nullptr;
constexpr Status (*eval_cast)(EvalContext&) = nullptr;
constexpr Status (*eval_binary)(EvalContext&) = nullptr;
constexpr Status (*eval_compare)(EvalContext&) = nullptr;
constexpr Status (*eval_where)(EvalContext&) = nullptr;
constexpr Status (*eval_clip)(EvalContext&) = nullptr;
constexpr Status (*eval_quantize)(EvalContext&) = nullptr;
constexpr Status (*eval_dequantize)(EvalContext&) = nullptr;
constexpr Status (*eval_constant)(EvalContext&) = nullptr;
constexpr Status (*eval_range)(EvalContext&) = nullptr;
constexpr Status (*eval_dims_value)(EvalContext&) = nullptr;
constexpr Status (*eval_bind_dims)(EvalContext&) = nullptr;
constexpr Status (*eval_assert_dims)(EvalContext&) = nullptr;
constexpr Status (*eval_assert_value)(EvalContext&) = nullptr;
constexpr Status (*eval_resolve_reshape)(EvalContext&) = nullptr;
constexpr Status (*eval_reshape)(EvalContext&) = nullptr;
constexpr Status (*eval_transpose)(EvalContext&) = nullptr;
constexpr Status (*eval_broadcast_to)(EvalContext&) = nullptr;
constexpr Status (*eval_slice)(EvalContext&) = nullptr;
constexpr Status (*eval_concat)(EvalContext&) = nullptr;
constexpr Status (*eval_pad)(EvalContext&) = nullptr;
constexpr Status (*eval_tile)(EvalContext&) = nullptr;
constexpr Status (*eval_trilu)(EvalContext&) = nullptr;
constexpr Status (*eval_gather)(EvalContext&) = nullptr;
constexpr Status (*eval_gather_elements)(EvalContext&) = nullptr;
constexpr Status (*eval_gather_nd)(EvalContext&) = nullptr;
constexpr Status (*eval_scatter_elements)(EvalContext&) = nullptr;
constexpr Status (*eval_scatter_nd)(EvalContext&) = nullptr;
constexpr Status (*eval_one_hot)(EvalContext&) = nullptr;
constexpr Status (*eval_non_zero)(EvalContext&) = nullptr;
constexpr Status (*eval_pack)(EvalContext&) = nullptr;
constexpr Status (*eval_unpack)(EvalContext&) = nullptr;

}  // namespace nnc

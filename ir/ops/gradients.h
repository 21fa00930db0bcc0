#pragma once
// The gradients that rows name, from ir/ops/<family>_gradient.cpp. Each appends ops; an operand whose gradient id stays invalid receives none (zero).

#include "ir/op.h"

namespace nnc {

constexpr Status (*gradient_unary)(GradContext&) = nullptr;
constexpr Status (*gradient_cast)(GradContext&) = nullptr;
constexpr Status (*gradient_binary)(GradContext&) = nullptr;
constexpr Status (*gradient_where)(GradContext&) = nullptr;
constexpr Status (*gradient_clip)(GradContext&) = nullptr;
constexpr Status (*gradient_range)(GradContext&) = nullptr;
constexpr Status (*gradient_reshape)(GradContext&) = nullptr;
constexpr Status (*gradient_transpose)(GradContext&) = nullptr;
constexpr Status (*gradient_broadcast_to)(GradContext&) = nullptr;
constexpr Status (*gradient_slice)(GradContext&) = nullptr;
constexpr Status (*gradient_concat)(GradContext&) = nullptr;
constexpr Status (*gradient_pad)(GradContext&) = nullptr;
constexpr Status (*gradient_tile)(GradContext&) = nullptr;
constexpr Status (*gradient_trilu)(GradContext&) = nullptr;
constexpr Status (*gradient_gather)(GradContext&) = nullptr;
constexpr Status (*gradient_gather_elements)(GradContext&) = nullptr;
constexpr Status (*gradient_gather_nd)(GradContext&) = nullptr;
constexpr Status (*gradient_scatter)(GradContext&) = nullptr;
constexpr Status (*gradient_one_hot)(GradContext&) = nullptr;
constexpr Status (*gradient_pack)(GradContext&) = nullptr;

}  // namespace nnc

#pragma once
// The CPU's convolution kernels. Internal to the skeletons.

#include "codegen/conv_facts.h"

namespace nnc {

LoweredKernel lower_conv_product(const Graph& g, const Target& target, const ConvFacts& f, const LowerOptions& options);
LoweredKernel lower_depthwise(const Graph& g, const Target& target, const ConvFacts& f, const LowerOptions& options);

}  // namespace nnc

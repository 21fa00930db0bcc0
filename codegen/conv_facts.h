#pragma once
// What the convolution skeletons agree on, whatever their target. Internal to the skeletons.

#include <vector>

#include "codegen/contraction.h"

namespace nnc {

struct ConvFacts {
  const Node* node = nullptr;
  ValueId x, w, bias, result;
  size_t spatial = 2;
  std::vector<Dim> kernel;  // graph dims
  std::vector<int64_t> stride, dilation;
  std::vector<Dim> pad_begin, reach;  // reach: extent of the padded input that is read
  bool padded = false, packed = false;
  int64_t group = 1;
  Dim in_channels, out_channels;  // per group
  DType acc = DType::kF32;
};

Result<ConvFacts> conv_facts(const Graph& g);
Result<LoweredGroup> lower_convolution_cuda(const Graph& g, const ConvFacts& f, const Target& target, const LowerOptions& options);

}  // namespace nnc

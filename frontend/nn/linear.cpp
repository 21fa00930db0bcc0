#include "frontend/nn/linear.h"

#include <cmath>

#include "ir/base/philox.h"
#include "ir/support/text.h"

namespace nnc::nn {

Tensor Generator::uniform(std::vector<int64_t> dims, double lo, double hi) {
  Tensor t(DType::kF32, std::move(dims));
  const uint64_t stream = stream_++;
  std::span<float> all = t.as_mut<float>();
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(lo + (hi - lo) * philox_unit(philox_element(key_, stream, i)));
  return t;
}

Generator& default_generator() {
  static thread_local Generator generator;
  return generator;
}

Linear::Linear(int64_t in, int64_t out, bool with_bias, Generator& generator) {
  NNC_CHECK(in >= 0 && out >= 0, "a layer has no negative number of features");
  const double bound = in > 0 ? 1 / std::sqrt(static_cast<double>(in)) : 0;
  weight = generator.uniform({out, in}, -bound, bound);
  if (with_bias) bias = generator.uniform({out}, -bound, bound);
}

trace::Value Linear::forward(trace::Trace& t, trace::Value x, const std::string& name, trace::Where where) const {
  const trace::Value w = t.state(cat(name, ".weight"), weight, where);
  return trace::linear(x, w, bias.valid() ? t.state(cat(name, ".bias"), bias, where) : trace::Value(), where);
}

}  // namespace nnc::nn

#pragma once
// The uniform doubles of NumPy's RandomState: what ONNX's reference gives to operators with a seed.

#include <array>
#include <cstddef>
#include <cstdint>

namespace nnc::onnx {

// MT19937, seeded by one number.
class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed);
  double uniform();  // in [0, 1), of 53 bits

 private:
  static constexpr size_t kSize = 624, kShift = 397;
  uint32_t next();
  void refill();

  std::array<uint32_t, kSize> state_{};
  size_t at_ = kSize;
};

}  // namespace nnc::onnx

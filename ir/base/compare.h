#pragma once
// How far a tensor is from the one that was expected: the verdict by numpy's allclose rule and the figures that say why. For `--expect`,
// the comparison of backends and the tests; which tolerance is right for an op is the op table's matter.

#include <cstdint>
#include <string>
#include <vector>

#include "ir/base/tensor.h"

namespace nnc {

// An element passes if |got - expected| <= atol + rtol * |expected|. NaN passes against NaN only, an infinity against the same one.
struct CompareTolerance {
  double rtol = 1e-5, atol = 1e-8;
};

// Figures over the elements that are finite on both sides.
struct Comparison {
  bool pass = false;
  int64_t count = 0;
  int64_t over = 0;             // elements out of tolerance, the differing NaN and infinities included
  int64_t special_differs = 0;  // positions where one side is NaN or infinite and the other is not the same
  double max_abs = 0;
  double max_rel = 0;    // |got - expected| / |expected|, where expected is not 0
  uint64_t max_ulp = 0;  // steps between neighbours of the dtype; integers: the difference
  double cosine = 1;     // of the whole tensors; 1 if both are zero, 0 if one is
  int64_t worst = -1;    // the element farthest out of tolerance, or with the largest difference if all pass; -1 if there is none
  std::vector<int64_t> worst_index;
  std::string worst_got, worst_expected;  // its values, as text

  double over_share() const { return count == 0 ? 0 : double(over) / double(count); }
  // One line for people: "FAIL  3 of 1000 elements over ...".
  std::string str() const;
};

// Strings and bools compare exactly, integers by the same rule as floats but with exact differences, complex numbers by modulus. Another
// dtype or other extents are a kMismatch error.
Result<Comparison> compare(const Tensor& got, const Tensor& expected, CompareTolerance tolerance = {});

}  // namespace nnc

#pragma once
// Small random modules, built through Builder, for tests that need many different ones. Uses element-wise, movement and reduction ops,
// symbolic dims, constants, locations, states, an `if` region and shape values.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "ir/builder.h"
#include "ir/text.h"

namespace nnc::test {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  uint64_t next() { return mix64(state_ += kGolden); }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }

 private:
  uint64_t state_;
};

std::unique_ptr<Module> random_module(uint64_t seed);

// The module that `text` says; fails the test where it does not parse.
std::unique_ptr<Module> parsed(std::string_view text);

}  // namespace nnc::test

#pragma once
// A small artifact without native code, cut and changed bit by bit.

#include <cstddef>
#include <string>

#include "ir/support/bytes.h"
#include "tests/conformance/isolated.h"

namespace nnc::test {

// An artifact of at most 16 KiB for cpu:vm with constants, symbolic extents, a fold, a branch and a loop in its plan.
Bytes small_artifact();

// The whole file's answer to the call that is tried.
std::string answer_of(const Bytes& artifact);

// Truncated to `size` bytes: a clean error, or bad.
ItemResult try_truncated(const Bytes& good, size_t size);
// One bit changed and the checksums left: a clean error, or bad.
ItemResult try_flipped(const Bytes& good, size_t bit);
// One bit changed and the checksums made anew: a clean error, or a run whose every access the interpreter checks ("ran", and "same" where
// the answer is the good one).
ItemResult try_resealed(const Bytes& good, size_t bit, const std::string& answer);

}  // namespace nnc::test

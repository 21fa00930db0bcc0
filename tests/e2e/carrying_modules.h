#pragma once
// The modules of the carrying tests b to e (a: training.h); for the tests from C++ and the one from C.

#include "ir/graph.h"

namespace nnc::test {

inline constexpr int64_t kDecodeWidth = 16, kDecodeTokens = 100;
// b. x f32[1, 16], past f32[past, 16] with a bounded `past` -> y f32[1, 16], present f32[past + 1, 16].
void build_decode(Module& m);
inline constexpr int64_t kFoundRows = 64, kFoundWidth = 24;
// c. keep bool[64], x f32[64, 24] -> y f32[found, 20].
void build_found(Module& m);
inline constexpr int64_t kLoopWidth = 32;
// d. x f32[1, 32], trips i64[] -> y f32[1, 32].
void build_loop(Module& m);
inline constexpr int64_t kStackWidth = 256;
// e. x f32[n, 256] -> y f32[n, 256]: four dense layers, whose weights' bytes are returned.
int64_t build_stack(Module& m);

}  // namespace nnc::test

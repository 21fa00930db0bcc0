#pragma once
// The modules of the carrying tests a to d; for the tests from C++ and the one from C.

#include "ir/graph.h"

namespace nnc::test {

// a. states w1 [16, 32], b1 [32], w2 [32, 10], b2 [10]; train_step: x f32[32, 16], labels i64[32] -> loss, and the states after one step of
// SGD; eval_step: the same -> loss, logits.
inline constexpr int64_t kTrainBatch = 32, kTrainIn = 16, kTrainHidden = 32, kTrainClasses = 10;
inline constexpr float kTrainRate = 0.5f;
void build_training(Module& m);
inline constexpr int64_t kDecodeWidth = 16, kDecodeTokens = 100;
// b. x f32[1, 16], past f32[past, 16] with a bounded `past` -> y f32[1, 16], present f32[past + 1, 16].
void build_decode(Module& m);
inline constexpr int64_t kFoundRows = 64, kFoundWidth = 24;
// c. keep bool[64], x f32[64, 24] -> y f32[found, 20].
void build_found(Module& m);
inline constexpr int64_t kLoopWidth = 32;
// d. x f32[1, 32], trips i64[] -> y f32[1, 32].
void build_loop(Module& m);

}  // namespace nnc::test

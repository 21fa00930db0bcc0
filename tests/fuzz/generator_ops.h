#pragma once
// What the generator can make: one line per op row, with a maker that adds a node of it (and what it needs) to a sketch. A maker may
// decline by adding nothing. Rows without a maker are listed with the reason.

#include <span>
#include <string_view>

#include "tests/fuzz/sketch.h"

namespace nnc::test {

struct OpMaker {
  OpKind kind;
  int weight;  // how often, relative to the others
  void (*make)(Sketch&, OpKind);
};
std::span<const OpMaker> op_makers();

struct OpWithoutMaker {
  OpKind kind;
  std::string_view reason;
};
std::span<const OpWithoutMaker> ops_without_maker();

// Several nodes that passes look for together (generator_patterns.cpp).
struct Pattern {
  int weight;
  void (*make)(Sketch&);
};
std::span<const Pattern> patterns();

// By family.
void make_exact_unary(Sketch&, OpKind);  // any dtype, to the last bit
void make_rounding(Sketch&, OpKind);     // discontinuous: exact floats
void make_float_unary(Sketch&, OpKind);  // to the last bit where the operand is; roots of exact values alone
void make_math(Sketch&, OpKind);         // within units of the last place
void make_not(Sketch&, OpKind);
void make_cast(Sketch&, OpKind);
void make_arithmetic(Sketch&, OpKind);
void make_division(Sketch&, OpKind);
void make_pow(Sketch&, OpKind);
void make_compare(Sketch&, OpKind);
void make_logic(Sketch&, OpKind);
void make_where(Sketch&, OpKind);
void make_clip(Sketch&, OpKind);
void make_quantize(Sketch&, OpKind);

void make_source(Sketch&, OpKind);
void make_view(Sketch&, OpKind);
void make_concat(Sketch&, OpKind);
void make_pad(Sketch&, OpKind);
void make_tile(Sketch&, OpKind);
void make_trilu(Sketch&, OpKind);
void make_gather(Sketch&, OpKind);
void make_scatter(Sketch&, OpKind);
void make_one_hot(Sketch&, OpKind);
void make_panels(Sketch&, OpKind);

void make_reduce(Sketch&, OpKind);
void make_arg_reduce(Sketch&, OpKind);
void make_cumsum(Sketch&, OpKind);
void make_norm(Sketch&, OpKind);
void make_cross_entropy(Sketch&, OpKind);
void make_pool(Sketch&, OpKind);
void make_pool_grad(Sketch&, OpKind);
void make_resize(Sketch&, OpKind);
void make_rotary(Sketch&, OpKind);
void make_matmul(Sketch&, OpKind);
void make_conv(Sketch&, OpKind);
void make_conv_grad(Sketch&, OpKind);
void make_attention(Sketch&, OpKind);
void make_lstm(Sketch&, OpKind);
// What follows a hero: a few elementwise ops on its result.
void make_epilogue(Sketch&);

void make_non_zero(Sketch&, OpKind);
void make_bind_dims(Sketch&, OpKind);
void make_assertion(Sketch&, OpKind);
void make_resolve_reshape(Sketch&, OpKind);
void make_if(Sketch&, OpKind);
void make_loop(Sketch&, OpKind);

}  // namespace nnc::test

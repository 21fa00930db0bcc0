#pragma once
// What gradients and expansions of composite ops are spelled with, on top of ir/ops/gradient_util.h.

#include "ir/ops/gradient_util.h"

namespace nnc {

// The dtype that composite ops compute in: f32 for narrower floats.
DType compute_float(DType t);

// Attributes of `node` that the row of `to` has too, as given; `more` replaces or adds.
AttrList shared_attrs(const Node& node, OpKind to, AttrList more = {});

struct ExpansionContext {
  GradContext context;
};
// An expansion writes ops like a gradient does, without gradients.
class Expansion : private ExpansionContext, public Gradient {
 public:
  Expansion(Builder& b, const Graph& g, NodeId id) : ExpansionContext{{b, g, id, {}, nullptr}}, Gradient(context) {}
  Status finish(std::vector<ValueId> values, std::vector<ValueId>* results) {
    NNC_TRY(Gradient::finish());
    *results = std::move(values);
    return {};
  }
};

// Reduction with kept axes.
ValueId reduced(Gradient& t, const char* kind, ValueId x, std::vector<int64_t> axes);
// The product of the dims as a scalar of x's dtype.
ValueId element_count_of(Gradient& t, const Shape& dims, ValueId like);
ValueId broadcast(Gradient& t, ValueId x, const Shape& shape);
std::vector<int64_t> axes_from(int64_t first, size_t rank);
// A vector along `axis` of tensors of rank `rank`.
ValueId along(Gradient& t, ValueId vector, size_t axis, size_t rank);

}  // namespace nnc

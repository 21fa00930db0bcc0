#include "ir/types.h"

#include "ir/support/text.h"

namespace nnc {

namespace {

template <class ShapeText> std::string spell(const Type& t, ShapeText&& shape_text) {
  if (t.kind == Type::Kind::kToken) return "token";
  const std::string element = cat(dtype_name(t.dtype), t.has_shape ? shape_text(t.shape) : std::string("[?]"));
  switch (t.kind) {
    case Type::Kind::kTensor: return element;
    case Type::Kind::kSequence: return cat("seq<", element, ">");
    case Type::Kind::kOptional: return cat("opt<", element, ">");
    case Type::Kind::kOptionalSequence: return cat("opt<seq<", element, ">>");
    case Type::Kind::kToken: break;
  }
  return "token";
}

}  // namespace

std::string type_str(const SymbolTable& symbols, const Type& t) {
  return spell(t, [&](const Shape& s) { return symbols.str(std::span<const Dim>(s)); });
}

std::string type_pretty(const SymbolTable& symbols, const Type& t) {
  return spell(t, [&](const Shape& s) { return cat("[", join(s, ", ", [&](const Dim& d) { return symbols.pretty(d); }), "]"); });
}

}  // namespace nnc

// Attributes: kinds, defaults, typed access from a node, arrangement in the row's order.

#include "ir/graph.h"
#include "ir/support/text.h"

namespace nnc {

std::string_view attr_kind_name(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt: return "int";
    case AttrKind::kFloat: return "float";
    case AttrKind::kString: return "string";
    case AttrKind::kInts: return "ints";
    case AttrKind::kFloats: return "floats";
    case AttrKind::kStrings: return "strings";
    case AttrKind::kDims: return "dims";
    case AttrKind::kDType: return "dtype";
    case AttrKind::kConst: return "constant";
    case AttrKind::kSymbols: return "symbols";
  }
  return "?";
}

bool holds(AttrKind kind, const AttrValue& v) { return v.index() == static_cast<size_t>(kind) + 1; }
static_assert(std::is_same_v<std::variant_alternative_t<static_cast<size_t>(AttrKind::kSymbols) + 1, AttrValue>, std::vector<SymbolId>>);
static_assert(std::is_same_v<std::variant_alternative_t<static_cast<size_t>(AttrKind::kDims) + 1, AttrValue>, Shape>);

AttrValue default_value(const AttrDef& def) {
  switch (def.kind) {
    case AttrKind::kInt: return def.int_default;
    case AttrKind::kFloat: return def.float_default;
    case AttrKind::kString: return std::string(def.string_default);
    case AttrKind::kInts: return std::vector<int64_t>();
    case AttrKind::kFloats: return std::vector<double>();
    case AttrKind::kStrings: return std::vector<std::string>();
    case AttrKind::kDims: return Shape();
    case AttrKind::kDType: return DType::kInvalid;
    case AttrKind::kConst: return ConstId();
    case AttrKind::kSymbols: return std::vector<SymbolId>();
  }
  return {};
}

namespace {

size_t attr_index(const Node& node, std::string_view name) {
  const std::vector<AttrDef>& defs = node.def().attrs;
  for (size_t k = 0; k < defs.size(); ++k) {
    if (defs[k].name == name) return k;
  }
  NNC_CHECK(false, cat("op ", node.def().name, " has no attribute ", name).c_str());
  return 0;
}

// Defaults of every row, made once: accessors give references.
const AttrValue& row_default(OpKind kind, size_t k) {
  static const std::vector<std::vector<AttrValue>> table = [] {
    std::vector<std::vector<AttrValue>> all(static_cast<size_t>(OpKind::kCount));
    for (const OpDef* def : all_ops()) {
      for (const AttrDef& a : def->attrs) all[static_cast<size_t>(def->kind)].push_back(default_value(a));
    }
    return all;
  }();
  return table[static_cast<size_t>(kind)][k];
}

template <class T> const T& typed(const Node& node, std::string_view name) {
  const T* v = std::get_if<T>(&node.attr(name));
  NNC_CHECK(v != nullptr, cat("attribute ", name, " of ", node.def().name, " asked for as another kind").c_str());
  return *v;
}

bool is_choice(std::string_view choices, std::string_view word) {
  if (choices.empty()) return true;
  for (std::string_view c : split(choices, '|')) {
    if (c == word) return true;
  }
  return false;
}

}  // namespace

const AttrValue& Node::attr(std::string_view name) const {
  const size_t k = attr_index(*this, name);
  if (k < attrs.size() && attrs[k].index() != 0) return attrs[k];
  return row_default(kind, k);
}
bool Node::has_attr(std::string_view name) const {
  const size_t k = attr_index(*this, name);
  return k < attrs.size() && attrs[k].index() != 0;
}
int64_t Node::i(std::string_view name) const { return typed<int64_t>(*this, name); }
double Node::f(std::string_view name) const { return typed<double>(*this, name); }
std::string_view Node::s(std::string_view name) const { return typed<std::string>(*this, name); }
const std::vector<int64_t>& Node::ints(std::string_view name) const { return typed<std::vector<int64_t>>(*this, name); }
const std::vector<double>& Node::floats(std::string_view name) const { return typed<std::vector<double>>(*this, name); }
const Shape& Node::dims(std::string_view name) const { return typed<Shape>(*this, name); }
DType Node::dtype(std::string_view name) const { return typed<DType>(*this, name); }
ConstId Node::constant(std::string_view name) const { return typed<ConstId>(*this, name); }
const std::vector<SymbolId>& Node::symbols(std::string_view name) const { return typed<std::vector<SymbolId>>(*this, name); }

Result<std::vector<AttrValue>> arrange_attrs(const OpDef& def, AttrList attrs) {
  std::vector<AttrValue> out(def.attrs.size());
  for (NamedAttr& a : attrs) {
    size_t k = 0;
    while (k < def.attrs.size() && def.attrs[k].name != a.name) ++k;
    if (k == def.attrs.size()) {
      return Error(Code::kInvalidIr, cat("op ", def.name, " has no attribute ", quote(a.name),
                                         "; it has: ", join(def.attrs, ", ", [](const AttrDef& d) { return d.name; })));
    }
    const AttrDef& d = def.attrs[k];
    if (a.value.index() == 0) continue;
    if (!holds(d.kind, a.value)) {
      return Error(Code::kInvalidIr, cat("attribute ", d.name, " of ", def.name, " must be of kind ", attr_kind_name(d.kind), ", got ",
                                         attr_kind_name(static_cast<AttrKind>(a.value.index() - 1))));
    }
    out[k] = std::move(a.value);
  }
  for (size_t k = 0; k < out.size(); ++k) {
    const AttrDef& d = def.attrs[k];
    if (out[k].index() == 0 && d.required) return Error(Code::kInvalidIr, cat("op ", def.name, " needs attribute ", d.name));
    const std::string* word = std::get_if<std::string>(&out[k]);
    if (word != nullptr && !is_choice(d.choices, *word)) {
      return Error(Code::kInvalidIr, cat("attribute ", d.name, " of ", def.name, " is ", quote(*word), "; it must be one of ", d.choices));
    }
  }
  return out;
}

}  // namespace nnc

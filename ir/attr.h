#pragma once
// Attributes of nodes. Each op row lists its attributes (name, kind, default); a node stores their values in that order, so printing,
// parsing, hashing and checking are uniform. Enumerations are strings whose choices the row lists.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/base/dim.h"
#include "ir/base/dtype.h"
#include "ir/support/ids.h"

namespace nnc {

struct ConstTag;
using ConstId = Id<ConstTag>;  // into Module::constants

enum class AttrKind : uint8_t { kInt, kFloat, kString, kInts, kFloats, kStrings, kDims, kDType, kConst, kSymbols };

// monostate: absent, take the row's default. kDims also serves single dims (vector of one).
using AttrValue = std::variant<std::monostate, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>, Shape, DType, ConstId, std::vector<SymbolId>>;

struct AttrDef {
  std::string_view name;
  AttrKind kind = AttrKind::kInt;
  bool required = false;
  int64_t int_default = 0;
  double float_default = 0;
  std::string_view string_default = {};
  std::string_view choices = {};  // "sum|prod|max": the legal values of a string
};

std::string_view attr_kind_name(AttrKind kind);
// Whether `v` holds a value of that kind (absent counts as no).
bool holds(AttrKind kind, const AttrValue& v);
// The value that an absent attribute stands for; empty lists and invalid ids where the row cannot give one.
AttrValue default_value(const AttrDef& def);

// For building nodes: {{"axis", int64_t(1)}, {"kind", std::string("sum")}}.
struct NamedAttr {
  std::string_view name;
  AttrValue value;
};
using AttrList = std::vector<NamedAttr>;

}  // namespace nnc

#include "frontend/onnx/context.h"

#include <algorithm>

#include "frontend/onnx/import_model.h"
#include "frontend/onnx/tensor.h"
#include "ir/support/text.h"

namespace nnc::onnx {

NodeContext::NodeContext(Importer& importer, Scope& scope, const NodeProto& node, const OpRow& row, int64_t version, LocId loc,
                         std::vector<ValueId> inputs)
    : importer_(importer),
      scope_(scope),
      node_(node),
      row_(row),
      version_(version),
      builder_(*scope.graph, loc),
      inputs_(std::move(inputs)),
      results_(node.outputs.size()),
      asked_(node.attributes.size(), 0) {}

void NodeContext::out(int i, ValueId v) {
  const auto k = static_cast<size_t>(i);
  if (k < results_.size()) results_[k] = v;
}

Status NodeContext::set(Result<ValueId> v) {
  if (!v.ok()) return std::move(v).error();
  out(0, *v);
  return {};
}

void NodeContext::wrong(std::string message) {
  if (!wrong_) wrong_ = error(std::move(message));
}

const AttributeProto* NodeContext::find(std::string_view name) {
  for (size_t k = 0; k < node_.attributes.size(); ++k) {
    const AttributeProto& a = node_.attributes[k];
    if (a.name != name) continue;
    asked_[k] = 1;
    if (a.ref_attr_name.empty()) return &a;
    if (scope_.call_attributes == nullptr) {
      wrong(cat("attribute ", quote(name), " refers to an attribute of a function, but the node is in no function"));
      return nullptr;
    }
    const auto given = scope_.call_attributes->find(a.ref_attr_name);
    return given == scope_.call_attributes->end() ? nullptr : given->second;
  }
  return nullptr;
}

const AttributeProto* NodeContext::find(std::string_view name, AttributeType type) {
  const AttributeProto* a = find(name);
  if (a == nullptr) return nullptr;
  if (a->type != type && a->type != AttributeType::kUndefined) {
    wrong(cat("attribute ", quote(name), " is of kind ", attribute_type_name(a->type), ", expected ", attribute_type_name(type)));
    return nullptr;
  }
  return a;
}

int64_t NodeContext::i(std::string_view name, int64_t fallback) {
  const AttributeProto* a = find(name, AttributeType::kInt);
  return a == nullptr ? fallback : a->i;
}

double NodeContext::f(std::string_view name, double fallback) {
  const AttributeProto* a = find(name, AttributeType::kFloat);
  return a == nullptr ? fallback : static_cast<double>(a->f);
}

std::string NodeContext::s(std::string_view name, std::string_view fallback) {
  const AttributeProto* a = find(name, AttributeType::kString);
  return std::string(a == nullptr ? fallback : a->s);
}

std::vector<int64_t> NodeContext::ints(std::string_view name) {
  const AttributeProto* a = find(name, AttributeType::kInts);
  return a == nullptr ? std::vector<int64_t>() : a->ints;
}

std::vector<float> NodeContext::floats(std::string_view name) {
  const AttributeProto* a = find(name, AttributeType::kFloats);
  return a == nullptr ? std::vector<float>() : a->floats;
}

std::vector<std::string_view> NodeContext::strings(std::string_view name) {
  const AttributeProto* a = find(name, AttributeType::kStrings);
  return a == nullptr ? std::vector<std::string_view>() : a->strings;
}

Result<std::optional<ConstId>> NodeContext::tensor(std::string_view name) {
  const AttributeProto* a = find(name);
  if (a == nullptr) return std::optional<ConstId>();
  if (a->t != nullptr) {
    NNC_ASSIGN(const ConstId id, importer_.constant_of(*a->t));
    return std::optional(id);
  }
  if (a->sparse == nullptr) return error(cat("attribute ", quote(name), " must hold a tensor"));
  NNC_ASSIGN(const ConstId id, importer_.constant_of(*a->sparse));
  return std::optional(id);
}

const GraphProto* NodeContext::subgraph(std::string_view name) {
  const AttributeProto* a = find(name, AttributeType::kGraph);
  if (a == nullptr || a->g == nullptr) {
    wrong(cat("attribute ", quote(name), " must hold a graph"));
    return nullptr;
  }
  return a->g.get();
}

Result<DType> NodeContext::dtype_attr(std::string_view name, DType fallback) {
  const AttributeProto* a = find(name, AttributeType::kInt);
  if (a == nullptr) return fallback;
  auto t = a->i >= 0 && a->i <= 1000 ? dtype_of(static_cast<DataType>(a->i)) : Error();
  if (!t.ok()) return error(cat("attribute ", quote(name), " = ", a->i, " is no element type"));
  return t;
}

Result<std::string> NodeContext::choice(std::string_view name, std::string_view fallback, std::string_view choices) {
  std::string value = s(name, fallback);
  for (const std::string_view legal : split(choices, '|')) {
    if (value == legal) return value;
  }
  return unsupported(cat("attribute ", quote(name), " = ", quote(value), "; supported: ", choices));
}

Status NodeContext::finish() {
  if (wrong_) return *wrong_;
  for (size_t k = 0; k < asked_.size(); ++k) {
    if (asked_[k] == 0)
      return error(cat("attribute ", quote(node_.attributes[k].name), " is not one of ", node_.op_type, " in opset ", version_));
  }
  return {};
}

Result<std::vector<int64_t>> NodeContext::known_ints(int input, std::string_view what) {
  if (!is_int(dtype(input)) || rank(input) > 1)
    return error(cat(what, " must be an integer scalar or vector, got ", type_pretty(symbols(), type(input))));
  std::vector<int64_t> out;
  if (const Tensor* t = constant(input)) {
    for (int64_t k = 0; k < t->count(); ++k) out.push_back(t->i64(k));
    return out;
  }
  if (const auto dims = graph().shape_value(in(input)).dims()) {
    const bool fixed = std::ranges::all_of(*dims, [](const Dim& d) { return d.is_const(); });
    if (fixed) {
      for (const Dim& d : *dims) out.push_back(d.constant());
      return out;
    }
  }
  if (const auto folded = importer_.fold(graph(), in(input))) {
    for (int64_t k = 0; k < folded->count(); ++k) out.push_back(folded->i64(k));
    return out;
  }
  return importer_.need_values(graph(), in(input), cat(what, " must be known when the model is compiled"));
}

Result<Shape> NodeContext::dims_of(ValueId v, int64_t lo, int64_t hi) {
  const Type& t = builder_.type(v);
  // Chains that pass through a matrix (exporters do that to pads) carry no shape value, but often depend on constants alone.
  if (is_int(t.dtype) && t.rank() <= 1 && !graph().shape_value(v).dims()) {
    if (const auto folded = importer_.fold(graph(), v)) {
      Shape dims;
      for (int64_t k = 0; k < folded->count(); ++k) dims.emplace_back(folded->i64(k));
      return dims;
    }
  }
  return builder_.dims_of(v, lo, hi);
}

Result<int64_t> NodeContext::axis(int64_t a, int rank) const {
  if (a < -rank || a >= rank) return error(cat("axis ", a, " is outside [", -rank, ", ", rank - 1, "]"));
  return a < 0 ? a + rank : a;
}

Result<std::vector<int64_t>> NodeContext::sorted_axes(std::vector<int64_t> axes, int rank) const {
  for (int64_t& a : axes) { NNC_ASSIGN(a, axis(a, rank)); }
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) return error("an axis is named twice");
  return axes;
}

}  // namespace nnc::onnx

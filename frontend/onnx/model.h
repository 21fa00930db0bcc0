#pragma once
// ONNX's messages as plain structs. Every name and every byte string is a view into the file's bytes, which must outlive the model. Nothing
// is checked here beyond the wire format, nesting depth and limits; the importer gives the messages their meaning.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/support/budget.h"
#include "ir/support/bytes.h"
#include "ir/support/result.h"

namespace nnc::onnx {

// Numbers of TensorProto.DataType, as files have them; anything else stays as it is and is an error where it matters.
enum class DataType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kInt32,
  kInt64,
  kString,
  kBool,
  kFloat16,
  kDouble,
  kUint32,
  kUint64,
  kComplex64,
  kComplex128,
  kBfloat16,
  kFloat8E4M3FN,
  kFloat8E4M3FNUZ,
  kFloat8E5M2,
  kFloat8E5M2FNUZ,
  kUint4,
  kInt4,
  kFloat4E2M1,
  kFloat8E8M0,
  kUint2,
  kInt2,
};

enum class AttributeType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt,
  kString,
  kTensor,
  kGraph,
  kFloats,
  kInts,
  kStrings,
  kTensors,
  kGraphs,
  kSparseTensor,
  kSparseTensors,
  kTypeProto,
  kTypeProtos,
};
std::string_view attribute_type_name(AttributeType t);

using StringEntry = std::pair<std::string_view, std::string_view>;

// Typed elements stay on the wire: `parts` are the message's own bytes (more than one where a file repeats the field), scanned when the
// tensor is made.
struct TensorProto {
  std::vector<int64_t> dims;
  DataType data_type = DataType::kUndefined;
  int32_t data_location = 0;  // 1: external
  bool has_raw = false;
  bool has_segment = false;
  std::string_view name;
  ByteView raw;
  std::vector<ByteView> parts;
  std::vector<StringEntry> external;
  size_t offset = 0;
};

struct SparseTensorProto {
  TensorProto values, indices;
  std::vector<int64_t> dims;
};

struct DimensionProto {
  std::optional<int64_t> value;
  std::string_view param;
};

struct TypeProto {
  enum class Kind : uint8_t { kNone, kTensor, kSequence, kOptional, kSparseTensor, kMap, kOpaque };
  Kind kind = Kind::kNone;
  DataType elem_type = DataType::kUndefined;
  bool has_shape = false;
  std::vector<DimensionProto> dims;
  std::unique_ptr<TypeProto> element;  // of a sequence or optional
};

struct ValueInfoProto {
  std::string_view name;
  TypeProto type;
  size_t offset = 0;
};

struct GraphProto;
struct AttributeProto {
  std::string_view name, ref_attr_name;
  AttributeType type = AttributeType::kUndefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::unique_ptr<TensorProto> t;
  std::unique_ptr<GraphProto> g;
  std::unique_ptr<SparseTensorProto> sparse;
  std::unique_ptr<TypeProto> type_proto;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<TensorProto> tensors;
  std::vector<GraphProto> graphs;
  bool has_other = false;  // sparse_tensors, type_protos: recognised, not used by any operator we know
  size_t offset = 0;
};

struct NodeProto {
  std::vector<std::string_view> inputs, outputs;
  std::string_view name, op_type, domain, overload;
  std::vector<AttributeProto> attributes;
  std::vector<StringEntry> metadata;
  size_t offset = 0;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<SparseTensorProto> sparse_initializers;
  std::vector<ValueInfoProto> inputs, outputs, value_info;
  size_t offset = 0;
};

struct OpsetImport {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<AttributeProto> attribute_defaults;
  std::vector<NodeProto> nodes;
  std::vector<OpsetImport> opsets;
  size_t offset = 0;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string_view producer_name, producer_version, domain;
  int64_t model_version = 0;
  std::optional<GraphProto> graph;
  std::vector<OpsetImport> opsets;
  std::vector<FunctionProto> functions;
  std::vector<StringEntry> metadata;
  bool has_training_info = false;
};

// Reads a whole message. Memory taken is bounded by a multiple of the bytes, nesting by the limits "wire-depth" and "subgraph-depth".
Result<ModelProto> read_model(ByteView bytes, Budget& budget);
Result<TensorProto> read_tensor_proto(ByteView bytes, Budget& budget);

}  // namespace nnc::onnx

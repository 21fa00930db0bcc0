#pragma once
// Writes small ONNX files for tests, field by field as the format's proto has them, and runs them through importer, verifier and
// interpreter.

#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "frontend/onnx/importer.h"
#include "frontend/onnx/model.h"
#include "frontend/onnx/tensor.h"
#include "frontend/onnx/wire.h"
#include "ir/eval.h"
#include "ir/text.h"
#include "ir/verifier.h"

namespace nnc::test {

using onnx::DataType;
using onnx::WireWriter;
using Names = std::vector<std::string>;
using DimText = std::variant<int64_t, std::string>;

inline WireWriter dims_message(const std::vector<DimText>& dims) {
  WireWriter shape;
  for (const DimText& d : dims) {
    WireWriter dim;
    if (const int64_t* n = std::get_if<int64_t>(&d))
      dim.varint(1, static_cast<uint64_t>(*n));
    else if (!std::get<std::string>(d).empty())
      dim.bytes(2, std::get<std::string>(d));
    shape.message(1, dim);
  }
  return shape;
}

inline WireWriter value_info(const std::string& name, DataType type, const std::vector<DimText>& dims, bool with_shape = true) {
  WireWriter tensor;
  tensor.varint(1, static_cast<uint64_t>(type));
  if (with_shape) tensor.message(2, dims_message(dims));
  return WireWriter().bytes(1, name).message(2, WireWriter().message(1, tensor));
}

inline WireWriter tensor_header(const std::string& name, DataType type, const std::vector<int64_t>& dims) {
  WireWriter t;
  t.packed(1, dims).varint(2, static_cast<uint64_t>(type)).bytes(8, name);
  return t;
}
template <class T>
WireWriter tensor_proto(const std::string& name, DataType type, const std::vector<int64_t>& dims, const std::vector<T>& values) {
  return tensor_header(name, type, dims).bytes(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}
inline WireWriter floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return tensor_proto(name, DataType::kFloat, dims, values);
}
inline WireWriter ints(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
  return tensor_proto(name, DataType::kInt64, dims, values);
}

inline WireWriter attr_i(const std::string& name, int64_t v) {
  return WireWriter().bytes(1, name).varint(3, static_cast<uint64_t>(v)).varint(20, 2);
}
inline WireWriter attr_f(const std::string& name, float v) {
  uint32_t bits = 0;
  __builtin_memcpy(&bits, &v, 4);
  return WireWriter().bytes(1, name).fixed32(2, bits).varint(20, 1);
}
inline WireWriter attr_s(const std::string& name, const std::string& v) { return WireWriter().bytes(1, name).bytes(4, v).varint(20, 3); }
inline WireWriter attr_t(const std::string& name, const WireWriter& tensor) {
  return WireWriter().bytes(1, name).message(5, tensor).varint(20, 4);
}
inline WireWriter attr_g(const std::string& name, const WireWriter& graph) {
  return WireWriter().bytes(1, name).message(6, graph).varint(20, 5);
}
inline WireWriter attr_ints(const std::string& name, const std::vector<int64_t>& v) {
  WireWriter a;
  a.bytes(1, name);
  for (const int64_t i : v) a.varint(8, static_cast<uint64_t>(i));  // unpacked, as old writers do
  return a.varint(20, 7);
}
inline WireWriter attr_ref(const std::string& name, const std::string& of, uint64_t type) {
  return WireWriter().bytes(1, name).varint(20, type).bytes(21, of);
}

inline WireWriter node(const std::string& op, const Names& inputs, const Names& outputs, const std::vector<WireWriter>& attributes = {},
                       const std::string& name = {}, const std::string& domain = {}) {
  WireWriter n;
  for (const std::string& i : inputs) n.bytes(1, i);
  for (const std::string& o : outputs) n.bytes(2, o);
  if (!name.empty()) n.bytes(3, name);
  n.bytes(4, op);
  for (const WireWriter& a : attributes) n.message(5, a);
  if (!domain.empty()) n.bytes(7, domain);
  return n;
}

// A graph, built in any order.
class GraphMaker {
 public:
  GraphMaker& input(const std::string& name, DataType type, const std::vector<DimText>& dims) {
    w_.message(11, value_info(name, type, dims));
    return *this;
  }
  GraphMaker& input(const std::string& name, const std::vector<DimText>& dims) { return input(name, DataType::kFloat, dims); }
  GraphMaker& shapeless_input(const std::string& name) {
    w_.message(11, value_info(name, DataType::kFloat, {}, false));
    return *this;
  }
  GraphMaker& output(const std::string& name) {
    w_.message(12, WireWriter().bytes(1, name));
    return *this;
  }
  GraphMaker& typed_output(const std::string& name, DataType type, const std::vector<DimText>& dims) {
    w_.message(12, value_info(name, type, dims));
    return *this;
  }
  GraphMaker& initializer(const WireWriter& tensor) {
    w_.message(5, tensor);
    return *this;
  }
  GraphMaker& add(const WireWriter& node) {
    w_.message(1, node);
    return *this;
  }
  GraphMaker& add(const std::string& op, const Names& inputs, const Names& outputs, const std::vector<WireWriter>& attributes = {},
                  const std::string& name = {}) {
    return add(node(op, inputs, outputs, attributes, name));
  }
  const WireWriter& message() const { return w_; }

 private:
  WireWriter w_;
};

inline std::string model(const WireWriter& graph, int64_t opset, const std::vector<WireWriter>& functions = {}, int64_t ir_version = 8) {
  WireWriter m;
  m.varint(1, static_cast<uint64_t>(ir_version))
      .bytes(2, "nnc tests")
      .message(7, graph)
      .message(8, WireWriter().varint(2, static_cast<uint64_t>(opset)));
  for (const WireWriter& f : functions) m.message(25, f);
  if (!functions.empty()) m.message(8, WireWriter().bytes(1, "own").varint(2, 1));
  return m.data();
}
inline std::string model(const GraphMaker& graph, int64_t opset, const std::vector<WireWriter>& functions = {}) {
  return model(graph.message(), opset, functions);
}

inline Tensor f32(std::vector<int64_t> dims, const std::vector<float>& values) {
  return Tensor::of<float>(DType::kF32, std::move(dims), values);
}
inline Tensor i64(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(DType::kI64, std::move(dims), values);
}
inline Tensor boolean(bool v) {
  Tensor t(DType::kBool, {});
  t.as_mut<uint8_t>()[0] = v ? 1 : 0;
  return t;
}

// Imports and verifies; a failure is the test's.
inline std::unique_ptr<Module> import_ok(const std::string& bytes, const ImportOptions& options = {}) {
  auto m = import_onnx(bytes_of(bytes), options);
  EXPECT_TRUE(m.ok()) << (m.ok() ? "" : m.error().str());
  if (!m.ok()) return nullptr;
  const Status s = verify_or_error(**m);
  EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.error().str());
  return std::move(*m);
}
inline Error import_error(const std::string& bytes, const ImportOptions& options = {}) {
  auto m = import_onnx(bytes_of(bytes), options);
  EXPECT_FALSE(m.ok());
  return m.ok() ? Error() : m.error();
}
inline std::vector<Tensor> run(const Module& m, const std::vector<Tensor>& args) {
  auto r = Interpreter(m).run_entry("main", args);
  EXPECT_TRUE(r.ok()) << (r.ok() ? "" : r.error().str());
  return r.ok() ? std::move(*r) : std::vector<Tensor>(8);
}
inline std::vector<Tensor> import_and_run(const std::string& bytes, const std::vector<Tensor>& args, const ImportOptions& options = {}) {
  const auto m = import_ok(bytes, options);
  return m == nullptr ? std::vector<Tensor>(8) : run(*m, args);
}
inline std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out;
  for (int64_t k = 0; t.valid() && k < t.count(); ++k) out.push_back(t.f64(k));
  return out;
}
// Kinds of the nodes of an entry, in order.
inline std::vector<std::string> ops_of(const Module& m, size_t entry = 0) {
  std::vector<std::string> out;
  const Graph& g = *m.entries[entry]->graph;
  for (const NodeId id : g.order()) out.emplace_back(op_name(g.node(id).kind));
  return out;
}
inline size_t count_op(const Module& m, OpKind kind, size_t entry = 0) {
  size_t n = 0;
  const Graph& g = *m.entries[entry]->graph;
  for (const NodeId id : g.order()) n += g.node(id).kind == kind;
  return n;
}

}  // namespace nnc::test

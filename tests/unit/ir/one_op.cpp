#include "tests/unit/ir/one_op.h"

#include <cmath>

#include "ir/support/text.h"

namespace nnc {

EvalTensor floats(std::vector<int64_t> dims, std::vector<double> values, DType dtype) {
  EvalTensor t = EvalTensor::make(dtype, std::move(dims));
  NNC_CHECK(t.f.size() == values.size(), "as many values as elements");
  for (size_t k = 0; k < values.size(); ++k) t.f[k] = std::isfinite(values[k]) ? round_to(dtype, values[k]) : values[k];
  return t;
}

EvalTensor ints(std::vector<int64_t> dims, std::vector<int64_t> values, DType dtype) {
  EvalTensor t = EvalTensor::make(dtype, std::move(dims));
  NNC_CHECK(t.i.size() == values.size(), "as many values as elements");
  t.i = std::move(values);
  return t;
}

EvalTensor texts(std::vector<int64_t> dims, std::vector<std::string> values) {
  EvalTensor t = EvalTensor::make(DType::kString, std::move(dims));
  NNC_CHECK(t.s.size() == values.size(), "as many values as elements");
  t.s = std::move(values);
  return t;
}

Type type_of(const EvalTensor& t) {
  Shape shape;
  for (const int64_t d : t.dims) shape.emplace_back(d);
  return Type::tensor(t.dtype, std::move(shape));
}

Result<EvalTensor> eval_one(OpKind kind, std::vector<EvalTensor> operands, AttrList attrs) {
  Module module;
  Graph graph(&module, "main");
  std::vector<ValueId> ids;
  std::vector<EvalTensor> given;
  for (EvalTensor& t : operands) {
    ids.push_back(t.dtype == DType::kInvalid ? ValueId() : graph.add_input(type_of(t)));
    if (t.dtype != DType::kInvalid) given.push_back(std::move(t));
  }
  if (kind == OpKind::kNonZero) attrs.push_back({"count", std::vector<SymbolId>{module.symbols.data("", 0, kDimMax)}});
  Builder b(graph);
  NNC_ASSIGN(const ValueId result, b.op(kind, std::move(ids), std::move(attrs)));
  graph.set_outputs(result.valid() ? std::vector<ValueId>{result} : std::vector<ValueId>());
  Interpreter interpreter(module);
  NNC_ASSIGN(std::vector<EvalTensor> out, interpreter.run(graph, std::move(given)));
  return out.empty() ? EvalTensor() : std::move(out[0]);
}

std::string text(const EvalTensor& t) {
  std::string out = cat(dtype_name(t.dtype), "[", join(t.dims, ", ", [](int64_t d) { return d; }), "]");
  for (const double v : t.f) append(out, " ", std::isnan(v) ? std::fabs(v) : v);
  for (const int64_t v : t.i) {
    if (t.dtype == DType::kU64)
      append(out, " ", static_cast<uint64_t>(v));
    else
      append(out, " ", v);
  }
  for (const std::string& v : t.s) append(out, " ", v);
  return out;
}

std::string eval_text(OpKind kind, std::vector<EvalTensor> operands, AttrList attrs) {
  auto r = eval_one(kind, std::move(operands), std::move(attrs));
  return r.ok() ? text(*r) : cat("error: ", r.error().message);
}

Draw::Draw(const std::string& seed) : state_(14695981039346656037ull) {
  for (const char ch : seed) state_ = (state_ ^ static_cast<unsigned char>(ch)) * 1099511628211ull;
}

uint64_t Draw::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace nnc

#pragma once
// C++ that records a graph: a Trace owns one entry of a module while it is being recorded, a Value is a handle into it. Nothing is computed
// here. Every op notes the line of C++ that it was called from. A wrong op gives an invalid Value and an error that the trace keeps; what
// is made of an invalid Value is skipped, and `finish` reports everything at once.
//
// Shapes are those of the IR: extents may be symbolic, so that one recording serves every batch. Compiling, running and differentiating are
// not here (codegen/api, passes/differentiate.h).

#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/support/where.h"

namespace nnc::trace {

using nnc::Where;
class Trace;

// A handle: copying it copies nothing. Valid as long as its Trace.
class Value {
 public:
  Value() = default;
  bool valid() const { return id_.valid(); }
  ValueId id() const { return id_; }
  Trace* trace() const { return trace_; }
  // Of an invalid value: kInvalid and an empty shape.
  DType dtype() const;
  Shape shape() const;

 private:
  friend class Trace;
  Value(Trace* trace, ValueId id) : trace_(trace), id_(id) {}
  Trace* trace_ = nullptr;
  ValueId id_;
};

class Trace {
 public:
  // Records the entry `name`, which `module` must not have yet. The module outlives the trace.
  explicit Trace(Module& module, std::string name = "main");
  Trace(const Trace&) = delete;

  Value input(std::string_view name, DType dtype, Shape shape, Where where = Where::current());
  // The module's state of that name as an argument of this entry; entries share states. The first call in a module gives its type and
  // initial value, later ones must agree.
  Value state(std::string_view name, const Tensor& initial, Where where = Where::current());
  Value constant(Tensor value, Where where = Where::current());
  // Records one op of the table; its first result.
  Value op(OpKind kind, const std::vector<Value>& operands, AttrList attrs = {}, Where where = Where::current());
  void output(std::string_view name, Value value, Where where = Where::current());
  // When the entry ends, `value` replaces the state.
  void update(Value state, Value value, Where where = Where::current());
  // Module path "encoder.0" of the ops that follow; for messages and dumps.
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }

  // For what works on graphs: `differentiate`, for one.
  Graph& graph() { return *entry_->graph; }
  Value value(ValueId id) { return Value(this, id); }
  void fail(Error e, Where where);
  bool ok() const { return errors_.empty(); }
  // Puts the results in place. The first error, with the others as its context.
  Status finish();

 private:
  friend class Value;
  LocId loc(std::string_view what, Where where);
  Value take(Result<ValueId> id, Where where);
  bool usable(const Value& v, std::string_view what, Where where);
  Module& module_;
  Entry* entry_ = nullptr;
  std::string scope_;
  std::vector<Error> errors_;
  std::vector<ValueId> outputs_;
};

// What an operator takes: a value, or a number of the other operand's dtype; and the line it stands on.
struct Operand {
  Operand(Value v, Where w = Where::current()) : value(v), where(w) {}
  Operand(double n, Where w = Where::current()) : number(n), is_number(true), where(w) {}
  Operand(int n, Where w = Where::current()) : number(n), is_number(true), where(w) {}
  Value value;
  double number = 0;
  bool is_number = false;
  Where where;
};
// At least one of the two is a value.
Value binary(OpKind kind, const Operand& a, const Operand& b);

inline Value operator+(const Operand& a, const Operand& b) { return binary(OpKind::kAdd, a, b); }
inline Value operator-(const Operand& a, const Operand& b) { return binary(OpKind::kSub, a, b); }
inline Value operator*(const Operand& a, const Operand& b) { return binary(OpKind::kMul, a, b); }
inline Value operator/(const Operand& a, const Operand& b) { return binary(OpKind::kDiv, a, b); }
inline Value maximum(const Operand& a, const Operand& b) { return binary(OpKind::kMax, a, b); }
inline Value minimum(const Operand& a, const Operand& b) { return binary(OpKind::kMin, a, b); }
inline Value pow(const Operand& a, const Operand& b) { return binary(OpKind::kPow, a, b); }

// One operand, the same shape.
Value unary(OpKind kind, const Operand& x);
inline Value operator-(const Operand& x) { return unary(OpKind::kNeg, x); }
inline Value relu(const Operand& x) { return unary(OpKind::kRelu, x); }
inline Value gelu(const Operand& x) { return unary(OpKind::kGelu, x); }
inline Value silu(const Operand& x) { return unary(OpKind::kSilu, x); }
inline Value tanh(const Operand& x) { return unary(OpKind::kTanh, x); }
inline Value sigmoid(const Operand& x) { return unary(OpKind::kSigmoid, x); }
inline Value exp(const Operand& x) { return unary(OpKind::kExp, x); }
inline Value log(const Operand& x) { return unary(OpKind::kLog, x); }
inline Value sqrt(const Operand& x) { return unary(OpKind::kSqrt, x); }
inline Value abs(const Operand& x) { return unary(OpKind::kAbs, x); }

Value matmul(Value a, Value b, Where where = Where::current());
// x * transpose(weight) + bias, with PyTorch's layout [out, in]; an invalid bias is none.
Value linear(Value x, Value weight, Value bias, Where where = Where::current());
// Negative axes count from the end.
Value softmax(Value x, int64_t axis, Where where = Where::current());
Value log_softmax(Value x, int64_t axis, Where where = Where::current());
// Over all axes where none are given.
Value sum(Value x, std::vector<int64_t> axes = {}, bool keepdims = false, Where where = Where::current());
Value mean(Value x, std::vector<int64_t> axes = {}, bool keepdims = false, Where where = Where::current());
Value reshape(Value x, Shape shape, Where where = Where::current());
Value transpose(Value x, std::vector<int64_t> permutation, Where where = Where::current());
// The mean over samples of -log softmax(logits)[label]; logits [N, C, ...], labels i32 or i64 [N, ...].
Value cross_entropy(Value logits, Value labels, Where where = Where::current());

}  // namespace nnc::trace

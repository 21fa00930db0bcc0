#pragma once
// The C++ facade in the manner of PyTorch: is a device there, a tensor to the device, arithmetic there, the result back. Everything lives
// in nnc::api, since nnc::Tensor is the host tensor of ir/base.
//
// Lazy: an operation only notes what is to be done, with the line of C++ that asked for it; the first read-back records the whole
// expression through frontend/trace, compiles it for its device and runs it. What was compiled is kept by the hash of the graph, so the
// same expression over other values compiles once. A wrong operation gives a tensor that carries its error, and so does all that is made of
// it; `read` returns it. Values that were read are kept and not computed again. Tensors may be copied freely; one thread at a time may use
// those that share an expression.
//
// Host data goes to the device when a program runs and comes back when it is read: there is no device memory behind a Tensor yet. Training
// steps are modules with entries (frontend/trace, passes/differentiate.h, runtime/session.h); this facade has no gradients.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/nn/linear.h"
#include "ir/base/tensor.h"
#include "ir/support/where.h"

namespace nnc::api {

// A device to run on: a handle, equal by name.
class Device {
 public:
  // `cpu`, `cuda-emu`, `cuda`. kNoDevice with reason and remedy where it cannot be had.
  static Result<Device> open(std::string_view name);
  const std::string& name() const;
  // Programs compiled for it through this handle and its copies.
  int64_t compiled_programs() const;

 private:
  friend class Tensor;
  struct State;
  std::shared_ptr<State> state_;
};

struct DeviceInfo {
  std::string name;
  bool available = false;
  Error reason;  // where it is not
};
// All devices that nnc knows, with why one is missing.
std::vector<DeviceInfo> devices();

class Tensor {
 public:
  Tensor() = default;  // no value: using it is an error
  // Values on the host; operations need `to` first.
  static Tensor from(nnc::Tensor host);
  static Tensor of(std::vector<int64_t> dims, std::span<const float> values, Where where = Where::current());
  // On `device`; tensors of one operation must be on one device.
  Tensor to(const Device& device, Where where = Where::current()) const;

  bool ok() const;
  DType dtype() const;                // kInvalid where not ok
  std::vector<int64_t> dims() const;  // empty where not ok
  std::string device() const;         // "" for the host
  // Computes what is outstanding, and brings the values to the host.
  Result<nnc::Tensor> read() const;

  // A host value on the device where this tensor is.
  Tensor beside(nnc::Tensor host) const;
  struct Node;
  // One op of the table over tensors of one device.
  static Tensor op(OpKind kind, const std::vector<Tensor>& operands, AttrList attrs = {}, Where where = Where::current());

 private:
  explicit Tensor(std::shared_ptr<Node> node) : node_(std::move(node)) {}
  static Tensor failed(Error e, Where where);
  std::shared_ptr<Node> node_;
};

// A tensor or a number, and the line of the operator.
struct Operand {
  Operand(Tensor t, Where w = Where::current()) : tensor(std::move(t)), where(w) {}
  Operand(double n, Where w = Where::current()) : number(n), is_number(true), where(w) {}
  Operand(int n, Where w = Where::current()) : number(n), is_number(true), where(w) {}
  Tensor tensor;
  double number = 0;
  bool is_number = false;
  Where where;
};
Tensor binary(OpKind kind, const Operand& a, const Operand& b);
inline Tensor operator+(const Operand& a, const Operand& b) { return binary(OpKind::kAdd, a, b); }
inline Tensor operator-(const Operand& a, const Operand& b) { return binary(OpKind::kSub, a, b); }
inline Tensor operator*(const Operand& a, const Operand& b) { return binary(OpKind::kMul, a, b); }
inline Tensor operator/(const Operand& a, const Operand& b) { return binary(OpKind::kDiv, a, b); }
inline Tensor relu(const Tensor& x, Where where = Where::current()) { return Tensor::op(OpKind::kRelu, {x}, {}, where); }
inline Tensor tanh(const Tensor& x, Where where = Where::current()) { return Tensor::op(OpKind::kTanh, {x}, {}, where); }
inline Tensor sigmoid(const Tensor& x, Where where = Where::current()) { return Tensor::op(OpKind::kSigmoid, {x}, {}, where); }
inline Tensor gelu(const Tensor& x, Where where = Where::current()) { return Tensor::op(OpKind::kGelu, {x}, {}, where); }
inline Tensor exp(const Tensor& x, Where where = Where::current()) { return Tensor::op(OpKind::kExp, {x}, {}, where); }
inline Tensor matmul(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return Tensor::op(OpKind::kMatMul, {a, b}, {}, where);
}

// nnc::nn::Linear whose parameters are tensors on a device.
class Linear {
 public:
  Linear(int64_t in, int64_t out, bool bias = true) : Linear(nn::Linear(in, out, bias)) {}
  explicit Linear(const nn::Linear& layer);
  Linear& to(const Device& device, Where where = Where::current());
  Tensor operator()(const Tensor& x, Where where = Where::current()) const;
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }

 private:
  Tensor weight_, bias_;
  bool has_bias_;
};

}  // namespace nnc::api

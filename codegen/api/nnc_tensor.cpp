#include "codegen/api/nnc_tensor.h"

#include <algorithm>
#include <map>

#include "codegen/api/device.h"
#include "codegen/api/load.h"
#include "ir/support/text.h"
#include "ir/text.h"
#include "runtime/session.h"

namespace nnc::api {

namespace {

constexpr size_t kKeptPrograms = 64;

std::string_view base_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

Error placed(Error e, Where where) {
  if (e.place.file.empty()) {
    e.place.file = base_name(where.file);
    e.place.line = where.line;
  }
  return e;
}

}  // namespace

// ---- devices

struct Device::State {
  struct Kept {
    std::unique_ptr<Session> session;
    uint64_t used = 0;
  };
  std::string name;
  std::shared_ptr<nnc::Device> device;
  Target target;
  std::map<Digest, Kept> programs;
  uint64_t clock = 0;
  int64_t compiled = 0;

  // The session that runs entry "main" of `m`.
  Result<Session*> session(Module& m) {
    const Digest key = canonical_hash(*m.entries[0]->graph);
    auto it = programs.find(key);
    if (it == programs.end()) {
      NNC_TRY(simplify_module(m));
      NNC_ASSIGN(const CompiledProgram program, compile_for_target(m, target));
      NNC_ASSIGN(std::shared_ptr<const Executable> executable, load_compiled(program, device));
      NNC_ASSIGN(std::unique_ptr<Session> made, Session::create(executable));
      ++compiled;
      if (programs.size() >= kKeptPrograms)
        programs.erase(
            std::min_element(programs.begin(), programs.end(), [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
      it = programs.emplace(key, Kept{std::move(made), 0}).first;
    }
    it->second.used = ++clock;
    return it->second.session.get();
  }
};

Result<Device> Device::open(std::string_view name) {
  NNC_ASSIGN(std::shared_ptr<nnc::Device> device, open_device(name));
  NNC_ASSIGN(const std::vector<Target> targets, parse_targets(default_target(name)));
  Device d;
  d.state_ = std::make_shared<State>();
  d.state_->name = name;
  d.state_->device = std::move(device);
  d.state_->target = targets.back();
  return d;
}

const std::string& Device::name() const { return state_->name; }
int64_t Device::compiled_programs() const { return state_->compiled; }

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> out;
  for (const char* name : {"cpu", "cuda-emu", "cuda"}) {
    const auto device = open_device(name);
    out.push_back({name, device.ok(), device.ok() ? Error() : device.error()});
  }
  return out;
}

// ---- tensors

// A value of the host or of a device, an operation that is not done yet, or an error.
struct Tensor::Node {
  std::shared_ptr<Device::State> device;
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  nnc::Tensor value;  // valid once known
  OpKind kind = OpKind::kCount;
  AttrList attrs;
  std::vector<std::shared_ptr<Node>> operands;  // dropped once the value is known
  Where where;
  std::unique_ptr<Error> error;

  // Long chains of nodes that nobody else holds end one by one and not by recursion.
  ~Node() {
    std::vector<std::shared_ptr<Node>> ending = std::move(operands);
    while (!ending.empty()) {
      const std::shared_ptr<Node> n = std::move(ending.back());
      ending.pop_back();
      if (n.use_count() == 1)
        for (auto& o : n->operands) ending.push_back(std::move(o));
      if (n.use_count() == 1) n->operands.clear();
    }
  }
};

namespace {

using NodePtr = std::shared_ptr<Tensor::Node>;

// What has to be computed for `root`, operands before users.
std::vector<Tensor::Node*> outstanding(Tensor::Node* root) {
  std::vector<Tensor::Node*> order;
  std::map<const Tensor::Node*, bool> done;  // looked up, never walked
  std::vector<Tensor::Node*> stack{root};
  while (!stack.empty()) {
    Tensor::Node* n = stack.back();
    if (const auto [it, fresh] = done.try_emplace(n, false); fresh) {
      for (auto o = n->operands.rbegin(); o != n->operands.rend(); ++o)
        if (!done.count(o->get())) stack.push_back(o->get());
      continue;
    }
    stack.pop_back();
    if (!done[n]) order.push_back(n);
    done[n] = true;
  }
  return order;
}

// The type of an op's result: recorded by itself, so that a wrong op is found at its line.
Result<Type> result_type(OpKind kind, const std::vector<Tensor>& operands, const AttrList& attrs, Where where) {
  Module m;
  trace::Trace t(m);
  std::vector<trace::Value> values;
  for (size_t k = 0; k < operands.size(); ++k) {
    const std::vector<int64_t> dims = operands[k].dims();
    values.push_back(t.input(cat("x", k), operands[k].dtype(), Shape(dims.begin(), dims.end()), where));
  }
  const trace::Value y = t.op(kind, values, attrs, where);
  NNC_TRY(t.finish());
  const Type type = t.graph().type(y.id());
  const bool fixed = std::all_of(type.shape.begin(), type.shape.end(), [](const Dim& d) { return d.is_const(); });
  if (!fixed)
    return Error(Code::kUnsupportedOp,
                 cat(op_name(kind), ": the extents of its result depend on values, which tensors of the facade do not have"));
  return type;
}

}  // namespace

Tensor Tensor::failed(Error e, Where where) {
  auto n = std::make_shared<Node>();
  n->error = std::make_unique<Error>(placed(std::move(e), where));
  return Tensor(std::move(n));
}

Tensor Tensor::from(nnc::Tensor host) {
  auto n = std::make_shared<Node>();
  n->dtype = host.dtype();
  n->dims = host.dims();
  n->value = std::move(host);
  return Tensor(std::move(n));
}

Tensor Tensor::of(std::vector<int64_t> dims, std::span<const float> values, Where where) {
  auto host = nnc::Tensor::create(DType::kF32, std::move(dims));
  if (!host.ok()) return failed(std::move(host).error(), where);
  if (host->count() != static_cast<int64_t>(values.size()))
    return failed(Error(Code::kUsage, cat(values.size(), " values for a tensor of ", host->count(), " elements")), where);
  std::copy(values.begin(), values.end(), host->as_mut<float>().begin());
  return from(std::move(*host));
}

bool Tensor::ok() const { return node_ != nullptr && node_->error == nullptr; }
DType Tensor::dtype() const { return ok() ? node_->dtype : DType::kInvalid; }
std::vector<int64_t> Tensor::dims() const { return ok() ? node_->dims : std::vector<int64_t>(); }
std::string Tensor::device() const { return ok() && node_->device ? node_->device->name : std::string(); }

Tensor Tensor::to(const Device& device, Where where) const {
  if (node_ != nullptr && node_->error != nullptr) return *this;
  if (device.state_ == nullptr) return failed(Error(Code::kUsage, "the device was never opened").with("try: Device::open(\"cpu\")"), where);
  if (ok() && node_->device == device.state_) return *this;
  auto host = read();
  if (!host.ok()) return failed(std::move(host).error(), where);
  Tensor out = from(std::move(*host));
  out.node_->device = device.state_;
  return out;
}

Tensor Tensor::op(OpKind kind, const std::vector<Tensor>& operands, AttrList attrs, Where where) {
  auto n = std::make_shared<Node>();
  for (size_t k = 0; k < operands.size(); ++k) {
    const Tensor& t = operands[k];
    if (t.node_ == nullptr) return failed(Error(Code::kUsage, cat("operand ", k, " of ", op_name(kind), " has no value")), where);
    if (t.node_->error != nullptr) return t;
    if (t.node_->device == nullptr)
      return failed(Error(Code::kUsage, cat("operand ", k, " of ", op_name(kind), " is on the host"))
                        .with("try: move it to a device first, with to(device)"),
                    where);
    if (k > 0 && t.node_->device->name != operands[0].node_->device->name)
      return failed(
          Error(Code::kUsage, cat("operand 0 of ", op_name(kind), " is on ", operands[0].device(), ", operand ", k, " on ", t.device()))
              .with(cat("try: move one of them with to(device)")),
          where);
    n->operands.push_back(t.node_);
  }
  if (operands.empty()) return failed(Error(Code::kUsage, cat(op_name(kind), " without operands has no device")), where);
  auto type = result_type(kind, operands, attrs, where);
  if (!type.ok()) return failed(std::move(type).error(), where);
  n->device = operands[0].node_->device;
  n->dtype = type->dtype;
  for (const Dim& d : type->shape) n->dims.push_back(d.constant());
  n->kind = kind;
  n->attrs = std::move(attrs);
  n->where = where;
  return Tensor(std::move(n));
}

Result<nnc::Tensor> Tensor::read() const {
  if (node_ == nullptr) return Error(Code::kUsage, "the tensor has no value").with("try: make it with Tensor::from or Tensor::of");
  if (node_->error != nullptr) return *node_->error;
  if (node_->value.valid()) return node_->value;
  Module m;
  trace::Trace t(m);
  std::map<const Node*, trace::Value> values;  // looked up, never walked
  std::vector<nnc::Tensor> inputs;
  for (Node* n : outstanding(node_.get())) {
    if (n->value.valid()) {
      values[n] = t.input(cat("x", inputs.size()), n->dtype, Shape(n->dims.begin(), n->dims.end()), n->where);
      inputs.push_back(n->value);
      continue;
    }
    std::vector<trace::Value> operands;
    for (const NodePtr& o : n->operands) operands.push_back(values.at(o.get()));
    values[n] = t.op(n->kind, operands, n->attrs, n->where);
  }
  t.output("y", values.at(node_.get()));
  NNC_TRY(t.finish());
  NNC_ASSIGN(Session * session, node_->device->session(m));
  NNC_ASSIGN(std::vector<nnc::Tensor> out, session->run("main", inputs));
  node_->value = std::move(out[0]);
  node_->operands.clear();
  return node_->value;
}

Tensor binary(OpKind kind, const Operand& a, const Operand& b) {
  const auto value_of = [](const Operand& o, const Operand& other) {
    if (!o.is_number || !other.tensor.ok()) return o.tensor;
    nnc::Tensor scalar(other.tensor.dtype(), {});
    if (is_float(scalar.dtype()))
      store_f64(scalar.dtype(), scalar.data(), 0, o.number);
    else
      store_i64(scalar.dtype(), scalar.data(), 0, static_cast<int64_t>(o.number));
    return other.tensor.beside(std::move(scalar));
  };
  return Tensor::op(kind, {value_of(a, b), value_of(b, a)}, {}, a.where);
}

Tensor Tensor::beside(nnc::Tensor host) const {
  Tensor out = from(std::move(host));
  if (ok()) out.node_->device = node_->device;
  return out;
}

// ---- layers

Linear::Linear(const nn::Linear& layer) : weight_(Tensor::from(layer.weight)), has_bias_(layer.bias.valid()) {
  if (has_bias_) bias_ = Tensor::from(layer.bias);
}

Linear& Linear::to(const Device& device, Where where) {
  weight_ = weight_.to(device, where);
  if (has_bias_) bias_ = bias_.to(device, where);
  return *this;
}

Tensor Linear::operator()(const Tensor& x, Where where) const {
  const Tensor y = Tensor::op(OpKind::kMatMul, {x, weight_}, {{"transpose_b", int64_t(1)}}, where);
  return has_bias_ ? Tensor::op(OpKind::kAdd, {y, bias_}, {}, where) : y;
}

}  // namespace nnc::api

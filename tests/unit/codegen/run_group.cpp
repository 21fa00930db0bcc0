#include "tests/unit/codegen/run_group.h"

#include <cstring>

#include "ir/base/kernel_vm.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

struct Bound {
  std::vector<int64_t> values;
  std::vector<uint8_t> known;
};

Result<Bound> bind(const Graph& group, const std::vector<Tensor>& inputs) {
  const SymbolTable& symbols = group.symbols();
  Bound b{std::vector<int64_t>(symbols.size()), std::vector<uint8_t>(symbols.size())};
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Shape& shape = group.type(group.inputs()[k]).shape;
    for (size_t a = 0; a < shape.size(); ++a) {
      if (const auto s = shape[a].as_symbol()) {
        b.values[s->index()] = inputs[k].dims()[a];
        b.known[s->index()] = 1;
      }
    }
  }
  NNC_TRY(symbols.derive(b.values, b.known));
  return b;
}

Tensor poisoned(DType dtype, std::vector<int64_t> dims) {
  Tensor t(dtype, std::move(dims));
  if (t.bytes() > 0) std::memset(t.data(), 0xAB, t.bytes());
  return t;
}

}  // namespace

Result<std::vector<Tensor>> run_group(const Graph& group, const Target& target, const std::vector<Tensor>& inputs) {
  NNC_ASSIGN(const LoweredGroup lowered, lower_group(group, target));
  NNC_ASSIGN(const Bound bound, bind(group, inputs));
  const SymbolTable& symbols = group.symbols();
  const auto value = [&](const Dim& d) { return symbols.eval(d, bound.values); };
  std::vector<Tensor> in = inputs, out, scratch;
  for (const ValueId v : group.outputs()) {
    std::vector<int64_t> dims;
    for (const Dim& d : group.type(v).shape) {
      NNC_ASSIGN(const int64_t extent, value(d));
      dims.push_back(extent);
    }
    out.push_back(poisoned(group.type(v).dtype, std::move(dims)));
  }
  for (const Dim& bytes : lowered.scratch_bytes) {
    NNC_ASSIGN(const int64_t n, value(bytes));
    scratch.push_back(poisoned(DType::kU8, {n}));
  }
  for (const LoweredKernel& k : lowered.kernels) {
    NNC_ASSIGN(const VmKernel vm, VmKernel::compile(k.kernel));
    std::vector<VmBuffer> buffers;
    for (const KernelArg& a : k.args) {
      Tensor& t = a.kind == KernelArg::kInput ? in[a.index] : a.kind == KernelArg::kOutput ? out[a.index] : scratch[a.index];
      buffers.push_back({t.data(), static_cast<int64_t>(t.bytes())});
    }
    std::vector<int64_t> launch;
    for (const Dim& d : k.dims) {
      NNC_ASSIGN(const int64_t v, value(d));
      launch.push_back(v);
    }
    launch.resize(k.kernel.symbols.size());  // symbols derived while building come last
    NNC_ASSIGN(const std::vector<int64_t> dims, complete_dims(k.kernel, launch));
    NNC_ASSIGN(const auto grid, grid_extents(k.kernel, dims));
    CheckFailure failure;
    NNC_TRY(vm.run(buffers, dims, 0, grid[0] * grid[1] * grid[2], &failure));
    if (failure.set) {
      return Error(Code::kIndexOutOfRange,
                   cat(k.kernel.sites[failure.site].what, " ", failure.index, " is outside an extent of ", failure.bound));
    }
  }
  return out;
}

}  // namespace nnc

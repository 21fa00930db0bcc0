#include "tests/unit/codegen/run_lowered.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <map>

#include "codegen/emit.h"
#include "codegen/host_compiler.h"
#include "codegen/planner.h"
#include "ir/base/abi.h"
#include "ir/base/philox.h"
#include "ir/support/text.h"
#include "tests/unit/codegen/cuda_emulate.h"

namespace nnc::testing {

Tensor random_tensor(DType dtype, std::vector<int64_t> dims, uint32_t seed, double lo, double hi) {
  Tensor t(dtype, std::move(dims));
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 12345;
  void* data = t.data();
  for (int64_t i = 0; i < t.count(); ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const double u = static_cast<double>(state >> 11) / 9007199254740992.0;
    const double v = lo + (hi - lo) * u;
    if (dtype == DType::kBool)
      store_i64(dtype, data, i, u < 0.5);
    else if (is_int(dtype))
      store_i64(dtype, data, i, static_cast<int64_t>(std::floor(v)));
    else
      store_f64(dtype, data, i, v);
  }
  return t;
}

std::string bits_differ(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return "type or extents";
  for (int64_t i = 0; i < a.count(); ++i) {
    if (is_float(a.dtype())) {
      const double x = a.f64(i), y = b.f64(i);
      if (std::isnan(x) && std::isnan(y)) continue;
      if (x != y || std::signbit(x) != std::signbit(y)) return cat("element ", i, ": ", x, " and ", y);
    } else if (a.i64(i) != b.i64(i)) {
      return cat("element ", i, ": ", a.i64(i), " and ", b.i64(i));
    }
  }
  return {};
}

std::string far_apart(const Tensor& a, const Tensor& b, double rtol, double atol) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return "type or extents";
  for (int64_t i = 0; i < a.count(); ++i) {
    const double x = a.f64(i), y = b.f64(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (!(std::fabs(x - y) <= atol + rtol * std::fabs(y)) && x != y) return cat("element ", i, ": ", x, ", reference ", y);
  }
  return {};
}

namespace {

struct Library {
  void* handle = nullptr;
  ~Library() {
    if (handle) dlclose(handle);
  }
};

Result<void*> load(const Bytes& so, Library* library) {
  const int fd = memfd_create("kernels", MFD_CLOEXEC);
  if (write(fd, so.data(), so.size()) != static_cast<ssize_t>(so.size())) return Error(Code::kIo, "memfd");
  library->handle = dlopen(cat("/proc/self/fd/", fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  close(fd);
  if (!library->handle) return Error(Code::kInternal, dlerror());
  return library->handle;
}

Result<std::vector<Tensor>> run_kernels(Module& m, const Graph& g, const Target& target, const LoweredGroup& lowered,
                                        const std::vector<Tensor>& inputs, std::vector<int64_t>& values, bool native) {
  std::vector<Tensor> in = inputs, out;
  for (ValueId v : g.outputs()) {
    std::vector<int64_t> dims;
    for (const Dim& d : g.type(v).shape) {
      NNC_ASSIGN(const int64_t n, m.symbols.eval(d, values));
      dims.push_back(n);
    }
    Tensor t(g.type(v).dtype, dims);
    std::memset(t.data(), 0xa5, t.bytes());
    out.push_back(std::move(t));
  }
  std::vector<std::vector<uint8_t>> scratch;
  for (const Dim& d : lowered.scratch_bytes) {
    NNC_ASSIGN(const int64_t n, m.symbols.eval(d, values));
    scratch.emplace_back(static_cast<size_t>(n) + 64, uint8_t(0xa5));
  }
  for (const LoweredKernel& lk : lowered.kernels) {
    std::vector<VmBuffer> params;
    std::vector<void*> pointers;
    for (const KernelArg& a : lk.args) {
      if (a.kind == KernelArg::kInput) {
        Tensor& t = in[a.index];
        params.push_back({t.data(), static_cast<int64_t>(t.bytes())});
      } else if (a.kind == KernelArg::kOutput) {
        params.push_back({out[a.index].data(), static_cast<int64_t>(out[a.index].bytes())});
      } else {
        auto base = reinterpret_cast<uintptr_t>(scratch[a.index].data());
        params.push_back({reinterpret_cast<void*>((base + 63) / 64 * 64), static_cast<int64_t>(scratch[a.index].size()) - 64});
      }
      pointers.push_back(params.back().data);
    }
    std::vector<int64_t> launch;
    for (const Dim& d : lk.dims) {
      NNC_ASSIGN(const int64_t n, m.symbols.eval(d, values));
      launch.push_back(n);
    }
    launch.resize(lk.kernel.symbols.size());  // symbols derived while building come last
    NNC_ASSIGN(const std::vector<int64_t> dims, complete_dims(lk.kernel, launch));
    NNC_ASSIGN(const auto grid, grid_extents(lk.kernel, dims));
    const int64_t tasks = grid[0] * grid[1] * grid[2];
    CheckFailure failure;
    if (native && target.kind == TargetKind::kCudaEmu) {
      NNC_ASSIGN(const auto module, test::compile_emulated({lk.kernel}, target.sm));
      std::vector<EmuBuffer> buffers;
      for (const VmBuffer& p : params) buffers.push_back({p.data, p.bytes, nullptr});
      NNC_ASSIGN(const std::vector<EmuReport> reports, emu_launch(module->kernel(0), buffers, dims, tasks, &failure));
      if (!reports.empty()) return Error(Code::kDeviceFailed, reports[0].text);
    } else if (native) {
      const std::string source = emit_cpu_unit({{&lk.kernel, "kernel"}}, target);
      NNC_ASSIGN(const std::vector<Bytes> so, compile_cpu_units({{source}}, target));
      Library library;
      NNC_ASSIGN(void* handle, load(so[0], &library));
      const KernelFn fn = reinterpret_cast<KernelFn>(dlsym(handle, "kernel"));
      fn(pointers.data(), dims.data(), 0, tasks, &failure);
    } else {
      NNC_ASSIGN(const VmKernel vm, VmKernel::compile(lk.kernel));
      NNC_TRY(vm.run(params, dims, 0, tasks, &failure));
    }
    if (failure.set) return Error(Code::kIndexOutOfRange, cat("index ", failure.index, " of ", failure.bound));
  }
  return out;
}

}  // namespace

GroupRun run_lowered(Module& m, const Graph& g, const Target& target, const std::vector<Tensor>& inputs, bool native) {
  GroupRun r;
  Interpreter interpreter(m);
  std::vector<EvalTensor> carriers;
  for (const Tensor& t : inputs) carriers.push_back(EvalTensor::from(t));
  auto reference = interpreter.run(g, carriers);
  if (!reference.ok()) {
    r.error = reference.error().str();
    return r;
  }
  for (const EvalTensor& t : *reference) r.reference.push_back(t.to_tensor());
  auto lowered = lower_group(g, target);
  if (!lowered.ok()) {
    r.error = lowered.error().str();
    return r;
  }
  r.lowered = std::move(lowered).value();
  std::vector<int64_t> values(m.symbols.size(), 0);
  std::vector<uint8_t> known(m.symbols.size(), 0);
  for (size_t i = 0; i < g.inputs().size(); ++i)
    for (size_t d = 0; d < inputs[i].dims().size(); ++d)
      if (auto s = g.type(g.inputs()[i]).shape[d].as_symbol()) {
        values[s->index()] = inputs[i].dims()[d];
        known[s->index()] = 1;
      }
  (void)m.symbols.derive(values, known);
  auto vm = run_kernels(m, g, target, r.lowered, inputs, values, false);
  if (!vm.ok()) {
    r.error = "interpreted: " + vm.error().str();
    return r;
  }
  r.interpreted = std::move(vm).value();
  if (!native) return r;
  auto compiled = run_kernels(m, g, target, r.lowered, inputs, values, true);
  if (!compiled.ok()) {
    r.error = "compiled: " + compiled.error().str();
    return r;
  }
  r.compiled = std::move(compiled).value();
  return r;
}

}  // namespace nnc::testing

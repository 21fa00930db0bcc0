#include "tests/e2e/compiled.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/base/philox.h"
#include "ir/eval.h"
#include "ir/support/text.h"
#include "runtime/cpu_device.h"

namespace nnc::test {

std::vector<Target> carrying_targets() {
  auto cpu = parse_targets("cpu");
  auto vm = parse_target("cpu:vm");
  std::vector<Target> out{cpu->back(), *vm};
  return out;
}

std::unique_ptr<Session> open_compiled(const Module& m, const Target& target, int level, CompiledProgram* compiled) {
  const std::unique_ptr<Module> copy = m.clone();
  CompileOptions options;
  options.level = level;
  if (auto s = simplify_module(*copy, options); !s.ok()) {
    ADD_FAILURE() << s.error().str();
    return nullptr;
  }
  auto program = compile_for_target(*copy, target, options);
  if (!program.ok()) {
    ADD_FAILURE() << program.error().str();
    return nullptr;
  }
  auto device = make_cpu_device();
  auto executable = device.ok() ? load_compiled(*program, *device) : Result<std::shared_ptr<const Executable>>(device.error());
  if (!executable.ok()) {
    ADD_FAILURE() << executable.error().str();
    return nullptr;
  }
  auto session = Session::create(*executable);
  if (!session.ok()) {
    ADD_FAILURE() << session.error().str();
    return nullptr;
  }
  if (compiled) *compiled = std::move(program).value();
  return std::move(session).value();
}

std::vector<Tensor> must_run(Session& s, std::string_view entry, std::span<const Tensor> inputs) {
  auto out = s.run(entry, inputs);
  if (!out.ok()) {
    ADD_FAILURE() << out.error().str();
    return {};
  }
  return std::move(out).value();
}

std::vector<Tensor> must_eval(const Module& m, std::string_view entry, std::span<const Tensor> inputs) {
  Interpreter interpreter(m);
  auto out = interpreter.run_entry(entry, inputs);
  if (!out.ok()) {
    ADD_FAILURE() << out.error().str();
    return {};
  }
  return std::move(out).value();
}

Tensor uniform(DType dtype, std::vector<int64_t> dims, uint64_t seed, double lo, double hi) {
  Tensor t(dtype, std::move(dims));
  void* data = t.data();
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 88172645463325252ull;
  for (int64_t i = 0; i < t.count(); ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const double u = static_cast<double>(state >> 11) / 9007199254740992.0;
    if (is_float(dtype))
      store_f64(dtype, data, i, lo + (hi - lo) * u);
    else
      store_i64(dtype, data, i, static_cast<int64_t>(std::floor(lo + (hi - lo) * u)));
  }
  return t;
}

std::string far_apart(const Tensor& got, const Tensor& want, double rtol, double atol) {
  if (got.dtype() != want.dtype() || got.dims() != want.dims()) return "dtype or extents";
  for (int64_t i = 0; i < want.count(); ++i) {
    const double x = got.f64(i), y = want.f64(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x != y && !(std::fabs(x - y) <= atol + rtol * std::fabs(y))) return cat("element ", i, ": ", x, ", wanted ", y);
  }
  return {};
}

ValueId Maker::op(OpKind k, std::vector<ValueId> operands, AttrList attrs) {
  auto v = b.op(k, std::move(operands), std::move(attrs));
  if (!v.ok()) {
    ADD_FAILURE() << v.error().str();
    return {};
  }
  return *v;
}

ValueId Maker::constant(Tensor t) {
  auto v = b.constant(std::move(t));
  EXPECT_TRUE(v.ok());
  return v.ok() ? *v : ValueId();
}

}  // namespace nnc::test

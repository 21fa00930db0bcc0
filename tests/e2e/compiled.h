#pragma once
// Modules made in a test, compiled and run on every target at hand, beside the reference interpreter.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/api/load.h"
#include "ir/builder.h"
#include "runtime/session.h"

namespace nnc::test {

// The targets that carry every test: native code for this machine, and the kernel interpreter.
std::vector<Target> carrying_targets();
// Simplifies a copy of `m`, compiles it for the target, opens a session. Fails the test and returns null on an error.
std::unique_ptr<Session> open_compiled(const Module& m, const Target& target, int level = 2, CompiledProgram* compiled = nullptr);
std::vector<Tensor> must_run(Session& s, std::string_view entry, std::span<const Tensor> inputs);
std::vector<Tensor> must_eval(const Module& m, std::string_view entry, std::span<const Tensor> inputs);
Tensor uniform(DType dtype, std::vector<int64_t> dims, uint64_t seed, double lo = -1, double hi = 1);
// Empty, or the first element that is farther than atol + rtol * |want|.
std::string far_apart(const Tensor& got, const Tensor& want, double rtol, double atol);

// Fails the test when a builder call fails.
struct Maker {
  Builder b;
  explicit Maker(Graph& g) : b(g) {}
  ValueId op(OpKind k, std::vector<ValueId> operands, AttrList attrs = {});
  ValueId constant(Tensor t);
};

}  // namespace nnc::test

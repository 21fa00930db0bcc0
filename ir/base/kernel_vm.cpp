#include "ir/base/kernel_vm.h"

#include <algorithm>

#include "ir/base/kernel_rules.h"
#include "ir/base/kernel_vm_code.h"

namespace nnc {
namespace vm {

Lane lane_of(const KType& t) {
  if (t.kind == KType::kMask) return Lane::kMask;
  if (t.kind == KType::kIndex) return Lane::kI64;
  switch (t.elem) {
    case DType::kI8: return Lane::kI8;
    case DType::kI16: return Lane::kI16;
    case DType::kI32: return Lane::kI32;
    case DType::kI64: return Lane::kI64;
    case DType::kU16: return Lane::kU16;
    case DType::kU32: return Lane::kU32;
    case DType::kU64: return Lane::kU64;
    case DType::kF16: return Lane::kF16;
    case DType::kBF16: return Lane::kBF16;
    case DType::kF32: return Lane::kF32;
    case DType::kF64: return Lane::kF64;
    default: return Lane::kU8;
  }
}
int lane_bytes(Lane t) {
  switch (t) {
    case Lane::kI16:
    case Lane::kU16:
    case Lane::kF16:
    case Lane::kBF16: return 2;
    case Lane::kI32:
    case Lane::kU32:
    case Lane::kF32: return 4;
    case Lane::kI64:
    case Lane::kU64:
    case Lane::kF64: return 8;
    default: return 1;
  }
}

const LaneOps& lane_ops(int limit) {
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4 && limit >= 4) return lane_ops_v4();
  return v3 && limit >= 3 ? lane_ops_v3() : lane_ops_v1();
}

}  // namespace vm

struct VmKernel::Program : vm::Program {};

VmKernel::VmKernel(std::unique_ptr<Program> p) : program_(std::move(p)) {}
VmKernel::VmKernel(VmKernel&&) noexcept = default;
VmKernel& VmKernel::operator=(VmKernel&&) noexcept = default;
VmKernel::~VmKernel() = default;

Result<VmKernel> VmKernel::compile(const Kernel& k, const VmOptions& options) {
  NNC_TRY(verify_kernel_or_error(k));
  const auto is_math = [](const ExprNode& n) { return n.op >= ExprOp::kExp && n.op <= ExprOp::kPow; };
  Kernel legal;
  const Kernel* source = &k;
  if (std::any_of(k.exprs.begin(), k.exprs.end(), is_math)) {
    legal = k;
    legalise_math(legal, League::kStrict);
    source = &legal;
  }
  NNC_ASSIGN(auto made, vm::translate(*source, vm::lane_ops(options.level)));
  made->fuel = options.max_rounds;
  auto program = std::make_unique<Program>();
  static_cast<vm::Program&>(*program) = std::move(*made);
  return VmKernel(std::move(program));
}

Status VmKernel::run(std::span<const VmBuffer> params, std::span<const int64_t> dims, int64_t begin, int64_t end,
                     CheckFailure* failure) const {
  return vm::run_tasks(*program_, params, dims, begin, end, failure);
}

}  // namespace nnc

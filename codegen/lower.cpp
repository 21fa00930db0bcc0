#include "codegen/lower.h"

#include <algorithm>

#include "codegen/skeletons.h"
#include "ir/base/kernel_narrow.h"
#include "ir/base/kernel_rules.h"
#include "ir/support/mutant.h"
#include "ir/support/text.h"

namespace nnc {

BufId ArgRecorder::input(uint32_t i) {
  const size_t before = k_.kernel().param_count;
  const BufId b = body_.declare_input(i);
  if (k_.kernel().param_count > before) args_.push_back({KernelArg::kInput, i});
  return b;
}

BufId ArgRecorder::output(uint32_t o) {
  const size_t before = k_.kernel().param_count;
  const BufId b = body_.declare_output(o);
  if (k_.kernel().param_count > before) args_.push_back({KernelArg::kOutput, o});
  return b;
}

BufId ArgRecorder::scratch(uint32_t s, DType elem, Dim extent, Access access) {
  args_.push_back({KernelArg::kScratch, s});
  return k_.param("scratch" + std::to_string(s), elem, std::move(extent), access);
}

void ArgRecorder::all() {
  for (uint32_t i = 0; i < body_.graph().inputs().size(); ++i) input(i);
  for (uint32_t o = 0; o < body_.graph().outputs().size(); ++o) output(o);
}

namespace {
// Whether 32 bits hold every index of the kernel: extents and threads leave room for what a last tile reaches beyond them, and no index
// comes from data.
bool fits_32_bits(const Kernel& k) {
  constexpr int64_t kMost = int64_t(1) << 30;
  if (!k.sites.empty()) return false;
  for (const KBuffer& b : k.buffers)
    if (k.symbols.upper(b.extent) > kMost) return false;
  int64_t threads = k.threads;
  for (const Dim& d : k.grid) {
    const int64_t n = k.symbols.upper(d);
    if (n > kMost || (threads *= std::max<int64_t>(1, n)) > kMost) return false;
  }
  for (const ExprNode& e : k.exprs)
    if (e.type.kind == KType::kIndex && e.op >= ExprOp::kCastTrunc && e.op <= ExprOp::kCastMask) return false;
  return true;
}
}  // namespace

LoweredKernel ArgRecorder::finish(const LowerOptions& options) {
  LoweredKernel out;
  if (body_.target().is_cuda()) k_.set_index64(!fits_32_bits(k_.kernel()) && !mutant("index_never_wide"));
  out.dims = k_.launch_dims();
  out.kernel = k_.raw();
  out.kernel.fast = options.league == League::kFast;
  out.args = std::move(args_);
  return out;
}

int widest_element(const Graph& g) {
  int bits = 8;
  auto see = [&](ValueId v) {
    const Type& t = g.type(v);
    if (t.is_tensor()) bits = std::max(bits, dtype_bits(compute_dtype(t.dtype)));
  };
  for (ValueId v : g.inputs()) see(v);
  for (NodeId n : g.order())
    for (ValueId v : g.node(n).results) see(v);
  return bits / 8;
}

std::string group_name(const Graph& g) {
  std::string name;
  std::string_view last;
  int parts = 0;
  for (NodeId n : g.order()) {
    const std::string_view op = g.node(n).def().name;
    if (op == last || g.node(n).def().lowering == Lowering::kMap || g.node(n).def().lowering == Lowering::kSource) continue;
    last = op;
    if (parts == 4) {
      name += "_etc";
      break;
    }
    if (parts++) name += '_';
    name += op;
  }
  return name.empty() ? "move" : name;
}

namespace {
// The group's hero class is the greatest of its nodes: contraction, convolution, attention, recurrent > fold > pointwise.
const Node* find_hero(const Graph& g) {
  const Node* fold = nullptr;
  for (NodeId n : g.order()) {
    const Node& node = g.node(n);
    if (node.def().lowering == Lowering::kHero) return &node;
    if (node.def().lowering == Lowering::kFold) fold = &node;
  }
  return fold;
}

// Narrow types are cast and moved, nothing else.
bool kernels_hold(DType t, const Node& node) {
  if (!is_narrow(t)) return buffer_elem_ok(t);
  return node.kind == OpKind::kCast || node.def().lowering == Lowering::kMap || node.def().lowering == Lowering::kSource;
}

Status check_dtypes(const Graph& g) {
  for (NodeId n : g.order()) {
    const Node& node = g.node(n);
    const auto check = [&](ValueId v) -> Status {
      const Type& t = g.type(v);
      if (!t.is_tensor() || kernels_hold(t.dtype, node)) return {};
      return Error(Code::kUnsupportedOp,
                   cat("no kernel computes with elements of type ", dtype_name(t.dtype), is_narrow(t.dtype) ? "; cast them before" : ""))
          .at({g.module().loc_str(node.loc), std::string(node.def().name), "", "", -1, 0, 0});
    };
    for (ValueId v : node.operands)
      if (v.valid()) NNC_TRY(check(v));
    for (ValueId v : node.results) NNC_TRY(check(v));
  }
  return {};
}
}  // namespace

Result<LoweredGroup> draft_group(const Graph& group, const Target& target, const LowerOptions& options) {
  NNC_TRY(check_dtypes(group));
  const Node* hero = find_hero(group);
  for (ValueId v : group.outputs())
    if (!hero && dtype_bits(group.type(v).dtype) < 8) return lower_packed(group, target, options);
  if (!hero) return lower_pointwise(group, target, options);
  switch (hero->kind) {
    case OpKind::kMatMul: return lower_contraction(group, target, options);
    case OpKind::kConv:
    case OpKind::kConvTranspose:
    case OpKind::kConvInputGrad:
    case OpKind::kConvFilterGrad: return lower_convolution(group, target, options);
    case OpKind::kAttention: return lower_attention(group, target, options);
    case OpKind::kLstm: return lower_recurrent(group, target, options);
    default:
      if (hero->def().lowering == Lowering::kFold) return lower_fold(group, target, options);
      return Error(Code::kUnsupportedOp, cat("no kernel skeleton takes ", hero->def().name))
          .at({group.module().loc_str(hero->loc), std::string(hero->def().name), "", "", -1, 0, 0});
  }
}

Result<LoweredGroup> lower_group(const Graph& group, const Target& target, const LowerOptions& options) {
  NNC_ASSIGN(LoweredGroup lowered, draft_group(group, target, options));
  for (LoweredKernel& k : lowered.kernels) finish_kernel(k.kernel);
  return lowered;
}

}  // namespace nnc

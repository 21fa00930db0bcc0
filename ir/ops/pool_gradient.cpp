#include "ir/ops/pool.h"
#include "ir/ops/spelling.h"

namespace nnc {

namespace {

// Channels of nhwc to where indices count them, or back.
ValueId channels_first(Gradient& t, ValueId v, bool back) {
  const size_t rank = t.shape(v).size();
  if (rank == 0 || t.node().s("layout") != "nhwc") return v;
  const auto last = static_cast<int64_t>(rank) - 1;
  std::vector<int64_t> perm = {0};
  if (!back) perm.push_back(last);
  for (int64_t k = back ? 2 : 1; k < (back ? last + 1 : last); ++k) perm.push_back(k);
  if (back) perm.push_back(1);
  return t.transpose(v, std::move(perm));
}

}  // namespace

Status gradient_pool(GradContext& c) {
  Gradient t(c);
  std::vector<ValueId> operands = {t.g()};
  if (t.node().s("kind") != "avg") operands.push_back(t.x(0));
  if (t.wants(0))
    t.give(0, t.op(OpKind::kPoolGrad, std::move(operands), shared_attrs(t.node(), OpKind::kPoolGrad, {{"shape", t.shape(t.x(0))}})));
  return t.finish();
}

Status gradient_pool_grad(GradContext& c) {
  Gradient t(c);
  const std::string_view kind = t.node().s("kind");
  if (kind == "avg") {
    t.give(0, t.op(OpKind::kPool, {t.g()}, shared_attrs(t.node(), OpKind::kPool)));
    return t.finish();
  }
  if (kind == "lp") return Error(Code::kNoGradient, "lp pooling has no second gradient");
  // dy goes to the largest elements, so its gradient is read there; where those lie does not change smoothly with x.
  const ValueId index = t.op(OpKind::kMaxPoolIndices, {channels_first(t, t.x(1), false)}, shared_attrs(t.node(), OpKind::kMaxPoolIndices));
  const ValueId flat = t.reshape(channels_first(t, t.g(), false), {t.symbols().mul(t.shape(t.g()))});
  t.give(0, channels_first(t, t.op(OpKind::kGather, {flat, index}), true));
  return t.finish();
}

}  // namespace nnc

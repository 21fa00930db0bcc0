// Results of types below one byte: a byte is made whole, by one task, of the elements that share it. Everything else about such groups is
// pointwise.

#include "codegen/skeletons.h"
#include "ir/base/kernel_narrow.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

constexpr int64_t kChunk = 4096;  // bytes of a task
constexpr int kThreads = 256;

}  // namespace

Result<LoweredGroup> lower_packed(const Graph& g, const Target& target, const LowerOptions& options) {
  const ValueId result = g.outputs()[0];
  const Type& type = g.type(result);
  if (g.outputs().size() != 1)
    return Error(Code::kUnsupportedOp, cat("no kernel makes elements of type ", dtype_name(type.dtype), " beside other results"));
  KernelBuilder k(group_name(g), target.is_cuda() ? kThreads : 1);
  GroupBody body(k, g, target);
  ArgRecorder args(k, body);
  args.all();
  const BufId out = body.declare_output(0);
  SymbolTable& s = k.symbols();
  const int bits = dtype_bits(type.dtype), per = 8 / bits;
  Dim count = 1;
  for (const Dim& d : type.shape) count = s.mul(count, body.dim(d));
  const Dim bytes = s.ceildiv(s.mul(count, bits), 8);
  const bool whole = s.divisible(count, per) == Ternary::kYes;

  auto make_byte = [&](Expr at) {
    Expr byte;
    for (int j = 0; j < per; ++j) {
      const Expr element = k.let("e", k.add(k.mul(at, k.index(per)), k.index(j)));
      const Expr mask = whole || j == 0 ? Expr() : k.let("in", k.lt(element, k.dim(count)));
      body.enter();
      body.set_axes({IterAxis{count, element, false, 1}}, 1);
      Expr code = narrow_code(k, body.emit(result, Coords::of_flat(body, body.axis(0), type.shape), mask), type.dtype);
      body.leave();
      if (mask.valid()) code = k.select(mask, code, k.constant(DType::kU8, 0));
      code = k.let("code", j == 0 ? code : k.binary(ExprOp::kShl, code, k.constant(DType::kU8, bits * j)));
      byte = j == 0 ? code : k.binary(ExprOp::kOr, byte, code);
    }
    k.store(out, at, byte);
  };
  if (target.is_cuda()) {
    k.grid(s.ceildiv(bytes, kThreads));
    const Expr id = k.let("id", k.add(k.mul(k.task(0), k.index(kThreads)), k.thread()));
    k.if_(k.lt(id, k.dim(bytes)), [&] { make_byte(id); });
  } else {
    k.grid(s.ceildiv(bytes, kChunk));
    const Expr from = k.let("from", k.mul(k.task(0), k.index(kChunk)));
    const Expr n = k.let("count", k.min(k.index(kChunk), k.sub(k.dim(bytes), from)));
    k.for_("b", k.index(0), n, 1, [&](Expr b) { make_byte(k.let("at", k.add(from, b))); });
  }
  LoweredGroup lowered;
  lowered.skeleton = "packed";
  lowered.kernels.push_back(args.finish(options));
  return lowered;
}

}  // namespace nnc

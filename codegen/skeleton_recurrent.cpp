// LSTM: a task is one sequence in one direction and walks its time steps. Each gate's sum is a dot product along the weights' rows (vectors
// along the inner axis, four rows at a time, one tree at the end), then the cell is updated with vectors along the hidden axis. The state
// lives in scratch, in the accumulator's type, two halves taking turns. CUDA: a block is one sequence, its threads share the units out and
// meet after the sums and after the update.

#include <algorithm>

#include "codegen/skeletons.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

struct LstmFacts {
  const Node* node = nullptr;
  int64_t hidden = 0, directions = 1;
  bool batch_first = false;
  Dim steps, batch, inputs;
  DType type = DType::kF32, acc = DType::kF32;
};

struct Activation {
  std::string_view name;
  double alpha = 0, beta = 0;
};

Activation activation(const Node& node, size_t at) {
  static constexpr std::string_view kDefaults[] = {"sigmoid", "tanh", "tanh"};
  const auto* names = std::get_if<std::vector<std::string>>(&node.attr("activations"));
  const auto number = [&](std::string_view attr) { return node.floats(attr).empty() ? 0.0 : node.floats(attr)[at]; };
  return {names && !names->empty() ? std::string_view((*names)[at]) : kDefaults[at % 3], number("activation_alpha"),
          number("activation_beta")};
}

constexpr int kCudaThreads = 128;

class LstmBuilder {
 public:
  LstmBuilder(const Graph& g, const Target& t, const LstmFacts& f)
      : k(group_name(g), t.is_cuda() ? kCudaThreads : 1),
        threads_(t.is_cuda() ? kCudaThreads : 1),
        body(k, g, t),
        args(k, body),
        g_(g),
        f_(f),
        node_(*f.node) {
    for (uint32_t i = 0; i < g.inputs().size(); ++i) args.input(i);
    for (uint32_t o = 0; o < g.outputs().size(); ++o) args.output(o);
    lanes_ = t.kind == TargetKind::kVm ? 64 : t.lanes(dtype_bits(f.acc) / 8);
    SymbolTable& s = k.symbols();
    const Dim sequences = s.mul(body.dim(f.batch), f.directions);
    // Per sequence: h twice, c, and the sums of the four gates.
    state_ = args.scratch(0, f.acc, s.mul(sequences, 7 * f.hidden), Access::kReadWrite);
  }
  static int64_t scratch_elements(int64_t hidden) { return 7 * hidden; }

  void build() {
    const int64_t h = f_.hidden;
    k.grid(body.dim(f_.batch), f_.directions);
    b_ = k.task(0);
    d_ = k.task(1);
    base_ = k.let("state", k.mul(k.add(k.mul(d_, k.dim(body.dim(f_.batch))), b_), k.index(7 * h)));
    cell_ = k.let("cell", k.add(base_, k.index(2 * h)));
    sums_ = k.let("sums", k.add(base_, k.index(3 * h)));
    over_hidden([&](Expr j, int lanes, Expr mask) {
      put(k.add(base_, j), initial(5, j, lanes, mask), mask);
      put(k.add(cell_, j), initial(6, j, lanes, mask), mask);
    });
    meet();
    length_ = k.dim(body.dim(f_.steps));
    if (has(4))
      length_ = k.let(
          "length",
          k.max(k.index(0), k.min(length_, k.cast(g_.type(node_.operands[4]).dtype == DType::kI64 ? ExprOp::kCastTrunc : ExprOp::kCastSext,
                                                  read(4, {b_}, 1, {}), KType::index()))));
    k.for_("t", k.index(0), length_, 1, [&](Expr t) { step(t); });
    finish();
  }

  KernelBuilder k;
  const int threads_;
  GroupBody body;
  ArgRecorder args;

 private:
  void meet() {
    if (threads_ > 1) k.barrier();
  }
  Expr first_of_thread(int64_t step) { return threads_ > 1 ? k.mul(k.thread(), k.index(step)) : k.index(0); }
  bool has(size_t i) const { return i < node_.operands.size() && node_.operands[i].valid(); }

  // Makes `at` the iteration axes, lanes along the last one, and gives them as coordinates.
  Coords point(const Shape& shape, const std::vector<Expr>& at, int lanes) {
    std::vector<IterAxis> axes;
    for (size_t a = 0; a < shape.size(); ++a)
      axes.push_back(IterAxis{body.dim(shape[a]), at[a], lanes > 1 && a + 1 == shape.size(), lanes});
    body.set_axes(axes, lanes);
    Coords c(shape.size());
    for (size_t a = 0; a < shape.size(); ++a) c[a] = body.axis(static_cast<uint32_t>(a));
    return c;
  }
  // Operand i at flat-free coordinates; the last one carries the lanes.
  Expr read(size_t i, const std::vector<Expr>& at, int lanes, Expr mask) {
    const Shape& shape = g_.type(node_.operands[i]).shape;
    const Coords c = point(shape, at, lanes);
    body.enter();
    const Expr v = body.emit(node_.operands[i], c, mask);
    body.leave();
    return k.lanes(v) == lanes ? v : k.splat(v, lanes);
  }
  Expr wide(Expr e) { return k.convert(e, f_.acc); }

  Expr get(Expr index, int lanes, Expr mask) {
    LoadOptions o;
    o.mask = mask;
    return k.load(state_, index, lanes, o);
  }
  void put(Expr index, Expr value, Expr mask) {
    StoreOptions o;
    o.mask = mask;
    k.store(state_, index, value, o);
  }
  Expr num(double v, int lanes) { return k.constant(f_.acc, v, lanes); }

  Expr initial(size_t operand, Expr j, int lanes, Expr mask) {
    if (!has(operand)) return num(0, lanes);
    return wide(f_.batch_first ? read(operand, {b_, d_, j}, lanes, mask) : read(operand, {d_, b_, j}, lanes, mask));
  }

  void over_hidden(const std::function<void(Expr j, int lanes, Expr mask)>& f) {
    const int64_t h = f_.hidden, vectors = h / lanes_;
    if (vectors > 0)
      k.for_("j", first_of_thread(lanes_), k.index(vectors * lanes_), int64_t(lanes_) * threads_, [&](Expr j) { f(j, lanes_, {}); });
    if (h % lanes_ == 0) return;
    auto tail = [&] { f(k.index(vectors * lanes_), lanes_, k.lt(k.iota(lanes_), k.splat(k.index(h % lanes_), lanes_))); };
    if (threads_ > 1)
      k.if_(k.eq(k.thread(), k.index(0)), tail);
    else
      tail();
  }

  // sum[r] += dot(weights row, vector) for the four gates of unit j, lanes along the inner axis.
  template <class Vector> void accumulate(const std::vector<VarId>& acc, size_t weights, Expr j, const Dim& depth, const Vector& vector) {
    SymbolTable& s = k.symbols();
    auto block = [&](Expr at, Expr mask) {
      const Expr x = k.let("x", vector(at, mask));
      for (int gate = 0; gate < 4; ++gate) {
        const Expr w = wide(read(weights, {d_, k.add(k.index(gate * f_.hidden), j), at}, lanes_, mask));
        k.set(acc[static_cast<size_t>(gate)], k.fma(x, w, k.var(acc[static_cast<size_t>(gate)])));
      }
    };
    const Dim vectors = s.floordiv(depth, lanes_);
    if (!vectors.is_const(0)) k.for_("p", k.index(0), k.dim(vectors), 1, [&](Expr p) { block(k.mul(p, k.index(lanes_)), {}); });
    if (s.divisible(depth, lanes_) == Ternary::kYes) return;
    const Expr left = k.let("left", k.dim(s.sub(depth, s.mul(vectors, lanes_))));
    k.if_(k.lt(k.index(0), left), [&] { block(k.dim(s.mul(vectors, lanes_)), k.lt(k.iota(lanes_), k.splat(left, lanes_))); });
  }

  void step(Expr t) {
    const int64_t h = f_.hidden;
    const std::string_view direction = node_.s("direction");
    Expr at = t;
    const Expr backwards = k.let("at", k.sub(k.sub(length_, k.index(1)), t));
    if (direction == "reverse")
      at = backwards;
    else if (direction == "bidirectional")
      at = k.let("at", k.add(k.mul(d_, backwards), k.mul(k.sub(k.index(1), d_), t)));
    const Expr turn = k.let("turn", k.floormod(t, k.index(2)));
    const Expr now = k.let("h0", k.add(base_, k.mul(turn, k.index(h)))),
               next = k.let("h1", k.add(base_, k.mul(k.sub(k.index(1), turn), k.index(h))));
    k.for_("j", first_of_thread(1), k.index(h), threads_, [&](Expr j) {
      std::vector<VarId> acc;
      acc.reserve(4);
      for (int gate = 0; gate < 4; ++gate) acc.push_back(k.mut("z", num(0, lanes_)));
      accumulate(acc, 1, j, body.dim(f_.inputs), [&](Expr p, Expr mask) {
        return wide(f_.batch_first ? read(0, {b_, at, p}, lanes_, mask) : read(0, {at, b_, p}, lanes_, mask));
      });
      accumulate(acc, 2, j, Dim(h), [&](Expr p, Expr mask) { return get(k.add(now, p), lanes_, mask); });
      for (int gate = 0; gate < 4; ++gate) {
        const Expr row = k.add(k.index(gate * h), j);
        Expr z = k.hreduce(ExprOp::kReduceAdd, k.var(acc[static_cast<size_t>(gate)]));
        if (lanes_ == 1) z = k.var(acc[static_cast<size_t>(gate)]);
        if (has(3)) z = k.add(z, k.add(wide(read(3, {d_, row}, 1, {})), wide(read(3, {d_, k.add(k.index(4 * h), row)}, 1, {}))));
        put(k.add(sums_, row), z, {});
      }
    });
    meet();
    over_hidden([&](Expr j, int lanes, Expr mask) { update(at, next, j, lanes, mask); });
    meet();
  }

  Expr clipped(Expr z, int lanes) {
    const double c = node_.f("clip");
    return c > 0 ? k.max(num(-c, lanes), k.min(num(c, lanes), z)) : z;
  }

  void update(Expr at, Expr next, Expr j, int lanes, Expr mask) {
    const int64_t h = f_.hidden;
    auto sum = [&](int gate, Expr state) {
      Expr z = get(k.add(sums_, k.add(k.index(gate * h), j)), lanes, mask);
      // Peepholes lie in the order i, o, f.
      if (has(7) && state.valid()) z = k.add(z, k.mul(wide(read(7, {d_, k.add(k.index(gate * h), j)}, lanes, mask)), state));
      return k.let("z", clipped(z, lanes));
    };
    const Expr cell = get(k.add(cell_, j), lanes, mask);
    const Expr i = k.let("i", activate(0, sum(0, cell), lanes));
    const Expr f = node_.i("input_forget") ? k.let("f", k.sub(num(1, lanes), i)) : k.let("f", activate(0, sum(2, cell), lanes));
    const Expr c = k.let("c", k.add(k.mul(f, cell), k.mul(i, activate(1, sum(3, {}), lanes))));
    const Expr o = k.let("o", activate(0, sum(1, c), lanes));
    const Expr hidden = k.let("h", k.mul(o, activate(2, c, lanes)));
    put(k.add(cell_, j), c, mask);
    put(k.add(next, j), hidden, mask);
    output(0, f_.batch_first ? std::vector<Expr>{b_, at, d_, j} : std::vector<Expr>{at, d_, b_, j}, hidden, lanes, mask);
  }

  // Stores result r of the node, if the group gives it away.
  void output(size_t r, const std::vector<Expr>& at, Expr value, int lanes, Expr mask) {
    const ValueId v = node_.results[r];
    for (uint32_t o = 0; o < g_.outputs().size(); ++o) {
      if (g_.outputs()[o] != v) continue;
      const Shape& shape = g_.type(v).shape;
      const Coords c = point(shape, at, lanes);
      body.store_output(o, c, k.convert(value, compute_dtype(f_.type)), mask);
    }
  }

  void finish() {
    const int64_t h = f_.hidden;
    const Expr last = k.let("last", k.add(base_, k.mul(k.floormod(length_, k.index(2)), k.index(h))));
    over_hidden([&](Expr j, int lanes, Expr mask) {
      const std::vector<Expr> at = f_.batch_first ? std::vector<Expr>{b_, d_, j} : std::vector<Expr>{d_, b_, j};
      output(1, at, get(k.add(last, j), lanes, mask), lanes, mask);
      output(2, at, get(k.add(cell_, j), lanes, mask), lanes, mask);
    });
    if (!has(4)) return;
    k.for_("t", length_, k.dim(body.dim(f_.steps)), 1, [&](Expr t) {
      over_hidden([&](Expr j, int lanes, Expr mask) {
        output(0, f_.batch_first ? std::vector<Expr>{b_, t, d_, j} : std::vector<Expr>{t, d_, b_, j}, num(0, lanes), lanes, mask);
      });
    });
  }

  Expr activate(size_t which, Expr x, int lanes) {
    if (f_.directions == 1 || same(which)) return apply(activation(node_, which), x, lanes);
    const Expr second = k.splat(k.eq(d_, k.index(1)), lanes);
    return k.select(second, apply(activation(node_, which + 3), x, lanes), apply(activation(node_, which), x, lanes));
  }
  bool same(size_t which) const {
    const Activation a = activation(node_, which), b = activation(node_, which + 3);
    return a.name == b.name && a.alpha == b.alpha && a.beta == b.beta;
  }
  Expr apply(const Activation& a, Expr x, int n) {
    auto sigmoid = [&](Expr v) { return k.div(num(1, n), k.add(num(1, n), k.math(ExprOp::kExp, k.unary(ExprOp::kNeg, v)))); };
    if (a.name == "sigmoid") return sigmoid(x);
    if (a.name == "tanh") return k.math(ExprOp::kTanh, x);
    if (a.name == "relu") return k.max(x, num(0, n));
    if (a.name == "affine") return k.add(k.mul(num(a.alpha, n), x), num(a.beta, n));
    if (a.name == "leaky_relu") return k.select(k.lt(x, num(0, n)), k.mul(num(a.alpha, n), x), x);
    if (a.name == "thresholded_relu") return k.select(k.le(x, num(a.alpha, n)), num(0, n), x);
    if (a.name == "scaled_tanh") return k.mul(num(a.alpha, n), k.math(ExprOp::kTanh, k.mul(num(a.beta, n), x)));
    if (a.name == "hard_sigmoid") return k.min(num(1, n), k.max(num(0, n), k.add(k.mul(num(a.alpha, n), x), num(a.beta, n))));
    if (a.name == "elu") return k.select(k.lt(x, num(0, n)), k.mul(num(a.alpha, n), k.sub(k.math(ExprOp::kExp, x), num(1, n))), x);
    if (a.name == "softsign") return k.div(x, k.add(num(1, n), k.unary(ExprOp::kAbs, x)));
    return k.add(k.max(x, num(0, n)),
                 k.math(ExprOp::kLog, k.add(num(1, n), k.math(ExprOp::kExp, k.unary(ExprOp::kNeg, k.unary(ExprOp::kAbs, x))))));
  }

  const Graph& g_;
  const LstmFacts& f_;
  const Node& node_;
  int lanes_ = 1;
  BufId state_;
  Expr b_, d_, base_, cell_, sums_, length_;
};

}  // namespace

Result<LoweredGroup> lower_recurrent(const Graph& g, const Target& target, const LowerOptions& options) {
  LstmFacts f;
  for (NodeId n : g.order())
    if (g.node(n).kind == OpKind::kLstm) f.node = &g.node(n);
  const Node& node = *f.node;
  for (ValueId v : g.outputs())
    if (g.value(v).def.valid() && &g.node(g.value(v).def) != f.node) return Error(Code::kInternal, "an lstm takes no epilogue");
  if (!node.s("w_format").empty()) return Error(Code::kUnsupportedOp, "no CPU kernel reads packed lstm weights");
  const Shape& sx = g.type(node.operands[0]).shape;
  f.hidden = node.i("hidden");
  f.directions = node.s("direction") == "bidirectional" ? 2 : 1;
  f.batch_first = node.s("layout") == "batch_first";
  f.steps = sx[f.batch_first ? 1 : 0], f.batch = sx[f.batch_first ? 0 : 1], f.inputs = sx[2];
  f.type = g.type(node.operands[0]).dtype;
  f.acc = f.type == DType::kF64 ? DType::kF64 : DType::kF32;
  LoweredGroup out;
  out.skeleton = "recurrent";
  LstmBuilder b(g, target, f);
  b.build();
  SymbolTable& s = const_cast<Graph&>(g).symbols();
  out.scratch_bytes.push_back(s.mul(f.batch, 7 * f.hidden * f.directions * (dtype_bits(f.acc) / 8)));
  out.kernels.push_back(b.args.finish(options));
  return out;
}

}  // namespace nnc

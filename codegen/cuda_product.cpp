// A block computes a tile of the result. Tiles of both operands pass through shared memory in two stages: while one is multiplied, the next
// is on its way (asynchronous copies where an operand is a parameter as it is, else loads, prologue and stores). f32 and wider: fma on
// registers, rows and columns of a thread interleaved over the tile so that no two lanes meet in a bank. f16, bf16, int8: matrix
// instructions. At the end the tile goes through shared memory once more, so that the epilogue is one loop over vectors of whole rows.

#include "codegen/cuda_product.h"

#include <algorithm>

namespace nnc {

namespace {
int bytes_of(DType t) { return dtype_bits(t) / 8; }
}  // namespace

CudaTiling choose_cuda_tiling(const Target& t, const SymbolTable& s, const Dim& rows, const Dim& columns, DType acc, DType a, DType b) {
  CudaTiling x;
  const int64_t m = s.typical(rows), n = s.typical(columns);
  const bool half = (a == DType::kF16 || a == DType::kBF16) && a == b && acc == DType::kF32;
  const bool bytes = (a == DType::kI8 || a == DType::kU8) && (b == DType::kI8 || b == DType::kU8) && acc == DType::kI32;
  if ((t.sm >= 80 && (half || bytes)) || (t.sm >= 75 && half && a == DType::kF16)) {
    x.tiles = true;
    x.bk = half ? 32 : 64;
    x.tm = 32, x.tn = 32;
    x.bm = m > 32 ? 64 : 32, x.bn = 64;
    x.threads = x.bm / x.tm * (x.bn / x.tn) * 32;
    return x;
  }
  if (bytes_of(acc) == 8) {
    x.bk = 8, x.tm = 4, x.tn = 4;
    x.bm = 32, x.bn = 32;
  } else if (m <= 8) {
    x.bm = 8, x.bn = 64, x.tm = 1;
  } else if (m <= 32) {
    x.bm = 32, x.bn = 64, x.tm = 4;
  } else if (n <= 16) {
    x.bm = 64, x.bn = 16, x.tm = 4, x.tn = 4;
  } else if (m >= 128 && n >= 64) {
    x.bm = 128;
  }
  x.threads = x.bm / x.tm * (x.bn / x.tn);
  return x;
}

CudaProduct::CudaProduct(const Graph& g, const Target& t, ValueId result, DType acc, const CudaTiling& x)
    : k(group_name(g), x.threads), body(k, g, t), args(k, body), g_(g), t_(t), result_(result), acc_(acc), x_(x), epilogue_(body, result) {}

void CudaProduct::set_axes(Expr m, Expr n, int lanes) {
  axes_[row_axis()].base = m;
  axes_[column_axis()] = IterAxis{n_, n, lanes > 1, std::max(1, lanes)};
  body.set_axes(axes_, lanes);
}

// Where the stages lie. With registers the left tile is lines along the depth and the right one lines along the columns, whatever memory
// has; matrix instructions read either, so lines follow memory. The tile of the result takes the place of the stages where types allow.
void CudaProduct::layout() {
  a_.outer = x_.bm, b_.outer = x_.bn;
  if (!x_.tiles) {
    const int v = 16 / bytes_of(acc_);
    a_.pitch = x_.bk + v;
    b_.pitch = x_.bn;
    a_.stage = int64_t(x_.bm) * a_.pitch;
    b_.stage = int64_t(x_.bk) * b_.pitch;
    b_.offset = 2 * a_.stage;
    result_pitch_ = x_.bn;
    const int64_t size = std::max(2 * (a_.stage + b_.stage), int64_t(x_.bm) * result_pitch_);
    a_.shared = b_.shared = result_tile_ = k.alloc("tile", acc_, size, Space::kShared, 16);
    return;
  }
  for (Side* s : {&a_, &b_}) {
    const int v = 16 / bytes_of(s->type);
    s->pitch = (s->depth_runs ? x_.bk : s->outer) + v;
    s->stage = int64_t(s->depth_runs ? s->outer : x_.bk) * s->pitch;
    s->shared = k.alloc(s == &a_ ? "left" : "right", s->type, 2 * s->stage, Space::kShared, 16);
  }
  result_pitch_ = x_.bn + 4;
  result_tile_ = k.alloc("tile", acc_, int64_t(x_.bm) * result_pitch_, Space::kShared, 16);
}

// `lanes` neighbours (along memory) of an operand into shared memory.
void CudaProduct::copy_or_store(const Side& s, bool left, Expr at, Expr outer, Expr depth, int lanes) {
  SymbolTable& sym = k.symbols();
  Expr mask;
  auto require = [&](Expr position, const Dim& extent, int64_t tile, bool reached) {
    if (reached && sym.divisible(extent, tile) == Ternary::kYes) return;
    const Expr in = k.lt(position, k.dim(extent));
    mask = mask.valid() ? k.logical_and(mask, in) : in;
  };
  require(outer, left ? m_ : n_, s.outer, true);                            // without rows or columns there is no task
  require(depth, depth_, x_.bk, sym.at_least(depth_, 1) == Ternary::kYes);  // the first tile is loaded ahead, also of no depth
  if (const Expr more = inside(left, outer, depth); more.valid()) mask = mask.valid() ? k.logical_and(mask, more) : more;
  if (mask.valid()) mask = k.let("in", mask);
  const int bytes = bytes_of(s.type);
  if (s.direct && bytes * lanes >= 4) {
    k.copy_async(s.shared, at, s.buffer, flat(s, left, outer, depth), bytes * lanes, mask);
    return;
  }
  body.enter();
  Expr v = value(left, outer, depth, mask);
  v = x_.tiles ? body.to_storage(v, s.type) : k.convert(v, acc_);
  if (mask.valid()) v = k.select(mask, v, k.constant_bits(k.type(v), 0));
  k.store(s.shared, at, v);
  body.leave();
}

void CudaProduct::load_tile(const Side& s, bool left, Expr stage, Expr tile) {
  const int lanes = s.direct && s.vectors ? 16 / bytes_of(s.type) : 1;
  // Lines of shared memory run along the depth or along the outer axis; vectors need memory to run the same way.
  const bool line_is_depth = x_.tiles ? s.depth_runs : left;
  const int line = (line_is_depth ? x_.bk : s.outer) / (line_is_depth == s.depth_runs ? lanes : 1);
  const int used = line_is_depth == s.depth_runs ? lanes : 1;
  const int lines = line_is_depth ? s.outer : x_.bk;
  const int64_t total = int64_t(line) * lines;
  // Threads that are neighbours take neighbours in memory.
  const int fast = line_is_depth == s.depth_runs ? line : lines;
  const Expr base = k.let("at", k.add(k.index(s.offset), k.mul(stage, k.index(s.stage))));
  k.for_(
      "c", k.index(0), k.index((total + x_.threads - 1) / x_.threads), 1,
      [&](Expr c) {
        const Expr id = k.let("id", k.add(k.mul(c, k.index(x_.threads)), k.thread()));
        auto one = [&] {
          const Expr in_fast = k.let("f", k.floormod(id, k.index(fast))), in_slow = k.let("s", k.floordiv(id, k.index(fast)));
          const bool same = line_is_depth == s.depth_runs;
          const Expr in_line = same ? k.mul(in_fast, k.index(used)) : in_slow, which = same ? in_slow : in_fast;
          const Expr at = k.add(base, k.add(k.mul(which, k.index(s.pitch)), in_line));
          const Expr along_depth = line_is_depth ? in_line : which, along_outer = line_is_depth ? which : in_line;
          const Expr depth = k.let("p", k.add(k.mul(tile, k.index(x_.bk)), along_depth));
          const Expr outer = k.let(left ? "m" : "n", k.add(left ? m0_ : n0_, along_outer));
          copy_or_store(s, left, at, outer, depth, used);
        };
        if (total % x_.threads == 0)
          one();
        else
          k.if_(k.lt(id, k.index(total)), one);
      },
      true);
}

void CudaProduct::depth_loop(const std::function<void(Expr, Expr)>& compute) {
  const Dim tiles = k.symbols().ceildiv(depth_, x_.bk);
  auto load = [&](Expr stage, Expr tile) {
    load_tile(a_, true, stage, tile);
    load_tile(b_, false, stage, tile);
    k.copy_commit();
  };
  load(k.index(0), k.index(0));
  k.for_("t", k.index(0), k.dim(tiles), 1, [&](Expr t) {
    const Expr next = k.let("next", k.add(t, k.index(1)));
    const Expr odd = k.let("odd", k.floormod(next, k.index(2)));
    k.if_(
        k.lt(next, k.dim(tiles)), [&] { load(odd, next); }, [&] { k.copy_commit(); });
    k.copy_wait(1);
    k.barrier();
    compute(k.let("stage", k.sub(k.index(1), odd)), next);
    k.barrier();
  });
  k.copy_wait(0);
  // Without depth nothing stood between the first stage's stores and the result, which takes its place.
  if (k.symbols().at_least(depth_, 1) != Ternary::kYes) k.barrier();
}

void CudaProduct::registers() {
  const int v = 16 / bytes_of(acc_), nv = x_.tn / v, tx_count = x_.bn / x_.tn, ty_count = x_.bm / x_.tm;
  const Expr tx = k.let("tx", k.floormod(k.thread(), k.index(tx_count))), ty = k.let("ty", k.floordiv(k.thread(), k.index(tx_count)));
  std::vector<std::vector<VarId>> acc(static_cast<size_t>(x_.tm));
  for (auto& row : acc)
    for (int j = 0; j < nv; ++j) row.push_back(k.mut("c", k.constant(acc_, 0, v)));
  const int64_t part = part_length(x_.tm, depth_);
  const bool in_parts = acc_ == DType::kF32 && k.symbols().at_most(depth_, part) != Ternary::kYes;
  std::vector<std::vector<VarId>> sum(in_parts ? acc.size() : 0);
  for (auto& row : sum)
    for (int j = 0; j < nv; ++j) row.push_back(k.mut("s", k.constant(acc_, 0, v)));
  const Expr column = k.let("bx", k.mul(tx, k.index(v)));
  depth_loop([&](Expr stage, Expr tiles_done) {
    const Expr left = k.let("la", k.add(k.mul(stage, k.index(a_.stage)), k.mul(ty, k.index(a_.pitch))));
    const Expr right = k.let("lb", k.add(k.index(b_.offset), k.add(k.mul(stage, k.index(b_.stage)), column)));
    k.for_(
        "p", k.index(0), k.index(x_.bk), v,
        [&](Expr p) {
          std::vector<Expr> a;
          for (int i = 0; i < x_.tm; ++i)
            a.push_back(k.load(a_.shared, k.add(k.add(left, k.index(int64_t(i) * ty_count * a_.pitch)), p), v, {}, "a"));
          for (int u = 0; u < v; ++u) {
            std::vector<Expr> b;
            for (int j = 0; j < nv; ++j)
              b.push_back(k.load(
                  b_.shared, k.add(k.add(right, k.mul(p, k.index(b_.pitch))), k.index(int64_t(u) * b_.pitch + int64_t(j) * tx_count * v)),
                  v, {}, "b"));
            for (int i = 0; i < x_.tm; ++i) {
              const Expr one = k.splat(v > 1 ? k.extract(a[static_cast<size_t>(i)], u) : a[static_cast<size_t>(i)], v);
              for (int j = 0; j < nv; ++j) {
                const VarId c = acc[static_cast<size_t>(i)][static_cast<size_t>(j)];
                k.set(c, is_float(acc_) ? k.fma(one, b[static_cast<size_t>(j)], k.var(c))
                                        : k.add(k.mul(one, b[static_cast<size_t>(j)]), k.var(c)));
              }
            }
          }
        },
        true);
    if (!in_parts) return;
    k.if_(k.eq(k.floormod(tiles_done, k.index(part / x_.bk)), k.index(0)), [&] {
      for (size_t i = 0; i < acc.size(); ++i)
        for (size_t j = 0; j < acc[i].size(); ++j) {
          k.set(sum[i][j], k.add(k.var(sum[i][j]), k.var(acc[i][j])));
          k.set(acc[i][j], k.constant(acc_, 0, v));
        }
    });
  });
  const auto total = [&](size_t i, size_t j) { return in_parts ? k.add(k.var(sum[i][j]), k.var(acc[i][j])) : k.var(acc[i][j]); };
  for (int i = 0; i < x_.tm; ++i)
    for (int j = 0; j < nv; ++j)
      k.store(result_tile_,
              k.add(k.mul(k.add(ty, k.index(int64_t(i) * ty_count)), k.index(result_pitch_)),
                    k.add(column, k.index(int64_t(j) * tx_count * v))),
              total(static_cast<size_t>(i), static_cast<size_t>(j)));
}

void CudaProduct::matrix_tiles() {
  const uint8_t depth = bytes_of(a_.type) == 2 ? 16 : 32;
  const int across = x_.bn / x_.tn;
  const Expr warp = k.let("warp", k.floordiv(k.thread(), k.index(32)));
  const Expr wm = k.let("wm", k.mul(k.floordiv(warp, k.index(across)), k.index(x_.tm))),
             wn = k.let("wn", k.mul(k.floormod(warp, k.index(across)), k.index(x_.tn)));
  const int mi = x_.tm / 16, ni = x_.tn / 8;
  std::vector<std::vector<VarId>> acc(static_cast<size_t>(mi));
  for (auto& row : acc)
    for (int j = 0; j < ni; ++j) row.push_back(k.frag_zero("c", acc_, {16, 8, depth, FragShape::kC}));
  // Element (outer, p) of a stage.
  auto at = [&](const Side& s, Expr stage, Expr outer, int p) {
    const Expr line = s.depth_runs ? k.add(k.mul(outer, k.index(s.pitch)), k.index(p)) : k.add(k.index(int64_t(p) * s.pitch), outer);
    return k.add(k.mul(stage, k.index(s.stage)), line);
  };
  depth_loop([&](Expr stage, Expr) {
    for (int p = 0; p < x_.bk; p += depth) {
      std::vector<VarId> a, b;
      for (int i = 0; i < mi; ++i)
        a.push_back(k.frag_load("a", a_.type, {16, 8, depth, FragShape::kA}, a_.shared,
                                at(a_, stage, k.add(wm, k.index(int64_t(i) * 16)), p), k.index(a_.pitch), !a_.depth_runs));
      for (int j = 0; j < ni; ++j)
        b.push_back(k.frag_load("b", b_.type, {16, 8, depth, FragShape::kB}, b_.shared,
                                at(b_, stage, k.add(wn, k.index(int64_t(j) * 8)), p), k.index(b_.pitch), b_.depth_runs));
      for (int i = 0; i < mi; ++i)
        for (int j = 0; j < ni; ++j)
          k.frag_mma(acc[static_cast<size_t>(i)][static_cast<size_t>(j)], a[static_cast<size_t>(i)], b[static_cast<size_t>(j)]);
    }
  });
  for (int i = 0; i < mi; ++i)
    for (int j = 0; j < ni; ++j)
      k.frag_store(acc[static_cast<size_t>(i)][static_cast<size_t>(j)], result_tile_,
                   k.add(k.mul(k.add(wm, k.index(int64_t(i) * 16)), k.index(result_pitch_)), k.add(wn, k.index(int64_t(j) * 8))),
                   k.index(result_pitch_));
}

void CudaProduct::output_at(Expr at, Expr n, int lanes) {
  set_axes(axes_[row_axis()].base, n, lanes);
  body.enter();
  Expr v = k.load(result_tile_, at, lanes, {}, "c");
  if (const Expr more = bias({}); more.valid()) v = k.add(v, k.convert(more, acc_));
  const DType type = g_.type(result_).dtype;
  v = k.let("c", body.round_value(k.convert(v, compute_dtype(type)), type));
  body.bind(result_, [v](const Coords&, Expr) { return v; });
  epilogue_.place(result_coords());
  epilogue_.store();
  body.unbind(result_);
  body.leave();
}

void CudaProduct::outputs() {
  SymbolTable& s = k.symbols();
  const int lanes = epilogue_lanes_ ? epilogue_lanes_ : std::min(16 / bytes_of(acc_), t_.lanes(widest_element(g_)));
  const int64_t line = x_.bn / lanes, total = line * x_.bm;
  k.for_("e", k.index(0), k.index(total / x_.threads), 1, [&](Expr e) {
    const Expr id = k.let("id", k.add(k.mul(e, k.index(x_.threads)), k.thread()));
    const Expr row = k.let("row", k.floordiv(id, k.index(line))),
               column = k.let("col", k.mul(k.floormod(id, k.index(line)), k.index(lanes)));
    const Expr m = k.let("m", k.add(m0_, row)), n = k.let("n", k.add(n0_, column));
    const Expr at = k.let("at", k.add(k.mul(row, k.index(result_pitch_)), column));
    axes_[row_axis()].base = m;
    auto columns = [&] {
      if (s.divisible(n_, lanes) == Ternary::kYes) {
        if (s.divisible(n_, x_.bn) == Ternary::kYes)
          output_at(at, n, lanes);
        else
          k.if_(k.lt(n, k.dim(n_)), [&] { output_at(at, n, lanes); });
        return;
      }
      k.if_(
          k.le(k.add(n, k.index(lanes)), k.dim(n_)), [&] { output_at(at, n, lanes); },
          [&] { k.for_("l", k.index(0), k.sub(k.dim(n_), n), 1, [&](Expr l) { output_at(k.add(at, l), k.add(n, l), 1); }); });
    };
    if (s.divisible(m_, x_.bm) == Ternary::kYes)
      columns();
    else
      k.if_(k.lt(m, k.dim(m_)), columns);
  });
}

void CudaProduct::build(const Shape& batch) {
  SymbolTable& s = k.symbols();
  Dim count = 1;
  for (const Dim& d : batch) count = s.mul(count, body.dim(d));
  k.grid(s.ceildiv(n_, x_.bn), s.ceildiv(m_, x_.bm), count);
  axes_ = unpack_axes(body, batch, k.task(2));
  axes_.push_back(IterAxis{m_, k.index(0), false, 1});
  axes_.push_back(IterAxis{n_, k.index(0), false, 1});
  m0_ = k.let("m0", k.mul(k.task(1), k.index(x_.bm)));
  n0_ = k.let("n0", k.mul(k.task(0), k.index(x_.bn)));
  layout();
  if (x_.tiles)
    matrix_tiles();
  else
    registers();
  k.barrier();
  outputs();
}

// ---- matrix products and convolutions with a 1 x 1 kernel

namespace {

class MatrixProduct final : public CudaProduct {
 public:
  MatrixProduct(const Graph& g, const Target& t, const ProductFacts& f, const CudaTiling& x)
      : CudaProduct(g, t, f.result, f.acc, x), f_(f) {
    args.all();
    m_ = body.dim(f.m), n_ = body.dim(f.n), depth_ = body.dim(f.k);
    a_ = side(f.a, true, !f.ta || f.a_vector);
    b_ = side(f.b, false, f.tb || f.b_vector);
    if (f.b_vector) one_lane();
  }
  void build() { CudaProduct::build(f_.batch); }

 private:
  Side side(ValueId v, bool left, bool depth_runs) {
    Side s;
    const DType type = g_.type(v).dtype;
    s.type = x_.tiles ? type : acc_;
    s.depth_runs = depth_runs;
    for (uint32_t i = 0; i < g_.inputs().size(); ++i)
      if (g_.inputs()[i] == v && type == s.type) {
        s.direct = true;
        s.buffer = body.declare_input(i);
      }
    if (!left && f_.packed) s.depth_runs = false;
    const Dim& run = s.depth_runs ? depth_ : left ? m_ : n_;
    s.vectors = s.direct && (k.symbols().divisible(run, 16 / (dtype_bits(type) / 8)) == Ternary::kYes || (!left && f_.packed));
    return s;
  }
  Coords coords(bool left, Expr outer, Expr depth) {
    const Coord p = body.opaque(depth, 0, k.symbols().sub(depth_, 1));
    const Coord o = body.opaque(outer, 0, k.symbols().sub(left ? m_ : n_, 1));
    body.set_axes(axes_, 1);
    return left ? left_coords(body, f_, o, p, depth_) : right_coords(body, f_, p, o);
  }
  // Panels of 16 columns: element (p, n) of a matrix lies at ((n / 16) * K + p) * 16 + n % 16.
  Expr packed_flat(Expr n, Expr p) {
    const Shape& shape = g_.type(f_.b).shape;
    body.set_axes(axes_, 1);
    const Shape batch(shape.begin(), shape.end() - 3);
    Coords c(batch.size());
    if (!f_.merged) batch_coords(body, f_, batch, batch.size(), c);
    const Expr matrix = batch.empty() || f_.merged ? k.index(0) : body.scalar(body.flatten(c, batch));
    const Dim size = k.symbols().mul(k.symbols().mul(k.symbols().ceildiv(n_, kPanel), depth_), kPanel);
    const Expr panel = k.add(k.mul(k.floordiv(n, k.index(kPanel)), k.dim(depth_)), p);
    return k.add(k.mul(matrix, k.dim(size)), k.add(k.mul(panel, k.index(kPanel)), k.floormod(n, k.index(kPanel))));
  }
  Expr flat(const Side&, bool left, Expr outer, Expr depth) override {
    if (!left && f_.packed) return packed_flat(outer, depth);
    return body.scalar(body.flatten(coords(left, outer, depth), g_.type(left ? f_.a : f_.b).shape));
  }
  Expr value(bool left, Expr outer, Expr depth, Expr mask) override {
    if (!left && f_.packed) {
      for (uint32_t i = 0; i < g_.inputs().size(); ++i)
        if (g_.inputs()[i] == f_.b)
          return body.to_compute(k.load(body.declare_input(i), packed_flat(outer, depth), 1, {mask, {}, false}), g_.type(f_.b).dtype);
      NNC_CHECK(false, "a packed operand must be an input of its group");
    }
    return body.emit(left ? f_.a : f_.b, coords(left, outer, depth), mask);
  }
  Coords result_coords() override { return product_coords(body, f_, body.axis(row_axis()), body.axis(column_axis()), n_); }
  Expr bias(Expr mask) override {
    if (!f_.bias.valid()) return {};
    Coords c(1);
    c[0] = body.axis(column_axis());
    return body.emit(f_.bias, c, mask);
  }

  const ProductFacts& f_;
};

}  // namespace

Result<LoweredGroup> lower_product_cuda(const Graph& g, NodeId id, const Target& target, const LowerOptions& options) {
  NNC_ASSIGN(const ProductFacts f, product_facts(g, id));
  if (f.packed && g.type(f.b).shape.back() != Dim(kPanel))
    return Error(Code::kUnsupportedOp, "no CUDA kernel reads panels with interleaved rows");
  LoweredGroup out;
  out.skeleton = "contraction";
  const CudaTiling x = choose_cuda_tiling(target, const_cast<Graph&>(g).symbols(), f.m, f.n, f.acc, g.type(f.a).dtype, g.type(f.b).dtype);
  for (bool vectors : {true, false}) {
    MatrixProduct p(g, target, f, x);
    if (!vectors) p.one_lane();
    p.build();
    if (p.vector_failed() && vectors) continue;
    out.kernels.push_back(p.args.finish(options));
    break;
  }
  return out;
}

}  // namespace nnc

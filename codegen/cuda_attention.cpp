// Attention on CUDA, by the method that codegen/skeleton_attention.cpp names. A block is some rows of queries of one head of k and v. Tiles
// of k and v pass through shared memory, each on its way (asynchronous copies where an operand is a parameter as it is) while the other one
// is multiplied. Threads are 8 x 8: a thread has every eighth row and, of scores, every eighth key, so that the greatest score and the sum
// of a row are found by shuffles among neighbours, and its results lie in vectors of four.

#include <algorithm>
#include <limits>

#include "codegen/attention.h"

namespace nnc {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kSide = 8, kThreads = kSide * kSide;
constexpr int kKeys = 32;    // of a tile
constexpr int kColumns = 4;  // keys of a thread, and elements of its vectors
constexpr int kWide = kSide * kColumns;

int64_t rounded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

class CudaAttention {
 public:
  CudaAttention(const Graph& g, const Target& t, const AttentionFacts& f, bool vectors)
      : k(group_name(g), kThreads),
        body(k, g, t),
        args(k, body),
        g_(g),
        f_(f),
        axes_(body, f),
        scores_(body, f, axes_),
        epilogue_(body, f.result),
        vectors_(vectors) {
    args.all();
    keys_ = body.dim(f.keys);
    pitch_ = rounded(f.width, kColumns) + kColumns;
    value_pitch_ = rounded(f.value_width, kWide);
    rows_ = rows_of_block(t);
  }

  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;

  void build() {
    SymbolTable& s = k.symbols();
    const int64_t block = int64_t(rows_) * kSide;
    k.grid(s.ceildiv(axes_.rows(), block), body.dim(f_.groups), body.dim(f_.batch));
    axes_.set(AttentionAxes::kBatch, k.task(2));
    axes_.set(AttentionAxes::kGroup, k.task(1));
    q_ = k.alloc("q", f_.acc, block * pitch_, Space::kShared, 16);
    k_ = k.alloc("k", f_.acc, kKeys * pitch_, Space::kShared, 16);
    v_ = k.alloc("v", f_.acc, kKeys * value_pitch_, Space::kShared, 16);
    p_ = k.alloc("p", f_.acc, block * (kKeys + kColumns), Space::kShared, 16);
    tx_ = k.let("tx", k.floormod(k.thread(), k.index(kSide)));
    ty_ = k.let("ty", k.floordiv(k.thread(), k.index(kSide)));
    first_row_ = k.let("m0", k.mul(k.task(0), k.index(block)));
    scores_.begin();
    load_queries(block);
    begin_rows();
    load(Role::kOfKeys, k_, k.index(0));
    k.copy_commit();
    k.for_("t", k.index(0), k.dim(keys_), kKeys, [&](Expr t) {
      k.copy_wait(0);
      k.barrier();
      load(Role::kOfValues, v_, t);
      k.copy_commit();
      weigh(t);
      k.copy_wait(0);
      k.barrier();
      const Expr next = k.let("next", k.add(t, k.index(kKeys)));
      k.if_(k.lt(next, k.dim(keys_)), [&] { load(Role::kOfKeys, k_, next); });
      k.copy_commit();
      multiply();
    });
    k.copy_wait(0);
    give();
  }

 private:
  // As many rows as shared memory has room for, and no more than there usually are.
  int rows_of_block(const Target& t) const {
    const int64_t usual = g_.symbols().typical(const_cast<Graph&>(g_).symbols().mul(f_.queries, f_.repeat));
    int rows = 4;
    const auto bytes = [&] {
      return 4 * (rows * kSide * pitch_ + kKeys * pitch_ + kKeys * value_pitch_ + int64_t(rows) * kSide * (kKeys + kColumns));
    };
    while (rows > 1 && (bytes() > t.shared_bytes || (rows / 2) * kSide >= usual)) rows /= 2;
    return rows;
  }
  Expr num(double v, int lanes) { return k.constant(f_.acc, v, lanes); }
  Expr splat(Expr e) { return k.splat(e, kColumns); }
  int64_t vectors() const { return value_pitch_ / kWide; }

  // ---- tiles into shared memory
  // An operand that is a parameter as it is, in the accumulator's type.
  std::optional<BufId> parameter(ValueId v) {
    for (uint32_t i = 0; i < g_.inputs().size(); ++i)
      if (g_.inputs()[i] == v && g_.type(v).dtype == f_.acc) return body.declare_input(i);
    return std::nullopt;
  }

  // `lines` of `width` elements from memory; `go` tells the axes which line it is and gives the condition of its existence, or nothing.
  void fill(ValueId v, BufId to, int64_t lines, int64_t width, int64_t pitch, AttentionAxes::Axis along,
            const std::function<Expr(Expr)>& go, const std::function<Coords()>& coords) {
    const int lanes = vectors_ && width % kColumns == 0 ? kColumns : 1;
    const int64_t line = (along == AttentionAxes::kValueWidth ? pitch : rounded(width, kColumns)) / lanes, total = line * lines;
    const auto buffer = parameter(v);
    const auto one = [&](Expr id) {
      const Expr which = k.let("line", k.floordiv(id, k.index(line)));
      const Expr column = k.let("column", k.mul(k.floormod(id, k.index(line)), k.index(lanes)));
      Expr in = go(which);
      if (line * lanes > width) {
        const Expr inside = k.lt(column, k.index(width));
        in = in.valid() ? k.logical_and(in, inside) : inside;
      }
      if (in.valid()) in = k.let("in", in);
      axes_.set(along, column, lanes);
      axes_.apply(along, lanes);
      const Expr at = k.add(k.mul(which, k.index(pitch)), column);
      body.enter();
      if (buffer) {
        const Expr from = body.scalar(body.flatten(coords(), g_.type(v).shape));
        k.copy_async(to, at, *buffer, from, lanes * dtype_bits(f_.acc) / 8, in);
      } else {
        Expr e = k.splat(k.convert(body.emit(v, coords(), in), f_.acc), lanes);
        if (in.valid()) e = k.select(k.splat(in, lanes), e, num(0, lanes));
        k.store(to, at, e);
      }
      body.leave();
    };
    k.for_(
        "c", k.index(0), k.index((total + kThreads - 1) / kThreads), 1,
        [&](Expr c) {
          const Expr id = k.let("id", k.add(k.mul(c, k.index(kThreads)), k.thread()));
          if (total % kThreads == 0)
            one(id);
          else
            k.if_(k.lt(id, k.index(total)), [&] { one(id); });
        },
        true);
  }

  // Rows beyond the last are read as the last one, and not stored.
  Expr existing(Expr row) {
    if (k.symbols().divisible(axes_.rows(), int64_t(rows_) * kSide) == Ternary::kYes) return row;
    return k.let("row", k.min(row, k.sub(k.dim(axes_.rows()), k.index(1))));
  }
  void load_queries(int64_t block) {
    fill(
        f_.q, q_, block, f_.width, pitch_, AttentionAxes::kWidth,
        [&](Expr line) {
          axes_.set_row(existing(k.add(first_row_, line)));
          return Expr{};
        },
        [&] { return axes_.of_q(); });
  }
  // Keys and values may be one value of the graph.
  enum class Role : uint8_t { kOfKeys, kOfValues };
  void load(Role role, BufId to, Expr first) {
    const bool values = role == Role::kOfValues;
    fill(
        values ? f_.v : f_.k, to, kKeys, values ? f_.value_width : f_.width, values ? value_pitch_ : pitch_,
        values ? AttentionAxes::kValueWidth : AttentionAxes::kWidth,
        [&](Expr line) {
          const Expr key = k.let("key", k.add(first, line));
          axes_.set(AttentionAxes::kKey, key);
          const bool whole = k.symbols().divisible(keys_, kKeys) == Ternary::kYes && k.symbols().at_least(keys_, 1) == Ternary::kYes;
          return whole ? Expr{} : k.lt(key, k.dim(keys_));
        },
        [&] { return values ? axes_.of_v() : axes_.of_k(); });
  }

  // ---- rows of the thread: ty, ty + 8, ..
  void begin_rows() {
    for (int i = 0; i < rows_; ++i) {
      const Expr number = k.let("m", k.add(first_row_, k.add(ty_, k.index(int64_t(i) * kSide))));
      axes_.set_row(existing(number));
      numbers_.push_back(number);
      places_.push_back({axes_.base(AttentionAxes::kRepeat), axes_.base(AttentionAxes::kQuery)});
      tops_.push_back(k.mut("top", num(-kInf, 1)));
      sums_.push_back(k.mut("sum", num(0, 1)));
      results_.emplace_back();
      for (int64_t v = 0; v < vectors(); ++v) results_.back().push_back(k.mut("y", num(0, kColumns)));
    }
  }
  void go_to(int row) {
    axes_.set(AttentionAxes::kRepeat, places_[static_cast<size_t>(row)].first);
    axes_.set(AttentionAxes::kQuery, places_[static_cast<size_t>(row)].second);
  }
  Expr line_of(int row) { return k.add(ty_, k.index(int64_t(row) * kSide)); }
  Expr part_at(int row, Expr key) { return k.add(k.mul(line_of(row), k.index(kKeys + kColumns)), key); }

  // Scores of the tile's keys, their exponentials into shared memory, and the running values.
  void weigh(Expr first) {
    std::vector<std::vector<VarId>> dots(static_cast<size_t>(rows_));
    for (auto& row : dots)
      for (int j = 0; j < kColumns; ++j) row.push_back(k.mut("c", num(0, 1)));
    // Beyond the width both tiles hold zeros.
    k.for_(
        "d", k.index(0), k.index(rounded(f_.width, kColumns)), kColumns,
        [&](Expr d) {
          std::vector<Expr> keys;
          for (int j = 0; j < kColumns; ++j)
            keys.push_back(k.load(k_, k.add(k.mul(k.add(tx_, k.index(j * kSide)), k.index(pitch_)), d), kColumns, {}, "k"));
          for (int i = 0; i < rows_; ++i) {
            const Expr q = k.load(q_, k.add(k.mul(line_of(i), k.index(pitch_)), d), kColumns, {}, "q");
            for (int j = 0; j < kColumns; ++j) {
              const VarId c = dots[static_cast<size_t>(i)][static_cast<size_t>(j)];
              for (int u = 0; u < kColumns; ++u) k.set(c, k.fma(k.extract(q, u), k.extract(keys[static_cast<size_t>(j)], u), k.var(c)));
            }
          }
        },
        true);
    const bool padded = k.symbols().divisible(keys_, kKeys) != Ternary::kYes;
    factors_.clear();
    for (int i = 0; i < rows_; ++i) {
      std::vector<Expr> scores;
      Expr top;
      for (int j = 0; j < kColumns; ++j) {
        const Expr key = k.let("key", k.add(first, k.add(tx_, k.index(j * kSide))));
        axes_.set(AttentionAxes::kKey, key);
        go_to(i);
        axes_.apply(AttentionAxes::kCount, 1);
        body.enter();
        const Expr inside = padded ? k.let("inside", k.lt(key, k.dim(keys_))) : Expr{};
        const Expr dot = k.var(dots[static_cast<size_t>(i)][static_cast<size_t>(j)]);
        const Expr present = scores_.present(key, padded), mask = scores_.mask(inside);
        scores.push_back(k.let("s", scores_.finish(dot, key, present, mask)));
        body.leave();
        top = j == 0 ? scores[0] : k.max(top, scores.back());
      }
      exponentials(i, scores, across(top, true));
    }
  }

  // Over the eight threads of a row.
  Expr across(Expr v, bool greatest) {
    for (int by = kSide / 2; by >= 1; by /= 2) {
      v = k.let("v", v);
      const Expr other = k.warp(WarpOp::kShflXor, v, k.index(by));
      v = greatest ? k.max(v, other) : k.add(v, other);
    }
    return k.let("v", v);
  }

  void exponentials(int row, const std::vector<Expr>& scores, Expr top) {
    const VarId running = tops_[static_cast<size_t>(row)], sum = sums_[static_cast<size_t>(row)];
    const Expr now = k.let("top", k.max(k.var(running), top));
    // Without a score above -inf there is nothing to subtract: exponentials and their sum are 0 then, the result of such a row NaN.
    const Expr base = k.let("base", k.select(k.eq(now, num(-kInf, 1)), num(0, 1), now));
    const Expr factor = k.let("factor", k.math(ExprOp::kExp, k.sub(k.var(running), base)));
    Expr total;
    for (int j = 0; j < kColumns; ++j) {
      const Expr e = k.let("e", k.math(ExprOp::kExp, k.sub(scores[static_cast<size_t>(j)], base)));
      k.store(p_, part_at(row, k.add(tx_, k.index(j * kSide))), e);
      total = j == 0 ? e : k.add(total, e);
    }
    const Expr all = across(total, false);
    k.set(running, now);
    k.set(sum, k.fma(k.var(sum), factor, all));
    factors_.push_back(factor);
  }

  // The tile's exponentials times its values, added to what is there.
  void multiply() {
    std::vector<std::vector<VarId>> part(static_cast<size_t>(rows_));
    for (auto& row : part)
      for (int64_t v = 0; v < vectors(); ++v) row.push_back(k.mut("part", num(0, kColumns)));
    k.for_(
        "t", k.index(0), k.index(kKeys), kColumns,
        [&](Expr t) {
          std::vector<Expr> p;
          for (int i = 0; i < rows_; ++i) p.push_back(k.load(p_, part_at(i, t), kColumns, {}, "p"));
          for (int u = 0; u < kColumns; ++u)
            for (int64_t v = 0; v < vectors(); ++v) {
              const Expr column = k.add(k.mul(tx_, k.index(kColumns)), k.index(v * kWide));
              const Expr value = k.load(v_, k.add(k.mul(k.add(t, k.index(u)), k.index(value_pitch_)), column), kColumns, {}, "v");
              for (size_t i = 0; i < part.size(); ++i) {
                const VarId y = part[i][static_cast<size_t>(v)];
                k.set(y, k.fma(splat(k.extract(p[i], u)), value, k.var(y)));
              }
            }
        },
        true);
    for (size_t i = 0; i < part.size(); ++i)
      for (size_t v = 0; v < part[i].size(); ++v)
        k.set(results_[i][v], k.fma(k.var(results_[i][v]), splat(factors_[i]), k.var(part[i][v])));
  }

  // ---- results
  void give() {
    for (int i = 0; i < rows_; ++i) {
      const Expr sum = k.var(sums_[static_cast<size_t>(i)]);
      // Without keys the result is a sum of nothing.
      const Expr by =
          k.let("by", k.symbols().at_least(keys_, 1) == Ternary::kYes ? sum : k.select(k.eq(k.dim(keys_), k.index(0)), num(1, 1), sum));
      const auto row = [&] {
        for (int64_t v = 0; v < vectors(); ++v) {
          const Expr y = k.let("y", k.div(k.var(results_[static_cast<size_t>(i)][static_cast<size_t>(v)]), splat(by)));
          const Expr column = k.let("column", k.add(k.mul(tx_, k.index(kColumns)), k.index(v * kWide)));
          if (vectors_ && f_.value_width % kColumns == 0)
            inside(column, (v + 1) * kWide, [&] { store(i, column, y, kColumns); });
          else
            for (int u = 0; u < kColumns; ++u)
              inside(k.add(column, k.index(u)), (v + 1) * kWide, [&] { store(i, k.add(column, k.index(u)), k.extract(y, u), 1); });
        }
      };
      if (k.symbols().divisible(axes_.rows(), int64_t(rows_) * kSide) == Ternary::kYes)
        row();
      else
        k.if_(k.lt(numbers_[static_cast<size_t>(i)], k.dim(axes_.rows())), row);
    }
  }
  void inside(Expr column, int64_t end, const std::function<void()>& then) {
    if (end <= f_.value_width)
      then();
    else
      k.if_(k.lt(column, k.index(f_.value_width)), then);
  }
  void store(int row, Expr column, Expr value, int lanes) {
    go_to(row);
    axes_.set(AttentionAxes::kValueWidth, column, lanes);
    axes_.apply(AttentionAxes::kValueWidth, lanes);
    body.enter();
    const DType type = g_.type(f_.result).dtype;
    const Expr v = k.let("y", body.round_value(k.convert(value, compute_dtype(type)), type));
    body.bind(f_.result, [v](const Coords&, Expr) { return v; });
    epilogue_.place(axes_.of_result());
    epilogue_.store();
    body.unbind(f_.result);
    body.leave();
  }

  const Graph& g_;
  const AttentionFacts& f_;
  AttentionAxes axes_;
  Scores scores_;
  Epilogue epilogue_;
  const bool vectors_;
  Dim keys_;
  int rows_ = 4;                         // of a thread
  int64_t pitch_ = 0, value_pitch_ = 0;  // of lines in shared memory
  BufId q_, k_, v_, p_;
  Expr tx_, ty_, first_row_;
  std::vector<Expr> numbers_, factors_;  // by row of the thread
  std::vector<std::pair<Expr, Expr>> places_;
  std::vector<VarId> tops_, sums_;
  std::vector<std::vector<VarId>> results_;
};

}  // namespace

Result<LoweredGroup> lower_attention_cuda(const Graph& g, const Target& target, const AttentionFacts& f, const LowerOptions& options) {
  for (const bool vectors : {true, false}) {
    CudaAttention a(g, target, f, vectors);
    a.build();
    if (a.body.vector_failed() && vectors) continue;
    LoweredGroup out;
    out.skeleton = "attention";
    out.kernels.push_back(a.args.finish(options));
    return out;
  }
  NNC_CHECK(false, "one lane always works");
}

}  // namespace nnc

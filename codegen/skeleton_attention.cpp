// Attention without scores in memory: y = softmax(q k^T * scale + mask) v by blocks of keys with a running maximum and a running sum
// (Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022).
// CPU: a task is some rows of queries of one head of k and v; the heads of q that share it are rows too. Per block of keys, k is turned
// into panels of as many keys as a vector has lanes, then each tile of rows makes its scores (lanes along the keys), their exponentials,
// and the product with v, which is read where it lies (lanes along its width). All but q, k, v and the result is in local arrays. Keys that
// are one block need no running values.

#include <algorithm>
#include <limits>

#include "codegen/attention.h"

namespace nnc {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct AttentionTiling {
  int lanes = 16;
  int rows = 8;           // of a tile
  int panels = 2;         // of keys that a tile's scores are made for at once
  int vectors = 2;        // of v's width that a tile is multiplied with at once
  int64_t row_block = 0;  // rows of a task
  int64_t key_block = 0;
  bool one_block = false;
  int64_t strip() const { return int64_t(lanes) * panels; }
};

AttentionTiling choose_tiling(const Target& t, const SymbolTable& s, const AttentionFacts& f, const Dim& rows, int lanes) {
  constexpr int64_t kRows = 128;  // share the turning of k, leave tasks for all threads
  constexpr int64_t kKeys = 128;  // as long as a sum may be (part_length in codegen/contraction.h)
  AttentionTiling x;
  x.lanes = lanes;
  const bool many_registers = t.vector_registers >= 32;
  const int64_t m = std::max<int64_t>(1, s.typical(rows));
  x.rows = !many_registers ? 6 : m % 12 != 0 && m % 8 == 0 ? 8 : 12;
  x.rows = static_cast<int>(std::min<int64_t>(x.rows, m));
  if (x.rows <= 2) x.panels = x.vectors = 4;
  const int64_t blocks = rows.is_const() ? (m + kRows - 1) / kRows : 1;
  const int64_t block = rows.is_const() ? (m + blocks - 1) / blocks : kRows;
  x.row_block = (block + x.rows - 1) / x.rows * x.rows;
  const int64_t upper = s.upper(f.keys);
  x.one_block = upper <= kKeys;
  const int64_t keys = x.one_block ? std::max<int64_t>(1, upper) : kKeys;
  x.key_block = (keys + x.strip() - 1) / x.strip() * x.strip();
  return x;
}

class CpuAttention {
 public:
  CpuAttention(const Graph& g, const Target& t, const AttentionFacts& f, int lanes)
      : k(group_name(g)),
        body(k, g, t),
        args(k, body),
        g_(g),
        f_(f),
        axes_(body, f),
        scores_(body, f, axes_),
        x_(choose_tiling(t, g.symbols(), f, rows_of(g, f), lanes)),
        epilogue_(body, f.result) {
    args.all();
    keys_ = body.dim(f.keys);
    width_ = rounded(f.width), value_width_ = rounded(f.value_width);
  }

  KernelBuilder k;
  GroupBody body;
  ArgRecorder args;

  void build() {
    SymbolTable& s = k.symbols();
    k.grid(s.ceildiv(axes_.rows(), x_.row_block), body.dim(f_.groups), body.dim(f_.batch));
    axes_.set(AttentionAxes::kBatch, k.task(2));
    axes_.set(AttentionAxes::kGroup, k.task(1));
    queries_ = k.alloc("q", f_.acc, x_.rows * width_, Space::kLocal, 64);
    panels_ = k.alloc("k", f_.acc, x_.key_block * f_.width, Space::kLocal, 64);
    parts_ = k.alloc("p", f_.acc, x_.rows * x_.key_block, Space::kLocal, 64);
    scores_.begin();
    first_row_ = k.let("m0", k.mul(k.task(0), k.index(x_.row_block)));
    const Expr count = k.let("rows", k.min(k.index(x_.row_block), k.sub(k.dim(axes_.rows()), first_row_)));
    if (x_.one_block) {
      key0_ = k.index(0);
      count_ = k.dim(keys_);
      turn_keys();
      tiles(count, [&](Expr row, int rows) { tile(row, rows); });
      return;
    }
    begin_states(count);
    k.for_("t", k.index(0), k.dim(keys_), x_.key_block, [&](Expr t) {
      key0_ = t;
      count_ = k.let("keys", k.min(k.index(x_.key_block), k.sub(k.dim(keys_), t)));
      turn_keys();
      tiles(count, [&](Expr row, int rows) { tile(row, rows); });
    });
    if (one_row())
      give(k.index(0));
    else
      k.for_("i", k.index(0), count, 1, [&](Expr i) { give(i); });
  }

 private:
  static Dim rows_of(const Graph& g, const AttentionFacts& f) { return const_cast<Graph&>(g).symbols().mul(f.queries, f.repeat); }
  int64_t rounded(int64_t n) const { return (n + x_.lanes - 1) / x_.lanes * x_.lanes; }
  Expr num(double v, int lanes) { return k.constant(f_.acc, v, lanes); }
  Expr wide(Expr e) { return k.splat(k.convert(e, f_.acc), x_.lanes); }
  bool whole_strips() { return k.symbols().divisible(keys_, x_.strip()) == Ternary::kYes; }

  // ---- what a row carries from one block of keys to the next: names where a task is one row, else arrays
  struct State {
    BufId array;
    VarId name;
    int64_t pitch = 1, offset = 0;  // of the array: elements from row to row
  };
  bool one_row() { return axes_.rows().is_const(1); }
  Expr state_at(const State& s, Expr row) { return k.add(k.mul(row, k.index(s.pitch)), k.index(s.offset)); }
  Expr get(const State& s, Expr row, int lanes) {
    return one_row() ? k.var(s.name) : k.load(s.array, state_at(s, row), lanes, {}, "before");
  }
  void put(const State& s, Expr row, Expr value) {
    if (one_row())
      k.set(s.name, value);
    else
      k.store(s.array, state_at(s, row), value);
  }
  void begin_states(Expr count) {
    results_.resize(static_cast<size_t>(value_width_ / x_.lanes));
    if (one_row()) {
      top_.name = k.mut("top", num(-kInf, 1));
      sum_.name = k.mut("sum", num(0, 1));
      for (State& r : results_) r.name = k.mut("y", num(0, x_.lanes));
      return;
    }
    top_.array = k.alloc("top", f_.acc, x_.row_block, Space::kLocal, 64);
    sum_.array = k.alloc("sum", f_.acc, x_.row_block, Space::kLocal, 64);
    const BufId all = k.alloc("y", f_.acc, x_.row_block * value_width_, Space::kLocal, 64);
    for (size_t v = 0; v < results_.size(); ++v) results_[v] = {all, {}, value_width_, static_cast<int64_t>(v) * x_.lanes};
    k.for_("i", k.index(0), count, 1, [&](Expr i) {
      put(top_, i, num(-kInf, 1));
      put(sum_, i, num(0, 1));
      for (const State& r : results_) put(r, i, num(0, x_.lanes));
    });
  }

  // Calls `f(first element, mask or invalid)` for each vector of a row of `width` elements.
  void vectors(int64_t width, const std::function<void(Expr at, Expr mask)>& f) {
    const int64_t whole = width / x_.lanes;
    if (whole > 0) k.for_("v", k.index(0), k.index(whole), 1, [&](Expr v) { f(k.let("c", k.mul(v, k.index(x_.lanes))), {}); });
    if (width % x_.lanes != 0) f(k.index(whole * x_.lanes), lanes_below(width % x_.lanes));
  }
  Expr lanes_below(int64_t n) { return k.lt(k.iota(x_.lanes), k.splat(k.index(n), x_.lanes)); }

  // ---- k as panels: element (key, d) at (key / lanes * width + d) * lanes + key % lanes
  void turn_keys() {
    const Expr strips = k.let("strips", k.floordiv(k.add(count_, k.index(x_.strip() - 1)), k.index(x_.strip())));
    strips_ = strips;
    const Expr whole = k.let("whole", k.floordiv(count_, k.index(x_.lanes)));
    k.for_("n", k.index(0), whole, 1, [&](Expr n) { panel(n, false); });
    if (whole_strips()) return;
    k.for_("n", whole, k.mul(strips, k.index(x_.panels)), 1, [&](Expr n) { panel(n, true); });
  }

  void panel(Expr n, bool ends) {
    const Expr first = k.let("key", k.add(key0_, k.mul(n, k.index(x_.lanes))));
    vectors(f_.width, [&](Expr d, Expr mask) {
      std::vector<Expr> lines;
      for (int i = 0; i < x_.lanes; ++i) {
        const Expr key = k.add(first, k.index(i));
        axes_.set(AttentionAxes::kKey, key);
        axes_.set(AttentionAxes::kWidth, d, x_.lanes);
        axes_.apply(AttentionAxes::kWidth, x_.lanes);
        Expr inside = mask;
        if (ends) {
          const Expr exists = k.splat(k.lt(key, k.dim(keys_)), x_.lanes);
          inside = inside.valid() ? k.logical_and(inside, exists) : exists;
        }
        body.enter();
        Expr v = wide(body.emit(f_.k, axes_.of_k(), inside));
        if (inside.valid()) v = k.select(inside, v, num(0, x_.lanes));
        lines.push_back(k.let("l", v));
        body.leave();
      }
      turn(lines);
      const int64_t used = mask.valid() ? f_.width % x_.lanes : x_.lanes;
      const Expr at = k.let("at", k.mul(k.add(k.mul(n, k.index(f_.width)), d), k.index(x_.lanes)));
      for (int64_t i = 0; i < used; ++i) k.store(panels_, k.add(at, k.index(i * x_.lanes)), lines[static_cast<size_t>(i)]);
    });
  }

  // Lines of a square become its columns: in each round, elements whose line and column differ in one bit change places.
  void turn(std::vector<Expr>& lines) {
    const int n = x_.lanes;
    for (int bit = 1; bit < n; bit *= 2) {
      std::vector<uint8_t> low, high;
      for (int lane = 0; lane < n; ++lane) {
        const bool other = (lane & bit) != 0;
        low.push_back(static_cast<uint8_t>(other ? n + lane - bit : lane));
        high.push_back(static_cast<uint8_t>(other ? n + lane : lane + bit));
      }
      for (int i = 0; i < n; ++i) {
        if ((i & bit) != 0) continue;
        Expr &a = lines[static_cast<size_t>(i)], &b = lines[static_cast<size_t>(i) + static_cast<size_t>(bit)];
        const Expr x = k.let("x", k.shuffle(a, b, low)), y = k.let("y", k.shuffle(a, b, high));
        a = x, b = y;
      }
    }
  }

  // ---- rows
  void tiles(Expr count, const std::function<void(Expr row, int rows)>& tile) {
    const int r = x_.rows;
    const Expr main = k.let("main", k.floordiv(count, k.index(r)));
    k.for_("u", k.index(0), main, 1, [&](Expr u) { tile(k.let("row", k.mul(u, k.index(r))), r); });
    if (k.symbols().divisible(axes_.rows(), r) == Ternary::kYes) return;
    const Expr rest = k.let("rest", k.mul(main, k.index(r)));
    // Blocks are whole tiles, so what remains of a known number is the same wherever it remains.
    if (axes_.rows().is_const()) {
      const int left = static_cast<int>(axes_.rows().constant() % r);
      k.if_(k.le(k.add(rest, k.index(left)), count), [&] { tile(rest, left); });
      return;
    }
    k.for_("u", rest, count, 1, [&](Expr u) { tile(u, 1); });
  }

  // Coordinates of the rows of a tile, `row` being the first one's number within the task.
  struct Row {
    Expr repeat, query;
  };
  std::vector<Row> rows_at(Expr row, int rows) {
    std::vector<Row> out;
    for (int i = 0; i < rows; ++i) out.push_back(row_at(k.add(row, k.index(i))));
    return out;
  }
  Row row_at(Expr row) {
    axes_.set_row(k.add(first_row_, row));
    return {axes_.base(AttentionAxes::kRepeat), axes_.base(AttentionAxes::kQuery)};
  }
  void go_to(const Row& r) {
    axes_.set(AttentionAxes::kRepeat, r.repeat);
    axes_.set(AttentionAxes::kQuery, r.query);
  }

  void tile(Expr row, int rows) {
    const std::vector<Row> at = rows_at(row, rows);
    vectors(f_.width, [&](Expr d, Expr mask) {
      for (int i = 0; i < rows; ++i) {
        go_to(at[static_cast<size_t>(i)]);
        axes_.set(AttentionAxes::kWidth, d, x_.lanes);
        axes_.apply(AttentionAxes::kWidth, x_.lanes);
        body.enter();
        Expr v = wide(body.emit(f_.q, axes_.of_q(), mask));
        if (mask.valid()) v = k.select(mask, v, num(0, x_.lanes));
        k.store(queries_, k.add(k.index(i * width_), d), v);
        body.leave();
      }
    });
    const std::vector<VarId> tops = make_scores(at);
    std::vector<Expr> top, sum, factor;
    for (int i = 0; i < rows; ++i) {
      Expr m = reduced(ExprOp::kReduceMax, k.var(tops[static_cast<size_t>(i)]));
      if (!x_.one_block) {
        const Expr before = get(top_, k.add(row, k.index(i)), 1);
        const Expr now = k.let("top", k.max(before, m));
        m = finite(now);
        factor.push_back(k.let("factor", k.math(ExprOp::kExp, k.sub(before, m))));
        put(top_, k.add(row, k.index(i)), now);
      } else {
        m = finite(m);
      }
      top.push_back(m);
    }
    const std::vector<VarId> sums = exponentials(top);
    for (int i = 0; i < rows; ++i) {
      Expr s = reduced(ExprOp::kReduceAdd, k.var(sums[static_cast<size_t>(i)]));
      if (!x_.one_block) {
        const Expr place = k.add(row, k.index(i));
        s = k.let("sum", k.fma(get(sum_, place, 1), factor[static_cast<size_t>(i)], s));
        put(sum_, place, s);
      }
      sum.push_back(k.let("sum", s));
    }
    const int64_t vectors = value_width_ / x_.lanes, chunks = (vectors + x_.vectors - 1) / x_.vectors;
    for (int64_t c = 0; c < chunks; ++c) multiply(row, at, vectors * c / chunks, vectors * (c + 1) / chunks, sum, factor);
  }

  // Without a score above -inf there is nothing to subtract: exponentials and their sum are 0 then, the result of such a row NaN.
  Expr finite(Expr top) { return k.let("top", k.select(k.eq(top, num(-kInf, 1)), num(0, 1), top)); }
  Expr reduced(ExprOp op, Expr v) { return x_.lanes == 1 ? v : k.hreduce(op, v); }
  Expr part_at(int row, Expr key) { return k.add(k.index(row * x_.key_block), key); }

  // Scores of the tile and of all keys of the block into `parts_`; the greatest by lane.
  std::vector<VarId> make_scores(const std::vector<Row>& at) {
    const int rows = static_cast<int>(at.size());
    std::vector<VarId> tops;
    for (int i = 0; i < rows; ++i) tops.push_back(k.mut("top", num(-kInf, x_.lanes)));
    k.for_("strip", k.index(0), strips_, 1, [&](Expr strip) {
      std::vector<std::vector<VarId>> acc(at.size());
      for (auto& row : acc)
        for (int j = 0; j < x_.panels; ++j) row.push_back(k.mut("c", num(0, x_.lanes)));
      dots(strip, acc);
      for (int j = 0; j < x_.panels; ++j) {
        const Expr local = k.let("j", k.add(k.mul(strip, k.index(x_.strip())), k.index(int64_t(j) * x_.lanes)));
        const Expr key = k.let("key", k.add(key0_, local));
        axes_.set(AttentionAxes::kKey, key, x_.lanes);
        const Expr keys = k.add(k.iota(x_.lanes), k.splat(key, x_.lanes));
        const Expr inside = whole_strips() ? Expr{} : k.let("inside", k.lt(keys, k.splat(k.dim(keys_), x_.lanes)));
        const Expr present = scores_.present(keys, !whole_strips());
        body.enter();
        Expr mask;
        for (int i = 0; i < rows; ++i) {
          go_to(at[static_cast<size_t>(i)]);
          if (f_.mask.valid() && (i == 0 || !axes_.mask_ignores_rows())) {
            axes_.apply(AttentionAxes::kKey, x_.lanes);
            mask = scores_.mask(inside);
          }
          const VarId dot = acc[static_cast<size_t>(i)][static_cast<size_t>(j)];
          const Expr s = k.let("s", scores_.finish(k.var(dot), keys, present, mask));
          k.store(parts_, part_at(i, local), s);
          k.set(tops[static_cast<size_t>(i)], k.max(k.var(tops[static_cast<size_t>(i)]), s));
        }
        body.leave();
      }
    });
    return tops;
  }

  // Products of the tile's rows with one strip of keys.
  void dots(Expr strip, const std::vector<std::vector<VarId>>& acc) {
    constexpr int64_t kPart = 128;  // see part_length in codegen/contraction.h
    const Expr base = k.let("kp", k.mul(strip, k.index(x_.strip() * f_.width)));
    const auto round = [&](Expr d, const std::vector<std::vector<VarId>>& into) {
      std::vector<Expr> keys;
      for (int j = 0; j < x_.panels; ++j)
        keys.push_back(
            k.load(panels_, k.add(k.add(base, k.mul(d, k.index(x_.lanes))), k.index(j * f_.width * x_.lanes)), x_.lanes, {}, "k"));
      for (size_t i = 0; i < into.size(); ++i) {
        const Expr q = k.load(queries_, k.add(k.index(static_cast<int64_t>(i) * width_), d), 1, {}, "q");
        for (size_t j = 0; j < keys.size(); ++j) k.set(into[i][j], k.fma(k.splat(q, x_.lanes), keys[j], k.var(into[i][j])));
      }
    };
    if (f_.width <= kPart) {
      k.for_(
          "d", k.index(0), k.index(f_.width), 1, [&](Expr d) { round(d, acc); }, true);
      return;
    }
    for (int64_t from = 0; from < f_.width; from += kPart) {
      std::vector<std::vector<VarId>> part(acc.size());
      for (auto& row : part)
        for (int j = 0; j < x_.panels; ++j) row.push_back(k.mut("c", num(0, x_.lanes)));
      k.for_(
          "d", k.index(from), k.index(std::min(from + kPart, f_.width)), 1, [&](Expr d) { round(d, part); }, true);
      for (size_t i = 0; i < acc.size(); ++i)
        for (size_t j = 0; j < acc[i].size(); ++j) k.set(acc[i][j], k.add(k.var(acc[i][j]), k.var(part[i][j])));
    }
  }

  // Scores become exponentials of their distance from the row's greatest; their sums by lane.
  std::vector<VarId> exponentials(const std::vector<Expr>& top) {
    std::vector<VarId> sums;
    for (size_t i = 0; i < top.size(); ++i) sums.push_back(k.mut("sum", num(0, x_.lanes)));
    k.for_("n", k.index(0), k.mul(strips_, k.index(x_.panels)), 1, [&](Expr n) {
      const Expr key = k.let("j", k.mul(n, k.index(x_.lanes)));
      for (size_t i = 0; i < top.size(); ++i) {
        const Expr at = part_at(static_cast<int>(i), key);
        const Expr s = k.load(parts_, at, x_.lanes, {}, "s");
        const Expr e = k.let("e", exponential(k.let("d", k.sub(s, k.splat(top[i], x_.lanes)))));
        k.store(parts_, at, e);
        k.set(sums[i], k.add(k.var(sums[i]), e));
      }
    });
    return sums;
  }

  // Masked scores are far below the greatest. Their exponentials are 0, but made the usual way by an underflow, which is dear.
  Expr exponential(Expr x) {
    const Expr gone = k.let("gone", k.lt(x, num(f_.acc == DType::kF64 ? -746 : -104, x_.lanes)));
    const Expr zero = num(0, x_.lanes);
    return k.select(gone, zero, k.math(ExprOp::kExp, k.let("d", k.select(gone, zero, x))));
  }

  // The tile's exponentials times vectors [begin, end) of v's width.
  void multiply(Expr row, const std::vector<Row>& at, int64_t begin, int64_t end, const std::vector<Expr>& sum,
                const std::vector<Expr>& factor) {
    std::vector<std::vector<VarId>> acc(at.size());
    for (auto& r : acc)
      for (int64_t v = begin; v < end; ++v) r.push_back(k.mut("y", num(0, x_.lanes)));
    const auto mask = [&](int64_t v) { return (v + 1) * x_.lanes > f_.value_width ? lanes_below(f_.value_width % x_.lanes) : Expr{}; };
    k.for_(
        "t", k.index(0), count_, 1,
        [&](Expr t) {
          axes_.set(AttentionAxes::kKey, k.add(key0_, t));
          std::vector<Expr> values;
          body.enter();
          for (int64_t v = begin; v < end; ++v) {
            axes_.set(AttentionAxes::kValueWidth, k.index(v * x_.lanes), x_.lanes);
            axes_.apply(AttentionAxes::kValueWidth, x_.lanes);
            values.push_back(k.let("v", wide(body.emit(f_.v, axes_.of_v(), mask(v)))));
          }
          body.leave();
          for (size_t i = 0; i < at.size(); ++i) {
            const Expr p = k.load(parts_, part_at(static_cast<int>(i), t), 1, {}, "p");
            for (size_t v = 0; v < values.size(); ++v) k.set(acc[i][v], k.fma(k.splat(p, x_.lanes), values[v], k.var(acc[i][v])));
          }
        },
        true);
    for (size_t i = 0; i < at.size(); ++i) {
      const Expr place = k.add(row, k.index(static_cast<int64_t>(i)));
      const Expr divisor = x_.one_block ? k.let("by", some(sum[i])) : Expr{};
      for (int64_t v = begin; v < end; ++v) {
        const Expr y = k.var(acc[i][static_cast<size_t>(v - begin)]);
        if (x_.one_block) {
          store(at[i], v, k.div(y, k.splat(divisor, x_.lanes)), mask(v));
          continue;
        }
        State& result = results_[static_cast<size_t>(v)];
        put(result, place, k.fma(get(result, place, x_.lanes), k.splat(factor[i], x_.lanes), y));
      }
    }
  }

  // ---- results
  void give(Expr row) {
    const Row at = row_at(row);
    const Expr divisor = k.let("by", some(get(sum_, row, 1)));
    for (int64_t v = 0; v < value_width_ / x_.lanes; ++v) {
      const Expr mask = (v + 1) * x_.lanes > f_.value_width ? lanes_below(f_.value_width % x_.lanes) : Expr{};
      store(at, v, k.div(get(results_[static_cast<size_t>(v)], row, x_.lanes), k.splat(divisor, x_.lanes)), mask);
    }
  }
  // Without keys the result is a sum of nothing.
  Expr some(Expr sum) {
    if (k.symbols().at_least(keys_, 1) == Ternary::kYes) return sum;
    return k.select(k.eq(k.dim(keys_), k.index(0)), num(1, 1), sum);
  }
  void store(const Row& at, int64_t vector, Expr value, Expr mask) {
    go_to(at);
    axes_.set(AttentionAxes::kValueWidth, k.index(vector * x_.lanes), x_.lanes);
    axes_.apply(AttentionAxes::kValueWidth, x_.lanes);
    body.enter();
    const DType type = g_.type(f_.result).dtype;
    const Expr v = k.let("y", body.round_value(k.convert(value, compute_dtype(type)), type));
    body.bind(f_.result, [v](const Coords&, Expr) { return v; });
    epilogue_.place(axes_.of_result());
    epilogue_.store(mask);
    body.unbind(f_.result);
    body.leave();
  }

  const Graph& g_;
  const AttentionFacts& f_;
  AttentionAxes axes_;
  Scores scores_;
  const AttentionTiling x_;
  Epilogue epilogue_;
  Dim keys_;
  int64_t width_ = 0, value_width_ = 0;  // whole vectors
  BufId queries_, panels_, parts_;
  State top_, sum_;
  std::vector<State> results_;              // vectors of the result's width, before they are divided by the sum
  Expr first_row_, key0_, count_, strips_;  // the task's first row; the block's first key, number of keys and of strips
};

}  // namespace

Result<LoweredGroup> lower_attention(const Graph& g, const Target& target, const LowerOptions& options) {
  NNC_ASSIGN(const AttentionFacts f, attention_facts(g, target));
  if (target.is_cuda()) return lower_attention_cuda(g, target, f, options);
  const int widest = target.kind == TargetKind::kVm ? 16 : std::min<int>(16, target.vector_bytes / (dtype_bits(f.acc) / 8));
  for (int lanes : {widest, 1}) {
    CpuAttention a(g, target, f, lanes);
    a.build();
    if (a.body.vector_failed() && lanes > 1) continue;
    LoweredGroup out;
    out.skeleton = "attention";
    out.kernels.push_back(a.args.finish(options));
    return out;
  }
  NNC_CHECK(false, "one lane always works");
}

}  // namespace nnc

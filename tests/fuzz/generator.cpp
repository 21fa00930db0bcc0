#include "tests/fuzz/generator.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/support/text.h"

namespace nnc::test {

namespace {

constexpr int64_t kExtents[] = {0, 1, 2, 3, 5, 7, 8, 16, 17, 31, 32, 33};
constexpr int64_t kMostElements = 4096;
using Ints = std::vector<int64_t>;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull) {
    for (int k = 0; k < 4; ++k) next();
  }
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  double uniform(double lo, double hi) { return lo + (hi - lo) * static_cast<double>(next() >> 11) * 0x1p-53; }
  template <class T> T pick(std::initializer_list<T> list) { return list.begin()[below(static_cast<int64_t>(list.size()))]; }

 private:
  uint64_t state_;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : r_(seed), b_(start()) {}

  RandomGraph run() {
    hero_ = r_.chance(25);
    symbolic_ = r_.chance(35);
    specials_ = r_.chance(10);
    const int64_t wanted = 3 + r_.below(9);
    float_ = r_.chance(70) ? DType::kF32 : r_.pick({DType::kF16, DType::kBF16, DType::kF64});
    make_input(r_.chance(75) ? float_ : any_dtype(), random_shape(), true);
    if (hero_) make_hero();
    for (int tries = 0; static_cast<int64_t>(nodes_) < wanted && tries < 200; ++tries) step();
    finish();
    return std::move(out_);
  }

 private:
  Graph& start() {
    out_.module = std::make_unique<Module>();
    return *out_.module->add_entry("main").graph;
  }
  Graph& g() { return *out_.module->entries[0]->graph; }
  SymbolTable& symbols() { return out_.module->symbols; }

  // ---- shapes and arguments

  DType any_dtype() {
    return r_.pick({DType::kBool, DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kU64,
                    DType::kF16, DType::kBF16, DType::kF32, DType::kF32, DType::kF32, DType::kF64});
  }
  int64_t extent() {
    const int64_t e = kExtents[r_.below(static_cast<int64_t>(std::size(kExtents)))];
    return e == 0 && !r_.chance(15) ? 4 : e;
  }
  Ints random_dims(int rank) {
    Ints dims;
    int64_t n = 1;
    for (int k = 0; k < rank; ++k) {
      int64_t e = extent();
      while (n * e > kMostElements) e = 1 + e / 4;
      dims.push_back(e);
      n *= std::max<int64_t>(1, e);
    }
    return dims;
  }
  Ints random_shape() { return random_dims(static_cast<int>(r_.pick({0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6}))); }

  int64_t value_of(const Dim& d) const {
    const auto n = out_.module->symbols.eval(d, values_);
    return n.ok() ? *n : 0;
  }
  Ints dims_of(ValueId v) {
    refresh();
    Ints dims;
    for (const Dim& d : b_.shape(v)) dims.push_back(value_of(d));
    return dims;
  }
  void refresh() {
    values_.resize(symbols().size(), 0);
    known_.resize(symbols().size(), 0);
    (void)symbols().derive(values_, known_);
  }
  int64_t count(ValueId v) { return element_count(dims_of(v)); }

  // Concrete extents, some of them as symbols.
  Shape as_shape(const Ints& dims, bool may_be_symbolic) {
    Shape s;
    for (const int64_t e : dims) {
      if (!may_be_symbolic || !symbolic_ || !r_.chance(50)) {
        s.push_back(e);
        continue;
      }
      std::optional<Dim> same;
      for (uint32_t k = 0; k < symbols().size() && r_.chance(80); ++k)
        if (symbols()[SymbolId(k)].kind == SymKind::kInput && values_[k] == e) same = Dim(SymbolId(k));
      if (!same) {
        const SymbolId id = symbols().input(cat("n", symbols().size()), 0, 64);
        values_.resize(symbols().size(), 0);
        known_.resize(symbols().size(), 0);
        values_[id.index()] = e;
        known_[id.index()] = 1;
        same = Dim(id);
      }
      s.push_back(*same);
      out_.symbolic = true;
    }
    return s;
  }

  Tensor random_tensor(DType t, const Ints& dims, double lo, double hi) {
    Tensor x(t, dims);
    for (int64_t k = 0; k < x.count(); ++k) {
      if (t == DType::kBool) {
        store_i64(t, x.data(), k, r_.below(2));
      } else if (is_int(t)) {
        store_i64(t, x.data(), k, static_cast<int64_t>(std::floor(r_.uniform(lo, hi))));
      } else {
        double v = r_.chance(20) ? std::round(r_.uniform(lo, hi)) : r_.uniform(lo, hi);
        if (specials_ && r_.chance(4)) v = r_.pick({std::nan(""), HUGE_VAL, -HUGE_VAL, -0.0, 0.0});
        store_f64(t, x.data(), k, v);
      }
    }
    return x;
  }
  void range_of(DType t, double* lo, double* hi) {
    *lo = is_signed(t) ? -4 : 0;
    *hi = 5;
    if (is_int(t) && r_.chance(20)) {
      *lo = is_signed(t) ? -128 : 0;
      *hi = is_signed(t) ? 128 : 256;
    }
  }
  static bool is_signed(DType t) { return is_float(t) || t == DType::kI8 || t == DType::kI16 || t == DType::kI32 || t == DType::kI64; }

  // A fresh argument, or sometimes a constant.
  ValueId make_input(DType t, const Ints& dims, bool argument = false) {
    double lo, hi;
    range_of(t, &lo, &hi);
    return make_input(t, dims, lo, hi, argument);
  }
  ValueId make_input(DType t, const Ints& dims, double lo, double hi, bool argument = false) {
    return make_input(t, as_shape(dims, true), lo, hi, argument);
  }
  ValueId make_input(DType t, const Shape& shape, double lo, double hi, bool argument) {
    refresh();
    Ints dims;
    bool fixed = true, plain = true;
    for (const Dim& d : shape) {
      dims.push_back(value_of(d));
      fixed = fixed && d.is_const();
      plain = plain && (d.is_const() || d.as_symbol());
    }
    Tensor x = random_tensor(t, dims, lo, hi);
    ValueId v;
    if (fixed && !argument && r_.chance(40)) {
      v = *b_.constant(std::move(x));
    } else {
      Shape s = shape;
      if (!plain)  // extents that follow from others: the argument says them anew
        for (size_t k = 0; k < s.size(); ++k)
          if (!s[k].is_const() && !s[k].as_symbol()) s[k] = dims[k];
      v = g().add_input(Type::tensor(t, s));
      out_.inputs.push_back(std::move(x));
    }
    add(v, true);
    return v;
  }
  ValueId like(ValueId v) { return make_input(b_.dtype(v), b_.shape(v), is_signed(b_.dtype(v)) ? -4 : 0, 5, false); }

  // ---- values

  struct Known {
    ValueId v;
    bool exact;
  };
  void add(ValueId v, bool exact) { pool_.push_back({v, exact}); }
  bool exact(ValueId v) const {
    for (const Known& k : pool_)
      if (k.v == v) return k.exact;
    return false;
  }

  template <class F> std::optional<ValueId> choose(F&& fits) {
    std::vector<ValueId> list;
    for (size_t k = 0; k < pool_.size(); ++k)
      if (fits(pool_[k])) list.insert(list.end(), k + 3 >= pool_.size() ? 3 : 1, pool_[k].v);
    if (list.empty()) return std::nullopt;
    return list[static_cast<size_t>(r_.below(static_cast<int64_t>(list.size())))];
  }
  ValueId any() {
    return *choose([](const Known&) { return true; });
  }
  ValueId floating() {
    const auto v = choose([&](const Known& k) { return is_float(b_.dtype(k.v)); });
    return v ? *v : make_input(float_, random_shape());
  }
  ValueId floating(int rank) {
    const auto v = choose([&](const Known& k) { return is_float(b_.dtype(k.v)) && static_cast<int>(b_.shape(k.v).size()) >= rank; });
    return v ? *v : make_input(float_, random_dims(rank));
  }
  ValueId of_dtype(DType t) {
    const auto v = choose([&](const Known& k) { return b_.dtype(k.v) == t; });
    return v ? *v : make_input(t, random_shape());
  }
  ValueId ranked(int rank) {
    const auto v = choose([&](const Known& k) { return static_cast<int>(b_.shape(k.v).size()) >= rank; });
    return v ? *v : make_input(float_, random_dims(rank));
  }
  // For discontinuous ops.
  ValueId exact_value(bool floats_only = false) {
    const auto v = choose([&](const Known& k) { return k.exact && (!floats_only || is_float(b_.dtype(k.v))); });
    return v ? *v : make_input(float_, random_shape());
  }
  // Same dtype as `v`, extents that broadcast with it.
  ValueId partner(ValueId v) {
    const Shape& s = b_.shape(v);
    if (r_.chance(15)) return v;
    const auto known = choose([&](const Known& k) {
      if (b_.dtype(k.v) != b_.dtype(v) || k.v == v) return false;
      const Shape& o = b_.shape(k.v);
      for (size_t i = 0; i < std::min(o.size(), s.size()); ++i) {
        const Dim &p = o[o.size() - 1 - i], &q = s[s.size() - 1 - i];
        if (p != q && !p.is_const(1) && !q.is_const(1)) return false;
      }
      return count_of_pair(k.v, v) <= kMostElements;
    });
    if (known && r_.chance(70)) return *known;
    Shape o(s.begin() + (s.empty() ? 0 : r_.below(static_cast<int64_t>(s.size()) + 1)), s.end());
    for (Dim& d : o)
      if (r_.chance(25)) d = 1;
    return make_input(b_.dtype(v), o, is_signed(b_.dtype(v)) ? -4 : 0, 5, false);
  }
  int64_t count_of_pair(ValueId a, ValueId b) {
    return std::max<int64_t>(1, count(a)) * std::max<int64_t>(1, count(b)) > kMostElements * 4 ? INT64_MAX : std::max(count(a), count(b));
  }

  // Adds the node if its row takes the operands.
  bool apply(OpKind kind, std::vector<ValueId> operands, AttrList attrs = {}, int exactness = -1) {
    bool all_exact = true;
    for (const ValueId v : operands) all_exact = all_exact && (!v.valid() || exact(v));
    const auto results = b_.ops(kind, std::move(operands), std::move(attrs));
    if (!results.ok()) return false;
    refresh();
    for (const ValueId v : *results) {
      if (element_count(dims_of(v)) > 8 * kMostElements) return false;
    }
    for (const ValueId v : *results) add(v, !is_float(b_.dtype(v)) || (all_exact && exactness != 0));
    ++nodes_;
    return true;
  }

  // ---- ops

  int64_t axis(ValueId v) {
    const auto rank = static_cast<int64_t>(b_.shape(v).size());
    return rank == 0 ? 0 : r_.below(rank);
  }
  Ints some_axes(ValueId v) {
    Ints axes;
    for (int64_t k = 0; k < static_cast<int64_t>(b_.shape(v).size()); ++k)
      if (r_.chance(50)) axes.push_back(k);
    return axes;
  }

  void step() {
    switch (r_.below(12)) {
      case 0:
      case 1:
      case 2: return unary();
      case 3:
      case 4:
      case 5: return binary();
      case 6:
      case 7: return movement();
      case 8: return indexed();
      case 9: return fold();
      case 10: return norm();
      default: return window();
    }
  }

  void unary() {
    const OpKind kind = r_.pick({OpKind::kNeg,  OpKind::kAbs,   OpKind::kSign, OpKind::kSqrt,        OpKind::kReciprocal, OpKind::kExp,
                                 OpKind::kLog,  OpKind::kSin,   OpKind::kCos,  OpKind::kTanh,        OpKind::kErf,        OpKind::kSigmoid,
                                 OpKind::kRelu, OpKind::kGelu,  OpKind::kSilu, OpKind::kHardSigmoid, OpKind::kHardSwish,  OpKind::kFloor,
                                 OpKind::kCeil, OpKind::kRound, OpKind::kNot,  OpKind::kIsNan,       OpKind::kCast,       OpKind::kCast});
    switch (kind) {
      case OpKind::kNot: apply(kind, {of_dtype(DType::kBool)}); return;
      case OpKind::kCast: {
        const ValueId x = exact_value();
        apply(kind, {x}, {{"to", any_dtype()}}, 1);
        return;
      }
      case OpKind::kSign:
      case OpKind::kFloor:
      case OpKind::kCeil:
      case OpKind::kRound:
      case OpKind::kIsNan: apply(kind, {exact_value(true)}); return;
      case OpKind::kNeg:
      case OpKind::kAbs: apply(kind, {any()}); return;
      case OpKind::kReciprocal: apply(kind, {exact_value(true)}); return;  // signs of zero in sums and norms are nobody's promise
      case OpKind::kRelu:
      case OpKind::kSqrt: apply(kind, {floating()}); return;
      default: apply(kind, {floating()}, {}, 0); return;
    }
  }

  void binary() {
    const OpKind kind = r_.pick({OpKind::kAdd, OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kMul, OpKind::kDiv, OpKind::kMod,
                                 OpKind::kPow, OpKind::kMin, OpKind::kMax, OpKind::kEqual, OpKind::kLess, OpKind::kLessEqual, OpKind::kAnd,
                                 OpKind::kOr, OpKind::kXor, OpKind::kWhere, OpKind::kClip});
    switch (kind) {
      case OpKind::kAnd:
      case OpKind::kOr:
      case OpKind::kXor: {
        const ValueId x = of_dtype(DType::kBool);
        apply(kind, {x, partner(x)});
        return;
      }
      case OpKind::kEqual:
      case OpKind::kLess:
      case OpKind::kLessEqual: {
        const ValueId x = exact_value(), y = partner(x);
        if (exact(y)) apply(kind, {x, y});
        return;
      }
      case OpKind::kDiv:
      case OpKind::kMod: {
        const ValueId x = kind == OpKind::kMod ? exact_value() : any();
        if (b_.dtype(x) == DType::kBool) return;
        const ValueId y = make_input(b_.dtype(x), r_.chance(50) ? b_.shape(x) : Shape{}, 1, 6, false);
        AttrList attrs;
        if (kind == OpKind::kMod) attrs.push_back({"fmod", int64_t(is_float(b_.dtype(x)) || r_.chance(50))});
        apply(kind, {x, y}, std::move(attrs), kind == OpKind::kMod && is_float(b_.dtype(x)) ? 0 : 1);
        return;
      }
      case OpKind::kPow: {
        const ValueId x = floating();
        apply(kind, {x, make_input(b_.dtype(x), Shape{}, 0, 3, false)}, {}, 0);
        return;
      }
      case OpKind::kWhere: {
        const ValueId x = any(), y = partner(x);
        const ValueId c = make_input(DType::kBool, r_.chance(60) ? b_.shape(x) : Shape{}, 0, 2, false);
        apply(kind, {c, x, y});
        return;
      }
      case OpKind::kClip: {
        const ValueId x = any();
        if (b_.dtype(x) == DType::kBool) return;
        apply(kind, {x, make_input(b_.dtype(x), Shape{}, 0, 2, false), make_input(b_.dtype(x), Shape{}, 2, 4, false)});
        return;
      }
      default: {
        const ValueId x = any();
        apply(kind, {x, partner(x)});
        return;
      }
    }
  }

  void movement() {
    switch (r_.below(9)) {
      case 0: {
        const ValueId x = ranked(2);
        Ints perm;
        for (size_t k = 0; k < b_.shape(x).size(); ++k)
          perm.insert(perm.begin() + r_.below(static_cast<int64_t>(k) + 1), static_cast<int64_t>(k));
        apply(OpKind::kTranspose, {x}, {{"perm", perm}});
        return;
      }
      case 1: return reshape();
      case 2: {
        const ValueId x = any();
        Shape to = b_.shape(x);
        for (Dim& d : to)
          if (d.is_const(1) && r_.chance(70)) d = extent();
        if (r_.chance(40) && count(x) < 600) to.insert(to.begin(), r_.pick<int64_t>({1, 2, 3}));
        apply(OpKind::kBroadcastTo, {x}, {{"shape", to}});
        return;
      }
      case 3: return slice();
      case 4: {
        const ValueId x = ranked(1);
        const int64_t a = axis(x);
        std::vector<ValueId> parts = {x};
        for (int64_t k = 1 + r_.below(2); k > 0; --k) {
          Shape s = b_.shape(x);
          if (r_.chance(60)) s[static_cast<size_t>(a)] = extent();
          parts.push_back(r_.chance(30) ? x : make_input(b_.dtype(x), s, 0, 5, false));
        }
        apply(OpKind::kConcat, parts, {{"axis", a}});
        return;
      }
      case 5: {
        const ValueId x = any();
        Shape before, after;
        const std::string mode =
            r_.pick({std::string("constant"), std::string("constant"), std::string("edge"), std::string("reflect"), std::string("wrap")});
        for (const int64_t e : dims_of(x)) {
          const int64_t most = mode == "constant"  ? 3
                               : mode == "reflect" ? std::max<int64_t>(0, std::min<int64_t>(3, e - 1))
                               : e > 0             ? 3
                                                   : 0;
          before.push_back(r_.below(most + 1));
          after.push_back(mode == "constant" && r_.chance(15) && e > 1 ? -1 : r_.below(most + 1));
        }
        std::vector<ValueId> operands = {x};
        if (mode == "constant" && r_.chance(50)) operands.push_back(make_input(b_.dtype(x), Shape{}, 0, 3, false));
        apply(OpKind::kPad, operands, {{"before", before}, {"after", after}, {"mode", mode}});
        return;
      }
      case 6: {
        const ValueId x = any();
        Shape repeats;
        for (size_t k = 0; k < b_.shape(x).size(); ++k) repeats.push_back(count(x) > 600 ? 1 : r_.pick<int64_t>({1, 1, 2, 3, 0}));
        apply(OpKind::kTile, {x}, {{"repeats", repeats}});
        return;
      }
      case 7: apply(OpKind::kTrilu, {ranked(2)}, {{"upper", r_.below(2)}, {"k", Shape{r_.below(5) - 2}}}); return;
      default: {
        const DType t = r_.pick({DType::kI64, DType::kI32, DType::kF32});
        apply(OpKind::kRange, {*b_.scalar(t, static_cast<double>(r_.below(5))), *b_.scalar(t, static_cast<double>(1 + r_.below(3)))},
              {{"count", Shape{extent()}}});
        return;
      }
    }
  }

  void reshape() {
    const ValueId x = ranked(1);
    const Shape s = b_.shape(x);
    Shape to;
    // Merge runs of axes, split constants.
    for (size_t k = 0; k < s.size(); ++k) {
      if (!to.empty() && r_.chance(45)) {
        to.back() = symbols().mul(to.back(), s[k]);
      } else if (s[k].is_const() && s[k].constant() > 1 && s[k].constant() % 2 == 0 && r_.chance(40)) {
        to.push_back(2);
        to.push_back(s[k].constant() / 2);
      } else {
        to.push_back(s[k]);
      }
      if (r_.chance(10)) to.push_back(1);
    }
    apply(OpKind::kReshape, {x}, {{"shape", to}});
  }

  void slice() {
    const ValueId x = ranked(1);
    const Ints dims = dims_of(x);
    Ints axes, steps;
    Shape starts, ends;
    for (size_t k = 0; k < dims.size(); ++k) {
      if (!r_.chance(60) || !b_.shape(x)[k].is_const()) continue;
      const int64_t e = dims[k], a = r_.below(e + 1), z = a + r_.below(e - a + 1);
      axes.push_back(static_cast<int64_t>(k));
      if (r_.chance(20) && e > 0) {
        steps.push_back(-1);
        starts.push_back(std::max<int64_t>(0, z - 1));
        ends.push_back(a - 1);
        if (a == 0) { axes.pop_back(), steps.pop_back(), starts.pop_back(), ends.pop_back(); }
      } else {
        steps.push_back(r_.pick<int64_t>({1, 1, 1, 2, 3}));
        starts.push_back(a);
        ends.push_back(z);
      }
    }
    apply(OpKind::kSlice, {x}, {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}});
  }

  void indexed() {
    const ValueId x = ranked(1);
    const Ints dims = dims_of(x);
    const int64_t a = axis(x), e = dims[static_cast<size_t>(a)];
    const DType t = r_.pick({DType::kI64, DType::kI32});
    const double lo = r_.chance(30) ? -static_cast<double>(e) : 0, hi = static_cast<double>(e);
    switch (r_.below(6)) {
      case 0:
        if (e == 0) return;
        apply(OpKind::kGather, {x, make_input(t, random_dims(static_cast<int>(r_.below(3))), lo, hi)}, {{"axis", a}});
        return;
      case 1: {
        if (e == 0) return;
        Shape s = b_.shape(x);
        s[static_cast<size_t>(a)] = 1 + r_.below(4);
        apply(OpKind::kGatherElements, {x, make_input(t, s, lo, hi, false)}, {{"axis", a}});
        return;
      }
      case 2: {
        const int64_t length = 1 + r_.below(static_cast<int64_t>(dims.size()));
        int64_t least = INT64_MAX;
        for (int64_t k = 0; k < length; ++k) least = std::min(least, dims[static_cast<size_t>(k)]);
        if (least == 0) return;
        Ints index = random_dims(1);
        index.push_back(length);
        apply(OpKind::kGatherNd, {x, make_input(DType::kI64, Shape(index.begin(), index.end()), 0, static_cast<double>(least), false)});
        return;
      }
      case 3: {
        if (e == 0) return;
        Shape s = b_.shape(x);
        s[static_cast<size_t>(a)] = 1 + r_.below(4);
        const std::string how =
            r_.pick({std::string("none"), std::string("add"), std::string("mul"), std::string("max"), std::string("min")});
        if (b_.dtype(x) == DType::kBool && how != "none") return;
        const ValueId u = make_input(b_.dtype(x), s, 0, 5, false);
        apply(OpKind::kScatterElements, {x, make_input(t, s, lo, hi, false), u}, {{"axis", a}, {"reduction", how}},
              how == "none" || how == "max" || how == "min" ? 1 : 0);
        return;
      }
      case 4: {
        if (dims[0] == 0) return;
        const int64_t n = 1 + r_.below(4);
        Shape u = {n};
        u.insert(u.end(), b_.shape(x).begin() + 1, b_.shape(x).end());
        apply(OpKind::kScatterNd,
              {x, make_input(DType::kI64, Shape{n, 1}, 0, static_cast<double>(dims[0]), false), make_input(b_.dtype(x), u, 0, 5, false)});
        return;
      }
      default: {
        const int64_t depth = 1 + r_.below(9);
        const DType v = r_.pick({DType::kF32, DType::kI32, DType::kBool});
        apply(OpKind::kOneHot,
              {make_input(t, random_dims(static_cast<int>(r_.below(3))), -1, static_cast<double>(depth) + 1),
               make_input(v, Shape{2}, 0, 3, false)},
              {{"axis", int64_t(-1)}, {"depth", Shape{depth}}});
        return;
      }
    }
  }

  void fold() {
    switch (r_.below(5)) {
      case 0: {
        const ValueId x = exact_value();
        if (b_.shape(x).empty()) return;
        const int64_t a = axis(x);
        if (dims_of(x)[static_cast<size_t>(a)] == 0) return;
        apply(OpKind::kArgReduce, {x},
              {{"kind", r_.pick({std::string("max"), std::string("min")})},
               {"axis", a},
               {"keepdims", r_.below(2)},
               {"select_last", r_.below(2)}});
        return;
      }
      case 1: {
        const ValueId x = ranked(1);
        apply(OpKind::kCumSum, {x}, {{"axis", axis(x)}, {"exclusive", r_.below(2)}, {"reverse", r_.below(2)}}, 0);
        return;
      }
      default: {
        const ValueId x = any();
        const std::string kind = r_.pick({std::string("sum"), std::string("prod"), std::string("max"), std::string("min"),
                                          std::string("mean"), std::string("l1"), std::string("l2"), std::string("sum_square"),
                                          std::string("log_sum"), std::string("log_sum_exp"), std::string("sum"), std::string("max")});
        apply(OpKind::kReduce, {x}, {{"kind", kind}, {"axes", some_axes(x)}, {"keepdims", r_.below(2)}},
              kind == "max" || kind == "min" ? 1 : 0);
        return;
      }
    }
  }

  void norm() {
    const ValueId x = floating(2);
    const Shape s = b_.shape(x);
    const int64_t a = axis(x);
    const DType t = b_.dtype(x);
    switch (r_.below(6)) {
      case 0: apply(OpKind::kSoftmax, {x}, {{"axis", a}, {"log", r_.below(2)}}, 0); return;
      case 1:
        apply(OpKind::kLayerNorm, {x, make_input(t, Shape{s.back()}, -2, 2, false), make_input(t, Shape{s.back()}, -2, 2, false)},
              {{"axis", r_.chance(60) ? static_cast<int64_t>(s.size()) - 1 : a}, {"stats", r_.below(2)}}, 0);
        return;
      case 2:
        apply(OpKind::kRmsNorm, {x, make_input(t, Shape{s.back()}, -2, 2, false)}, {{"axis", static_cast<int64_t>(s.size()) - 1}}, 0);
        return;
      case 3: {
        if (specials_) return;  // infinite statistics: which of them cancel depends on the spelling
        const Shape c = {s[1]};
        apply(OpKind::kBatchNorm,
              {x, make_input(t, c, -2, 2, false), make_input(t, c, -2, 2, false), make_input(t, c, -2, 2, false),
               make_input(t, c, 0.5, 2, false)},
              {{"axis", int64_t(1)}}, 0);
        return;
      }
      case 4: {
        const Ints dims = dims_of(x);
        if (dims[1] == 0) return;
        Shape l = {s[0]};
        l.insert(l.end(), s.begin() + 2, s.end());
        apply(OpKind::kSoftmaxCrossEntropy, {x, make_input(DType::kI64, l, 0, static_cast<double>(dims[1]), false)},
              {{"reduction", r_.pick({std::string("none"), std::string("sum"), std::string("mean")})}}, 0);
        return;
      }
      default: {
        const Ints dims = dims_of(x);
        if (!s.back().is_const() || dims.back() < 2 || dims.back() % 2 != 0) return;
        const int64_t half = dims.back() / 2;
        apply(OpKind::kRotary, {x, make_input(t, Shape{half}, -1, 1, false), make_input(t, Shape{half}, -1, 1, false)},
              {{"interleaved", r_.below(2)}}, 0);
        return;
      }
    }
  }

  Ints windows(int spatial, int64_t most) {
    Ints k;
    for (int d = 0; d < spatial; ++d) k.push_back(1 + r_.below(most));
    return k;
  }
  AttrList window_attrs(int spatial, const Ints& kernel) {
    Ints begin, end, strides, dilations;
    for (int d = 0; d < spatial; ++d) {
      const auto k = kernel[static_cast<size_t>(d)];
      begin.push_back(r_.below(k));
      end.push_back(r_.below(k));
      strides.push_back(1 + r_.below(2));
      dilations.push_back(1 + r_.below(4) / 3);
    }
    return {{"strides", strides}, {"pads_begin", begin}, {"pads_end", end}, {"dilations", dilations}};
  }

  void window() {
    switch (r_.below(7)) {
      case 0:
      case 1: {
        const ValueId x = floating(3);
        const int spatial = static_cast<int>(b_.shape(x).size()) - 2;
        if (spatial > 3) return;
        const Ints kernel = windows(spatial, 3);
        AttrList attrs = window_attrs(spatial, kernel);
        attrs.push_back({"kernel", kernel});
        const OpKind kind = r_.chance(75) ? OpKind::kPool : OpKind::kMaxPoolIndices;
        if (kind == OpKind::kPool) attrs.push_back({"kind", r_.pick({std::string("max"), std::string("avg"), std::string("lp")})});
        if (kind == OpKind::kMaxPoolIndices && !exact(x)) return;
        attrs.push_back({"ceil_mode", r_.below(2)});
        apply(kind, {x}, attrs, 0);
        return;
      }
      case 2: {
        const ValueId x = floating(1);
        const Ints dims = dims_of(x);
        Ints axes = {axis(x)};
        const int64_t e = dims[static_cast<size_t>(axes[0])];
        if (e == 0) return;
        apply(OpKind::kResize, {x},
              {{"axes", axes},
               {"sizes", Shape{1 + r_.below(2 * e)}},
               {"mode", r_.pick({std::string("nearest"), std::string("linear"), std::string("cubic")})},
               {"coordinate_mode", r_.pick({std::string("half_pixel"), std::string("align_corners"), std::string("asymmetric")})}},
              0);
        return;
      }
      case 3: {
        const ValueId x = exact_value(true);
        if (b_.dtype(x) == DType::kF64) return;
        const DType q = r_.pick({DType::kI8, DType::kU8});
        const ValueId scale = make_input(b_.dtype(x), Shape{}, 0.5, 2, false), zero = make_input(q, Shape{}, 0, 5, false);
        if (!apply(OpKind::kQuantize, {x, scale, zero}, {{"to", q}})) return;
        if (r_.chance(70)) apply(OpKind::kDequantize, {pool_.back().v, scale, zero});
        return;
      }
      default: make_hero(); return;
    }
  }

  void make_hero() {
    switch (r_.below(6)) {
      case 0:
      case 1: {
        const ValueId x = floating(1);
        const Shape s = b_.shape(x);
        if (s.size() > 4 || count(x) > 2048) return;
        Shape w = {s.back(), extent()};
        const bool transposed = r_.chance(30);
        if (transposed) std::swap(w[0], w[1]);
        if (s.size() == 3 && r_.chance(40)) w.insert(w.begin(), s[0]);
        AttrList attrs;
        if (transposed) attrs.push_back({"transpose_b", int64_t(1)});
        if (!apply(OpKind::kMatMul, {x, make_input(b_.dtype(x), w, -1, 1, false)}, attrs, 0)) return;
        break;
      }
      case 2:
      case 3: {
        if (specials_) return;  // zeros of a border may be multiplied by weights that are not finite, or left out
        const int spatial = static_cast<int>(1 + r_.below(2));
        const int64_t group = r_.pick<int64_t>({1, 1, 1, 2, 4});
        const int64_t c = group * (1 + r_.below(4)), m = group * (1 + r_.below(8));
        Ints dims = {1 + r_.below(2), c};
        for (int d = 0; d < spatial; ++d) dims.push_back(3 + r_.below(9));
        const ValueId x = make_input(float_, dims, -2, 2, true);
        const Ints kernel = windows(spatial, 3);
        AttrList attrs = window_attrs(spatial, kernel);
        attrs.push_back({"group", group});
        const bool transposed = r_.chance(25);
        Shape w = transposed ? Shape{c, m / group} : Shape{m, c / group};
        for (const int64_t k : kernel) w.push_back(k);
        std::vector<ValueId> operands = {x, make_input(float_, w, -1, 1, false)};
        if (r_.chance(50)) operands.push_back(make_input(float_, Shape{m}, -1, 1, false));
        if (!apply(transposed ? OpKind::kConvTranspose : OpKind::kConv, operands, attrs, 0)) return;
        break;
      }
      case 4: {
        const int64_t heads = r_.pick<int64_t>({1, 2, 4}), groups = r_.chance(60) ? heads : 1, batch = 1 + r_.below(2),
                      sq = 1 + r_.below(8), sk = 1 + r_.below(12), d = r_.pick<int64_t>({3, 8, 16}), e = r_.pick<int64_t>({5, 8, 16});
        const auto operand = [&](int64_t h, const Dim& length, int64_t width) {
          return make_input(float_, Shape{batch, h, length, width}, -1, 1, true);
        };
        const Dim past = as_shape({sk}, true)[0];
        std::vector<ValueId> operands = {operand(heads, as_shape({sq}, true)[0], d), operand(groups, past, d), operand(groups, past, e)};
        if (r_.chance(40)) operands.push_back(make_input(float_, Shape{sq, sk}, -1, 1, false));
        if (!apply(OpKind::kAttention, operands, {{"causal", r_.below(2)}}, 0)) return;
        break;
      }
      default: {
        const int64_t s = 1 + r_.below(4), batch = 1 + r_.below(3), in = 1 + r_.below(9), h = 1 + r_.below(9);
        const bool both = r_.chance(40);
        const int64_t dir = both ? 2 : 1;
        if (!apply(OpKind::kLstm,
                   {make_input(float_, Ints{s, batch, in}, -1, 1, true), make_input(float_, Shape{dir, 4 * h, in}, -1, 1, false),
                    make_input(float_, Shape{dir, 4 * h, h}, -1, 1, false), make_input(float_, Shape{dir, 8 * h}, -1, 1, false)},
                   {{"hidden", h}, {"direction", std::string(both ? "bidirectional" : "forward")}}, 0))
          return;
        break;
      }
    }
    // What follows it.
    ValueId v = pool_.back().v;
    for (int64_t k = r_.below(4); k > 0; --k) {
      if (r_.chance(50)) {
        if (!apply(OpKind::kAdd, {v, partner(v)})) return;
      } else if (!apply(r_.pick({OpKind::kRelu, OpKind::kTanh, OpKind::kGelu, OpKind::kNeg, OpKind::kSigmoid}), {v}, {}, 0)) {
        return;
      }
      v = pool_.back().v;
    }
  }

  void finish() {
    std::vector<ValueId> outputs;
    for (const Known& k : pool_) {
      const Value& v = g().value(k.v);
      if (v.def.valid() && (v.uses.empty() || r_.chance(10))) outputs.push_back(k.v);
    }
    if (outputs.empty()) outputs.push_back(pool_.back().v);
    g().set_outputs(outputs);
    Entry& e = *out_.module->entries[0];
    for (size_t k = 0; k < g().inputs().size(); ++k) e.args.push_back({cat("x", k), {}});
    for (size_t k = 0; k < outputs.size(); ++k) e.results.push_back({cat("y", k), {}});
  }

  Random r_;
  RandomGraph out_;
  Builder b_;
  std::vector<Known> pool_;
  std::vector<int64_t> values_;
  std::vector<uint8_t> known_;
  DType float_ = DType::kF32;
  bool hero_ = false, symbolic_ = false, specials_ = false;
  size_t nodes_ = 0;
};

}  // namespace

RandomGraph random_graph(uint64_t seed) { return Generator(seed).run(); }

}  // namespace nnc::test

#include "tests/fuzz/sketch.h"

#include <algorithm>
#include <cmath>

#include "ir/support/text.h"

namespace nnc::test {

namespace {
constexpr int64_t kExtents[] = {0, 1, 2, 3, 5, 7, 8, 16, 17, 31, 32, 33, 63, 64, 65};

Graph& start(RandomGraph& out) {
  out.module = std::make_unique<Module>();
  return *out.module->add_entry("main").graph;
}

bool is_input_symbol(const SymbolTable& symbols, const Dim& d) {
  const auto s = d.as_symbol();
  return s && symbols[*s].kind == SymKind::kInput;
}
}  // namespace

Sketch::Sketch(uint64_t seed) : r(seed), b_(start(out_)) {}

bool Sketch::is_signed(DType t) { return is_float(t) || t == DType::kI8 || t == DType::kI16 || t == DType::kI32 || t == DType::kI64; }

// ---- extents

DType Sketch::any_dtype() {
  return r.pick({DType::kBool, DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kU64,
                 DType::kF16, DType::kBF16, DType::kF32, DType::kF32, DType::kF32, DType::kF64});
}

int64_t Sketch::extent() {
  const int64_t e = kExtents[r.below(static_cast<int64_t>(std::size(kExtents)))];
  return e == 0 && !r.chance(15) ? 4 : e;
}

Ints Sketch::random_dims(int rank) {
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

Ints Sketch::random_shape() { return random_dims(static_cast<int>(r.pick({0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6}))); }

int64_t Sketch::value_of(const Dim& d) const {
  const auto n = out_.module->symbols.eval(d, values_);
  return n.ok() ? *n : 0;
}

void Sketch::refresh() {
  values_.resize(symbols().size(), 0);
  known_.resize(symbols().size(), 0);
  (void)symbols().derive(values_, known_);
}

Ints Sketch::dims_of(ValueId v) {
  refresh();
  Ints dims;
  for (const Dim& d : shape(v)) dims.push_back(value_of(d));
  return dims;
}

int64_t Sketch::axis(ValueId v) {
  const auto rank = static_cast<int64_t>(shape(v).size());
  return rank == 0 ? 0 : r.below(rank);
}

Ints Sketch::some_axes(ValueId v) {
  Ints axes;
  for (int64_t k = 0; k < static_cast<int64_t>(shape(v).size()); ++k)
    if (r.chance(50)) axes.push_back(k);
  return axes;
}

SymbolId Sketch::data_symbol(int64_t value, int64_t lo, int64_t hi) {
  const SymbolId id = symbols().data(cat("d", symbols().size()), lo, hi);
  refresh();
  values_[id.index()] = value;
  known_[id.index()] = 1;
  out_.symbolic = true;
  return id;
}

Shape Sketch::as_shape(const Ints& dims, bool may_be_symbolic) {
  Shape s;
  for (const int64_t e : dims) {
    if (!may_be_symbolic || !symbolic || !r.chance(50)) {
      s.push_back(e);
      continue;
    }
    std::optional<Dim> same;
    for (uint32_t k = 0; k < symbols().size() && r.chance(80); ++k)
      if (symbols()[SymbolId(k)].kind == SymKind::kInput && values_[k] == e) same = Dim(SymbolId(k));
    if (!same) {
      const SymbolId id = symbols().input(cat("n", symbols().size()), 0, 80);
      refresh();
      values_[id.index()] = e;
      known_[id.index()] = 1;
      same = Dim(id);
    }
    s.push_back(*same);
    out_.symbolic = true;
  }
  return s;
}

// ---- arguments

Tensor Sketch::random_tensor(DType t, const Ints& dims, double lo, double hi, bool ends) {
  Tensor x(t, dims);
  for (int64_t k = 0; k < x.count(); ++k) {
    if (t == DType::kBool) {
      store_i64(t, x.data(), k, r.below(2));
    } else if (is_int(t)) {
      const uint64_t mask = ~uint64_t{0} >> (64 - dtype_bits(t));
      if (ends && specials && r.chance(8))
        store_i64(t, x.data(), k, r.pick({int_min(t), static_cast<int64_t>(int_max(t)), int_min(t) + 1, static_cast<int64_t>(mask)}));
      else
        store_i64(t, x.data(), k, static_cast<int64_t>(std::floor(r.uniform(lo, hi))));
    } else {
      double v = r.chance(20) ? std::round(r.uniform(lo, hi)) : r.uniform(lo, hi);
      if (r.chance(5)) v = std::round(v) + 0.5;  // ties of rounding
      if (specials && r.chance(4)) v = r.pick({std::nan(""), HUGE_VAL, -HUGE_VAL, -0.0, 0.0});
      store_f64(t, x.data(), k, v);
    }
  }
  return x;
}

ValueId Sketch::make_input(DType t, const Ints& dims, bool argument) {
  double lo = is_signed(t) ? -4 : 0, hi = 5;
  if (is_int(t) && r.chance(20)) {
    lo = is_signed(t) ? -128 : 0;
    hi = is_signed(t) ? 128 : 256;
  }
  if ((t == DType::kI64 || t == DType::kU64) && r.chance(40)) {  // beyond what 32 bits hold
    lo = is_signed(t) ? -0x1p40 : 0;
    hi = 0x1p40;
  }
  return make(t, as_shape(dims, true), lo, hi, argument, true);
}

ValueId Sketch::like(DType t, const Shape& shape) {
  const double hi = (t == DType::kI64 || t == DType::kU64) && r.chance(40) ? 0x1p40 : 5;
  return make(t, shape, is_signed(t) ? -4 : 0, hi, false, true);
}

ValueId Sketch::make_input(DType t, const Ints& dims, double lo, double hi, bool argument) {
  return make_input(t, as_shape(dims, true), lo, hi, argument);
}

ValueId Sketch::make_input(DType t, const Shape& shape, double lo, double hi, bool argument) {
  return make(t, shape, lo, hi, argument, false);
}

ValueId Sketch::make(DType t, const Shape& shape, double lo, double hi, bool argument, bool ends) {
  refresh();
  Ints dims;
  bool fixed = true;
  for (const Dim& d : shape) {
    dims.push_back(value_of(d));
    fixed = fixed && d.is_const();
  }
  Tensor x = random_tensor(t, dims, lo, hi, ends);
  ValueId v;
  if (fixed && !argument && r.chance(40)) {
    v = *b_.constant(std::move(x));
  } else {
    Shape s = shape;
    for (size_t k = 0; k < s.size(); ++k)  // extents that follow from others or from data: the argument says them anew
      if (!s[k].is_const() && !is_input_symbol(symbols(), s[k])) s[k] = dims[k];
    v = graph().add_input(Type::tensor(t, s));
    out_.inputs.push_back(std::move(x));
    arguments_.push_back({std::move(s), lo, hi, ends, specials, false});
  }
  add(v, true);
  return v;
}

ValueId Sketch::argument(Tensor x) {
  const ValueId v = graph().add_input(Type::tensor(x.dtype(), Shape(x.dims().begin(), x.dims().end())));
  out_.inputs.push_back(std::move(x));
  arguments_.push_back({shape(v), 0, 0, false, false, true});
  add(v, true);
  return v;
}

const Tensor* Sketch::tensor_of(ValueId v) {
  if (const Tensor* t = const_value(graph(), v)) return t;
  for (size_t k = 0; k < graph().inputs().size(); ++k)
    if (graph().inputs()[k] == v) return &out_.inputs[k];
  return nullptr;
}

// ---- values

bool Sketch::exact(ValueId v) const {
  for (const Known& k : pool_)
    if (k.v == v) return k.exact;
  return false;
}
ValueId Sketch::any() {
  return *choose([](const Known&) { return true; });
}
ValueId Sketch::floating(int rank) {
  const auto v = choose([&](const Known& k) { return is_float(dtype(k.v)) && static_cast<int>(shape(k.v).size()) >= rank; });
  return v ? *v : make_input(float_type, rank == 0 ? random_shape() : random_dims(rank));
}
ValueId Sketch::of_dtype(DType t) {
  const auto v = choose([&](const Known& k) { return dtype(k.v) == t; });
  return v ? *v : make_input(t, random_shape());
}
ValueId Sketch::ranked(int rank) {
  const auto v = choose([&](const Known& k) { return static_cast<int>(shape(k.v).size()) >= rank; });
  return v ? *v : make_input(float_type, random_dims(rank));
}
ValueId Sketch::exact_value(bool floats_only, int rank) {
  const auto v = choose(
      [&](const Known& k) { return k.exact && (!floats_only || is_float(dtype(k.v))) && static_cast<int>(shape(k.v).size()) >= rank; });
  return v ? *v : make_input(float_type, rank == 0 ? random_shape() : random_dims(rank));
}

int64_t Sketch::count_of_pair(ValueId a, ValueId b) {
  return std::max<int64_t>(1, count(a)) * std::max<int64_t>(1, count(b)) > kMostElements * 4 ? INT64_MAX : std::max(count(a), count(b));
}

std::optional<ValueId> Sketch::turned(ValueId v) {
  const Shape s = shape(v);
  Ints perm;
  std::vector<std::pair<size_t, size_t>> alike;
  for (size_t k = 0; k < s.size(); ++k) {
    perm.push_back(static_cast<int64_t>(k));
    for (size_t i = 0; i < k; ++i)
      if (s[i] == s[k] && !s[k].is_const(1)) alike.emplace_back(i, k);
  }
  if (!alike.empty()) {
    const auto [a, b] = alike[static_cast<size_t>(r.below(static_cast<int64_t>(alike.size())))];
    std::swap(perm[a], perm[b]);
    return apply(OpKind::kTranspose, {v}, {{"perm", perm}}) ? std::optional(last()) : std::nullopt;
  }
  const int64_t a = axis(v);
  if (s.empty() || !s[static_cast<size_t>(a)].is_const() || s[static_cast<size_t>(a)].constant() < 2) return std::nullopt;
  const AttrList backwards = {
      {"axes", Ints{a}}, {"starts", Shape{s[static_cast<size_t>(a)].constant() - 1}}, {"ends", Shape{-1}}, {"steps", Ints{-1}}};
  return apply(OpKind::kSlice, {v}, backwards) ? std::optional(last()) : std::nullopt;
}

ValueId Sketch::partner(ValueId v) {
  const Shape s = shape(v);
  if (r.chance(15)) return v;
  if (r.chance(10))
    if (const auto other = turned(v)) return *other;
  const auto known = choose([&](const Known& k) {
    if (dtype(k.v) != dtype(v) || k.v == v) return false;
    const Shape& o = shape(k.v);
    for (size_t i = 0; i < std::min(o.size(), s.size()); ++i) {
      const Dim &p = o[o.size() - 1 - i], &q = s[s.size() - 1 - i];
      if (p != q && !p.is_const(1) && !q.is_const(1)) return false;
    }
    return count_of_pair(k.v, v) <= kMostElements;
  });
  if (known && r.chance(70)) return *known;
  Shape o(s.begin() + (s.empty() ? 0 : r.below(static_cast<int64_t>(s.size()) + 1)), s.end());
  for (Dim& d : o)
    if (r.chance(25)) d = 1;
  return like(dtype(v), o);
}

bool Sketch::apply(OpKind kind, std::vector<ValueId> operands, AttrList attrs, int exactness, std::vector<RegionId> regions) {
  bool all_exact = true;
  for (const ValueId v : operands) all_exact = all_exact && (!v.valid() || exact(v));
  const auto results = b_.ops(kind, std::move(operands), std::move(attrs), std::move(regions));
  if (!results.ok()) return false;
  for (const ValueId v : *results) {
    const Ints dims = dims_of(v);
    if (std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; }) && element_count(dims) <= 8 * kMostElements) continue;
    graph().erase(graph().value(v).def);
    return false;
  }
  for (const ValueId v : *results) add(v, !is_float(dtype(v)) || (all_exact && exactness != 0));
  ++nodes;
  return true;
}

// ---- the end

// Other extents for the same program: arguments with symbolic extents are drawn anew, the others stay.
void Sketch::draw_other_binding() {
  if (!out_.symbolic) return;
  bool changed = false;
  for (uint32_t k = 0; k < symbols().size(); ++k)
    if (symbols()[SymbolId(k)].kind == SymKind::kInput) {
      values_[k] = r.pick<int64_t>({1, 2, 3, 6, 9, 17, values_[k]});
      changed = true;
    }
  if (!changed) return;
  out_.other = out_.inputs;
  for (size_t k = 0; k < arguments_.size(); ++k) {
    const Argument& a = arguments_[k];
    Ints dims;
    for (const Dim& d : a.shape) dims.push_back(std::max<int64_t>(0, value_of(d)));
    if (a.fixed || dims == out_.inputs[k].dims()) continue;
    if (element_count(dims) > 8 * kMostElements) {
      out_.other.clear();
      return;
    }
    specials = a.specials;
    out_.other[k] = random_tensor(out_.inputs[k].dtype(), dims, a.lo, a.hi, a.ends);
  }
}

RandomGraph Sketch::finish() {
  std::vector<ValueId> outputs;
  for (const Known& k : pool_) {
    const Value& v = graph().value(k.v);
    if (v.def.valid() && (v.uses.empty() || r.chance(10))) outputs.push_back(k.v);
  }
  if (outputs.empty()) outputs.push_back(pool_.back().v);
  graph().set_outputs(outputs);
  for (const ValueId v : outputs) out_.exact.push_back(exact(v));
  for (const Known& k : pool_)
    if (k.exact) out_.exact_values.insert(k.v);
  Entry& e = *out_.module->entries[0];
  for (size_t k = 0; k < graph().inputs().size(); ++k) e.args.push_back({cat("x", k), {}});
  for (size_t k = 0; k < outputs.size(); ++k) e.results.push_back({cat("y", k), {}});
  draw_other_binding();
  return std::move(out_);
}

}  // namespace nnc::test

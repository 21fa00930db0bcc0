// Makers of rows with regions, and of those that read data to learn extents or to check them.

#include "ir/ops/control.h"
#include "ir/support/text.h"
#include "tests/fuzz/generator_ops.h"

namespace nnc::test {

namespace {

ValueId scalar_bool(Sketch& s, bool v) {
  Tensor t(DType::kBool, {});
  store_i64(DType::kBool, t.data(), 0, v ? 1 : 0);
  return s.argument(std::move(t));
}

// A few nodes that keep the type; operands of another operand's type may take part.
ValueId some_steps(Sketch& s, Graph& region, ValueId v, const std::vector<ValueId>& others) {
  Builder b(region);
  for (int64_t k = 1 + s.r.below(3); k > 0; --k) {
    const Type type = region.type(v);
    Result<ValueId> next = v;
    if (type.dtype == DType::kBool) {
      next = b.unary(OpKind::kNot, v);
    } else if (s.r.chance(50)) {
      next = b.unary(is_float(type.dtype) ? s.r.pick({OpKind::kRelu, OpKind::kNeg, OpKind::kAbs}) : OpKind::kNeg, v);
    } else {
      std::vector<ValueId> fits = {v};
      for (const ValueId o : others)
        if (region.type(o) == type) fits.push_back(o);
      next = b.binary(s.r.pick({OpKind::kAdd, OpKind::kSub, OpKind::kMin, OpKind::kMax}), v,
                      fits[static_cast<size_t>(s.r.below(static_cast<int64_t>(fits.size())))]);
    }
    if (next.ok() && region.type(*next) == type) v = *next;
  }
  return v;
}

std::vector<ValueId> inputs_like(Graph& region, const Graph& g, const std::vector<ValueId>& values) {
  std::vector<ValueId> in;
  for (const ValueId v : values) in.push_back(region.add_input(g.type(v)));
  return in;
}

}  // namespace

// On values that are known now, so that what the count will be is.
void make_non_zero(Sketch& s, OpKind kind) {
  const DType t = s.r.pick({DType::kBool, DType::kI32, DType::kF32});
  Ints dims = s.random_dims(static_cast<int>(1 + s.r.below(3)));
  while (element_count(dims) > 64)
    for (int64_t& d : dims) d = d > 1 ? (d + 1) / 2 : d;
  Tensor x = s.random_tensor(t, dims, -1, 2);
  int64_t count = 0;
  for (int64_t k = 0; k < x.count(); ++k) {
    if (is_float(t) && s.r.chance(40)) store_f64(t, x.data(), k, 0);
    count += is_float(t) ? x.f64(k) != 0 : x.i64(k) != 0;
  }
  const SymbolId n = s.data_symbol(count, 0, 64);
  s.apply(kind, {s.argument(std::move(x))}, {{"count", std::vector<SymbolId>{n}}});
}

// Extents that come with the data: a vector of the values, bound and used.
void make_bind_dims(Sketch& s, OpKind kind) {
  const int64_t rank = 1 + s.r.below(2);
  Tensor values(DType::kI64, {rank});
  std::vector<SymbolId> ids;
  Shape shape;
  for (int64_t k = 0; k < rank; ++k) {
    const int64_t e = s.r.pick<int64_t>({0, 1, 2, 3, 5, 8, 17});
    store_i64(DType::kI64, values.data(), k, e);
    ids.push_back(s.data_symbol(e, 0, 64));
    shape.emplace_back(ids.back());
  }
  if (!s.apply(kind, {s.argument(std::move(values))}, {{"symbols", ids}})) return;
  const ValueId x = s.make_input(s.r.chance(60) ? s.float_type : s.any_dtype(), Ints(static_cast<size_t>(rank), 1));
  s.apply(OpKind::kBroadcastTo, {x}, {{"shape", shape}});
}

// Assertions that hold.
void make_assertion(Sketch& s, OpKind kind) {
  if (kind == OpKind::kAssertDims) {
    const ValueId x = s.ranked(1);
    const Shape& shape = s.shape(x);
    const Dim d = shape[static_cast<size_t>(s.axis(x))];
    const bool less = s.r.chance(50);
    s.apply(kind, {},
            {{"a", Shape{d}},
             {"b", Shape{less ? s.symbols().add(d, 1) : d}},
             {"rel", std::string(less ? "lt" : "eq")},
             {"message", std::string("an assumption")}});
    return;
  }
  const DType t = s.r.pick({DType::kI64, DType::kF32, DType::kBool});
  Tensor x = s.random_tensor(t, {1 + s.r.below(4)}, 0, 9);
  const ConstId same = s.module().add_constant(x);
  s.apply(kind, {s.argument(std::move(x))}, {{"value", same}, {"message", std::string("an assumption")}});
}

// A reshape target as models compute it, with 0 and -1, bound and used.
void make_resolve_reshape(Sketch& s, OpKind kind) {
  const ValueId x = s.ranked(1);
  const Ints dims = s.dims_of(x);
  if (element_count(dims) == 0) return;
  for (const Dim& d : s.shape(x))
    if (!d.is_const()) return;
  Tensor target(DType::kI64, {static_cast<int64_t>(dims.size())});
  const int64_t open = s.r.below(static_cast<int64_t>(dims.size()) + 1);
  std::vector<SymbolId> ids;
  Shape shape;
  for (size_t k = 0; k < dims.size(); ++k) {
    store_i64(DType::kI64, target.data(), static_cast<int64_t>(k), static_cast<int64_t>(k) == open ? -1 : s.r.chance(40) ? 0 : dims[k]);
    ids.push_back(s.data_symbol(dims[k], 0, kMostElements));
    shape.emplace_back(ids.back());
  }
  if (!s.apply(kind, {s.argument(std::move(target))}, {{"input", s.shape(x)}})) return;
  if (!s.apply(OpKind::kBindDims, {s.last()}, {{"symbols", ids}})) return;
  s.apply(OpKind::kReshape, {x}, {{"shape", shape}});
}

// Both branches keep the type of the first capture; one may be a `fail` that is not taken.
void make_if(Sketch& s, OpKind kind) {
  const ValueId x = s.exact_value(), y = s.partner(x);
  Graph& g = s.graph();
  const std::vector<ValueId> captures = {x, y};
  const bool taken = s.r.chance(50), fails = kind == OpKind::kFail || s.r.chance(20);
  std::vector<RegionId> regions;
  bool all_exact = s.exact(x) && s.exact(y);
  for (const bool branch : {true, false}) {
    const RegionId id = g.add_region(branch ? "then" : "else");
    Graph& region = g.region(id);
    const std::vector<ValueId> in = inputs_like(region, g, captures);
    ValueId out;
    if (fails && branch != taken) {
      const Type t = g.type(x);
      const auto made = Builder(region).op(OpKind::kFail, {},
                                           {{"message", std::string("a branch without meaning")},
                                            {"dtypes", std::vector<std::string>{std::string(dtype_name(t.dtype))}},
                                            {"ranks", Ints{t.rank()}},
                                            {"dims", t.shape}});
      if (!made.ok()) return;
      out = *made;
    } else {
      out = some_steps(s, region, in[0], in);
    }
    region.set_outputs({out});
    regions.push_back(id);
  }
  s.apply(OpKind::kIf, {scalar_bool(s, taken), x, y}, {}, all_exact ? 1 : 0, std::move(regions));
}

// A carried value, perhaps stacked, perhaps ended by a condition before its trips are done.
void make_loop(Sketch& s, OpKind kind) {
  const ValueId x = s.exact_value(), y = s.partner(x);
  if (s.count(x) > 512) return;
  Graph& g = s.graph();
  const int64_t trips = s.r.pick<int64_t>({0, 1, 2, 3, 5});
  const bool constant_trips = s.r.chance(50), stops = s.r.chance(30), stacked = s.r.chance(50);
  const int64_t stop_at = s.r.below(3);
  const RegionId id = g.add_region("body");
  Graph& region = g.region(id);
  const ValueId i = region.add_input(Type::tensor(DType::kI64, {})), go = region.add_input(Type::tensor(DType::kBool, {}));
  const std::vector<ValueId> in = inputs_like(region, g, {x, y});
  const ValueId next = some_steps(s, region, in[0], in);
  Builder b(region);
  ValueId again = go;
  if (stops) again = *b.binary(OpKind::kLess, i, *b.scalar(DType::kI64, static_cast<double>(stop_at)));
  std::vector<ValueId> outputs = {again, next};
  AttrList attrs = {{"carried", int64_t{1}}, {"scan", int64_t(stacked ? 1 : 0)}};
  if (stacked) outputs.push_back(s.r.chance(50) ? in[0] : next);
  region.set_outputs(outputs);
  const ValueId trip = constant_trips ? *s.b().constant(Tensor::scalar_i64(trips)) : s.argument(Tensor::scalar_i64(trips));
  const int64_t done = stops ? std::min(trips, stop_at + 1) : trips;
  if (stacked && (stops || !constant_trips)) attrs.push_back({"trip", std::vector<SymbolId>{s.data_symbol(done, 0, 8)}});
  s.apply(kind, {trip, ValueId(), x, y}, std::move(attrs), s.exact(x) && s.exact(y) ? 1 : 0, {id});
}

}  // namespace nnc::test

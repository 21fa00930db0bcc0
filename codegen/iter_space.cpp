#include "codegen/iter_space.h"

#include <algorithm>

namespace nnc {

namespace {

// Runs `emit_all` with one lane inside a loop nest over `extents`, to see which accesses and splits the group makes.
struct Probe {
  KernelBuilder k{"probe"};
  GroupBody body;
  Probe(const Graph& g, const Target& t, const Shape& extents, const std::function<void(GroupBody&)>& emit_all) : body(k, g, t) {
    nest(extents, 0, {}, emit_all);
  }
  void nest(const Shape& extents, size_t i, std::vector<IterAxis> axes, const std::function<void(GroupBody&)>& emit_all) {
    if (i == extents.size()) {
      body.set_axes(std::move(axes), 1);
      emit_all(body);
      return;
    }
    const Dim extent = body.dim(extents[i]);
    k.for_("i", k.index(0), k.dim(extent), 1, [&](Expr v) {
      axes.push_back(IterAxis{extent, v, false, 1});
      nest(extents, i + 1, axes, emit_all);
    });
  }
  // A kernel dim in terms of the graph's symbols.
  Dim outer(SymbolTable& symbols, const Dim& d) {
    std::map<SymbolId, Dim> map;
    for (const Term& t : d.terms())
      for (const uint32_t s : t.mono.s)
        if (s != 0) map[SymbolId(s - 1)] = outer_symbol(symbols, SymbolId(s - 1));
    return symbols.substitute(d, map);
  }
  Dim outer_symbol(SymbolTable& symbols, SymbolId id) {
    const Symbol s = k.symbols()[id];
    if (s.kind != SymKind::kDerived) return k.launch_dims()[id.index()];
    const Dim a = outer(symbols, s.a), b = outer(symbols, s.b);
    switch (s.op) {
      case SymOp::kFloorDiv: return symbols.floordiv(a, b);
      case SymOp::kMod: return symbols.mod(a, b);
      case SymOp::kMin: return symbols.min(a, b);
      case SymOp::kMax: return symbols.max(a, b);
      case SymOp::kOpaqueAdd: return symbols.add(a, b);
      case SymOp::kOpaqueMul: return symbols.mul(a, b);
      default: NNC_CHECK(false, "kernels derive no other symbols"); return {};
    }
  }
};

bool mergeable(SymbolTable& s, const GroupBody& body, const std::vector<IterAxis>& axes, size_t i) {
  for (const EdgeAccess& a : body.accesses())
    if (!(a.coeff[i] == s.mul(a.coeff[i + 1], axes[i + 1].extent))) return false;
  return true;
}

}  // namespace

IterSpace find_iter_space(const Graph& group, const Target& target, const Shape& start, const std::function<void(GroupBody&)>& emit_all,
                          bool merge) {
  SymbolTable& symbols = const_cast<Graph&>(group).symbols();
  IterSpace space;
  for (const Dim& d : start)
    if (!d.is_const(1)) space.extents.push_back(d);
  for (int round = 0; round < 8; ++round) {
    Probe probe(group, target, space.extents, emit_all);
    if (probe.body.split_requests().empty()) {
      if (!merge || space.extents.size() < 2) return space;
      Shape merged;
      for (size_t i = space.extents.size(); i-- > 0;) {
        if (i + 1 < space.extents.size() && mergeable(probe.k.symbols(), probe.body, probe.body.axes(), i))
          merged.front() = symbols.mul(space.extents[i], merged.front());
        else
          merged.insert(merged.begin(), space.extents[i]);
      }
      space.extents = std::move(merged);
      return space;
    }
    // The finest split first: one axis a round, the smallest inner extent asked for.
    const auto& [axis, inner] = probe.body.split_requests().front();
    const Dim f = probe.outer(symbols, inner);
    auto q = symbols.div_exact(space.extents[axis], f);
    if (!q) return space;
    space.extents[axis] = f;
    space.extents.insert(space.extents.begin() + axis, *q);
  }
  return space;
}

void emit_outputs(GroupBody& body, Expr mask, bool nt) {
  const Graph& g = body.graph();
  Shape iteration;
  Coord flat;
  Dim stride = 1;
  for (size_t i = body.axes().size(); i-- > 0;) {
    flat = body.add(flat, body.scale(body.axis(static_cast<uint32_t>(i)), stride));
    stride = body.k().symbols().mul(stride, body.axes()[i].extent);
  }
  std::vector<Coords> coords;
  std::vector<Expr> values;
  for (ValueId v : g.outputs()) {
    coords.push_back(Coords::of_flat(body, flat, g.type(v).shape));
    values.push_back(body.emit(v, coords.back(), mask));
  }
  for (size_t o = 0; o < values.size(); ++o) body.store_output(static_cast<uint32_t>(o), coords[o], values[o], mask, nt);
}

std::vector<std::pair<uint32_t, uint32_t>> in_place_pairs(const GroupBody& body) {
  const Graph& g = body.graph();
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t o = 0; o < g.outputs().size(); ++o) {
    const EdgeAccess* out = nullptr;
    for (const EdgeAccess& a : body.accesses())
      if (a.input == 0x80000000u + o) out = &a;
    if (!out || out->opaque) continue;
    for (uint32_t i = 0; i < g.inputs().size(); ++i) {
      const Type& ti = g.type(g.inputs()[i]);
      const Type& to = g.type(g.outputs()[o]);
      if (dtype_bits(ti.dtype) != dtype_bits(to.dtype) || ti.shape.size() < 1) continue;
      bool any = false, all = true;
      for (const EdgeAccess& a : body.accesses()) {
        if (a.input != i) continue;
        any = true;
        all = all && !a.opaque && a.coeff == out->coeff && a.offset == out->offset;
      }
      if (any && all) pairs.push_back({i, o});
    }
  }
  return pairs;
}

}  // namespace nnc

// A graph's hash is built bottom-up: a value is the hash of what computes it, so neither numbering nor the order of independent nodes
// enters. Nodes with an effect are appended in program order.

#include "ir/support/text.h"
#include "ir/symbol_use.h"
#include "ir/text.h"

namespace nnc {

namespace {

void add(Sha256& h, std::string_view text) { h.update(cat(text.size(), ":", text)); }
void add(Sha256& h, const Digest& d) { h.update(ByteView(d.bytes)); }

void add_attr(Sha256& h, const Graph& g, const AttrValue& v) {
  const auto list = [](const auto& all, auto&& text) { return cat("[", join(all, ",", text), "]"); };
  if (const auto* i = std::get_if<int64_t>(&v)) add(h, cat(*i));
  if (const auto* f = std::get_if<double>(&v)) add(h, cat(*f));
  if (const auto* s = std::get_if<std::string>(&v)) add(h, *s);
  if (const auto* is = std::get_if<std::vector<int64_t>>(&v)) add(h, list(*is, [](int64_t x) { return x; }));
  if (const auto* fs = std::get_if<std::vector<double>>(&v)) add(h, list(*fs, [](double x) { return x; }));
  if (const auto* ss = std::get_if<std::vector<std::string>>(&v)) add(h, list(*ss, [](const std::string& x) { return quote(x); }));
  if (const auto* dims = std::get_if<Shape>(&v)) add(h, g.symbols().str(std::span<const Dim>(*dims)));
  if (const auto* t = std::get_if<DType>(&v)) add(h, dtype_name(*t));
  if (const auto* symbols = std::get_if<std::vector<SymbolId>>(&v)) add(h, list(*symbols, [](SymbolId s) { return s.v; }));
  if (const auto* c = std::get_if<ConstId>(&v)) {
    if (c->valid())
      add(h, g.module().constant_hash(*c));
    else
      add(h, "none");
  }
}

}  // namespace

Digest canonical_hash(const Graph& g) {
  IdMap<ValueId, Digest> values;
  Sha256 whole;
  for (ValueId v : g.inputs()) {
    Sha256 h;
    add(h, cat("input ", g.value(v).index, " ", type_str(g.symbols(), g.type(v))));
    values[v] = h.finish();
    add(whole, values[v]);
  }
  for (NodeId id = g.first(); id.valid(); id = g.node(id).next) {
    const Node& n = g.node(id);
    Sha256 h;
    add(h, op_name(n.kind));
    add(h, cat(n.operands.size()));
    for (ValueId v : n.operands) add(h, values.get(v));  // an absent one is all zeros
    const std::vector<AttrDef>& defs = n.def().attrs;
    for (const AttrDef& def : defs) add_attr(h, g, n.attr(def.name));
    for (RegionId r : n.regions) add(h, canonical_hash(g.region(r)));
    const Digest node = h.finish();
    if ((n.def().traits & kEffect) != 0) add(whole, node);
    for (size_t k = 0; k < n.results.size(); ++k) {
      Sha256 r;
      add(r, node);
      add(r, cat(k, " ", type_str(g.symbols(), g.type(n.results[k]))));
      values[n.results[k]] = r.finish();
    }
  }
  for (ValueId v : g.outputs()) add(whole, values.get(v));
  return whole.finish();
}

}  // namespace nnc

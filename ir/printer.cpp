// Module and graphs as text. What is printed does not depend on history: values are numbered in program order, locations by first use, and
// only the symbols, constants and locations that the module speaks of appear.

#include <algorithm>

#include "ir/support/text.h"
#include "ir/symbol_use.h"
#include "ir/text.h"
#include "ir/text_tensor.h"
#include "ir/text_words.h"

namespace nnc {

namespace {

class Printer {
 public:
  Printer(const Module& m, const PrintOptions& options) : m_(m), options_(options) {}

  std::string module() {
    m_.hash_constants();
    if (options_.locations) number_locations();
    append(out_, "nnir ", kTextVersion, "\n");
    for (const auto& [key, value] : m_.metadata) append(out_, "metadata ", quote(key), " = ", quote(value), "\n");
    symbols();
    states();
    locations();
    for (const auto& e : m_.entries) entry(*e);
    return std::move(out_);
  }

  std::string graph(const Graph& g) {
    append(out_, "graph ", at_name(g.name()), "(");
    body(g, nullptr, 0);
    return std::move(out_);
  }

  std::string node(const Graph& g, NodeId id) {
    numbers_ = number_values(g);
    node_line(g, g.node(id), 0);
    return std::move(out_);
  }

 private:
  using Numbers = IdMap<ValueId, uint32_t>;  // number + 1

  void indent(int depth) { out_.append(2 * static_cast<size_t>(depth), ' '); }
  std::string type(const Type& t) const { return type_str(m_.symbols, t); }
  std::string dim(const Dim& d) const { return m_.symbols.str(d); }

  static Numbers number_values(const Graph& g) {
    Numbers numbers;
    uint32_t next = 0;
    for (ValueId v : g.inputs()) numbers[v] = ++next;
    for (NodeId id = g.first(); id.valid(); id = g.node(id).next) {
      for (ValueId r : g.node(id).results) numbers[r] = ++next;
    }
    return numbers;
  }
  std::string value(ValueId v) const {
    if (!v.valid()) return "_";
    const uint32_t number = numbers_.get(v);
    return number > 0 ? cat("%", number - 1) : "%undefined";
  }

  void number_location(LocId id) {
    if (!id.valid() || loc_numbers_.get(id) > 0) return;
    for (LocId leaf : m_.loc(id).fused) number_location(leaf);
    locs_.push_back(id);
    loc_numbers_[id] = static_cast<uint32_t>(locs_.size());
  }
  void number_locations(const Graph& g) {
    for (NodeId id = g.first(); id.valid(); id = g.node(id).next) {
      number_location(g.node(id).loc);
      for (RegionId r : g.node(id).regions) number_locations(g.region(r));
    }
  }
  void number_locations() {
    for (const auto& e : m_.entries) number_locations(*e->graph);
  }

  void symbols() {
    std::vector<uint8_t> used(m_.symbols.size(), 0);
    for (const auto& e : m_.entries) {
      const std::vector<uint8_t> here = used_symbols(*e->graph);
      for (size_t k = 0; k < here.size(); ++k) used[k] = used[k] || here[k];
    }
    for (size_t k = 0; k < used.size(); ++k) used[k] = used[k] || m_.symbols[SymbolId(k)].kind == SymKind::kInput;
    if (std::find(used.begin(), used.end(), 1) == used.end()) return;
    out_ += "symbols {\n";
    for (size_t k = 0; k < used.size(); ++k) {
      if (used[k]) append(out_, "  s", k, " = ", symbol(m_.symbols[SymbolId(k)]), "\n");
    }
    out_ += "}\n";
  }

  std::string symbol(const Symbol& s) const {
    std::string text;
    if (s.kind == SymKind::kDerived) {
      append(text, sym_op_word(s.op), "(", dim(s.a), ", ");
      if (s.op == SymOp::kRound) {
        append(text, s.num, "/", s.den, ", ", kRoundModes[static_cast<size_t>(s.mode)], ")");
      } else {
        append(text, dim(s.b), ")");
      }
    } else {
      text = s.kind == SymKind::kInput ? "input" : "data";
    }
    if (!s.name.empty()) append(text, " ", quote(s.name));
    const SymbolBounds usual = default_bounds(s.kind);
    if (s.lo != usual.lo || s.hi != usual.hi) append(text, " in [", s.lo, ", ", s.hi, "]");
    if (s.divisor != 1) append(text, " divisor ", s.divisor);
    if (s.typical != 0) append(text, " typical ", s.typical);
    if (s.binding == Binding::kBounded) text += " bounded";
    return text;
  }

  void states() {
    if (m_.states.size() == 0) return;
    out_ += "states {\n";
    for (const State& s : m_.states) {
      append(out_, "  ", at_name(s.name), ": ", type(s.type));
      if (s.initial.valid()) append(out_, " = ", constant(s.initial));
      out_ += "\n";
    }
    out_ += "}\n";
  }

  void locations() {
    if (locs_.empty()) return;
    out_ += "locations {\n";
    for (size_t k = 0; k < locs_.size(); ++k) append(out_, "  #", k, " =", location(m_.loc(locs_[k])), "\n");
    out_ += "}\n";
  }
  std::string location(const Loc& l) const {
    std::string text;
    if (!l.fused.empty()) {
      std::vector<uint32_t> numbers;
      for (LocId id : l.fused) numbers.push_back(loc_numbers_.get(id) - 1);
      std::sort(numbers.begin(), numbers.end());
      return cat(" fused [", join(numbers, ", ", [](uint32_t n) { return cat("#", n); }), "]");
    }
    if (!l.node.empty()) append(text, " node ", quote(l.node));
    if (!l.op.empty()) append(text, " op ", quote(l.op));
    if (!l.scope.empty()) append(text, " scope ", quote(l.scope));
    if (!l.file.empty()) append(text, " file ", quote(l.file));
    if (l.line != 0) append(text, " line ", l.line);
    return text;
  }

  std::string constant(ConstId id) const {
    const Tensor& t = m_.constant(id);
    const std::string type = cat(dtype_name(t.dtype()), "[", join(t.dims(), ", ", [](int64_t d) { return d; }), "]");
    if (t.count() > static_cast<int64_t>(options_.max_inline_elements)) return cat(type, " sha256:", m_.constant_hash(id).hex());
    return cat(type, " {", print_elements(t), "}");
  }

  void entry(const Entry& e) {
    append(out_, "entry ", at_name(e.name));
    if (!e.profile.empty()) append(out_, " profile ", quote(e.profile));
    out_ += "(";
    body(*e.graph, &e, 0);
  }

  std::string binding(const ArgBinding& b) const {
    std::string text = quote(b.name);
    if (b.state.valid()) append(text, " ", at_name(m_.states[b.state].name));
    return text;
  }

  // From the arguments to the closing brace.
  void body(const Graph& g, const Entry* e, int depth) {
    Numbers outer = std::move(numbers_);
    numbers_ = number_values(g);
    for (size_t k = 0; k < g.inputs().size(); ++k) {
      append(out_, k > 0 ? ", " : "", value(g.inputs()[k]), ": ", type(g.type(g.inputs()[k])));
      if (e != nullptr && k < e->args.size()) append(out_, " ", binding(e->args[k]));
    }
    out_ += ")";
    if (e != nullptr && !e->results.empty())
      append(out_, " -> (", join(e->results, ", ", [&](const ArgBinding& b) { return binding(b); }), ")");
    out_ += " {\n";
    for (NodeId id = g.first(); id.valid(); id = g.node(id).next) node_line(g, g.node(id), depth + 1);
    indent(depth + 1);
    append(out_, "return", g.outputs().empty() ? "" : " ", join(g.outputs(), ", ", [&](ValueId v) { return value(v); }), "\n");
    indent(depth);
    out_ += "}\n";
    numbers_ = std::move(outer);
  }

  void node_line(const Graph& g, const Node& n, int depth) {
    indent(depth);
    if (!n.results.empty()) append(out_, join(n.results, ", ", [&](ValueId v) { return value(v); }), " = ");
    append(out_, op_name(n.kind), "(", join(n.operands, ", ", [&](ValueId v) { return value(v); }), ")");
    attributes(n);
    if (!n.results.empty()) append(out_, " : ", join(n.results, ", ", [&](ValueId v) { return type(g.type(v)); }));
    if (const uint32_t number = n.loc.valid() ? loc_numbers_.get(n.loc) : 0; number > 0) {
      append(out_, " loc #", number - 1);
    } else if (n.loc.valid() && options_.locations) {
      append(out_, "  // ", m_.loc_str(n.loc));
    }
    out_ += "\n";
    for (RegionId r : n.regions) {
      indent(depth + 1);
      append(out_, "region ", at_name(g.region(r).name()), "(");
      body(g.region(r), nullptr, depth + 1);
    }
  }

  void attributes(const Node& n) {
    bool any = false;
    const std::vector<AttrDef>& defs = n.def().attrs;
    for (size_t k = 0; k < n.attrs.size() && k < defs.size(); ++k) {
      if (n.attrs[k].index() == 0) continue;
      append(out_, any ? ", " : " {", defs[k].name, " = ", attribute(n.attrs[k], defs[k]));
      any = true;
    }
    if (any) out_ += "}";
  }

  std::string attribute(const AttrValue& v, const AttrDef& def) const {
    switch (def.kind) {
      case AttrKind::kInt: return cat(std::get<int64_t>(v));
      case AttrKind::kFloat: return cat(std::get<double>(v));
      case AttrKind::kString: {
        const std::string& s = std::get<std::string>(v);
        return is_word(s) ? s : quote(s);
      }
      case AttrKind::kInts: return cat("[", join(std::get<std::vector<int64_t>>(v), ", ", [](int64_t x) { return x; }), "]");
      case AttrKind::kFloats: return cat("[", join(std::get<std::vector<double>>(v), ", ", [](double x) { return x; }), "]");
      case AttrKind::kStrings:
        return cat("[", join(std::get<std::vector<std::string>>(v), ", ", [](const std::string& s) { return quote(s); }), "]");
      case AttrKind::kDims: return m_.symbols.str(std::span<const Dim>(std::get<Shape>(v)));
      case AttrKind::kDType: return std::string(dtype_name(std::get<DType>(v)));
      case AttrKind::kConst: return constant(std::get<ConstId>(v));
      case AttrKind::kSymbols:
        return cat("[", join(std::get<std::vector<SymbolId>>(v), ", ", [](SymbolId s) { return cat("s", s.v); }), "]");
    }
    return {};
  }

  const Module& m_;
  const PrintOptions& options_;
  std::string out_;
  Numbers numbers_;
  IdMap<LocId, uint32_t> loc_numbers_;  // number + 1
  std::vector<LocId> locs_;
};

}  // namespace

std::string print_module(const Module& m, const PrintOptions& options) { return Printer(m, options).module(); }
std::string print_graph(const Graph& g, const PrintOptions& options) { return Printer(g.module(), options).graph(g); }
std::string print_node(const Graph& g, NodeId id, const PrintOptions& options) { return Printer(g.module(), options).node(g, id); }

}  // namespace nnc

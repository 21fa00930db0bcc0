// How the interpreter gives symbols their values: from extents of inputs and of region arguments, from ops that bind data symbols, by
// derivation.

#include "ir/eval.h"
#include "ir/support/text.h"
#include "ir/symbol_use.h"

namespace nnc {

namespace {

std::string extents_str(const std::vector<int64_t>& dims) {
  return cat("[", join(dims, ", ", [](int64_t d) { return d; }), "]");
}

std::string argument_name(const Graph& g, size_t k) {
  const std::string& name = g.value(g.inputs()[k]).name;
  return name.empty() ? cat("argument ", k) : cat("argument ", quote(name));
}

// The one unknown symbol of a dim that is linear in it, with its coefficient.
struct Unknown {
  SymbolId symbol;
  int64_t coeff = 0;
};
std::optional<Unknown> single_unknown(const Dim& d, const std::vector<uint8_t>& known) {
  Unknown found;
  for (const Term& t : d.terms()) {
    for (size_t k = 0; k < t.mono.s.size(); ++k) {
      if (t.mono.s[k] == 0 || known[t.mono.s[k] - 1]) continue;
      const bool alone = t.mono.s[0] != 0 && t.mono.s[1] == 0;
      if (found.symbol.valid() || !alone) return std::nullopt;
      found = {SymbolId(t.mono.s[k] - 1), t.coeff};
    }
  }
  if (!found.symbol.valid()) return std::nullopt;
  return found;
}

}  // namespace

Result<int64_t> Interpreter::dim(const Dim& d) const {
  if (d.is_const()) return d.constant();
  SymbolId missing;
  for_each_symbol(d, [&](SymbolId s) {
    if (s.index() >= known_.size() || !known_[s.index()]) missing = s;
  });
  if (missing.valid())
    return Error(Code::kBadInput,
                 cat("the extent ", module_.symbols.pretty(d), " has no value yet: nothing bound ", module_.symbols.pretty(Dim(missing))));
  return module_.symbols.eval(d, values_);
}

Status Interpreter::derive() {
  // Symbols that the running graph does not speak of count as known, so that nothing is asked of them.
  std::vector<uint8_t> known = known_;
  for (size_t k = 0; k < known.size(); ++k) known[k] = known[k] || (k < wanted_.size() && !wanted_[k]);
  std::vector<uint8_t> before = known;
  NNC_TRY(module_.symbols.derive(values_, known));
  for (size_t k = 0; k < known.size(); ++k) {
    if (known[k] && !before[k]) known_[k] = 1;
  }
  return {};
}

// What is derived from `s` loses its value. Operands stand before what is derived from them.
void Interpreter::forget_derived(SymbolId s) {
  std::vector<uint8_t> changed(known_.size());
  changed[s.index()] = 1;
  for (size_t k = s.index() + 1; k < known_.size(); ++k) {
    const Symbol& symbol = module_.symbols[SymbolId(k)];
    if (symbol.kind != SymKind::kDerived) continue;
    const auto look = [&](SymbolId x) { changed[k] = changed[k] || changed[x.index()]; };
    for_each_symbol(symbol.a, look);
    for_each_symbol(symbol.b, look);
    if (changed[k]) known_[k] = 0;
  }
}

Status Interpreter::bind(SymbolId s, int64_t value) {
  const Symbol& symbol = module_.symbols[s];
  if (value < symbol.lo || value > symbol.hi || value % symbol.divisor != 0) {
    return Error(Code::kBadInput, cat(module_.symbols.pretty(Dim(s)), " is ", value, "; it must be in [", symbol.lo, ", ", symbol.hi, "]",
                                      symbol.divisor > 1 ? cat(" and divisible by ", symbol.divisor) : std::string()));
  }
  const size_t at = s.index();
  if (known_[at] && values_[at] != value) forget_derived(s);
  values_[at] = value;
  known_[at] = 1;
  return derive();
}

// True: the extent now agrees with the dim. False: not enough is known yet.
Result<bool> Interpreter::bind_extent(const Dim& d, int64_t extent) {
  if (const std::optional<Unknown> unknown = single_unknown(d, known_)) {
    const SymbolTable& symbols = module_.symbols;
    if (symbols[unknown->symbol].kind == SymKind::kDerived) return false;
    std::vector<int64_t> values = values_;
    values[unknown->symbol.index()] = 0;
    NNC_ASSIGN(const int64_t rest, symbols.eval(d, values));
    int64_t scaled = 0;
    if (__builtin_sub_overflow(extent, rest, &scaled) || scaled % unknown->coeff != 0) {
      return Error(Code::kBadInput, cat("extent ", extent, " is not of the form ", symbols.pretty(d)));
    }
    NNC_TRY(bind(unknown->symbol, scaled / unknown->coeff));
    return true;
  }
  bool ready = true;
  for_each_symbol(d, [&](SymbolId s) { ready = ready && known_[s.index()]; });
  if (!ready) return false;
  NNC_ASSIGN(const int64_t expected, dim(d));
  if (expected != extent)
    return Error(Code::kBadInput,
                 cat("extent ", extent, " where ", module_.symbols.pretty(d), d.is_const() ? "" : cat(" = ", expected), " is expected"));
  return true;
}

Status Interpreter::bind_inputs(const Graph& graph, std::span<const EvalTensor> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return Error(Code::kBadInput, cat("graph ", graph.name(), " takes ", graph.inputs().size(), " arguments, got ", inputs.size()));
  }
  struct Pending {
    size_t input, axis;
  };
  std::vector<Pending> pending;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Type& t = graph.type(graph.inputs()[k]);
    if (!t.is_tensor())
      return Error(Code::kUnsupportedOp,
                   cat(argument_name(graph, k), " is a ", type_pretty(module_.symbols, t), ": the interpreter takes tensors"));
    if (inputs[k].dtype != t.dtype || inputs[k].rank() != t.rank()) {
      return Error(Code::kBadInput, cat(argument_name(graph, k), " must be ", type_pretty(module_.symbols, t), ", got ",
                                        dtype_name(inputs[k].dtype), extents_str(inputs[k].dims)));
    }
    for (size_t axis = 0; axis < t.shape.size(); ++axis) pending.push_back({k, axis});
  }
  // Each round settles the dims whose symbols are known but for one; bounds of the unknown order follow from the others.
  while (!pending.empty()) {
    std::vector<Pending> left;
    for (const Pending& p : pending) {
      const Dim& d = graph.type(graph.inputs()[p.input]).shape[p.axis];
      Result<bool> settled = bind_extent(d, inputs[p.input].dims[p.axis]);
      if (!settled.ok()) {
        Error e = std::move(settled).error();
        e.message = cat(argument_name(graph, p.input), ", axis ", p.axis, ": ", e.message);
        return std::move(e).with(cat("expected: ", type_pretty(module_.symbols, graph.type(graph.inputs()[p.input])), ", got ",
                                     extents_str(inputs[p.input].dims)));
      }
      if (!*settled) left.push_back(p);
    }
    if (left.size() == pending.size()) {
      const Dim& d = graph.type(graph.inputs()[left[0].input]).shape[left[0].axis];
      return Error(Code::kBadInput, cat(argument_name(graph, left[0].input), ", axis ", left[0].axis, ": the extents do not determine ",
                                        module_.symbols.pretty(d)));
    }
    pending = std::move(left);
  }
  return {};
}

Status Interpreter::bind_region_args(const Graph& region, std::span<const EvalTensor> args) {
  NNC_CHECK(args.size() == region.inputs().size(), "a region gets as many arguments as it has inputs");
  const SymbolTable& symbols = module_.symbols;
  for (size_t k = 0; k < args.size(); ++k) {
    const Type& t = region.type(region.inputs()[k]);
    if (!t.is_tensor()) continue;
    NNC_CHECK(args[k].dtype == t.dtype && args[k].rank() == t.rank(), "a region's argument has the dtype and rank of its input");
    for (size_t axis = 0; axis < t.shape.size(); ++axis) {
      const Dim& d = t.shape[axis];
      const int64_t extent = args[k].dims[axis];
      const std::optional<SymbolId> s = d.as_symbol();
      if (s && symbols[*s].kind == SymKind::kData) {
        const auto owner = region_symbols_.find(*s);
        const bool mine = owner != region_symbols_.end() && owner->second == &region;
        if (!known_[s->index()] || mine) {
          NNC_TRY(bind(*s, extent));
          region_symbols_[*s] = &region;
          continue;
        }
      }
      NNC_ASSIGN(const int64_t expected, dim(d));
      if (expected != extent) {
        return Error(Code::kBadInput, cat("argument ", k, " of the region ", region.name(), " is ", extents_str(args[k].dims),
                                          "; it must be ", type_pretty(symbols, t)));
      }
    }
  }
  return {};
}

}  // namespace nnc

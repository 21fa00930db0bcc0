// Entries, graphs and nodes of IR text (docs/ir-text.md). Structure and names are checked here; types and everything else about meaning is
// the verifier's.

#include <map>

#include "ir/parse_tables.h"
#include "ir/text_words.h"

namespace nnc {

namespace {

constexpr int kMaxDepth = 64;  // of regions

class Parser : private TableParser {
 public:
  Parser(std::string_view text, const ConstantSource& constants, ParseInfo* info) : TableParser(text, constants), info_(info) {}

  Result<std::unique_ptr<Module>> run() {
    if (in_.accept_word("nnir")) {
      int64_t version = 0;
      if (!in_.integer(&version) || version != kTextVersion) in_.problem(cat("version ", kTextVersion, " of the text expected"));
    }
    while (!in_.at_end()) {
      const size_t start = in_.position();
      if (section()) continue;
      in_.skip_line(start);
      // What is indented, and closing braces, belonged to what failed.
      while (!in_.at_end() && (!in_.at_line_start() || in_.peek() == '}')) in_.skip_line(in_.position());
    }
    if (info_ != nullptr) info_->problems = in_.problems();
    if (!in_.problems().empty()) return error();
    for (const auto& e : module_->entries) fill_shape_values(*e->graph);
    return std::move(module_);
  }

 private:
  Error error() const {
    const std::vector<TextProblem>& all = in_.problems();
    Place place;
    place.line = all[0].line;
    place.column = all[0].column;
    Error e(Code::kParse, all[0].message, place);
    for (size_t k = 1; k < all.size(); ++k) e.context.push_back(cat("line ", all[k].line, ":", all[k].column, ": ", all[k].message));
    return e;
  }
  void note_line(const Graph& g, NodeId id, size_t position) {
    if (info_ != nullptr) info_->lines.push_back({&g, id, in_.line_of(position)});
  }

  bool section() {
    const size_t start = in_.position();
    const std::string_view word = in_.word();
    if (word == "metadata") {
      std::string key, value;
      if (!expect_string(&key) || !expect("=") || !expect_string(&value)) return false;
      module_->metadata[key] = value;
      return true;
    }
    if (word == "symbols") return block([&] { return symbol(); });
    if (word == "states") return block([&] { return state(); });
    if (word == "locations") return block([&] { return location(); });
    if (word == "entry" || word == "graph") return entry();
    in_.problem_at(start, "metadata, symbols, states, locations or entry expected");
    return false;
  }

  bool entry() {
    const size_t start = in_.position();
    std::string name, profile;
    if (!in_.name('@', &name)) return fail("@name of the entry expected");
    if (in_.accept_word("profile") && !expect_string(&profile)) return false;
    Entry& e = module_->add_entry(name, profile);
    note_line(*e.graph, {}, start);
    implicit_symbols_ = true;
    return body(*e.graph, &e, 0);
  }
  bool state_ref(ArgBinding* b) {
    const size_t start = in_.position();
    std::string name;
    if (!in_.name('@', &name)) return true;
    const auto it = states_.find(name);
    if (it == states_.end()) {
      in_.problem_at(start, cat("there is no state ", at_name(name)));
      return false;
    }
    b->state = it->second;
    return true;
  }

  // The values of one graph by their name in the text, and the uses that stand before their definition.
  struct Scope {
    std::map<std::string, ValueId, std::less<>> values;
    struct Pending {
      Use use;
      std::string name;
      size_t position;
    };
    std::vector<Pending> pending;
  };

  bool define(Scope& scope, const std::string& name, ValueId v, size_t position) {
    if (scope.values.emplace(name, v).second) return true;
    in_.problem_at(position, cat("%", name, " is defined twice"));
    return false;
  }

  bool argument(Graph& g, Scope& scope, Entry* e) {
    const size_t start = in_.position();
    std::string name, label;
    Type t;
    if (!in_.name('%', &name)) return fail("%name of an argument expected");
    if (!expect(":") || !type(&t)) return false;
    ArgBinding binding;
    if (e != nullptr) {
      if (!in_.string(&binding.name)) binding.name = name;
      if (!state_ref(&binding)) return false;
      label = binding.name;
      e->args.push_back(std::move(binding));
    }
    return define(scope, name, g.add_input(std::move(t), label), start);
  }
  bool results(Entry* e) {
    return list("(", ")", [&] {
      ArgBinding b;
      if (!expect_string(&b.name) || !state_ref(&b)) return false;
      e->results.push_back(std::move(b));
      return true;
    });
  }

  // From the arguments to the closing brace. Problems inside a body are reported line by line; the body goes on.
  bool body(Graph& g, Entry* e, int depth) {
    if (depth > kMaxDepth) return fail("regions are nested too deeply");
    Scope scope;
    const bool header = list("(", ")", [&] { return argument(g, scope, e); });
    implicit_symbols_ = false;
    if (!header || (e != nullptr && in_.accept("->") && !results(e)) || !expect("{")) return false;
    std::vector<ValueId> outputs;
    bool returned = false;
    while (!in_.accept("}")) {
      if (in_.at_end()) return fail("'}' expected");
      if (returned) return fail("'}' expected after return");
      const size_t start = in_.position();
      const bool ok = in_.accept_word("return") ? returned = true, return_line(scope, &outputs) : node(g, scope, depth);
      if (!ok) in_.skip_line(start);
    }
    if (!returned) in_.problem("return expected before '}'");
    if (e != nullptr && e->results.empty()) {
      for (size_t k = 0; k < outputs.size(); ++k) e->results.push_back({cat("out", k), {}});
    }
    g.set_outputs(std::move(outputs));
    resolve(g, scope);
    return true;
  }

  // An operand; invalid while its definition is still to come (then its use is noted), or where it is `_`.
  bool operand(Scope& scope, Use use, ValueId* v) {
    const size_t start = in_.position();
    *v = ValueId();
    if (in_.accept_word("_")) return true;
    std::string name;
    if (!in_.name('%', &name)) return fail("%value expected");
    const auto it = scope.values.find(name);
    if (it != scope.values.end()) {
      *v = it->second;
    } else {
      scope.pending.push_back({use, name, start});
    }
    return true;
  }
  bool return_line(Scope& scope, std::vector<ValueId>* outputs) {
    if (in_.peek() == '}') return true;
    do {
      ValueId v;
      if (!operand(scope, {NodeId(), static_cast<uint32_t>(outputs->size())}, &v)) return false;
      outputs->push_back(v);
    } while (in_.accept(","));
    return true;
  }
  void resolve(Graph& g, Scope& scope) {
    for (const Scope::Pending& p : scope.pending) {
      const auto it = scope.values.find(p.name);
      if (it == scope.values.end()) {
        in_.problem_at(p.position, cat("%", p.name, " is not defined"));
      } else {
        g.redirect_use(p.use, it->second);
      }
    }
  }

  bool node(Graph& g, Scope& scope, int depth) {
    const NodeId id(g.node_capacity());
    if (node_line(g, scope, depth, id)) return true;
    std::erase_if(scope.pending, [&](const Scope::Pending& p) { return p.use.node == id; });
    return false;
  }
  bool node_line(Graph& g, Scope& scope, int depth, NodeId id) {
    const size_t start = in_.position();
    std::vector<std::string> names;
    if (in_.peek() == '%') {
      do {
        if (!in_.name('%', &names.emplace_back())) return fail("%name expected");
      } while (in_.accept(","));
      if (!expect("=")) return false;
    }
    const size_t op_at = in_.position();
    const std::string_view spelling = in_.word();
    const OpDef* def = find_op(spelling);
    if (def == nullptr) {
      in_.problem_at(op_at, cat("there is no op ", quote(spelling)));
      return false;
    }
    Node n;
    n.kind = def->kind;
    const bool read = list("(", ")", [&] {
      const Use use{id, static_cast<uint32_t>(n.operands.size())};
      return operand(scope, use, &n.operands.emplace_back());
    });
    if (!read || !check_operands(*def, n, op_at) || !attributes(*def, &n)) return false;
    std::vector<Type> types;
    if (in_.accept(":")) {
      do {
        if (!type(&types.emplace_back())) return false;
      } while (in_.accept(","));
    }
    if (types.size() != names.size() || (def->results >= 0 && static_cast<int>(names.size()) != def->results)) {
      in_.problem_at(start, cat("op ", def->name, def->results >= 0 ? cat(" has ", def->results) : std::string(" needs as many"),
                                " results; got ", names.size(), " names and ", types.size(), " types"));
      return false;
    }
    if (in_.accept_word("loc")) {
      size_t loc = 0;
      if (!location_id(&loc)) return false;
      n.loc = locs_[loc];
    }
    if (!regions(g, *def, &n, depth, op_at)) return false;
    const NodeId made = g.append_raw(std::move(n), std::move(types));
    note_line(g, made, start);
    for (size_t k = 0; k < names.size(); ++k) {
      if (!define(scope, names[k], g.node(made).results[k], start)) return true;
    }
    return true;
  }

  bool check_operands(const OpDef& def, const Node& n, size_t position) {
    const auto count = static_cast<int>(n.operands.size());
    if (count < def.min_operands || (def.max_operands >= 0 && count > def.max_operands)) {
      in_.problem_at(position, cat("op ", def.name, " takes ", def.min_operands, " to ",
                                   def.max_operands < 0 ? std::string("any number of") : cat(def.max_operands), " operands, got ", count));
      return false;
    }
    return true;
  }

  bool regions(Graph& g, const OpDef& def, Node* n, int depth, size_t position) {
    while (in_.accept_word("region")) {
      const size_t start = in_.position();
      std::string name;
      if (!in_.name('@', &name)) return fail("@name of the region expected");
      const RegionId r = g.add_region(name);
      note_line(g.region(r), {}, start);
      if (!body(g.region(r), nullptr, depth + 1)) return false;
      n->regions.push_back(r);
    }
    if (static_cast<int>(n->regions.size()) == def.regions) return true;
    in_.problem_at(position, cat("op ", def.name, " has ", def.regions, " regions, got ", n->regions.size()));
    return false;
  }

  bool attributes(const OpDef& def, Node* n) {
    const size_t start = in_.position();
    AttrList given;
    if (in_.accept("{") && !in_.accept("}")) {
      do {
        const size_t at = in_.position();
        const std::string_view name = in_.word();
        const AttrDef* attr = nullptr;
        for (const AttrDef& a : def.attrs) {
          if (a.name == name) attr = &a;
        }
        if (attr == nullptr) {
          in_.problem_at(at, cat("op ", def.name, " has no attribute ", quote(name)));
          return false;
        }
        given.push_back({attr->name, {}});
        if (!expect("=") || !attribute(*attr, &given.back().value)) return false;
      } while (in_.accept(","));
      if (!expect("}")) return false;
    }
    Result<std::vector<AttrValue>> arranged = arrange_attrs(def, std::move(given));
    if (!arranged.ok()) {
      in_.problem_at(start, arranged.error().message);
      return false;
    }
    n->attrs = std::move(arranged).value();
    return true;
  }

  bool number(double* v) {
    const size_t start = in_.position();
    if (parse_double(in_.token(), v)) return true;
    in_.problem_at(start, "a number expected");
    return false;
  }
  template <class T, class Read> bool values(AttrValue* out, Read&& read) {
    std::vector<T> all;
    if (!list("[", "]", [&] { return read(&all.emplace_back()); })) return false;
    *out = std::move(all);
    return true;
  }
  template <class T, class Read> bool value(AttrValue* out, Read&& read) {
    T v{};
    if (!read(&v)) return false;
    *out = std::move(v);
    return true;
  }
  bool attribute(const AttrDef& def, AttrValue* out) {
    const auto read_string = [&](std::string* s) { return expect_string(s); };
    switch (def.kind) {
      case AttrKind::kInt: return value<int64_t>(out, [&](int64_t* v) { return expect_int(v); });
      case AttrKind::kFloat: return value<double>(out, [&](double* v) { return number(v); });
      case AttrKind::kString: {
        if (in_.peek() == '"') return value<std::string>(out, read_string);
        const std::string word(in_.word());
        *out = word;
        return !word.empty() || fail("a word or a quoted string expected");
      }
      case AttrKind::kInts: return values<int64_t>(out, [&](int64_t* v) { return expect_int(v); });
      case AttrKind::kFloats: return values<double>(out, [&](double* v) { return number(v); });
      case AttrKind::kStrings: return values<std::string>(out, read_string);
      case AttrKind::kDims: return value<Shape>(out, [&](Shape* s) { return dims(s); });
      case AttrKind::kDType: return value<DType>(out, [&](DType* t) { return dtype(t); });
      case AttrKind::kConst: return value<ConstId>(out, [&](ConstId* id) { return constant(id); });
      case AttrKind::kSymbols:
        return values<SymbolId>(out, [&](SymbolId* s) {
          int64_t id = 0;
          if (!symbol_id(&id)) return false;
          if (id >= static_cast<int64_t>(module_->symbols.size())) return fail(cat("there is no symbol s", id));
          *s = SymbolId(static_cast<size_t>(id));
          return true;
        });
    }
    return false;
  }

  // What append would have known; nodes whose types do not infer are left to the verifier.
  void fill_shape_values(Graph& g) {
    for (NodeId id = g.first(); id.valid(); id = g.node(id).next) {
      const Node& n = g.node(id);
      for (RegionId r : n.regions) fill_shape_values(g.region(r));
      std::vector<Type> types;
      std::vector<ShapeValue> shape_values;
      if (!infer_node(g, n, &types, &shape_values).ok()) continue;
      for (size_t k = 0; k < shape_values.size() && k < n.results.size(); ++k) {
        if (shape_values[k].known) g.set_shape_value(n.results[k], std::move(shape_values[k]));
      }
    }
  }

  ParseInfo* info_;
};

}  // namespace

Result<std::unique_ptr<Module>> parse_module(std::string_view text, const ConstantSource& constants, ParseInfo* info) {
  return Parser(text, constants, info).run();
}

}  // namespace nnc

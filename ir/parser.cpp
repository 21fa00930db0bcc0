// Reads IR text (docs/ir-text.md). Structure and names are checked here; types and everything else about meaning is the verifier's.
// Every reading function returns false after it has reported a problem; its caller then goes on with the next line.

#include <map>

#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/text_cursor.h"
#include "ir/text_tensor.h"
#include "ir/text_words.h"

namespace nnc {

namespace {

constexpr int kMaxDepth = 64;             // of regions
constexpr int64_t kMaxSymbols = 1 << 20;  // an id beyond is a mistake, and would make as many fillers

class Parser {
 public:
  Parser(std::string_view text, const ConstantSource& constants, ParseInfo* info)
      : in_(text), constants_(constants), info_(info), module_(std::make_unique<Module>()) {}

  Result<std::unique_ptr<Module>> run() {
    if (in_.accept_word("nnir")) {
      int64_t version = 0;
      if (!in_.integer(&version) || version != kTextVersion) in_.problem(cat("version ", kTextVersion, " of the text expected"));
    }
    while (!in_.at_end()) {
      const size_t start = in_.position();
      if (!section()) in_.skip_line(start);
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
  bool fail(std::string message) {
    in_.problem(std::move(message));
    return false;
  }
  bool expect(std::string_view symbol) { return in_.accept(symbol) || fail(cat("'", symbol, "' expected")); }
  bool expect_string(std::string* out) { return in_.string(out) || fail("a quoted string expected"); }
  bool expect_int(int64_t* out) { return in_.integer(out) || fail("an integer expected"); }
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

  template <class Line> bool block(Line&& line) {
    if (!expect("{")) return false;
    while (!in_.accept("}")) {
      if (in_.at_end()) return fail("'}' expected");
      const size_t start = in_.position();
      if (!line()) in_.skip_line(start);
    }
    return true;
  }
  // "[a, b]" or "(a, b)"; `item` reads one.
  template <class Item> bool list(std::string_view open, std::string_view close, Item&& item) {
    if (!expect(open)) return false;
    if (in_.accept(close)) return true;
    do {
      if (!item()) return false;
    } while (in_.accept(","));
    return expect(close);
  }

  bool symbol_id(int64_t* id) {
    const size_t start = in_.position();
    const std::string_view word = in_.word();
    if (word.size() < 2 || word[0] != 's' || !parse_int(word.substr(1), id) || *id >= kMaxSymbols) {
      in_.problem_at(start, "a symbol (s0) expected");
      return false;
    }
    return true;
  }

  // Symbols that the text leaves out keep their number: a data symbol that nothing speaks of stands in.
  void fill_symbols(int64_t up_to) {
    while (static_cast<int64_t>(module_->symbols.size()) < up_to) module_->symbols.data("");
  }

  bool symbol() {
    int64_t id = 0;
    if (!symbol_id(&id) || !expect("=")) return false;
    if (id < static_cast<int64_t>(module_->symbols.size())) return fail(cat("s", id, " follows a symbol of a higher number or is defined twice"));
    fill_symbols(id);
    Symbol s;
    if (!symbol_definition(&s)) return false;
    const SymbolBounds usual = default_bounds(s.kind);
    s.lo = usual.lo;
    s.hi = usual.hi;
    in_.string(&s.name);
    if (in_.accept_word("in")) {
      if (!expect("[") || !expect_int(&s.lo) || !expect(",") || !expect_int(&s.hi) || !expect("]")) return false;
      if (s.lo > s.hi) return fail("the lower bound is above the upper");
    }
    if (in_.accept_word("divisor") && (!expect_int(&s.divisor) || s.divisor < 1)) return fail("a positive divisor expected");
    if (in_.accept_word("typical") && !expect_int(&s.typical)) return false;
    if (in_.accept_word("bounded")) s.binding = Binding::kBounded;
    module_->symbols.add_raw(std::move(s));
    return true;
  }
  bool symbol_definition(Symbol* s) {
    const size_t start = in_.position();
    const std::string_view word = in_.word();
    if (word == "input" || word == "data") {
      s->kind = word == "input" ? SymKind::kInput : SymKind::kData;
      return true;
    }
    s->kind = SymKind::kDerived;
    for (size_t k = 1; k < kSymOpWords.size(); ++k) {
      if (kSymOpWords[k] == word) s->op = static_cast<SymOp>(k);
    }
    if (s->op == SymOp::kNone) {
      in_.problem_at(start, "input, data or an operation on dims expected");
      return false;
    }
    if (!expect("(") || !dim(",", &s->a) || !expect(",")) return false;
    if (s->op != SymOp::kRound) return dim(")", &s->b) && expect(")");
    if (!expect_int(&s->num) || !expect("/") || !expect_int(&s->den) || !expect(",")) return false;
    const std::string_view mode = in_.word();
    for (size_t k = 0; k < kRoundModes.size(); ++k) {
      if (kRoundModes[k] == mode) s->mode = static_cast<int64_t>(k);
    }
    if (s->den < 1 || kRoundModes[static_cast<size_t>(s->mode)] != mode) return fail("a positive denominator, and floor, ceil or even, expected");
    return expect(")");
  }

  bool dim(std::string_view stops, Dim* out) {
    const size_t start = in_.position();
    const std::string_view text = trim(in_.until(cat(stops, "\n")));
    Result<Dim> parsed = module_->symbols.parse(text);
    if (!parsed.ok() && implicit_symbols_) {
      declare_implicit(text);
      parsed = module_->symbols.parse(text);
    }
    if (!parsed.ok()) {
      in_.problem_at(start, parsed.error().message);
      return false;
    }
    *out = std::move(parsed).value();
    return true;
  }
  // In a text without a symbols section, the argument types of an entry declare the symbols that they use.
  void declare_implicit(std::string_view text) {
    for (size_t k = 0; k < text.size(); ++k) {
      if (text[k] != 's') continue;
      size_t end = k + 1;
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
      int64_t id = 0;
      if (!parse_int(text.substr(k + 1, end - k - 1), &id) || id >= kMaxSymbols) continue;
      while (static_cast<int64_t>(module_->symbols.size()) <= id) module_->symbols.input("");
    }
  }

  bool dims(Shape* out) {
    return list("[", "]", [&] {
      Dim d;
      if (!dim(",]", &d)) return false;
      out->push_back(std::move(d));
      return true;
    });
  }

  bool type(Type* t) {
    if (in_.accept_word("token")) {
      *t = Type::token();
      return true;
    }
    int closing = 0;
    if (in_.accept_word("opt")) {
      t->kind = Type::Kind::kOptional;
      if (!expect("<")) return false;
      ++closing;
    }
    if (in_.accept_word("seq")) {
      t->kind = t->kind == Type::Kind::kOptional ? Type::Kind::kOptionalSequence : Type::Kind::kSequence;
      if (!expect("<")) return false;
      ++closing;
    }
    if (!dtype(&t->dtype)) return false;
    if (closing > 0 && in_.accept("[?]")) {
      t->has_shape = false;
    } else if (!dims(&t->shape)) {
      return false;
    }
    for (; closing > 0; --closing) {
      if (!expect(">")) return false;
    }
    return true;
  }
  bool dtype(DType* t) {
    const size_t start = in_.position();
    const std::string_view word = in_.word();
    *t = parse_dtype(word);
    if (*t != DType::kInvalid && dtype_name(*t) == word) return true;
    in_.problem_at(start, cat("a dtype expected, got ", quote(word)));
    return false;
  }

  bool constant(ConstId* id) {
    DType dt = DType::kInvalid;
    std::vector<int64_t> extents;
    const size_t start = in_.position();
    if (!dtype(&dt) || !list("[", "]", [&] { return expect_int(&extents.emplace_back()); })) return false;
    Result<Tensor> made = in_.accept("sha256:") ? stored_constant(dt, extents) : inline_constant(dt, extents);
    if (!made.ok()) {
      in_.problem_at(start, made.error().message);
      return false;
    }
    *id = module_->add_constant(std::move(made).value());
    return true;
  }
  Result<Tensor> stored_constant(DType dt, const std::vector<int64_t>& extents) {
    Digest hash;
    const std::string_view digits = in_.word();
    if (!parse_digest(digits, &hash)) return Error(Code::kParse, "a hash of 64 digits expected");
    if (!constants_) return Error(Code::kParse, cat("constant ", digits, " is kept in a side file, and none was given"));
    return constants_(hash, dt, extents);
  }
  Result<Tensor> inline_constant(DType dt, const std::vector<int64_t>& extents) {
    NNC_ASSIGN(const int64_t count, checked_element_count(extents));
    constexpr int64_t kMostInline = 1 << 20;
    if (count > kMostInline) return Error(Code::kParse, cat("a constant of ", count, " elements cannot be inline"));
    NNC_ASSIGN(Tensor t, Tensor::create(dt, extents));
    if (!in_.accept("{")) return Error(Code::kParse, "'{' or sha256: expected");
    const int64_t words = element_words(dt, count);
    for (int64_t k = 0; k < words; ++k) {
      if (k > 0 && !in_.accept(",")) return Error(Code::kParse, cat(words, " elements expected, got ", k));
      std::string text;
      const bool is_string = dt == DType::kString;
      if (is_string && !in_.string(&text)) return Error(Code::kParse, "a quoted string expected");
      const std::string word = is_string ? quote(text) : std::string(in_.token());
      if (!parse_element(word, t, k)) return Error(Code::kParse, cat(quote(word), " is no element of dtype ", dtype_name(dt)));
    }
    if (!in_.accept("}")) return Error(Code::kParse, cat("'}' expected after ", words, " elements"));
    return t;
  }

  bool state() {
    State s;
    const size_t start = in_.position();
    if (!in_.name('@', &s.name)) return fail("@name of a state expected");
    if (!expect(":") || !type(&s.type)) return false;
    if (in_.accept("=") && !constant(&s.initial)) return false;
    const StateId id = module_->states.push(s);
    if (states_.emplace(s.name, id).second) return true;
    in_.problem_at(start, cat("state ", at_name(s.name), " is defined twice"));
    return false;
  }

  bool location_id(size_t* id) {
    int64_t v = 0;
    if (!expect("#") || !expect_int(&v)) return false;
    if (v < 0 || static_cast<size_t>(v) >= locs_.size()) return fail(cat("there is no location #", v, " above"));
    *id = static_cast<size_t>(v);
    return true;
  }
  bool location() {
    int64_t id = 0;
    if (!expect("#") || !expect_int(&id) || !expect("=")) return false;
    if (id != static_cast<int64_t>(locs_.size())) return fail(cat("location #", locs_.size(), " expected here"));
    Loc loc;
    if (in_.accept_word("fused")) {
      const bool read = list("[", "]", [&] {
        size_t part = 0;
        if (!location_id(&part)) return false;
        loc.fused.push_back(locs_[part]);
        return true;
      });
      if (!read) return false;
    } else {
      if (in_.accept_word("node") && !expect_string(&loc.node)) return false;
      if (in_.accept_word("op") && !expect_string(&loc.op)) return false;
      if (in_.accept_word("scope") && !expect_string(&loc.scope)) return false;
      if (in_.accept_word("file") && !expect_string(&loc.file)) return false;
      int64_t line = 0;
      if (in_.accept_word("line") && !expect_int(&line)) return false;
      loc.line = static_cast<int>(line);
    }
    locs_.push_back(module_->add_loc(std::move(loc)));
    return true;
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
      in_.problem_at(start, cat("op ", def->name, def->results >= 0 ? cat(" has ", def->results) : std::string(" needs as many"), " results; got ", names.size(),
                                " names and ", types.size(), " types"));
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
      in_.problem_at(position, cat("op ", def.name, " takes ", def.min_operands, " to ", def.max_operands < 0 ? std::string("any number of") : cat(def.max_operands),
                                   " operands, got ", count));
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
      case AttrKind::kSymbols: return values<SymbolId>(out, [&](SymbolId* s) {
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

  TextCursor in_;
  const ConstantSource& constants_;
  ParseInfo* info_;
  std::unique_ptr<Module> module_;
  std::map<std::string, StateId> states_;
  std::vector<LocId> locs_;
  bool implicit_symbols_ = false;
};

}  // namespace

Result<std::unique_ptr<Module>> parse_module(std::string_view text, const ConstantSource& constants, ParseInfo* info) {
  return Parser(text, constants, info).run();
}

}  // namespace nnc

#include "ir/parse_tables.h"

#include "ir/text_tensor.h"
#include "ir/text_words.h"

namespace nnc {

namespace {

constexpr int64_t kMaxSymbols = 1 << 20;  // an id beyond is a mistake, and would make as many fillers

}  // namespace

bool TableParser::symbol_id(int64_t* id) {
  const size_t start = in_.position();
  const std::string_view word = in_.word();
  if (word.size() < 2 || word[0] != 's' || !parse_int(word.substr(1), id) || *id >= kMaxSymbols) {
    in_.problem_at(start, "a symbol (s0) expected");
    return false;
  }
  return true;
}

// Symbols that the text leaves out keep their number: a data symbol that nothing speaks of stands in.
void TableParser::fill_symbols(int64_t up_to) {
  while (static_cast<int64_t>(module_->symbols.size()) < up_to) module_->symbols.data("");
}

bool TableParser::symbol() {
  int64_t id = 0;
  if (!symbol_id(&id) || !expect("=")) return false;
  if (id < static_cast<int64_t>(module_->symbols.size()))
    return fail(cat("s", id, " follows a symbol of a higher number or is defined twice"));
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
bool TableParser::symbol_definition(Symbol* s) {
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
  if (s->den < 1 || kRoundModes[static_cast<size_t>(s->mode)] != mode)
    return fail("a positive denominator, and floor, ceil or even, expected");
  return expect(")");
}

bool TableParser::dim(std::string_view stops, Dim* out) {
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
void TableParser::declare_implicit(std::string_view text) {
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] != 's') continue;
    size_t end = k + 1;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    int64_t id = 0;
    if (!parse_int(text.substr(k + 1, end - k - 1), &id) || id >= kMaxSymbols) continue;
    while (static_cast<int64_t>(module_->symbols.size()) <= id) module_->symbols.input("");
  }
}

bool TableParser::dims(Shape* out) {
  return list("[", "]", [&] {
    Dim d;
    if (!dim(",]", &d)) return false;
    out->push_back(std::move(d));
    return true;
  });
}

bool TableParser::type(Type* t) {
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
bool TableParser::dtype(DType* t) {
  const size_t start = in_.position();
  const std::string_view word = in_.word();
  *t = parse_dtype(word);
  if (*t != DType::kInvalid && dtype_name(*t) == word) return true;
  in_.problem_at(start, cat("a dtype expected, got ", quote(word)));
  return false;
}

bool TableParser::constant(ConstId* id) {
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
Result<Tensor> TableParser::stored_constant(DType dt, const std::vector<int64_t>& extents) {
  Digest hash;
  const std::string_view digits = in_.word();
  if (!parse_digest(digits, &hash)) return Error(Code::kParse, "a hash of 64 digits expected");
  if (!constants_) return Error(Code::kParse, cat("constant ", digits, " is kept in a side file, and none was given"));
  return constants_(hash, dt, extents);
}
Result<Tensor> TableParser::inline_constant(DType dt, const std::vector<int64_t>& extents) {
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

bool TableParser::state() {
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

bool TableParser::location_id(size_t* id) {
  int64_t v = 0;
  if (!expect("#") || !expect_int(&v)) return false;
  if (v < 0 || static_cast<size_t>(v) >= locs_.size()) return fail(cat("there is no location #", v, " above"));
  *id = static_cast<size_t>(v);
  return true;
}
bool TableParser::location() {
  int64_t id = 0;
  if (!expect("#") || !expect_int(&id) || !expect("=")) return false;
  if (id != static_cast<int64_t>(locs_.size())) return fail(cat("location #", locs_.size(), " expected here"));
  if (in_.accept_word("fused")) {
    std::vector<LocId> parts;
    const bool read = list("[", "]", [&] {
      size_t part = 0;
      if (!location_id(&part)) return false;
      parts.push_back(locs_[part]);
      return true;
    });
    if (!read) return false;
    locs_.push_back(module_->fuse_locs(parts));
    return true;
  }
  Loc loc;
  if (in_.accept_word("node") && !expect_string(&loc.node)) return false;
  if (in_.accept_word("op") && !expect_string(&loc.op)) return false;
  if (in_.accept_word("scope") && !expect_string(&loc.scope)) return false;
  if (in_.accept_word("file") && !expect_string(&loc.file)) return false;
  int64_t line = 0;
  if (in_.accept_word("line") && !expect_int(&line)) return false;
  loc.line = static_cast<int>(line);
  locs_.push_back(module_->add_loc(std::move(loc)));
  return true;
}

}  // namespace nnc

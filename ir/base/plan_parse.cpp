// Reader of plan text. It checks spelling, numbering and the symbols of dims; what the plan means is verify_program's.

#include <algorithm>

#include "ir/base/plan_words.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

using plan_words::kRels;
using plan_words::kRounds;
using plan_words::kSpaces;
using plan_words::kSteps;
using plan_words::kSymOps;
using plan_words::kVersion;

constexpr int kMaxDepth = 64;

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Program> run() {
    program();
    if (!error_) {
      blanks();
      if (at_ < text_.size()) fail("the end of the text expected");
    }
    if (error_) return std::move(*error_);
    return std::move(p_);
  }

 private:
  // ---- words
  void fail(std::string what) {
    if (error_) return;
    Place place;
    place.line = 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
    error_ = Error(Code::kParse, cat("plan text, line ", place.line, ": ", what), place);
    at_ = text_.size();
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool accept(std::string_view token) {
    blanks();
    if (error_ || !text_.substr(at_).starts_with(token)) return false;
    const size_t end = at_ + token.size();
    if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
    at_ = end;
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(cat("\"", token, "\" expected"));
  }
  std::string_view word() {
    blanks();
    const size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  int64_t integer(int64_t lo, int64_t hi) {
    blanks();
    const size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    int64_t v = 0;
    if (!parse_int(text_.substr(start, at_ - start), &v) || v < lo || v > hi) {
      fail(cat("a number from ", lo, " to ", hi, " expected"));
      return lo;
    }
    return v;
  }
  uint32_t index() { return static_cast<uint32_t>(integer(0, UINT32_MAX - 1)); }
  std::string string() {
    blanks();
    size_t end = at_ + 1;
    if (at_ < text_.size() && text_[at_] == '"')
      while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    std::string out;
    if (end >= text_.size() || !unquote(text_.substr(at_, end + 1 - at_), &out)) {
      fail("a string expected");
      return {};
    }
    at_ = end + 1;
    return out;
  }
  // A dim stands without blanks, up to one of , ] ) or a blank.
  Dim dim() {
    blanks();
    const size_t start = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '*' || text_[at_] == '+' || text_[at_] == '-')) ++at_;
    auto d = p_.symbols.parse(text_.substr(start, at_ - start));
    if (!d.ok()) {
      at_ = start;
      fail(d.error().message);
      return {};
    }
    return std::move(*d);
  }
  // [a, b, ...]
  template <class F> void list(F&& item, std::string_view open = "[", std::string_view close = "]") {
    expect(open);
    if (accept(close)) return;
    do { item(); } while (!error_ && accept(","));
    expect(close);
  }
  template <class V> void numbers(V& out, int64_t lo, int64_t hi) {
    list([&] { out.push_back(static_cast<typename V::value_type>(integer(lo, hi))); });
  }
  void dims(std::vector<Dim>& out) {
    list([&] { out.push_back(dim()); });
  }
  DType dtype() {
    const std::string_view w = word();
    if (w == "raw") return DType::kInvalid;
    const DType t = parse_dtype(w);
    if (t == DType::kInvalid || dtype_name(t) != w) fail(cat("\"", w, "\" is no dtype"));
    return t;
  }
  // An enumerator by its word.
  template <class E, size_t N> E one_of(const std::array<std::string_view, N>& words, std::string_view what) {
    const std::string_view w = word();
    const auto it = std::find(words.begin(), words.end(), w);
    if (w.empty() || it == words.end()) {
      fail(cat("\"", w, "\" is no ", what));
      return E{};
    }
    return static_cast<E>(it - words.begin());
  }

  // ---- tables
  void program() {
    expect("plan");
    if (const int64_t v = integer(0, INT32_MAX); v != kVersion) fail(cat("plan text of version ", v, ", this reader knows ", kVersion));
    expect("target");
    p_.target = string();
    expect("features");
    list([&] { p_.features.push_back(string()); });
    table(
        "symbols", "s", [&] { symbol(); }, [&] { return p_.symbols.size(); });
    table(
        "kernels", "#", [&] { kernel(); }, [&] { return p_.kernels.size(); });
    table(
        "constants", "#", [&] { constant(); }, [&] { return p_.constants.size(); });
    table(
        "states", "#", [&] { state(); }, [&] { return p_.states.size(); });
    table(
        "sources", "#", [&] { source(); }, [&] { return p_.sources.size(); });
    while (!error_ && accept("entry")) entry();
  }
  template <class F, class N> void table(std::string_view name, std::string_view sigil, F&& item, N&& count) {
    if (!accept(name)) return;
    expect("{");
    while (!error_ && !accept("}")) {
      blanks();
      if (!text_.substr(at_).starts_with(sigil)) return fail(cat("\"", sigil, "\" expected"));
      at_ += sigil.size();
      if (index() != count()) return fail(cat(name, " are not numbered in order"));
      expect("=");
      item();
    }
  }
  void symbol() {
    Symbol s;
    if (accept("input")) {
      s.kind = SymKind::kInput;
    } else if (accept("data")) {
      s.kind = SymKind::kData;
    } else {
      s.kind = SymKind::kDerived;
      s.op = one_of<SymOp>(kSymOps, "definition of a symbol");
      expect("(");
      s.a = dim();
      expect(",");
      if (s.op == SymOp::kRound) {
        s.num = integer(INT64_MIN, INT64_MAX);
        expect("/");
        s.den = integer(1, INT64_MAX);
        expect(",");
        s.mode = one_of<int64_t>(kRounds, "way to round");
      } else {
        s.b = dim();
      }
      expect(")");
    }
    blanks();
    if (at_ < text_.size() && text_[at_] == '"') s.name = string();
    expect("in");
    expect("[");
    s.lo = integer(INT64_MIN, INT64_MAX);
    expect(",");
    s.hi = integer(INT64_MIN, INT64_MAX);
    expect("]");
    if (accept("divisor")) s.divisor = integer(1, INT64_MAX);
    if (accept("typical")) s.typical = integer(0, INT64_MAX);
    if (accept("bounded")) s.binding = Binding::kBounded;
    if (error_) return;
    auto id = p_.symbols.add_checked(std::move(s));
    if (!id.ok()) fail(id.error().message);
  }
  void kernel() {
    PlanKernel k;
    k.name = string();
    if (accept("in_place"))
      list([&] {
        InPlacePair pair{};
        pair.input = index();
        expect("->");
        pair.output = index();
        k.in_place.push_back(pair);
      });
    if (accept("text")) k.text = string();
    p_.kernels.push_back(std::move(k));
  }
  void constant() {
    PlanConstant c;
    c.dtype = dtype();
    numbers(c.dims, 0, INT64_MAX);
    expect("sha256:");
    c.hash = word();
    if (accept("unpack")) c.unpack = string();
    p_.constants.push_back(std::move(c));
  }
  void state() {
    PlanState s;
    s.name = string();
    s.dtype = dtype();
    dims(s.shape);
    if (accept("=")) s.initial = static_cast<int32_t>(numbered('c'));
    p_.states.push_back(std::move(s));
  }
  void source() {
    SourceRef s;
    s.node = string();
    expect("op");
    s.op = string();
    expect("scope");
    s.scope = string();
    p_.sources.push_back(std::move(s));
  }
  // A letter and a number: b12.
  uint32_t numbered(char letter) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != letter) {
      fail(cat("\"", letter, "\" and a number expected"));
      return 0;
    }
    ++at_;
    return static_cast<uint32_t>(integer(0, INT32_MAX));
  }

  // ---- entries
  void entry() {
    PlanEntry e;
    e.name = string();
    expect("profile");
    e.profile = string();
    expect("{");
    while (accept("arg")) e.args.push_back(argument());
    while (accept("result")) e.results.push_back(argument());
    while (!error_ && accept("buffer")) {
      if (numbered('b') != e.buffers.size()) fail("buffers are not numbered in order");
      e.buffers.push_back(buffer());
    }
    while (!error_ && accept("segment")) {
      e.segments.emplace_back();
      block(e.segments.back().steps, 0);
    }
    expect("}");
    p_.entries.push_back(std::move(e));
  }
  PlanArg argument() {
    PlanArg a;
    a.name = string();
    a.dtype = dtype();
    dims(a.shape);
    if (accept("state")) a.state = static_cast<int32_t>(integer(0, INT32_MAX));
    return a;
  }
  PlanBuffer buffer() {
    PlanBuffer b;
    b.dtype = dtype();
    dims(b.shape);
    expect("bytes");
    b.bytes = dim();
    expect("align");
    b.align = static_cast<int>(integer(1, 1 << 20));
    expect("life");
    expect("[");
    b.first = index();
    expect(",");
    b.last = index();
    expect("]");
    if (accept("room"))
      b.segment = PlanBuffer::kRoom;
    else if (accept("in"))
      b.segment = index();
    if (accept("alias")) b.alias_of = static_cast<int32_t>(numbered('b'));
    if (accept("loc")) numbers(b.locs, 0, UINT32_MAX - 1);
    return b;
  }
  PlanOperand operand() {
    blanks();
    const size_t space = at_ < text_.size() ? kSpaces.find(text_[at_]) : std::string_view::npos;
    if (space == std::string_view::npos) {
      fail("an operand expected");
      return {};
    }
    ++at_;
    PlanOperand o{static_cast<PlanOperand::Space>(space), 0};
    if (space != 0) o.index = index();
    return o;
  }
  SymbolId symbol_id() {
    const uint32_t id = numbered('s');
    if (id >= p_.symbols.size()) fail(cat("no symbol s", id));
    return SymbolId(id);
  }

  void block(std::vector<Step>& out, int depth) {
    if (depth > kMaxDepth) return fail("blocks are nested too deep");
    expect("{");
    while (!error_ && !accept("}")) {
      out.emplace_back();
      step(out.back(), depth);
    }
  }
  void step(Step& s, int depth) {
    s.kind = one_of<StepKind>(kSteps, "step");
    expect("@");
    s.number = index();
    list([&] { s.operands.push_back(operand()); }, "(", ")");
    if (s.kind == StepKind::kLaunch) {
      expect("kernel");
      s.kernel = index();
    }
    if (s.kind == StepKind::kSegment) {
      expect("in");
      s.segment = index();
    }
    if (accept("fn")) s.fn = string();
    if (accept("dims")) dims(s.dims);
    if (accept("symbols")) list([&] { s.symbols.push_back(symbol_id()); });
    if (accept("ints")) numbers(s.ints, INT64_MIN, INT64_MAX);
    if (accept("rel")) s.rel = one_of<Rel>(kRels, "relation");
    if (accept("message")) s.message = string();
    if (accept("loc")) numbers(s.locs, 0, UINT32_MAX - 1);
    if (accept("carry"))
      list([&] {
        Carry c;
        expect("(");
        c.init = operand();
        expect(",");
        c.current = operand();
        expect(",");
        c.next = operand();
        expect(")");
        s.carries.push_back(c);
      });
    if (accept("scan"))
      list([&] {
        ScanOut o;
        expect("(");
        o.element = operand();
        expect(",");
        o.stacked = operand();
        expect(",");
        o.bytes = dim();
        expect(")");
        s.scans.push_back(std::move(o));
      });
    if (accept("max")) s.max_trips = integer(0, INT64_MAX);
    if (accept("trip")) s.trip_symbol = symbol_id();
    if (accept("do")) block(s.body, depth + 1);
    if (accept("else")) block(s.orelse, depth + 1);
    while (!error_ && accept("when")) {
      Alternative a;
      list([&] {
        Predicate::Clause c;
        c.a = dim();
        c.rel = one_of<Rel>(kRels, "relation");
        c.b = dim();
        a.when.clauses.push_back(std::move(c));
      });
      block(a.steps, depth + 1);
      s.alternatives.push_back(std::move(a));
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  Program p_;
  std::optional<Error> error_;
};

}  // namespace

Result<Program> parse_program(std::string_view text) { return Parser(text).run(); }

}  // namespace nnc

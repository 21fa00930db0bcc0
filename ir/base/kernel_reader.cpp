#include "ir/base/kernel_reader.h"

#include <algorithm>
#include <charconv>

#include "ir/support/text.h"

namespace nnc {
namespace {

bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

}  // namespace

void TextReader::blanks() {
  for (;;) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    if (!text_.substr(at_).starts_with("//")) return;
    at_ = std::min(text_.find('\n', at_), text_.size());
  }
}

void TextReader::fail(std::string what) {
  if (failed_) return;
  failed_ = true;
  Place p;
  p.line = 1;
  size_t start = 0;
  for (size_t i = 0; i < at_ && i < text_.size(); ++i)
    if (text_[i] == '\n') {
      ++p.line;
      start = i + 1;
    }
  p.column = static_cast<int>(at_ - start) + 1;
  error_ = Error(Code::kParse, cat("kernel text, line ", p.line, ", column ", p.column, ": ", what), p);
}

bool TextReader::accept(std::string_view token) {
  if (failed_) return false;
  blanks();
  if (!text_.substr(at_).starts_with(token)) return false;
  const size_t end = at_ + token.size();
  if (is_name(token.back()) && end < text_.size() && (is_name(text_[end]) || text_[end] == '.')) return false;
  at_ = end;
  return true;
}

void TextReader::expect(std::string_view token) {
  if (!failed_ && !accept(token)) fail(cat("'", token, "' expected"));
}

std::string_view TextReader::word() {
  blanks();
  const size_t start = at_;
  while (at_ < text_.size() && (is_name(text_[at_]) || text_[at_] == '.')) ++at_;
  return text_.substr(start, at_ - start);
}

int64_t TextReader::integer(int64_t lo, int64_t hi) {
  if (failed_) return lo;
  blanks();
  const size_t start = at_;
  if (at_ < text_.size() && text_[at_] == '-') ++at_;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
  int64_t v = 0;
  if (!parse_int(text_.substr(start, at_ - start), &v) || v < lo || v > hi) {
    at_ = start;
    fail(cat("an integer from ", lo, " to ", hi, " expected"));
    return lo > 0 || hi < 0 ? lo : 0;
  }
  return v;
}

std::string TextReader::text_in_quotes() {
  std::string out;
  if (failed_) return out;
  blanks();
  size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
  if (at_ >= text_.size() || text_[at_] != '"' || end >= text_.size() || !unquote(text_.substr(at_, end + 1 - at_), &out))
    fail("a quoted text expected");
  else
    at_ = end + 1;
  return out;
}

Dim ExprReader::dim(std::string_view stops) {
  if (failed_) return 0;
  const size_t end = std::min(text_.find_first_of(stops, at_), text_.size());
  auto d = k_.symbols.parse(trim(text_.substr(at_, end - at_)));
  if (!d.ok()) {
    fail(d.error().message);
    return 0;
  }
  at_ = end;
  return std::move(d).value();
}

ExprId ExprReader::bad() { return pool_.index(0); }

ExprId ExprReader::node(ExprNode n) {
  if (failed_) return bad();
  if (const TypeProblem p = check_expr(k_, n)) {
    fail(p.text);
    return bad();
  }
  return pool_.intern(std::move(n));
}

uint32_t ExprReader::reference(size_t count) {
  const std::string_view w = word();
  const size_t dot = w.rfind('.');
  int64_t n = -1;
  if (!failed_ && (dot == std::string_view::npos || !parse_int(w.substr(dot + 1), &n) || n < 0 || n >= int64_t(count)))
    fail("a name that was defined above expected");
  return failed_ ? 0 : static_cast<uint32_t>(n);
}

VarId ExprReader::var_ref() {
  expect("%");
  return VarId(reference(k_.vars.size()));
}

BufId ExprReader::buf_ref() {
  expect("$");
  return BufId(reference(k_.buffers.size()));
}

ExprId ExprReader::expr() {
  if (failed_) return bad();
  if (++depth_ > kMaxTextDepth) {
    fail("expression nested too deeply");
    return bad();
  }
  const ExprId e = expr_body();
  --depth_;
  return e;
}

ExprId ExprReader::expr_body() {
  blanks();
  ExprNode n;
  n.type = KType::index();
  if (at_ >= text_.size()) return fail("an expression expected"), bad();
  const char c = text_[at_];
  if (c == '-' || (c >= '0' && c <= '9')) {
    n.bits = static_cast<uint64_t>(integer());
    return node(std::move(n));
  }
  if (c == '%') {
    n.op = ExprOp::kVar;
    n.var = var_ref();
    if (failed_) return bad();
    n.type = k_.vars[n.var].type;
    return node(std::move(n));
  }
  const size_t start = at_;
  const std::string_view w = word();
  if (w == "load") {
    at_ = start;
    return fail("a load is a statement, never part of an expression (invariant 1)"), bad();
  }
  if (w.size() > 1 && w[0] == 's' && w.find_first_not_of("0123456789", 1) == std::string_view::npos) {
    int64_t id = 0;
    if (!parse_int(w.substr(1), &id) || uint64_t(id) >= k_.symbols.size()) return fail(cat("there is no symbol ", w)), bad();
    n.op = ExprOp::kDim;
    n.bits = static_cast<uint64_t>(id);
    return node(std::move(n));
  }
  if (const auto type = parse_type(w)) return constant(*type);
  const auto op = parse_expr_op(w);
  if (!op || *op == ExprOp::kConst || *op == ExprOp::kVar || *op == ExprOp::kDim) {
    at_ = start;
    return fail("an expression expected"), bad();
  }
  n.op = *op;
  if (n.op >= ExprOp::kTask0 && n.op <= ExprOp::kLane) return node(std::move(n));
  return call(std::move(n));
}

ExprId ExprReader::call(ExprNode n) {
  expect("(");
  const int operands = expr_op_info(n.op).operands;
  for (int i = 0; i < operands; ++i) {
    if (i > 0) expect(",");
    (i == 0 ? n.a : i == 1 ? n.b : n.c) = expr();
  }
  if (failed_) return bad();
  if (operands > 0) n.type = result_type(n.op, k_.exprs[n.a].type, n.b ? k_.exprs[n.b].type : KType());
  if (n.op >= ExprOp::kCastTrunc && n.op <= ExprOp::kCastMask) {
    expect(",");
    n.type = type();
  } else if (n.op == ExprOp::kSplat) {
    expect(",");
    n.type = n.type.with_lanes(static_cast<int>(integer(1, 64)));
  } else if (n.op == ExprOp::kIota) {
    n.type = KType::index(static_cast<int>(integer(1, 64)));
  } else if (n.op == ExprOp::kExtract) {
    expect(",");
    n.bits = static_cast<uint64_t>(integer(0, 63));
  } else if (n.op == ExprOp::kShuffle) {
    expect(",");
    expect("[");
    do n.pattern.push_back(static_cast<uint8_t>(integer(0, 127)));
    while (!failed_ && n.pattern.size() < 64 && accept(","));
    expect("]");
    n.type = n.type.with_lanes(static_cast<int>(n.pattern.size()));
  }
  expect(")");
  return node(std::move(n));
}

KType ExprReader::type() {
  const std::string_view w = word();
  const auto t = parse_type(w);
  if (!t) fail(cat("a type expected, not '", w, "'"));
  return t.value_or(KType::index());
}

ExprId ExprReader::constant(KType t) {
  ExprNode n;
  n.type = t;
  expect("(");
  if (failed_) return bad();
  blanks();
  const size_t end = std::min(text_.find(')', at_), text_.size());
  const std::string_view digits = trim(text_.substr(at_, end - at_));
  const auto bits = constant_bits(t, digits);
  if (!bits) return fail(cat("'", digits.substr(0, 40), "' is no ", type_text(t.with_lanes(1)))), bad();
  n.bits = *bits;
  at_ = end;
  expect(")");
  return node(std::move(n));
}

std::optional<uint64_t> ExprReader::constant_bits(const KType& t, std::string_view s) {
  if (t.kind == KType::kMask) return s == "true" ? std::optional<uint64_t>(1) : s == "false" ? std::optional<uint64_t>(0) : std::nullopt;
  if (t.kind == KType::kIndex) {
    int64_t v = 0;
    return parse_int(s, &v) ? std::optional(static_cast<uint64_t>(v)) : std::nullopt;
  }
  const int width = type_bits(t);
  const uint64_t cut = width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  if (is_int(t.elem)) {
    int64_t v = 0;
    uint64_t u = 0;
    if (is_signed_int(t.elem)) {
      if (!parse_int(s, &v) || v < int_min(t.elem) || (v > 0 && uint64_t(v) > int_max(t.elem))) return std::nullopt;
      return uint64_t(v) & cut;
    }
    const auto [end, problem] = std::from_chars(s.data(), s.data() + s.size(), u);
    return problem == std::errc() && end == s.data() + s.size() && u <= int_max(t.elem) ? std::optional(u) : std::nullopt;
  }
  if (s.starts_with("0x")) {
    uint64_t u = 0;
    const auto [end, problem] = std::from_chars(s.data() + 2, s.data() + s.size(), u, 16);
    return problem == std::errc() && end == s.data() + s.size() && (u & ~cut) == 0 ? std::optional(u) : std::nullopt;
  }
  if (t.elem == DType::kF32) {  // through double it would be rounded twice
    float f = 0;
    const auto [end, problem] = std::from_chars(s.data(), s.data() + s.size(), f);
    if (problem != std::errc() || end != s.data() + s.size()) return std::nullopt;
    uint32_t u;
    __builtin_memcpy(&u, &f, 4);
    return u;
  }
  double v = 0;
  return parse_double(s, &v) ? std::optional(bits_of_value(t.elem, v)) : std::nullopt;
}

}  // namespace nnc

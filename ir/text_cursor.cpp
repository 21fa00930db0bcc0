#include "ir/text_cursor.h"

#include <algorithm>

#include "ir/support/text.h"
#include "ir/text_words.h"

namespace nnc {

size_t TextCursor::position() const {
  size_t at = at_;
  while (at < text_.size()) {
    const char c = text_[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
    } else if (c == '/' && text_.substr(at).starts_with("//")) {
      at = std::min(text_.find('\n', at), text_.size());
    } else {
      break;
    }
  }
  return at;
}

bool TextCursor::accept(std::string_view symbol) {
  const size_t start = position();
  if (!text_.substr(start).starts_with(symbol)) return false;
  at_ = start + symbol.size();
  return true;
}

std::string_view TextCursor::peek_word() const {
  const size_t start = position();
  size_t end = start;
  while (end < text_.size() && is_word_char(text_[end])) ++end;
  return text_.substr(start, end - start);
}

std::string_view TextCursor::word() {
  const std::string_view w = peek_word();
  if (!w.empty()) at_ = position() + w.size();
  return w;
}

bool TextCursor::accept_word(std::string_view word) {
  if (peek_word() != word) return false;
  at_ = position() + word.size();
  return true;
}

std::string_view TextCursor::token() { return until(" \t\r\n,[](){}<>"); }

bool TextCursor::integer(int64_t* out) {
  const size_t start = position();
  size_t end = start;
  if (end < text_.size() && text_[end] == '-') ++end;
  while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
  if (!parse_int(text_.substr(start, end - start), out)) return false;
  at_ = end;
  return true;
}

bool TextCursor::string(std::string* out) {
  const size_t start = position();
  if (start == text_.size() || text_[start] != '"') return false;
  size_t end = start + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size() || !unquote(text_.substr(start, end + 1 - start), out)) return false;
  at_ = end + 1;
  return true;
}

bool TextCursor::name(char sigil, std::string* out) {
  const size_t start = position();
  if (start == text_.size() || text_[start] != sigil) return false;
  at_ = start + 1;
  if (at_ < text_.size() && text_[at_] == '"') return string(out);
  size_t end = at_;
  while (end < text_.size() && is_word_char(text_[end])) ++end;
  *out = text_.substr(at_, end - at_);
  at_ = end;
  return !out->empty();
}

std::string_view TextCursor::until(std::string_view stops) {
  const size_t start = position();
  const size_t end = std::min(text_.find_first_of(stops, start), text_.size());
  if (end > start) at_ = end;
  return text_.substr(start, end - start);
}

bool TextCursor::at_line_start() const {
  const size_t at = position();
  return at == 0 || text_[at - 1] == '\n';
}

int TextCursor::line_of(size_t position) const {
  return 1 +
         static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(position, text_.size())), '\n'));
}

void TextCursor::problem_at(size_t position, std::string message) {
  constexpr size_t kMostProblems = 50;
  if (problems_.size() >= kMostProblems) return;
  const size_t start = position == 0 ? 0 : text_.rfind('\n', position - 1) + 1;  // npos + 1 is 0
  problems_.push_back({line_of(position), static_cast<int>(position - start) + 1, std::move(message)});
}

void TextCursor::skip_line(size_t start) { at_ = std::min(text_.find('\n', std::max(at_, start)), text_.size()); }

}  // namespace nnc

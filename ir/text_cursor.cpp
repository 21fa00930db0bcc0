#include "ir/text_cursor.h"

#include <algorithm>

#include "ir/support/text.h"
#include "ir/text_words.h"

namespace nnc {

void TextCursor::skip() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (c == '/' && text_.substr(at_).starts_with("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

bool TextCursor::accept(std::string_view symbol) {
  skip();
  if (!text_.substr(at_).starts_with(symbol)) return false;
  at_ += symbol.size();
  return true;
}

std::string_view TextCursor::peek_word() {
  skip();
  size_t end = at_;
  while (end < text_.size() && is_word_char(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view TextCursor::word() {
  const std::string_view w = peek_word();
  at_ += w.size();
  return w;
}

bool TextCursor::accept_word(std::string_view word) {
  if (peek_word() != word) return false;
  at_ += word.size();
  return true;
}

std::string_view TextCursor::token() {
  skip();
  const size_t end = std::min(text_.find_first_of(" \t\r\n,[](){}<>", at_), text_.size());
  const std::string_view t = text_.substr(at_, end - at_);
  at_ = end;
  return t;
}

bool TextCursor::integer(int64_t* out) {
  skip();
  size_t end = at_;
  if (end < text_.size() && text_[end] == '-') ++end;
  while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
  if (!parse_int(text_.substr(at_, end - at_), out)) return false;
  at_ = end;
  return true;
}

bool TextCursor::string(std::string* out) {
  skip();
  if (at_ == text_.size() || text_[at_] != '"') return false;
  size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size() || !unquote(text_.substr(at_, end + 1 - at_), out)) return false;
  at_ = end + 1;
  return true;
}

bool TextCursor::name(char sigil, std::string* out) {
  skip();
  if (at_ == text_.size() || text_[at_] != sigil) return false;
  ++at_;
  if (at_ < text_.size() && text_[at_] == '"') return string(out);
  size_t end = at_;
  while (end < text_.size() && is_word_char(text_[end])) ++end;
  *out = text_.substr(at_, end - at_);
  at_ = end;
  return !out->empty();
}

std::string_view TextCursor::until(std::string_view stops) {
  skip();
  const size_t end = std::min(text_.find_first_of(stops, at_), text_.size());
  const std::string_view t = text_.substr(at_, end - at_);
  at_ = end;
  return t;
}

int TextCursor::line_of(size_t position) const {
  return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(position, text_.size())), '\n'));
}

void TextCursor::problem_at(size_t position, std::string message) {
  constexpr size_t kMostProblems = 50;
  if (problems_.size() >= kMostProblems) return;
  const size_t start = position == 0 ? 0 : text_.rfind('\n', position - 1) + 1;  // npos + 1 is 0
  problems_.push_back({line_of(position), static_cast<int>(position - start) + 1, std::move(message)});
}

void TextCursor::skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

}  // namespace nnc

#pragma once
// Reads words off IR text and keeps line and column. Failing to read is reported once per line: after a problem the rest of the line is
// skipped, so that all problems of a text are found in one go.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/text.h"

namespace nnc {

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  // Of the next word: blanks, line ends and comments (// to the end of the line) lie before it. The cursor itself stays behind the last
  // word read.
  size_t position() const;
  bool at_end() const { return position() == text_.size(); }
  char peek() const {
    const size_t at = position();
    return at < text_.size() ? text_[at] : '\0';
  }
  bool accept(std::string_view symbol);  // punctuation
  bool accept_word(std::string_view word);
  std::string_view peek_word() const;
  std::string_view word();   // letters, digits, '_', '.'; empty if none
  std::string_view token();  // up to blank, comma, bracket or brace
  bool integer(int64_t* out);
  bool string(std::string* out);            // quoted
  bool name(char sigil, std::string* out);  // %12, %x, @"a b"
  // The text up to one of `stops`, which stays.
  std::string_view until(std::string_view stops);

  int line_of(size_t position) const;
  bool at_line_start() const;  // the next word is the first of its line, unindented
  void problem(std::string message) { problem_at(position(), std::move(message)); }
  void problem_at(size_t position, std::string message);
  void skip_line(size_t start);  // the rest of the line where the last word read stands, or `start` if that is later
  const std::vector<TextProblem>& problems() const { return problems_; }

 private:
  std::string_view text_;
  size_t at_ = 0;
  std::vector<TextProblem> problems_;
};

}  // namespace nnc

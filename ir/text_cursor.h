#pragma once
// Reads words off IR text and keeps line and column. Failing to read is reported once per line: after a problem the rest of the line is skipped, so that all
// problems of a text are found in one go.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/text.h"

namespace nnc {

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  // Blanks, line ends and comments (// to the end of the line).
  void skip();
  bool at_end() { skip(); return at_ == text_.size(); }
  char peek() { skip(); return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(std::string_view symbol);  // punctuation
  bool accept_word(std::string_view word);
  std::string_view peek_word();
  std::string_view word();                 // letters, digits, '_', '.'; empty if none
  std::string_view token();                // up to blank, comma, bracket or brace
  bool integer(int64_t* out);
  bool string(std::string* out);           // quoted
  bool name(char sigil, std::string* out); // %12, %x, @"a b"
  // The text up to one of `stops`, which stays.
  std::string_view until(std::string_view stops);

  size_t position() { skip(); return at_; }
  int line_of(size_t position) const;
  void problem(std::string message) { problem_at(position(), std::move(message)); }
  void problem_at(size_t position, std::string message);
  void skip_line();
  const std::vector<TextProblem>& problems() const { return problems_; }

 private:
  std::string_view text_;
  size_t at_ = 0;
  std::vector<TextProblem> problems_;
};

}  // namespace nnc

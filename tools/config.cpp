#include "tools/config.h"

#include <algorithm>

#include "ir/support/text.h"

namespace nnc::tool {

namespace {

bool is_key(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; }

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<std::vector<ConfigEntry>> run() {
    std::vector<ConfigEntry> out;
    std::string table;
    for (skip(true); at_ < text_.size(); skip(true)) {
      if (take('[')) {
        NNC_ASSIGN(table, key());
        if (!take(']')) return wrong("] expected after the name of a table");
      } else {
        ConfigEntry e;
        e.table = table;
        e.line = line_;
        NNC_ASSIGN(e.key, key());
        if (!take('=')) return wrong(cat("= expected after ", quote(e.key)));
        NNC_TRY(values(&e));
        out.push_back(std::move(e));
      }
      skip(false);
      if (at_ < text_.size() && text_[at_] != '\n') return wrong("one key and its value on a line");
    }
    return out;
  }

 private:
  Error wrong(std::string what) const {
    Error e(Code::kUsage, std::move(what));
    e.place.file = file_;
    e.place.line = line_;
    e.place.column = static_cast<int64_t>(at_ - std::min(at_, text_.rfind('\n', at_ == 0 ? 0 : at_ - 1) + 1)) + 1;
    return std::move(e).with("forms: key = \"text\", key = 3, key = true, key = [\"a\", \"b\"], [table]");
  }
  // Blanks and comments, and the ends of lines if wanted.
  void skip(bool lines) {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '#')
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      else if (text_[at_] == '\n' && lines)
        ++line_;
      else if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r')
        return;
    }
  }
  bool take(char c) {
    skip(false);
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Result<std::string> key() {
    skip(false);
    const size_t begin = at_;
    while (at_ < text_.size() && is_key(text_[at_])) ++at_;
    if (begin == at_) return wrong("a key of letters, digits, - and _ expected");
    return std::string(text_.substr(begin, at_ - begin));
  }
  Status values(ConfigEntry* e) {
    if (!take('[')) return value(e);
    for (skip(true); !take(']'); skip(true)) {
      NNC_TRY(value(e));
      skip(true);
      if (!take(',') && (at_ == text_.size() || text_[at_] != ']')) return wrong("a comma or ] expected in a list");
    }
    e->truth = false;
    return {};
  }
  Status value(ConfigEntry* e) {
    skip(false);
    if (at_ == text_.size()) return wrong("a value expected");
    const char mark = text_[at_];
    const size_t begin = at_;
    if (mark == '"' || mark == '\'') {
      for (++at_; at_ < text_.size() && text_[at_] != mark && text_[at_] != '\n'; ++at_)
        if (text_[at_] == '\\' && mark == '"') ++at_;
      if (at_ >= text_.size() || text_[at_] != mark) return wrong("the text is not closed");
      ++at_;
      std::string text(text_.substr(begin + 1, at_ - begin - 2));
      if (mark == '"' && !unquote(text_.substr(begin, at_ - begin), &text)) return wrong("an escape of the text is none");
      e->values.push_back(std::move(text));
      return {};
    }
    while (at_ < text_.size() && (is_key(text_[at_]) || text_[at_] == '.' || text_[at_] == '+')) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    double number = 0;
    e->truth = word == "true" || word == "false";
    if (!e->truth && !parse_double(word, &number)) return wrong(cat("a value expected; text stands in quotes"));
    e->values.emplace_back(word);
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

Result<std::vector<ConfigEntry>> parse_config(std::string_view text, const std::string& file) { return Reader(text, file).run(); }

}  // namespace nnc::tool

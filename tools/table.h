#pragma once
// Tables for people: columns as wide as their widest cell, names cut in the middle where the terminal is too narrow.

#include <string>
#include <string_view>
#include <vector>

namespace nnc::tool {

class Table {
 public:
  // A header that starts with '>' makes its column right-aligned.
  explicit Table(std::vector<std::string> header);
  void row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Lines with a newline each, indented by one; `width` is the terminal's.
  std::string str(int width = 0) const;

 private:
  std::vector<std::string> header_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` in at most `width` characters: "/encoder/la...ntion/MatMul".
std::string cut_middle(std::string_view text, size_t width);

}  // namespace nnc::tool
